"""Which part of a goal a network is given as an input, and which part its outputs answer for.

A goal is a reach set (arrive where exactly these labels hold) and an avoid set (with none of these
constraints shown on the way). A network is asked a *question*, the part of the goal that is an input,
and answers for `outputs` goals at once. Learning and serving are the same for all encodings:

| | input | outputs |
|---|---|---|
| `OutputGoals` | nothing: there is one question | every goal of a list |
| `AvoidObjects` | the avoid set, as the objects to avoid | every label set, each with that avoid set |
| `ReachAvoidObjects` | both, as objects | one: the goal that was asked for |
| `AvoidInput` | the avoid set, by the names of constraints | every label set, each with that avoid set |
| `ReachAvoidInput` | both, by names | one: the goal that was asked for |

The last two may be asked about *two legs*: a goal, and then a label set to arrive at from there, with
nothing to avoid. It is an input that says which; a flag says that there is one.

More in the input: the cost does not grow with the number of goals, and what is learned of one holds
for others. More in the output: one pass tells more goals, and none has to be told from the input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_primitives.skills.encoders import ImageEncoder, ObservationEncoder
from skm_primitives.skills.goal_space import AnyAvoidGoals, GoalSpace, ObjectGoals
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.object_centric import ObjectKinds, ObjectSets
from skm_sim.spec import DomainSpec

FEW_AVOIDED = 0.75
"""The share of the avoid sets learned from that have 0 to 3 constraints, as missions' do; of the others
any number. LetterWorld: with sets of any size only, success after 30 CPU seconds is lower."""
TWO_LEGS = 2 / 3
"""The share of questions learned from that have a second leg, where two are learned: the harder ones,
and those that are asked until the last leg of a mission."""
LIKELY_REACH = 0.2
"""The share of reach sets learned from that are the label set just shown, if that is not empty."""


@dataclass(frozen=True)
class Questions:
    """The parts of goals that are inputs, `(n,)` each."""

    reach: IntArray
    """The slot of the label set to reach; 0 where the outputs answer for every one."""
    allowed: IntArray
    """The constraints that may be shown on the way, as bits; all others are the avoid set."""
    number: IntArray | None = None
    """Which question of the encoding's list it is; None where it was drawn freely."""
    then: IntArray | None = None
    """The slot of the label set to arrive at afterwards; −1, or None for all: none."""

    def __getitem__(self, rows: IntArray) -> Questions:
        number = None if self.number is None else self.number[rows]
        then = None if self.then is None else self.then[rows]
        return Questions(self.reach[rows], self.allowed[rows], number, then)

    def __len__(self) -> int:
        return len(self.reach)


class GoalEncoding(ABC):
    """How goals of a space are shared between the input and the outputs of a network."""

    pessimistic: bool = False
    """Whether actions are ranked by the least of the networks' values, not by their mean: one network
    that sees a risk is enough. It pays where no other goal's value tells what an action risks."""
    features: int
    """How many features of an observation the encoding wants."""
    inputs: int
    """How many numbers the network sees."""

    def __init__(self, space: GoalSpace, goals: IntArray) -> None:
        self.space = space
        self.goals = goals
        """`(questions, outputs)`: the goals that the questions of the list answer for, as indices
        slot · heads + head."""
        slots, heads = np.divmod(goals, space.heads)
        self.listed = Questions(slots[:, 0], space.violations[heads[:, 0]], np.arange(len(goals)))
        self._slots, self._allowed = slots, space.violations[heads]

    @property
    def outputs(self) -> int:
        """For how many goals one pass answers."""
        return int(self.goals.shape[1])

    @property
    def used(self) -> int:
        """How many of the outputs are of goals that exist: slots are given away one after the other."""
        if self.outputs == 1:
            return 1
        known = len(self.space) * self.space.heads
        return int((self.goals[0] < known).sum())

    def draw(self, random: np.random.Generator, next_slots: IntArray) -> Questions:
        """Draw a question to learn from for each transition, given what it led to."""
        count = len(next_slots)
        if len(self.goals) == 1:
            return self.listed[np.zeros(count, np.int64)]
        return self.listed[random.integers(len(self.goals), size=count)]

    def answered(self, questions: Questions) -> tuple[IntArray, IntArray]:
        """Return slots and allowed constraints of the goals that are answered for, `(n, outputs)`."""
        assert questions.number is not None
        return self._slots[questions.number], self._allowed[questions.number]

    @abstractmethod
    def shown(self, features: NDArray[Any], questions: Questions) -> NDArray[Any]:
        """Return the network's input for features `(n, …)` and a question for each row."""


