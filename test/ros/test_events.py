"""Events over ROS: set by a service that answers when they count, or by sensors, on topics."""

import json
import random
import subprocess
import sys
from contextlib import contextmanager

import pytest
from harness import System
from rclpy.qos import DurabilityPolicy, QoSProfile
from skm.action import ExecuteMission
from skm.srv import SetEvent
from std_msgs.msg import Bool

from skm_cli.commands.verify import verify_missions
from skm_cli.main import main
from skm_primitives.recording.files import read_recording, recorded_missions
from skm_ros import qos
from skm_ros.client.private_domain import private_domain_id
from skm_ros.event_inbox import Effect, EventInbox

RESULT = ExecuteMission.Result
MISSION = "G(battery_low -> F office) & G F A & G F B & G !decoration"
CALL = "F(B & X F A) & G(call -> F coffee)"
FARTHEST = 29
"""Steps from the farthest cell to the office, decorations avoided."""
EVENTS = {"machine": {"events": "battery_low,call"}}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The office with two events and a recorder, in lock-step."""
    folder = tmp_path_factory.mktemp("runs")
    with private_domain_id() as number:
        system = System(
            number,
            order=("sim", "primitives", "machine", "recorder"),
            parameters={**EVENTS, "recorder": {"folder": folder}},
        )
        system.folder = folder
        try:
            system.wait_ready()
            system.events = system.client.node.create_client(
                SetEvent, "set_event", qos_profile=qos.REQUESTS
            )
            system.wait_until(system.events.service_is_ready, "the service")
            yield system
            system.stop()
        finally:
            system.discard()


@pytest.fixture
def system(served):
    served.wait_ready()
    yield served
    served.tidy()


def ask(system, name, value=True):
    return system.events.call_async(SetEvent.Request(name=name, value=value))


def answers(system, *futures):
    system.wait_until(lambda: all(future.done() for future in futures), "the answers")
    return [future.result() for future in futures]


def test_an_event_turns_the_robot_round(system):
    feedback = []
    goal = system.send(MISSION, feedback.append, max_steps=1_000_000)
    system.wait_until(lambda: any(m.machine.accepted >= 1 for m in feedback), "a round")
    assert not any(wants_the_office(m) for m in feedback)
    (low,) = answers(system, ask(system, "battery_low"))
    assert low.success, low.message
    system.wait_until(lambda: any(wants_the_office(m) for m in feedback), "a reaction")
    system.wait_until(lambda: system.states.last.true_events == ["battery_low"], "its state")
    (off,) = answers(system, ask(system, "battery_low", value=False))
    assert off.success
    assert off.mission_steps > low.mission_steps
    system.wait_until(
        lambda: feedback[-1].machine.mission_steps > low.mission_steps + FARTHEST, "the charger"
    )
    system.wait_until(lambda: system.states.last.true_events == [], "its end in the state")
    goal.cancel()
    result = system.finish(goal)
    first = next(m for m in result.transitions if "battery_low" in m.labels)
    assert first.step >= low.mission_steps
    answer = next(m for m in result.transitions if m.step > first.step and "office" in m.labels)
    assert answer.step - first.step <= FARTHEST  # straight there, whatever is passed on the way


def wants_the_office(feedback):
    """Tell whether the robot is after the office: elsewhere it is only what a battery would ask for."""
    return feedback.machine.target.startswith("office & ")


def test_no_acknowledged_event_is_lost_and_no_mission_is_accepted_without_it(system):
    """A call that comes while the robot is on its last steps is answered by coffee, or refused."""
    files = set(system.folder.iterdir())
    taken = 0
    for seed in range(6):
        goal = system.send(CALL, reset=True, seed=seed, horizon="finite")
        wait = random.Random(seed).randrange(1, 12)
        system.wait_until(
            lambda goal=goal, wait=wait: goal.done or system.states.last.mission_steps >= wait,
            "some steps",
        )
        (answer,) = answers(system, ask(system, "call"))
        off = ask(system, "call", value=False) if answer.success else None
        result = system.finish(goal)
        assert result.outcome == RESULT.ACCEPTED
        visits = [m.step for m in result.transitions if "coffee" in m.labels]
        if answer.success:
            taken += 1
            assert max(visits) >= answer.mission_steps
            assert answers(system, off)[0].success
        else:
            assert "ended" in answer.message or "no mission" in answer.message
    assert taken >= 3
    system.wait_until(lambda: len(finished(system, files)) == 6, "the recordings")
    for path in finished(system, files):
        (judged,) = verify_missions(path, None, recover=False)
        assert judged.disagreements == []


@contextmanager
def busy_machine(processes=4):
    """Compute in several processes, for nothing; benchmarks/many_events.py does it with eight."""
    burners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def finished(system, files):
    """Return the recordings that have been ended since."""
    done = []
    for path in set(system.folder.glob("*.mcap")) - files:
        file = read_recording(path, recover=True)
        if file.complete and file.metadata.get("skm.outcome"):
            done.append(path)
    return done


def test_every_change_takes_effect_in_a_state_of_its_own(system):
    """Forty at once on a busy machine, on and off in turn: all are in the labels where they say."""
    files = set(system.folder.iterdir())
    goal = system.send("G F A & G F B", max_steps=1_000_000)
    changes = [("call", index % 2 == 0) for index in range(40)]
    with busy_machine():
        found = answers(system, *(ask(system, *change) for change in changes))
    assert all(answer.success for answer in found)
    steps = [answer.mission_steps for answer in found]
    assert len(set(steps)) == len(steps)
    assert sorted(steps) == steps
    goal.cancel()
    system.finish(goal)
    system.wait_until(lambda: finished(system, files), "the recording")
    (mission,) = recorded_missions(read_recording(finished(system, files)[0]))
    labels = {state.key: state.labels for state in mission.states}
    for (name, value), answer in zip(changes, found, strict=True):
        assert (name in labels[answer.session, answer.episode, answer.step]) is value


def test_events_that_cannot_count_are_refused(system):
    (idle, unknown) = answers(system, ask(system, "call"), ask(system, "cal"))
    assert (idle.success, idle.message) == (False, "no mission is under way")
    assert (unknown.success, "did you mean 'call'" in unknown.message) == (False, True)
    assert system.states.last.true_events == []


def test_a_sensor_that_latches_or_repeats_is_heard(system):
    """Whether it was there before the mission or not, and whatever its publisher's durability."""
    node = system.client.node
    for durability in (DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE):
        profile = QoSProfile(depth=1, durability=durability)
        sensor = node.create_publisher(Bool, "event/battery_low", profile)
        if durability == DurabilityPolicy.VOLATILE:
            system.wait_until(
                lambda sensor=sensor: sensor.get_subscription_count() >= 2, "subscriptions"
            )
        for value in (True, False):
            sensor.publish(Bool(data=value))
            system.wait_until(
                lambda value=value: ("battery_low" in system.states.last.true_events) is value,
                str(value),
            )
        node.destroy_publisher(sensor)


