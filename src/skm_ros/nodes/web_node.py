"""The web node: the run in a browser, on this machine by default (docs/web.md).

Relative to its namespace (/skm):
    subscribes  machine_state, mission_log, decision, primitives_info, observation, labels, markers,
                image, /diagnostics (diagnostic_msgs/DiagnosticArray)
    uses        execute_mission, an action; set_event of the machine; reset, pause, stop and resume of
                the simulator or the bridge
    publishes   /diagnostics (diagnostic_msgs/DiagnosticArray)

The page is served by `skm_web` in a thread of its own. Messages are kept as they come, in another one,
and read only when the page is brought up to date: a fast robot costs little more than a slow one.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image
from skm.msg import Decision, Labels, MachineState, MissionLog, Observation, PrimitivesInfo
from visualization_msgs.msg import MarkerArray

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.page_commands import PageCommands
from skm_ros.nodes.skm_node import OK, Setting, SkmNode
from skm_ros.raw_listener import Batch, RawListener
from skm_ros.skills_conversion import remote_skills
from skm_web import Hub, RunView
from skm_web.page_server import PageServer

UPDATE_SECONDS: Final = 1 / 15
UNSEEN_UPDATES: Final = 3
"""Where nobody looks, only every third update is made: so that the path goes on."""
WATCH_SECONDS: Final = 0.5
SILENT_SECONDS: Final = 3.0
"""After so long a node that reports every second, or a world that shows itself twice, is stale."""

EVERY_ONE: Final = ("mission_log", qos.DIAGNOSTICS_TOPIC)
"""Topics of which every message counts, not the newest alone."""
LEADING: Final = ("labels", "mission_log", "machine_state")
"""Topics that others come with."""

SETTINGS: Final = (
    Setting(
        "host",
        "127.0.0.1",
        "address to serve the page on; one that is not of this machine alone takes a token",
        fixed=True,
    ),
    Setting("port", 8765, "port; 0: any that is free", low=0, high=65535, fixed=True),
    Setting("read_only", False, "whether the page only shows, and takes no command", fixed=True),
)


class WebNode(SkmNode):
    """Serves one page; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("web", SETTINGS, **options)
        self.hub = Hub()
        self.view = RunView(self.hub)
        self.hub.put("controls", {})
        self._lock = threading.Lock()
        self._waiting: dict[str, list[bytes]] = {}
        """Messages that have come and are not read, by topic."""
        self._heard: dict[str, float] = {}
        self._updates = 0
        self.commands = PageCommands(self, self.view)
        self.server = PageServer(
            self.hub,
            self.commands.handle,
            self.setting("host"),
            self.setting("port"),
            read_only=self.setting("read_only"),
            source=self.get_namespace(),
        )
        self.server.start()
        self.get_logger().info(f"the page is at {self.server.url}")
        self._listener = RawListener(self, self._keep)
        self._readers: dict[str, tuple[Any, Callable[[Any], None]]] = {}
        for kind, topic, take, profile in (
            (PrimitivesInfo, "primitives_info", self._on_primitives, qos.LATCHED),
            (MissionLog, "mission_log", self._on_log, qos.LOG),
            (MachineState, "machine_state", self.view.on_machine_state, qos.LATCHED),
            (Decision, "decision", self.view.on_decision, qos.LATCHED),
            (Observation, "observation", self.view.on_observation, qos.STATE),
            (Labels, "labels", self.view.on_labels, qos.STATE),
            (MarkerArray, "markers", self.view.on_markers, qos.MARKERS),
            (Image, "image", self.view.on_image, qos.LATCHED),
            (DiagnosticArray, qos.DIAGNOSTICS_TOPIC, self._on_diagnostics, qos.DIAGNOSTICS),
        ):
            self._readers[topic] = kind, take
            self.expect(topic, profile)
            self._listener.subscribe(topic, kind, profile, topic, leads=topic in LEADING)
        self.create_timer(UPDATE_SECONDS, self._update, clock=self.steady_clock)
        self.create_timer(WATCH_SECONDS, self._watch, clock=self.steady_clock)

    def _keep(self, batch: Batch) -> None:
        """Keep what has come for the next update: the newest, or all; in the listener's thread."""
        now = time.time()
        with self._lock:
            for topic, data, _ in batch:
                kept = self._waiting.setdefault(topic, [])
                if topic not in EVERY_ONE:
                    kept.clear()
                kept.append(data)
                self._heard[topic] = now

    def _update(self) -> None:
        """Read what has come since the last time."""
        self._updates += 1
        if not self.server.pages and self._updates % UNSEEN_UPDATES:
            return
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for topic, (kind, take) in self._readers.items():
            for message in waiting.get(topic, ()):
                try:
                    take(deserialize_message(message, kind))
                except Exception as error:
                    self.drop(f"{topic} that broke its reader", repr(error)[:200])

    def _on_primitives(self, info: PrimitivesInfo) -> None:
        try:
            skills = remote_skills(info)
        except SkmError as error:
            self.drop("primitives_info", error)
            return
        self.view.on_primitives(info, skills)

    def _on_log(self, entry: MissionLog) -> None:
        self.view.on_mission_log(entry, time.time())

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now, space = time.time(), self.get_namespace()
        for status in message.status:
            where, _, name = status.name.rpartition("/")
            if where == space.rstrip("/"):
                self._heard[f"node {name}"] = now
                if name == "sim":
                    self.hub.put("paused", status.message == "paused")
        self.view.on_diagnostics(message, space, now)

    def _watch(self) -> None:
        """Tell the page who has fallen silent, and what can be asked for."""
        now = time.time()
        world = self._heard.get("observation", 0.0)
        with self._lock:
            heard = dict(self._heard)
        silent = sorted(
            name.removeprefix("node ")
            for name, at in heard.items()
            if name.startswith("node ") and now - at > SILENT_SECONDS
        )
        stale = now - world > SILENT_SECONDS
        since = round(world, 1) if stale and world else None
        self.hub.put("stale", {"world": stale, "since": since, "nodes": silent})
        self.hub.put("controls", self.commands.available())

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        pages = self.server.pages
        return OK, f"{pages} pages open" if pages != 1 else "1 page open", {}

    def close(self) -> None:
        """Let the pages go."""
        self._listener.close()
        self.server.stop()
        self.view.close()


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(WebNode, listening=True)


if __name__ == "__main__":
    sys.exit(main())
