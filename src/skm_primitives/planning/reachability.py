"""What can be reached on the product of a mission's machine and a finite world, and in how many steps.

Whether a mission is feasible is a question about a graph. It is answered on the graph: a discounted
value γ^k is below any threshold for some k, so that no threshold on values can answer it. Three
solvers share the graph:

- `MissionGraph.possible`: from where a reward can be had, or rewards without end, by any run that has a
  positive probability. Breadth-first, backwards.
- `MissionGraph.lengths`: the optimum of a deterministic world. A value V is kept as its *length*
  D = log V / log γ, the number of steps of a way whose reward is 1: it neither underflows nor loses
  precision, however far a goal is. Lengths are settled backwards as in Dijkstra's algorithm
  (`settle`).
- `log_values`: the optimum of a world in which actions are stochastic. Values are kept as logarithms,
  and a machine state is solved after those that the machine leaves it for, so that a counter of
  5,000 states takes one pass.

A node is (machine state u, place, visit counter). An action leads to a place, that is to an *arrival*
(u, place, counter before it). The labels shown there move the machine: the arrival leads to a node,
with a reward. An arrival may be read from another machine state instead: one under a commitment that u
can make.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from skm_machine.automata.graphs import components
from skm_primitives.skills.known_skills import Predecessors, expand
from skm_sim.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from skm_primitives.planning.product import MissionProduct


NONE: Final = -1
MAX_SWEEPS: Final = 30
SETTLED: Final = 1e-6
"""The change of a length, in steps, that no longer counts."""
NEGLIGIBLE: Final = math.log(1e-14)
"""The logarithm of the share of a value that later rewards may add unseen."""
PRECISION: Final = 1e-12
"""Values are solved to this share of themselves, however small they are."""

Before = Callable[[IntArray], tuple[IntArray, IntArray, FloatArray]]
"""From some nodes: the nodes one unrewarded step earlier, which of the given ones each leads to, and the
length of that step."""


@dataclass(frozen=True, eq=False)
class Ways:
    """The best way from each node to its next reward."""

    length: FloatArray
    """Infinite where no reward can be had."""
    paid: IntArray
    """The arrival that the way is rewarded for; −1: none."""
    steps: IntArray
    """The steps before that arrival."""


def settle(
    nodes: int, rewarded: Iterable[tuple[IntArray, FloatArray, IntArray]], before: Before
) -> Ways:
    """Return the shortest ways, backwards from rewards, all whole steps at once as arrays.

    `rewarded` are the nodes that one step takes to a reward, the length of that way, and the arrival
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
        np.minimum.at(length, at, found)
        best = length[at] == found
        at = at[best]
        paid[at], steps[at] = pay[best], step[best]
        bucket = np.floor(length[at]).astype(np.int64)
        for number in np.unique(bucket).tolist():
            waiting.setdefault(number, []).append(at[bucket == number])

    for at, found, pay in rewarded:
        shorten(at, found, pay, np.zeros_like(pay))
    while waiting:
        number = min(waiting)
        at = np.concatenate(waiting.pop(number))
        at = np.unique(at[~settled[at] & (np.floor(length[at]) == number)])
        settled[at] = True
        if len(at):
            earlier, owner, added = before(at)
            ways = length[at][owner] + added
            shorten(earlier, ways, paid[at][owner], steps[at][owner] + 1)
    return Ways(length, paid, steps)


def followed_forever(
    ways: Ways, lands: IntArray, reward: FloatArray, log_gamma: float
) -> FloatArray:
    """Return how long ways are if each is followed by the way from where it ends, for ever.

    V(x) = γ^k (r + γ V(y)), k steps to the rewarded arrival and y = `lands` of it; by doubling, as
    logarithms.
    """
    known = ways.paid != NONE
    arrival = np.where(known, ways.paid, 0)
    following = np.where(known, lands[arrival], 0)
    share = np.where(known, (ways.steps + 1.0) * log_gamma, -np.inf)
    value = np.full(len(known), -np.inf)
    value[known] = ways.steps[known] * log_gamma + np.log(reward[arrival[known]])
    first = share.copy()
    while known.any() and (share[known] - first[known]).max() > NEGLIGIBLE:
        value = np.logaddexp(value, share + value[following])
        share, following = share + share[following], following[following]
    length: FloatArray = value / log_gamma
    return length


def rewarded_length(reward: FloatArray, continuation: FloatArray, log_gamma: float) -> FloatArray:
    """Return how long a way is that begins with a reward and goes on with the length `continuation`."""
    length: FloatArray = np.logaddexp(np.log(reward), continuation * log_gamma) / log_gamma
    return length


