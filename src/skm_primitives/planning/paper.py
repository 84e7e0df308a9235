"""The paper's planner at work: Algorithm 2's skill machine, executed zero-shot (Algorithm 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_machine.machine_values import transition_value
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_machine.skill_machine import SkillMachine, plan_paper
from skm_machine.tracker import MissionTracker
from skm_primitives.composition import goal_mask
from skm_primitives.planning.policy import (
    Decision,
    best_option,
    choose_action,
    log_of,
    memory_for,
    noise_of,
)
from skm_primitives.planning.pursuit import Pursuit
from skm_primitives.primitives import AnyGoalValues, ContinuousGoalValues, GoalValues, Skills
from skm_sim.arrays import Float32Array


class PaperPolicy:
    """Zero-shot execution of the paper's skill machine (Algorithm 3).

    The composed value of an action is the best over both terminate decisions. With ⟨a, 0⟩ alone, as
    printed, stepping on a goal in the middle of a room is worth the same as walking away from it
    (either way it takes two more steps to stop there), and the agent can dither next to its goal.
    """

    planner = "paper"

    def __init__(self, mission: Mission, skills: Skills) -> None:
        self.mission = mission
        self._skills = skills
        self.skill_machine: SkillMachine = plan_paper(mission.machine, skills.gamma)
        self._wanted: dict[int, NDArray[np.intp]] = {
            state: np.flatnonzero(goal_mask(skill, skills.goals))
            for state, skill in self.skill_machine.skills.items()
        }
        self._pursuit, self._state = Pursuit(), -1
        self._revisits = memory_for(skills)

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin with no goal in pursuit and nothing tried: it matters where values are approximate."""
        self.entered(observation, moved=True)

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Take note of the state; once the machine has moved, goals are chosen afresh."""
        if moved:
            self._state = -1
        if self._revisits is not None:
            self._revisits.arrive(observation, moved)

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401, ARG002
        """Return what a step does, of what it may do: what is worth most on the machine."""
        machine, values = self.mission.machine, self.skill_machine.values
        return best_option(
            machine,
            state,
            options,
            lambda o: log_of(transition_value(machine, state, o, values, self._skills.gamma)),
        )

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return the constraints violated since the machine entered its state."""
        return tracker.violated

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the masked maximum over the wanted goals, for each action."""
        wanted = self._wanted[state]
        best: Float32Array = np.maximum(values.move[wanted], values.stop[wanted]).max(
            axis=0, initial=0.0
        )
        return best

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> Float32Array:  # noqa: ARG002
        """Return 1 for the goals in the mask and 0 for the others, for those who watch."""
        weights = np.zeros(len(self._skills.goals), np.float32)
        weights[self._wanted[state]] = 1
        return weights

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the masked maximum; its value is 0 where no wanted goal is in reach."""
        wanted = self._wanted[state]
        if not len(wanted):
            still = values.action[0] * 0 if isinstance(values, ContinuousGoalValues) else 0
            return Decision(still, -1, 0.0)
        if isinstance(values, ContinuousGoalValues):
            if state != self._state:
                self._pursuit.restart()
                self._state = state
            chosen = self._pursuit.choose(values, np.isin(np.arange(len(values.value)), wanted))
            return chosen.decision(self._skills)
        composed = np.maximum(values.move[wanted], values.stop[wanted])
        number, action = choose_action(composed, self._revisits)
        value = float(composed[number, action])
        return Decision(action, int(wanted[number]), value, noise_of(self._skills))

    def doubt(self) -> None:
        """Believe what was pursued longest half as much; exact values are always believed."""
        self._pursuit.doubt()
        if self._revisits is not None:
            self._revisits.doubt()
