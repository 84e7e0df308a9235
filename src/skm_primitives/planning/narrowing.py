"""Only the goals that a mission can tell apart: of what it does not name, everything may be touched.

Where goals say which things may be touched on the way, there is one for every set of them: with ten
kinds of things 5,120. But a mission names only some, and to it a goal that keeps off the others is like
one that does not, only harder. So of goals with the same labels that allow the same of what the mission
names, only the freest are planned with; and those whose labels it does not name are left out where
showing nothing moves its machine nowhere. What is left grows with the mission, not with the world.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Final

import numpy as np

from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.grounded_goals import GroundedGoalPolicy
from skm_primitives.planning.policy import Decision
from skm_primitives.primitives import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    RemoteSkills,
    Skills,
    hold_of,
)
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

FEW: Final = 2
"""Goals of a label set among which none is worth leaving out."""


def goals_of_mission(mission: Mission, skills: Skills) -> IntArray:
    """Return which goals a mission can tell apart, as indices into those of the skills.

    All of them with two of each label set, the strictest and the freest: these are few anyway.
    """
    machine, goals = mission.machine, skills.goals
    if max(Counter(goal.labels for goal in goals).values(), default=0) <= FEW:
        return np.arange(len(goals))
    named = frozenset(machine.propositions).union(mission.events)
    others = frozenset(skills.constraints) - named
    there = {(goal.labels, goal.violated) for goal in goals}
    running = [state for state in range(machine.num_states) if state not in machine.terminal]
    nothing = [(state, machine.step(state, frozenset())) for state in running]
    idle = any(outcome.target != state or outcome.reward > 0 for state, outcome in nothing)
    kept = [
        index
        for index, goal in enumerate(goals)
        if (idle or goal.labels & named)
        and (others <= goal.violated or (goal.labels, goal.violated | others) not in there)
    ]
    return np.array(kept, np.int64)


class NarrowedPolicy:
    """The grounded planner on some of the goals, for robots with continuous actions."""

    planner = GroundedGoalPolicy.planner

    def __init__(
        self, mission: Mission, skills: Skills, behind: GoalToGoal, kept: IntArray
    ) -> None:
        self.mission = mission
        self._kept, self._count = kept, len(skills.goals)
        among = behind.among(kept)
        self._policy = GroundedGoalPolicy(
            mission, _with_goals(skills, kept, among), among, many=True
        )

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin an episode."""
        self._policy.start(observation)

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Take note of the state."""
        self._policy.entered(observation, moved)

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what a step does, of what it may do."""
        return self._policy.prefer(state, options, observation)

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return the violated constraints to ask with."""
        return self._policy.history(tracker)

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the weighted maximum over the goals, for each action."""
        kept, onward = self._kept, values.onward
        some = GoalValues(
            values.move[kept], values.stop[kept], None if onward is None else onward[:, kept]
        )
        return self._policy.composed(state, some)

    def wanted(self, state: int) -> BoolArray:
        """Return the goals of any worth in a machine state."""
        wanted = np.zeros(self._count, np.bool_)
        wanted[self._kept] = self._policy.wanted(state)
        return wanted

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> FloatArray:
        """Return what arriving at each goal is worth, for those who watch."""
        weights = np.zeros(self._count)
        weights[self._kept] = self._policy.weights_of_goals(state, values)
        return weights

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return what to do, from the values of every goal."""
        assert isinstance(values, ContinuousGoalValues)
        kept = self._kept
        some = ContinuousGoalValues(
            values.action[kept], values.value[kept], values.spread[kept], values.detour[kept]
        )
        found = self._policy.choose(state, some)
        goal = int(kept[found.goal]) if found.goal >= 0 else found.goal
        return replace(found, goal=goal)

    def doubt(self) -> None:
        """Try another way."""
        self._policy.doubt()


def _with_goals(skills: Skills, kept: IntArray, behind: GoalToGoal) -> RemoteSkills:
    """Return what is known of skills, with some of their goals."""
    return RemoteSkills(
        domain=skills.domain,
        checkpoint="",
        digest=skills.digest,
        propositions=skills.propositions,
        constraints=skills.constraints,
        goals=tuple(skills.goals[index] for index in kept.tolist()),
        behind_goals=behind,
        gamma=skills.gamma,
        observation_space=skills.action_space,
        action_space=skills.action_space,
        hold=hold_of(skills),
    )
