"""Missions on a running system: every way in which one can end. The system is shared, and stays up."""

import json

import pytest
from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import DiagnosticArray
from harness import PATROL, Topic
from skm.action import ExecuteMission
from skm.msg import Action, MachineState

from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.ros_client import RosClient
from skm_sim.registry import get_domain

RESULT = ExecuteMission.Result
COFFEE = get_domain("office").task("coffee").formula
ENDLESS = {"mission": "F A & F C", "repeat": True, "max_steps": 1_000_000}
"""A mission that goes on until somebody ends it."""


def start_at(row, column):
    return {"reset": True, "reset_options": json.dumps({"start": [row, column]})}


def test_success_ends_with_a_stop(office):
    goal = office.send(COFFEE, **start_at(2, 2))
    result = office.finish(goal)
    assert (result.outcome, goal.status) == (RESULT.ACCEPTED, GoalStatus.STATUS_SUCCEEDED)
    assert (result.accepted, result.dropped_transitions) == (1, 0)
    assert [sorted(move.labels)[0] for move in result.transitions] == ["coffee", "office"]
    assert result.transitions[-1].step == result.steps
    assert result.transitions[-1].reward == 1
    assert result.seconds > 0
    kinds = [action.kind for action in office.actions_of(goal)]
    assert kinds == [Action.DISCRETE] * result.steps + [Action.STOP]


def test_feedback_follows_the_machine(office):
    """At transitions, and now and then in between: state, target, goal and its value."""
    feedback = []
    goal = office.send(PATROL, feedback.append, repeat=True, max_steps=100_000)
    office.wait_until(
        lambda: (
            {message.machine.state for message in feedback if message.transition} == {0, 1, 2, 3}
            and any(not message.transition for message in feedback)
        ),
        "feedback of every kind",
    )
    goal.cancel()
    assert office.finish(goal).outcome == RESULT.CANCELLED
    for state in (message.machine for message in feedback):
        assert (state.mission, state.planner, state.states) == (PATROL, "product", 5)
        assert "ABCD"[state.state] in state.target
        assert "decoration" in state.active_constraints
        assert (state.goal_index != MachineState.NONE) == (0 < state.goal_value <= 1)
    steps = [message.machine.mission_steps for message in feedback]
    assert steps == sorted(steps)


@pytest.mark.parametrize("planner", ["product", "paper"])
@pytest.mark.parametrize(
    ("mission", "seed"),
    [
        (COFFEE, 0),
        (PATROL, 3),
        (get_domain("office").task("coffee_mail").formula, 11),
        (get_domain("office").task("long").formula, 4),
        ("F(mail & X F office) | F decoration", 123),
    ],
)
def test_same_actions_as_in_process(office, capsys, mission, seed, planner):
    """Step by step, over three processes: the actions, transitions and end of `skm run`."""
    command = ["run", "office", mission, "--seed", seed, "--planner", planner, "--max-steps", 300]
    main([*map(str, command), "--json"])
    alone = json.loads(capsys.readouterr().out)
    goal = office.send(mission, planner=planner, reset=True, seed=seed, max_steps=300)
    result = office.finish(goal)
    taken = office.actions_of(goal)[:-1]
    assert {action.kind for action in taken} == {Action.DISCRETE}
    assert [action.step for action in taken] == list(range(len(alone["actions"])))
    assert [action.discrete for action in taken] == alone["actions"]
    assert result.steps == alone["steps"]
    assert [(m.step, sorted(m.labels), m.reward) for m in result.transitions] == [
        (m["step"], m["labels"], m["reward"]) for m in alone["transitions"]
    ]
    outcomes = {"accepted": RESULT.ACCEPTED, "failed": RESULT.FAILED, "timed out": RESULT.TIMED_OUT}
    assert result.outcome == outcomes[alone["outcome"]]


def test_failure_by_violation(office):
    """The paper's planner knows only `decoration` as a constraint: the way to A leads over the mail."""
    office.set_parameter("machine", "shield", False)
    try:
        goal = office.send("F A & G !mail", planner="paper", **start_at(7, 10))
        result = office.finish(goal)
    finally:
        office.set_parameter("machine", "shield", True)
    assert (result.outcome, goal.status) == (RESULT.FAILED, GoalStatus.STATUS_ABORTED)
    assert result.steps == 1
    assert "mail" in result.transitions[-1].labels
    assert result.reason


def test_the_shield_avoids_what_fails_the_mission(office):
    """The same mission, and the shield on as it is by default: the robot never enters the mail."""
    result = office.run("F A & G !mail", planner="paper", max_steps=200, **start_at(7, 10))
    assert result.outcome != RESULT.FAILED
    assert all("mail" not in move.labels for move in result.transitions)
    reports = Topic(office.client, DiagnosticArray, "/diagnostics")

    def counted():
        found = {e.key: e.value for m in reports.messages for s in m.status for e in s.values}
        return int(found.get("actions replaced by the shield", 0)) > 0

    office.wait_until(counted, "the diagnostics")


