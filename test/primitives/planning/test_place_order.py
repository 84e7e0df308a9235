"""Orders of places: measured by the best cell of each, and improved to the shortest."""

import time
from itertools import pairwise, permutations

import numpy as np
import pytest

from skm_primitives.planning.place_order import PlaceOrders


def drawn(seed, count, size=3):
    """Places of a few points in a square, and the ways between their points."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 100, (count, 1, 2)) + rng.uniform(-4, 4, (count, size, 2))
    points = points.reshape(-1, 2)
    ways = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    places = list(np.arange(count * size).reshape(count, size))
    return places, np.hypot(*points.T), ways


def by_hand(order, places, first, ways):
    """The length of an order, over all choices of a point of each place."""
    reached = first[places[order[0]]]
    for here, there in pairwise(order):
        reached = (reached[:, None] + ways[np.ix_(places[here], places[there])]).min(axis=0)
    return reached.min()


@pytest.mark.parametrize("seed", range(6))
def test_the_shortest_order_is_found_and_its_junctions_are_as_long(seed):
    places, first, ways = drawn(seed, 6)
    orders = PlaceOrders(places, first, ways, lambda order: True)
    shortest = min(by_hand(order, places, first, ways) for order in permutations(range(6)))
    found, length = orders.improved(range(6), time.thread_time() + 0.3)
    assert length == pytest.approx(shortest, rel=1e-4)
    chosen = orders.junctions(found)
    assert [junction // 3 for junction in chosen] == found
    legs = sum(ways[a, b] for a, b in pairwise(chosen))
    assert first[chosen[0]] + legs == pytest.approx(length, rel=1e-4)


def test_only_orders_that_work_are_taken():
    places, first, ways = drawn(1, 7)
    orders = PlaceOrders(places, first, ways, lambda order: order.index(3) < order.index(0))
    found, _ = orders.improved([3, 0, 1, 2, 4, 5, 6], time.thread_time() + 0.3)
    assert found.index(3) < found.index(0)


def test_of_large_places_the_junctions_between_them_count():
    places, first, ways = drawn(2, 12, size=200)
    orders = PlaceOrders(places, first, ways, lambda order: True)
    assert max(map(len, orders.places)) <= 12
    _, length = orders.improved(range(12), time.thread_time() + 0.5)
    assert length <= by_hand(range(12), places, first, ways)
