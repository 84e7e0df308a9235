"""The web node: the run in a browser, on this machine by default (docs/how-to/web.md).

Relative to its namespace (/skm):
    subscribes  machine_state, mission_log, mission_queue, decision, primitives_info, observation,
                labels, markers, image, /diagnostics (diagnostic_msgs/DiagnosticArray)
    uses        execute_mission, an action; set_event, set_place, edit_queue, pause_mission and
                resume_mission of the machine; reset, pause, stop and resume of
                the simulator or the bridge
    publishes   /diagnostics (diagnostic_msgs/DiagnosticArray); assistant (std_msgs/String): each call of
                an assistant, with its answer, as JSON; a dead-man topic (std_msgs/Bool), if one is
                named: whether somebody looks at a page now

The page is served by `skm_web` in a thread of its own. Messages are kept as they come, in another one,
and read only when the page is brought up to date: a fast robot costs little more than a slow one.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future as ConcurrentFuture
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.action import ActionClient
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from sensor_msgs.msg import Image
from skm.action import ExecuteMission
from skm.msg import (
    Decision,
    Labels,
    MachineState,
    MissionLog,
    MissionQueue,
    Observation,
    PrimitivesInfo,
)
from skm.srv import EditQueue, Reset, SetEvent, SetPlace
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.skm_node import OK, Setting, SkmNode
from skm_ros.raw_topics import Batch, RawListener
from skm_ros.skills_conversion import remote_skills
from skm_web import Hub, RunView
from skm_web.assistant import Assistant
from skm_web.mission_check import MOST_CHARACTERS, check_mission
from skm_web.runs import RunLibrary
from skm_web.server import Application, PageServer

# What a page may ask for: to check, send and cancel a mission, to set events, pause, reset and
# stop.
#
# Pages ask in the server's thread; the nodes are asked in the executor's, and their answer goes
# back. Nobody waits for a node for longer than `ANSWER_SECONDS`.


ANSWER_SECONDS: Final = 5.0
PLACES_SECONDS: Final = 5.0
"""Between two questions which places are out of service."""
ACTION: Final = "execute_mission"
WHEN: Final = {
    "": ExecuteMission.Goal.AS_USUAL,
    "queue": ExecuteMission.Goal.QUEUE,
    "add": ExecuteMission.Goal.ADD,
    "replace": ExecuteMission.Goal.REPLACE,
}
"""What becomes of a mission while another one is under way; said by its sender."""
UNDER_WAY: Final = ("preparing", "running", "stopped")


class PageCommands:
    """Answers the requests of pages."""

    def __init__(self, node: WebNode, view: RunView) -> None:
        self._node = node
        self._view = view
        self._missions = ActionClient(node, ExecuteMission, ACTION)
        self._cancel = node.create_client(CancelGoal, f"{ACTION}/_action/cancel_goal")
        self._reset = node.create_client(Reset, "reset")
        self._pause = node.create_client(SetBool, "pause")
        self._stop = node.create_client(Trigger, "stop")
        self._event = node.create_client(SetEvent, "set_event")
        self._resume = node.create_client(Trigger, "resume")
        self._queue = node.create_client(EditQueue, "edit_queue")
        self._place = node.create_client(SetPlace, "set_place")
        self._pause_mission = node.create_client(Trigger, "pause_mission")
        self._resume_mission = node.create_client(Trigger, "resume_mission")
        self._checks = ThreadPoolExecutor(1, thread_name_prefix="checks")
        self._answers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "check": self._on_check,
            "machine": self._on_machine,
            "send": self._on_send,
            "cancel": self._on_cancel,
            "reset": self._on_reset,
            "pause": self._on_pause,
            "stop": self._on_stop,
            "resume": self._on_resume,
            "event": self._on_event,
            "queue": self._on_queue,
            "pause_mission": self._on_pause_mission,
            "place": self._on_place,
        }

    def offer(self, kind: str, answer: Callable[[dict[str, Any]], Any]) -> None:
        """Have a further kind of request answered."""
        self._answers[kind] = answer

    def available(self) -> dict[str, bool]:
        """Return what can be asked for now: the nodes that do it are there."""
        return {
            "send": self._missions.server_is_ready(),
            "reset": self._reset.service_is_ready(),
            "pause": self._pause.service_is_ready(),
            "stop": self._stop.service_is_ready(),
            "event": self._event.service_is_ready(),
            "queue": self._queue.service_is_ready(),
            "place": self._place.service_is_ready(),
        }

    def ask_for_places(self) -> None:
        """Have the pages told which places are out of service: others may change that, too."""
        if self._place.service_is_ready():
            answer = self._place.call_async(SetPlace.Request())
            answer.add_done_callback(lambda future: self._show_places(future.result()))

    def _show_places(self, answer: SetPlace.Response | None) -> None:
        if answer is not None and answer.success:
            notes = zip(answer.closed_places, answer.notes, strict=False)
            self._view.hub.put("closed", dict(notes))

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of a page."""
        answer = self._answers.get(request["type"])
        if answer is None:
            return {"ok": False, "message": f"there is no request '{request['type'][:40]}'"}
        try:
            found: dict[str, Any] = await answer(request)
        except SkmError as error:
            return {"ok": False, "message": str(error)}
        except TimeoutError:
            return {"ok": False, "message": f"nobody answered within {ANSWER_SECONDS:g} s"}
        return found

    async def _on_check(self, request: dict[str, Any]) -> dict[str, Any]:
        text, loop = _text(request, "text"), asyncio.get_running_loop()
        context, language = self._view.context, str(request.get("language", "en"))
        verdict = await loop.run_in_executor(self._checks, check_mission, text, context, language)
        return {"ok": True, "verdict": verdict}

    async def _on_machine(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        drawing = await asyncio.to_thread(self._view.whole_machine)
        return {"ok": True, "drawing": drawing}

    async def _on_send(self, request: dict[str, Any]) -> dict[str, Any]:
        when = str(request.get("when", ""))
        if when not in WHEN:
            raise SkmError(f"a mission is sent to {', '.join(filter(None, WHEN))}")
        goal = ExecuteMission.Goal(mission=_text(request, "mission"), when=WHEN[when])
        if not self._missions.server_is_ready():
            return {"ok": False, "message": "the machine node is not there"}
        phase = (self._view.hub.value("mission") or {}).get("phase")
        if not when and phase in UNDER_WAY:  # somebody else may have sent one meanwhile
            said = "a mission is under way: it can be replaced, or this one can wait"
            return {"ok": False, "under_way": True, "message": said}
        handle = await self._asked(lambda: self._missions.send_goal_async(goal))
        if not handle.accepted:
            return {"ok": False, "message": "the machine takes no mission now"}
        return {"ok": True, "message": "the robot has taken the mission"}

    async def _on_cancel(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        wanted = CancelGoal.Request()  # no goal's id and no time: every goal, of any client
        mission = self._view.hub.value("mission") or {}
        if mission.get("phase") in UNDER_WAY:  # what waits goes on waiting
            wanted.goal_info.goal_id.uuid = list(bytes.fromhex(mission["goal"]))
        answer = await self._call(self._cancel, wanted, "the machine node")
        ended = bool(answer.goals_canceling)
        return {"ok": True, "message": "the mission ends" if ended else "no mission was under way"}

    async def _on_reset(self, request: dict[str, Any]) -> dict[str, Any]:
        seed = request.get("seed", Reset.Request.NO_SEED)
        if not isinstance(seed, int) or not -1 <= seed < 2**63:
            raise SkmError("a seed is a whole number from 0")
        if self._cancel.service_is_ready():
            await self._call(self._cancel, CancelGoal.Request(), "the machine node")
        answer = await self._call(self._reset, Reset.Request(seed=seed), "the simulator")
        return {"ok": answer.success, "message": answer.message or "a new episode has begun"}

    async def _on_pause(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = SetBool.Request(data=bool(request.get("on", True)))
        answer = await self._call(self._pause, wanted, "the simulator")
        if answer.success:
            self._view.hub.put("paused", wanted.data)
        return {"ok": answer.success, "message": answer.message}

    async def _on_stop(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        answer = await self._call(self._stop, Trigger.Request(), "the robot")
        return {"ok": answer.success, "message": answer.message or "the robot is stopped"}

    async def _on_resume(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        answer = await self._call(self._resume, Trigger.Request(), "the robot")
        said = "the robot may move" if answer.success else answer.message
        return {"ok": answer.success, "message": said}

    async def _on_event(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = SetEvent.Request(name=_text(request, "name"), value=bool(request.get("on", True)))
        answer = await self._call(self._event, wanted, "the machine node")
        said = f"the mission has taken it at its step {answer.mission_steps}"
        return {"ok": answer.success, "message": said if answer.success else answer.message}

    async def _on_queue(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take a mission out of the queue, or put it elsewhere."""
        what = {"remove": EditQueue.Request.REMOVE, "move": EditQueue.Request.MOVE}
        number, place = request.get("number"), request.get("place", 1)
        if request.get("what") not in what or not _is_count(number) or not _is_count(place):
            raise SkmError("a mission of the queue is removed, or moved to a place, by its number")
        wanted = EditQueue.Request(what=what[request["what"]], number=number, place=place)
        answer = await self._call(self._queue, wanted, "the machine node")
        return {"ok": answer.success, "message": answer.message}

    async def _on_place(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take a place out of service, or put it back."""
        name, closed = _text(request, "name"), bool(request.get("closed", True))
        wanted = SetPlace.Request(name=name, closed=closed, note="by the page" if closed else "")
        answer = await self._call(self._place, wanted, "the machine node")
        self._show_places(answer)
        return {"ok": answer.success, "message": answer.message}

    async def _on_pause_mission(self, request: dict[str, Any]) -> dict[str, Any]:
        on = bool(request.get("on", True))
        client = self._pause_mission if on else self._resume_mission
        answer = await self._call(client, Trigger.Request(), "the machine node")
        return {"ok": answer.success, "message": answer.message}

    async def _call(self, client: Any, request: Any, whose: str) -> Any:  # noqa: ANN401
        if not client.service_is_ready():
            raise SkmError(f"{whose} offers no such thing, or is not there: {client.srv_name}")
        return await self._asked(lambda: client.call_async(request))

    async def _asked(self, begin: Callable[[], Future]) -> Any:  # noqa: ANN401
        """Return what a node answers; it is asked in the executor's thread."""
        answer: ConcurrentFuture[Any] = ConcurrentFuture()

        def on_done(future: Future) -> None:
            if not answer.done():
                answer.set_result(future.result())

        def ask() -> None:
            begin().add_done_callback(on_done)

        self._node.do_soon(ask)
        return await asyncio.wait_for(asyncio.wrap_future(answer), ANSWER_SECONDS)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31


def _text(request: dict[str, Any], name: str) -> str:
    text = request.get(name)
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise SkmError(f"a {name} is a text of at most {MOST_CHARACTERS} characters")
    return text


UPDATE_SECONDS: Final = 1 / 15
UNSEEN_UPDATES: Final = 3
"""Where nobody looks, only every third update is made: so that the path goes on."""
WATCH_SECONDS: Final = 0.5
DEADMAN_SECONDS: Final = 0.1
"""Between two messages on the dead-man topic: the robot waits for `deadman_timeout`, 0.5 s, for one."""
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
    Setting(
        "public_url",
        "",
        "address that people type where a proxy stands before the page; empty: none does",
        fixed=True,
    ),
    Setting(
        "deadman",
        "",
        "dead-man topic that says whether somebody looks at a page now (std_msgs/Bool); empty: none",
        fixed=True,
    ),
    Setting(
        "assistant",
        "confirm",
        "missions of assistants: a person confirms them (confirm), they run (run), none is taken (off)",
        fixed=True,
    ),
    Setting("runs", "", "folder of recordings to show under runs/; empty: none", fixed=True),
)


class WebNode(SkmNode):
    """Serves one page; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("web", SETTINGS, **options)
        self.hub = Hub()
        self.view = RunView(self.hub, live=True)
        self.hub.put("controls", {})
        self.hub.put("server", {"deadman": bool(self.setting("deadman"))})
        self._lock = threading.Lock()
        self._waiting: dict[str, list[bytes]] = {}
        """Messages that have come and are not read, by topic."""
        self._heard: dict[str, float] = {}
        self._early: list[Callable[[], Any]] = []
        """What pages wanted done before the node had an executor."""
        self._updates = 0
        self._places_at = 0.0
        self._library: RunLibrary | None = None
        self.commands = PageCommands(self, self.view)
        self._calls = self.create_publisher(String, "assistant", qos.LOG)
        self.assistant = Assistant(
            self.hub, self.commands.handle, self._note_call, self.setting("assistant")
        )
        self.commands.offer("proposal", self.assistant.decide)
        self.server = PageServer(
            self.hub,
            self.commands.handle,
            self.setting("host"),
            self.setting("port"),
            read_only=self.setting("read_only"),
            source=self.get_namespace(),
            public_url=self.setting("public_url"),
            below={
                "assistant": Application(self.hub, self.assistant.handle),
                **self._recordings(),
            },
        )
        self.server.start()
        self.get_logger().info(f"the page is at {self.server.url}")
        self._listener = RawListener(self, self._keep)
        self._readers: dict[str, tuple[Any, Callable[[Any], None]]] = {}
        for kind, topic, take, profile in (
            (PrimitivesInfo, "primitives_info", self._on_primitives, qos.LATCHED),
            (MissionLog, "mission_log", self._on_log, qos.LOG),
            (MachineState, "machine_state", self.view.on_machine_state, qos.LATCHED),
            (MissionQueue, "mission_queue", self._on_queue, qos.LATCHED),
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
        if self.setting("deadman"):
            self._deadman = self.create_publisher(Bool, self.setting("deadman"), qos.COMMAND)
            self.create_timer(DEADMAN_SECONDS, self._hold, clock=self.steady_clock)

    def do_soon(self, work: Callable[[], Any]) -> None:
        """Have something done in the executor's thread; pages may ask before there is one."""
        with self._lock:
            self._early.append(work)
            if self.executor is None:
                return
            early, self._early = self._early, []
        for each in early:
            self.executor.create_task(each)

    def _note_call(self, text: str) -> None:
        """Have a call of an assistant recorded; in the executor's thread, since pages have their own."""
        self.do_soon(partial(self._calls.publish, String(data=text)))

    def _recordings(self) -> dict[str, Application]:
        """Return the page of the recordings, where there is a folder of them."""
        if not self.setting("runs"):
            return {}
        folder = Path(self.setting("runs"))
        folder.mkdir(parents=True, exist_ok=True)
        self._library = library = RunLibrary(folder, below=True)
        self.hub.put("server", {**self.hub.value("server"), "recordings": True})
        shown = Application(
            library.hub, library.handle, downloads=library.file, visit=library.visit
        )
        return {"runs": shown}

    def _hold(self) -> None:
        """Hold the dead-man switch for as long as somebody looks."""
        self._deadman.publish(Bool(data=self.server.watched))

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
        if self._early:
            self.do_soon(lambda: None)
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

    def _on_queue(self, queue: MissionQueue) -> None:
        self.hub.put(
            "queue",
            {
                "paused": queue.reason if queue.paused else "",
                "missions": [
                    {"number": int(e.number), "mission": e.mission, "under_way": bool(e.under_way)}
                    for e in queue.missions[:100]
                ],
            },
        )

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
        if now - self._places_at > PLACES_SECONDS:
            self._places_at = now
            self.commands.ask_for_places()

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        pages = self.server.pages
        return OK, f"{pages} pages open" if pages != 1 else "1 page open", {}

    def close(self) -> None:
        """Let the pages go."""
        self._listener.close()
        self.server.stop()
        if self._library is not None:
            self._library.stop()
        self.view.close()


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(WebNode, listening=True)


if __name__ == "__main__":
    sys.exit(main())
