"""A mission under way, one state of the world at a time (Algorithm 3).

What `execution.run_episode` does in a loop, for those who are called when something arrives: a node.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from skm_machine.skill_machine import plan_paper
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.planning.policy import Decision, Policy, best_of_goals
from skm_primitives.primitives import AnyGoalValues, Primitives


class MissionRun:
    """A policy with its tracker: takes states, gives decisions, and knows when it is over."""

    def __init__(self, policy: Policy, primitives: Primitives, max_steps: int) -> None:
        self.policy = policy
        self.primitives = primitives
        self.max_steps = max_steps
        self.machine = policy.mission.machine
        self.tracker = MissionTracker(self.machine, primitives.constraints)
        self.decision: Decision | None = None
        self._values: AnyGoalValues | None = None
        self._skills = plan_paper(self.machine, primitives.gamma).skills
        self._targets: dict[tuple[int, int], str] = {}

    def begin(self, observation: Any, labels: Collection[str]) -> None:  # noqa: ANN401
        """Begin in this state; refuses what cannot be achieved from here."""
        self.tracker.start(labels)
        self.policy.start(observation)

    def enter(self, observation: Any, labels: Collection[str]) -> bool:  # noqa: ANN401
        """Take the state that a step has led to; tell whether the machine moved.

        `observation` is None where it was unusable: the labels count all the same.
        """
        before = len(self.tracker.transitions)
        self.tracker.update(labels)
        moved = len(self.tracker.transitions) > before
        if observation is not None:
            self.policy.entered(observation, moved)
        return moved

    @property
    def over(self) -> bool:
        """Whether nothing is left to decide."""
        return self.tracker.status is not Status.RUNNING or self.tracker.steps >= self.max_steps

    @property
    def history(self) -> frozenset[str]:
        """The violated constraints to ask the primitives with."""
        return self.policy.history(self.tracker)

    def decide(self, values: AnyGoalValues) -> Decision:
        """Return what to do in the present state, from the values of every goal in it."""
        self._values = values
        self.decision = self.policy.choose(self.tracker.state, values)
        return self.decision

    @property
    def goal(self) -> int:
        """The goal in pursuit, as an index in the goal buffer; −1 if there is none."""
        return -1 if self.decision is None else self.decision.goal

    @property
    def goal_value(self) -> float:
        """The value of the goal in pursuit where the last decision was made: γ to its distance.

        Whatever is violated on the way: the machine knows which violations matter.
        """
        if self._values is None or self.goal < 0:
            return 0.0
        pursued, goals = self.primitives.goals[self.goal], self.primitives.goals
        arrival = pursued.labels, pursued.place
        same = [index for index, goal in enumerate(goals) if (goal.labels, goal.place) == arrival]
        return float(best_of_goals(self._values)[1][same].max())

    @property
    def target(self) -> str:
        """What the current skill pursues, as an expression over propositions; empty at the end.

        With a goal in pursuit, the transition that it takes; else that of the paper's planner.
        """
        state = self.tracker.state
        goal = self.goal
        if state not in self._skills:
            return ""
        if (state, goal) not in self._targets:
            reach = self._skills[state].reach
            if goal >= 0:
                outcome = self.machine.step(state, self.primitives.goals[goal].labels)
                if outcome.target != state or outcome.reward > 0:
                    reach = self.machine.label(state, [outcome])
            self._targets[state, goal] = str(reach)
        return self._targets[state, goal]

    @property
    def active_constraints(self) -> tuple[str, ...]:
        """The propositions that the current skill keeps from failing the mission, sorted."""
        skill = self._skills.get(self.tracker.state)
        return () if skill is None else tuple(sorted(skill.constraints))
