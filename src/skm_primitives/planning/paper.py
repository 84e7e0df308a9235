"""The paper's planner: Algorithm 2's skill machine, executed zero-shot (Algorithm 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_machine.possible import shown_everywhere
from skm_machine.reward_machine import Outcome
from skm_machine.skill_machine import SkillMachine, plan_paper, plan_possible, transition_value
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.label_set_policies import GroundedGoalPolicy
from skm_primitives.planning.policy import Decision, best_option, log_of
from skm_primitives.skills.composition import goal_mask
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    Skills,
)
from skm_sim.arrays import Float32Array


class PaperPolicy:
    """Zero-shot execution of the paper's skill machine (Algorithm 3).

    In every step it takes the action of the greatest composed value, from the values of that step alone:
    no goal is kept in pursuit, and nothing that was tried is remembered.

    One thing is not as printed, unless `printed` says so. Definition 3.2 composes the values of ⟨a, 0⟩,
    going on after the step; here an action is worth the better of ⟨a, 0⟩ and ⟨a, 1⟩. With ⟨a, 0⟩ alone,
    to step on a goal in the middle of a room is worth the same as to walk away from it (either way it
    takes two more steps to stop there), and the agent goes to and fro beside its goal; in a gridworld it
    then achieves no task from any start (docs/explanation/planning.md).

    With `possible_only`, the machine is restricted to the label sets of the goal buffer, those that some
    state of the world was seen to show. The paper assumes that every transition can be achieved; where
    the shortest way through the machine takes a label set that no state shows, it has no goal at all.
    """

    def __init__(
        self,
        mission: Mission,
        skills: Skills,
        *,
        possible_only: bool = False,
        printed: bool = False,
    ) -> None:
        self.planner = "printed" if printed else "paper"
        self.mission = mission
        self._skills = skills
        self._printed = printed
        machine = mission.machine
        self.skill_machine: SkillMachine = plan_paper(machine, skills.gamma)
        if possible_only:
            shown = shown_everywhere(machine, label_sets_of(skills.goals))
            self.skill_machine = plan_possible(machine, shown, skills.gamma)
        planned = self.skill_machine.skills
        nothing = np.zeros(0, np.intp)  # where no goal leads on any more
        self._wanted: dict[int, NDArray[np.intp]] = {
            state: np.flatnonzero(goal_mask(planned[state], skills.goals))
            if state in planned
            else nothing
            for state in range(machine.num_states)
        }

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin: nothing is known of the state but what its values will say."""

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Note that a step has ended: nothing is remembered of it."""

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
        best: Float32Array = self._of_wanted(state, values).max(axis=0, initial=0.0)
        return best

    def _of_wanted(self, state: int, values: GoalValues) -> Float32Array:
        """Return the values of the wanted goals, `(goals, actions)`."""
        wanted = self._wanted[state]
        move: Float32Array = values.move[wanted]
        return move if self._printed else np.maximum(move, values.stop[wanted])

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> Float32Array:  # noqa: ARG002
        """Return 1 for the goals in the mask and 0 for the others, for display."""
        weights = np.zeros(len(self._skills.goals), np.float32)
        weights[self._wanted[state]] = 1
        return weights

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the masked maximum; its value is 0 where no wanted goal is in reach.

        Where all are worth nothing, any action is one of the greatest value: the robot stands still.
        """
        wanted = self._wanted[state]
        if isinstance(values, ContinuousGoalValues):
            wanted = wanted[values.value[wanted] > 0]
            if not len(wanted):
                return Decision(values.action[0] * 0, -1, 0.0)
            goal = int(wanted[values.value[wanted].argmax()])
            return Decision(values.action[goal], goal, float(values.value[goal]))
        if not len(wanted):
            return Decision(0, -1, 0.0)
        composed = self._of_wanted(state, values)
        number, action = divmod(int(composed.argmax()), composed.shape[1])
        value = float(composed[number, action])
        return Decision(action, int(wanted[number]), value)


# The planner `values`: product weights over composed long-range values, and nothing else.
#
# In tabular domains the product planner reads the one-step world off the learned tables and
# plans on it: model-based planning on what was learned, which would do as well if every long-
# range value were wiped out. Here no step of the world is known. What a goal is worth is what the
# learned values say of all goals at its place, and an action is worth the best of weight × value,
#
#     max_g  w_u(g) · max{Q_MAX(⟨s,∅⟩, g, ⟨a,0⟩), Q_MAX(⟨s,∅⟩, g, ⟨a,1⟩)},
#     w_u(g) = δ_r(u, g) + γ max_h w_u'(h) V(g, h),   u' = δ_u(u, g),
#
# as where goals are label sets. So it shows what composition of values alone can do. Visits are
# not counted (`mail_present`), and what a way to a goal may touch is known of constraints only.


class ComposedValuesPolicy(GroundedGoalPolicy):
    """Zero-shot execution with goal weights from the values of goals at the places of goals."""

    planner = "values"

    def __init__(self, mission: Mission, skills: Skills) -> None:
        super().__init__(mission, skills, _between_goals(skills))


def _between_goals(skills: Skills) -> GoalToGoal:
    """Return what is known of the values of goals where others are achieved."""
    behind = skills.world_model
    if isinstance(behind, GoalToGoal):
        return behind
    if behind.goal_values is not None:
        return GoalToGoal(behind.goal_values, approximate=False)
    raise SkmError(
        f"the skills of '{skills.domain}' are not served with the values between their goals; use"
        " planner 'product' or 'paper'."
    )
