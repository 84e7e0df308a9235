"""The game against events where goals are places: what the robot may do without risking the mission.

The robot chooses an action, then the events are chosen that hold where it arrives, then the robot
decides on promises. Two regions of machine × places × visit counts matter: from where the mission can be
kept
whatever happens, and from where it can at least be kept from failing. An action is *allowed* if it
leaves neither, whatever happens; from where both are lost, any is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skm_machine.errors import UnsupportedMissionError
from skm_machine.event_game import subsets
from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.mission_product import MissionProduct, mission_product
from skm_primitives.planning.reachability import MissionGraph
from skm_primitives.primitives import PlaceWorld
from skm_sim.arrays import BoolArray, FloatArray

MOST_EVENTS = 6


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

    def hopeful_lengths(self, gamma: float) -> tuple[FloatArray, FloatArray]:
        """Return how long ways are from being and from arriving there if events were to help.

        In steps (`reachability`), infinite where no event helps. Where nothing can be done without an
        event, this says where to wait for it.
        """
        products = [replace(product, allowed=self.allowed) for product in self.products]
        lengths = MissionGraph(products).lengths(gamma)
        return lengths.being, lengths.arriving


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
    safe = _fixed(lambda good: (_can(products, good) | done) & alive, alive)
    again = safe
    while True:
        rewarded = again
        kept = _fixed(partial(_reaching, products, done, rewarded), done)
        if np.array_equal(kept, again):
            break
        again = kept
    allowed = np.ones((*alive.shape[:2], world.successors.shape[1], alive.shape[2]), np.bool_)
    for region, counted in ((safe, None), (kept, kept)):
        leads = _arrivals(products, region, counted)[:, world.successors]
        allowed = np.where(region[:, :, None], leads, allowed)
    if world.tried is not None:
        allowed = allowed & world.tried[None, :, :, None]
    return EventGame(products, kept, safe, allowed)


def _fixed(step: Callable[[BoolArray], BoolArray], start: BoolArray) -> BoolArray:
    """Return the fixed point that `step` comes to from `start`."""
    found = start
    while True:
        following = step(found)
        if np.array_equal(following, found):
            return found
        found = following


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


def _reaching(
    products: Sequence[MissionProduct], done: BoolArray, rewarded: BoolArray, good: BoolArray
) -> BoolArray:
    return _can(products, good, rewarded) | done


def _can(
    products: Sequence[MissionProduct], good: BoolArray, rewarded: BoolArray | None = None
) -> BoolArray:
    """Return where some action leads there, whatever happens."""
    arrivals = _arrivals(products, good, rewarded)
    able: BoolArray = np.any(arrivals[:, products[0].world.successors], axis=2)
    return able
