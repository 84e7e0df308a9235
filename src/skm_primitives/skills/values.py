"""What skills are to a planner (`Skills`) and to an executor (`Primitives`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from gymnasium.spaces import Space

from skm_primitives.skills.goals import Goal
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

# Where actions lead at random: how often each action led to each place, as sparse arrays.


@dataclass(frozen=True, eq=False)
class Chances:
    """The places that each action leads to and how likely each is, of a world in which actions slip.

    Entries go by `pair` = place × actions + action; every pair has at least one.
    """

    pair: IntArray
    place: IntArray
    """The index of a place that the pair leads to."""
    chance: FloatArray
    """How likely that is, in single precision (so that it can be sent as it is); those of a pair add up
    to 1."""

    @classmethod
    def counted(cls, counts: IntArray) -> Chances:
        """Return the chances from `counts[place, action, place]`; what was never tried leads nowhere."""
        places, actions, _ = counts.shape
        tried = counts.sum(axis=2)
        here, action = np.nonzero(tried == 0)
        known = counts.copy()
        known[here, action, here] = 1
        pair, place = np.nonzero(known.reshape(places * actions, -1))
        total = np.maximum(tried, 1).reshape(-1)[pair]
        share = known.reshape(places * actions, -1)[pair, place] / total
        return cls(pair, place, share.astype(np.float32).astype(np.float64))

    @classmethod
    def of_table(cls, table: Float32Array) -> Chances:
        """Return the chances of a table `[place, action, place]`, as `table` makes it."""
        rows = table.reshape(-1, table.shape[2])
        pair, place = np.nonzero(rows)
        return cls(pair, place, rows[pair, place].astype(np.float64))

    def table(self, places: int, actions: int) -> Float32Array:
        """Return `[place, action, place]`: how likely each action leads to each place."""
        table: Float32Array = np.zeros((places * actions, places), np.float32)
        table[self.pair, self.place] = self.chance
        return table.reshape(places, actions, places)

    @cached_property
    def _first(self) -> IntArray:
        """Where the entries of each pair begin."""
        first: IntArray = np.searchsorted(self.pair, np.arange(self.pair[-1] + 1))
        return first

    def expected(self, arriving: FloatArray) -> FloatArray:
        """Return `[u, place, action, …]`: the mean of `arriving[u, place, …]` over what follows."""
        weights = self.chance.reshape(-1, *(1,) * (arriving.ndim - 2))
        mean = np.add.reduceat(arriving[:, self.place] * weights, self._first, axis=1)
        shaped: FloatArray = mean.reshape(len(arriving), arriving.shape[1], -1, *arriving.shape[2:])
        return shaped

    def log_expected(self, arriving: FloatArray) -> FloatArray:
        """Return the same of logarithms: no mean is too small for a number."""
        chance = np.log(self.chance).reshape(-1, *(1,) * (arriving.ndim - 2))
        mean = np.logaddexp.reduceat(arriving[:, self.place] + chance, self._first, axis=1)
        shaped: FloatArray = mean.reshape(len(arriving), arriving.shape[1], -1, *arriving.shape[2:])
        return shaped

    def reached(self, actions: int) -> IntArray:
        """Return `[place, …]`: every place that some action leads to, the first again as filling."""
        source = self.pair // actions
        counts = np.bincount(source)
        rows = np.split(self.place, np.cumsum(counts)[:-1])
        most = int(counts.max())
        return np.array([np.resize(row, most) for row in rows], np.int64)


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
    """`onward[label set, goal]`: the value that each goal will have where that label set of the goal
    buffer is shown next; None where only the mean, `GoalToGoal`, is known."""


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
    detour: Float32Array
    """`detour[goal, dimension]`: another action that is nearly as good; varies with the state."""


AnyGoalValues: TypeAlias = GoalValues | ContinuousGoalValues


@dataclass(frozen=True, eq=False)
class PlaceWorld:
    """What lies behind goals that are places: where each action leads, and what each visit shows."""

    places: tuple[int, ...]
    successors: IntArray
    """`[place index, action]`: the index of the place reached (the likeliest, where there are several);
    the same place where unknown."""
    visit_labels: Mapping[int, tuple[frozenset[str], ...]]
    """The labels of each place at the k-th visit of an episode; the last holds from then on."""
    goal_probability: Float32Array
    """For each goal, the chance that arriving at its place shows its labels (1 as a rule)."""
    chances: Chances | None = None
    """Where actions lead to several places: to which, how often. None in a deterministic world."""
    goal_values: Float32Array | None = None
    """`[g, h]`: the value of goal h at the place of goal g; None where it is not known."""
    tried: BoolArray | None = None
    """`[place, action]`: whether it is known where the action leads; None: everywhere."""
    ended: BoolArray | None = None
    """`[place]`: whether the world ends on arriving there (a run may begin there all the same); None: it
    ends nowhere."""


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

    def among(self, goals: IntArray) -> GoalToGoal:
        """Return the same for some goals only; what is typical stays as it was."""
        rows = goals if self.rows is None else self.rows[goals]
        values = self.values[rows][:, goals]
        ended = None if self.ended is None else self.ended[goals]
        return GoalToGoal(values, self.approximate, None, self.typical[goals], ended)


@dataclass(frozen=True, eq=False)
class KnownWorld:
    """What lies behind goals that are label sets where the whole world is known: every cell of it."""

    successors: IntArray
    """`[cell, action]`: the cell that each action leads to."""
    label_ids: IntArray
    """`[cell]`: the index in `label_sets` of what the cell shows."""
    label_sets: tuple[frozenset[str], ...]
    constraints: tuple[str, ...] = ()
    near: IntArray | None = None
    """`[cell]`: bits over `constraints` that the cell does not show but comes close to; None: none."""
    end: int | None = None
    """The cell that stands for what comes after the end of the world: nobody arrives; None: no such."""

    def as_places(self, goals: int) -> PlaceWorld:
        """Return the same world with every cell a place, for planners of places."""
        shown = [self.label_sets[index] for index in self.label_ids.tolist()]
        return PlaceWorld(
            tuple(range(len(shown))),
            self.successors,
            {cell: (labels,) for cell, labels in enumerate(shown)},
            np.ones(goals, np.float32),
            ended=None if self.end is None else np.any(self.successors == self.end, axis=1),
        )


WorldModel: TypeAlias = PlaceWorld | GoalToGoal | KnownWorld


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
        """What can be done once a goal is achieved: exactly where goals are places or the world is

        known, else on average."""
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
