"""Proof against any message: no node dies, nothing moves by it, and the diagnostics say so."""

import os
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from fuzz import dice_of, mutated
from harness import START_SECONDS, Topic
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
HUGE = min(0.05, 5 / REQUESTS)
"""The share of fields that are of 10 MB: not ever more of them in a long run, which would take hours."""
AT_ONCE = 5
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


class Ledger:
    """What the nodes say of the messages that they have heard: read from one report of each."""

    def __init__(self, system):
        self._system = system
        self._topic = Topic(system.client, DiagnosticArray, "/diagnostics")

    def counts(self, node, until=lambda counts: True):
        """Return what a node has counted, from the first report from now on that is as it should be."""
        self._topic.messages.clear()

        def found():
            statuses = [s for m in self._topic.messages for s in m.status]
            reports = [s for s in statuses if s.name == f"/skm/{node}"]
            counts = [{e.key: e.value for e in report.values} for report in reports]
            return next((Counts(each) for each in counts if until(Counts(each))), None)

        self._system.wait_until(lambda: found() is not None, f"what {node} has counted")
        return found()


class Counts(dict):
    """The diagnostics of a node."""

    def of(self, *keys):
        return sum(int(self.get(key, 0)) for key in keys)

    def dropped(self, *words):
        return sum(
            int(count)
            for key, count in self.items()
            if key.startswith("dropped: ") and any(word in key for word in words)
        )

    def states(self):
        """Return how many observations and labels were heard, and what is known of them."""
        used = 2 * self.of("states") - self.of("states known by their labels alone")
        rest = self.of(
            "observations and labels that wait for each other",
            "observations and labels that newer ones replaced",
        )
        heard = self.of("heard: observation", "heard: labels")
        return heard, used + rest + self.dropped("observation", "labels", "half a state")

    def actions(self):
        return self.of("heard: action"), self.of("actions taken") + self.dropped("action")

    def introductions(self):
        known = self.of("introductions taken") + self.dropped("primitives_info")
        return self.of("heard: primitives_info"), known


def assert_alive_and_well(system):
    """Every node runs, and a mission still succeeds."""
    for process in system.processes.values():
        process.check_running()
    system.wait_ready()
    result = system.run("F button | F region", reset=True, seed=3, max_steps=400)
    assert result.outcome == RESULT.ACCEPTED, result.reason


def test_mutated_messages_on_every_topic(robot):
    """With some fields replaced: from strangers, and in the name of the right one.

    Each that comes is used or dropped, with a count in the diagnostics: none is missing there.
    """
    node, dice, traffic = robot.client.node, dice_of(1), robot.traffic
    infos = Topic(robot.client, PrimitivesInfo, "primitives_info", qos.ALIVE)
    robot.wait_until(lambda: infos.last, "an introduction")
    ledger = Ledger(robot)
    sim_before, machine_before = ledger.counts("sim"), ledger.counts("machine")
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
            publishers[topic].publish(mutated(example(), 0.1 + 0.4 * dice.random(), dice, HUGE))
        if number % 10 == 0:
            robot.wait_until(lambda: True, "life")
    for publisher in publishers.values():
        node.destroy_publisher(publisher)
    robot.client.spin_until(lambda: False, 2.0)
    after = held()
    assert all(after[name] < before[name] + 100 for name in before), (before, after)
    sim = ledger.counts("sim")
    assert sim.actions()[0] > sim_before.actions()[0]
    assert sim.actions()[0] == sim.actions()[1], sim
    machine = ledger.counts("machine", lambda m: m.introductions()[0] == m.introductions()[1])
    assert machine.introductions()[0] > machine_before.introductions()[0]
    new = [m - b for m, b in zip(machine.states(), machine_before.states(), strict=True)]
    assert new[0] > COUNT / 2
    assert new[0] == new[1], machine
    assert_alive_and_well(robot)


def test_mutated_requests_to_every_service(systems):
    """Each has its answer; those that are refused are in the diagnostics, one by one."""
    robot = systems(parameters=REAL_TIME, order=("sim", "primitives"))  # nobody else asks
    ledger, dice = Ledger(robot), dice_of(2)
    refused = {"reset": 1, "query": 0}
    deep = Reset.Request(options="[" * 100_000)
    answer = robot.client.call(Reset, "reset", deep, START_SECONDS)
    assert not answer.success
    assert "no JSON" in answer.message
    for kind, name in ((Reset, "reset"), (QueryValues, "query")):
        service = robot.client.node.create_client(kind, name)
        robot.wait_until(service.service_is_ready, name)
        for _ in range(REQUESTS // AT_ONCE):
            requests = [mutated(kind.Request(), 0.5, dice, HUGE) for _ in range(AT_ONCE)]
            asked = [service.call_async(request) for request in requests]
            robot.wait_until(lambda a=asked: all(each.done() for each in a), "answers")
            for answer in (each.result() for each in asked):
                assert answer.success or answer.message
                refused[name] += not answer.success
    sim, primitives = ledger.counts("sim"), ledger.counts("primitives")
    assert sim.of("resets refused") + sim.dropped("reset request") == refused["reset"]
    assert primitives.of("queries") + primitives.dropped("query request") == REQUESTS
    found = primitives.of("queries refused") + primitives.dropped("query request")
    assert found == refused["query"]
    assert min(refused.values()) > REQUESTS / 10
    robot.start("machine")
    assert_alive_and_well(robot)


def test_mutated_missions_each_have_their_result(robot):
    dice = dice_of(3)
    plain = ExecuteMission.Goal(mission="F button", max_steps=5, max_seconds=1.0)
    goals = [mutated(plain, 0.4, dice, HUGE) for _ in range(REQUESTS)]
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
    counts = Ledger(robot).counts("machine")
    ended = sum(int(count) for key, count in counts.items() if key.startswith("missions "))
    assert ended == len(goals)
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