def questions_for(wanted: BoolArray, answers: IntArray) -> tuple[IntArray, IntArray]:
    """Return which rows have to be asked which question, for the goals wanted of each, `(n, goals)`.

    `answers[question]` are the goals that it answers for.
    """
    if len(answers) == 1:
        rows = np.flatnonzero(wanted.any(1))
        return rows, np.zeros(len(rows), np.int64)
    rows, questions = np.nonzero(wanted[:, answers].any(-1))
    return rows, questions


def _by_head(space: GoalSpace) -> IntArray:
    """Return the goals of a question for each head, with an output for every slot."""
    heads: IntArray = np.arange(space.heads)[:, None]
    return np.arange(space.capacity) * space.heads + heads


class OutputGoals(GoalEncoding):
    """Every goal is an output; the input is what is observed."""

    def __init__(self, space: GoalSpace, features: int) -> None:
        super().__init__(space, np.arange(space.outputs)[None])
        self.features = self.inputs = features

    def shown(self, features: NDArray[Any], questions: Questions) -> NDArray[Any]:  # noqa: ARG002
        """Return the features: there is nothing to ask for."""
        return features


class AvoidObjects(GoalEncoding):
    """The avoid set is an input: all objects, and once more those to avoid. Outputs: label sets."""

    def __init__(self, space: GoalSpace, kinds: ObjectKinds) -> None:
        super().__init__(space, _by_head(space))
        self._kinds = kinds
        self.features, self.inputs = kinds.inputs, kinds.relative_inputs

    def shown(self, features: NDArray[Any], questions: Questions) -> NDArray[Any]:
        """Return what the network sees, with what each question avoids."""
        avoided = avoided_kinds(self._kinds, self.space.propositions, questions.allowed)
        return avoid_inputs(self._kinds, features, avoided)


class ReachAvoidObjects(GoalEncoding):
    """Reach and avoid set are inputs: the robot, the objects to reach, those to avoid; one output."""

    pessimistic = True

    def __init__(self, space: ObjectGoals) -> None:
        super().__init__(space, space.served()[:, None])
        self._objects = space.objects
        self._bits = np.array([1 << space.propositions.index(kind) for kind in space.objects.kinds])
        self.features, self.inputs = space.objects.inputs, space.objects.relative_inputs

    def shown(self, features: NDArray[Any], questions: Questions) -> NDArray[Any]:
        """Return what the network sees of each row, relative to its goal."""
        kinds = questions.reach - 1  # The first slot shows nothing, the next ones a kind each.
        avoided = (questions.allowed[:, None] & self._bits) == 0
        return relative_inputs(self._objects, features, kinds, avoided)


