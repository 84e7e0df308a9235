"""What is served of the learned skills: their goals, and the values of reaching each of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives import checkpoint
from skm_primitives.goals import Goal
from skm_primitives.tabular.learned_state import LEARNER, TabularState
from skm_primitives.tabular.q_learning import check_names
from skm_sim.domain import DomainSpec

FloatArray = NDArray[np.float32]
CHECKPOINTS = Path(__file__).parent / "checkpoints"
"""Where the checkpoints that come with skm lie."""
SERVERS = {
    LEARNER: "skm_primitives.primitives:load_tabular",
    "box": "skm_primitives.deep.box_primitives:load",
    "pixel": "skm_primitives.deep.moving_targets.pixel_primitives:load",
}
"""Who serves what each learner writes: a function of (arrays, card, spec), imported on use."""


@dataclass(frozen=True, slots=True)
class GoalValues:
    """Q_MAX(⟨s,c⟩, ·, ·) in one state, for every goal and discrete action; read-only."""

    move: FloatArray
    """`move[goal, action]`: the value of ⟨a, 0⟩."""
    stop: FloatArray
    """`stop[goal, action]`: the value of ⟨a, 1⟩."""
    onward: FloatArray | None = None
    """`onward[label set, goal]`: the value that each goal will have where that label set of the goal
    buffer is shown next; None where only the mean, `goal_to_goal`, is known."""


@dataclass(frozen=True, slots=True)
class ContinuousGoalValues:
    """The best action for every goal and its value Q_MAX(⟨s,c⟩, g, ⟨a,0⟩), for continuous actions.

    What stopping gives need not be asked: it is 1 where the labels are the goal's, else 0. For a
    batch of robots, every array has one more axis, the first.
    """

    action: FloatArray
    """`action[goal, dimension]`"""
    value: FloatArray
    """`value[goal]`: γ to the number of steps that the goal is away; 0 if it is out of reach."""
    spread: FloatArray
    """`spread[goal]`: how far the networks disagree, half the gap between their log values."""
    detour: FloatArray
    """`detour[goal, dimension]`: another action that is nearly as good; varies with the state."""


AnyGoalValues: TypeAlias = GoalValues | ContinuousGoalValues


class Primitives(Protocol):
    """The skill primitives of a domain (Definition 3.1), all in one: Q_MAX and its goals."""

    @property
    def domain(self) -> str:
        """The name of the domain in which they were learned."""
        ...

    @property
    def propositions(self) -> tuple[str, ...]:
        """P."""
        ...

    @property
    def constraints(self) -> tuple[str, ...]:
        """C, without the hats."""
        ...

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goal buffer; arrays of values go by its order."""
        ...

    @property
    def goal_probability(self) -> FloatArray:
        """For each goal, the chance that arriving at its place shows its labels (1 as a rule)."""
        ...

    @property
    def visit_labels(self) -> Mapping[int, tuple[frozenset[str], ...]]:
        """The labels of each place at the k-th visit of an episode; the last holds from then on."""
        ...

    @property
    def goal_to_goal(self) -> FloatArray:
        """`[g, h]`: the mean value of goal h where g was just achieved; empty where goals are places."""
        ...

    @property
    def gamma(self) -> float:
        """The discount."""
        ...

    @property
    def action_space(self) -> Space[Any]:
        """The actions, without the terminate action."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of the checkpoint's arrays."""
        ...

    def values(self, observation: Any, violated: frozenset[str]) -> AnyGoalValues:  # noqa: ANN401
        """Return the values of every goal, from an observation and the constraints violated."""
        ...


