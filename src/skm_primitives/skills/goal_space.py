"""Goals for networks: a slot for every label set seen, and for every slot a head for each set V.

With function approximation a goal `Goal(labels=l, violated=V)` means: arrive where exactly l holds,
with *at most* the constraints V violated on the way. Which sets V are learned is a list; the usual ones
are the strictest and the freest: V = ∅ (head `STRICT`) and V = C (head `FREE`). Skills only ever ask
that constraints be *not* violated (¬ĉ), so a mask that admits V admits every smaller set, and both
readings of a goal, "exactly V" and "at most V", give the same composed policies.

What stopping would have given is known at every transition, for every goal at once, so it is not
learned (Algorithm 1 would learn it as the value of a_τ = 1):

    target = 1                          if the labels arrived at are those of the goal
           = 0                          if a constraint that is not in V changed on this step
           = γ · value of the next state  otherwise
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_primitives.skills.goals import Goal, pack
from skm_sim.arrays import BoolArray, ByteArray, IntArray
from skm_sim.object_centric import ObjectKinds, ObjectSets
from skm_sim.spec import DomainSpec

STRICT, FREE = 0, 1
"""The usual heads of a slot: V = ∅ and V = C."""
CONSTRAINT_SETS = ("two", "all_but_one", "any")
"""Which sets V there may be."""
TABLE_BITS = 16
"""Propositions up to which label sets are found in a table."""
LONGEST = 255
"""The most steps that are remembered."""
NEVER = 0
"""In `steps_to_goals`: the goal is not reached any more in this piece of an episode."""


def allowed_violations(
    propositions: tuple[str, ...], constraints: tuple[str, ...], sets: str
) -> list[int]:
    """Return the sets V of that name as bits: none, any, and if asked for any but one."""
    bits = [1 << propositions.index(name) for name in constraints]
    every = sum(bits)
    single = [every - bit for bit in bits] if sets == "all_but_one" else []
    return [0, every, *(some for some in single if some)]


class GoalSpace:
    """The goal buffer of a network learner: label sets in the order in which they were first seen.

    Arrays over goals have the shape `(..., capacity, heads)`; only the first `len(self)` slots are
    in use, and the capacity doubles when they run out. Label sets are bits over the propositions
    (`histories.pack`), and so are the sets V, `violations`.
    """

    def __init__(
        self,
        propositions: tuple[str, ...],
        constraints: tuple[str, ...],
        capacity: int,
        label_bits: Iterable[int] = (),
        violations: Iterable[int] = (),
        *,
        momentary: bool = False,
    ) -> None:
        self.propositions = propositions
        self.constraints = constraints
        self.capacity = capacity
        self._constraint_bits = sum(1 << propositions.index(name) for name in constraints)
        self.violations: IntArray = np.array(list(violations) or [0, self._constraint_bits])
        """The constraints V that each head allows to be violated."""
        self.momentary = momentary
        """Whether labels are of single steps, so that only their coming changes anything."""
        self._slot: dict[int, int] = {}
        self._table: IntArray = np.full(1 << min(len(propositions), TABLE_BITS), -1)
        """The slot of each label set, where there are few enough propositions for a table."""
        self.label_bits: list[int] = []
        """The label set of every slot in use."""
        for bits in label_bits:
            self.add(bits)

    def __len__(self) -> int:
        return len(self.label_bits)

    def copy(self) -> GoalSpace:
        """Return a space that can discover more without this one noticing."""
        names = self.propositions, self.constraints
        known = self.label_bits, self.violations.tolist()
        return GoalSpace(*names, self.capacity, *known, momentary=self.momentary)

    @property
    def constraint_masks(self) -> IntArray:
        """The bit of each constraint."""
        return np.array([1 << self.propositions.index(name) for name in self.constraints], np.int64)

    @property
    def served_heads(self) -> int:
        """How many goals of each label set are served."""
        return self.heads

    @property
    def heads(self) -> int:
        """How many sets V there are."""
        return len(self.violations)

    @property
    def outputs(self) -> int:
        """How many goals a network answers for side by side."""
        return self.capacity * self.heads

    def served(self) -> IntArray:
        """Return which goals are served, as indices into the `(capacity · heads)` of an array."""
        return np.arange(len(self) * self.heads)

    def add(self, bits: int) -> None:
        """Give a label set the next slot; where there is none left, there are twice as many."""
        if len(self) == self.capacity:
            self.capacity *= 2
        self._slot[bits] = len(self)
        if bits < len(self._table):
            self._table[bits] = len(self)
        self.label_bits.append(bits)

    def fit(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array `(..., slots, heads)` with zeros for the slots that came since."""
        more = self.capacity - array.shape[-2]
        return np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, more), (0, 0)]) if more else array

    def discover(self, labels: BoolArray) -> IntArray:
        """Return the slot of each row of labels `(..., propositions)`; new ones are added."""
        bits = pack(labels)
        if len(self.propositions) > TABLE_BITS:
            return self._look_up(bits)
        for new in np.unique(bits[self._table[bits] < 0]).tolist():
            self.add(new)
        slots: IntArray = self._table[bits]
        return slots

    def _look_up(self, bits: IntArray) -> IntArray:
        """Return slots one by one, where a table of all label sets would be too large."""
        distinct, where = np.unique(bits, return_inverse=True)
        for new in distinct.tolist():
            if new not in self._slot:
                self.add(new)
        slots = np.array([self._slot[found] for found in distinct.tolist()], np.int64)
        return slots[where].reshape(bits.shape)

    def label_rows(self) -> BoolArray:
        """Return `(len(self), propositions)`: which propositions are true in each slot."""
        bits = np.array(self.label_bits, np.int64)[:, None]
        return (bits >> np.arange(len(self.propositions)) & 1).astype(np.bool_)

    def goals(self) -> tuple[Goal, ...]:
        """Return the goals served: for each slot, one for every set V."""
        labels = [self._names(bits) for bits in self.label_bits]
        violated = [self._names(bits) for bits in self.violations.tolist()]
        pairs = (divmod(index, self.heads) for index in self.served().tolist())
        return tuple(Goal(labels[slot], violated[head]) for slot, head in pairs)

    def _names(self, bits: int) -> frozenset[str]:
        return frozenset(name for i, name in enumerate(self.propositions) if bits >> i & 1)

    def outcomes(self, slots: IntArray, next_slots: IntArray) -> tuple[BoolArray, BoolArray]:
        """Return for transitions `(n,)` what is known of every goal, `(n, capacity, heads)` each.

        First whether stopping on arrival achieves it; second whether it can be pursued further.
        """
        shape = (*next_slots.shape, self.capacity, self.heads)
        achieved = np.zeros(shape, np.bool_)
        np.put_along_axis(achieved, next_slots[..., None, None], True, axis=-2)
        allowed = self.allowed(self.changed(slots, next_slots))
        return achieved, np.broadcast_to(allowed[..., None, :], shape).copy()

    def changed(self, slots: IntArray, next_slots: IntArray) -> IntArray:
        """Return the constraints that changed between two states, as bits: (l̂ ⊕ l̂') ∩ C.

        Of momentary labels, those that came: l̂' ∩ C.
        """
        bits = np.array(self.label_bits, np.int64)
        before = 0 if self.momentary else bits[slots]
        changed: IntArray = (before ^ bits[next_slots]) & self._constraint_bits
        return changed

    def allowed(self, violated: IntArray) -> BoolArray:
        """Return for constraints violated, as bits `(n,)`, which heads allow it: `(n, heads)`."""
        allowed: BoolArray = (violated[..., None] & ~self.violations) == 0
        return allowed

    def steps_to_goals(
        self, slots: IntArray, over: BoolArray | None = None, more: ByteArray | None = None
    ) -> ByteArray:
        """Return how many steps later each goal is first achieved, from the slots of an episode.

        `over[step]` says for each agent whether its episode was over after that step. `slots` is
        `(steps + 1, agents)`; the result `(steps, agents, capacity, heads)` holds 1 for a goal
        achieved by the very next step, and `NEVER` for those not achieved any more. In a
        deterministic world γ^(k-1) is a lower bound of Q*: one way to do it is known.
        `more`, of the result's shape, is how many steps each step counts besides (`clearance`).
        """
        steps, agents = slots.shape[0] - 1, slots.shape[1]
        result = np.zeros((steps, agents, self.capacity, self.heads), np.uint8)
        later = np.zeros((agents, self.capacity, self.heads), np.int64)
        for step in reversed(range(steps)):
            achieved, alive = self.outcomes(slots[step], slots[step + 1])
            if over is not None:
                later[over[step]] = NEVER
            lasts = 1 if more is None else 1 + more[step].astype(np.int64)
            later = np.where((later > 0) & alive, later + lasts, NEVER)
            later = np.where(achieved, lasts, later)
            later[later > LONGEST] = NEVER
            result[step] = later
        return result

    def random_masks(self, random: np.random.Generator, count: int) -> BoolArray:
        """Draw sets of goals to pursue, `(count, capacity, heads)`.

        Half are single goals; half are Boolean expressions, a random literal or none for each
        proposition, as skills are.
        """
        rows = self.label_rows()
        mask = np.zeros((count, self.capacity, self.heads), np.bool_)
        head = random.integers(self.heads, size=count)
        single = random.integers(len(self), size=count)
        literals = random.integers(3, size=(count, rows.shape[1]))  # 0: false, 1: true, 2: either.
        fits = ((literals[:, None] == rows) | (literals[:, None] == 2)).all(-1)
        boolean = (random.random(count) < 0.5) & fits.any(-1) & ~fits.all(-1)
        chosen = np.where(boolean[:, None], fits, np.arange(len(self)) == single[:, None])
        mask[np.arange(count), : len(self), head] = chosen
        return mask


