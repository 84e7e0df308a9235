"""Where a robot is that a navigation stack drives: in a place for sure, in a forbidden one at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skm_sim.maps.building import Building, make_building
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES
from skm_sim.robots.drive import Drive, DriveConfig, Entered, GoalDrive, drive_in
from skm_sim.robots.path_follower import Chassis
from skm_sim.robots.pose import REST, Limits, Velocity

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
    fast = Velocity(2.4, 0.0)  # a way of 0.48 m between two readings is no jump then

    def entered(x: float, y: float, now: float) -> list[Entered]:
        drive.read((x, y, 0.0), fast, now)
        assert drive.located
        return drive.states(now, resting=False)

    entered(-7.24, edge, 0.0)
    assert not any(state.labels for state in entered(-6.76, edge, 0.2))
    drive = GoalDrive(building, Chassis(), Limits(), DriveConfig(0.2, filter_gain=1.0), None)
    entered(-7.24, -3.56, 0.0)
    crossed = entered(-6.76, -3.56, 0.2)
    assert any(state.labels == {"dock"} for state in crossed), "6 cm deep: it counts"


def by_velocities(building: Building, config: DriveConfig) -> Drive:
    return drive_in(building, Chassis(), Limits(), config)


def by_goals(building: Building, config: DriveConfig) -> GoalDrive:
    return GoalDrive(building, Chassis(), Limits(), config, None)


@pytest.mark.parametrize("make", [by_velocities, by_goals])
def test_a_pose_that_cannot_be_right_shows_no_labels(
    make: Callable[[Building, DriveConfig], Drive | GoalDrive],
) -> None:
    """A localiser that is wrong for a moment must neither fulfil a mission nor fail it."""
    building = make_building(EXAMPLE_MAP, EXAMPLE_PLACES)
    drive = make(building, DriveConfig(0.2, filter_gain=1.0))
    outside, dock = (-5.0, -4.0, 0.0), (-7.0, -4.0, 0.0)
    drive.read(outside, REST, 0.0)
    (begun,) = drive.states(0.0, resting=False)
    drive.read(dock, REST, 0.2)
    assert not drive.located
    assert drive.states(0.2, resting=True) == []
    drive.read(outside, REST, 0.4)
    assert drive.states(0.4, resting=True) == [], "nor is it known which of the two was right"
    assert drive.localisation.confirm()
    assert {state.labels for state in drive.states(0.6, resting=True)} <= {begun.labels}
    drive.read(dock, REST, 0.8)
    assert drive.states(0.8, resting=True) == []
    assert drive.localisation.confirm()
    entered = drive.states(1.0, resting=True)
    assert [state.labels for state in entered] == [frozenset({"dock"})], "it was carried there"


def test_the_first_pose_that_can_be_right_is_where_a_robot_begins() -> None:
    building = make_building(EXAMPLE_MAP, EXAMPLE_PLACES)
    drive = by_goals(building, DriveConfig(0.2, filter_gain=1.0))
    drive.read((100.0, -4.0, 0.0), REST, 0.0)
    assert "off the floor" in drive.localisation.problem
    assert drive.states(0.0, resting=True) == []
    drive.read((-5.0, -4.0, 0.0), REST, 0.2)
    assert drive.localisation.confirm()
    (begun,) = drive.states(0.2, resting=True)
    assert begun.labels == frozenset()
