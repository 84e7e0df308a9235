"""The states that a robot enters on a map: what a mission is told, whatever way the robot takes."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skm_sim.maps.building import make_building
from skm_sim.maps.floor import make_floor
from skm_sim.maps.occupancy import Clearance, Frame, OccupancyMap
from skm_sim.maps.places import Circle, Places, rectangle
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES
from skm_sim.robots.drive import CellWalk, Drive, DriveConfig, Entered
from skm_sim.robots.path_follower import BEND, Chassis, ClearancePlanner, ahead, project
from skm_sim.robots.pose import Limits
from skm_sim.robots.simulated import AXLE, RADIUS, Car, SensorModel, SimulatedRobot
from skm_sim.robots.walls import Walls

PLACES = Places(
    {
        "dock": (Circle(1.0, 1.0, 0.4),),
        "desk": (rectangle(2.5, 0.9, 3.2, 2.1), Circle(1.1, 3.1, 0.3)),
        "wet": (Circle(2.53, 1.98, 0.42),),
    }
)


def hall():
    """Return a map of 4 m by 4 m with walls around it and one across a part of it."""
    values = np.zeros((80, 80), np.int8)
    values[0] = values[-1] = values[:, 0] = values[:, -1] = 100
    values[40, 20:40] = 100
    return OccupancyMap(values, 0.05, Frame(0.0, 0.0))


MAP = hall()
FLOOR = make_floor(MAP, PLACES, cell=0.25, radius=RADIUS, neighbours=8)
WAYS = ClearancePlanner(FLOOR, PLACES, ["wet"], margin=0.08, walls=(MAP, RADIUS))
CLEAR = [  # cells whose labels hold a little around their centre, too
    len({PLACES.labels_at(x + dx, y + dy) for dx in (-0.02, 0, 0.02) for dy in (-0.02, 0, 0.02)})
    == 1
    for x, y in FLOOR.centres
]


def plain(here, there):
    """Tell whether a move shows nothing but the labels of its ends, once each."""
    points = [WAYS.through(here), *WAYS.way(here, there)]
    sets = [PLACES.label_sets_along(*a, *b) for a, b in pairwise(points)]
    shown = [labels for way in sets for labels in way]
    return len([one for one, other in pairwise(shown) if one != other]) <= 1


def route(start, steps, random):
    """Return cells and actions of a way that a planner could take: no bumps, no turning back."""
    cells, actions = [start], []
    while len(actions) < steps:
        moves = enumerate(FLOOR.moves[cells[-1]].tolist())
        options = [a for a, c in moves if c not in cells[-3:] and CLEAR[c] and plain(cells[-1], c)]
        if not options:
            break
        keep = [a for a in options if actions and a == actions[-1] and random.random() < 0.7]
        actions.append(int(random.choice(keep or options)))
        cells.append(int(FLOOR.moves[cells[-1], actions[-1]]))
    return cells, actions


def states_of(cells):
    """Return what the simulated domain would show on the way."""
    return [Entered(c, PLACES.labels_at(*FLOOR.centres[c])) for c in cells]


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.6]))
def test_a_robot_on_the_centres_of_cells_enters_the_states_of_the_domain(seed, horizon):
    random = np.random.default_rng(seed)
    cells, actions = route(int(random.choice(np.flatnonzero(CLEAR))), 20, random)
    walk = CellWalk(FLOOR, PLACES, WAYS, horizon=horizon)
    x, y = WAYS.through(cells[0])
    seen = [walk.begin(x, y)]
    todo = list(actions)
    for _ in range(1000):
        if walk.cell == cells[len(seen) - 1] and todo and len(actions) - len(todo) == len(seen) - 1:
            walk.take(todo.pop(0))
        x, y = ahead(project((x, y), walk.path), walk.path, 0.02)
        seen += walk.pass_to(x, y)
        if walk.cell == cells[-1] and not todo and (x, y) == walk.path[-1]:
            break
    assert seen == states_of(cells)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_no_label_on_any_way_is_missed_or_made_up(seed):
    random = np.random.default_rng(seed)
    walk = CellWalk(FLOOR, PLACES, WAYS, horizon=0.5)
    place = FLOOR.centres[random.integers(FLOOR.num_cells)]
    labels = [walk.begin(*place).labels]
    truth = [PLACES.labels_at(*place)]
    for _ in range(30):
        if random.random() < 0.5:
            walk.take(int(random.integers(8)))
        drive = np.clip(random.normal(0, 0.15, 2), -0.35, 0.35)  # shorter than a leap
        there = np.clip(place + drive, 0.2, 3.8)
        points = place + np.linspace(0, 1, 400)[:, None] * (there - place)
        for row in PLACES.labels_of(points).tolist():
            now = frozenset(name for name, true in zip(PLACES.names, row, strict=True) if true)
            truth += [now] if now != truth[-1] else []
        place = there
        for entered in walk.pass_to(*place):
            labels += [entered.labels] if entered.labels != labels[-1] else []
    # Nothing that dense points find is missing, in their order; slivers between them may be more.
    rest = iter(labels)
    assert all(any(one == other for other in rest) for one in truth)


def test_a_robot_that_is_put_elsewhere_has_not_driven_there():
    walk = CellWalk(FLOOR, PLACES, WAYS, horizon=0.5)
    walk.begin(1.6, 1.98)
    entered = walk.pass_to(3.3, 1.98)  # on the other side of what is wet
    assert [state.labels for state in entered] == [PLACES.labels_at(3.3, 1.98)]


def test_a_robot_that_begins_anew_keeps_its_distance_at_once():
    wet = PLACES.names.index("wet")
    for cell, moves in enumerate(FLOOR.moves):
        walk = CellWalk(FLOOR, PLACES, WAYS, horizon=0.5)
        x, y = FLOOR.centres[cell] + (0.1, -0.1)
        walk.begin(x, y)
        for action, there in enumerate(moves):
            labels = PLACES.labels_at(x, y) | PLACES.labels_at(*WAYS.through(there))
            if there == cell or "wet" in labels | PLACES.labels_at(*WAYS.through(cell)):
                continue
            walk.begin(x, y)
            walk.take(action)
            points = [
                a + part * (b - a)
                for a, b in pairwise(np.array(walk.path))
                for part in np.linspace(0, 1, 9)[:, None]
            ]
            least = PLACES.distances(np.array(points))[:, wet].min()
            assert least > min(0.05, PLACES.distances(np.array([[x, y]]))[0, wet] - 0.01)


def test_a_place_is_not_reached_before_the_robot_is_in_it():
    walk = CellWalk(FLOOR, PLACES, WAYS, horizon=0.6)
    x, y = FLOOR.centres[FLOOR.cell_at(1.9, 1.1)]
    walk.begin(x, y)
    while "dock" not in walk.labels:
        walk.take(2)
        x -= 0.01
        entered = walk.pass_to(x, y)
        assert all(("dock" in e.labels) == (math.dist((x, y), (1, 1)) <= 0.4) for e in entered)
    assert math.dist((x, y), (1, 1)) == pytest.approx(0.4, abs=0.011)


def test_ahead_of_the_robot_by_the_horizon_and_no_more():
    walk = CellWalk(FLOOR, Places({}), ClearancePlanner(FLOOR, Places({})), horizon=0.5)
    start = FLOOR.cell_at(0.4, 3.6)
    x, y = FLOOR.centres[start]
    walk.begin(x, y)
    lead = []
    for _ in range(150):
        walk.take(0)
        walk.pass_to(x, y)
        lead.append(float(FLOOR.centres[walk.cell][0] - x))
        x += 0.01
    assert max(lead) <= 0.5 + BEND
    assert min(lead[10:]) > 0.24


def test_ways_keep_their_distance_from_what_is_forbidden():
    wet = PLACES.names.index("wet")
    closest, points = [], []
    for cell, moves in enumerate(FLOOR.moves):
        for there in {int(c) for c in moves} - {cell}:
            way = [WAYS.through(cell), *WAYS.way(cell, there)]
            labels = [PLACES.labels_at(*point) for point in (way[0], way[-1])]
            assert labels[0] == PLACES.labels_at(*FLOOR.centres[cell])
            if "wet" in labels[0] | labels[1]:
                continue
            for a, b in pairwise(np.array(way)):
                points = a + np.linspace(0, 1, 20)[:, None] * (b - a)
                closest.append(PLACES.distances(points)[:, wet].min())
    straight = PLACES.distances(FLOOR.centres)[:, wet]
    assert straight[straight > 0].min() < 0.03, "there is something to keep away from"
    assert min(closest) > 0.06


def test_points_to_go_through_keep_some_room_to_walls():
    building = make_building(EXAMPLE_MAP, EXAMPLE_PLACES)
    places, radius = building.places, building.file.robot_radius
    walls = building.occupancy, radius
    ways = ClearancePlanner(building.floor, places, ["wet_floor"], margin=0.1, walls=walls)
    clearance = Clearance(building.occupancy, radius + 0.2)
    close = np.flatnonzero(~clearance.at_least(building.floor.centres, radius + 0.04))[::5]
    assert len(close) > 10
    centres = building.floor.centres[close]
    points = np.array([ways.through(cell) for cell in close])
    assert clearance.at_least(points, radius).all()
    assert clearance.at_least(points, radius + 0.04).mean() > 0.9
    assert (places.labels_of(points) >= places.labels_of(centres)).all()


WALLS = Walls(MAP.values > 50, MAP.resolution)
LIMITS = Limits(speed=0.4, turn=3.0)


def test_the_car_goes_a_planned_way_with_noise_delays_and_losses():
    random = np.random.default_rng(5)
    cells, actions = route(FLOOR.cell_at(0.6, 3.4), 40, random)
    x, y = FLOOR.centres[cells[0]]
    car = Car(WALLS, (x, y, 2.0))
    walk = CellWalk(FLOOR, PLACES, WAYS, horizon=0.5)
    drive = Drive(walk, Chassis(AXLE, RADIUS), LIMITS, DriveConfig(latency=0.02), None)
    poses = []
    simulated = SimulatedRobot(car, drive, SensorModel(), 0, poses.append)
    while not drive.tracker.known:
        simulated.period(0.05, go=False)
    at = 0
    for _ in range(2000):
        at = at + 1 if at < len(actions) and walk.cell == cells[at + 1] else at
        if at == len(actions):
            break
        assert walk.cell == cells[at]
        walk.take(actions[at])
        simulated.period(0.05, go=True)
    assert at == len(actions)
    planned = sum(math.dist(FLOOR.centres[a], FLOOR.centres[b]) for a, b in pairwise(cells))
    driven = sum(math.dist(a[:2], b[:2]) for a, b in pairwise(poses))
    assert driven < 1.15 * planned
    rest = [simulated.period(0.05, go=False) for _ in range(20)]
    still = poses[-20:]
    assert max(math.dist(p[:2], still[-1][:2]) for p in still) < 0.01
    x, y, _ = car.pose
    assert walk.cell in (FLOOR.cell_at(x, y), *FLOOR.moves[FLOOR.cell_at(x, y)]), rest
