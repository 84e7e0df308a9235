"""Legs as goals of a navigation stack.

Few, safe, tried again with limits, and given up with a reason.
"""

import math
from collections import deque
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import skm_sim.maps
from skm_sim.maps.building import make_building
from skm_sim.robots.blockages import Blockages
from skm_sim.robots.legs import Leg, LegPlanner
from skm_sim.robots.navigation import ANSWER_SECONDS, ATTEMPTS, BACKOFF, SETTLE, Navigation, Result

HALL = Path(skm_sim.maps.__file__).parent / "hall"
WET = frozenset({frozenset({"wet_floor"})})
START = (-3.9, 0.2)
TOLERANCE = 0.25


@pytest.fixture(scope="module")
def building():
    return make_building(HALL / "hall.yaml", HALL / "places.yaml")


def way(building, start, place, avoid=frozenset()):
    """Return the cells of a shortest way to a place, by breadth-first search."""
    floor, names = building.floor, building.places.names
    wanted = building.labels[:, names.index(place)]
    shut = np.zeros(floor.num_cells, bool)
    for labels in avoid:
        shut |= (building.labels == [name in labels for name in names]).all(axis=1)
    first = floor.cell_at(*start)
    before, queue = {first: first}, deque([first])
    while queue:
        cell = queue.popleft()
        if wanted[cell]:
            found = [cell]
            while found[-1] != first:
                found.append(before[found[-1]])
            return tuple(reversed(found))
        for after in floor.moves[cell].tolist():
            if after not in before and not shut[after]:
                before[after] = cell
                queue.append(after)
    raise AssertionError(place)


@pytest.mark.parametrize("place", ["kitchen", "coffee", "office", "lab", "dock", "store", "lobby"])
def test_a_leg_is_one_goal_where_arriving_anywhere_within_the_tolerance_counts(building, place):
    route = LegPlanner(building, TOLERANCE).route(Leg(way(building, START, place)), START)
    ((x, y, _),) = route.poses
    for angle in np.arange(0, math.tau, 0.3):
        for part in (0.5, 1.0):
            point = x + part * TOLERANCE * math.cos(angle), y + part * TOLERANCE * math.sin(angle)
            if building.floor.cell_at(*point) >= 0:
                assert place in building.places.labels_at(*point)


@pytest.mark.parametrize("place", ["office", "lab", "lobby", "dock"])
def test_straight_ways_between_the_bends_keep_from_what_is_to_be_avoided(building, place):
    planner = LegPlanner(building, TOLERANCE)
    route = planner.route(Leg(way(building, START, place, WET), WET), START)
    assert route.margin >= 0.2
    points = [START, *(pose[:2] for pose in route.poses)]
    for start, end in pairwise(points):
        straight = np.linspace(start, end, 100)
        assert not planner.is_forbidden(straight, WET).any()
    assert len(route.poses) < len(way(building, START, place, WET)) / 3


def stops_within(planner, start, poses, early):
    """Return where a robot that goes straight from goal to goal stops, so early before each."""
    points = [start]
    for x, y, _ in poses:
        length = math.dist(points[-1], (x, y))
        part = max(0.0, 1 - early / length)
        before = points[-1]
        points.append((before[0] + part * (x - before[0]), before[1] + part * (y - before[1])))
    return points


@pytest.mark.parametrize("angle", np.arange(0, math.tau, 0.7))
def test_after_an_arrival_that_did_not_count_the_way_leads_through_the_place(building, angle):
    """The dock is a circle of 0.5 m around (-7, -4): the robot stands at its edge, on any side."""
    planner, leg = LegPlanner(building, 0.5), Leg(way(building, START, "dock"))
    start = -7 + 0.52 * math.cos(angle), -4 + 0.52 * math.sin(angle)
    if building.floor.cell_at(*start) < 0:
        return
    wanted = planner._labels([leg.cells[-1]])[0]
    for attempt in (1, 2, 3):
        route = planner.route(leg, start, attempt)
        stops = stops_within(planner, start, route.poses, 0.5)
        track = np.concatenate([np.linspace(a, b, 50) for a, b in pairwise(stops)])
        assert planner.is_sure(track, wanted).any()


