"""Judging a recorded mission by the definition of its formula, over the stamps of the recorded labels.

Nothing that ran takes part: no machine, no clocks, not what the node said of its states. Only the labels
with their stamps, when the mission began and ended, and `skm_machine.logic.timed.holds_timed`. This is
what the nodes' answers to missions with bounds in seconds are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skm_machine.logic.formula import negation
from skm_machine.logic.parser import parse
from skm_machine.logic.timed import NANOSECONDS, holds_timed
from skm_primitives.recording.cdr import BEGAN, ENDED, OUTCOMES, word
from skm_primitives.recording.files import RunFile, goal_id, stamp_of


@dataclass(frozen=True)
class Comparison:
    """How a mission ended, and what the stamps of its labels say."""

    mission: str
    outcome: str
    """As the node said."""
    right: str
    """By the definition: `accepted`, `failed`, or `possible` if neither is decided."""
    seconds: float
    """From the beginning to the end, by the stamps."""
    period: float
    early: bool
    """Whether it was decided more than a period before the node said so."""

    @property
    def agrees(self) -> bool:
        """Whether the node was right, to within one period of its states."""
        if self.early:
            return False
        if self.outcome in ("accepted", "failed"):
            return self.outcome == self.right
        return self.right == "possible"


def compared(file: RunFile) -> list[Comparison]:
    """Return the comparison of every mission in a recording that has a beginning and an end.

    Only for recordings in real time: in lock-step, stamps are no times.
    """
    entries: dict[str, list[Any]] = {}
    for message in file.messages("mission_log"):
        entries.setdefault(goal_id(message.value), []).append(message.value)
    found = []
    for log in entries.values():
        began = next((entry for entry in log if entry.kind == BEGAN), None)
        ended = next((entry for entry in log if entry.kind == ENDED), None)
        if began is not None and ended is not None and ended.state >= 0:
            found.append(_compare(file, began, ended))
    return found


def _compare(file: RunFile, began: Any, ended: Any) -> Comparison:  # noqa: ANN401 - MissionLog
    key, first = (int(began.session), int(began.episode)), int(began.step)
    since, until = stamp_of(began.header), stamp_of(ended.header)
    shown: dict[int, tuple[int, frozenset[str]]] = {}
    stamps: set[int] = set()
    for message in sorted(file.messages("labels"), key=lambda message: message.publish_time):
        value = message.value
        if (int(value.session), int(value.episode)) == key and first <= value.step <= ended.step:
            stamp = stamp_of(value.header)
            pairs = zip(value.names, value.values, strict=True)
            shown.setdefault(value.step, (stamp, frozenset(n for n, holds in pairs if holds)))
            stamps.add(stamp)
    periods = [
        float(message.value.period)
        for message in file.messages("observation")
        if (int(message.value.session), int(message.value.episode)) == key
    ]
    period = max(periods, default=0.0)
    entered = [shown[step] for step in sorted(shown) if step > first]
    formula = parse(str(began.mission))
    labels = shown[first][1]

    def verdict(now: int) -> str:
        until_now = [entry for entry in entered if entry[0] <= now]
        if holds_timed(formula, since, labels, until_now, now):
            return "accepted"
        denied = holds_timed(negation(formula), since, labels, until_now, now)
        return "failed" if denied else "possible"

    right = verdict(until)
    outcome = word(OUTCOMES, int(ended.outcome))
    if right != outcome:  # to within one period
        right = next((r for r in map(verdict, _around(until, period)) if r == outcome), right)
    moments = sorted(stamp for stamp in stamps if since <= stamp < until - period * NANOSECONDS)
    early = any(verdict(moment) == "accepted" for moment in _some(moments))
    seconds = (until - since) / NANOSECONDS
    return Comparison(str(began.mission), outcome, right, seconds, period, early)


def _around(time: int, period: float) -> tuple[int, int]:
    margin = round(period * NANOSECONDS)
    return time - margin, time + margin


def _some(moments: list[int], most: int = 40) -> list[int]:
    """Return the last moment and others evenly before it: the whole trace is judged at each."""
    step = max(1, len(moments) // most)
    return moments[::-1][::step]
