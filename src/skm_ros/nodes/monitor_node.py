"""The monitor node: judges the labels of any system, with or without skm's machine, and moves nothing.

Relative to its namespace (/skm):
    subscribes  labels (skm/Labels)
    publishes   verdict (skm/Verdict), latched: satisfied, violated, still possible; the shortest way to
                violate it from here
                /diagnostics (diagnostic_msgs/DiagnosticArray): an error once it is violated
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from skm.msg import Labels, Verdict

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.label_monitor import WORDS, LabelMonitor
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.skm_node import ERROR, OK, WARN, Setting, SkmNode

SETTINGS: Final = (
    Setting("mission", "", "the mission that labels are judged by", fixed=True),
    Setting("format", "auto", "how the mission is written", fixed=True),
    Setting("horizon", "auto", "auto, finite or infinite", fixed=True),
    Setting(
        "step_seconds",
        0.0,
        "how long a step takes, for missions that name seconds; 0: by the stamps of the labels",
        low=0.0,
        high=3600.0,
        fixed=True,
    ),
)


class MonitorNode(SkmNode):
    """Runs one `LabelMonitor`; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("monitor", SETTINGS, **options)
        mission = self.setting("mission")
        if not mission.strip():
            raise SkmError("the monitor needs a mission: -p mission:='G !region'")
        self._verdicts = self.create_publisher(Verdict, "verdict", qos.LATCHED)
        self._monitor = LabelMonitor(
            mission,
            self._tell,
            format=self.setting("format"),
            horizon=self.setting("horizon"),
            step_seconds=self.setting("step_seconds") or None,
        )
        self._verdicts.publish(self._monitor.last)
        self.create_subscription(Labels, "labels", self._on_labels, qos.STATE)
        self.get_logger().info(f"judging labels by {mission}")

    def _on_labels(self, message: Labels) -> None:
        try:
            self._monitor.on_labels(message)
        except SkmError as error:
            self.drop("labels that the mission does not fit", error)

    def _tell(self, verdict: Verdict) -> None:
        self._verdicts.publish(verdict)
        if verdict.verdict in (Verdict.SATISFIED, Verdict.VIOLATED, Verdict.UNKNOWN):
            said = f"{WORDS[verdict.verdict]} at step {verdict.step} of episode {verdict.episode}"
            self.get_logger().info(said)

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        last = self._monitor.last
        level = {Verdict.VIOLATED: ERROR, Verdict.UNKNOWN: WARN}.get(last.verdict, OK)
        values = {"mission": last.mission, "steps": last.steps, "rounds": last.rounds}
        return level, WORDS[last.verdict], values


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(MonitorNode)


if __name__ == "__main__":
    sys.exit(main())