def test_where_all_is_lost_the_shield_stops_the_robot(office):
    goal = office.send("F[0,3] coffee", planner="paper", **start_at(11, 2))
    result = office.finish(goal)
    assert result.outcome == RESULT.FAILED
    assert "stopped by the shield" in result.reason
    assert result.steps == 0
    assert {action.kind for action in office.actions_of(goal)} == {Action.STOP}


def test_cancel(office):
    goal = office.send(**ENDLESS)
    office.wait_running(ENDLESS["mission"])
    goal.cancel()
    result = office.finish(goal)
    assert (result.outcome, goal.status) == (RESULT.CANCELLED, GoalStatus.STATUS_CANCELED)
    assert result.steps >= 3
    office.wait_ready()
    assert office.states.last.outcome == RESULT.CANCELLED


def test_preemption_ends_each_goal_exactly_once(office):
    """A newer mission takes the place of the one under way; both get one terminal status."""
    statuses = Topic(office.client, GoalStatusArray, "execute_mission/_action/status", qos.LATCHED)
    old = office.send(**ENDLESS)
    office.wait_running(ENDLESS["mission"])
    new = office.send("F coffee")
    preempted = office.finish(old)
    accepted = office.finish(new)
    assert (preempted.outcome, old.status) == (RESULT.PREEMPTED, GoalStatus.STATUS_ABORTED)
    assert (accepted.outcome, new.status) == (RESULT.ACCEPTED, GoalStatus.STATUS_SUCCEEDED)

    def ends(goal):
        return {
            status.status
            for message in statuses.messages
            for status in message.status_list
            if bytes(status.goal_info.goal_id.uuid).hex() == goal.goal_id
            and status.status >= GoalStatus.STATUS_SUCCEEDED
        }

    office.wait_until(lambda: ends(old) and ends(new), "both statuses")
    assert (ends(old), ends(new)) == ({old.status}, {new.status})


def test_new_mission_is_turned_away_if_the_parameter_says_so(office):
    office.set_parameter("machine", "on_new_mission", "reject")
    try:
        goal = office.send(**ENDLESS)
        office.wait_running(ENDLESS["mission"])
        with pytest.raises(SkmError, match="another one is under way"):
            office.send("F coffee")
        goal.cancel()
        assert office.finish(goal).outcome == RESULT.CANCELLED
    finally:
        office.set_parameter("machine", "on_new_mission", "preempt")


@pytest.mark.parametrize(
    ("mission", "options", "said"),
    [
        ("F(coffee & ", {}, "^"),
        ("", {}, ""),
        ("F coffe", {}, "did you mean 'coffee'"),
        ("F(A & B)", {}, "cannot be achieved"),
        ("F A", {"planner": "magic"}, "product"),
        ("F A", {"format": "prose"}, "ltl"),
        ("F A", {"horizon": "far"}, "infinite"),
        ("F A", {"max_seconds": -1.0}, "max_seconds"),
        ("F A", {"max_seconds": float("nan")}, "max_seconds"),
        ("F A", {"reset": True, "reset_options": '{"start": [0, 0]}'}, "(0, 0)"),
        ("F A", {"reset": True, "reset_options": "{"}, "JSON"),
        ("F A", {"reset": True, "seed": -5}, "seed"),
    ],
)
def test_rejection_says_why(office, mission, options, said):
    """Bad syntax, unknown names, what nobody can achieve, options that mean nothing."""
    goal = office.send(mission, **options)
    result = office.finish(goal)
    assert (result.outcome, goal.status) == (RESULT.REJECTED, GoalStatus.STATUS_ABORTED)
    assert result.reason
    assert said in result.reason
    assert result.steps == 0


def test_time_out_by_steps(office):
    goal = office.send("F A & F C", repeat=True, max_steps=60, **start_at(2, 2))
    result = office.finish(goal)
    expected = (RESULT.SATISFIED_SO_FAR, GoalStatus.STATUS_SUCCEEDED)
    assert (result.outcome, goal.status) == expected
    assert result.steps == 60
    assert result.accepted == sum(move.reward > 0 for move in result.transitions) > 0


def test_time_out_by_seconds(office):
    result = office.run(**{**ENDLESS, "max_seconds": 1.0})
    assert result.outcome == (RESULT.SATISFIED_SO_FAR if result.accepted else RESULT.TIMED_OUT)
    assert result.steps > 0
    assert 0 < result.seconds < 5