class AnyAvoidEncoding(GoalEncoding):
    """Any avoid set is an input: a bit for each constraint; with two legs, so is the second."""

    space: AnyAvoidGoals

    def __init__(self, space: AnyAvoidGoals, goals: IntArray, legs: int) -> None:
        super().__init__(space, goals)
        self.legs = legs

    @property
    def task_inputs(self) -> int:
        """How many of the inputs, the last ones, tell the task."""
        second = len(self.space.propositions) + 1 if self.legs > 1 else 0
        return len(self.space.constraints) + second

    def drawn_then(self, random: np.random.Generator, count: int) -> IntArray | None:
        """Draw second legs to learn from, none for some; None where only one is learned."""
        if self.legs == 1:
            return None
        then = random.integers(len(self.space), size=count)
        return np.where(random.random(count) < TWO_LEGS, then, -1)

    def avoid_and_then(self, questions: Questions) -> list[NDArray[Any]]:
        """Return the inputs that both kinds of networks have: what to avoid, and the second leg."""
        avoided = self.space.avoided(questions.allowed)
        if self.legs == 1:
            return [avoided]
        then = questions.then
        if then is None:
            then = np.full(len(questions), -1)
        return [avoided, self.shown_labels(then) * (then >= 0)[:, None], (then >= 0)[:, None]]

    def shown_labels(self, slots: IntArray) -> IntArray:
        """Return the propositions of label sets, `(n, propositions)`."""
        labels = np.array(self.space.label_bits, np.int64)
        bits = labels[np.clip(slots, 0, len(labels) - 1), None]
        shown: IntArray = bits >> np.arange(len(self.space.propositions)) & 1
        return shown


class AvoidInput(AnyAvoidEncoding):
    """Any avoid set is an input, beside the features. Outputs: label sets."""

    def __init__(self, space: AnyAvoidGoals, features: int, legs: int = 1) -> None:
        super().__init__(space, _by_head(space), legs)
        self.features, self.inputs = features, features + self.task_inputs

    def draw(self, random: np.random.Generator, next_slots: IntArray) -> Questions:
        """Draw avoid sets anew: also those that no agent pursues are learned."""
        count = len(next_slots)
        allowed = random_allowed(self.space, random, count)
        then = self.drawn_then(random, count)
        return Questions(np.zeros(count, np.int64), allowed, then=then)

    def answered(self, questions: Questions) -> tuple[IntArray, IntArray]:
        """Return every slot, with what each question allows."""
        shape = len(questions), self.outputs
        slots = np.broadcast_to(np.arange(self.outputs), shape)
        return slots, np.broadcast_to(questions.allowed[:, None], shape)

    def shown(self, features: NDArray[Any], questions: Questions) -> NDArray[Any]:
        """Return the features and the avoid set."""
        task = (part.astype(features.dtype) for part in self.avoid_and_then(questions))
        return np.concatenate([features, *task], axis=1)


class ReachAvoidInput(AnyAvoidEncoding):
    """Any reach and avoid set are inputs, as bits; one output. For networks in which they select.

    For images: a task that names propositions picks input planes by learned products, so that the way
    to one letter is the way to any other. LetterWorld, 30 CPU seconds: success 1.00; with the bits only
    appended to the input, .92 and 2.85 times the optimal steps.
    """

    def __init__(self, space: AnyAvoidGoals, features: int, legs: int = 1) -> None:
        super().__init__(space, np.arange(space.capacity * space.heads)[:, None], legs)
        self.features, self.inputs = features, features + self.task_inputs

    @property
    def task_inputs(self) -> int:
        """How many of the inputs, the last ones, tell the task."""
        return super().task_inputs + len(self.space.propositions)

    def draw(self, random: np.random.Generator, next_slots: IntArray) -> Questions:
        """Draw tasks anew."""
        count, labels = len(next_slots), np.array(self.space.label_bits)
        reach = random.integers(len(self.space), size=count)
        likely = (random.random(count) < LIKELY_REACH) & (labels[next_slots] != 0)
        reach = np.where(likely, next_slots, reach)
        allowed = random_allowed(self.space, random, count)
        return Questions(reach, allowed, then=self.drawn_then(random, count))

    def answered(self, questions: Questions) -> tuple[IntArray, IntArray]:
        """Return the goal of each question."""
        return questions.reach[:, None], questions.allowed[:, None]

    def shown(self, features: NDArray[Any], questions: Questions) -> NDArray[Any]:
        """Return the features, the propositions to show at the end, and the avoid set."""
        parts = [self.shown_labels(questions.reach), *self.avoid_and_then(questions)]
        task = (part.astype(features.dtype) for part in parts)
        return np.concatenate([features, *task], axis=1)


