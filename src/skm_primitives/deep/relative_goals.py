"""Goals where what is seen are things by kind: reach a thing of one kind, with at most V touched.

Every set V of constraints has a head, and of these goals only those are learned and served that make
sense: one kind on arrival, and that kind in V (whoever leaves a thing of the kind touches it). A network
relative to the goal (`relative_inputs`) is asked about one goal at a time, so that none of the memory
grows with the number of goals.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from skm_primitives.deep.goal_space import NEVER, GoalSpace, allowed_violations
from skm_sim.arrays import BoolArray, ByteArray, IntArray
from skm_sim.domain import DomainSpec
from skm_sim.things import Kinds, Things

_LATER = 1 << 20
"""A step that is after all others."""


class RelativeGoals(GoalSpace):
    """The goals of a domain of things: the label sets of single kinds are known beforehand."""

    def __init__(
        self,
        propositions: tuple[str, ...],
        constraints: tuple[str, ...],
        things: Things,
        capacity: int,
        label_bits: Iterable[int] = (),
    ) -> None:
        self.things = things
        self._kind_bits = [1 << propositions.index(kind) for kind in things.kinds]
        sets = [0]
        for bit in self._kind_bits:
            sets += [bits | bit for bits in sets]
        super().__init__(propositions, constraints, capacity, (0, *self._kind_bits), sorted(sets))
        for bits in label_bits:
            if bits not in self.label_bits:
                self.add(bits)
        pairs = [
            (kind, 1 + kind, head)
            for kind, bit in enumerate(self._kind_bits)
            for head, allowed in enumerate(self.violations.tolist())
            if allowed & bit
        ]
        self.learned: IntArray = np.array(pairs, np.int64)
        """`(goals, 3)`: kind, slot and head of each goal that is learned."""

    def copy(self) -> RelativeGoals:
        """Return a space that can discover more without this one noticing."""
        names = self.propositions, self.constraints
        return RelativeGoals(*names, self.things, self.capacity, self.label_bits)

    @property
    def outputs(self) -> int:
        """None side by side: the network is asked about one goal at a time."""
        return 0

    def served(self) -> IntArray:
        """Return which goals are served: those learned."""
        indices: IntArray = self.learned[:, 1] * self.heads + self.learned[:, 2]
        return indices

    def kept_off(self, heads: IntArray) -> BoolArray:
        """Return `(n, kinds)`: which kinds these heads forbid to touch."""
        forbidden: BoolArray = (self.violations[heads][:, None] & np.array(self._kind_bits)) == 0
        return forbidden

    def random_masks(self, random: np.random.Generator, count: int) -> BoolArray:
        """Draw goals to pursue, one of those learned for each."""
        mask = np.zeros((count, self.capacity, self.heads), np.bool_)
        chosen = self.learned[random.integers(len(self.learned), size=count)]
        mask[np.arange(count), chosen[:, 1], chosen[:, 2]] = True
        return mask

    def steps_to_goals(
        self,
        slots: IntArray,
        over: BoolArray | None = None,  # noqa: ARG002
        more: ByteArray | None = None,  # noqa: ARG002
    ) -> ByteArray:
        """Return nothing to remember: `steps_to` finds the steps to a goal when they are asked for."""
        return np.zeros((slots.shape[0] - 1, slots.shape[1], 0), np.uint8)

    def steps_to(
        self, goals: IntArray, episodes: IntArray, between: BoolArray, step: IntArray
    ) -> IntArray:
        """Return how many steps after `step` each goal was achieved, `NEVER` if it was not.

        `episodes` `(n, steps + 1)` are slots, `between` `(n, steps)` says which steps lead from the end
        of one episode to the start of another, and `goals` are rows of `learned`.
        """
        changed = self.changed(episodes[:, :-1], episodes[:, 1:])
        lost = (changed & ~self.violations[goals[:, 2]][:, None]) != 0
        number = np.arange(between.shape[1])
        here = number >= step[:, None]
        arrived = _first((episodes[:, 1:] == goals[:, 1:2]) & here, number)
        lost_at = _first(lost & here, number)
        cut_at = _first(between & (number > step[:, None]), number)
        reached = (arrived <= lost_at) & (arrived < cut_at)
        return np.where(reached, arrived - step + 1, NEVER)


def _first(true: BoolArray, number: IntArray) -> IntArray:
    """Return the number of the first column in which each row is true."""
    first: IntArray = np.where(true, number, _LATER).min(axis=1)
    return first


def goal_space(
    spec: DomainSpec, capacity: int, relative: bool, sets: str = "two", momentary: bool = False
) -> GoalSpace:
    """Return the goals of a domain, before any was seen."""
    names = spec.propositions, spec.constraints
    if isinstance(spec.things, Kinds):
        bits = {name: 1 << spec.propositions.index(name) for name in spec.things.kinds}
        allowed = [sum(bits[name] for name in some) for some in spec.things.allowed]
        return GoalSpace(*names, capacity, (), allowed)
    if relative:
        assert spec.things is not None
        return RelativeGoals(*names, spec.things, capacity)
    violations = allowed_violations(*names, sets)
    return GoalSpace(*names, capacity, (), violations, momentary=momentary)
