"""A mission judged on the labels of any system, as they are heard: for the node and its command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skm.msg import Labels, Verdict

from skm_machine.logic.printer import labels_text
from skm_machine.logic.timed import NANOSECONDS
from skm_machine.mission import Mission, compile_mission
from skm_machine.monitor import Monitor
from skm_machine.monitor import Verdict as Stand

VERDICTS = {
    Stand.POSSIBLE: Verdict.POSSIBLE,
    Stand.SATISFIED: Verdict.SATISFIED,
    Stand.VIOLATED: Verdict.VIOLATED,
}
WORDS = ("waiting", "possible", "satisfied", "violated", "unknown")
"""Verdicts in words, by their constants."""


class LabelMonitor:
    """Takes labels, tells verdicts: one for each state that changes something.

    A new session or episode begins anew. `tell` is called with every verdict that differs from the last
    in more than its step.
    """

    def __init__(
        self,
        mission: str,
        tell: Callable[[Verdict], None],
        **options: Any,  # noqa: ANN401
    ) -> None:
        """`options` are those of `compile_mission`; the mission is compiled once names are known."""
        self._text, self._tell, self._options = mission, tell, {"clock": True, **options}
        compile_mission(
            mission, **self._options
        )  # a mission that cannot be read is refused at once
        self._names: list[str] | None = None
        self._monitor: Monitor | None = None
        self._at: tuple[int, int, int] | None = None
        self._known = True
        self._said: tuple[Any, ...] = ()
        self.last = Verdict(mission=mission)

    def on_labels(self, message: Labels) -> None:
        """Take the labels of a state."""
        if list(message.names) != self._names:
            self._names = list(message.names)
            self._monitor = Monitor(self._compiled())
            self._at = None
        assert self._monitor is not None
        key = int(message.session), int(message.episode), int(message.step)
        pairs = zip(message.names, message.values, strict=False)
        true = frozenset(name for name, holds in pairs if holds)
        time = self._time(message)
        if self._at is None or key[:2] != self._at[:2] or key[2] < self._at[2]:
            self._monitor.begin(true, time)
            self._known = True
        elif key[2] == self._at[2]:
            if not self._known or not self._monitor.advance(time):
                return
        elif key[2] > self._at[2] + 1:
            self._known = False
        elif self._known:
            self._monitor.enter(true, time)
        self._at = key
        self._judge(message, true)

    def _time(self, message: Labels) -> int:
        """Return when it is: by the stamp or, where steps have a length, by their number."""
        seconds = self._options.get("step_seconds")
        if seconds:
            return round(int(message.step) * float(seconds) * NANOSECONDS)
        stamp = message.header.stamp
        return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)

    def _compiled(self) -> Mission:
        return compile_mission(self._text, propositions=self._names, **self._options)

    def _judge(self, message: Labels, true: frozenset[str]) -> None:
        monitor = self._monitor
        assert monitor is not None
        verdict = Verdict(mission=self._text, labels=sorted(true), header=message.header)
        verdict.session, verdict.episode, verdict.step = (
            message.session,
            message.episode,
            message.step,
        )
        verdict.steps, verdict.rounds = monitor.steps, monitor.rounds
        verdict.state, verdict.states = monitor.state, monitor.mission.machine.num_states
        if self._known:
            verdict.verdict = VERDICTS[monitor.verdict]
            verdict.way_to_violate = [labels_text(s) for s in monitor.way_to_violate() or ()]
            verdict.way_to_satisfy = [labels_text(s) for s in monitor.way_to_satisfy() or ()]
            if monitor.verdict is Stand.VIOLATED:
                verdict.reason = "no continuation can satisfy it any more"
        else:
            verdict.verdict = Verdict.UNKNOWN
            verdict.reason = "labels of states before this one were not heard"
        self.last = verdict
        says = (verdict.verdict, verdict.state, verdict.rounds, verdict.session, verdict.episode)
        if says != self._said:
            self._said = says
            self._tell(verdict)