def random_allowed(space: AnyAvoidGoals, random: np.random.Generator, count: int) -> IntArray:
    """Draw constraints that may be shown on the way, as bits."""
    names = len(space.constraints)
    some = np.where(
        random.random(count) < FEW_AVOIDED,
        random.integers(min(4, names + 1), size=count) / max(1, names),
        random.random(count),
    )
    avoided = random.random((count, names)) < some[:, None]
    allowed: IntArray = (~avoided).astype(np.int64) @ space.constraint_masks
    return allowed


def goal_encoding(
    spec: DomainSpec, encoder: ObservationEncoder, space: GoalSpace, algorithm: str, legs: int = 1
) -> GoalEncoding:
    """Return the encoding for what a domain says of its observations; `legs` of any avoid sets."""
    if isinstance(space, ObjectGoals):
        return ReachAvoidObjects(space)
    if isinstance(space, AnyAvoidGoals):
        image = isinstance(encoder, ImageEncoder)
        return (ReachAvoidInput if image else AvoidInput)(space, encoder.inputs, legs)
    if isinstance(spec.objects, ObjectKinds) and algorithm == "dqn":
        return AvoidObjects(space, spec.objects)
    return OutputGoals(space, encoder.inputs)


# The values of reaching one kind are those of any other with the kinds renamed. So a network relative
# to a goal is shown own motion, the objects of the kind to reach, and the objects of the kinds to
# avoid, nearest first, whatever kinds these are; what may be touched it does not see at all.


def relative_inputs(
    objects: ObjectSets, features: NDArray[Any], kind: IntArray, avoided: BoolArray
) -> Float32Array:
    """Return `(n, relative_inputs)` for features `(n, inputs)`, the kind to reach, and `(n, kinds)`."""
    count, kinds = avoided.shape
    rows = np.arange(count)
    seen = features[:, objects.own :].reshape(count, kinds, objects.each, objects.features)
    # All sizes are given: where no goal is asked about there are no rows to tell them from.
    wanted = seen[rows, kind].reshape(count, objects.each * objects.features)
    others = (seen * avoided[..., None, None]).reshape(
        count, kinds * objects.each, objects.features
    )
    order = np.argsort(-others[..., objects.nearness], axis=1, kind="stable")[:, : objects.avoided]
    nearest = np.zeros((count, objects.avoided, objects.features), others.dtype)
    nearest[:, : order.shape[1]] = np.take_along_axis(others, order[..., None], axis=1)
    nearest = nearest.reshape(count, objects.avoided * objects.features)
    return np.concatenate([features[:, : objects.own], wanted, nearest], axis=1)


def avoid_inputs(kinds: ObjectKinds, features: NDArray[Any], avoided: BoolArray) -> Float32Array:
    """Return `(n, relative_inputs)` for features `(n, inputs)` and the kinds to avoid, `(n, kinds)`.

    All features, then the objects of those kinds once more, then which kinds these are.
    """
    gate = avoided.astype(np.float32)
    widths = [each * kinds.features for each in kinds.each]
    objects = features[:, kinds.own :] * np.repeat(gate, widths, axis=1)
    return np.concatenate([features, objects, gate], axis=1)


def avoided_kinds(
    kinds: ObjectKinds, propositions: tuple[str, ...], allowed: IntArray
) -> BoolArray:
    """Return `(n, kinds)`: which kinds are to be avoided where these bits `(n,)` may be touched."""
    bits = np.array([1 << propositions.index(kind) for kind in kinds.kinds])
    avoided: BoolArray = (allowed[:, None] & bits) == 0
    return avoided
