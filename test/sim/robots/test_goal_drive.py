"""Where a robot is that a navigation stack drives: in a place for sure, in a forbidden one at once."""

from __future__ import annotations

from skm_sim.maps.building import make_building
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES
from skm_sim.robots.drive import DriveConfig, GoalDrive
from skm_sim.robots.path_follower import Chassis
from skm_sim.robots.pose import REST, Limits

EDGE = -7.0 + 0.5  # of the dock, a circle around (-7, -4)


def labels_at(drive: GoalDrive, x: float, now: float) -> frozenset[str]:
    drive.read((x, -4.0, 0.0), REST, now)
    drive.states(now, resting=False)
    return drive.labels


def test_a_place_counts_once_the_robot_is_in_it_for_sure() -> None:
    building = make_building(EXAMPLE_MAP, EXAMPLE_PLACES)
    config = DriveConfig(0.2, filter_gain=1.0)
    drive = GoalDrive(building, Chassis(), Limits(), config, None)
    assert labels_at(drive, EDGE + 0.1, 0.0) == frozenset()
    assert labels_at(drive, EDGE - 0.02, 0.2) == frozenset(), "a localiser may be out by as much"
    assert labels_at(drive, EDGE - 0.07, 0.4) == {"dock"}
    assert labels_at(drive, EDGE + 0.02, 0.6) == {"dock"}
    assert labels_at(drive, EDGE + 0.07, 0.8) == frozenset()
    drive.sure.avoid = frozenset({frozenset({"dock"})})
    assert labels_at(drive, EDGE - 0.01, 1.0) == {"dock"}, "what is to be avoided counts at once"


def test_an_edge_that_is_grazed_between_two_poses_may_be_noise() -> None:
    building = make_building(EXAMPLE_MAP, EXAMPLE_PLACES)
    drive = GoalDrive(building, Chassis(), Limits(), DriveConfig(0.2, filter_gain=1.0), None)
    edge = -4 + 0.5 * 0.98  # y at which a chord is 0.2 m long, 1 cm deep in the dock
    drive.read((-6.8, edge, 0.0), REST, 0.0)
    drive.states(0.0, resting=False)
    drive.read((-7.2, edge, 0.0), REST, 0.2)
    assert not any(state.labels for state in drive.states(0.2, resting=False))
    drive.read((-7.0, -3.4, 0.0), REST, 0.4)
    drive.states(0.4, resting=False)
    drive.read((-6.6, -3.75, 0.0), REST, 0.6)
    entered = drive.states(0.6, resting=False)
    assert any(state.labels == {"dock"} for state in entered), "what is crossed counts"
