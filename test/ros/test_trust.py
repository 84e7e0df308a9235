"""Whatever dies, freezes or lies: the robot is at rest in time, its client knows why."""

import os
import signal
import subprocess
import time
from functools import partial

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from harness import Topic, node_process, skm_process
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.action import ActionClient
from skm.action import ExecuteMission
from skm.msg import Action, Labels, MachineState, Observation
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from skm_bench.faults import FaultBench
from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal

RESULT = ExecuteMission.Result
BURSTS = int(os.environ.get("SKM_BURSTS", "1"))
"""Bursts of 200 goals; `SKM_BURSTS=15 pytest -k burst` for 3,000."""
PATROL = "G F button & G F region"
RATE = 20.0
PERIOD = 1 / RATE


def real_time(**sim):
    """Return parameters of the point robot in real time."""
    return {
        "sim": {"domain": "safety", "mode": "realtime", "rate": RATE, "seed": 92, **sim},
        "primitives": {"domain": "safety"},
        "machine": {"resume_after": 60.0},  # what a busy machine may hold up
    }


def wait_stopped(system, reason):
    """Wait until the robot is stopped for this reason."""
    system.wait_until(
        lambda: (
            system.states.last.phase == MachineState.STOPPED and reason in system.states.last.reason
        ),
        f"a stop: {reason}",
    )


@pytest.fixture(scope="module")
def bench():
    """The point robot on a patrol, whose nodes can be killed and frozen."""
    made = FaultBench("safety", PATROL, RATE, seed=9)
    yield made
    made.close()


@pytest.mark.parametrize("kind", ["SIGSTOP", "SIGKILL"])
@pytest.mark.parametrize("node", ["primitives", "machine"])
def test_a_node_that_dies_or_freezes_brakes_the_robot_in_two_periods(bench, node, kind):
    """By the simulator's own clock: between processes, a busy machine adds what it likes.

    `skm bench faults` measures the seconds from the fault, on a quiet machine.
    """
    fault = bench.fault(node, kind)
    assert fault.braking is not None
    assert 0 < fault.obeyed <= 2 * PERIOD
    assert fault.way < 0.6
    assert fault.result is not None
    assert fault.reason


def test_a_simulator_that_freezes_is_noticed(bench):
    fault = bench.fault("sim", "SIGSTOP")
    assert fault.machine_stop < 2.5  # two periods, on a quiet machine
    assert "nothing is heard from the robot" in fault.reason


@pytest.fixture
def robot(systems):
    """The point robot in real time, ready."""
    system = systems(parameters=real_time())
    system.wait_ready()
    traffic = system.traffic
    system.wait_until(lambda: traffic.observations.last and traffic.labels.last, "a state")
    return system


def speed(observation):
    return float(np.hypot(observation.data[3], observation.data[4]))


def publisher(system, kind, topic, profile):
    made = system.client.node.create_publisher(kind, topic, profile)
    system.wait_until(lambda: made.get_subscription_count() > 0, f"a subscriber of {topic}")
    return made


def diagnostics_of(system, topic, name):
    """Return what a node has counted, from a report made after this call."""
    topic.messages.clear()

    def found():
        statuses = [s for m in topic.messages for s in m.status]
        return next((s for s in statuses if s.name.endswith(f"/{name}")), None)

    system.wait_until(lambda: found() is not None, f"diagnostics of {name}")
    return {entry.key: entry.value for entry in found().values}


def test_actions_to_states_long_gone_do_not_move_the_robot(robot):
    """Also not many of them, with the right session and episode."""
    actions = publisher(robot, Action, "action", qos.COMMAND)
    observations = robot.traffic.observations
    robot.wait_until(lambda: observations.last.step > 10, "some steps")
    last = observations.last
    old = Action(kind=Action.CONTINUOUS, continuous=[0.05, 0.0])
    old.session, old.episode, old.step = last.session, last.episode, 0
    for _ in range(20):
        actions.publish(old)
    robot.wait_until(lambda: observations.last.step > last.step + 10, "what comes of it")
    assert max(speed(o) for o in observations.messages[-8:]) < 0.06
    for _ in range(10):
        old.step = observations.last.step
        actions.publish(old)
        robot.client.spin_until(lambda: False, PERIOD)
    assert max(speed(o) for o in observations.messages[-10:]) > 0.06