def solve_lengths(
    lands: Callable[[IntArray], IntArray],
    reward: Callable[[IntArray], FloatArray],
    sweep: Callable[[FloatArray], Ways],
    nodes: int,
    log_gamma: float,
) -> FloatArray:
    """Return the optimal length of every node, by sweeps with what lies behind rewards (Howard).

    `sweep` settles all ways, given the lengths behind rewards; `lands` and `reward` are those of
    arrivals. One sweep is enough where nothing can be had after a reward.
    """
    behind = np.full(nodes, np.inf)
    length = behind
    for _ in range(MAX_SWEEPS):
        ways = sweep(behind)
        length = ways.length
        known = ways.paid != NONE
        ends = np.unique(ways.paid[known])
        if not np.isfinite(length[lands(ends)]).any():
            break
        numbers = np.full(len(known), NONE)
        numbers[known] = np.searchsorted(ends, ways.paid[known])
        again = Ways(length, numbers, ways.steps)
        better = followed_forever(again, lands(ends), reward(ends), log_gamma)
        both = np.isfinite(better) & np.isfinite(behind)
        same = np.array_equal(np.isfinite(better), np.isfinite(behind))
        change = np.abs(better[both] - behind[both]).max(initial=0.0)
        behind = better
        if same and change < SETTLED:
            break
    return length


def reaching_rewards(
    paid: IntArray,
    lands: Callable[[IntArray], IntArray],
    sources: Callable[[IntArray], IntArray],
    before: Before,
    nodes: int,
    endless: bool,
) -> tuple[BoolArray, IntArray]:
    """Return the nodes from which a reward can be had, and the rewarded arrivals that count.

    If `endless`, rewards without end: arrivals count only if others that count can follow, which is
    the greatest fixed point. Then there is a lasso from each node that is returned.
    """
    while True:
        found = np.zeros(nodes, np.bool_)
        frontier = np.unique(sources(paid))
        while len(frontier):
            found[frontier] = True
            earlier = np.unique(before(frontier)[0])
            frontier = earlier[~found[earlier]]
        again = paid[found[lands(paid)]] if endless else paid
        if len(again) == len(paid):
            return found, paid
        paid = again


@dataclass(frozen=True, eq=False)
class Lengths:
    """How long the best way is, in steps: `[u, place, counter]`, infinite where there is none."""

    being: FloatArray
    """From being there."""
    direct: FloatArray
    """From arriving there, with no commitment made on arrival."""
    arriving: FloatArray
    """From arriving there, by the best choice of commitments."""


