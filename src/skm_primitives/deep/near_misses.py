"""Near misses: a step that ends close to what must be kept off counts as several.

A value says that a goal is reached with nothing forbidden touched on the way, by a hand's breadth or by
a hair. Learned values are not that exact, and a skill looks no further than its goal: a robot that
arrives fast and close to something forbidden has done all that was asked, and touches it in the next
step. So a body that sees things tells how near the robot came to touching each, in steps, and for every
goal that has to keep off them a step there lasts so much longer. Values stay γ to a number of steps,
targets and known lower bounds alike; nothing becomes impossible, but of two ways the wider one is the
shorter.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from skm_primitives.deep.goal_space import GoalSpace
from skm_sim.arrays import BoolArray, ByteArray, Float32Array, IntArray
from skm_sim.things import Kinds


class WaryBody(Protocol):
    """A body that knows how near things are, in an order that its domain's `Kinds.shown` names."""

    def near_misses(self, features: Float32Array) -> ByteArray:
        """Return `(n, things)`: how many steps more a step to each state counts, for each thing."""
        ...


class NearMisses:
    """Which goals have to keep off what, in the goal space of a learner."""

    def __init__(self, body: WaryBody, space: GoalSpace, kinds: Kinds) -> None:
        self._body = body
        self._space = space
        index = space.propositions.index
        self._shown = np.array([sum(1 << index(name) for name in some) for some in kinds.shown])
        self._table: BoolArray = np.zeros((0, 0, 0, 0), np.bool_)

    def steps(self, features: Float32Array, slots: IntArray) -> ByteArray:
        """Return `(n, capacity, heads)`: steps that a step to each state counts more for each goal."""
        near = self._body.near_misses(features)
        most: ByteArray = (self._matters()[slots] * near[:, None, None]).max(-1)
        return most

    def steps_of(self, features: Float32Array, slots: IntArray, heads: IntArray) -> ByteArray:
        """Return the same for the goals of one head each, `(n, capacity)`."""
        near = self._body.near_misses(features)
        most: ByteArray = (self._matters()[slots, :, heads] * near[:, None]).max(-1)
        return most

    def _matters(self) -> BoolArray:
        """Return `[slot, goal's slot, head, thing]`: whether touching a thing there would be a fault.

        It is if that shows something new which V does not allow, unless that is what the goal asks for.
        """
        if self._table.shape[1] != self._space.capacity or len(self._table) != len(self._space):
            labels = np.array(self._space.label_bits)
            here, then = labels[:, None, None, None], labels[None, :, None, None]
            allowed = self._space.violations[:, None]
            fault = (self._shown & ~(allowed | here)) != 0
            table = fault & ((here | self._shown) != then)
            more = self._space.capacity - len(labels)
            self._table = np.pad(table, [(0, 0), (0, more), (0, 0), (0, 0)])
        return self._table
