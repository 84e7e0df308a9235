"""Recording one mission from the side of its client: `skm mission --record`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from skm_ros.client.ros_client import RosClient
from skm_ros.topic_recorder import TopicRecorder

SETTLE_SECONDS: Final = 12.0
"""How long to wait, at most, for the last messages of a mission that has ended."""
BEGIN_SECONDS: Final = 3.0
"""How long to wait, at most, for the first ones: a short mission is over before they are all heard."""


class MissionRecorder:
    """Records the mission that `wants` names; make it before the mission is sent."""

    def __init__(self, client: RosClient, folder: Path, timeout: float) -> None:
        self._client = client
        self._goal: str | None = None
        self._recorder = TopicRecorder(client.node, folder, wants=self._is_wanted)
        client.spin_until(lambda: self._recorder.hears("labels", "mission_log", "action"), timeout)

    def _is_wanted(self, goal: str) -> bool:
        """Tell whether a mission is the one; before it has a name, any new one may be."""
        return self._goal in (None, goal)

    def wants(self, goal: str) -> None:
        """Say which mission it is, as hexadecimal digits."""
        self._goal = goal

    def finish(self) -> str | None:
        """End the file once all of the mission is in it; return its path, None if there is none."""
        recorder = self._recorder
        self._client.spin_until(lambda: bool(recorder.files), BEGIN_SECONDS)
        if recorder.files:
            self._client.spin_until(lambda: not recorder.open_files, SETTLE_SECONDS)
        recorder.close()
        if not recorder.files:
            print("skm: nothing was recorded: the mission never began", file=sys.stderr)
            return None
        path = str(recorder.files[-1])
        print(f"skm: recorded {path}", file=sys.stderr)
        return path