def test_a_stop_carries_nothing_of_the_action_before(robot):
    goal = robot.send(PATROL)
    robot.wait_running(PATROL)
    goal.cancel()
    robot.finish(goal)
    last = robot.actions_of(goal)[-1]
    assert (last.kind, list(last.continuous), last.discrete) == (Action.STOP, [], 0)


def test_stop_holds_until_resume_and_the_mission_waits(robot):
    goal = robot.send(PATROL)
    robot.wait_running(PATROL)
    answer = robot.client.call(Trigger, "stop", Trigger.Request(), 30)
    assert answer.success
    wait_stopped(robot, "stop was called")
    count = len(robot.traffic.observations.messages)
    robot.wait_until(
        lambda: len(robot.traffic.observations.messages) > count + 3 * RATE, "three seconds"
    )
    assert speed(robot.traffic.observations.last) < 0.06
    assert not goal.done
    assert robot.client.call(Trigger, "resume", Trigger.Request(), 30).success
    robot.wait_until(lambda: robot.states.last.phase == MachineState.RUNNING, "the mission again")
    assert not robot.client.call(Trigger, "resume", Trigger.Request(), 30).success


def test_without_its_dead_man_switch_the_robot_does_not_move(systems):
    system = systems(parameters=real_time(deadman="held", deadman_timeout=1.0))
    system.wait_ready()
    held = publisher(system, Bool, "held", qos.COMMAND)
    timer = system.client.node.create_timer(0.05, lambda: held.publish(Bool(data=True)))
    system.send(PATROL)
    system.wait_running(PATROL)
    timer.cancel()
    wait_stopped(system, "dead-man")
    timer.reset()
    system.wait_until(lambda: system.states.last.phase == MachineState.RUNNING, "the mission again")


def test_a_second_source_of_states_is_refused_and_reported(robot):
    reports = Topic(robot.client, DiagnosticArray, "/diagnostics")
    observations = publisher(robot, Observation, "observation", qos.STATE)
    labels = publisher(robot, Labels, "labels", qos.STATE)
    for step in range(5):
        theirs = robot.traffic.observations.last
        mine = Observation(session=7, episode=1, step=step, data=theirs.data, period=theirs.period)
        observations.publish(mine)
        truth = robot.traffic.labels.last
        labels.publish(
            Labels(session=7, episode=1, step=step, names=truth.names, values=[True] * 3)
        )
    goal = robot.send(PATROL)
    robot.wait_running(PATROL)
    assert robot.states.last.session != 7
    counts = diagnostics_of(robot, reports, "machine")
    assert int(counts["dropped: observation of another source"]) == 5
    goal.cancel()
    robot.finish(goal)


def test_an_observation_that_is_no_number_neither_ends_nor_begins_anything(robot):
    """Not while a query is under way, and not just before a mission begins."""
    observations = publisher(robot, Observation, "observation", qos.STATE)

    def poison():
        last = robot.traffic.observations.last
        bad = Observation(session=last.session, episode=last.episode, step=last.step + 1)
        bad.period, bad.data = last.period, [float("nan")] * 60
        observations.publish(bad)

    poison()
    goal = robot.send(PATROL)
    robot.wait_running(PATROL)
    for _ in range(20):
        poison()
        robot.client.spin_until(lambda: False, PERIOD)
    assert not goal.done
    steps = robot.states.last.mission_steps
    robot.wait_until(lambda: robot.states.last.mission_steps > steps + 10, "more steps")
    goal.cancel()
    assert robot.finish(goal).outcome == RESULT.CANCELLED


def test_the_client_of_a_machine_that_is_shut_down_has_its_result(robot):
    goal = robot.send(PATROL)
    robot.wait_running(PATROL)
    machine = robot.processes.pop("machine")
    machine.signal_group(signal.SIGINT)
    assert robot.client.spin_until(goal._answer.done, 30)
    assert goal.result.outcome == RESULT.ERROR
    assert "shutting down" in goal.result.reason
    machine.stop_cleanly()


