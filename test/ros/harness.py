"""Real nodes in processes of their own, and a client in this one, on a private ROS domain id.

Nothing here sleeps for a fixed time: everything is waited for, with a deadline.
"""

import os
import re
import signal
import sys
import time

from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from skm.action import ExecuteMission
from skm.msg import Action, Labels, MachineState, Observation

from skm_bench.captured_process import CapturedProcess
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.private_domain import private_environment
from skm_ros.client.ros_client import RosClient

MODULES = {
    "sim": "skm_ros.nodes.sim_node",
    "primitives": "skm_ros.nodes.primitives_node",
    "machine": "skm_ros.nodes.machine_node",
    "team": "skm_ros.nodes.team_node",
    "recorder": "skm_ros.nodes.recorder_node",
    "monitor": "skm_ros.nodes.monitor_node",
    "foxglove": "skm_ros.nodes.foxglove_node",
    "web": "skm_ros.nodes.web_node",
}
NODES = ("sim", "primitives", "machine")
START_SECONDS = 120.0
MISSION_SECONDS = 120.0
PATROL = "F(A & X F(B & X F(C & X F D))) & G !decoration"


class Process(CapturedProcess):
    """A child of the tests: must end cleanly when it is interrupted."""

    def __init__(self, command, domain_id):
        super().__init__([sys.executable, "-m", *command], private_environment(domain_id))

    def kill(self):
        """End it with no chance to say goodbye."""
        self.signal_group(signal.SIGKILL)
        self.wait_for(lambda: self.returncode is not None, "its death")

    def wait_for(self, condition, what, timeout=START_SECONDS):
        """Wait until something is so, with this process's output in the error if it is not.

        A process that has ended says no more than what is still under way: that takes no 5 s.
        """
        deadline, ended = time.monotonic() + timeout, False
        while not condition():
            assert time.monotonic() < deadline, (
                f"timed out waiting for {what}:\n{self.transcript()}"
            )
            if self.returncode is not None and not ended:
                ended, deadline = True, min(deadline, time.monotonic() + 5)
            time.sleep(0.01)

    def told(self, pattern, what):
        """Wait until it has said something; return the pattern's group."""
        found = []

        def has_said():
            found[:] = re.findall(pattern, "\n".join([*self.output, *self.answers]))
            return found

        self.wait_for(has_said, what)
        return found[0]

    def stop_cleanly(self, code=0):
        """Interrupt the whole group; fail on another exit code, a traceback or a child left behind."""
        group = self.pid
        if self.returncode is None:
            self.signal_group(signal.SIGINT)
        self.wait_for(lambda: self.returncode is not None, "a clean end", timeout=40)
        try:
            os.killpg(group, 0)
            left_behind = True
        except ProcessLookupError:
            left_behind = False
        assert self.stop() == code, self.transcript()
        assert not left_behind, f"children left behind:\n{self.transcript()}"
        text = self.transcript()
        assert "Traceback" not in text, text
        assert "terminate called" not in text, text

    def transcript(self):
        """Return the command and all that it has printed."""
        return "\n".join([" ".join(self.command), *self.answers, *self.output])


def node_process(name, domain_id, namespace="/skm", **parameters):
    """Start one node with parameters."""
    command = [MODULES[name], "--ros-args", "-r", f"__ns:={namespace}"]
    for key, value in parameters.items():
        command += ["-p", f"{key}:={value}"]
    return Process(command, domain_id)


def skm_process(domain_id, *arguments):
    """Start the `skm` command."""
    return Process(["skm_cli.main", *map(str, arguments)], domain_id)


