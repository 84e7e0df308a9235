"""Systems of nodes for benchmarks: each node a process of its own, and a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final, Self

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Twist
from skm.action import ExecuteMission
from skm.msg import MachineState

from skm_bench.captured_process import CapturedProcess
from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.private_domain import private_domain_id, private_environment
from skm_ros.client.ros_client import RosClient
from skm_ros.graph import Value, get_system
from skm_ros.processes import node_command, node_environment
from skm_ros.robot_messages import pose_value, velocity_value
from skm_sim.robots.pose import REST, Velocity
from skm_sim.robots.walls import Pose

# A system of nodes for a benchmark: each a process of its own, and a client that hears of them.


START_SECONDS: Final = 60.0


class BenchSystem:
    """The nodes of a system in real time on a domain id of their own, with nothing drawn."""

    def __init__(
        self,
        domain: str,
        rate: float,
        seed: int,
        system: str = "demo",
        parameters: Mapping[str, Mapping[str, Value]] | None = None,
        arguments: Mapping[str, Value] | None = None,
    ) -> None:
        """`parameters` are further ones, by node; `arguments` those of the system."""
        self._stack = ExitStack()
        domain_id = self._stack.enter_context(private_domain_id())
        self._environment = {**node_environment(), **private_environment(domain_id)}
        given: dict[str, Value] = {"domain": domain, "mission": "none", "mode": "realtime"}
        given |= {"rate": rate, "seed": seed, "render": "none", "picture": ""}
        given["resume"] = (
            "never"  # a mission that lost a node has an end, which is what is measured
        )
        given |= arguments or {}
        further = parameters or {}
        self._nodes = {
            node.name: replace(node, parameters={**node.parameters, **further.get(node.name, {})})
            for node in get_system(system).nodes(given)
        }
        self.children: dict[str, CapturedProcess] = {}
        for name in self._nodes:
            self.start(name)
        self.client = self._stack.enter_context(RosClient(domain_id=domain_id))
        self.diagnostics: dict[str, Mapping[str, str]] = {}
        """What each node last said of itself, by its name."""
        self.messages: dict[str, str] = {}
        self.client.node.create_subscription(
            DiagnosticArray, qos.DIAGNOSTICS_TOPIC, self._on_diagnostics, qos.DIAGNOSTICS
        )

    def start(self, name: str) -> None:
        """Start a node, or start it again."""
        self.children[name] = CapturedProcess(node_command(self._nodes[name]), self._environment)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {entry.key: entry.value for entry in status.values}
            name = status.name.rsplit("/", 1)[-1]
            self.diagnostics[name], self.messages[name] = values, status.message

    def until(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """Take messages until something is so; an error with the nodes' last lines if it is not."""
        if not self.client.spin_until(condition, timeout):
            last = {name: child.output[-5:] for name, child in self.children.items()}
            raise SkmError(f"{what} did not come within {timeout:g} s: {last}")

    def check_running(self) -> None:
        """Raise an error if a node has ended."""
        for child in self.children.values():
            child.check_running()

    def stop(self) -> dict[str, int]:
        """Interrupt every node; return their exit codes."""
        return {name: child.stop() for name, child in self.children.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._stack.close()


# The system `robot` for benchmarks and tests: its client sends missions and sees the true pose.


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
