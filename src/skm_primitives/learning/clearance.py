"""Clearance penalty: a step that ends close to what must be avoided counts as several.

A value says that a goal is reached with nothing forbidden touched on the way, by a hand's breadth or
by a hair. Learned values are not that exact, and a skill looks no further than its goal: a robot that
arrives fast and close to something forbidden has done all that was asked, and touches it in the next
step. So an encoder that sees objects tells how near the robot came to touching each, in steps, and for
every goal that has to avoid them a step there lasts so much longer. Values stay γ to a number of steps,
targets and known lower bounds alike; nothing becomes impossible, but of two ways the wider one is the
shorter.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from skm_primitives.skills.goal_space import GoalSpace
from skm_sim.arrays import BoolArray, ByteArray, Float32Array, IntArray
from skm_sim.object_centric import ObjectKinds


class ClearanceEncoder(Protocol):
    """An encoder that knows how near objects are, in the order of `ObjectKinds.shown`."""

    def clearance_steps(self, features: Float32Array) -> ByteArray:
        """Return `(n, objects)`: how many steps more a step to each state counts, for each object."""
        ...


class ClearancePenalty:
    """Which goals have to avoid what, in the goal space of a learner."""

    def __init__(self, encoder: ClearanceEncoder, space: GoalSpace, kinds: ObjectKinds) -> None:
        self._encoder = encoder
        self._space = space
        index = space.propositions.index
        self._shown = np.array([sum(1 << index(name) for name in some) for some in kinds.shown])
        self._table: BoolArray = np.zeros((0, 0, 0), np.bool_)

    def steps(
        self, features: Float32Array, slots: IntArray, goals: IntArray | None = None
    ) -> ByteArray:
        """Return how many steps more a step to each state counts, for every goal `(n, all goals)`.

        Or for some of them, `(n, k)`, as indices slot · heads + head.
        """
        near = self._encoder.clearance_steps(features)
        matters = self._matters()[slots]
        if goals is not None:
            matters = np.take_along_axis(matters, goals[..., None], axis=1)
        most: ByteArray = (matters * near[:, None]).max(-1)
        return most

    def _matters(self) -> BoolArray:
        """Return `[slot, goal, object]`: whether touching an object there would be a fault.

        It is if that shows something new which V does not allow, unless that is what the goal asks for.
        """
        space = self._space
        if self._table.shape[:2] != (len(space), space.outputs):
            labels = np.array(space.label_bits)
            here, then = labels[:, None, None, None], labels[None, :, None, None]
            fault = (self._shown & ~(space.violations[:, None] | here)) != 0
            table = fault & ((here | self._shown) != then)
            more = space.capacity - len(labels)
            table = np.pad(table, [(0, 0), (0, more), (0, 0), (0, 0)])
            self._table = table.reshape(len(labels), space.outputs, -1)
        return self._table