def test_a_place_without_room_for_the_tolerance_is_come_through_at_once(building):
    planner, leg = LegPlanner(building, 0.6), Leg(way(building, START, "dock"))
    route = planner.route(leg, START)
    assert route.narrow
    cells = building.floor.centres[list(leg.cells)]
    before = tuple(cells[np.hypot(*(cells - cells[-1]).T) > 0.75][-1])
    track = np.linspace(*stops_within(planner, before, route.poses, 0.6), 50)
    assert planner.is_sure(track, planner._labels([leg.cells[-1]])[0]).any()


class Stack:
    """A navigation stack by hand: keeps what it was sent."""

    def __init__(self, goes_through=True):
        self.sent, self.cancelled, self.goes_through, self.there = [], [], goes_through, True
        self.keeps_out, self.routes = False, []

    def forbid(self, route, avoid, place):
        self.routes.append((route, avoid, place))

    def send(self, number, poses):
        if self.there:
            self.sent.append((number, list(poses)))
        return self.there

    def cancel(self, number):
        self.cancelled.append(number)


@pytest.fixture
def stack():
    return Stack()


@pytest.fixture
def navigation(building, stack):
    blockages = Blockages(building.floor, 0.27, 60.0)
    made = Navigation(stack, LegPlanner(building, TOLERANCE), building.floor, blockages)
    made.blockages = blockages
    return made


POSE = (*START, 0.0)


def accepted(navigation, stack, now):
    navigation.drive(POSE, now)
    number = stack.sent[-1][0]
    navigation.on_answer(number, True, now)
    return number


def test_one_goal_is_sent_and_kept_while_the_leg_goes_on(building, navigation, stack):
    cells = way(building, START, "lab")
    navigation.take(Leg(cells, frozenset(), "lab"))
    accepted(navigation, stack, 0.0)
    for step in range(100):
        navigation.drive(POSE, 0.1 * step)
        navigation.take(Leg(cells[min(step, 10) :], frozenset(), "lab"))
    assert len(stack.sent) == 1
    assert not stack.cancelled
    navigation.take(Leg(way(building, START, "dock"), frozenset(), "dock"))
    navigation.drive(POSE, 11.0)
    assert len(stack.sent) == 2
    assert stack.cancelled == [stack.sent[0][0]]


@pytest.mark.parametrize("fault", ["abort", "refuse", "hang", "silent", "lie", "absent"])
def test_whatever_goes_wrong_is_tried_again_with_limits_then_given_up(
    building, navigation, stack, fault
):
    navigation.take(Leg(way(building, START, "lab"), frozenset(), "lab"))
    stack.there = fault != "absent"
    now, seen = 0.0, 0
    while not navigation.failure and now < 1000:
        navigation.drive(POSE, now)
        if len(stack.sent) > seen:
            seen = len(stack.sent)
            number = stack.sent[-1][0]
            if fault == "refuse":
                navigation.on_answer(number, False, now)
            elif fault != "silent":
                navigation.on_answer(number, True, now)
            if fault == "abort":
                navigation.on_result(number, Result(False, "error 105: stuck"), now)
            if fault == "lie":
                navigation.on_result(number, Result(True, ""), now)
        now += 0.2
    assert seen == (0 if fault == "absent" else ATTEMPTS)
    words = {
        "abort": "error 105: stuck",
        "refuse": "refused",
        "hang": "not moved for 30 s",
        "silent": f"not answered within {ANSWER_SECONDS:g} s",
        "lie": "said to have arrived",
        "absent": "nobody is there",
    }
    assert words[fault] in navigation.failure
    assert "to lab" in navigation.failure
    blocked = navigation.blockages.cells(now)
    assert blocked
    assert building.floor.cell_at(*START) not in blocked
    assert not navigation.blockages.cells(now + 61), "what is in the way may go away"


def test_a_stack_that_recovers_is_given_time_but_not_for_ever(building, navigation, stack):
    navigation.take(Leg(way(building, START, "lab"), frozenset(), "lab"))
    number = accepted(navigation, stack, 0.0)
    for recoveries in range(1, 7):
        navigation.on_feedback(number, 5.0, recoveries, 20.0 * recoveries)
        navigation.drive(POSE, 20.0 * recoveries + 19.0)
    assert not navigation.trouble
    assert navigation.all_recoveries == 6
    navigation.drive(POSE, 151.0)
    assert "not moved for 30 s" in navigation.trouble
    assert navigation.all_recoveries == 7, "to send it again is a recovery, too"


