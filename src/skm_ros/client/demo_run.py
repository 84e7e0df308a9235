"""The demo: a system of nodes, one mission through them, and a picture of the run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from skm.action import ExecuteMission
from skm.msg import Action

from skm_machine.errors import SkmError
from skm_machine.logic.printer import labels_text
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.private_domain import private_domain_id, private_environment
from skm_ros.client.recording import Recording
from skm_ros.client.ros_client import RosClient
from skm_ros.conversions import OUTCOMES
from skm_ros.graph import Value, get_system
from skm_ros.processes import Processes, node_command, node_environment, say

READY_SECONDS: Final = 60.0


def run_demo(given: Mapping[str, Value]) -> dict[str, Any]:
    """Run the demo with these arguments of its system; return what happened.

    The nodes talk on ROS_DOMAIN_ID if it is set, else on an id of their own.
    """
    with ExitStack() as stack:
        environment, domain_id = node_environment(), None
        if "ROS_DOMAIN_ID" not in os.environ:
            domain_id = stack.enter_context(private_domain_id())
            environment |= private_environment(domain_id)
        processes = stack.enter_context(Processes(environment))
        # In a namespace of its own, it cannot meet another system on the same domain id.
        return Demo(processes, f"/skm_demo_{os.getpid()}", domain_id).run(given)


class Demo:
    """One run: nodes, mission, picture; everything is said as it happens."""

    def __init__(self, processes: Processes, namespace: str, domain_id: int | None) -> None:
        self._processes = processes
        self._namespace = namespace
        self._domain_id = domain_id
        self._began = time.monotonic()
        self._first_action: float | None = None
        self._printed: tuple[int, str] | None = None
        """Where the mission was when it was last said: a line for each time that it moves on."""
        self._recording: Recording

    def say(self, text: str) -> None:
        """Print a line with the seconds since the start."""
        say("demo", f"{time.monotonic() - self._began:5.1f} s  {text}")

    def run(self, given: Mapping[str, Value]) -> dict[str, Any]:
        """Start the nodes, run the mission, save the picture; return what happened."""

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
        if values["web"]:
            self.say("the page stays up for missions of your own; Ctrl-C ends it")
            self._processes.wait(lambda: False)
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

    def _spin(
        self, client: RosClient, condition: Callable[[], bool], timeout: float | None = None
    ) -> None:
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
        where = machine.state, machine.target
        goes_on = (
            machine.phase == machine.RUNNING and machine.outcome == ExecuteMission.Result.UNKNOWN
        )
        if goes_on and machine.words and where != self._printed:
            self._printed = where
            self.say(f"step {machine.mission_steps}: {machine.words}")

    def _tell(self, result: Any, outcome: str) -> None:  # noqa: ANN401 - made by rosidl
        for number, move in enumerate(result.transitions, 1):
            mark = "  ★" if move.reward > 0 else ""
            accepts = outcome == "accepted" and number == len(result.transitions)
            target = "accepted" if accepts else f"u{move.to_state}"
            labels = labels_text(move.labels)
            self.say(f"step {move.step}: u{move.from_state} → {target} on {labels}{mark}")
        self.say(f"mission {outcome} after {result.steps} steps: {result.reason}")
