"""Missions in a queue, joined, replaced, paused and let go on: on real nodes, by client and command."""

import json

import pytest
from skm.action import ExecuteMission

from skm_cli.main import main
from skm_ros import SkmClient
from skm_ros.client.queue import pause_mission, resume_mission

PATROL = "G F A & G F C & G !decoration"
Goal, Result = ExecuteMission.Goal, ExecuteMission.Result


@pytest.fixture
def robot(office):
    with SkmClient(domain_id=office.domain_id) as client:
        yield client
        for one in client.missions().missions:
            client.remove(one.number)
        if client.missions().paused:
            client.resume_mission()


@pytest.fixture
def skm(office, capsys, monkeypatch):
    """Run `skm … --json` in this process; return exit code and document."""

    def run(*arguments):
        monkeypatch.setenv("ROS_DOMAIN_ID", str(office.domain_id))
        code = main([*map(str, arguments), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def texts(robot):
    return [one.mission for one in robot.missions().missions]


def test_missions_wait_for_their_turn_by_priority_and_all_are_done(office, robot):
    patrol = office.send(PATROL, reset=True, seed=3)
    low = office.send("F office", when=Goal.QUEUE)
    high = office.send("F mail", when=Goal.QUEUE, priority=5)
    middle = office.send("F coffee", when=Goal.QUEUE, priority=1)
    assert texts(robot) == [PATROL, "F mail", "F coffee", "F office"]
    office.wait_until(lambda: all(one.number for one in (low, high, middle)), "their numbers")
    robot.move(middle.number, 1)
    assert texts(robot) == [PATROL, "F coffee", "F mail", "F office"]
    robot.remove(high.number)
    assert office.finish(high).outcome == Result.CANCELLED
    office.send("F A", when=Goal.REPLACE)
    assert office.finish(patrol).outcome == Result.PREEMPTED
    for goal in (middle, low):
        assert office.finish(goal).outcome == Result.ACCEPTED
    assert robot.missions().missions == ()


def test_after_a_cancelled_mission_the_queue_waits_for_a_person(office, robot):
    patrol = office.send(PATROL, reset=True, seed=3)
    waiting = office.send("F coffee", when=Goal.QUEUE)
    office.wait_running(PATROL)
    patrol.cancel()
    assert office.finish(patrol).outcome == Result.CANCELLED
    office.wait_until(lambda: robot.missions().paused, "a queue that waits")
    assert "`skm resume`" in robot.missions().reason
    robot.resume_mission()
    assert office.finish(waiting).outcome == Result.ACCEPTED


def test_a_mission_in_the_queue_is_taken_back_by_its_client(office, robot):
    office.send(PATROL, reset=True, seed=3)
    waiting = office.send("F coffee", when=Goal.QUEUE)
    waiting.cancel()
    assert office.finish(waiting).outcome == Result.CANCELLED
    assert texts(robot) == [PATROL]


def test_a_paused_robot_stands_where_it_is_and_then_goes_on(office, robot):
    goal = office.send(PATROL, reset=True, seed=3)
    office.wait_running(PATROL)
    robot.pause_mission()
    office.wait_until(lambda: office.states.last.phase == office.states.last.STOPPED, "the stop")
    assert office.states.last.reason == "paused: `skm resume` goes on"
    there, heard = (
        (office.states.last.episode, office.states.last.step),
        office.traffic.observations,
    )

    def later():
        return [one for one in heard.messages if (one.episode, one.step) >= there]

    office.wait_until(lambda: len(later()) > 4, "three signs of life")
    assert later()[-1].step <= there[1] + 1  # an action may have been under way
    robot.resume_mission()
    office.wait_until(lambda: heard.last.step > there[1] + 5, "the robot to go on")
    assert not goal.done


def test_what_is_added_joins_what_is_left(systems):
    """In real time, and paused: it is under way for as long as the other mission takes to come."""
    office = systems(parameters={"sim": {"mode": "realtime", "rate": 50.0}})
    office.wait_ready()
    tour = "F D"
    for place in 10 * ("A", "C"):
        tour = f"F({place} & X {tour})"
    first = office.send(f"F(coffee & X {tour}) & G !decoration", reset=True, seed=1)
    office.wait_until(lambda: office.states.last.state >= 1, "the coffee")
    pause_mission(office.client, 60)
    second = office.send("F mail", when=Goal.ADD)
    result = office.finish(first)
    assert (result.outcome, "added" in result.reason) == (Result.PREEMPTED, True)
    resume_mission(office.client, 60)
    done = office.finish(second)
    assert done.outcome == Result.ACCEPTED
    shown = [set(move.labels) for move in done.transitions]
    assert any("mail" in labels for labels in shown)
    assert len(result.transitions) + len(done.transitions) == 23


def test_what_cannot_be_added_leaves_the_mission_as_it_was(office, robot):
    first = office.send(PATROL, reset=True, seed=3)
    office.wait_running(PATROL)
    for added, reason in (("F decoration", ""), ("F nowhere", "nowhere"), ("F (", "")):
        result = office.run(added, when=Goal.ADD)
        assert result.outcome == Result.REJECTED, (added, result)
        assert reason in result.reason
    rounds = office.states.last.accepted
    office.wait_until(lambda: office.states.last.accepted > rounds + 1, "the patrol to go on")
    assert not first.done


def test_the_commands(office, skm, robot):
    office.send(PATROL, reset=True, seed=3)
    code, first = skm("mission", "F coffee", "--queue")
    assert code == 0
    code, second = skm("mission", "F mail", "--queue", "--priority", 2)
    assert skm("pause") == (0, {"success": True, "message": "paused"})
    code, queue = skm("queue")
    assert (code, queue["paused"], queue["resume"]) == (0, True, "never")
    assert [one["number"] for one in queue["missions"]][1:] == [second["number"], first["number"]]
    assert [one["under_way"] for one in queue["missions"]] == [True, False, False]
    code, queue = skm("queue", "move", first["number"], 1)
    assert [one["mission"] for one in queue["missions"]] == [PATROL, "F coffee", "F mail"]
    assert queue["missions"][1]["priority"] == 2
    assert skm("queue", "remove", 999)[0] == 1
    assert skm("queue", "clear")[0] == 0
    assert skm("resume") == (0, {"success": True, "message": "it goes on"})
    assert skm("resume") == (1, {"success": False, "message": "nothing is paused"})
