"""Explanations of a run: which goal it pursues, and why this action.

For display only: it looks at a decision that was made and changes nothing: what depends on the
machine's state alone is worked out once for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from skm_machine.factored import FactoredMachine
from skm_machine.logic.timed import NANOSECONDS
from skm_machine.monitor import is_fatal
from skm_machine.reward_machine import Outcome
from skm_machine.skill_machine import SkillMachine, optimal_values, plan_paper, transition_value
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.policy import Expectation, best_of_goals
from skm_primitives.planning.shield import Shield
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import AnyGoalValues
from skm_sim.arrays import Float32Array, FloatArray, IntArray

MOST_STUDIED: Final = 64
"""Most states of a machine whose descriptions are worked out before a mission begins."""


class MissionText:
    """Explanations of a run under way: which goal it pursues, what it must avoid."""

    def __init__(self, run: MissionRun) -> None:
        self._run = run
        self._machine = run.machine
        self._planned = run.policy.mission.planned.machine
        """The machine that the plan is of: its labels say which goal the robot pursues."""
        clocks = run.policy.mission.clocks
        self._ticks = frozenset(() if clocks is None else clocks.names)
        self._targets: dict[tuple[int, int], str] = {}
        self._labels: dict[tuple[int, Outcome], str] = {}
        self._fatal: dict[int, tuple[str, ...]] = {}
        self._closing: dict[tuple[int, str], bool] = {}

    def study(self) -> None:
        """Work out the descriptions of a small machine's states, before the robot is in them."""
        if self._machine.num_states > MOST_STUDIED:
            return
        for state in range(self._machine.num_states):
            if not self._is_end(state):
                self._fatal_in(state)
                for outcome in self._planned.successors(state):
                    if _moves(state, outcome) and not is_fatal(self._machine, outcome):
                        self._label(state, outcome)
        self._run.group_goals()

    @property
    def target(self) -> str:
        """What the current skill pursues, as an expression over propositions; empty at the end.

        With a goal in pursuit, the transition that it takes; else that of the paper's planner.
        """
        state, goal = self._run.tracker.state, self._run.goal
        if self._is_end(state):
            return ""
        if (state, goal) not in self._targets:
            self._targets[state, goal] = self._reach(state, goal)
        return self._targets[state, goal]

    def _reach(self, state: int, goal: int) -> str:
        if goal >= 0:
            outcome = self._planned.step(state, self._run.skills.goals[goal].labels)
            if _moves(state, outcome):
                return self._label(state, outcome)
        if isinstance(self._planned, FactoredMachine):
            return " & ".join(self._planned.pending_clauses(state))
        return str(self._paper.skills[state].reach)

    def _label(self, state: int, outcome: Outcome) -> str:
        if (state, outcome) not in self._labels:
            self._labels[state, outcome] = str(self._planned.label(state, [outcome]))
        return self._labels[state, outcome]

    @cached_property
    def _paper(self) -> SkillMachine:
        """The paper's plan, for display of a run that pursues no goal."""
        return plan_paper(self._planned, self._run.skills.gamma)

    @property
    def active_constraints(self) -> tuple[str, ...]:
        """The propositions that can fail the mission in the machine's state, sorted."""
        state = self._run.tracker.state
        return () if self._is_end(state) else self._fatal_in(state)

    def _fatal_in(self, state: int) -> tuple[str, ...]:
        if state not in self._fatal:
            fatal = [
                each for each in self._machine.successors(state) if is_fatal(self._machine, each)
            ]
            label = self._machine.label(state, fatal) if fatal else None
            names = () if label is None else label.propositions()
            named = tuple(sorted(name for name in names if name not in self._ticks))
            self._fatal[state] = named
        return self._fatal[state]

    @property
    def late(self) -> str:
        """The deadline that the goal in pursuit is not expected to meet; empty: none.

        A value is γ to the steps that a goal is away, so it says how long the way takes. That is an
        expectation, no proof: the mission goes on.
        """
        mission, clocks = self._run.policy.mission, self._run.tracker.clocks
        if mission.clocks is None or clocks is None:
            return ""  # As a rule, and in every step: nothing is worked out for it.
        pace, value = mission.step_seconds or mission.expected_step_seconds, self._run.goal_value
        if not pace or value <= 0:
            return ""
        state = self._run.tracker.state
        labels = self._run.skills.goals[self._run.goal].labels
        reached = self._machine.step(state, labels).target
        seconds = pace * (1 + math.log(value) / math.log(self._run.skills.gamma))
        for tick in mission.clocks.ticks:
            end = clocks.end(tick) if tick.kind == "closes" else None
            left = math.inf if end is None else (end - self._run.tracker.time) / NANOSECONDS
            # One step of grace: a value is exact to a step at best.
            if left < seconds - pace and self._lost_by(state, tick.name):
                if self._lost_by(reached, tick.name):
                    continue  # This goal is not what the deadline is about.
                return (
                    f"{mission.clocks.texts[tick.operator]} is not expected to be met in time: what it"
                    f" takes is about {seconds:.1f} s away, and {left:.1f} s are left"
                )
        return ""

    def _lost_by(self, state: int, tick: str) -> bool:
        """Tell whether a mission in a machine state fails when a window closes."""
        if self._is_end(state):
            return state in self._machine.failure
        if (state, tick) not in self._closing:
            given = {name: name == tick for name in self._ticks}
            found = self._machine.delta.given(given).outcomes(state)
            targets = {self._machine.outcomes[index].target for index in found}
            self._closing[state, tick] = bool(targets & self._machine.failure)
        return self._closing[state, tick]

    def _is_end(self, state: int) -> bool:
        return state in self._machine.terminal or state in self._machine.failure


def _moves(state: int, outcome: Outcome) -> bool:
    """Tell whether a step is a transition: to another state, or into another round."""
    return outcome.target != state or outcome.reward > 0


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
    """What the shield did about the action, as a sentence; empty: it passed it on."""
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
            waiting=run.decision is not None and run.decision.expectation is Expectation.WAITING,
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
            fatal = {choice.outcome for choice in found if is_fatal(machine, choice.outcome)}
            fatal |= {o for o in machine.successors(state) if is_fatal(machine, o)}
            continuation = [c for c in found if c.outcome not in fatal and _moves(state, c.outcome)]
            text = str(machine.label(state, sorted(fatal))) if fatal else ""
            self._choices[state] = continuation, [c for c in found if c.outcome in fatal], text
        return self._choices[state]
