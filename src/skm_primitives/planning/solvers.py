"""Solvers on the product of a mission's machine and a finite world: reach, recurrence, game.

Whether a mission is feasible is a question about a graph, and it is answered on the graph: a discounted
value γ^k is below any threshold for some k, so that no threshold on values can answer it.

- **Reach**: `steps_to` finds in how many steps something can be reached or forced, breadth-first and
  backwards. `Lengths` is the optimum of a deterministic world. A value V is kept as its *length*
  D = log V / log γ, the number of steps of a way whose reward is 1: it neither underflows nor loses
  precision, however far a goal is. Lengths are settled backwards as in Dijkstra's algorithm (`settle`),
  so that the cost is in proportion to the nodes. `log_values` is the optimum of a stochastic world.
- **Recurrence**: `recurring` is from where rewards can be had without end, `best_lasso` the plan that
  has most of them in the long run.
- **Game**: `event_game` is what can be done, and kept from failing, whatever events happen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from skm_machine.automata.graphs import components
from skm_machine.errors import UnsupportedMissionError
from skm_machine.events import Counterexample, subsets
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.product import Node, Product, members, mission_product
from skm_sim.arrays import BoolArray, FloatArray, IntArray, distinct
from skm_sim.finite_world import FiniteWorld

NONE: Final = -1
FAR: Final = 1 << 30
"""More steps than any way has: there is none."""

# Reach: in how many steps, by which actions.


def steps_to(
    product: Product,
    won: BoolArray | None = None,
    paid: IntArray | None = None,
    among: BoolArray | None = None,
    *,
    every: bool = False,
    keep_commitments: bool = True,
    any_outcome: bool = False,
) -> tuple[IntArray, IntArray]:
    """Return in how many steps a node that is `won`, or a reading that is `paid`, can be reached.

    From being at a node, and from arriving there; `FAR` from where it cannot. With `every`, whatever
    events happen: then it is the number of steps at worst. Else events help. With `keep_commitments`,
    what breaks a commitment leads nowhere. Nodes that are not `among` lead nowhere either. With
    `any_outcome`, an action leads wherever it may; else where it leads as a rule: the first is for what
    can be reached at all, not for what can be forced.
    """
    size, choices = product.size, len(product.happenings)
    steps, arriving = np.full(size, FAR), np.full(size, FAR)
    answered: BoolArray = np.zeros(choices * size if every else 0, np.bool_)
    # Counts down the choices of events that have no answer yet: at 0 the arrival is forced
    # (attractor).
    unanswered = np.full(size if every else 0, choices)
    going_on = None if among is None else among.reshape(-1)
    nodes = np.empty(0, np.int64) if won is None else np.flatnonzero(won)
    steps[nodes] = 0
    rewarded = np.empty(0, np.int64) if paid is None else paid
    level = 0
    while len(nodes) or len(rewarded):
        level += 1
        readings = np.concatenate([product.before(nodes)[0], rewarded])
        rewarded = rewarded[:0]
        if keep_commitments:
            readings = readings[product.keeps(readings)]
        answers, _ = product.arrivals(readings)
        if every:
            # Several readings may answer the same choice of events; it counts once.
            answers = distinct(answers[~answered[answers]])
            answered[answers] = True
            found, count = np.unique(answers % size, return_counts=True)
            unanswered[found] -= count
            found = found[unanswered[found] == 0]
        else:
            found = answers % size
            found = distinct(found[arriving[found] == FAR])
        arriving[found] = level
        nodes, _ = product.sources(found, any_outcome=any_outcome)
        # Breadth first: the first level that a node is found in is its number of steps.
        nodes = distinct(nodes[steps[nodes] == FAR])
        if going_on is not None:
            nodes = nodes[going_on[nodes]]
        steps[nodes] = level
    return steps.reshape(product.shape), arriving.reshape(product.shape)


def paid_in(product: Product, region: BoolArray) -> IntArray:
    """Return the readings with a reward that lead to a region."""
    paid = product.paid
    return paid[region.reshape(-1)[product.lands(paid)]]


def possible(product: Product, *, endless: bool) -> BoolArray:
    """Return from where some run has a reward, or rewards forever, if chance and events help.

    Where actions are stochastic: with a positive probability of each of its steps. If `endless`, a
    reward counts only if others that count can follow, which is the greatest fixed point: then there is
    a lasso from each of these nodes.
    """
    paid = product.paid
    while True:
        found: BoolArray = np.zeros(product.size, np.bool_)
        frontier = product.sources(product.arrivals(paid)[0], any_outcome=True)[0]
        frontier = distinct(frontier)
        while len(frontier):
            found[frontier] = True
            earlier = distinct(product.one_step_before(frontier)[0])
            frontier = earlier[~found[earlier]]
        # Rewards after which none can follow are dropped until nothing changes: the greatest fixed
        # point.
        again = paid[found[product.lands(paid)]] if endless else paid
        if len(again) == len(paid):
            return found.reshape(product.shape)
        paid = again


def recurring(product: Product) -> BoolArray:
    """Return from where rewards can be had forever, if chance and events help."""
    return possible(product, endless=True)


def first_steps(
    product: Product,
    node: Node,
    steps: IntArray,
    arriving: IntArray,
    again: BoolArray | None = None,
) -> list[tuple[int, int, Node | None]]:
    """Return the first steps of the shortest ways from a node, as `steps_to` found them at random.

    Each is the place that it leads to, the number of the events that help, and the node after it; None
    for the last step, on a reading with a reward that leads to `again`; None where none counts.
    """
    state, place, counter = node
    world, outcomes = product.world, product.world.outcomes
    moves = place * world.actions + np.arange(world.actions)
    if product.allowed is not None:
        moves = moves[product.allowed[state, place, :, counter]]
    reached = outcomes.place[np.isin(outcomes.pair, moves)]
    found: list[tuple[int, int, Node | None]] = []
    for arrival in dict.fromkeys(reached.tolist()):
        if arriving[state, arrival, counter] != steps[node]:
            continue
        for event in range(len(product.happenings)):
            for way in product.ways(state):
                reading = event * product.size + product.reading(way, arrival, counter)
                kept = bool(product.keeps(reading))
                after = product.node(int(product.lands(reading)))
                if again is not None and kept and product.pays(reading) > 0 and again[after]:
                    if steps[node] == 1:
                        found.append((arrival, event, None))
                elif steps[after] == steps[node] - 1 and (kept or again is None):
                    found.append((arrival, event, after))
    return found


# The optimum of a deterministic world, as lengths.


MAX_SWEEPS: Final = 30
SETTLED: Final = 1e-6
"""The change of a length, in steps, that no longer counts."""
NEGLIGIBLE: Final = math.log(1e-14)
"""The logarithm of the share of a value that later rewards may add unseen."""

Before = Callable[[IntArray], tuple[IntArray, IntArray, FloatArray]]
"""From some nodes: the nodes one unrewarded step earlier, which of the given ones each leads to, and the
length of that step."""


@dataclass(frozen=True, eq=False)
class Ways:
    """The best way from each node to its next reward."""

    length: FloatArray
    """Infinite where no reward can be had."""
    paid: IntArray
    """The reading that the way is rewarded for; −1: none."""
    steps: IntArray
    """The steps before that arrival."""


def settle(
    nodes: int, rewarded: Iterable[tuple[IntArray, FloatArray, IntArray]], before: Before
) -> Ways:
    """Return the shortest ways, backwards from rewards, all whole steps at once as arrays.

    `rewarded` are the nodes that one step takes to a reward, the length of that way, and the reading
    that is rewarded. Every step is 1 long at least, so all nodes whose length lies between two whole
    numbers are settled together.
    """
    length = np.full(nodes, np.inf)
    paid = np.full(nodes, NONE)
    steps = np.zeros(nodes, np.int64)
    settled = np.zeros(nodes, np.bool_)
    waiting: dict[int, list[IntArray]] = {}

    def shorten(at: IntArray, found: FloatArray, pay: IntArray, step: IntArray) -> None:
        """Take ways that were found, and queue the nodes of which they are the shortest yet."""
        better = found < length[at]
        at, found, pay, step = at[better], found[better], pay[better], step[better]
        # `at` may name a node several times; plain indexing would keep the last of its values, not
        # the least.
        np.minimum.at(length, at, found)
        # Of equal ways the last one written counts; any of them is optimal.
        best = length[at] == found
        at = at[best]
        paid[at], steps[at] = pay[best], step[best]
        bucket = np.floor(length[at]).astype(np.int64)
        for number in distinct(bucket).tolist():
            waiting.setdefault(number, []).append(at[bucket == number])

    for at, found, pay in rewarded:
        shorten(at, found, pay, np.zeros_like(pay))
    while waiting:
        number = min(waiting)
        at = np.concatenate(waiting.pop(number))
        # A node is queued anew each time it gets shorter: stale entries are dropped here.
        at = distinct(at[~settled[at] & (np.floor(length[at]) == number)])
        settled[at] = True
        if len(at):
            earlier, owner, added = before(at)
            ways = length[at][owner] + added
            shorten(earlier, ways, paid[at][owner], steps[at][owner] + 1)
    return Ways(length, paid, steps)


class Lengths:
    """How long the best way is from each node, in steps, if each action leads where it may at best.

    Where a reward does not end the mission, its way leads on. Then sweeps are repeated, each with what
    the ways of the last one are worth if they are kept to forever (Howard's policy iteration). With
    `lasting`, only rewards count after which there can be others without end.
    """

    def __init__(self, product: Product, gamma: float, *, lasting: bool = False) -> None:
        self._product, self._log_gamma = product, math.log(gamma)
        self._lasting = recurring(product) if lasting else None
        self._paid = product.paid if self._lasting is None else paid_in(product, self._lasting)
        arrivals, read = product.arrivals(self._paid)
        self._sources, owner = product.sources(arrivals, any_outcome=True)
        self._owner = read[owner]
        self.being: FloatArray = self._solve()
        """From being at each node, by its number; infinite where there is no way."""

    def _solve(self) -> FloatArray:
        """Return the optimal lengths. One sweep is enough where nothing can be had after a reward."""
        product = self._product
        behind = np.full(product.size, np.inf)
        length = behind
        for _ in range(MAX_SWEEPS):
            found = self.from_readings(self._paid, behind)[self._owner]
            rewarded = [(self._sources, found, self._paid[self._owner])]
            ways = settle(product.size, rewarded, product.one_step_before)
            length = ways.length
            ends = distinct(ways.paid[ways.paid != NONE])
            lands = product.lands(ends)
            # Nothing can be had after any reward, so what lies behind it counts for nothing.
            if not np.isfinite(length[lands]).any():
                break
            better = self._followed_forever(ways, ends, lands)
            both = np.isfinite(better) & np.isfinite(behind)
            same = np.array_equal(np.isfinite(better), np.isfinite(behind))
            change = np.abs(better[both] - behind[both]).max(initial=0.0)
            behind = better
            # Infinite lengths have no difference, so the sets of finite ones are compared apart.
            if same and change < SETTLED:
                break
        return length

    def _followed_forever(self, ways: Ways, ends: IntArray, lands: IntArray) -> FloatArray:
        """Return how long ways are if each is followed by the way from where it ends, forever.

        V(x) = γ^k (r + γ V(y)), k steps to the rewarded arrival and y where that leads; by doubling, as
        logarithms.
        """
        known = ways.paid != NONE
        end = np.where(known, np.searchsorted(ends, ways.paid), 0)
        following = np.where(known, lands[end], 0)
        share = np.where(known, (ways.steps + 1.0) * self._log_gamma, -np.inf)
        value = np.full(len(known), -np.inf)
        reward = self._product.pays(ends)
        value[known] = ways.steps[known] * self._log_gamma + np.log(reward[end[known]])
        first = share.copy()
        while known.any() and (share[known] - first[known]).max() > NEGLIGIBLE:
            # Doubling: after n passes 2^n rewards are summed, until the share of the next is
            # negligible.
            value = np.logaddexp(value, share + value[following])
            share, following = share + share[following], following[following]
        length: FloatArray = value / self._log_gamma
        return length

    def from_readings(self, readings: IntArray, behind: FloatArray | None = None) -> FloatArray:
        """Return how long the way is from some readings on, that step included."""
        product = self._product
        lands, reward = product.read(readings)
        continuation: FloatArray = (self.being if behind is None else behind)[lands] + 1
        paid = reward > 0
        if paid.any():
            total = np.logaddexp(np.log(reward[paid]), continuation[paid] * self._log_gamma)
            continuation[paid] = total / self._log_gamma
            # A reward after which no other can follow is worth nothing to a recurring mission.
            if self._lasting is not None:
                continuation[paid & ~self._lasting.reshape(-1)[lands]] = np.inf
        if product.has_extra_lengths:
            continuation = continuation + product.added(readings)
        return (
            continuation
            if product.all_kept
            else np.where(product.keeps(readings), continuation, np.inf)
        )

    def direct(self, state: int, place: IntArray, counter: IntArray | int) -> FloatArray:
        """Return how long it is from arrivals that are read in `state`, if events help."""
        product = self._product
        readings = product.reading(state, place, counter)
        found = self.from_readings(readings)
        for event in range(1, len(product.happenings)):
            found = np.minimum(found, self.from_readings(event * product.size + readings))
        return found

    def arriving(self, state: int, place: IntArray, counter: IntArray | int) -> FloatArray:
        """Return how long it is from arrivals by the best choice of commitments."""
        ways = [self.direct(way, place, counter) for way in self._product.ways(state)]
        return ways[0] if len(ways) == 1 else np.min(ways, axis=0)


# The optimum where all actions of all nodes are looked at: stochastic worlds, rewards below 0.


CONVERGED: Final = 1e-12
"""The change of a value that no longer counts. It decides nothing else: feasibility is a graph's."""
PRECISION: Final = 1e-12
"""Values are solved to this share of themselves, however small they are."""


@dataclass(frozen=True, eq=False)
class Values:
    """What each [u, place, counter] is worth, as logarithms or as they are."""

    being: FloatArray
    arriving: FloatArray
    direct: FloatArray
    """Arriving with no commitment made."""
    logs: bool


def solve_values(product: Product, gamma: float, slip: float) -> Values:
    """Return the optimum by value iteration; with `slip`, a random action is taken that often.

    As logarithms, unless there are rewards below 0.
    """
    if (product.reward < 0).any():
        return _plain_values(product, gamma, slip)
    return _log_values(product, gamma, slip)


def options(product: Product, arriving: FloatArray) -> FloatArray:
    """Return the value of each action, `[u, place, action, counter]`: −1 if it is not allowed."""
    world = product.world
    found = (
        arriving[:, world.successors] if world.chances is None else world.chances.expected(arriving)
    )
    return found if product.allowed is None else np.where(product.allowed, found, -1.0)


def log_options(product: Product, arriving: FloatArray, rows: Sequence[int] | slice) -> FloatArray:
    """Return the same of logarithms, in some machine states: −∞ if it is not allowed."""
    world = product.world
    found = (
        arriving[:, world.successors]
        if world.chances is None
        else world.chances.log_expected(arriving)
    )
    return found if product.allowed is None else np.where(product.allowed[rows], found, -np.inf)


def arriving_directly(product: Product, value: FloatArray, gamma: float) -> FloatArray:
    """Return the value of arriving with no commitment made on arrival; nothing if one is broken."""
    dense = product.dense()
    after: FloatArray = dense.reward + gamma * value.reshape(-1)[dense.lands]
    if product.has_extra_lengths:
        after *= gamma ** product.extra[:, product.kind, None]
    return after if product.all_kept else np.where(dense.kept, after, 0.0)


def best_way(product: Product, direct: FloatArray) -> IntArray:
    """Return, for each arrival, the state to read it in: its own, or one under a commitment."""
    way = np.zeros(direct.shape, np.int64) + np.arange(len(direct))[:, None, None]
    for state, ways in product.commitments:
        candidates = np.array([state, *ways])
        way[state] = candidates[direct[candidates].argmax(axis=0)]
    return way


def _plain_values(product: Product, gamma: float, slip: float) -> Values:
    value = np.zeros(product.shape)
    while True:
        direct = arriving_directly(product, value, gamma)
        arriving = direct.copy()
        for state, ways in product.commitments:
            np.maximum(arriving[state], direct[list(ways)].max(axis=0), out=arriving[state])
        found = options(product, arriving)
        best = (1 - slip) * found.max(axis=2) + slip * found.mean(axis=2)
        if product.allowed is not None:
            best = np.where(product.allowed.any(axis=2), best, 0.0)
        change = float(np.abs(best - value).max(initial=0.0))
        value = best
        if change <= CONVERGED:
            return Values(value, arriving, arriving_directly(product, value, gamma), logs=False)


def _log_values(product: Product, gamma: float, slip: float) -> Values:
    """Solve one strongly connected component of the machine after the other, so that a counter of 5,000

    states takes one pass.
    """
    being: FloatArray = np.full(product.shape, -np.inf)
    direct, arriving = being.copy(), being.copy()
    dense = product.dense()
    per_state = product.shape[1] * product.shape[2]
    targets = [
        [*distinct(dense.lands[state] // per_state).tolist(), *product.ways(state)[1:]]
        for state in range(len(being))
    ]
    flat = being.reshape(-1)
    with np.errstate(divide="ignore"):
        log_reward = np.log(dense.reward)
    for rows in components(targets):
        cyclic = len(rows) > 1 or rows[0] in targets[rows[0]]
        while True:
            after = flat[dense.lands[rows]] + math.log(gamma)
            found = np.logaddexp(log_reward[rows], after)
            direct[rows] = np.where(dense.kept[rows], found, -np.inf)
            arriving[rows] = direct[rows]
            for state in rows:
                for way in product.ways(state)[1:]:
                    np.maximum(arriving[state], direct[way], out=arriving[state])
            choices = log_options(product, arriving[rows], rows)
            best = choices.max(axis=2)
            if slip:
                mean = np.logaddexp.reduce(np.moveaxis(choices, 2, 0), axis=0)
                mean = mean - math.log(np.size(choices, axis=2))
                best = np.logaddexp(math.log1p(-slip) + best, math.log(slip) + mean)
            before = being[rows]
            being[rows] = best
            with np.errstate(invalid="ignore"):
                change = np.abs(best - before) > PRECISION * np.maximum(1.0, np.abs(best))
            if not cyclic or not change.any():
                break
    return Values(being, arriving, direct, logs=True)


# Recurrence: the best lasso, a way to a cycle that completes rounds, then that cycle forever.
#
# Best is the cycle with the least mean number of steps a round; among the ways to such cycles, the
# one that loses the fewest rounds. Both at once are what policy iteration (Howard) finds with a
# discount so near to 1 that no difference between two lassos is smaller than what it hides. Rewards
# are rounds, so what fails the mission or breaks a commitment is worth nothing.


GAMMA: Final = 1 - 1e-7
BETTER: Final = 1e-6
"""A choice is changed for one that is better by more: rounding is less, real gains are more."""
NOTHING: Final = 1e-17


@dataclass(frozen=True, eq=False)
class Lasso:
    """What to do in each [u, place, counter], and what comes of it."""

    value: FloatArray
    """The value of being there: rounds forever, hardly discounted."""
    arriving: FloatArray
    """The value of arriving there."""
    achievable: BoolArray
    """Whether rounds can be completed forever from there."""
    gain: FloatArray
    """Rounds a step, in the long run."""
    action: IntArray
    way: IntArray
    """The machine state in which to read an arrival: another one under a commitment, or its own."""


def best_lasso(product: Product, gamma: float) -> Lasso:
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
        arriving = direct = arriving_directly(product, value, GAMMA)
        improved_way: BoolArray | None = None
        if product.commitments:
            better_way = best_way(product, direct)
            arriving = np.take_along_axis(direct, better_way, axis=0)
            improved_way = arriving > np.take_along_axis(direct, way, axis=0) + BETTER
        found = options(product, arriving)
        now = np.take_along_axis(found, action[:, :, None], axis=2)[:, :, 0]
        improved = found.max(axis=2) > now + BETTER
        changed = bool(improved.any()) or (improved_way is not None and bool(improved_way.any()))
        if product.world.chances is not None:
            plan = action.tobytes() + way.tobytes()
            changed = changed and plan not in seen
            seen.add(plan)
        if changed:
            way = way if improved_way is None else np.where(improved_way, better_way, way)
            action = np.where(improved, found.argmax(axis=2), action)
    gain = (1 - GAMMA) * value.reshape(-1)[last]
    return Lasso(value, arriving, recurring(product), gain, action, way)


def _first_plan(product: Product, gamma: float) -> tuple[IntArray, IntArray]:
    """Return the ways to read arrivals, and the actions, of the best plan under a discount."""
    if (product.reward < 0).any():
        values = solve_values(product, gamma, 0.0)
        return best_way(product, values.direct), options(product, values.arriving).argmax(axis=2)
    product.dense()  # or say that it is too large
    lengths = Lengths(product, gamma)
    direct = -lengths.from_readings(np.arange(product.size)).reshape(product.shape)
    way = best_way(product, direct)
    nearness = np.maximum(np.take_along_axis(direct, way, axis=0), np.finfo(np.float64).min)
    return way, log_options(product, nearness, slice(None)).argmax(axis=2)


def _evaluate(product: Product, action: IntArray, way: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the value of following a policy forever, and a node of the cycle that it ends in.

    A broken commitment leads nowhere, nor does an action that is not allowed: it follows upon itself.
    Each pass doubles the number of steps that are summed up.
    """
    dense = product.dense()
    u, place, counter = np.indices(product.shape)
    reached = product.world.successors[place, action]
    read = way[u, reached, counter], reached, counter
    kept = dense.kept[read]
    if product.allowed is not None:
        kept = kept & product.allowed[u, place, action, counter]
    here = np.arange(product.size).reshape(product.shape)
    node = np.where(kept, dense.lands[read], here).reshape(-1)
    value = np.where(kept, dense.reward[read], 0.0).reshape(-1)
    factor: FloatArray | float = GAMMA
    if product.has_extra_lengths:
        delay = GAMMA ** product.extra[read[0], product.kind[reached]].reshape(-1)
        value, factor = value * delay, GAMMA * delay
    # As above by doubling; γ^(2^n) is negligible after about 30 passes.
    while np.max(factor) > NOTHING:
        value = value + factor * value[node]
        factor = factor * (factor if isinstance(factor, float) else factor[node])
        node = node[node]
    return value.reshape(action.shape), node.reshape(action.shape)


# The game against events: what the robot may do without risking the mission.
#
# The robot chooses an action, then the events are chosen that hold where it arrives, then the robot
# decides on commitments. Two regions of the product matter: from where the mission can be kept whatever
# happens, and from where it can at least be kept from failing. An action is *allowed* if it leaves
# neither, whatever happens; from where both are lost, any is.


MOST_EVENTS: Final = 6


def doomed(product: Product, exempt: BoolArray | None = None) -> IntArray:
    """Return in how many steps at most events force failure, whatever is done; `FAR`: they cannot.

    Nodes that are `exempt` are never lost. Without events, it is what the robot cannot help itself.
    """
    states, places, counters = product.shape
    failed = np.repeat(members(states, product.machine.failure), places * counters)
    level = np.where(failed, 0, FAR)
    spared = np.zeros(product.size, np.bool_) if exempt is None else exempt.reshape(-1)
    hopes = None  # For each arrival under each choice of events, the readings that are not lost.
    if product.commitments:
        readings = np.array([len(product.ways(u)) for u in range(states)])
        hopes = np.tile(np.repeat(readings, places * counters), len(product.happenings))
    lost_arrival: BoolArray = np.zeros(product.size, np.bool_)
    choices = np.full(product.size, product.world.actions)
    # What is doomed is a fact about the world: the robot's own restrictions must not make it so.
    freely = product if product.allowed is None else replace(product, allowed=None)
    nodes, step = np.flatnonzero(failed), 0
    while len(nodes):
        step += 1
        answers, _ = product.arrivals(product.before(nodes)[0])
        if hopes is not None:
            answers, count = np.unique(answers, return_counts=True)
            hopes[answers] -= count
            answers = answers[hopes[answers] == 0]
        found = answers % product.size
        found = distinct(found[~(lost_arrival[found] | failed[found])])
        lost_arrival[found] = True
        nodes, count = np.unique(freely.sources(found, any_outcome=False)[0], return_counts=True)
        choices[nodes] -= count
        nodes = nodes[(choices[nodes] == 0) & (level[nodes] == FAR) & ~spared[nodes]]
        level[nodes] = step
    return level.reshape(product.shape)


def lost_arrivals(product: Product) -> BoolArray:
    """Return `[u, place, counter]`: the arrivals after which there is only failure, with no event."""
    lost: BoolArray = doomed(product).reshape(-1)[product.lands(np.arange(product.size))] < FAR
    return lost.reshape(product.shape)


@dataclass(frozen=True, eq=False)
class EventGame:
    """The product under every choice of events, with what is won against all of them."""

    product: Product
    kept: BoolArray
    """`[u, place, counter]`: whether the mission can be kept from there, whatever happens."""
    safe: BoolArray
    """Whether it can be kept from failing."""
    allowed: BoolArray
    """`[u, place, action, counter]`"""
    doom: IntArray
    """In how many steps at most events force failure; `FAR` where it is safe."""
    rounds: tuple[tuple[BoolArray, BoolArray], ...]
    """How `kept` was found: each time where it was to be again, and from where that can be forced."""
    forced: tuple[IntArray, IntArray]
    """`[u, place, counter]`: in how many steps at worst the next round can be forced, whatever happens;
    from being at a node, and from arriving there."""

    def forcing_action(self, node: Node) -> int:
        """Return what brings the next round nearer, whatever happens; for nodes that are `kept`."""
        state, place, counter = node
        ranks = self.forced[1][state, self.product.world.successors[place], counter]
        return int(np.where(self.allowed[state, place, :, counter], ranks, FAR).argmin())

    @cached_property
    def unrestricted(self) -> Product:
        """The product of no event, with all actions."""
        return without_events(self.product)

    @cached_property
    def quiet(self) -> Product:
        """The same, with only the actions that are allowed."""
        return replace(self.unrestricted, allowed=self.allowed)

    @cached_property
    def sure(self) -> Product:
        """The same without commitments that events can break.

        That is, if the mission can be kept without them. What leads out of where it can be kept is
        taken for a broken commitment.
        """
        stays: BoolArray = self.kept.reshape(-1)[self.quiet.dense().lands]
        return replace(self.quiet, barred=~stays)

    def counterexample(self, start: Node, plan: Callable[[Node], int]) -> Counterexample:
        """Return how events defeat a robot that goes by a plan, from a node that is not kept.

        As long as it can go on without an event, none happens; then they happen that keep it from
        winning, as few as can be.
        """
        steps: list[frozenset[str]] = []
        seen: dict[Node, int] = {}
        node = start
        while node not in seen and self.doom[node] > 0:
            seen[node] = len(steps)
            labels, node = self._spoiled(node, plan(node))
            steps.append(labels)
        if self.doom[node] == 0:
            return Counterexample.along(steps)
        return Counterexample.along(steps[: seen[node]], steps[seen[node] :])

    def _spoiled(self, node: Node, action: int) -> tuple[frozenset[str], Node]:
        """Return what shows in the next step if events are against the robot, and where that leads."""
        state, place, counter = node
        product = self.product
        reached = int(product.world.successors[place, action])
        ways = np.array(product.ways(state))
        for event, events in enumerate(product.happenings):
            readings = event * product.size + product.reading(ways, reached, counter)
            kept = product.keeps(readings)
            rewarded = product.pays(readings) > 0
            may = kept | (ways == state)
            after = [product.node(number) for number in product.lands(readings).tolist()]
            if self.doom[node] < FAR:
                spoiled = all(
                    self.doom[each] < self.doom[node]
                    for each, one in zip(after, may.tolist(), strict=True)
                    if one
                )
            else:
                again, won = next(
                    (a, w) for a, w in reversed(self.rounds) if a[node] and not w[node]
                )
                spoiled = not any(
                    keeps and (won[each] or (pays and again[each]))
                    for each, keeps, pays in zip(
                        after, kept.tolist(), rewarded.tolist(), strict=True
                    )
                )
            if spoiled:
                return product.labels(reached, counter) | events, after[0]
        raise AssertionError("a node that is not kept has an answer to every action")

    @cached_property
    def helped(self) -> Product:
        """The product of all events, as if they were to help, with only the actions that are allowed."""
        return replace(self.product, allowed=self.allowed)


def without_events(product: Product) -> Product:
    """Return the product of no event."""
    return replace(
        product,
        happenings=product.happenings[:1],
        target=product.target[:1],
        reward=product.reward[:1],
    )


def event_game(machine: RewardMachine, world: FiniteWorld, events: Sequence[str]) -> EventGame:
    """Solve the game."""
    if len(events) > MOST_EVENTS:
        raise UnsupportedMissionError(
            f"the mission names {len(events)} events; at most {MOST_EVENTS} are planned against"
        )
    product = mission_product(machine, world, subsets(events), always_paid=True)
    product.dense()  # or say that it is too large
    freely = replace(product, allowed=None)
    # A mission that was accepted cannot be lost any more, whatever its last state would read.
    ended = members(machine.num_states, machine.terminal - machine.failure)
    done = np.broadcast_to(ended[:, None, None], product.shape)
    doom = doomed(freely, done)
    safe = doom >= FAR
    kept, rounds = safe, []
    while True:
        again = kept
        forced = steps_to(freely, done, paid_in(freely, again), every=True)
        kept = forced[0] < FAR
        if np.array_equal(kept, again):
            break
        rounds.append((again, kept))
    shape = (*product.shape[:2], world.actions, product.shape[2])
    allowed: BoolArray = np.ones(shape, np.bool_)
    # From where the mission can be kept, actions must keep it; from where it is only safe, keep it
    # safe; else any will do.
    for region, counted in ((safe, None), (kept, kept)):
        leads = _arrivals(product, region, counted)[:, world.successors]
        allowed = np.where(region[:, :, None], leads, allowed)
    if world.tried is not None:
        # Where an action leads that the learner never tried is unknown.
        allowed = allowed & world.tried[None, :, :, None]
    return EventGame(product, kept, safe, allowed, doom, tuple(rounds), forced)


def _arrivals(product: Product, good: BoolArray, rewarded: BoolArray | None) -> BoolArray:
    """Return where arriving leads to `good`, or with a reward to `rewarded`, whatever happens.

    Where rewards count, what breaks a commitment leads nowhere.
    """
    every: BoolArray = np.ones(good.shape, np.bool_)
    for event in range(len(product.happenings)):
        dense = product.dense(event)
        here: BoolArray = good.reshape(-1)[dense.lands]
        if rewarded is not None:
            again = (dense.reward > 0) & rewarded.reshape(-1)[dense.lands]
            here = np.logical_and(dense.kept, here | again)
        for state, ways in product.commitments:
            here[state] |= here[list(ways)].any(axis=0)
        np.logical_and(every, here, out=every)
    return every


# What is pending is done first: the shortest way back to where nothing is.


class Reaction:
    """The way from machine states in which an obligation is pending to the quiescent ones.

    No event happens on it.
    """

    def __init__(self, product: Product, usual: IntArray) -> None:
        """`usual` is the action of the plan: of equally short ways, the one that begins with it."""
        # No commitment is made on the way: an arrival is read as it is.
        self._product = replace(product, commitments=())
        self._usual = usual
        machine = product.machine
        self._quiescent = members(machine.num_states, machine.quiescent)
        pending = ~(self._quiescent | members(machine.num_states, machine.terminal))
        at_ease, due = (
            np.broadcast_to(some[:, None, None], product.shape)
            for some in (self._quiescent, pending)
        )
        self._steps, self._arriving = steps_to(self._product, at_ease, among=due)

    def is_pending(self, node: Node) -> bool:
        """Tell whether an obligation is pending that can be done."""
        return not self._quiescent[node[0]] and self.steps(node) < FAR

    def steps(self, node: Node) -> int:
        """Return how many steps it takes until no obligation is pending; `FAR` if it cannot be done."""
        return int(self._steps[node])

    @property
    def pending(self) -> BoolArray:
        """`[u, place, counter]`: where an obligation is pending that can be done."""
        pending: BoolArray = ~self._quiescent[:, None, None] & (self._steps < FAR)
        return pending

    def decide(self, node: Node) -> tuple[int, int, tuple[int, int]]:
        """Return the action where an obligation is pending, the steps to go, and the arrival.

        The arrival is at the end of these steps.
        """
        first, steps = self.action(node), self.steps(node)
        product, action = self._product, first
        while True:
            state, place, counter = node
            arrival = int(product.world.successors[place, action]), counter
            node = product.node(int(product.lands(product.reading(state, *arrival))))
            if self._quiescent[node[0]]:
                return first, steps, arrival
            action = self.action(node)

    def action(self, node: Node) -> int:
        """Return what to do where an obligation is pending."""
        state, place, counter = node
        found = self._arriving[state, self._product.world.successors[place], counter]
        if self._product.allowed is not None:
            found = np.where(self._product.allowed[state, place, :, counter], found, FAR)
        # Of equally short ways the plan's own: a robot that alternates between two gets nowhere.
        usual = int(self._usual[node])
        return usual if found[usual] == found.min() else int(found.argmin())
