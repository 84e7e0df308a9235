"""A robot on its way never stands still without a word: it drives, turns, or says what is in its way."""

import math

import numpy as np
import pytest

from doubles.nav2_model import Grid, Pose, World
from skm_sim.maps.building import make_building
from skm_sim.maps.floor import NO_CELL
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES
from skm_sim.robots.drive import DriveConfig, drive_in
from skm_sim.robots.obstacles import ObstacleMonitor
from skm_sim.robots.path_follower import END, Chassis
from skm_sim.robots.pose import REST, Limits, moved
from skm_sim.robots.walls import walls_of

PERIOD, RADIUS = 0.05, 0.3
START = (-3.9, 0.2, 0.0)
ANGLES = np.linspace(-math.pi, math.pi, 181)


@pytest.fixture(scope="module")
def building():
    return make_building(EXAMPLE_MAP, EXAMPLE_PLACES)


def scan_of(pose, disc):
    """Return how far each ray goes before it meets a disc; infinite if it does not."""
    x, y, heading = pose
    along = np.cos(ANGLES + heading) * (disc[0] - x) + np.sin(ANGLES + heading) * (disc[1] - y)
    aside = np.cos(ANGLES + heading) * (disc[1] - y) - np.sin(ANGLES + heading) * (disc[0] - x)
    inside = np.maximum(RADIUS**2 - aside**2, 0.0)
    return np.where((np.abs(aside) < RADIUS) & (along > 0), along - np.sqrt(inside), np.inf)


@pytest.mark.parametrize("seed", range(40))
def test_it_drives_turns_or_says_what_is_in_the_way(building, seed):
    random = np.random.default_rng(seed)
    chassis, config = Chassis(0.0, 0.2), DriveConfig(PERIOD, filter_gain=1.0)
    drive = drive_in(building, chassis, Limits(), config)
    drive.obstacles = ObstacleMonitor(None, chassis.radius)  # nothing but the disc is seen
    disc = START[0] + random.uniform(0.5, 0.9), START[1] + random.uniform(-0.7, 0.7)
    pose, now, still = START, 0.0, 0
    drive.read(pose, REST, now)
    drive.begin(now)
    action = int(random.integers(building.floor.moves.shape[1] - 1))
    drive.take(action, now)
    for _ in range(200):
        now += PERIOD
        drive.scan(scan_of(pose, disc), ANGLES, now)
        command = drive.velocity(now)
        pose = moved(pose, command, PERIOD)
        drive.read(pose, command, now)
        drive.states(now, resting=False)
        arrived = math.dist(pose[:2], drive.walk.path[-1]) < END
        assert math.dist(pose[:2], disc) > RADIUS + chassis.radius
        idle = abs(command.speed) < 1e-3 and abs(command.turn) < 1e-3
        still = still + 1 if idle and not arrived and not drive.obstructed(now) else 0
        assert still < 10, (pose, disc, action)


@pytest.mark.parametrize("heading", [2.18, 2.7, -2.76, 0.6])
def test_beside_a_wall_it_turns_to_where_its_path_leads(building, heading):
    """It stood so after a wrong pose: at a corner of the map, and commanded nothing for ever."""
    walls = walls_of(building.occupancy)
    chassis, config = Chassis(0.0, 0.22), DriveConfig(PERIOD, filter_gain=1.0)
    drive = drive_in(building, chassis, Limits(), config)
    pose, now = (-7.65, -4.64, heading), 0.0
    drive.read(pose, REST, now)
    start = drive.begin(now)
    up = int((building.floor.centres[building.floor.moves[start.value]][:, 1]).argmax())
    turned = False
    for _ in range(400):
        now += PERIOD
        drive.scan(walls.distances(pose, ANGLES, 12.0), ANGLES, now)
        assert not drive.obstructed(now), "there is nothing but the map's walls"
        turned = turned or drive.obstacles.touching
        assert not drive.obstacles.touching or drive.trouble
        drive.take(up, now)
        command = drive.velocity(now)
        pose = moved(pose, command, PERIOD)
        drive.read(pose, command, now)
        drive.states(now, resting=False)
        if pose[1] > START[1] - 4.0:
            break
    assert pose[1] > START[1] - 4.0, pose
    assert turned or abs(heading) < 1
    assert not drive.trouble


@pytest.mark.parametrize(
    ("start", "off"),
    [
        ((-7.625, -4.625, -3.0), (0.018, 0.008)),
        ((-1.875, -4.625, -1.94), (-0.022, -0.007)),
        ((-4.875, 4.625, 1.62), (-0.022, -0.007)),
        ((6.375, -4.625, -0.09), (-0.022, -0.007)),
    ],
)
@pytest.mark.parametrize("way", ["up", "right", "left", "down"])
def test_a_robot_with_5_mm_to_a_wall_leaves_without_grazing_it(building, start, off, way):
    """Its pose errs by more than that: it turns until the way ahead is clear, and goes then."""
    occupancy, chassis = building.occupancy, Chassis(0.0, 0.22)
    values = np.where(occupancy.free, 0, 100).astype(np.int8)
    frame = occupancy.frame
    world = World(Grid(values, occupancy.resolution, frame.x, frame.y), chassis.radius)
    assert 0 < world.clearance(*start[:2]) < 0.006
    drive = drive_in(building, chassis, Limits(), DriveConfig(PERIOD, filter_gain=1.0))
    pose, now = start, 0.0
    towards = {"up": (0, 1), "right": (1, 0), "left": (-1, 0), "down": (0, -1)}[way]
    for _ in range(160):
        now += PERIOD
        drive.read((pose[0] + off[0], pose[1] + off[1], pose[2]), REST, now)
        entered = drive.states(now, resting=False)
        drive.scan(world.scan(Pose(*pose), ANGLES, 12.0), ANGLES, now)
        if entered:
            moves = building.floor.moves[entered[-1].value]
            gains = (building.floor.centres[moves] @ np.array(towards)).round(6)
            drive.take(int(gains.argmax()), now)
        pose = moved(pose, drive.velocity(now), PERIOD)
        assert world.clearance(*pose[:2]) > 0, pose
    if (
        building.floor.cell_at(start[0] + 0.75 * towards[0], start[1] + 0.75 * towards[1])
        != NO_CELL
    ):
        assert np.subtract(pose[:2], start[:2]) @ np.array(towards) > 0.5, "it gets there, too"


@pytest.mark.parametrize(("aside", "counts"), [(0.23, True), (0.25, False)])
def test_a_post_a_centimetre_beside_the_way_counts(aside, counts):
    """Rays are a centimetre apart there, and err: such a post was touched."""
    monitor = ObstacleMonitor(None, 0.22)
    posts = np.array([[0.4, aside], [0.4, aside + 0.005]])
    angles = np.arctan2(posts[:, 1], posts[:, 0])
    monitor.look((0.0, 0.0, 0.0), np.hypot(*posts.T), angles, (0.0, 0.0, 0.0))
    assert (monitor.way((0.0, 0.0, 0.0)) < 0.4) == counts
    assert monitor.way((0.0, 0.0, -0.2)) > 0.4, "it may turn away"
