"""Why this action: the goals in play with value and weight, what is avoided, what the shield vetoed.

For those who watch a run. It looks at a decision that was made and changes nothing: what depends on the
machine's state alone is worked out once for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from skm_machine.reward_machine import Outcome
from skm_machine.skill_machine import optimal_values, transition_value
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.policy import best_of_goals
from skm_primitives.planning.shield import Shield
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import AnyGoalValues
from skm_sim.arrays import Float32Array, FloatArray, IntArray

MOST_GOALS: Final = 8


@runtime_checkable
class Weighing(Protocol):
    """A policy that can say what arriving at each goal is worth to the mission."""

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> FloatArray | Float32Array:
        """Return the weight of each goal in a machine state."""
        ...


@dataclass(frozen=True)
class GoalInPlay:
    """A goal that would move the machine: the best one that shows its labels."""

    index: int
    value: float
    """γ to the steps that it is away."""
    weight: float
    """What arriving there is worth to the mission."""
    leads_to: int
    pursued: bool = False


@dataclass(frozen=True)
class Explanation:
    """What was weighed in one state."""

    goals: tuple[GoalInPlay, ...]
    """Best first."""
    others: int
    """Further ones that were left out."""
    avoid: str
    """The label sets that would fail the mission, as an expression; empty: none."""
    dangers: tuple[GoalInPlay, ...]
    """The nearest goals that would fail it, nearest first."""
    waiting: bool
    veto: str
    """What the shield did about the action, for people; empty: it let it pass."""
    vetoes: int
    lost_actions: tuple[int, ...]


class _Choice(NamedTuple):
    """The goals that show one label set, and what showing it does to the machine."""

    members: IntArray
    outcome: Outcome


class Explainer:
    """Explains the decisions of one run."""

    def __init__(self, run: MissionRun) -> None:
        self._run = run
        goals = run.skills.goals
        self._members = {
            labels: np.array([n for n, goal in enumerate(goals) if goal.labels == labels])
            for labels in label_sets_of(goals)
        }
        self._choices: dict[int, tuple[list[_Choice], list[_Choice], str]] = {}

    @cached_property
    def _worth(self) -> tuple[float, ...]:
        """What each machine state is worth by itself."""
        return optimal_values(self._run.machine, self._run.skills.gamma)

    def explain(self, values: AnyGoalValues) -> Explanation:
        """Return why the run's last decision is as it is; `values` are those that it was made from."""
        run, state = self._run, self._run.tracker.state
        continuation, fatal, avoid = self._choices_in(state)
        value = best_of_goals(values)[1]
        in_play = [self._best(state, choice, value, values) for choice in continuation]
        in_play.sort(key=lambda goal: (-goal.value * goal.weight, not goal.pursued))
        near = [
            GoalInPlay(
                int(c.members[value[c.members].argmax()]),
                float(value[c.members].max()),
                0.0,
                c.outcome.target,
            )
            for c in fatal
        ]
        near.sort(key=lambda goal: -goal.value)
        shield = run.shield
        return Explanation(
            goals=tuple(in_play[:MOST_GOALS]),
            others=max(0, len(in_play) - MOST_GOALS),
            avoid=avoid,
            dangers=tuple(goal for goal in near[:MOST_GOALS] if goal.value > 0),
            waiting=run.decision is not None and run.decision.waiting,
            veto="" if shield is None else shield.veto,
            vetoes=0 if shield is None else shield.replaced,
            lost_actions=()
            if not isinstance(shield, Shield)
            else tuple(np.flatnonzero(shield.lost_actions(state)).tolist()),
        )

    def _best(
        self, state: int, choice: _Choice, value: Float32Array, values: AnyGoalValues
    ) -> GoalInPlay:
        """Return the goal in pursuit if it is among them, else the one that is worth most."""
        run, members = self._run, choice.members
        weight = self._weights(state, choice.outcome, members, values)
        pursued = run.goal in members
        if pursued:
            place = int(np.flatnonzero(members == run.goal)[0])
            best = run.goal_value
        else:
            place = int((value[members] * weight).argmax())
            best = float(value[members[place]])
        return GoalInPlay(
            int(members[place]), best, float(weight[place]), choice.outcome.target, pursued
        )

    def _weights(
        self, state: int, outcome: Outcome, members: IntArray, values: AnyGoalValues
    ) -> FloatArray | Float32Array:
        """Return what the goals are worth: by the planner, or else by the machine alone."""
        run = self._run
        if isinstance(run.policy, Weighing):
            found: FloatArray | Float32Array = run.policy.weights_of_goals(state, values)[members]
            return found
        worth = transition_value(run.machine, state, outcome, self._worth, run.skills.gamma)
        return np.full(len(members), worth)

    def _choices_in(self, state: int) -> tuple[list[_Choice], list[_Choice], str]:
        if state not in self._choices:
            machine = self._run.machine
            found = [
                _Choice(members, machine.step(state, labels))
                for labels, members in self._members.items()
            ]
            fatal = {choice.outcome for choice in found if self._run.is_fatal(choice.outcome)}
            fatal |= {o for o in machine.successors(state) if self._run.is_fatal(o)}
            continuation = [
                c for c in found if c.outcome not in fatal and self._moves(state, c.outcome)
            ]
            text = str(machine.label(state, sorted(fatal))) if fatal else ""
            self._choices[state] = continuation, [c for c in found if c.outcome in fatal], text
        return self._choices[state]

    @staticmethod
    def _moves(state: int, outcome: Outcome) -> bool:
        return outcome.target != state or outcome.reward > 0
