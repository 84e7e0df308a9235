"""Bounds in seconds through real nodes: judged by the clock, as the recorded stamps say.

`benchmarks/seconds.py` is the same with a hundred missions.
"""

from pathlib import Path

import pytest
from builtin_interfaces.msg import Time
from skm.msg import Labels, Verdict

import skm_sim.maps
from skm_bench.processes import BenchSystem, RobotSystem
from skm_bench.seconds import SecondsBench, TimedMission
from skm_primitives.planning.map_domains import make_map_domain
from skm_ros.label_monitor import LabelMonitor
from skm_ros.step_time import StepTimes, step_seconds

HALL = Path(skm_sim.maps.__file__).parent / "hall"
RATE = 20.0


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    """The robot of the example map, in the corridor."""
    made = tmp_path_factory.mktemp("maps") / "hall"
    make_map_domain(HALL / "hall.yaml", HALL / "places.yaml", made, picture=False)
    car = {"start": "-3.9 0.2 0.0"}
    with (
        RobotSystem(str(made), RATE, parameters={"car": car}) as system,
        SecondsBench(system) as bench,
    ):
        yield bench


@pytest.mark.parametrize(
    ("mission", "least", "most"),
    [
        (TimedMission("F[0s,2s] lab", "failed", "paper"), 2.0, 2.2),
        (TimedMission("F[0s,1.5s] kitchen", "failed", hold=True), 1.5, 1.7),
        (TimedMission("G[0s,2s] !lab", "accepted"), 2.0, 2.2),
        (TimedMission("F(kitchen & X G[0s,2s] kitchen)", "accepted"), 4.0, 40.0),
    ],
    ids=lambda value: getattr(value, "text", ""),
)
def test_seconds_on_a_robot_are_those_of_the_clock_not_cells(robot, mission, least, most):
    result = robot.run(mission)
    assert result.agrees, result
    assert result.outcome == mission.meant, result
    assert least <= result.comparison.seconds <= most


def test_seconds_on_a_simulator_in_real_time_are_those_of_its_clock():
    with BenchSystem("safety", RATE, 0) as system, SecondsBench(system) as bench:
        for text, meant in (
            ("G[0s,1s] !(region & button)", "accepted"),
            ("F[0s,0.3s] (button & cylinder)", "failed"),
            ("G[0s,15s] F[0s,0.2s] cylinder", "failed"),
        ):
            result = bench.run(TimedMission(text, meant, seed=3))
            assert result.agrees, result
            assert result.outcome == meant, result


def test_a_monitor_goes_by_the_stamps_also_while_a_state_lasts():
    said = []
    monitor = LabelMonitor("F[0s,5s] a", said.append)

    def show(seconds, step, *true):
        message = Labels(session=7, episode=1, step=step, names=["a"], values=["a" in true])
        message.header.stamp = Time(sec=seconds)
        monitor.on_labels(message)

    show(100, 0)
    show(102, 1)
    show(105, 1)
    assert said[-1].verdict == Verdict.POSSIBLE
    show(106, 1)
    assert said[-1].verdict == Verdict.VIOLATED
    show(200, 0)
    show(204, 1, "a")
    assert said[-1].verdict == Verdict.SATISFIED


def test_in_real_time_no_step_has_a_length_of_its_own():
    assert step_seconds(0.05, "safety") is None
    assert step_seconds(0.0, "safety") == pytest.approx(0.1)
    assert step_seconds(0.0, "nobody") is None
    times = StepTimes()
    for seconds in [0.7] * 15 + [30.0]:
        assert times.expected in (None, 0.7)
        times.note(seconds)
    assert times.expected == 0.7
