"""A monitor for the length of a command: what `skm monitor` listens with, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skm.msg import Labels, Verdict

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.ros_client import RosClient
from skm_ros.label_monitor import WORDS, LabelMonitor


class Listener:
    """Judges the labels that a client hears; an error of the mission is raised where it is spun."""

    def __init__(
        self,
        client: RosClient,
        mission: str,
        tell: Callable[[Verdict], None],
        **options: Any,  # noqa: ANN401
    ) -> None:
        self.heard = False
        self._monitor = LabelMonitor(mission, tell, **options)
        self._error: SkmError | None = None
        client.node.create_subscription(Labels, "labels", self._on_labels, qos.STATE)

    def _on_labels(self, message: Labels) -> None:
        self.heard = True
        try:
            self._monitor.on_labels(message)
        except SkmError as error:
            self._error = error

    @property
    def decided(self) -> bool:
        """Whether the mission is satisfied or violated."""
        if self._error is not None:
            raise self._error
        return self._monitor.last.verdict in (Verdict.SATISFIED, Verdict.VIOLATED)

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return {Verdict.VIOLATED: 1, Verdict.UNKNOWN: 4}.get(self._monitor.last.verdict, 0)


def verdict_document(verdict: Any) -> dict[str, Any]:  # noqa: ANN401 - made by rosidl
    """Return a verdict for programs."""
    return {
        "verdict": WORDS[verdict.verdict],
        "reason": verdict.reason,
        "episode": verdict.episode,
        "step": verdict.step,
        "labels": list(verdict.labels),
        "steps": verdict.steps,
        "state": verdict.state,
        "rounds": verdict.rounds,
        "way_to_violate": list(verdict.way_to_violate),
        "way_to_satisfy": list(verdict.way_to_satisfy),
    }


def verdict_line(verdict: Any) -> str:  # noqa: ANN401 - made by rosidl
    """Return a verdict for people."""
    line = f"episode {verdict.episode}, step {verdict.step}: {WORDS[verdict.verdict]}"
    if verdict.rounds:
        line += f", {verdict.rounds} rounds"
    if verdict.verdict == Verdict.POSSIBLE:
        ways = verdict.way_to_violate
        line += f"; violated by {' ; '.join(ways)}" if ways else "; nothing can violate it any more"
    if verdict.reason:
        line += f": {verdict.reason}"
    return line
