"""The recorder node: keeps every mission of its system in a file (docs/how-to/recording.md).

Relative to its namespace (/skm):
    subscribes  mission_log, labels, observation, action, machine_state, primitives_info, markers,
                /diagnostics, and whatever else is published in the namespace
    uses        list_parameters and get_parameters of the other nodes
    publishes   /diagnostics (diagnostic_msgs/DiagnosticArray)

A process that is killed loses nothing that it had: every message is flushed as it is written.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.recording.retention import Retention
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.skm_node import OK, Setting, SkmNode
from skm_ros.topic_recorder import TopicRecorder

SETTINGS: Final = (
    Setting("folder", "runs", "folder for the recordings, one file for each mission", fixed=True),
    Setting(
        "keep",
        "",
        "how much is kept: 200 (recordings), 2GB (in all), 30d (days), or several; empty: all",
        fixed=True,
    ),
)
KEEP_SECONDS: Final = 60.0
"""Between two looks at how much there is."""


class RecorderNode(SkmNode):
    """Runs one `TopicRecorder`; see the module for its interfaces."""

    idle_seconds = 0.5  # messages come in a thread of their own

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("recorder", SETTINGS, **options)
        folder = Path(self.setting("folder"))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SkmError(f"cannot record to {folder}: {error.strerror or error}") from error
        self._recorder = TopicRecorder(self, folder, self.get_logger().info)
        self.get_logger().info(f"recording every mission to {folder}")
        if self.setting("keep"):
            self._folder, self._retention = folder, Retention.parse(self.setting("keep"))
            self.create_timer(KEEP_SECONDS, self._let_go, clock=self.steady_clock)

    def _let_go(self) -> None:
        """Delete the oldest recordings beyond the limit."""
        for path in self._retention.apply(self._folder):
            self.get_logger().info(f"deleted {path}: only {self._retention.text} are kept")

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        recorder = self._recorder
        values = {
            "files": len(recorder.files),
            "messages": recorder.messages,
            "heard": ", ".join(recorder.heard),
        }
        busy = recorder.open_files > 0
        return OK, "recording a mission" if busy else "waiting for a mission", values

    @property
    def has_shutdown_grace(self) -> bool:
        """Whether the end of a mission is still to come."""
        return self._recorder.unfinished

    def destroy_node(self) -> None:
        """End the files."""
        self._recorder.close()
        super().destroy_node()


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(RecorderNode, listening=True)


if __name__ == "__main__":
    sys.exit(main())
