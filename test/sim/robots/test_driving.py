"""Following paths, knowing where one is, keeping to limits: with perfect wheels, and with worse."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skm_sim.robots.obstacles import ObstacleMonitor, grown
from skm_sim.robots.path_follower import Chassis, ahead, follow, project, remaining
from skm_sim.robots.pose import REST, Limits, PoseTracker, Velocity, combined, inverse, moved
from skm_sim.robots.walls import Walls

LIMITS = Limits(speed=0.5, turn=2.0, acceleration=1.0, turn_acceleration=8.0)
PERIOD = 0.05
numbers = st.floats(-5, 5)
poses = st.tuples(numbers, numbers, st.floats(-math.pi, math.pi))
steps = st.lists(
    st.sampled_from([(0.25, 0), (0, 0.25), (-0.25, 0), (0, -0.25), (0.25, 0.25)]),
    min_size=2,
    max_size=12,
)


def path_of(moves):
    """Return a path along the centres of cells that never turns straight back."""
    points, last = [(0.0, 0.0)], None
    for right, up in moves:
        if last is not None and (right, up) == (-last[0], -last[1]):
            continue
        points.append((points[-1][0] + right, points[-1][1] + up))
        last = right, up
    return points


def driven(path, chassis, pose, seconds=60.0, slip=1.0):
    """Return the poses and commands of a robot with perfect wheels (or with slip) on a path."""
    poses_, commands, velocity = [pose], [], REST
    end = path[-1]
    for _ in range(round(seconds / PERIOD)):
        path = remaining(pose[:2], path)
        velocity = LIMITS.approach(velocity, follow(pose, path, chassis, LIMITS, 0.15), PERIOD)
        commands.append(velocity)
        axle = combined(pose, (-chassis.axle, 0.0, 0.0))
        axle = moved(axle, Velocity(velocity.speed, slip * velocity.turn), PERIOD)
        pose = combined(axle, (chassis.axle, 0.0, 0.0))
        poses_.append(pose)
        if math.dist(pose[:2], end) < 0.04:
            break
    return poses_, commands


@settings(max_examples=40)
@given(steps, st.floats(-math.pi, math.pi), st.sampled_from([Chassis(), Chassis(0.1)]))
def test_a_path_is_followed_to_its_end_and_never_left_by_far(moves, heading, chassis):
    path = path_of(moves)
    seen, commands = driven(path, chassis, (*path[0], heading))
    assert math.dist(seen[-1][:2], path[-1]) < 0.05
    strayed = [project(pose[:2], path).away for pose in seen]
    assert max(strayed) < 0.12 + 0.7 * chassis.axle  # it may have to turn on its wheels first
    for before, after in zip([REST, *commands], commands, strict=False):
        assert abs(after.speed) <= LIMITS.speed + 1e-9
        assert abs(after.turn) <= LIMITS.turn + 1e-9
        assert abs(after.speed - before.speed) <= LIMITS.acceleration * PERIOD + 1e-9
        assert abs(after.turn - before.turn) <= LIMITS.turn_acceleration * PERIOD + 1e-9


def test_a_straight_path_of_many_cells_is_driven_without_a_stop():
    path = [(0.25 * k, 0.0) for k in range(20)]
    _, commands = driven(path, Chassis(), (0.0, 0.0, 0.0))
    middle = [command.speed for command in commands[15:-20]]
    assert min(middle) > 0.95 * LIMITS.speed


def test_wheels_that_turn_half_as_far_as_asked_do_not_lose_the_path():
    path = path_of([(0.25, 0)] * 4 + [(0, 0.25)] * 4 + [(0.25, 0)] * 4)
    seen, _ = driven(path, Chassis(0.1), (0.0, 0.0, 0.0), slip=0.4)
    assert math.dist(seen[-1][:2], path[-1]) < 0.05
    assert max(project(pose[:2], path).away for pose in seen) < 0.1


def test_nothing_to_follow_is_no_motion():
    assert follow((1.0, 1.0, 0.3), [(1.0, 1.0)], Chassis(0.1), LIMITS, 0.2) == REST


def test_places_on_a_path():
    path = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]
    found = project((0.5, 0.2), path)
    assert (found.away, found.left, found.piece) == (pytest.approx(0.2), pytest.approx(1.5), 0)
    assert ahead(found, path, 0.75) == pytest.approx((1.0, 0.25))
    assert ahead(found, path, 9.0) == (1.0, 1.0)


@given(poses, poses)
def test_frames_are_undone_by_their_inverse(pose, frame):
    back = combined(inverse(frame), combined(frame, pose))
    assert back[:2] == pytest.approx(pose[:2], abs=1e-9)
    assert math.remainder(back[2] - pose[2], 2 * math.pi) == pytest.approx(0, abs=1e-9)


def test_a_pose_is_known_better_than_its_readings_and_between_them():
    random = np.random.default_rng(0)
    velocity, true = Velocity(0.4, 0.5), (0.0, 0.0, 3.0)
    tracker = PoseTracker(filter_gain=0.2, latency=0.05)
    errors, now = [], 0.0
    latency = []
    for number in range(400):
        true = moved(true, velocity, 0.02)
        latency.append(true)
        now += 0.02
        if number > 3 and random.random() > 0.1:
            x, y, heading = latency[-1 - round(0.05 / 0.02)]
            noise = random.normal(0, 0.02, 3)
            tracker.read((x + noise[0], y + noise[1], heading + noise[2]), velocity, now)
        if number > 100:
            errors.append(math.dist(tracker.at(now)[:2], true[:2]))
    assert np.sqrt(np.mean(np.square(errors))) < 0.7 * 0.02 * math.sqrt(2)


def test_a_robot_that_was_carried_is_believed():
    tracker = PoseTracker(filter_gain=0.1)
    tracker.read((0.0, 0.0, 0.0), REST, 0.0)
    tracker.read((3.0, 1.0, 2.0), REST, 0.1)
    assert tracker.at(0.1) == (3.0, 1.0, 2.0)


ANGLES = np.radians(np.arange(-90, 91))


def scan_of(walls, pose):
    """Return what a perfect laser at a pose sees."""
    return walls.distances(pose, ANGLES, 5.0)


def test_it_stops_before_what_is_not_on_the_map_and_not_for_walls_that_are():
    known = Walls(np.zeros((80, 80), bool), 0.05, (-2.0, -2.0, 0.0))
    known.solid[:, 60:62] = True  # a wall at x = 1.0
    watch = ObstacleMonitor(grown(known, 0.1), radius=0.2, margin=0.1)
    pose = (0.0, 0.0, 0.0)
    watch.look(pose, scan_of(known, pose), ANGLES, pose)
    assert watch.free_way == math.inf
    assert watch.speed(LIMITS) == LIMITS.speed
    watch.look(pose, scan_of(known.with_disc(0.6, 0.1, 0.1), pose), ANGLES, pose)
    assert 0.1 < watch.free_way < 0.25
    assert watch.speed(LIMITS) ** 2 / (2 * LIMITS.acceleration) <= watch.free_way + 1e-9
    watch.look(pose, scan_of(known.with_disc(0.35, 0.0, 0.1), pose), ANGLES, pose)
    assert watch.blocked
    assert watch.speed(LIMITS) == 0.0
    watch.look(pose, scan_of(known.with_disc(0.5, 0.6, 0.1), pose), ANGLES, pose)
    assert watch.free_way == math.inf, "what stands aside is not in the way"


def test_a_laser_beside_the_middle_sees_what_is_in_the_robots_way():
    walls, nowhere = Walls(np.zeros((80, 80), bool), 0.05, (-2.0, -2.0, 0.0)), (0.0, 0.0, 0.0)
    for turned in (0.0, 0.5):
        mount = (0.1, 0.5, turned)
        watch = ObstacleMonitor(None, radius=0.2, margin=0.1)
        watch.look(nowhere, scan_of(walls.with_disc(0.9, 0.5, 0.1), mount), ANGLES, mount)
        assert watch.free_way == math.inf, "ahead of the laser, and beside the robot"
        watch.look(nowhere, scan_of(walls.with_disc(0.9, 0.0, 0.1), mount), ANGLES, mount)
        assert 0.4 < watch.free_way < 0.6, "aside of the laser, and ahead of the robot"


def test_a_single_ray_and_rays_without_end_are_nothing():
    watch = ObstacleMonitor(None, radius=0.2)
    distances = np.full(len(ANGLES), np.inf)
    distances[90], distances[10], distances[170] = 0.3, np.nan, 0.0
    watch.look((0.0, 0.0, 0.0), distances, ANGLES, (0.0, 0.0, 0.0))
    assert watch.free_way == math.inf
