"""Short outages and ends: a mission goes on, or ends, as `resume_after` says; a stop comes last."""

import os
import signal

from skm.action import ExecuteMission
from skm.msg import Action, MachineState

from skm_ros.graph import get_system

RESULT = ExecuteMission.Result
PATROL = "G F button & G F region"
RATE = 20.0


def robot(systems, **machine):
    """Return the point robot on its patrol, in real time."""
    sim = {"domain": "safety", "mode": "realtime", "rate": RATE, "seed": 9}
    made = systems(parameters={"sim": sim, "primitives": {"domain": "safety"}, "machine": machine})
    made.wait_ready()
    goal = made.send(PATROL)
    made.wait_running(PATROL)
    heard = made.traffic.observations, made.traffic.actions
    made.wait_until(lambda: all(kind.last is not None for kind in heard), "states and actions")
    return made, goal


def phase(system, expected):
    system.wait_until(lambda: system.states.last.phase == expected, f"phase {expected}")


def seconds(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_a_mission_goes_on_after_an_outage_and_a_thawed_machine_moves_nothing_by_old_answers(
    systems,
):
    system, goal = robot(systems, resume_after=60.0, use_sim_time=True)
    primitives, machine = system.processes["primitives"].pid, system.processes["machine"].pid
    os.kill(primitives, signal.SIGSTOP)
    system.wait_until(lambda: "primitives do not answer" in system.states.last.reason, "the stop")
    assert system.states.last.phase == MachineState.STOPPED
    os.kill(primitives, signal.SIGCONT)
    phase(system, MachineState.RUNNING)
    os.kill(machine, signal.SIGSTOP)
    observations, actions = system.traffic.observations, system.traffic.actions
    frozen_at = observations.last.step
    system.wait_until(lambda: observations.last.step > frozen_at + 2 * RATE, "two seconds")
    still = [list(o.data[3:5]) for o in observations.messages[-5:]]
    assert max(abs(v) for pair in still for v in pair) < 0.06
    thawed_at, before = observations.last.step, len(actions.messages)
    os.kill(machine, signal.SIGCONT)
    system.wait_until(
        lambda: any(a.step > thawed_at + 5 for a in actions.messages[before:]), "fresh actions"
    )
    # All by the simulator's clock, the machine's own times, too.
    shown = {o.step: seconds(o) for o in observations.messages}
    answers = [a for a in actions.messages if a.kind != Action.STOP and a.step in shown]
    assert answers
    assert all(seconds(a) == shown[a.step] for a in answers)
    assert 0 < seconds(system.states.last) < max(shown.values()) + 60
    steps = [a.step for a in actions.messages[before:] if a.kind != Action.STOP]
    assert all(step >= thawed_at - 3 or step <= frozen_at + 3 for step in steps)
    assert not goal.done
    goal.cancel()
    assert system.finish(goal).outcome == RESULT.CANCELLED


def test_without_patience_an_outage_ends_the_mission_and_sigterm_stops_the_robot(systems):
    system, goal = robot(systems, resume_after=0.0)
    primitives = system.processes["primitives"].pid
    os.kill(primitives, signal.SIGSTOP)
    result = system.finish(goal)
    os.kill(primitives, signal.SIGCONT)
    assert result.outcome == RESULT.ERROR
    assert result.reason
    system.wait_ready()
    goal = system.send(PATROL)
    system.wait_running(PATROL)
    machine = system.processes.pop("machine")
    machine.signal_group(signal.SIGTERM)
    machine.wait_for(lambda: machine.returncode is not None, "its end")
    assert machine.stop() == 0, machine.transcript()
    count = len(system.traffic.observations.messages)
    system.wait_until(lambda: len(system.traffic.observations.messages) > count + 10, "more states")
    assert system.traffic.actions.last.kind == Action.STOP
    assert system.client.spin_until(lambda: goal.done, 30)
    assert goal.result.outcome == RESULT.ERROR
    system.goals.remove(goal)
    goal.close()


def test_all_nodes_go_by_the_simulators_clock_and_no_mission_is_said_in_two_ways():
    demo = get_system("demo")
    by_name = {node.name: node.parameters for node in demo.nodes({})}
    assert by_name["primitives"]["use_sim_time"] is True
    assert by_name["machine"]["use_sim_time"] is True
    assert demo.nodes({"use_sim_time": "false"})[2].parameters["use_sim_time"] is False
    assert demo.mission({"mission": ""}) == demo.mission({"mission": "none"}) == ""
