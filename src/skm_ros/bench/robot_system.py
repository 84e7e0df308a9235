"""The system `robot` for benchmarks and tests: its client sends missions and sees the true pose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import PoseStamped, Twist
from skm.action import ExecuteMission
from skm.msg import MachineState

from skm_ros import qos
from skm_ros.bench.bench_system import START_SECONDS, BenchSystem
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.graph import Value
from skm_ros.robot_messages import pose_value, velocity_value
from skm_sim.driving.velocities import REST, Velocity
from skm_sim.robots.walls import Pose


class RobotSystem(BenchSystem):
    """Car, bridge, primitives and machine, and a client; use it in a `with` statement."""

    def __init__(
        self,
        domain: str,
        rate: float,
        seed: int = 0,
        parameters: Mapping[str, Mapping[str, Value]] | None = None,
    ) -> None:
        super().__init__(domain, rate, seed, "robot", parameters)
        self.state: MachineState | None = None
        self.pose: Pose | None = None
        self.command = REST
        self.watch: Callable[[Pose], None] = lambda _: None
        """Is shown the true pose, at 50 Hz."""
        self.watch_command: Callable[[Velocity], None] = lambda _: None
        listen = self.client.node.create_subscription
        listen(MachineState, "machine_state", self._on_state, qos.ALIVE)
        listen(PoseStamped, "true_pose", self._on_pose, qos.COMMAND)
        listen(Twist, "cmd_vel", self._on_command, qos.COMMAND)

    def _on_state(self, state: MachineState) -> None:
        self.state = state

    def _on_pose(self, message: PoseStamped) -> None:
        self.pose = pose_value(message.pose)
        self.watch(self.pose)

    def _on_command(self, message: Twist) -> None:
        self.command = velocity_value(message)
        self.watch_command(self.command)

    def send(self, mission: str, **options: Any) -> MissionGoal:  # noqa: ANN401
        """Send a mission as soon as the machine is ready for it."""
        goal = MissionGoal(self.client, ExecuteMission.Goal(mission=mission, **options))
        self.until(
            lambda: goal.machine_is_ready and self.pose is not None, START_SECONDS, "a robot"
        )
        goal.send(START_SECONDS)
        return goal

    def run(self, mission: str, timeout: float, max_steps: int = 100_000) -> ExecuteMission.Result:
        """Run a mission to its end."""
        goal = self.send(mission, max_steps=max_steps)
        self.until(lambda: goal.done, timeout, "the mission's end")
        result = goal.result
        goal.close()
        return result