def test_max_seconds_counts_running_and_not_planning(office):
    """And so that `skm verify` knows the outcome: the time was up."""
    patrol = " & ".join(f"G F {name}" for name in ("A", "B", "C", "D", "coffee", "mail", "office"))
    result = office.run(patrol, max_seconds=1.0, max_steps=0)
    assert result.reason.startswith("1 s were up")
    assert 1.0 <= result.seconds < 3.0
    assert result.steps > 0


def test_mission_without_end_is_scored_by_its_rounds(office):
    """Its time is up with rounds completed: that is what a recurring mission can do."""
    goal = office.send("G F A & G F B & G !decoration", max_steps=120, **start_at(2, 2))
    result = office.finish(goal)
    expected = (RESULT.SATISFIED_SO_FAR, GoalStatus.STATUS_SUCCEEDED)
    assert (result.outcome, goal.status) == expected
    assert result.accepted >= 2
    assert f"{result.accepted} rounds" in result.reason
    assert "read as a recurring mission: 'G F B'" in result.reason
    none = office.run("G F A & G F B & G !decoration", max_steps=5, **start_at(2, 2))
    assert none.outcome == RESULT.TIMED_OUT


def test_the_result_says_how_the_mission_was_read(office):
    result = office.run("F coffee", **start_at(2, 2))
    assert result.outcome == RESULT.ACCEPTED
    assert "read as a mission with an end" in result.reason


def test_late_joiner_sees_the_machine_state(office):
    """Whoever subscribes after the fact is told at once: in a mission, and after it."""
    goal = office.send(**ENDLESS)
    office.wait_running(ENDLESS["mission"])
    with RosClient(domain_id=office.domain_id) as late:
        states = Topic(late, MachineState, "machine_state", qos.LATCHED)
        assert late.spin_until(lambda: states.messages, 60)
        assert states.messages[0].phase == MachineState.RUNNING
        assert states.messages[0].mission == ENDLESS["mission"]
    goal.cancel()
    office.finish(goal)
    office.wait_ready()
    with RosClient(domain_id=office.domain_id) as late:
        states = Topic(late, MachineState, "machine_state", qos.LATCHED)
        assert late.spin_until(lambda: states.messages, 60)
        assert states.messages[0].phase == MachineState.IDLE
        assert states.messages[0].outcome == RESULT.CANCELLED


def test_second_mission_goes_on_from_where_the_robot_is(office):
    """Without a reset, the episode goes on: its steps count up."""
    office.wait_ready()
    assert office.run("F A", **start_at(2, 6)).outcome == RESULT.ACCEPTED
    office.wait_ready()
    at_a = office.states.last
    assert office.run("F B").outcome == RESULT.ACCEPTED
    office.wait_ready()
    at_b = office.states.last
    assert at_b.episode == at_a.episode
    assert at_b.step > at_a.step
    observations = office.traffic.observations
    office.wait_until(lambda: observations.last.step == at_b.step, "the last observation")


def test_a_mission_without_end_runs_until_it_is_taken_back(office):
    """Beyond `max_steps`, which is for missions that end."""
    goal = office.send("G F A & G F C", reset=True, seed=1)
    office.wait_until(lambda: office.states.last.mission_steps > 1100, "more than 1000 steps")
    goal.cancel()
    result = office.finish(goal)
    assert result.outcome == RESULT.CANCELLED
    assert result.accepted > 10


def test_a_mission_that_gets_nowhere_says_so(systems):
    """No cylinder of this arena is in a region, though the skills think that one might be."""
    safety = {"domain": "safety"}
    system = systems(parameters={"sim": {**safety, "mode": "lockstep"}, "primitives": safety})
    system.wait_ready()
    result = system.run("F(cylinder & region)", reset=True, seed=10, max_steps=20_000)
    assert result.outcome == RESULT.NO_PROGRESS
    assert "gets nowhere" in result.reason
    assert result.steps < 5000


def test_a_map_is_a_domain_of_the_nodes(systems, capsys, tmp_path):
    """The world comes to the machine over the wire, and the actions are those of `skm run`."""
    folder = str(tmp_path / "hall")
    mission = "F(coffee & X F(dock & X F lobby)) & G !wet_floor & G !stairs"
    main(["map", "--example", "--out", folder, "--no-picture"])
    capsys.readouterr()
    main(["run", folder, mission, "--seed", "5", "--json"])
    alone = json.loads(capsys.readouterr().out)
    hall = {"domain": folder}
    system = systems(parameters={"sim": {**hall, "mode": "lockstep"}, "primitives": hall})
    system.wait_ready()
    goal = system.send(mission, reset=True, seed=5)
    result = system.finish(goal)
    assert result.outcome == RESULT.ACCEPTED
    assert [action.discrete for action in system.actions_of(goal)[:-1]] == alone["actions"]
