"""The product planner with skills that take any avoid set: one is chosen for each machine state.

A goal is then a label set g to reach and an avoid set A, and the composed skill is

    max_g  w_u(g) · Q(s, a | g, A_u).

A_u is what to avoid in the machine state u: label sets that make the mission fail, and those after which
it is worth less than before. Skills take constraints, not label sets, so that A_u is the fewest
constraints of which each of those label sets shows one; what is avoided besides costs detours only, and
what a goal itself shows is allowed on arrival. So no list of avoid sets is learned or planned with: of
2ⁿ there are as many here as the machine has states.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from skm_machine.mission import Mission
from skm_machine.reward_machine import RewardMachine
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.label_set_policies import (
    GroundedGoalPolicy,
    log_goal_weights,
    log_values,
)
from skm_primitives.planning.legs_ahead import LegsAhead
from skm_primitives.planning.lookahead import NEVER, GoalOutcomes, goal_outcomes, log_sum
from skm_primitives.planning.policy import Decision
from skm_primitives.planning.product import machine_table, members
from skm_primitives.skills.goals import Goal, label_sets_of
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    RemoteSkills,
    Skills,
    hold_of,
)
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

WORSE: Final = 0.97
"""The share of a machine state's worth below which the state that a label set leads to is avoided."""
SWEEPS: Final = 4
"""How often avoid sets are worked out anew from what machine states are worth with those of before."""