class TabularPrimitives:
    """Primitives from a tabular learner: everything is in a table, `values` is a lookup."""

    def __init__(self, state: TabularState, digest: str = "") -> None:
        tables, histories = state.tables, state.tables.histories
        self.domain = state.domain
        self.propositions = state.propositions
        self.constraints = state.constraints
        self.gamma = tables.discount
        self.digest = digest
        self.goals: tuple[Goal, ...] = tuple(state.goal_buffer())
        self.action_space: Space[Any] = Discrete(tables.next_state.shape[1])
        self.goal_to_goal: FloatArray = np.zeros((0, 0), np.float32)
        self._visits = state.visits
        target, probability = _targets_of_goals(state, self.goals)
        self.goal_probability: FloatArray = probability
        wanted = np.array([histories.bits(goal.violated) for goal in self.goals], np.int64)
        # Both tables as (states, histories, goals, actions).
        states, actions = tables.next_state.shape
        shape = (states, histories.sets, len(self.goals), actions)
        self._move: FloatArray = np.zeros(shape, np.float32)
        self._stop: FloatArray = np.zeros(shape, np.float32)
        for violated in range(histories.sets):
            pair = histories.pair[violated, wanted]
            near = np.flatnonzero(pair != histories.lost)
            moves = tables.move[:, :, pair[near], target[near]] * probability[near]
            self._move[:, violated, near] = moves.transpose(0, 2, 1)
            here = np.flatnonzero(wanted == violated)
            stops = tables.stop[:, :, target[here]] * probability[here]
            self._stop[:, violated, here] = stops.transpose(0, 2, 1)
        for array in (self._move, self._stop, self.goal_probability):
            array.setflags(write=False)
        self._rows = {histories.names(bits): bits for bits in range(histories.sets)}

    @cached_property
    def visit_labels(self) -> dict[int, tuple[frozenset[str], ...]]:
        """The labels of each place at the k-th visit of an episode; the last holds from then on."""
        return self._visits.visit_labels()

    def values(self, observation: int, violated: frozenset[str] = frozenset()) -> GoalValues:
        """Return views of the values of every goal in that cell, with that history."""
        try:
            row = self._rows[violated]
        except KeyError:
            strange = sorted(violated.difference(self.constraints))
            raise SkmError(
                f"'{strange[0]}' is no constraint of '{self.domain}'"
                f"{did_you_mean(strange[0], self.constraints)}"
            ) from None
        return GoalValues(self._move[observation, row], self._stop[observation, row])


def _targets_of_goals(
    state: TabularState, goals: tuple[Goal, ...]
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return each goal's target in the tables, and the chance of its labels there.

    Without places, that chance is already in the table, so it is 1 here.
    """
    places = [None if not state.settings.places else p for p in state.visits.places.tolist()]
    variant = {both: i for i, both in enumerate(zip(state.visits.label_sets, places, strict=True))}
    index = np.array([variant[goal.labels, goal.place] for goal in goals], np.int64)
    probability = state.visits.probability()[index]
    if not state.settings.places:
        probability = np.ones_like(probability)
    return state.variant_targets()[index], probability


def load_primitives(path: str | Path, spec: DomainSpec | None = None) -> Primitives:
    """Read the primitives from a checkpoint; with `spec`, they must fit that domain."""
    arrays, card = checkpoint.load(path, None if spec is None else spec.name)
    if card.learner not in SERVERS:
        known = did_you_mean(card.learner, SERVERS)
        raise SkmError(f"{path} was written by the learner '{card.learner}'{known}")
    module, _, name = SERVERS[card.learner].partition(":")
    primitives: Primitives = getattr(importlib.import_module(module), name)(arrays, card, spec)
    return primitives


def load_tabular(
    arrays: dict[str, NDArray[Any]], card: checkpoint.Card, spec: DomainSpec | None
) -> TabularPrimitives:
    """Return the primitives in a checkpoint of the tabular learner."""
    state = TabularState.restore(arrays, card)
    if spec is not None:
        check_names(state, spec)
    return TabularPrimitives(state, card.digest)


def default_checkpoint(domain: str) -> Path:
    """Return the path of the checkpoint that comes with skm for a domain."""
    path = CHECKPOINTS / f"{domain}{checkpoint.SUFFIX}"
    if not path.exists():
        shipped = ", ".join(sorted(file.stem for file in CHECKPOINTS.glob(f"*{checkpoint.SUFFIX}")))
        raise checkpoint.MissingCheckpointError(
            f"no checkpoint comes with skm for '{domain}' (there are: {shipped or 'none'});"
            f" `skm train {domain} --out FILE{checkpoint.SUFFIX}` makes one."
        )
    return path
