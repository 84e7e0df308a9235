"""A policy with everything but the choice: what a planner of one's own derives from."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_machine.skill_machine import optimal_values, transition_value
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.policy import Decision, best_option, log_of
from skm_primitives.skills.values import AnyGoalValues, GoalValues, Skills
from skm_sim.arrays import Float32Array


class BasePolicy:
    """Fits `Policy`; `choose` is left to do.

    `self.mission.machine` is the mission as a reward machine: `step(state, labels)` says where a label
    set leads and what that earns. `self.skills.goals` are the goals, in the order in which values come.
    """

    planner = ""
    """The name of the planner; set from the entry point."""

    def __init__(self, mission: Mission, skills: Skills) -> None:
        self.mission = mission
        """The mission that it carries out."""
        self.skills = skills
        """The skills that it composes."""

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action in the machine state `state`, from the values of every goal."""
        raise NotImplementedError(f"{type(self).__name__} must say how it chooses")

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin an episode: nothing is remembered."""

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Note that a step has ended: nothing is remembered."""

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401, ARG002
        """Return what a step does, of what it may do: what is worth most on the machine."""
        machine, gamma, worth = self.mission.machine, self.skills.gamma, self.machine_values
        return best_option(
            machine,
            state,
            options,
            lambda option: log_of(transition_value(machine, state, option, worth, gamma)),
        )

    @cached_property
    def machine_values(self) -> tuple[float, ...]:
        """The value of each machine state, as if every label set could be shown in one step."""
        return optimal_values(self.mission.machine, self.skills.gamma)

    def history(self, tracker: MissionTracker) -> frozenset[str]:  # noqa: ARG002
        """Return no constraint: the machine knows which violations mattered."""
        return frozenset()

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the value of the chosen action, and 0 for the others."""
        decision = self.choose(state, values)
        worth: Float32Array = np.zeros(values.move.shape[1], np.float32)
        worth[int(decision.action)] = decision.value
        return worth
