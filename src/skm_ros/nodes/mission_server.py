"""An action server whose goals run by callbacks and end when they are asked to.

rclpy's own keeps a coroutine that waits for each result, and its executors ask it at every message
whether it can go on. Here nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from action_msgs.msg import GoalInfo
from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future

RESULT_SECONDS: Final = 60
"""How long a mission that is over can be asked about; until then the action's status lists it, too."""


class MissionServer(ActionServer):  # type: ignore[misc]
    """`handle.execute()` marks a goal as under way; `answer` sends the result once it has ended."""

    def __init__(self, node: Node, kind: type[Any], name: str, **options: Any) -> None:  # noqa: ANN401
        super().__init__(node, kind, name, lambda _: kind.Result(), **options)

    def notify_execute(
        self, goal_handle: ServerGoalHandle, execute_callback: Callable[..., Any] | None
    ) -> None:
        """Schedule what gives the result, if there is one already."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def restore(self, goal_id: bytes, request: Any) -> ServerGoalHandle:  # noqa: ANN401
        """Return the handle of a goal that a server of before had: clients know it by its id."""
        info = GoalInfo()
        info.goal_id.uuid = np.frombuffer(goal_id, np.uint8)
        handle = ServerGoalHandle(self, info, request)
        self._goal_handles[goal_id] = handle
        self._result_futures[goal_id] = Future()
        self.add_future(self._result_futures[goal_id])
        return handle

    def feed_back(self, message: object) -> None:
        """Publish the feedback of a goal under way: an `Impl.FeedbackMessage`, which may be kept.

        rclpy's goal handles make such a message, with all that is in it, for every feedback.
        """
        self._handle.publish_feedback(message)

    def answer(self, goal_handle: ServerGoalHandle, result: object) -> None:
        """Send the result of a goal that has its terminal status."""
        self.notify_execute(goal_handle, lambda _: result)