class ReachAvoidPolicy(GroundedGoalPolicy):
    """Zero-shot execution with an avoid set for each machine state."""

    def __init__(self, mission: Mission, skills: Skills, behind: GoalToGoal) -> None:
        every = frozenset(skills.constraints)
        self._allowed = allowed_constraints(mission, skills, behind)
        among, between = with_allowed(skills, behind, self._allowed)
        super().__init__(mission, among, between)
        strict = {goal.labels: i for i, goal in enumerate(skills.goals) if not goal.violated}
        free = {goal.labels: i for i, goal in enumerate(skills.goals) if goal.violated == every}
        self._served = len(skills.goals)
        self._source: IntArray = np.array(
            [
                [
                    (free if allowed == every else strict)[goal.labels]
                    if goal.violated == allowed
                    else -1
                    for goal in among.goals
                ]
                for allowed in self._allowed
            ]
        )
        """`[u, g]`: which of the goals that are served has the value of g in u; −1: none."""
        self._own = _own_goals(among, self._allowed)
        """`[u, label set]`: the goal that avoids what the machine state u says."""
        self._free: IntArray = np.array([free[labels] for labels in label_sets_of(skills.goals)])
        """`[label set]`: the goal that is served and avoids nothing."""
        label_sets = label_sets_of(among.goals)
        self._labels: IntArray = np.array([label_sets.index(goal.labels) for goal in among.goals])
        """`[g]`: the label set that it shows."""
        means = np.asarray(behind.table, np.float64)[np.ix_(self._free, self._free)]
        self._legs = self._legs_ahead(mission, among, between, means)

    def _legs_ahead(
        self, mission: Mission, among: Skills, between: GoalToGoal, means: FloatArray
    ) -> LegsAhead:
        """Return what plans with two legs, with `means[l, h]` for ways that avoid nothing."""
        table = np.asarray(between.table, np.float64)[self._own[0]]
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.nan_to_num(np.stack([table[:, own] for own in self._own]) / means)
            costs, typical = np.log(np.minimum(shares, 1.0)), np.log(means)
        weights = np.take_along_axis(self._log_weights, self._own, axis=1)
        label_sets = label_sets_of(among.goals)
        return LegsAhead(mission.machine, label_sets, weights, typical, costs, self._log_gamma)

    def _worth(self, state: int, values: GoalValues) -> FloatArray:
        """Return log of what each action is worth for each goal; what follows, as seen from here.

        The best of many pairs is often one whose value is too large. A robot that comes back to where it
        was since the machine moved has been led astray by them, and goes on by single legs.
        """
        worth = super()._worth(state, replace(values, continuation=None))
        astray = self._discrete is not None and self._discrete.returned
        if values.legs is None or values.continuation is None or astray:
            return worth
        if np.isfinite(self._first(state)).any():
            return worth
        own = self._own[state]
        with np.errstate(divide="ignore"):
            between, legs = (
                np.log(some.astype(np.float64))
                for some in (values.continuation[:, own], values.legs[own])
            )
        between[~self._legs.label_sets(state)] = np.nan
        continuation = self._legs.continuation(state, between)
        paid = log_values(values)[own] + self._legs.paid[state][:, None]
        seen = np.logaddexp(paid, (legs + continuation[..., None]).max(axis=1))
        leads_on = np.isfinite(continuation).any(axis=1)
        worth[own[leads_on]] = seen[leads_on]
        return worth

    def _outcomes(self, mission: Mission, skills: Skills) -> GoalOutcomes:
        return avoiding_outcomes(mission.machine, skills, self._allowed)

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return what may be shown on the way in the machine state: the skills avoid all else."""
        super().history(tracker)
        return self._allowed[tracker.state]

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the weighted maximum over the goals, for each action."""
        worth = np.exp(self.log_values(state, values))
        return worth.astype(np.float32)

    def log_values(self, state: int, values: GoalValues) -> FloatArray:
        """Return the same as logarithms."""
        known = self._with_legs(state, values)
        assert isinstance(known, GoalValues)
        return super().log_values(state, known)

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the weighted maximum."""
        decision = super().choose(state, self._with_legs(state, values))
        if decision.goal < 0:
            return decision
        return replace(decision, goal=int(self._source[state, decision.goal]))

    def wanted(self, state: int) -> BoolArray:
        """Return the goals of any worth in a machine state, of those that are served.

        So are those that are of worth later on: what lies between label sets is asked for, too.
        """
        wanted: BoolArray = np.zeros(self._served, np.bool_)
        wanted[self._free[self._legs.label_sets(state)]] = True
        source = self._source[state]
        wanted[source[super().wanted(state) & (source >= 0)]] = True
        return wanted

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> FloatArray:
        """Return what arriving at each goal that is served is worth, for display."""
        weights = np.zeros(self._served)
        source = self._source[state]
        found = super().weights_of_goals(state, self._with_legs(state, values))
        np.maximum.at(weights, source[source >= 0], found[source >= 0])
        return weights

    def _with_legs(self, state: int, values: AnyGoalValues) -> AnyGoalValues:
        """Return the values of the goals that are planned with, from those that were served."""
        source = self._source[state]
        known = source >= 0
        if isinstance(values, ContinuousGoalValues):
            return ContinuousGoalValues(
                values.action[source],
                np.where(known, values.value[source], np.float32(0)),
                values.spread[source],
                values.near_best[source],
            )
        move, stop = (
            np.where(known[:, None], part[source], np.float32(0))
            for part in (values.move, values.stop)
        )
        if values.legs is None:
            return GoalValues(move, stop)
        legs = np.where(known[:, None, None], values.legs[source], np.float32(0))
        # What lies between label sets in this world: two legs that avoid nothing, by the first alone.
        single = np.maximum(values.move, values.stop)[self._free].max(axis=1)
        both = values.legs[self._free].max(axis=2)
        between = both / np.maximum(single, np.finfo(np.float32).tiny)[:, None]
        return GoalValues(move, stop, between[:, self._labels], legs)


def _own_goals(skills: Skills, allowed: tuple[frozenset[str], ...]) -> IntArray:
    """Return `[machine state, label set]`: the goal that allows on the way what the state says."""
    number = {(goal.labels, goal.violated): i for i, goal in enumerate(skills.goals)}
    label_sets = label_sets_of(skills.goals)
    return np.array([[number[labels, some] for labels in label_sets] for some in allowed])


def allowed_constraints(
    mission: Mission, skills: Skills, behind: GoalToGoal
) -> tuple[frozenset[str], ...]:
    """Return for each machine state what may be shown on the way to goals; all else is avoided."""
    machine, every = mission.machine, frozenset(skills.constraints)
    label_sets = label_sets_of(skills.goals)
    strict, between = with_allowed(skills, behind, (frozenset(),))
    outcomes = goal_outcomes(machine, strict)
    ended = np.zeros(len(strict.goals), np.bool_) if between.ended is None else between.ended
    possible = outcomes.steps_to_reward(machine.endless, ended) < NEVER
    target, reward = machine_table(machine, label_sets)
    moves = (target != np.arange(machine.num_states)[:, None]) | (reward > 0)
    committed = members(machine.num_states, machine.committed)
    kept = ~committed[:, None] | committed[target]
    running = [state for state in range(machine.num_states) if state not in machine.terminal]
    bad = moves & ~(kept & ((reward > 0) | possible[target]))
    log_gamma = math.log(skills.gamma)
    for sweep in range(SWEEPS):
        avoided = [covering(label_sets, bad[state], every) for state in range(len(bad))]
        allowed = tuple(every - some for some in avoided)
        if sweep == SWEEPS - 1:
            break
        among, between = with_allowed(skills, behind, allowed)
        _, worth = log_goal_weights(avoiding_outcomes(machine, among, allowed), among, between)
        after = log_sum(reward, log_gamma + worth[target])
        worse = moves & ~bad & (after < worth[:, None] + math.log(WORSE))
        if not worse[running].any():
            break
        bad |= worse
    return allowed


def avoiding_outcomes(
    machine: RewardMachine, skills: Skills, allowed: tuple[frozenset[str], ...]
) -> GoalOutcomes:
    """Return what goals do to the machine, where each state has its own avoid set.

    What may be shown on the way is nothing to fear: all that would be worse is avoided.
    """
    outcomes = goal_outcomes(machine, skills)
    own = np.array([[goal.violated == some for goal in skills.goals] for some in allowed])
    nothing = outcomes.passing[:0], outcomes.passing_reward[:0]
    return replace(
        outcomes, moves=outcomes.moves & own, passing=nothing[0], passing_reward=nothing[1]
    )


def covering(
    label_sets: tuple[frozenset[str], ...], bad: BoolArray, constraints: frozenset[str]
) -> frozenset[str]:
    """Return few constraints of which each bad label set shows one, and the others few."""
    left = [labels & constraints for labels, is_bad in zip(label_sets, bad, strict=True) if is_bad]
    fine = [labels for labels, is_bad in zip(label_sets, bad, strict=True) if not is_bad]
    chosen: set[str] = set()
    while left := [labels for labels in left if labels and not labels & chosen]:
        names = sorted(frozenset[str]().union(*left))
        chosen.add(
            min(
                names,
                key=lambda name: (
                    sum(name in labels for labels in fine),
                    -sum(name in labels for labels in left),
                ),
            )
        )
    return frozenset(chosen)


def with_allowed(
    skills: Skills, behind: GoalToGoal, allowed: tuple[frozenset[str], ...]
) -> tuple[RemoteSkills, GoalToGoal]:
    """Return skills with a goal for each label set and each of these sets, and what lies behind them.

    What a way costs that avoids several constraints is not measured: each is taken to cost its share.
    """
    constraints, every = skills.constraints, frozenset(skills.constraints)
    label_sets = label_sets_of(skills.goals)
    sets = tuple(dict.fromkeys(allowed))
    goals = tuple(Goal(labels, some) for labels in label_sets for some in sets)
    index = {(goal.labels, goal.violated): i for i, goal in enumerate(skills.goals)}
    free = np.array([index[labels, every] for labels in label_sets])
    means = np.asarray(behind.table, np.float64)[np.ix_(free, free)]
    assert behind.avoiding is not None
    share = np.minimum(behind.avoiding / np.maximum(means, 1e-9), 1.0)  # [constraint, l, h]
    values = np.empty((len(label_sets), len(label_sets), len(sets)))
    for number, some in enumerate(sets):
        avoided = [i for i, name in enumerate(constraints) if name not in some]
        values[:, :, number] = means * share[avoided].prod(axis=0)
    rows = np.repeat(np.arange(len(label_sets)), len(sets))
    ended = None if behind.ended is None else behind.ended[free][rows]
    flat = values.reshape(len(label_sets), -1).astype(np.float32)
    between = GoalToGoal(flat, behind.approximate, rows, ended=ended)
    known = RemoteSkills(
        domain=skills.domain,
        checkpoint="",
        digest=skills.digest,
        propositions=skills.propositions,
        constraints=constraints,
        goals=goals,
        world_model=between,
        gamma=skills.gamma,
        observation_space=skills.action_space,
        action_space=skills.action_space,
        hold=hold_of(skills),
    )
    return known, between
