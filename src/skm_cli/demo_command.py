"""`skm demo`: the three nodes as processes, one mission through them, and a picture of the run."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skm_cli.output import labels_text, print_json
from skm_cli.ros_client import RosClient, require_ros
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm.action import ExecuteMission

    from skm_cli.processes import Processes
    from skm_cli.ros_mission import MissionGoal

EPILOG = """\
examples:
  skm demo
  skm demo "F(mail & X F office) & G !decoration" --seed 7 --picture runs/mail.png

The nodes talk over DDS, on ROS_DOMAIN_ID if it is set, else on an id of their own. The exit code is
0 if the mission is accepted, 1 if not, 2 if it cannot be started.
"""
MISSION: Final = "F(coffee & X F(mail & X F office)) & G !decoration"
READY_SECONDS: Final = 60.0
PICTURE_SECONDS: Final = 20.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm demo` to the command."""
    parser = subparsers.add_parser(
        "demo",
        help="run one mission through the three nodes and draw it",
        description="Start simulator, primitives and machine, run one mission, draw it, end them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mission", metavar="MISSION", nargs="?", help=f'default: "{MISSION}"')
    parser.add_argument("--domain", default="office", help="default: office")
    parser.add_argument("--mode", choices=("lockstep", "realtime"), default="lockstep")
    parser.add_argument("--seed", type=int, default=1, help="seed of the world (default: 1)")
    parser.add_argument(
        "--picture", type=Path, default=Path("runs/demo.png"), help="default: runs/demo.png"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the demo."""
    require_ros()
    from skm_cli.private_domain import private_domain_id, private_environment  # noqa: PLC0415
    from skm_cli.processes import Processes  # noqa: PLC0415
    from skm_cli.up_command import node_environment  # noqa: PLC0415
    from skm_sim.domain import get_domain  # noqa: PLC0415

    spec = get_domain(args.domain)
    mission = args.mission or (MISSION if spec.name == "office" else _first_task(spec.tasks))
    with ExitStack() as stack:
        environment, domain_id = node_environment(), None
        if "ROS_DOMAIN_ID" not in os.environ:
            domain_id = stack.enter_context(private_domain_id())
            environment |= private_environment(domain_id)
        processes = stack.enter_context(Processes(environment))
        # In a namespace of its own, it cannot meet another system on the same domain id.
        demo = Demo(processes, f"/skm_demo_{os.getpid()}", domain_id)
        document = demo.run(args, mission)
    if args.json:
        print_json(document)
    return 0 if document["outcome"] == "accepted" else 1


def _first_task(tasks: Any) -> str:  # noqa: ANN401 - a mapping of tasks
    if not tasks:
        raise SkmError("this domain has no tasks: give a MISSION")
    return str(next(iter(tasks.values())).formula)


class Demo:
    """One run: nodes, mission, picture; everything is said as it happens."""

    def __init__(self, processes: Processes, namespace: str, domain_id: int | None) -> None:
        self._processes = processes
        self._namespace = namespace
        self._domain_id = domain_id
        self._began = time.monotonic()
        self._image: Any = None
        self._state: Any = None
        self._first_action: float | None = None

    def say(self, text: str) -> None:
        """Print a line with the seconds since the start."""
        from skm_cli.processes import say  # noqa: PLC0415

        say("demo", f"{time.monotonic() - self._began:5.1f} s  {text}")

    def run(self, args: argparse.Namespace, mission: str) -> dict[str, Any]:
        """Start the nodes, run the mission, save the picture; return what happened."""
        from sensor_msgs.msg import Image  # noqa: PLC0415
        from skm.action import ExecuteMission  # noqa: PLC0415
        from skm.msg import Action  # noqa: PLC0415

        from skm_cli.graph import get_system  # noqa: PLC0415
        from skm_cli.ros_mission import OUTCOMES, MissionGoal  # noqa: PLC0415
        from skm_cli.up_command import node_command  # noqa: PLC0415
        from skm_machine import ros_qos  # noqa: PLC0415

        given = {"domain": args.domain, "mode": args.mode, "seed": args.seed, "render": "image"}
        self.say(f"starting the nodes of {args.domain}, {args.mode}")
        for node in get_system("demo").nodes(given, self._namespace):
            self._processes.start(node.name, node_command(node))
        with RosClient(self._namespace, self._domain_id) as client:
            client.node.create_subscription(Image, "image", self._on_image, ros_qos.LATCHED)
            client.node.create_subscription(Action, "action", self._on_action, ros_qos.COMMAND)
            goal = ExecuteMission.Goal(mission=mission)
            sent = MissionGoal(client, goal, self._on_feedback)
            self._send(client, sent, mission)
            self._spin(client, lambda: sent.done)
            result = sent.result
            outcome = OUTCOMES[result.outcome]
            self._tell(result, outcome)
            picture = self._save(client, args.picture) if result.steps else None
            sent.close()
        return {
            "mission": mission,
            "outcome": outcome,
            "reason": result.reason,
            "steps": result.steps,
            "seconds_to_first_action": self._first_action,
            "picture": picture,
        }

    def _send(self, client: RosClient, sent: MissionGoal, mission: str) -> None:
        """Wait until the machine is ready for the mission, and send it."""
        from skm.msg import MachineState  # noqa: PLC0415

        from skm_machine import ros_qos  # noqa: PLC0415

        client.node.create_subscription(
            MachineState, "machine_state", self._on_state, ros_qos.LATCHED
        )
        ready = MachineState.IDLE
        self._spin(client, lambda: self._state and self._state.phase == ready, READY_SECONDS)
        self.say(f"the nodes are ready; mission: {mission}")
        sent.send(READY_SECONDS)

    def _spin(self, client: RosClient, condition: Any, timeout: float | None = None) -> None:  # noqa: ANN401
        """Take messages until something is so; a dead node, Ctrl-C or the deadline is an error."""

        def holds() -> bool:
            if self._processes.interrupted.is_set():
                raise KeyboardInterrupt
            for child in self._processes.children:
                if child.exit_code is not None:
                    raise SkmError(child.describe_end())
            return bool(condition())

        if not client.spin_until(holds, timeout):
            raise SkmError(f"the nodes were not ready after {timeout:g} s")

    def _on_action(self, _: object) -> None:
        if self._first_action is None:
            self._first_action = time.monotonic() - self._began
            self.say("first action")

    def _on_state(self, state: Any) -> None:  # noqa: ANN401 - skm/MachineState
        self._state = state

    def _on_image(self, image: Any) -> None:  # noqa: ANN401 - sensor_msgs/Image
        self._image = image

    def _on_feedback(self, feedback: ExecuteMission.Feedback) -> None:
        machine = feedback.machine
        if machine.target:
            constraints = ", ".join(machine.active_constraints)
            keeping = f", watching {constraints}" if constraints else ""
            self.say(
                f"step {machine.mission_steps}, machine state {machine.state} of {machine.states}: "
                f"going for {machine.target}{keeping} (value {machine.goal_value:.3f})"
            )

    def _tell(self, result: Any, outcome: str) -> None:  # noqa: ANN401 - made by rosidl
        for move in result.transitions:
            mark = "  ★" if move.reward > 0 else ""
            self.say(
                f"step {move.step}: machine state {move.from_state} → {move.to_state} on "
                f"{labels_text(move.labels)}{mark}"
            )
        self.say(f"mission {outcome} after {result.steps} steps: {result.reason}")

    def _save(self, client: RosClient, path: Path) -> str | None:
        """Save the simulator's picture of the end of the run."""
        import numpy as np  # noqa: PLC0415
        from PIL import Image  # noqa: PLC0415
        from skm.msg import Observation  # noqa: PLC0415

        from skm_machine import ros_qos  # noqa: PLC0415

        stamps: list[Any] = []
        client.node.create_subscription(
            Observation, "observation", lambda m: stamps.append(m.header.stamp), ros_qos.STATE
        )

        def current() -> bool:
            return (
                bool(stamps) and self._image is not None and self._image.header.stamp == stamps[-1]
            )

        if not client.spin_until(current, PICTURE_SECONDS):
            self.say("no picture: the simulator sent none")
            return None
        pixels = np.frombuffer(self._image.data, np.uint8)
        path.parent.mkdir(parents=True, exist_ok=True)
        size = self._image.height, self._image.width, 3
        Image.fromarray(pixels.reshape(size)).save(path)
        self.say(f"picture of the run: {path}")
        return str(path)


def _nanoseconds(stamp: Any) -> int:  # noqa: ANN401 - builtin_interfaces/Time
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
