"""The best lasso in machine × places × visit counts: how a standing order is carried out.

The best run of a standing order is a lasso: a way to a cycle that completes rounds, then that cycle for
ever. Best is the cycle with the least mean number of steps a round; among the ways to such cycles, the
one that loses the fewest rounds. Both at once are what policy iteration (Howard) finds with a discount
so near to 1 that no difference between two lassos is smaller than what it hides. Rewards are rounds, so
what fails the mission or breaks a promise is worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_primitives.planning.mission_product import MissionProduct
from skm_primitives.planning.reachability import MissionGraph
from skm_sim.arrays import BoolArray, FloatArray, IntArray

GAMMA: Final = 1 - 1e-7
BETTER: Final = 1e-6
"""A choice is changed for one that is better by more: rounding is less, real gains are more."""
NOTHING: Final = 1e-17


@dataclass(frozen=True, eq=False)
class Lasso:
    """What to do in each [u, place, counter], and what comes of it."""

    value: FloatArray
    """The value of being there: rounds for ever, hardly discounted."""
    arriving: FloatArray
    """The value of arriving there."""
    achievable: BoolArray
    """Whether rounds can be completed for ever from there."""
    gain: FloatArray
    """Rounds a step, in the long run."""
    action: IntArray
    moves: IntArray
    """Steps until the machine moves next; −1 if it never does."""
    destination: IntArray
    """Where it does: the flat index `place * counters + counter` of that arrival; −1 if never."""


def best_lasso(product: MissionProduct, gamma: float) -> Lasso:
    """Solve the product, beginning with the best plan under the discount `gamma`.

    That plan goes to rewards from everywhere, however far they are, so that only what it does
    there is left to improve. Where actions slip, choices are improved by the mean over where they
    lead, but evaluated as if each led where it does as a rule: that need not end by itself, so a plan
    that comes again is kept.
    """
    way, action = _first_plan(product, gamma)
    seen: set[bytes] = set()
    changed = True
    while changed:
        value, last = _evaluate(product, action, way)
        direct = product.arriving_directly(value, GAMMA)
        better_way = product.best_way(direct)
        arriving = np.take_along_axis(direct, better_way, axis=0)
        improved_way = arriving > np.take_along_axis(direct, way, axis=0) + BETTER
        options = product.options(arriving)
        now = np.take_along_axis(options, action[:, :, None], axis=2)[:, :, 0]
        improved = options.max(axis=2) > now + BETTER
        changed = bool(improved.any() or improved_way.any())
        if product.world.chances is not None:
            plan = action.tobytes() + way.tobytes()
            changed = changed and plan not in seen
            seen.add(plan)
        if changed:
            way = np.where(improved_way, better_way, way)
            action = np.where(improved, options.argmax(axis=2), action)
    gain = (1 - GAMMA) * value.reshape(-1)[last]
    moves, destination = product.next_moves(action, way)
    achievable = MissionGraph([product]).possible(endless=True)
    return Lasso(value, arriving, achievable, gain, action, moves, destination)


def _first_plan(product: MissionProduct, gamma: float) -> tuple[IntArray, IntArray]:
    """Return the ways to read arrivals, and the actions, of the best plan under a discount."""
    if not product.positive:
        value, _ = product.solve(gamma)
        way = product.best_way(product.arriving_directly(value, gamma))
        return way, product.options(product.arriving(value, gamma)).argmax(axis=2)
    lengths = MissionGraph([product]).lengths(gamma)
    nearness = np.maximum(-lengths.arriving, np.finfo(np.float64).min)
    options = product.log_options(nearness, slice(None))
    return product.best_way(-lengths.direct), options.argmax(axis=2)


def _evaluate(
    product: MissionProduct, action: IntArray, way: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return the value of following a policy for ever, and a node of the cycle that it ends in.

    Each pass doubles the number of steps that are summed up.
    """
    following, reward = product.following(action, way)
    value, node, factor = reward.reshape(-1), following.reshape(-1), GAMMA
    while factor > NOTHING:
        value = value + factor * value[node]
        node = node[node]
        factor *= factor
    return value.reshape(action.shape), node.reshape(action.shape)
