"""What a node that drives a robot has in common with others of its kind: stops that hold.

Relative to its namespace (/skm):
    offers      stop, resume (std_srvs/Trigger)
    subscribes  the dead-man topic (std_msgs/Bool), if one is named

`stop` brings the robot to rest at once and keeps it there, whatever is commanded, until `resume`. A
dead-man topic must say true at least every `deadman_timeout` seconds; without it the robot is stopped,
and moves on when it comes back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Final

from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from skm_ros import qos
from skm_ros.nodes.skm_node import Setting, SkmNode
from skm_sim.robots.command_gate import NOT_HELD, STOP_CALLED, CommandGate

# The last stop of a robot: when it began, when the robot stood, and how far it went.


STILL: Final = 2e-3
"""A robot that moves less than so many metres in a period is at rest."""


class StopRecord:
    """Notes stops, for the diagnostics and for measurements; times of a steady clock."""

    def __init__(self) -> None:
        self.stop_began = self._at_rest = 0.0
        self._way = self._oldest = 0.0
        self._place: tuple[float, float] | None = None

    def begin_stop(self, now: float) -> None:
        """Note that the robot is being brought to rest from now on."""
        self.stop_began, self._at_rest, self._way = now, 0.0, 0.0

    def note_obeyed(self, age: float) -> None:
        """Note that a command of this age is being carried out."""
        self._oldest = max(self._oldest, age)

    def note_place(self, place: tuple[float, float] | None, now: float, *, braking: bool) -> None:
        """Note where the robot is, once a period: how far it still went, and when it came to rest."""
        if place is not None and self._place is not None and braking and not self._at_rest:
            way = math.dist(place, self._place)
            self._way += way
            if way < STILL and now > self.stop_began:
                self._at_rest = now
        self._place = place

    def report(self) -> dict[str, object]:
        """Return the last stop, and how fresh commands were, as values for the diagnostics."""
        return {
            "last stop began (s, steady clock)": f"{self.stop_began:.4f}",
            "last stop, at rest (s, steady clock)": f"{self._at_rest:.4f}",
            "last stop, way to rest (m)": f"{self._way:.3f}",
            "oldest command obeyed (s)": f"{self._oldest:.4f}",
        }


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

    def __init__(
        self, node: SkmNode, gate: CommandGate, on_resume: Callable[[], bool] = lambda: False
    ) -> None:
        """`on_resume` is called when a person lets the robot move; it tells if that mattered."""
        super().__init__()
        self._node, self._on_resumed = node, on_resume
        self.gate = gate
        self._held_at = -1e9
        node.create_service(Trigger, "stop", self._on_stop)
        node.create_service(Trigger, "resume", self._on_resume, callback_group=node.low_priority)
        topic = node.setting("deadman")
        self._watched = bool(topic)
        if topic:
            node.create_subscription(Bool, topic, self._on_deadman, qos.COMMAND)
            self.watch(time.monotonic())

    def _on_stop(self, request: Any, response: Trigger.Response) -> Trigger.Response:  # noqa: ANN401, ARG002
        if self.gate.in_control:
            self.begin_stop(time.monotonic())
        self.gate.stop(SERVICE, STOP_CALLED)
        self._node.counts["stops by service"] += 1
        self._node.get_logger().warning("stopped by service; resume lets the robot move again")
        response.success, response.message = True, "stopped until resume is called"
        return response

    def _on_resume(self, request: Any, response: Trigger.Response) -> Trigger.Response:  # noqa: ANN401, ARG002
        mattered = self._on_resumed()
        response.success = self.gate.resume(SERVICE) or mattered
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
            self.gate.stop(DEADMAN, NOT_HELD)
        else:
            self.gate.resume(DEADMAN)
