"""Solvers on the product: the best lasso, the game against events, and the reaction to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from skm_machine.errors import UnsupportedMissionError
from skm_machine.events import Counterexample, subsets
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.product import MissionProduct, mission_product
from skm_primitives.planning.product_graph import FAR, ProductGraph
from skm_primitives.planning.reachability import MissionGraph
from skm_primitives.skills.values import PlaceWorld
from skm_sim.arrays import BoolArray, FloatArray, IntArray

# The best lasso in machine × places × visit counts: how a recurring mission is carried out.
#
# The best run of a recurring mission is a lasso: a way to a cycle that completes rounds, then that
# cycle for ever. Best is the cycle with the least mean number of steps a round; among the ways to
# such cycles, the one that loses the fewest rounds. Both at once are what policy iteration
# (Howard) finds with a discount so near to 1 that no difference between two lassos is smaller
# than what it hides. Rewards are rounds, so what fails the mission or breaks a commitment is worth
# nothing.


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


# The game against events where goals are places: what the robot may do without risking the
# mission.
#
# The robot chooses an action, then the events are chosen that hold where it arrives, then the
# robot decides on commitments. Two regions of machine × places × visit counts matter: from where the
# mission can be kept whatever happens, and from where it can at least be kept from failing. An
# action is *allowed* if it leaves neither, whatever happens; from where both are lost, any is.


MOST_EVENTS = 6

Node = tuple[int, int, int]
"""[u, place, counter]"""


@dataclass(frozen=True, eq=False)
class Hope:
    """What there is to hope for; arrays are indexed by [u, place, counter]."""

    region: BoolArray
    """From where the mission can be carried out with the help of events."""
    length: FloatArray
    """How long ways are from being there, in steps (`reachability`)."""
    arriving: FloatArray
    """How long they are from arriving there."""
    allowed: BoolArray | None


@dataclass(frozen=True, eq=False)
class EventGame:
    """The product under each choice of events, with what is won against all of them."""

    products: tuple[MissionProduct, ...]
    """The first is that of no event."""
    happenings: tuple[frozenset[str], ...]
    """The events of each product."""
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

    @property
    def quiet(self) -> MissionProduct:
        """The product of no event, with only the actions that are allowed."""
        return replace(self.products[0], allowed=self.allowed)

    @property
    def sure(self) -> MissionProduct:
        """The same, where no commitment is made that events can break, if the mission can be kept
        without.

        What leads out of where it can be kept is taken for a broken commitment.
        """
        quiet = self.quiet
        place = np.arange(self.kept.shape[1])[:, None]
        stays: BoolArray = self.kept[quiet.machine_state, place, quiet.counter]
        return replace(quiet, kept=quiet.kept & stays)

    def counterexample(self, start: Node, plan: IntArray) -> Counterexample:
        """Return how events defeat a robot that goes by a plan, from a node that is not kept.

        `plan[u, place, counter]` are its actions. As long as it can go on without an event, none
        happens; then they happen that keep it from winning, as few as can be.
        """
        steps: list[frozenset[str]] = []
        seen: dict[Node, int] = {}
        node = start
        while node not in seen and self.doom[node] > 0:
            seen[node] = len(steps)
            labels, node = self._spoiled(node, int(plan[node]))
            steps.append(labels)
        if self.doom[node] == 0:
            return Counterexample.told(steps)
        return Counterexample.told(steps[: seen[node]], steps[seen[node] :])

    def _spoiled(self, node: Node, action: int) -> tuple[frozenset[str], Node]:
        """Return what shows in the next step if events are against the robot, and where that leads."""
        state, place, counter = node
        first = self.products[0]
        reached = int(first.world.successors[place, action])
        ways = (state, *dict(first.commitments).get(state, ()))
        for events, product in zip(self.happenings, self.products, strict=True):
            readings = [
                way for way in ways if way == state or bool(product.kept[way, reached, counter])
            ]
            counted = int(product.counter[reached, counter])
            after = [
                (int(product.machine_state[way, reached, counter]), reached, counted)
                for way in readings
            ]
            if self.doom[node] < FAR:
                spoiled = all(self.doom[each] < self.doom[node] for each in after)
            else:
                again, won = next(
                    (a, w) for a, w in reversed(self.rounds) if a[node] and not w[node]
                )
                spoiled = not any(
                    product.kept[way, reached, counter]
                    and (won[each] or (product.reward[way, reached, counter] > 0 and again[each]))
                    for way, each in zip(readings, after, strict=True)
                )
            if spoiled:
                return first.labels[reached][counter] | events, after[0]
        raise AssertionError("a node that is not kept has an answer to every action")

    def hope(self, gamma: float, *, daring: bool = False) -> Hope:
        """Return where the mission can be carried out if events were to help, and how far that is.

        By the actions that are allowed, or by any. Where nothing can be done without an event, this
        says where to wait for it.
        """
        allowed = self.products[0].allowed if daring else self.allowed
        region = ProductGraph(self.products, allowed, every_chance=True).recurring()
        products = [replace(product, allowed=allowed) for product in self.products]
        lengths = MissionGraph(products).lengths(gamma)
        return Hope(region, lengths.being, lengths.arriving, allowed)


def event_game(machine: RewardMachine, world: PlaceWorld, events: Sequence[str]) -> EventGame:
    """Solve the game."""
    if len(events) > MOST_EVENTS:
        raise UnsupportedMissionError(
            f"the mission names {len(events)} events; at most {MOST_EVENTS} are planned against"
        )
    happenings = subsets(events)
    products = tuple(
        mission_product(machine, world, happening, always_paid=True) for happening in happenings
    )
    failed = np.array([state in machine.failure for state in range(machine.num_states)])
    ended = np.array([state in machine.terminal for state in range(machine.num_states)]) & ~failed
    alive = np.broadcast_to(~failed[:, None, None], products[0].reward.shape)
    done = np.broadcast_to(ended[:, None, None], alive.shape)
    graph = ProductGraph(products)
    doom = graph.doomed(~alive, done)
    safe = doom >= FAR
    kept, rounds = safe, []
    while True:
        again = kept
        kept = graph.reached(done, graph.paid(again), every=True)[0] < FAR
        if np.array_equal(kept, again):
            break
        rounds.append((again, kept))
    allowed = np.ones((*alive.shape[:2], world.successors.shape[1], alive.shape[2]), np.bool_)
    for region, counted in ((safe, None), (kept, kept)):
        leads = _arrivals(products, region, counted)[:, world.successors]
        allowed = np.where(region[:, :, None], leads, allowed)
    if world.tried is not None:
        allowed = allowed & world.tried[None, :, :, None]
    return EventGame(products, happenings, kept, safe, allowed, doom, tuple(rounds))


def _arrivals(
    products: Sequence[MissionProduct], good: BoolArray, rewarded: BoolArray | None
) -> BoolArray:
    """Return where arriving leads to `good`, or with a reward to `rewarded`, whatever happens.

    Where rewards count, what breaks a commitment leads nowhere.
    """
    every: BoolArray = np.ones(good.shape, np.bool_)
    for product in products:
        place = np.arange(good.shape[1])[:, None]
        after = product.machine_state, place, product.counter
        here: BoolArray = good[after]
        if rewarded is not None:
            here = np.logical_and(product.kept, here | ((product.reward > 0) & rewarded[after]))
        for state, ways in product.commitments:
            here[state] |= here[list(ways)].any(axis=0)
        np.logical_and(every, here, out=every)
    return every


# What is pending is done first: the shortest way back to where nothing is.


class Reaction:
    """From machine states in which an obligation is pending, the way to the quiescent ones, with no
    event."""

    def __init__(self, product: MissionProduct, machine: RewardMachine, usual: IntArray) -> None:
        """`usual` is the action of the plan: of equally short ways, the one that begins with it."""
        self._product = product
        self._usual = usual
        quiescent = np.array([state in machine.quiescent for state in range(machine.num_states)])
        self._quiescent = quiescent
        lost = np.array([state in machine.terminal for state in range(machine.num_states)])
        shape = product.reward.shape
        owing = np.broadcast_to(~(quiescent | lost)[:, None, None], shape)
        at_ease = np.broadcast_to(quiescent[:, None, None], shape)
        # No commitment is made on the way: `machine_state` reads an arrival as it is.
        graph = ProductGraph([replace(product, commitments=())], product.allowed)
        self._steps, self._arriving = graph.reached(at_ease, among=owing)

    @cached_property
    def actions(self) -> IntArray:
        """`[u, place, counter]`: what `decide` does; −1 where no obligation is pending, or helps."""
        options = self._arriving[:, self._product.world.successors]
        if self._product.allowed is not None:
            options = np.where(self._product.allowed, options, FAR)
        usual = np.take_along_axis(options, self._usual[:, :, None], axis=2)[:, :, 0]
        best = np.where(usual == options.min(axis=2), self._usual, options.argmin(axis=2))
        owing = ~self._quiescent[:, None, None] & (self._steps < FAR)
        actions: IntArray = np.where(owing, best, -1)
        return actions

    def steps(self, state: int, place: int, counter: int) -> int:
        """Return how many steps it takes until no obligation is pending; `FAR` if it cannot be done."""
        return int(self._steps[state, place, counter])

    def decide(self, state: int, place: int, counter: int) -> tuple[int, int, int] | None:
        """Return the action, the steps to go and where they end; None if no obligation is pending or
        helps.

        Where is the flat index `place * counters + counter` of that arrival.
        """
        if self._quiescent[state] or self.steps(state, place, counter) >= FAR:
            return None
        first = self._action(state, place, counter)
        steps = self.steps(state, place, counter)
        product, action = self._product, first
        while True:
            place = int(product.world.successors[place, action])
            arrival = place * product.reward.shape[2] + counter
            state = int(product.machine_state[state, place, counter])
            counter = int(product.counter[place, counter])
            if self._quiescent[state]:
                return first, steps, arrival
            action = self._action(state, place, counter)

    def _action(self, state: int, place: int, counter: int) -> int:
        options = self._arriving[state, self._product.world.successors[place], counter]
        if self._product.allowed is not None:
            options = np.where(self._product.allowed[state, place, :, counter], options, FAR)
        usual = int(self._usual[state, place, counter])
        return usual if options[usual] == options.min() else int(options.argmin())
