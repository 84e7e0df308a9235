"""Whether a robot is where it is believed to be, and what it does where it is not."""

import math
from pathlib import Path

import numpy as np
import pytest

import skm_sim.maps
from skm_sim.maps.building import make_building
from skm_sim.robots.localisation import BAD_SCANS, Localisation
from skm_sim.robots.walls import walls_of

HALL = Path(skm_sim.maps.__file__).parent / "hall"
ANGLES = np.arange(180) * math.tau / 180
AHEAD = (0.0, 0.0, 0.0)
RANGE = 6.0


@pytest.fixture(scope="module")
def building():
    return make_building(HALL / "hall.yaml", HALL / "places.yaml")


@pytest.fixture
def localisation(building):
    return Localisation(building.floor, walls_of(building.occupancy), 0.22)


def scan_at(building, pose):
    return walls_of(building.occupancy).distances(pose, ANGLES, RANGE)


def test_a_pose_off_the_floor_is_a_problem_until_it_is_back(localisation):
    localisation.read((-3.9, 0.2, 0.0))
    assert not localisation.problem
    localisation.read((30.0, 0.2, 0.0))
    assert "off the floor" in localisation.problem
    assert not localisation.confirm(), "a person cannot make a wall a floor"
    assert "off the floor" in localisation.problem
    localisation.read((-3.9, 0.2, 0.0))
    assert not localisation.problem


def test_a_scan_that_does_not_fit_the_map_is_a_problem_after_a_few(building, localisation):
    seen = scan_at(building, (-6.0, 3.0, 0.0))
    for _ in range(BAD_SCANS - 1):
        localisation.look((2.0, 0.0, 1.0), seen, ANGLES, RANGE, AHEAD)
        assert not localisation.problem
    localisation.look((2.0, 0.0, 1.0), seen, ANGLES, RANGE, AHEAD)
    assert "does not fit the map" in localisation.problem
    localisation.look((-6.0, 3.0, 0.0), seen, ANGLES, RANGE, AHEAD)
    assert not localisation.problem


def test_a_jump_is_settled_by_scans_that_fit_or_by_a_person(building, localisation):
    there = (-6.0, 3.0, 0.5)
    localisation.read(there, 3.0)
    assert "jumped by 3.00 m" in localisation.problem
    localisation.look(there, scan_at(building, (2.0, 0.0, 1.0)), ANGLES, RANGE, AHEAD)
    assert localisation.problem
    for _ in range(2):
        localisation.look(there, scan_at(building, there), ANGLES, RANGE, AHEAD)
    assert not localisation.problem
    localisation.read(there, 3.0)
    assert localisation.confirm()
    assert not localisation.problem


def test_a_laser_that_is_mounted_otherwise_is_seen_by_its_scans(building, localisation):
    pose = (-6.0, 3.0, 0.5)
    right = localisation.agreement(pose, scan_at(building, pose), ANGLES, RANGE, AHEAD)
    turned = localisation.agreement(pose, scan_at(building, pose), ANGLES, RANGE, (0.0, 0.0, 1.5))
    assert right > 0.9
    assert turned < 0.5


def test_where_there_is_nothing_to_see_nothing_is_concluded(localisation):
    nothing = Localisation(None, None, 0.22)
    nothing.look((0.0, 0.0, 0.0), np.full(180, np.inf), ANGLES, RANGE, AHEAD)
    nothing.read((1e6, 0.0, 0.0))
    assert not nothing.problem
    few = np.full(180, np.inf)
    few[:3] = 0.5
    assert localisation.agreement((-3.9, 0.2, 0.0), few, ANGLES, 0.6, AHEAD) is None