# Goals where what is seen are objects by kind: reach an object of one kind, with at most V touched.
#
# Every set V of constraints has a head, and of these goals only those are learned and served that
# make sense: one kind on arrival, and that kind in V (a robot that leaves an object of the kind touches
# it). A network relative to the goal (`ReachAvoidInput`) is asked about one goal at a time, so
# that none of the memory grows with the number of goals.


MANY_GOALS = 512
"""Above this, what lies behind goals is kept for each label set, not for each goal."""
_LATER = 1 << 20
"""A step later than all others."""


class GoalsAskedLater(GoalSpace):
    """Goals whose steps are not remembered, but found in the episodes when they are asked for."""

    def steps_to_goals(
        self,
        slots: IntArray,
        over: BoolArray | None = None,  # noqa: ARG002
        more: ByteArray | None = None,  # noqa: ARG002
    ) -> ByteArray:
        """Return nothing to remember: there would be too many goals."""
        return np.zeros((slots.shape[0] - 1, slots.shape[1], 0), np.uint8)


class ObjectGoals(GoalsAskedLater):
    """The goals of a domain of objects: the label sets of single kinds are known beforehand."""

    def __init__(
        self,
        propositions: tuple[str, ...],
        constraints: tuple[str, ...],
        objects: ObjectSets,
        capacity: int,
        label_bits: Iterable[int] = (),
    ) -> None:
        self.objects = objects
        self._kind_bits = [1 << propositions.index(kind) for kind in objects.kinds]
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

    def copy(self) -> ObjectGoals:
        """Return a space that can discover more without this one noticing."""
        names = self.propositions, self.constraints
        return ObjectGoals(*names, self.objects, self.capacity, self.label_bits)

    @property
    def outputs(self) -> int:
        """None side by side: the network is asked about one goal at a time."""
        return 0

    def served(self) -> IntArray:
        """Return which goals are served: those learned."""
        indices: IntArray = self.learned[:, 1] * self.heads + self.learned[:, 2]
        return indices

    def avoided(self, heads: IntArray) -> BoolArray:
        """Return `(n, kinds)`: which kinds these heads forbid to touch."""
        forbidden: BoolArray = (self.violations[heads][:, None] & np.array(self._kind_bits)) == 0
        return forbidden

    def random_masks(self, random: np.random.Generator, count: int) -> BoolArray:
        """Draw goals to pursue, one of those learned for each."""
        mask = np.zeros((count, self.capacity, self.heads), np.bool_)
        chosen = self.learned[random.integers(len(self.learned), size=count)]
        mask[np.arange(count), chosen[:, 1], chosen[:, 2]] = True
        return mask

    def steps_to(
        self, goals: IntArray, episodes: IntArray, between: BoolArray, step: IntArray
    ) -> IntArray:
        """Return how many steps after `step` each goal was achieved, `NEVER` if it was not.

        `episodes` `(n, steps + 1)` are slots, `between` `(n, steps)` says which steps lead from the end
        of one episode to the start of another, and `goals` `(n,)` are indices slot · heads + head.
        """
        slots, heads = np.divmod(goals, self.heads)
        changed = self.changed(episodes[:, :-1], episodes[:, 1:])
        lost = (changed & ~self.violations[heads][:, None]) != 0
        number = np.arange(between.shape[1])
        here = number >= step[:, None]
        arrived = _first((episodes[:, 1:] == slots[:, None]) & here, number)
        lost_at = _first(lost & here, number)
        cut_at = _first(between & (number > step[:, None]), number)
        reached = (arrived <= lost_at) & (arrived < cut_at)
        return np.where(reached, arrived - step + 1, NEVER)


