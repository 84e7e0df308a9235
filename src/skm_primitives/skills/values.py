"""What skills are to a planner (`Skills`) and to an executor (`Primitives`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from gymnasium.spaces import Space

from skm_primitives.skills.goals import Goal
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.finite_world import FiniteWorld

# What is served of the learned skills: their goals, and the values of reaching each of them.


UNKNOWN: Final = -1
"""Stands in messages for the place that an action leads to where that is not known."""


@dataclass(frozen=True, slots=True)
class GoalValues:
    """Q_MAX(⟨s,c⟩, ·, ·) in one state, for every goal and discrete action; read-only."""

    move: Float32Array
    """`move[goal, action]`: the value of ⟨a, 0⟩."""
    stop: Float32Array
    """`stop[goal, action]`: the value of ⟨a, 1⟩."""
    continuation: Float32Array | None = None
    """`continuation[label set, goal]`: the value that each goal will have where that label set of the
    goal buffer is shown next; None where only the mean, `GoalToGoal`, is known."""
    legs: Float32Array | None = None
    """`legs[goal, label set, action]`: the value of ⟨a, 0⟩ for achieving a goal and then showing that
    label set of the goal buffer, with nothing to avoid; None where that was not learned."""

    def select(self, goals: IntArray) -> GoalValues:
        """Return the values of some goals only."""
        continuation = None if self.continuation is None else self.continuation[:, goals]
        legs = None if self.legs is None else self.legs[goals]
        return GoalValues(self.move[goals], self.stop[goals], continuation, legs)


@dataclass(frozen=True, slots=True)
class ContinuousGoalValues:
    """The best action for every goal and its value Q_MAX(⟨s,c⟩, g, ⟨a,0⟩), for continuous actions.

    What stopping gives need not be asked: it is 1 where the labels are the goal's, else 0. For a
    batch of robots, every array has one more axis, the first.
    """

    action: Float32Array
    """`action[goal, dimension]`"""
    value: Float32Array
    """`value[goal]`: γ to the number of steps that the goal is away; 0 if it is out of reach."""
    spread: Float32Array
    """`spread[goal]`: how far the networks disagree, half the gap between their log values."""
    near_best: Float32Array
    """`near_best[goal, dimension]`: another action that is nearly as good; varies with the state."""

    def select(self, goals: IntArray) -> ContinuousGoalValues:
        """Return the values of some goals only, of one robot."""
        return ContinuousGoalValues(
            self.action[goals], self.value[goals], self.spread[goals], self.near_best[goals]
        )


AnyGoalValues: TypeAlias = GoalValues | ContinuousGoalValues


@dataclass(frozen=True, eq=False)
class GoalToGoal:
    """What lies behind goals that are label sets, on average over where they are achieved."""

    values: Float32Array
    """`[g, h]`: the mean value of goal h where g was just achieved."""
    approximate: bool = True
    """Whether the values of a state come from networks, so that they may be wrong here and there."""
    rows: IntArray | None = None
    """Where goals share rows of `values`, as goals of the same labels do: the row of each."""
    mean: FloatArray | None = None
    """`[h]`: the mean value of goal h over more goals than there are here; None: over these."""
    ended: BoolArray | None = None
    """`[g]`: whether the world has ended each time that g was achieved; None: it is not known."""
    avoiding: FloatArray | None = None
    """`[constraint, l, h]`: the mean value of reaching the label set h where l was just shown, with one
    constraint to avoid. Only where skills can be asked with any avoid set: to them, the constraints that
    come as `violated` with a question are those that may be shown on the way to a strict goal."""

    @property
    def table(self) -> Float32Array:
        """`[g, h]`, with a row for every goal."""
        return self.values if self.rows is None else self.values[self.rows]

    @property
    def typical(self) -> FloatArray:
        """`[h]`: the mean value of goal h where any goal was just achieved."""
        if self.mean is not None:
            return self.mean
        rows = np.arange(len(self.values)) if self.rows is None else self.rows
        share = np.bincount(rows, minlength=len(self.values)) / len(rows)
        typical: FloatArray = share @ self.values
        return typical

    def select(self, goals: IntArray) -> GoalToGoal:
        """Return the same for some goals only; what is typical stays as it was."""
        rows = goals if self.rows is None else self.rows[goals]
        values = self.values[rows][:, goals]
        ended = None if self.ended is None else self.ended[goals]
        return GoalToGoal(values, self.approximate, None, self.typical[goals], ended)


WorldModel: TypeAlias = FiniteWorld | GoalToGoal


class Skills(Protocol):
    """What is known of the skill primitives of a domain before any value is asked for.

    It is all that a planner needs: a policy gets the values of a state handed to it.
    """

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
    def world_model(self) -> WorldModel:
        """What can be done once a goal is achieved: exactly in a finite world, else on average."""
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


class Primitives(Skills, Protocol):
    """The skill primitives of a domain (Definition 3.1), all in one: Q_MAX and its goals."""

    def values(self, observation: Any, violated: frozenset[str]) -> AnyGoalValues:  # noqa: ANN401
        """Return the values of every goal, from an observation and the constraints violated."""
        ...


@runtime_checkable
class SelectivePrimitives(Primitives, Protocol):
    """Primitives that answer sooner if they are asked about some goals only."""

    def wanted_values(
        self,
        observation: Any,  # noqa: ANN401
        violated: frozenset[str],
        wanted: BoolArray,
    ) -> AnyGoalValues:
        """Return the values as `values` does; goals that are not wanted may be worth nothing."""
        ...


def hold_of(skills: Skills) -> int:
    """Return for how many steps a decision is held: 1, unless the skills say otherwise."""
    return int(getattr(skills, "hold", 1))


@dataclass(frozen=True, eq=False)
class RemoteSkills:
    """Fits `Skills`: what is said about primitives that are served elsewhere."""

    domain: str
    checkpoint: str
    digest: str
    propositions: tuple[str, ...]
    constraints: tuple[str, ...]
    goals: tuple[Goal, ...]
    world_model: WorldModel
    gamma: float
    observation_space: Space[Any]
    action_space: Space[Any]
    hold: int = 1
    """Steps for which a decision is held."""


def select(skills: Skills, behind: GoalToGoal, goals: IntArray) -> RemoteSkills:
    """Return what is known of skills, with some of their goals: enough to plan with these alone."""
    return RemoteSkills(
        domain=skills.domain,
        checkpoint="",
        digest=skills.digest,
        propositions=skills.propositions,
        constraints=skills.constraints,
        goals=tuple(skills.goals[index] for index in goals.tolist()),
        world_model=behind.select(goals),
        gamma=skills.gamma,
        observation_space=skills.action_space,  # Nothing is observed through a selection.
        action_space=skills.action_space,
        hold=hold_of(skills),
    )
