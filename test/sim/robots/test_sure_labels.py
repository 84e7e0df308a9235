"""Which labels count where a robot is believed to be: a pose errs, edges may be grazed by that alone."""

from __future__ import annotations

import numpy as np
import pytest

from skm_sim.maps.building import Building, make_building
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES
from skm_sim.robots.drive import Drive, DriveConfig, SureLabels, drive_in
from skm_sim.robots.path_follower import Chassis
from skm_sim.robots.pose import REST, Limits

NOTHING: frozenset[str] = frozenset()
DOCK, STORE, WET = frozenset({"dock"}), frozenset({"store"}), frozenset({"wet_floor"})
EDGE = -7.0 + 0.5  # of the dock, a circle around (-7, -4)
WET_EDGE = -1.2 + 0.55  # of a wet floor, a circle around (-1.2, -0.3)


@pytest.fixture(scope="module")
def building() -> Building:
    return make_building(EXAMPLE_MAP, EXAMPLE_PLACES)


def test_beside_a_door_post_the_robot_may_be_where_no_cell_is_floor(building: Building) -> None:
    """A robot stood 2 mm deep in the store by its pose, beside a post, and was not in it in truth."""
    sure = SureLabels(building)
    assert building.floor.cell_at(-0.901, -1.15) == -1
    assert building.has_room([[-0.901, -1.15]]).all()
    assert not sure.count(-0.901, -1.202, STORE, NOTHING)
    assert sure.count(-0.901, -1.26, STORE, NOTHING)


def test_in_walls_nobody_is(building: Building) -> None:
    x, y = -7.6, 1.62  # a corner of the kitchen that ends in two walls
    assert not building.has_room([[x - 0.2, y]]).any()
    assert SureLabels(building).count(x + 0.1, y, frozenset({"kitchen"}), NOTHING)


def test_what_fails_the_mission_counts_at_once(building: Building) -> None:
    sure, x = SureLabels(building), WET_EDGE - 0.01
    assert sure.count(x, -0.3, WET, NOTHING), "a constraint, while nobody has said what is avoided"
    assert not sure.count(x + 0.02, -0.3, NOTHING, WET), "nor is it left at its edge"
    sure.avoid = frozenset()
    assert not sure.count(x, -0.3, WET, NOTHING), "a mission that is to go there has not been there"
    sure.avoid = frozenset({WET, DOCK})
    assert sure.count(x, -0.3, WET, NOTHING)
    assert sure.count(EDGE - 0.01, -4.0, DOCK, NOTHING)
    assert sure.count_between((-6.8, -3.51), (-7.2, -3.51), DOCK, NOTHING)


def labels_at(drive: Drive, x: float, now: float) -> frozenset[str]:
    drive.read((x, -4.0, 0.0), REST, now)
    drive.states(now, resting=False)
    return drive.walk.labels


def test_driven_by_velocities_a_place_counts_once_the_robot_is_in_it_for_sure(
    building: Building,
) -> None:
    drive = drive_in(building, Chassis(), Limits(), DriveConfig(0.05, filter_gain=1.0))
    assert labels_at(drive, EDGE + 0.1, 0.0) == NOTHING
    assert labels_at(drive, EDGE - 0.02, 0.05) == NOTHING
    assert labels_at(drive, EDGE - 0.07, 0.1) == DOCK
    assert labels_at(drive, EDGE + 0.02, 0.15) == DOCK
    assert labels_at(drive, EDGE + 0.07, 0.2) == NOTHING


def test_where_a_cell_has_its_point_its_labels_count(building: Building) -> None:
    """Else a robot in a place without room would wait for ever: there is no surer point to go to."""
    drive = drive_in(building, Chassis(), Limits(), DriveConfig(0.05, filter_gain=1.0))
    walk = drive.walk
    floor, places = building.floor, building.places
    changes = (building.labels[:, None] != building.labels[floor.moves]).any(axis=2)
    tried = 0
    for cell, action in np.argwhere(changes)[::5].tolist():
        there = int(floor.moves[cell, action])
        start, point = walk._ways.through(cell), walk._ways.through(there)
        held, labels = places.labels_at(*start), places.labels_at(*point)
        if SureLabels(building).count(*point, labels, held):
            continue
        tried += 1
        walk.begin(*start)
        walk.take(action)
        walk.pass_to(*point)
        assert (walk.cell, walk.labels) == (there, labels)
    assert tried
