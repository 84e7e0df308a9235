"""The planner `values`: grounded weights over composed long-range values, and nothing else.

In tabular domains the grounded planner reads the one-step world off the learned tables and plans on
it: model-based planning on what was learned, which would do as well if every long-range value were
wiped out. Here no step of the world is known. What a goal is worth is what the learned values say of
all goals at its place, and an action is worth the best of weight × value,

    max_g  w_u(g) · max{Q_MAX(⟨s,∅⟩, g, ⟨a,0⟩), Q_MAX(⟨s,∅⟩, g, ⟨a,1⟩)},
    w_u(g) = δ_r(u, g) + γ max_h w_u'(h) V(g, h),   u' = δ_u(u, g),

as where goals are label sets. So it shows what composition of values alone can do. Visits are not
counted (`mail_present`), and what a way to a goal may touch is known of constraints only.
"""

from __future__ import annotations

from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_primitives.planning.grounded_goals import GroundedGoalPolicy
from skm_primitives.primitives import GoalToGoal, PlaceWorld, Skills


class ComposedValuesPolicy(GroundedGoalPolicy):
    """Zero-shot execution with goal weights from the values of goals at the places of goals."""

    planner = "values"

    def __init__(self, mission: Mission, skills: Skills) -> None:
        super().__init__(mission, skills, _between_goals(skills))


def _between_goals(skills: Skills) -> GoalToGoal:
    """Return what is known of the values of goals where others are achieved."""
    behind = skills.behind_goals
    if isinstance(behind, GoalToGoal):
        return behind
    if isinstance(behind, PlaceWorld) and behind.goal_values is not None:
        return GoalToGoal(behind.goal_values, approximate=False)
    raise SkmError(
        f"the skills of '{skills.domain}' are not served with the values between their goals; use"
        " planner 'grounded' or 'paper'."
    )
