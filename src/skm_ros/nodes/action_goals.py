"""Goals of action clients, by number: each is answered and ends once unless it is cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionClient
from rclpy.task import Future


class ActionGoals:
    """The goals under way of one or several action clients."""

    def __init__(self, on_answer: Callable[[int, bool, float], None]) -> None:
        """Call `on_answer` (number, accepted, time) once for each goal that is still wanted."""
        self._answered = on_answer
        self._handles: dict[int, Any] = {}
        self._unwanted: set[int] = set()

    def send(
        self,
        number: int,
        client: ActionClient,
        goal: Any,  # noqa: ANN401
        on_result: Callable[[Any, float], None],
        on_feedback: Callable[[Any], None] | None = None,
    ) -> bool:
        """Send a goal; return whether there is a server to take it.

        `on_result` (answer, time) is called at the end of a goal that was accepted.
        """
        if not client.server_is_ready():
            return False
        sent = client.send_goal_async(goal, on_feedback)
        sent.add_done_callback(lambda future: self._on_answer(number, future, on_result))
        return True

    def cancel(self, number: int) -> None:
        """Take a goal back: at once, or as soon as it is answered.

        A goal has no handle until its server has answered. One that was given up before that would
        run on unseen, so its number is kept, and it is cancelled when it is accepted.
        """
        handle = self._handles.pop(number, None)
        if handle is None:
            self._unwanted.add(number)
        else:
            handle.cancel_goal_async()

    def _on_answer(
        self, number: int, future: Future, on_result: Callable[[Any, float], None]
    ) -> None:
        handle: Any = future.result()
        accepted = handle is not None and handle.accepted
        if number in self._unwanted:
            self._unwanted.discard(number)
            if accepted:
                handle.cancel_goal_async()
            return
        if accepted:
            self._handles[number] = handle
            ended = handle.get_result_async()
            ended.add_done_callback(lambda result: self._on_end(number, result, on_result))
        self._answered(number, accepted, time.monotonic())

    def _on_end(self, number: int, future: Future, on_result: Callable[[Any, float], None]) -> None:
        self._handles.pop(number, None)
        answer: Any = future.result()
        if answer is not None:  # None: the server is gone, which its client's owner sees by itself
            on_result(answer, time.monotonic())
