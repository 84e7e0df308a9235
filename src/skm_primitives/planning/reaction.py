"""What is owed is done first: the shortest way back to where nothing is."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_primitives.planning.mission_product import MissionProduct
from skm_primitives.planning.product_graph import FAR, ProductGraph
from skm_sim.arrays import IntArray


class Reaction:
    """From machine states in which something is owed, the way to the calm ones, with no event."""

    def __init__(self, product: MissionProduct, machine: RewardMachine, usual: IntArray) -> None:
        """`usual` is the action of the plan: of equally short ways, the one that begins with it."""
        self._product = product
        self._usual = usual
        calm = np.array([state in machine.calm for state in range(machine.num_states)])
        self._calm = calm
        lost = np.array([state in machine.terminal for state in range(machine.num_states)])
        shape = product.reward.shape
        owing = np.broadcast_to(~(calm | lost)[:, None, None], shape)
        at_ease = np.broadcast_to(calm[:, None, None], shape)
        # No promise is made on the way: `machine_state` reads an arrival as it is.
        graph = ProductGraph([replace(product, promises=())], product.allowed)
        self._steps, self._arriving = graph.reached(at_ease, among=owing)

    @cached_property
    def actions(self) -> IntArray:
        """`[u, place, counter]`: what `decide` does; −1 where nothing is owed, or helps."""
        options = self._arriving[:, self._product.world.successors]
        if self._product.allowed is not None:
            options = np.where(self._product.allowed, options, FAR)
        usual = np.take_along_axis(options, self._usual[:, :, None], axis=2)[:, :, 0]
        best = np.where(usual == options.min(axis=2), self._usual, options.argmin(axis=2))
        owing = ~self._calm[:, None, None] & (self._steps < FAR)
        actions: IntArray = np.where(owing, best, -1)
        return actions

    def steps(self, state: int, place: int, counter: int) -> int:
        """Return how many steps it takes until nothing is owed; `FAR` if it cannot be done."""
        return int(self._steps[state, place, counter])

    def decide(self, state: int, place: int, counter: int) -> tuple[int, int, int] | None:
        """Return the action, the steps to go and where they end; None if nothing is owed or helps.

        Where is the flat index `place * counters + counter` of that arrival.
        """
        if self._calm[state] or self.steps(state, place, counter) >= FAR:
            return None
        first = self._action(state, place, counter)
        steps = self.steps(state, place, counter)
        product, action = self._product, first
        while True:
            place = int(product.world.successors[place, action])
            arrival = place * product.reward.shape[2] + counter
            state = int(product.machine_state[state, place, counter])
            counter = int(product.counter[place, counter])
            if self._calm[state]:
                return first, steps, arrival
            action = self._action(state, place, counter)

    def _action(self, state: int, place: int, counter: int) -> int:
        options = self._arriving[state, self._product.world.successors[place], counter]
        if self._product.allowed is not None:
            options = np.where(self._product.allowed[state, place, :, counter], options, FAR)
        usual = int(self._usual[state, place, counter])
        return usual if options[usual] == options.min() else int(options.argmin())
