"""What a page may ask for: to check, send and cancel a mission, to set events, pause, reset and stop.

Pages ask in the server's thread; the nodes are asked in the executor's, and their answer goes back.
Nobody waits for a node for longer than `ANSWER_SECONDS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future as Promise
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.task import Future
from skm.action import ExecuteMission
from skm.srv import Reset, SetEvent
from std_srvs.srv import SetBool, Trigger

from skm_machine.errors import SkmError
from skm_web.mission_check import MOST_CHARACTERS, check_mission

if TYPE_CHECKING:
    from skm_ros.nodes.web_node import WebNode
    from skm_web.run_view import RunView

ANSWER_SECONDS: Final = 5.0
ACTION: Final = "execute_mission"


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
        }

    def available(self) -> dict[str, bool]:
        """Return what can be asked for now: the nodes that do it are there."""
        return {
            "send": self._missions.server_is_ready(),
            "reset": self._reset.service_is_ready(),
            "pause": self._pause.service_is_ready(),
            "stop": self._stop.service_is_ready(),
            "event": self._event.service_is_ready(),
        }

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
        verdict = await loop.run_in_executor(self._checks, check_mission, text, self._view.context)
        return {"ok": True, "verdict": verdict}

    async def _on_machine(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        drawing = await asyncio.to_thread(self._view.whole_machine)
        return {"ok": True, "drawing": drawing}

    async def _on_send(self, request: dict[str, Any]) -> dict[str, Any]:
        goal = ExecuteMission.Goal(mission=_text(request, "mission"))
        if not self._missions.server_is_ready():
            return {"ok": False, "message": "the machine node is not there"}
        handle = await self._asked(lambda: self._missions.send_goal_async(goal))
        if not handle.accepted:
            return {"ok": False, "message": "the machine takes no mission now"}
        return {"ok": True, "message": "the machine has taken the mission"}

    async def _on_cancel(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        # No goal's id and no time: every goal, whoever sent it.
        answer = await self._call(self._cancel, CancelGoal.Request(), "the machine node")
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
        return {"ok": answer.success, "message": answer.message or "the robot may move"}

    async def _on_event(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = SetEvent.Request(name=_text(request, "name"), value=bool(request.get("on", True)))
        answer = await self._call(self._event, wanted, "the machine node")
        said = f"the mission has taken it at its step {answer.mission_steps}"
        return {"ok": answer.success, "message": said if answer.success else answer.message}

    async def _call(self, client: Any, request: Any, whose: str) -> Any:  # noqa: ANN401
        if not client.service_is_ready():
            raise SkmError(f"{whose} offers no such thing, or is not there: {client.srv_name}")
        return await self._asked(lambda: client.call_async(request))

    async def _asked(self, begin: Callable[[], Future]) -> Any:  # noqa: ANN401
        """Return what a node answers; it is asked in the executor's thread."""
        promise: Promise[Any] = Promise()

        def on_done(future: Future) -> None:
            if not promise.done():
                promise.set_result(future.result())

        def ask() -> None:
            begin().add_done_callback(on_done)

        self._node.executor.create_task(ask)
        return await asyncio.wait_for(asyncio.wrap_future(promise), ANSWER_SECONDS)


def _text(request: dict[str, Any], name: str) -> str:
    text = request.get(name)
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise SkmError(f"a {name} is a text of at most {MOST_CHARACTERS} characters")
    return text
