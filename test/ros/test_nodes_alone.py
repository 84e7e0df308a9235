"""Each node by itself: what it offers, what it refuses, and that it ends cleanly."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from harness import Topic, Traffic, node_process
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from skm.action import ExecuteMission
from skm.msg import Action, MachineState, Observation, PrimitivesInfo
from skm.srv import QueryValues, Reset
from std_srvs.srv import SetBool

from skm_primitives.skills.loading import default_checkpoint, load_primitives
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_sim.registry import get_domain

WAIT = 30.0


def test_sim_steps_resets_pauses_and_ends(client, domain_id, processes):
    sim = node_process("sim", domain_id, domain="office", seed=5)
    processes.append(sim)
    traffic = Traffic(client)
    assert client.spin_until(
        lambda: traffic.observations.messages and traffic.labels.messages, WAIT
    )
    first = traffic.observations.last
    assert (first.step, first.episode) == (0, 1)
    assert first.session != 0
    assert traffic.labels.last.names == list(get_domain("office").propositions)

    answer = client.call(Reset, "reset", Reset.Request(options=json.dumps({"start": [2, 2]})), WAIT)
    assert (answer.success, answer.session, answer.episode) == (True, first.session, 2)
    assert client.spin_until(lambda: traffic.labels.last.episode == 2, WAIT)
    at_a = traffic.labels.last
    assert [name for name, true in zip(at_a.names, at_a.values, strict=True) if true] == ["A"]

    actions = client.node.create_publisher(Action, "action", qos.COMMAND)
    assert client.spin_until(lambda: actions.get_subscription_count() > 0, WAIT)
    stale = Action(session=first.session, episode=1, step=0, kind=Action.DISCRETE, discrete=1)
    step = Action(session=first.session, episode=2, step=0, kind=Action.DISCRETE, discrete=1)
    actions.publish(stale)
    actions.publish(step)
    topics = (traffic.observations, traffic.labels)
    assert client.spin_until(lambda: all(topic.last.step == 1 for topic in topics), WAIT)
    observed = {(m.episode, m.step): m.discrete for m in traffic.observations.messages}
    assert set(observed) <= {(1, 0), (2, 0), (2, 1)}
    assert observed[2, 1] == observed[2, 0] + 1
    stamps = {(m.episode, m.step): m.header.stamp for m in traffic.observations.messages}
    assert stamps[2, 1] == traffic.labels.last.header.stamp

    assert client.call(SetBool, "pause", SetBool.Request(data=True), WAIT).success
    actions.publish(Action(session=first.session, episode=2, step=1, kind=Action.DISCRETE))
    assert client.call(SetBool, "pause", SetBool.Request(data=False), WAIT).success
    assert client.spin_until(lambda: traffic.observations.last.step == 2, WAIT)

    refused = client.call(Reset, "reset", Reset.Request(options='{"start": [0, 0]}'), WAIT)
    assert not refused.success
    assert "(0, 0)" in refused.message
    assert traffic.observations.last.episode == 2
    sim.stop_cleanly()


@pytest.mark.parametrize("domain", ["safety", "office"])
def test_sim_in_real_time_keeps_publishing(client, domain_id, processes, domain):
    """At a fixed rate a late action means the previous one: the robot moves on by itself.

    But a whole move, from cell to cell, is made once: another one may lead into what is forbidden.
    """
    options = {"mode": "realtime", "rate": 50.0, "action_timeout": 30.0, "domain": domain}
    sim = node_process("sim", domain_id, **options)
    processes.append(sim)
    traffic = Traffic(client)
    assert client.spin_until(lambda: traffic.observations.messages, WAIT)
    at = traffic.observations.last
    actions = client.node.create_publisher(Action, "action", qos.COMMAND)
    assert client.spin_until(lambda: actions.get_subscription_count() > 0, WAIT)
    go = Action(session=at.session, episode=at.episode, step=at.step, kind=Action.DISCRETE)
    if domain == "safety":
        go.kind, go.continuous = Action.CONTINUOUS, [0.01, 0.0]
    heard = []

    def moves():
        if traffic.observations.last.step == at.step:
            actions.publish(go)  # the simulator may not know of its publisher yet
            return False
        heard.append(traffic.observations.last.step)
        later = len(traffic.observations.messages) > 40 + traffic.observations.messages.index(at)
        return later if domain == "office" else heard[-1] >= at.step + 5

    assert client.spin_until(moves, WAIT)
    assert domain == "safety" or max(heard) == at.step + 1
    actions.publish(Action(session=at.session, episode=at.episode, step=at.step))
    sim.stop_cleanly()


def test_parameters_out_of_range_are_refused_at_run_time(client, domain_id, processes):
    sim = node_process("sim", domain_id)
    processes.append(sim)

    def set_rate(value):
        number = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
        request = SetParameters.Request(parameters=[Parameter(name="rate", value=number)])
        return client.call(SetParameters, "sim/set_parameters", request, WAIT).results[0]

    assert set_rate(20.0).successful
    assert not set_rate(-1.0).successful
    assert not set_rate(float("nan")).successful
    sim.stop_cleanly()


def test_primitives_serve_the_checkpoints_values(client, domain_id, processes):
    node = node_process("primitives", domain_id, domain="office")
    processes.append(node)
    infos = Topic(client, PrimitivesInfo, "primitives_info", qos.LATCHED)
    assert client.spin_until(lambda: infos.messages, WAIT)
    info = infos.last
    primitives = load_primitives(get_domain("office"))
    assert info.digest == primitives.digest
    assert tuple(info.propositions) == primitives.propositions
    assert len(info.goals) == len(primitives.goals)

    def ask(place, violated=(), digest=""):
        observation = Observation(kind=Observation.DISCRETE, discrete=place)
        request = QueryValues.Request(
            observation=observation, violated_constraints=violated, digest=digest
        )
        return client.call(QueryValues, "query", request, WAIT)

    for place, violated in (
        (0, []),
        (57, []),
        (57, ["decoration"]),
        (57, []),
        (0, []),
    ):  # and again
        answer = ask(place, violated, primitives.digest)
        expected = primitives.values(place, frozenset(violated))
        assert answer.success, answer.message
        assert (answer.goals, answer.actions) == expected.move.shape
        np.testing.assert_array_equal(np.frombuffer(answer.move, "f4"), expected.move.ravel())
        np.testing.assert_array_equal(np.frombuffer(answer.stop, "f4"), expected.stop.ravel())

    for refused in (ask(0, digest="0" * 64), ask(120), ask(0, ["tea"])):
        assert not refused.success
        assert refused.message
    node.stop_cleanly()


def test_machine_alone_waits_and_says_for_what(client, domain_id, processes):
    node = node_process("machine", domain_id, peer_timeout=0.5)
    processes.append(node)
    states = Topic(client, MachineState, "machine_state", qos.LATCHED)
    assert client.spin_until(lambda: states.messages, WAIT)
    assert states.last.phase == MachineState.WAITING
    assert "robot" in states.last.waiting_for
    assert "primitives" in states.last.waiting_for

    mission = MissionGoal(client, ExecuteMission.Goal(mission="F A"))
    mission.send(WAIT)
    assert client.spin_until(lambda: mission.done, WAIT)
    assert mission.result.outcome == ExecuteMission.Result.ERROR
    assert "primitives" in mission.result.reason
    node.stop_cleanly()


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("sim", {"domain": "ofice"}, "did you mean 'office'"),
        ("sim", {"mode": "fast"}, "lockstep"),
        ("primitives", {"domain": "office", "checkpoint": "/nowhere.safetensors"}, "nowhere"),
        (
            "primitives",
            {"domain": "office_absorbing", "checkpoint": default_checkpoint(get_domain("office"))},
            "office",
        ),
        ("machine", {"planner": "magic"}, "product"),
    ],
)
def test_a_node_that_cannot_start_says_why(domain_id, processes, name, parameters, said):
    """Bad parameters end a node with exit code 2 and one message, not with a traceback."""
    node = node_process(name, domain_id, **parameters)
    processes.append(node)
    node.wait_for(lambda: node.returncode is not None, "the refusal")
    node.stop_cleanly(code=2)
    assert said in node.transcript()


def test_a_node_that_hangs_at_its_end_says_where_and_is_gone(domain_id):
    """The end is bounded whatever hangs: a callback, the last word, the middleware."""
    program = """
import time
from skm_ros.nodes import node_process
from skm_ros.nodes.skm_node import SkmNode
node_process.ENDING_SECONDS = 3.0
class Stuck(SkmNode):
    def __init__(self):
        super().__init__("stuck", ())
        self.create_timer(0.1, lambda: print("spinning", flush=True))
    def health(self):
        return b"\\0", "well", {}
    def close(self):
        time.sleep(60)
raise SystemExit(node_process.run_node(Stuck))
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "ROS_DOMAIN_ID": str(domain_id)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "spinning\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=90)
    assert process.returncode == 1
    assert "in close" in errors


def test_a_publisher_whose_quality_of_service_does_not_fit_is_named(client, domain_id, processes):
    machine = node_process("machine", domain_id)
    processes.append(machine)
    client.node.create_publisher(Observation, "observation", qos.CLOCK)
    machine.wait_for(
        lambda: any("observation of" in line and "not reach" in line for line in machine.output),
        "a warning",
    )
    machine.stop_cleanly()
