"""Policies: from a mission and the learned skills to the next action, with no further learning.

A policy says which constraint history to ask the primitives with, and chooses an action from their
values. It never calls the primitives itself, so that the same policy runs in process and in a node
which asks for the values over a service.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.tracker import MissionTracker
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    Skills,
)
from skm_sim.arrays import BoolArray, Float32Array, FloatArray


class Expectation(Enum):
    """What to expect of a decision: how the progress of a mission is monitored."""

    NEARER = "nearer"
    """The mission comes nearer to its next transition, as fast as the value says."""
    CHANCE = "chance"
    """It does on average: chance may throw the robot back."""
    WAITING = "waiting"
    """Nothing can be done until an event happens."""
    EXHAUSTED = "exhausted"
    """Nothing any more: all that could be done has been tried."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do next, and why: the goal in pursuit (an index in the goal buffer) and its value."""

    action: int | Float32Array
    """The action to take."""
    goal: int
    """The number of the goal that it is taken for."""
    value: float
    """What the composed values say of it."""
    expectation: Expectation = Expectation.NEARER
    """What is to be expected of it."""
    rest: bool = False
    """Whether to stand still is as good: a robot that can does, and waits for the clock."""
    log_value: float = math.nan
    """The logarithm of its value, where the value itself may be too small for a number; else NaN."""
    steps: int = 0
    """Steps to that goal by the plan, where the policy knows its way; 0: it does not."""


def log_of(value: float) -> float:
    """Return the logarithm of a value; −∞ of what is worth nothing."""
    return math.log(value) if value > 0 else -math.inf


class Policy(Protocol):
    """What runs a mission in a state of the world."""

    planner: str
    """Its name, as commands take it."""
    mission: Mission
    """The mission that it carries out."""

    def start(self, observation: Any) -> None:  # noqa: ANN401 - whatever the domain observes
        """Begin an episode of the mission in the state that is observed."""
        ...

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Note that a step has ended in the state that is observed, and if it moved the machine."""
        ...

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what a step does, of what it may do, where it has led to what is observed.

        Asked before `entered`, and only where a commitment can be made or given up.
        """
        ...

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return the violated constraints to ask the primitives with."""
        ...

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return δ_Q(u)(⟨s,c⟩, ·): the composed value of each action in the machine state `state`.

        Only where actions are discrete: a continuous robot has no value for each action.
        """
        ...

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the best action in the machine state `state`, from the values of every goal."""
        ...


@runtime_checkable
class WantsGoals(Protocol):
    """A policy that can say which goals matter, so that no others need be asked about."""

    def wanted(self, state: int) -> BoolArray:
        """Return which goals have any weight in the machine state `state`."""
        ...


@runtime_checkable
class RanksActions(Protocol):
    """A policy that can tell actions apart also where their values are too small for numbers."""

    def log_values(self, state: int, values: GoalValues) -> FloatArray:
        """Return the logarithm of the value of each action in the machine state `state`."""
        ...


def action_ranks(policy: Policy, state: int, values: GoalValues) -> FloatArray:
    """Return what orders the actions of a policy in a machine state: the greatest is the best."""
    if isinstance(policy, RanksActions):
        return policy.log_values(state, values)
    return np.asarray(policy.composed(state, values), np.float64)


@runtime_checkable
class Ahead(Protocol):
    """A policy that needs no values to choose: it can do so while they are on their way."""

    def choose_ahead(self, state: int) -> Decision:
        """Return what `choose` will return in the machine state `state`, whatever the values."""
        ...


def best_option(
    machine: RewardMachine,
    state: int,
    options: tuple[Outcome, ...],
    log_value: Callable[[Outcome], float],
) -> Outcome:
    """Return the option of the greatest value; a commitment is given up only if keeping it is hopeless.

    Values are given as logarithms: only what cannot be had at all is −∞.
    """
    kept = [option for option in options if machine.keeps(state, option)]
    best = max(kept, key=log_value, default=None)
    if best is not None and log_value(best) > -math.inf:
        return best
    others = (option for option in options if option not in kept)
    return max(others, key=log_value, default=options[0])


def approximate(skills: Skills) -> bool:
    """Tell whether values come from networks, so that they may be wrong here and there."""
    return isinstance(skills.world_model, GoalToGoal) and skills.world_model.approximate


def best_of_goals(values: AnyGoalValues) -> tuple[Any, Float32Array]:
    """Return the best action of each goal, and its value over both terminate decisions."""
    if isinstance(values, ContinuousGoalValues):
        return values.action, values.value
    both = np.maximum(values.move, values.stop)
    return both.argmax(axis=1).tolist(), both.max(axis=1)


# What policies share that were learned on top of a zero-shot one: all but the choice of actions.


class PolicyOnTop:
    """A zero-shot policy, and what it says of commitments, constraints and composed values."""

    def __init__(self, zero_shot: Policy) -> None:
        self.zero_shot = zero_shot
        self.planner = zero_shot.planner
        self.mission: Mission = zero_shot.mission

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what the zero-shot policy would have a step do."""
        return self.zero_shot.prefer(state, options, observation)

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return the violated constraints that the zero-shot policy asks with."""
        return self.zero_shot.history(tracker)

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return δ_Q of the zero-shot policy."""
        return self.zero_shot.composed(state, values)
