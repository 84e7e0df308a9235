"""`SkmClient` and the example that shows it: run, status, cancel and the rest, on real nodes."""

import importlib.util
from pathlib import Path

import pytest

from skm_machine.errors import SkmError
from skm_ros import SkmClient

EXAMPLE = Path(__file__).parents[2] / "examples" / "ros_client.py"
PATROL = "G F A & G F C & G !decoration"


@pytest.fixture
def robot(office):
    with SkmClient(domain_id=office.domain_id) as client:
        yield client


def test_a_mission_is_run_to_its_end_and_told_on_the_way(robot):
    seen = []
    result = robot.run("F(coffee & X F office)", seed=1, on_status=seen.append)
    assert (result.outcome, result.rounds, result.succeeded) == ("accepted", 1, True)
    assert [status.state for status in seen] == sorted(status.state for status in seen)
    assert seen[-1].steps == result.steps > 0
    assert robot.status().phase == "idle"
    assert "accomplished" in robot.status().reason


def test_a_mission_is_watched_and_taken_back(robot):
    robot.start(PATROL, seed=2)
    while robot.status().rounds < 1:
        assert robot.wait(0.05) is None
    assert (robot.status().phase, robot.status().mission) == ("running", PATROL)
    result = robot.cancel()
    assert (result.outcome, result.succeeded) == ("cancelled", False)
    assert result.rounds >= 1
    with pytest.raises(SkmError, match="no mission is under way"):
        robot.cancel()


def test_a_mission_that_takes_too_long_is_cancelled(robot):
    assert robot.run(PATROL, timeout=0.3).outcome == "cancelled"


def test_whatever_is_raised_while_waiting_cancels_the_mission(robot):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        robot.run(PATROL, on_status=interrupt)
    assert robot.status().phase == "idle"


def test_a_new_mission_takes_the_place_of_the_last(robot):
    robot.start(PATROL)
    robot.start("F mail", seed=3)
    assert robot.wait(60).outcome == "accepted"


def test_a_stopped_robot_waits_until_it_is_resumed(robot):
    robot.start(PATROL, seed=2)
    robot.stop()
    while robot.status().phase != "stopped":
        assert robot.wait(0.05) is None
    steps = robot.status().steps
    robot.resume()
    while robot.status().steps <= steps:
        assert robot.wait(0.05) is None
    robot.cancel()


def test_what_is_wrong_is_said(robot):
    result = robot.run("F cofee")
    assert (result.outcome, result.succeeded) == ("rejected", False)
    assert "coffee" in result.reason
    with pytest.raises(SkmError, match="nobody"):
        robot.set_event("nobody")
    with pytest.raises(SkmError, match="max-steps"):
        robot.run("F coffee", max_steps=-1)


def test_without_nodes_it_says_how_to_start_some(domain_id):
    with SkmClient(domain_id=domain_id) as lonely, pytest.raises(SkmError, match="skm up demo"):
        lonely.status(timeout=0.2)


def test_the_example_runs_as_it_stands(office, monkeypatch, capsys):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(office.domain_id))
    spec = importlib.util.spec_from_file_location("ros_client_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main()
    said = capsys.readouterr().out
    assert "accepted after" in said
    assert "cancelled with" in said