def test_a_goal_that_failed_once_is_done_at_the_second_try(building, navigation, stack):
    navigation.take(Leg(way(building, START, "lab"), frozenset(), "lab"))
    number = accepted(navigation, stack, 0.0)
    navigation.on_result(number, Result(False, "no"), 1.0)
    navigation.drive(POSE, 1.0 + BACKOFF / 2)
    assert len(stack.sent) == 1
    number = accepted(navigation, stack, 1.1 + BACKOFF)
    navigation.on_result(number, Result(True, ""), 9.0)
    navigation.drive(POSE, 9.0 + SETTLE / 2)
    navigation.take(Leg(way(building, START, "dock"), frozenset(), "dock"))
    assert not navigation.failure
    assert len(stack.sent) == 2


def test_results_of_goals_that_nobody_wants_any_more_change_nothing(building, navigation, stack):
    navigation.take(Leg(way(building, START, "lab"), frozenset(), "lab"))
    number = accepted(navigation, stack, 0.0)
    navigation.halt()
    assert stack.cancelled == [number]
    navigation.on_result(number, Result(False, "cancelled"), 1.0)
    assert not navigation.trouble
    navigation.drive(POSE, 2.0)
    assert len(stack.sent) == 2, "let go again, it goes on"


def test_a_stack_that_comes_near_what_must_be_avoided_is_stopped(building, navigation, stack):
    navigation.take(Leg(way(building, START, "office", WET), WET, "office"))
    number = accepted(navigation, stack, 0.0)
    navigation.drive((-1.85, -0.3, 0.0), 1.0)
    assert stack.cancelled == [number]
    assert "must be avoided" in navigation.trouble


def test_a_stack_that_backs_into_what_must_be_avoided_is_stopped(building, navigation, stack):
    """It begins close to it, as after a goal that was taken back: it may leave, but not go in."""
    navigation.take(Leg(way(building, START, "office", WET), WET, "office"))
    number, edge = 0, -1.2 - 0.55
    for tick in range(10):
        navigation.drive((edge - 0.06 - 0.02 * tick, -0.3, 0.0), 0.2 * tick)
        number = number or stack.sent[-1][0]
        navigation.on_answer(number, True, 0.2 * tick)
    assert not stack.cancelled
    for tick in range(10, 20):
        navigation.drive((edge - 0.26 + 0.03 * (tick - 10), -0.3, 0.0), 0.2 * tick)
        if stack.cancelled:
            break
    assert stack.cancelled == [number]
    assert edge - 0.26 + 0.03 * (tick - 10) < edge - 0.05
    assert "must be avoided" in navigation.trouble


def test_a_stack_that_keeps_out_by_itself_gets_a_mask_and_one_pose(building, navigation, stack):
    stack.keeps_out = True
    navigation.take(Leg(way(building, START, "lab", WET), WET, "lab"))
    navigation.drive(POSE, 0.0)
    ((_, poses),) = stack.sent
    assert len(poses) == 1
    (route, avoid, place) = stack.routes[0]
    mask = navigation.planner.mask(route, avoid, place)
    occupancy = building.occupancy
    assert mask.shape == occupancy.values.shape
    row, column = np.nonzero(mask)
    centres = occupancy.frame.to_frame((np.stack([column, row], 1) + 0.5) * occupancy.resolution)
    away = building.places.distances(centres)[:, building.places.names.index("wet_floor")]
    assert away.max() < 0.4, "not much more than what is to be avoided"
    inside = building.places.labels_of(building.floor.centres)
    wet = building.floor.centres[inside[:, building.places.names.index("wet_floor")]]
    cells = np.floor(occupancy.frame.to_inner(wet) / occupancy.resolution).astype(int)
    assert (mask[cells[:, 1], cells[:, 0]] == 100).all()


def test_a_stack_that_takes_one_pose_gets_them_one_by_one(building):
    stack = Stack(goes_through=False)
    navigation = Navigation(
        stack, LegPlanner(building, 0.25), building.floor, Blockages(building.floor, 0.27, 60.0)
    )
    navigation.take(Leg(way(building, START, "lab", WET), WET, "lab"))
    navigation.drive(POSE, 0.0)
    for step in range(1, 20):
        number, poses = stack.sent[-1]
        assert len(poses) == 1
        navigation.on_answer(number, True, 0.1 * step)
        navigation.on_result(number, Result(True, ""), 0.1 * step)
    route = LegPlanner(building, 0.25).route(Leg(way(building, START, "lab", WET), WET), START)
    assert [poses[0] for _, poses in stack.sent] == list(route.poses)
