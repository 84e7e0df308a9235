"""What a node that drives a robot has in common with others of its kind: stops that hold.

Relative to its namespace (/skm):
    offers      stop, resume (std_srvs/Trigger)
    subscribes  the dead-man topic (std_msgs/Bool), if one is named

`stop` brings the robot to rest at once and keeps it there, whoever commands what, until `resume`. A
dead-man topic must say true at least every `deadman_timeout` seconds; without it the robot is stopped,
and moves on when it comes back.
"""

from __future__ import annotations

import time
from typing import Any, Final

from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from skm_ros import qos
from skm_ros.nodes.skm_node import Setting, SkmNode
from skm_ros.nodes.stop_record import StopRecord
from skm_sim.command_gate import CommandGate

SETTINGS: Final = (
    Setting("deadman", "", "topic of a dead-man switch (std_msgs/Bool); empty: none", fixed=True),
    Setting(
        "deadman_timeout",
        0.5,
        "seconds without a true on the dead-man topic after which the robot is stopped",
        low=0.01,
        high=60.0,
    ),
)
SERVICE: Final = "service"
DEADMAN: Final = "dead man"


class RobotSide(StopRecord):
    """The gate in front of a robot, with the services and topics that can close it."""

    def __init__(self, node: SkmNode, gate: CommandGate) -> None:
        super().__init__()
        self._node = node
        self.gate = gate
        self._held_at = -1e9
        node.create_service(Trigger, "stop", self._on_stop)
        node.create_service(Trigger, "resume", self._on_resume, callback_group=node.seldom)
        topic = node.setting("deadman")
        self._watched = bool(topic)
        if topic:
            node.create_subscription(Bool, topic, self._on_deadman, qos.COMMAND)
            self.watch(time.monotonic())

    def _on_stop(self, request: Any, response: Trigger.Response) -> Trigger.Response:  # noqa: ANN401, ARG002
        if self.gate.in_control:
            self.begin_stop(time.monotonic())
        self.gate.stop(SERVICE, "stop was called")
        self._node.counts["stops by service"] += 1
        self._node.get_logger().warning("stopped by service; resume lets the robot move again")
        response.success, response.message = True, "stopped until resume is called"
        return response

    def _on_resume(self, request: Any, response: Trigger.Response) -> Trigger.Response:  # noqa: ANN401, ARG002
        response.success = self.gate.resume(SERVICE)
        response.message = self.gate.stopped or ("free" if response.success else "was not stopped")
        return response

    def _on_deadman(self, message: Bool) -> None:
        if message.data:
            self._held_at = time.monotonic()
        else:
            self._held_at = -1e9
        self.watch(time.monotonic())

    def due(self, now: float) -> Any:  # noqa: ANN401 - an action of the domain
        """Return the command to carry out now; None if the robot is to brake."""
        command = self.gate.due(now)
        if command is not None:
            self.note_obeyed(self.gate.age(now))
        return command

    def watch(self, now: float) -> None:
        """Look whether the dead-man switch is held."""
        if not self._watched:
            return
        if now - self._held_at > self._node.setting("deadman_timeout"):
            self.gate.stop(DEADMAN, "the dead-man switch is not held")
        else:
            self.gate.resume(DEADMAN)