class System:
    """Nodes of one namespace, and a client that watches them."""

    def __init__(self, domain_id, namespace="/skm", order=NODES, parameters=None):
        self.domain_id = domain_id
        self.namespace = namespace
        self.parameters = parameters or {}
        self.processes = {}
        self.goals = []
        for name in order:
            self.start(name)
        self.client = RosClient(namespace, domain_id)
        self.states = Topic(self.client, MachineState, "machine_state", qos.LATCHED)
        self.traffic = Traffic(self.client)
        self._lasting = set(self.client.node.subscriptions)

    def start(self, name):
        """Start a node, or start it again."""
        options = self.parameters.get(name, {})
        self.processes[name] = node_process(name, self.domain_id, self.namespace, **options)

    def kill(self, name):
        """Kill a node the hard way."""
        process = self.processes.pop(name)
        process.kill()
        process.stop()

    def wait_until(self, condition, what, timeout=START_SECONDS):
        """Take messages until something is so; a dead node or the deadline fails the test."""

        def holds():
            for process in self.processes.values():
                process.check_running()
            return condition()

        if not self.client.spin_until(holds, timeout):
            transcripts = "\n".join(p.transcript() for p in self.processes.values())
            raise AssertionError(f"timed out waiting for {what}; {self.states.last}\n{transcripts}")

    def wait_ready(self):
        """Wait until the machine is ready for a mission."""
        self.wait_until(
            lambda: self.states.last is not None and self.states.last.phase == MachineState.IDLE,
            "the machine to be ready",
        )

    def send(self, mission, on_feedback=None, **options):
        """Send a mission and wait until it is taken."""
        goal = MissionGoal(
            self.client, ExecuteMission.Goal(mission=mission, **options), on_feedback
        )
        goal.send(START_SECONDS)
        self.goals.append(goal)
        return goal

    def finish(self, goal, timeout=MISSION_SECONDS):
        """Wait for a mission's end and return its result."""
        self.wait_until(lambda: goal.done, "the mission's end", timeout)
        self.goals.remove(goal)
        result = goal.result
        goal.close()
        return result

    def run(self, mission, **options):
        """Run a mission to its end and return its result."""
        return self.finish(self.send(mission, **options))

    def actions_of(self, goal):
        """Return the actions of an ended mission in its last episode, the stop included."""
        states, actions = self.states, self.traffic.actions

        def stopped():
            end, last = states.last, actions.last
            return (
                bytes(end.goal_id.uuid).hex() == goal.goal_id
                and end.phase == MachineState.IDLE
                and last is not None
                and last.kind == Action.STOP
                and (last.session, last.episode, last.step) == (end.session, end.episode, end.step)
            )

        self.wait_until(stopped, "the stop")
        return [a for a in actions.messages if a.episode == actions.last.episode]

    def wait_running(self, mission, steps=3):
        """Wait until a mission of this text has taken some steps."""
        self.wait_until(
            lambda: (
                self.states.last.phase == MachineState.RUNNING
                and self.states.last.mission == mission
                and self.states.last.mission_steps >= steps
            ),
            "a mission under way",
        )

    def set_parameter(self, node, name, value):
        """Set a text or a switch of a node while it runs; it must take it."""
        if isinstance(value, bool):
            given = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=value)
        else:
            given = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
        request = SetParameters.Request(parameters=[Parameter(name=name, value=given)])
        service = f"{node}/set_parameters"
        answer = self.client.call(SetParameters, service, request, START_SECONDS)
        assert answer.results[0].successful, answer.results[0].reason

    def tidy(self):
        """Forget what a test has subscribed to, take back what it has left running, catch up."""
        for subscription in list(self.client.node.subscriptions):
            if subscription not in self._lasting:
                self.client.node.destroy_subscription(subscription)
        for goal in self.goals:
            if not goal.done:
                goal.cancel()
        self.goals.clear()
        self.wait_ready()
        del self.states.messages[:-1]
        self.traffic.clear()

    def stop(self):
        """End every node, which must do so cleanly."""
        self.client.close()
        for process in self.processes.values():
            process.signal_group(signal.SIGINT)
        for process in self.processes.values():
            process.stop_cleanly()

    def discard(self):
        """End every node, however it may be: for when a test has failed already."""
        for process in self.processes.values():
            process.stop()


class Topic:
    """Everything that has come in on a topic."""

    def __init__(self, client, message_type, name, qos=None, depth=5000):
        durability = qos.durability if qos is not None else DurabilityPolicy.VOLATILE
        self.messages = []
        client.node.create_subscription(
            message_type,
            name,
            self.messages.append,
            QoSProfile(depth=depth, durability=durability),
        )

    @property
    def last(self):
        """The newest message, or None."""
        return self.messages[-1] if self.messages else None


class Traffic:
    """The three topics of the loop."""

    def __init__(self, client):
        self.observations = Topic(client, Observation, "observation", qos.STATE)
        self.labels = Topic(client, Labels, "labels", qos.STATE)
        self.actions = Topic(client, Action, "action", qos.COMMAND)

    def clear(self):
        """Forget what has come in so far."""
        for topic in (self.observations, self.labels, self.actions):
            topic.messages.clear()


def end_systems(systems):
    """End all of them cleanly; whatever is not ended by then is killed, so that it disturbs nobody."""
    try:
        for system in systems:
            system.stop()
    finally:
        for system in systems:
            system.discard()
