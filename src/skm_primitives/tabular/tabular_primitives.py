"""Primitives from a tabular learner: everything is in a table, and values are a look-up."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.chances import Chances
from skm_primitives.checkpoint import Card
from skm_primitives.goals import Goal
from skm_primitives.primitives import GoalToGoal, GoalValues, PlaceWorld
from skm_primitives.tabular.learned_state import TabularState, check_names
from skm_primitives.tabular.tables import Tables
from skm_sim.arrays import Float32Array, IntArray
from skm_sim.domain import DomainSpec


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
        self._visits = state.visits
        slips = state.settings.places and tables.slipped
        self._arrivals = tables.arrivals if slips else None
        """How often each action led to each place, where that is more than one."""
        self._ends = _ends(tables) if state.settings.places else set()
        """Places on arriving at which the world has ended each time."""
        target, probability = _targets_of_goals(state, self.goals)
        self._goal_probability: Float32Array = probability
        wanted = np.array([histories.bits(goal.violated) for goal in self.goals], np.int64)
        # Both tables as (states, histories, goals, actions).
        states, actions = tables.next_state.shape
        shape = (states, histories.sets, len(self.goals), actions)
        self._move: Float32Array = np.zeros(shape, np.float32)
        self._stop: Float32Array = np.zeros(shape, np.float32)
        for violated in range(histories.sets):
            pair = histories.pair[violated, wanted]
            near = np.flatnonzero(pair != histories.lost)
            moves = tables.move[:, :, pair[near], target[near]] * probability[near]
            self._move[:, violated, near] = moves.transpose(0, 2, 1)
            here = np.flatnonzero(wanted == violated)
            stops = tables.stop[:, :, target[here]] * probability[here]
            self._stop[:, violated, here] = stops.transpose(0, 2, 1)
        for array in (self._move, self._stop, self._goal_probability):
            array.setflags(write=False)
        self._rows = {histories.names(bits): bits for bits in range(histories.sets)}

    @cached_property
    def behind_goals(self) -> PlaceWorld | GoalToGoal:
        """What lies behind the goals, read off the learned values."""
        if self.goals and self.goals[0].place is None:
            return GoalToGoal(self._goal_to_goal(), approximate=False)
        return self._place_world()

    def _place_world(self) -> PlaceWorld:
        """Return the world that place goals imply: ⟨a, 1⟩ has a value for where a leads, only."""
        unviolated = [
            (index, goal.place)
            for index, goal in enumerate(self.goals)
            if goal.place is not None and not goal.violated
        ]
        places = tuple(sorted({place for _, place in unviolated}))
        number = {place: index for index, place in enumerate(places)}
        goals = np.array([index for index, _ in unviolated], np.int64)
        goal_place = np.array([number[place] for _, place in unviolated], np.int64)
        rows, known = [], []
        for place in places:
            stop = self._stop[place, 0, goals]
            reached = goal_place[stop.argmax(axis=0)]
            known.append(stop.max(axis=0) > 0)
            rows.append(np.where(known[-1], reached, number[place]))
        successors = np.array(rows, np.int64)
        visit_labels = self._visits.visit_labels()
        chances = None
        if self._arrivals is not None:
            counts = self._arrivals[np.ix_(places, range(len(rows[0])), places)]
            chances = Chances.counted(counts.astype(np.int64))
        best = np.maximum(self._move[:, 0], self._stop[:, 0]).max(axis=2)
        at_goals: Float32Array = best[[goal.place for goal in self.goals]]
        tried = np.array(known, np.bool_)
        ended = np.isin(places, sorted(self._ends))
        return PlaceWorld(
            places,
            successors,
            visit_labels,
            self._goal_probability,
            chances,
            at_goals,
            None if tried.all() else tried,
            ended if ended.any() else None,
        )

    def _goal_to_goal(self) -> Float32Array:
        """Return the mean best values of all goals over the places that show a goal's labels."""
        best = np.maximum(self._move[:, 0], self._stop[:, 0]).max(axis=2)
        places, shown = self._visits.places, self._visits.label_sets
        at = {
            labels: best[
                [place for place, found in zip(places, shown, strict=True) if found == labels]
            ]
            for labels in set(shown)
        }
        mean: Float32Array = np.array([at[goal.labels].mean(axis=0) for goal in self.goals])
        return mean

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


def _ends(tables: Tables) -> set[int]:
    """Return the places that end the world.

    In checkpoints that do not say so, as far as actions that lead to one place only can tell.
    """
    if tables.ended.any():
        return set(np.flatnonzero(tables.ends()).tolist())
    led = tables.arrivals > 0
    state, action = np.nonzero(led.sum(axis=2) == 1)
    place = led[state, action].argmax(axis=1)
    ended = tables.next_state[state, action] == len(tables.next_state)
    return set(place[ended].tolist()) - set(place[~ended].tolist())


def _targets_of_goals(
    state: TabularState, goals: tuple[Goal, ...]
) -> tuple[IntArray, Float32Array]:
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


def load(arrays: dict[str, NDArray[Any]], card: Card, spec: DomainSpec | None) -> TabularPrimitives:
    """Return the primitives in a checkpoint of the tabular learner."""
    state = TabularState.restore(arrays, card)
    if spec is not None:
        check_names(state, spec)
    return TabularPrimitives(state, card.digest)
