"""`skm demo`: the three nodes as processes, one mission through them, and a picture of the run."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skm_cli.output import labels_text, print_json
from skm_machine.errors import SkmError
from skm_ros.client.ros_client import RosClient, require_ros

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skm.action import ExecuteMission

    from skm_ros.client.mission_goal import MissionGoal
    from skm_ros.client.recording import Recording
    from skm_ros.graph import Value
    from skm_ros.processes import Processes

EPILOG = """\
examples:
  skm demo
  skm demo "F(button & X F region)" --seed 16
  skm demo --domain office --picture runs/office.svg
  skm demo --domain moving_targets --seed 5
  skm demo "F(mail & X F office) & G !decoration" --domain office --mode lockstep

By default a point robot presses a button, then goes to the cylinder, and never touches a region. The
picture shows its path from above in the colours of the machine's states; the .svg has the machine, too.

The nodes talk over DDS, on ROS_DOMAIN_ID if it is set, else on an id of their own. The exit code is
0 if the mission is accepted, 1 if it fails or its time is up, 2 if it is rejected or cannot be started.
"""
READY_SECONDS: Final = 60.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm demo` to the command; what is not said is as config/graph.yaml has it."""
    parser = subparsers.add_parser(
        "demo",
        help="run one mission through the three nodes and draw it",
        description="Start simulator, primitives and machine, run one mission, draw it, end them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "mission",
        metavar="MISSION",
        nargs="?",
        help="default: task 2 of safety and moving_targets, else the first one",
    )
    parser.add_argument("--domain", help="default: safety")
    parser.add_argument("--mode", choices=("lockstep", "realtime"), help="default: realtime")
    parser.add_argument("--rate", type=float, help="steps per second in real time (default: 10)")
    parser.add_argument("--seed", type=int, help="seed of the world (default: 92)")
    parser.add_argument("--checkpoint", help="primitives to use instead of the shipped ones")
    parser.add_argument(
        "--picture", metavar="FILE.svg", help="also as .png (default: runs/demo.svg)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


OPTIONS: Final = ("mission", "domain", "mode", "rate", "seed", "checkpoint", "picture")


def run(args: argparse.Namespace) -> int:
    """Run the demo."""
    require_ros()
    from skm_cli.commands.up import node_environment  # noqa: PLC0415
    from skm_primitives.figures.run_picture import check_picture  # noqa: PLC0415
    from skm_ros.bench.private_domain import private_domain_id, private_environment  # noqa: PLC0415
    from skm_ros.processes import Processes  # noqa: PLC0415

    given = {name: value for name in OPTIONS if (value := getattr(args, name)) is not None}
    if args.picture:
        check_picture(Path(args.picture))
    with ExitStack() as stack:
        environment, domain_id = node_environment(), None
        if "ROS_DOMAIN_ID" not in os.environ:
            domain_id = stack.enter_context(private_domain_id())
            environment |= private_environment(domain_id)
        processes = stack.enter_context(Processes(environment))
        # In a namespace of its own, it cannot meet another system on the same domain id.
        demo = Demo(processes, f"/skm_demo_{os.getpid()}", domain_id)
        document = demo.run(given)
    if args.json:
        print_json(document)
    return {"accepted": 0, "rejected": 2}.get(document["outcome"], 1)


class Demo:
    """One run: nodes, mission, picture; everything is said as it happens."""

    def __init__(self, processes: Processes, namespace: str, domain_id: int | None) -> None:
        self._processes = processes
        self._namespace = namespace
        self._domain_id = domain_id
        self._began = time.monotonic()
        self._first_action: float | None = None
        self._recording: Recording

    def say(self, text: str) -> None:
        """Print a line with the seconds since the start."""
        from skm_ros.processes import say  # noqa: PLC0415

        say("demo", f"{time.monotonic() - self._began:5.1f} s  {text}")

    def run(self, given: Mapping[str, Value]) -> dict[str, Any]:
        """Start the nodes, run the mission, save the picture; return what happened."""
        from skm.action import ExecuteMission  # noqa: PLC0415
        from skm.msg import Action  # noqa: PLC0415

        from skm_cli.commands.up import node_command  # noqa: PLC0415
        from skm_ros import qos  # noqa: PLC0415
        from skm_ros.client.mission_goal import OUTCOMES, MissionGoal  # noqa: PLC0415
        from skm_ros.client.recording import Recording  # noqa: PLC0415
        from skm_ros.graph import get_system  # noqa: PLC0415

        system = get_system("demo")
        values, mission = system.values(given), system.mission(given)
        self.say(f"starting the nodes of {values['domain']}, {values['mode']}")
        for node in system.nodes(given, self._namespace):
            self._processes.start(node.name, node_command(node))
        with RosClient(self._namespace, self._domain_id) as client:
            client.node.create_subscription(Action, "action", self._on_action, qos.COMMAND)
            self._recording = Recording(client)
            goal = ExecuteMission.Goal(mission=mission)
            sent = MissionGoal(client, goal, self._on_feedback)
            self._send(client, sent, mission)
            self._spin(client, lambda: sent.done)
            client.take_what_is_there()
            result = sent.result
            outcome = OUTCOMES[result.outcome]
            self._tell(result, outcome)
            files = self._recording.save(goal, result, Path(str(values["picture"])))
            if files:
                self.say(f"picture of the run: {', '.join(files)}")
            sent.close()
        return {
            "domain": values["domain"],
            "mode": values["mode"],
            "seed": values["seed"],
            "mission": mission,
            "outcome": outcome,
            "reason": result.reason,
            "steps": result.steps,
            "seconds_to_first_action": self._first_action,
            "picture": files,
        }

    def _send(self, client: RosClient, sent: MissionGoal, mission: str) -> None:
        """Wait until the machine is ready for the mission, and send it."""
        self._spin(client, lambda: sent.machine_is_ready, READY_SECONDS)
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

    def _on_feedback(self, feedback: ExecuteMission.Feedback) -> None:
        machine = feedback.machine
        self._recording.note(machine)
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
