"""The game against events where goals are places: what the robot may do without risking the mission.

The robot chooses an action, then the events are chosen that hold where it arrives, then the robot
decides on promises. Two regions of machine × places × visit counts matter: from where the mission can be
kept
whatever happens, and from where it can at least be kept from failing. An action is *allowed* if it
leaves neither, whatever happens; from where both are lost, any is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skm_machine.errors import UnsupportedMissionError
from skm_machine.event_game import Story, subsets
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.mission_product import MissionProduct, mission_product
from skm_primitives.planning.product_graph import FAR, ProductGraph
from skm_primitives.planning.reachability import MissionGraph
from skm_primitives.primitives import PlaceWorld
from skm_sim.arrays import BoolArray, FloatArray, IntArray

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
        """The same, where no promise is made that events can break, if the mission can be kept without.

        What leads out of where it can be kept is taken for a broken promise.
        """
        quiet = self.quiet
        place = np.arange(self.kept.shape[1])[:, None]
        stays: BoolArray = self.kept[quiet.machine_state, place, quiet.counter]
        return replace(quiet, kept=quiet.kept & stays)

    def story(self, start: Node, plan: IntArray) -> Story:
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
            return Story.told(steps)
        return Story.told(steps[: seen[node]], steps[seen[node] :])

    def _spoiled(self, node: Node, action: int) -> tuple[frozenset[str], Node]:
        """Return what shows in the next step if events are against the robot, and where that leads."""
        state, place, counter = node
        first = self.products[0]
        reached = int(first.world.successors[place, action])
        ways = (state, *dict(first.promises).get(state, ()))
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

    Where rewards count, what breaks a promise leads nowhere.
    """
    every: BoolArray = np.ones(good.shape, np.bool_)
    for product in products:
        place = np.arange(good.shape[1])[:, None]
        after = product.machine_state, place, product.counter
        here: BoolArray = good[after]
        if rewarded is not None:
            here = np.logical_and(product.kept, here | ((product.reward > 0) & rewarded[after]))
        for state, ways in product.promises:
            here[state] |= here[list(ways)].any(axis=0)
        np.logical_and(every, here, out=every)
    return every