class MissionGraph:
    """The product of a machine and a world of places, as a graph that is walked backwards.

    Several products are one graph in which each step may be taken in any of them: the world under each
    choice of events, if events are on the robot's side.
    """

    def __init__(self, products: Sequence[MissionProduct]) -> None:
        first = products[0]
        self.shape: tuple[int, int, int] = first.reward.shape
        states, places, counters = self.shape
        self._nodes = states * places * counters
        place = np.arange(places)[:, None]
        self._lands: IntArray = np.concatenate(
            [((p.machine_state * places + place) * counters + p.counter).ravel() for p in products]
        )
        self._reward = np.concatenate([p.reward.ravel() for p in products])
        kept = np.concatenate([p.kept.ravel() for p in products])
        self._kept: BoolArray = kept
        silent = np.flatnonzero(kept & (self._reward <= 0))
        self._silent = silent[np.argsort(self._lands[silent], kind="stable")]
        counts = np.bincount(self._lands[silent], minlength=self._nodes)
        self._first_silent = np.concatenate([[0], np.cumsum(counts)])
        self._paid = np.flatnonzero(kept & (self._reward > 0))
        readers: list[list[int]] = [[state] for state in range(states)]
        for state, ways in first.commitments:
            for way in ways:
                readers[way].append(state)
        self._commitments = first.commitments
        self._readers = np.concatenate([np.array(row, np.int64) for row in readers])
        self._first_reader = np.concatenate([[0], np.cumsum([len(row) for row in readers])])
        world = first.world
        moves = None if world.chances is None else (world.chances.pair, world.chances.place)
        self._moves = Predecessors(world.successors, moves)
        self._actions = world.successors.shape[1]
        self._allowed = first.allowed

    def _sources(self, arrivals: IntArray) -> tuple[IntArray, IntArray]:
        """Return the nodes from which an action may lead to some arrivals, and to which of them."""
        _, places, counters = self.shape
        state, rest = np.divmod(arrivals % self._nodes, places * counters)
        place, counter = np.divmod(rest, counters)
        reader, read = expand(self._first_reader, self._readers, state)
        move, moved = self._moves.moves_to(place[read])
        owner = read[moved]
        source, action = np.divmod(move, self._actions)
        reader, counter = reader[moved], counter[owner]
        if self._allowed is not None:
            may = self._allowed[reader, source, action, counter]
            source, owner, reader, counter = source[may], owner[may], reader[may], counter[may]
        return (reader * places + source) * counters + counter, owner

    def _one_step_before(self, nodes: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        arrivals, landed = expand(self._first_silent, self._silent, nodes)
        sources, owner = self._sources(arrivals)
        return sources, landed[owner], np.ones(len(owner))

    def possible(self, endless: bool = False) -> BoolArray:
        """Return `[u, place, counter]`: whether some run from there has a reward, or rewards for ever.

        Where actions are stochastic: with a positive probability of each of its steps.
        """
        found, _ = reaching_rewards(
            self._paid,
            lambda arrivals: self._lands[arrivals],
            lambda arrivals: self._sources(arrivals)[0],
            self._one_step_before,
            self._nodes,
            endless,
        )
        return found.reshape(self.shape)

    def lengths(self, gamma: float) -> Lengths:
        """Return the optimal lengths, if each action leads where `world.successors` says."""
        log_gamma = math.log(gamma)
        sources, owner = self._sources(self._paid)

        def sweep(behind: FloatArray) -> Ways:
            continuation = behind[self._lands[self._paid]] + 1
            found = rewarded_length(self._reward[self._paid], continuation, log_gamma)
            seeds = [(sources, found[owner], self._paid[owner])]
            return settle(self._nodes, seeds, self._one_step_before)

        being = solve_lengths(
            lambda arrivals: self._lands[arrivals],
            lambda arrivals: self._reward[arrivals],
            sweep,
            self._nodes,
            log_gamma,
        )
        continuation = np.where(self._kept, being[self._lands] + 1, np.inf)
        continuation[self._paid] = rewarded_length(
            self._reward[self._paid], continuation[self._paid], log_gamma
        )
        direct = continuation.reshape(-1, *self.shape).min(axis=0)
        return Lengths(being.reshape(self.shape), direct, self._promising(direct))

    def _promising(self, direct: FloatArray) -> FloatArray:
        """Return the lengths from arriving if the best commitment, or none, is made there."""
        arriving = direct.copy()
        for state, ways in self._commitments:
            np.minimum(arriving[state], direct[list(ways)].min(axis=0), out=arriving[state])
        return arriving


def log_values(
    product: MissionProduct, gamma: float, slip: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log V of being at, of arriving at, and of arriving with no commitment made, at each node.

    For actions that are stochastic, and with `slip` random as often; rewards are at least 0. Value
    iteration, on one strongly connected component of the machine after the other.
    """
    being: FloatArray = np.full(product.reward.shape, -np.inf)
    direct, arriving = being.copy(), being.copy()
    ways = dict(product.commitments)
    targets = [
        [*np.unique(product.machine_state[state]).tolist(), *ways.get(state, ())]
        for state in range(len(being))
    ]
    place = np.arange(len(product.world.places))[:, None]
    with np.errstate(divide="ignore"):
        log_reward = np.log(product.reward)
    for rows in components(targets):
        cyclic = len(rows) > 1 or rows[0] in targets[rows[0]]
        while True:
            after = being[product.machine_state[rows], place, product.counter] + math.log(gamma)
            found = np.logaddexp(log_reward[rows], after)
            direct[rows] = np.where(product.kept[rows], found, -np.inf)
            arriving[rows] = direct[rows]
            for state in rows:
                for way in ways.get(state, ()):
                    np.maximum(arriving[state], direct[way], out=arriving[state])
            options = product.log_options(arriving[rows], rows)
            best = options.max(axis=2)
            if slip:
                best = np.logaddexp(math.log1p(-slip) + best, math.log(slip) + _log_mean(options))
            before = being[rows]
            being[rows] = best
            with np.errstate(invalid="ignore"):
                change = np.abs(best - before) > PRECISION * np.maximum(1.0, np.abs(best))
            if not cyclic or not change.any():
                break
    return being, arriving, direct


def _log_mean(options: FloatArray) -> FloatArray:
    """Return the logarithm of the mean over the third axis."""
    mean: FloatArray = np.logaddexp.reduce(np.moveaxis(options, 2, 0), axis=0)
    return mean - math.log(np.size(options, axis=2))