def test_the_machine_says_for_whom_it_waits_when_the_primitives_have_died(robot):
    robot.kill("primitives")
    began = time.monotonic()
    robot.wait_until(lambda: robot.states.last.phase == MachineState.WAITING, "the machine to wait")
    assert time.monotonic() - began < 4
    assert robot.states.last.waiting_for == "primitives"


def test_every_goal_of_a_burst_has_its_answer(robot):
    server = ActionClient(
        robot.client.node,
        ExecuteMission,
        "execute_mission",
        goal_service_qos_profile=qos.REQUESTS,
        result_service_qos_profile=qos.REQUESTS,
    )
    robot.wait_until(server.server_is_ready, "the machine's action")
    for _ in range(BURSTS):
        answers = [server.send_goal_async(ExecuteMission.Goal(mission=PATROL)) for _ in range(200)]
        robot.wait_until(lambda a=answers: all(answer.done() for answer in a), "all answers", 60)
        assert all(answer.result().accepted for answer in answers)
        results = [answer.result().get_result_async() for answer in answers]
        robot.wait_until(
            lambda r=results: sum(result.done() for result in r) >= 199, "all but the last", 60
        )
        ended = [result.result().result.outcome for result in results if result.done()]
        assert set(ended) == {RESULT.PREEMPTED}
        answers[-1].result().cancel_goal_async()
        robot.wait_until(results[-1].done, "the last result")


def test_skm_up_starts_a_dead_node_again(domain_id, processes):
    system = skm_process(domain_id, "up", "demo", "--mission", "none", "--render", "none")
    processes.append(system)
    system.wait_for(lambda: any("ready for missions" in line for line in system.output), "nodes")
    find = ["pgrep", "-g", str(system.pid), "-f", "primitives_node"]
    found = subprocess.run(find, capture_output=True, text=True, check=True)
    for pid in map(int, found.stdout.split()):
        os.kill(pid, signal.SIGKILL)
    system.wait_for(
        lambda: any("starting primitives again" in line for line in system.output), "a new one"
    )
    system.wait_for(lambda: sum("serving" in line for line in system.output) > 1, "it serves again")
    mission = skm_process(domain_id, "mission", "F button | F region", "--when-ready")
    processes.append(mission)
    mission.wait_for(lambda: mission.returncode is not None, "its end")
    mission.stop_cleanly()
    system.stop_cleanly()


def test_when_ready_ends_on_an_interrupt(domain_id, processes, client):
    waiting = skm_process(domain_id, "mission", "F A", "--when-ready", "--timeout", "60")
    processes.append(waiting)
    listens = partial(client.node.count_subscribers, "/skm/machine_state")
    assert client.spin_until(listens, 120)  # it counts interrupts before it begins to listen
    waiting.signal_group(signal.SIGINT)
    waiting.wait_for(lambda: waiting.returncode is not None, "its end", timeout=30)
    assert waiting.stop() == 130


def test_managed_nodes_wait_to_be_activated(domain_id, processes, client):
    for name, options in (("sim", {}), ("primitives", {}), ("machine", {})):
        processes.append(node_process(name, domain_id, lifecycle="true", **options))
    states = Topic(client, MachineState, "machine_state", qos.ALIVE)
    assert client.spin_until(
        lambda: states.last is not None and states.last.phase == MachineState.IDLE, 120
    )
    refused = MissionGoal(client, ExecuteMission.Goal(mission="F coffee"))
    with pytest.raises(SkmError, match="takes no mission now"):
        refused.send(60)
    refused.close()
    for node in ("sim", "primitives", "machine"):
        for step in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            request = ChangeState.Request(transition=Transition(id=step))
            assert client.call(ChangeState, f"{node}/change_state", request, 60).success
    goal = MissionGoal(client, ExecuteMission.Goal(mission="F coffee"))
    goal.send(60)
    assert client.spin_until(lambda: goal.done, 60)
    assert goal.result.outcome == RESULT.ACCEPTED
    goal.close()
    for process in processes:
        process.signal_group(signal.SIGINT)
    for process in processes:
        process.stop_cleanly()