def test_what_a_sensor_latched_before_the_machine_came_is_heard(systems):
    system = systems(order=("sim", "primitives"), parameters=EVENTS)
    sensor = system.client.node.create_publisher(Bool, "event/call", qos.LATCHED)
    sensor.publish(Bool(data=True))
    system.start("machine")
    system.wait_until(lambda: system.states.messages, "the machine")
    system.wait_until(lambda: system.states.last.true_events == ["call"], "the event")
    system.wait_ready()
    assert system.states.last.events == ["battery_low", "call"]


def test_the_command_sets_events_and_tells_where_they_count(system, capsys, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(system.domain_id))

    def skm(*arguments):
        return main(["event", *arguments]), capsys.readouterr().out

    assert skm("call") == (1, "refused: no mission is under way\n")
    goal = system.send("G F A & G F B", max_steps=1_000_000)
    code, out = skm("call", "--json")
    document = json.loads(out)
    assert (code, document["effective"]) == (0, True)
    assert document["mission_steps"] > 0
    code, out = skm("--json")
    assert (code, json.loads(out)) == (0, {"battery_low": False, "call": True})
    code, out = skm("call", "--off")
    assert (code, out[:23]) == (0, "call is false from step")
    goal.cancel()
    system.finish(goal)


def test_what_the_robot_brings_about_is_no_event(systems):
    system = systems(parameters={"machine": {"events": "coffee"}})
    system.wait_ready()
    result = system.run("F coffee")
    assert result.outcome == RESULT.REJECTED
    assert "needs a name of its own" in result.reason


def test_the_inbox_loses_nothing_that_it_acknowledges():
    """Random changes, states and ends, against a plain account of what was answered."""
    rng = random.Random(25)
    for _ in range(300):
        inbox, answered, states, step = EventInbox(("a", "b")), {}, {}, 0
        inbox.begin()
        for number in range(rng.randrange(1, 60)):
            name, value = rng.choice("ab"), rng.random() < 0.5
            act = rng.random()
            if act < 0.4:
                answer = answered.setdefault((number, name, value), [])
                inbox.ask(name, value, answer.append)
            elif act < 0.6:
                inbox.note(name, value)
            else:
                step += 1
                states[step] = inbox.take()
                inbox.confirm((1, 1, step), step)
        before = inbox.true
        inbox.end("over")
        for (_, name, value), found in answered.items():
            assert len(found) == 1
            if isinstance(found[0], Effect):
                assert (name in states[found[0].mission_steps]) is value
            else:
                assert found == ["over"]
        assert inbox.waiting == 0
        assert before <= {"a", "b"}


def test_a_pulse_between_two_states_counts_for_the_next_one():
    inbox = EventInbox(("call",))
    inbox.begin()
    for value in (True, False, True, False):
        inbox.note("call", value)
    assert [inbox.take(), inbox.take(), inbox.take()] == [{"call"}, set(), set()]


def test_a_sensor_that_repeats_itself_changes_nothing():
    inbox = EventInbox(("call",))
    inbox.begin()
    for value in (False, True, True):
        inbox.note("call", value)
    assert inbox.take() == {"call"}
    assert inbox.confirm((1, 1, 1), 1)
    inbox.note("call", True)
    assert inbox.take() == {"call"}
    assert not inbox.confirm((1, 1, 2), 2)


def test_what_happens_between_missions_is_known_to_the_next_one_by_its_end_alone():
    inbox = EventInbox(("call", "dark"))
    for name, value in (("call", True), ("call", False), ("dark", True)):
        inbox.note(name, value)
    inbox.begin()
    assert inbox.take() == {"dark"}
