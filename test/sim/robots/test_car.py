"""safety-gymnasium's Car as a robot: it obeys, slips, bumps into walls, sees them, and stops."""

import math

import numpy as np
import pytest

from skm_sim.robots.simulated import RADIUS, Car, Channel, Noise
from skm_sim.robots.walls import Walls


def room(yaw=0.0, side=80):
    """Return an empty square room of 4 m, its middle at (2, 2) if it is not turned."""
    solid = np.zeros((side, side), bool)
    solid[0] = solid[-1] = solid[:, 0] = solid[:, -1] = True
    return Walls(solid, 4.0 / side, (0.0, 0.0, yaw))


def test_it_goes_where_it_heads_but_not_as_far_as_its_wheels_turn():
    for heading in (-2.0, 0.0, 0.7):
        car = Car(pose=(1.0, -1.0, heading))
        assert car.pose == pytest.approx((1.0, -1.0, heading))
        car.command(0.5, 0.0)
        car.advance(2.0)
        x, y, end = car.pose
        assert 0.6 < math.dist((x, y), (1.0, -1.0)) < 0.98
        assert math.atan2(y + 1.0, x - 1.0) == pytest.approx(heading, abs=0.05)
        assert end == pytest.approx(heading, abs=0.05)


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_it_turns_the_way_that_is_asked_for_and_slips(turn):
    car = Car()
    car.command(0.0, turn)
    car.advance(2.0)
    assert 0.3 < car.pose[2] / (2.0 * turn) < 0.9


def test_a_stop_stops_it_within_centimetres():
    car = Car()
    car.command(0.5, 0.0)
    car.advance(2.0)
    x = car.pose[0]
    car.command(0.0, 0.0)
    car.advance(0.5)
    assert car.pose[0] - x < 0.1
    assert abs(car.speeds[0]) < 0.01
    assert abs(car.speeds[1]) < 0.05


@pytest.mark.parametrize("yaw", [0.0, 0.5])
def test_walls_hold_it_and_are_seen_where_they_are(yaw):
    walls = room(yaw)
    middle = 2.0 * math.cos(yaw) - 2.0 * math.sin(yaw), 2.0 * math.sin(yaw) + 2.0 * math.cos(yaw)
    seen = walls.distances((*middle, yaw), np.array([0.0, math.pi / 2, math.pi / 4]), 6.0)
    assert seen == pytest.approx([1.95, 1.95, 1.95 * math.sqrt(2)], abs=0.05)
    car = Car(walls, (*middle, yaw))
    assert not car.touches_wall
    car.command(0.6, 0.0)
    car.advance(6.0)
    assert car.touches_wall
    assert math.dist(car.pose[:2], middle) < 1.95 - 0.1
    assert math.dist(car.pose[:2], middle) > 1.95 - 1.2 * RADIUS


def test_boxes_cover_every_wall_that_can_be_touched_and_nothing_else():
    random = np.random.default_rng(1)
    solid = random.random((12, 17)) < 0.4
    walls = Walls(solid, 0.1)
    covered = np.zeros_like(solid)
    for box in walls.boxes():
        rows = slice(round((box.y - box.half_y) / 0.1), round((box.y + box.half_y) / 0.1))
        columns = slice(round((box.x - box.half_x) / 0.1), round((box.x + box.half_x) / 0.1))
        assert not covered[rows, columns].any(), "boxes do not overlap"
        covered[rows, columns] = True
    assert not (covered & ~solid).any()
    padded = np.pad(solid, 1)
    for row, column in np.argwhere(solid & ~covered):
        block = padded[row : row + 3, column : column + 3]
        assert block[1].all()
        assert block[:, 1].all()


def test_messages_are_late_in_order_and_some_get_lost():
    channel = Channel(0.1, 0.25, np.random.default_rng(3))
    for number in range(1000):
        channel.send(number, 0.01 * number)
    first = channel.arrived(5.0)
    assert first == sorted(first)
    assert first[-1] <= 490
    assert len(first) + len(channel.arrived(99.0)) == pytest.approx(750, abs=50)


def test_noise_is_as_large_as_it_says():
    random = np.random.default_rng(0)
    noise = Noise(place=0.02, heading=0.1, speed=0.3, distance=0.05)
    poses = np.array([noise.of_pose((1.0, 2.0, 3.0), random) for _ in range(2000)])
    assert poses.std(axis=0) == pytest.approx([0.02, 0.02, 0.1], rel=0.1)
    assert poses.mean(axis=0) == pytest.approx([1.0, 2.0, 3.0], abs=0.01)
    assert noise.of_distances(np.full(5000, 1.0), random).std() == pytest.approx(0.05, rel=0.1)
    assert (noise.of_distances(np.zeros(100), random) >= 0).all()