# Goals with any avoid set: which one is part of the question, so no list of goals can hold them.
#
# Served are two goals of each label set, as usual: the strictest and the freest. To callers that ask
# with constraints `violated`, the strictest one is the goal of *at most these* shown on the way. A
# violation is showing a constraint, so to begin on one loses nothing, and no history is needed.


BANK = 30
"""Avoid sets that agents pursue while they learn, besides the strictest and the freest."""


class AnyAvoidGoals(GoalsAskedLater):
    """The goals of a network with the avoid set as an input; heads are the sets that agents pursue."""

    def __init__(
        self,
        propositions: tuple[str, ...],
        constraints: tuple[str, ...],
        capacity: int,
        label_bits: Iterable[int] = (),
    ) -> None:
        bits = [1 << propositions.index(name) for name in constraints]
        every = sum(bits)
        random = np.random.default_rng(
            0
        )  # The same sets in every run: resumed runs go on with them.
        avoided = [
            random.choice(bits, size=min(1 + number % 3, len(bits)), replace=False).sum()
            for number in range(BANK)
        ]
        sets = dict.fromkeys([0, every, *(every - int(some) for some in avoided)])
        super().__init__(propositions, constraints, capacity, label_bits, sets, momentary=True)

    def copy(self) -> AnyAvoidGoals:
        """Return a space that can discover more without this one noticing."""
        return AnyAvoidGoals(self.propositions, self.constraints, self.capacity, self.label_bits)

    @property
    def outputs(self) -> int:
        """None side by side: steps to goals are found when they are asked for (`steps_later`)."""
        return 0

    @property
    def served_heads(self) -> int:
        """Two, the strictest and the freest; one where these are the same."""
        return min(2, self.heads)

    def served(self) -> IntArray:
        """Return which goals are served."""
        slots: IntArray = np.arange(len(self))[:, None] * self.heads
        return (slots + np.arange(self.served_heads)).reshape(-1)

    def avoided(self, allowed: IntArray) -> BoolArray:
        """Return `(n, constraints)`: which constraints are avoided where these bits are allowed."""
        avoided: BoolArray = (allowed[:, None] & self.constraint_masks) == 0
        return avoided

    def steps_later(
        self, allowed: IntArray, episodes: IntArray, between: BoolArray, step: IntArray
    ) -> IntArray:
        """Return `(n, capacity)`: how many steps after `step` each label set was shown, else `NEVER`.

        With only what is `allowed` `(n,)` shown before; see `ObjectGoals.steps_to` for the others.
        """
        count, steps = between.shape
        ahead = min(LONGEST_LOOK, steps)
        rows = np.arange(count)[:, None]
        number = step[:, None] + np.arange(ahead)
        inside = number < steps
        number = np.minimum(number, steps - 1)
        inside[:, 1:] &= ~np.logical_or.accumulate(between[rows, number], axis=1)[:, 1:]
        shown = episodes[rows, number + 1]
        bits = np.array(self.label_bits, np.int64)[shown] & self._constraint_bits
        lost = np.logical_or.accumulate((bits & ~allowed[:, None]) != 0, axis=1)
        open_before = inside.copy()
        open_before[:, 1:] &= ~lost[:, :-1]
        found: IntArray = np.full((count, self.capacity), NEVER)
        for later in reversed(range(ahead)):
            some = np.flatnonzero(open_before[:, later])
            found[some, shown[some, later]] = later + 1
        return found


LONGEST_LOOK = 64
"""Steps ahead in which it is looked up whether a goal was achieved."""


def _first(true: BoolArray, number: IntArray) -> IntArray:
    """Return the number of the first column in which each row is true."""
    first: IntArray = np.where(true, number, _LATER).min(axis=1)
    return first


def goal_space(
    spec: DomainSpec, capacity: int, relative: bool, sets: str = "two", momentary: bool = False
) -> GoalSpace:
    """Return the goals of a domain, before any was seen."""
    names = spec.propositions, spec.constraints
    if isinstance(spec.objects, ObjectKinds):
        bits = {name: 1 << spec.propositions.index(name) for name in spec.objects.kinds}
        allowed = [sum(bits[name] for name in some) for some in spec.objects.allowed]
        return GoalSpace(*names, capacity, (), allowed)
    if relative:
        assert spec.objects is not None
        return ObjectGoals(*names, spec.objects, capacity)
    if sets == "any":
        return AnyAvoidGoals(*names, capacity)
    violations = allowed_violations(*names, sets)
    return GoalSpace(*names, capacity, (), violations, momentary=momentary)
