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
from skm_machine.event_game import subsets
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.mission_product import MissionProduct, mission_product
from skm_primitives.planning.product_graph import FAR, ProductGraph
from skm_primitives.primitives import PlaceWorld
from skm_sim.arrays import BoolArray, FloatArray

MOST_EVENTS = 6


@dataclass(frozen=True, eq=False)
class Hope:
    """What there is to hope for; arrays are indexed by [u, place, counter]."""

    region: BoolArray
    """From where the mission can be carried out with the help of events."""
    value: FloatArray
    """What being there is worth then."""
    arriving: FloatArray
    """What arriving there is worth."""
    allowed: BoolArray | None


@dataclass(frozen=True, eq=False)
class EventGame:
    """The product under each choice of events, with what is won against all of them."""

    products: tuple[MissionProduct, ...]
    """The first is that of no event."""
    kept: BoolArray
    """`[u, place, counter]`: whether the mission can be kept from there, whatever happens."""
    safe: BoolArray
    """Whether it can be kept from failing."""
    allowed: BoolArray
    """`[u, place, action, counter]`"""

    @property
    def quiet(self) -> MissionProduct:
        """The product of no event, with only the actions that are allowed."""
        return replace(self.products[0], allowed=self.allowed)

    def hope(self, gamma: float, *, daring: bool = False) -> Hope:
        """Return where the mission can be carried out if events were to help, and what that is worth.

        By the actions that are allowed, or by any. Where nothing can be done without an event, this
        says where to wait for it.
        """
        allowed = None if daring else self.allowed
        graph = ProductGraph(self.products, allowed, every_chance=True)
        nowhere = np.zeros(self.kept.shape, np.bool_)
        region = ~nowhere
        while True:
            found = graph.reached(nowhere, graph.paid(region))[0] < FAR
            if np.array_equal(found, region):
                break
            region = found
        value, _, _ = ProductGraph(self.products, allowed).discounted(gamma)
        arriving = np.max([product.arriving(value, gamma) for product in self.products], axis=0)
        return Hope(region, value, arriving, allowed)


def event_game(machine: RewardMachine, world: PlaceWorld, events: Sequence[str]) -> EventGame:
    """Solve the game."""
    if len(events) > MOST_EVENTS:
        raise UnsupportedMissionError(
            f"the mission names {len(events)} events; at most {MOST_EVENTS} are planned against"
        )
    products = tuple(
        mission_product(machine, world, happening, always_paid=True)
        for happening in subsets(events)
    )
    failed = np.array([state in machine.failure for state in range(machine.num_states)])
    ended = np.array([state in machine.terminal for state in range(machine.num_states)]) & ~failed
    alive = np.broadcast_to(~failed[:, None, None], products[0].reward.shape)
    done = np.broadcast_to(ended[:, None, None], alive.shape)
    graph = ProductGraph(products)
    safe = ~graph.doomed(~alive, done)
    kept = safe
    while True:
        again = kept
        kept = graph.reached(done, graph.paid(again), every=True)[0] < FAR
        if np.array_equal(kept, again):
            break
    allowed = np.ones((*alive.shape[:2], world.successors.shape[1], alive.shape[2]), np.bool_)
    for region, counted in ((safe, None), (kept, kept)):
        leads = _arrivals(products, region, counted)[:, world.successors]
        allowed = np.where(region[:, :, None], leads, allowed)
    return EventGame(products, kept, safe, allowed)


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
