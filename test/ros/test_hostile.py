"""Proof against any message: no node dies, nothing moves by it, and the diagnostics say so."""

import os
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from fuzz import dice_of, mutated
from harness import Topic
from skm.action import ExecuteMission
from skm.msg import Action, Labels, PrimitivesInfo
from skm.srv import QueryValues, Reset

from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal

RESULT = ExecuteMission.Result
COUNT = int(os.environ.get("SKM_FUZZ", "150"))
"""Mutated messages per topic; `SKM_FUZZ=10000 pytest -k mutated` for a long run."""
REQUESTS = COUNT if "SKM_FUZZ" in os.environ else 30
"""Mutated requests per service, and goals."""
REAL_TIME = {
    "sim": {"domain": "safety", "mode": "realtime", "rate": 20.0, "seed": 92},
    "primitives": {"domain": "safety"},
}


@pytest.fixture
def robot(systems):
    system = systems(parameters=REAL_TIME)
    system.wait_ready()
    traffic = system.traffic
    system.wait_until(lambda: traffic.observations.last and traffic.labels.last, "a state")
    return system


def memory(process):
    """Return the megabytes that a process holds."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return (
        int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1e3
    )


def assert_alive_and_well(system):
    """Every node runs, and a mission still succeeds."""
    for process in system.processes.values():
        process.check_running()
    system.wait_ready()
    result = system.run("F button | F region", reset=True, seed=3, max_steps=400)
    assert result.outcome == RESULT.ACCEPTED, result.reason


def test_mutated_messages_on_every_topic(robot):
    """With some fields replaced: from strangers, and in the name of the right one."""
    node, dice, traffic = robot.client.node, dice_of(1), robot.traffic
    infos = Topic(robot.client, PrimitivesInfo, "primitives_info", qos.ALIVE)
    robot.wait_until(lambda: infos.last, "an introduction")
    examples = {
        "action": lambda: Action(
            session=traffic.observations.last.session, episode=1, kind=2, continuous=[0.05, 1.0]
        ),
        "observation": lambda: traffic.observations.last,
        "labels": lambda: traffic.labels.last,
        "primitives_info": lambda: infos.messages[0],
    }
    profiles = {"action": qos.COMMAND, "primitives_info": qos.ALIVE}
    publishers = {
        topic: node.create_publisher(type(example()), topic, profiles.get(topic, qos.STATE))
        for topic, example in examples.items()
    }
    for topic, publisher in publishers.items():
        robot.wait_until(lambda p=publisher: p.get_subscription_count() > 0, topic)

    def held():
        return {name: memory(process) for name, process in robot.processes.items()}

    before = held()
    for number in range(COUNT):
        if number == COUNT // 2:
            before = held()
        for topic, example in examples.items():
            publishers[topic].publish(mutated(example(), 0.1 + 0.4 * dice.random(), dice))
        if number % 10 == 0:
            robot.wait_until(lambda: True, "life")
    for publisher in publishers.values():
        node.destroy_publisher(publisher)
    robot.client.spin_until(lambda: False, 2.0)
    after = held()
    assert all(after[name] < before[name] + 100 for name in before), (before, after)
    assert_alive_and_well(robot)


def test_mutated_requests_to_every_service(robot):
    dice = dice_of(2)
    for kind, name in ((Reset, "reset"), (QueryValues, "query")):
        for _ in range(REQUESTS):
            request = mutated(kind.Request(), 0.5, dice)
            answer = robot.client.call(kind, name, request, 60)
            assert answer.success or answer.message
    deep = Reset.Request(options="[" * 100_000)
    answer = robot.client.call(Reset, "reset", deep, 60)
    assert not answer.success
    assert "no JSON" in answer.message
    assert_alive_and_well(robot)


def test_mutated_missions_each_have_their_result(robot):
    dice = dice_of(3)
    goals = [
        mutated(ExecuteMission.Goal(mission="F button", max_steps=5, max_seconds=1.0), 0.4, dice)
        for _ in range(REQUESTS)
    ]
    goals.append(ExecuteMission.Goal(mission="F a", reset=True, reset_options="[" * 100_000))
    for goal in goals:
        goal.max_seconds = (
            min(goal.max_seconds, 0.3) if goal.max_seconds == goal.max_seconds else 0.3
        )
        goal.max_seconds = goal.max_seconds or 0.3
        sent = MissionGoal(robot.client, goal)
        sent.send(90)
        robot.wait_until(lambda s=sent: s.done, f"a result of {str(goal)[:200]}", 90)
        assert 0 < len(sent.result.reason) < 5000
        sent.close()
    lines = robot.processes["machine"].transcript().splitlines()
    assert max(map(len, lines)) < 5000
    assert not any("Traceback" in line for line in lines)
    assert_alive_and_well(robot)


def test_what_is_dropped_is_in_the_diagnostics(robot):
    reports = Topic(robot.client, DiagnosticArray, "/diagnostics")
    actions = robot.client.node.create_publisher(Action, "action", qos.COMMAND)
    labels = robot.client.node.create_publisher(Labels, "labels", qos.STATE)
    robot.wait_until(lambda: actions.get_subscription_count() > 1, "the simulator")
    robot.wait_until(lambda: labels.get_subscription_count() > 0, "the machine")
    last = robot.traffic.observations.last
    nan = Action(session=last.session, episode=last.episode, step=last.step, kind=2)
    nan.continuous = [float("nan"), 0.0]
    actions.publish(nan)
    labels.publish(
        Labels(session=last.session, episode=last.episode, step=last.step, names=["x" * 10_000])
    )

    def counted():
        found = {e.key: e.value for m in reports.messages for s in m.status for e in s.values}
        return "dropped: unusable labels" in found and any(
            key in found
            for key in ("dropped: unusable action", "dropped: action to a state long gone")
        )

    robot.wait_until(counted, "the diagnostics")
    assert all(len(line) < 600 for line in robot.processes["machine"].transcript().splitlines())
