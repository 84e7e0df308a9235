"""The planners, by name: from a mission and the skills to a policy."""

from __future__ import annotations

from typing import Final

from gymnasium.spaces import Box

from skm_machine.errors import SkmError, did_you_mean
from skm_machine.mission import Mission
from skm_primitives.planning.label_set_policies import (
    GroundedGoalPolicy,
    NarrowedPolicy,
    goals_of_mission,
)
from skm_primitives.planning.large_mission_policy import LargeMissionPolicy
from skm_primitives.planning.paper import ComposedValuesPolicy, PaperPolicy
from skm_primitives.planning.place_graph import cells_of
from skm_primitives.planning.place_policies import GroundedPolicy, KnownWorldPolicy, RecurringPolicy
from skm_primitives.planning.policy import Policy
from skm_primitives.skills.values import KnownWorld, PlaceWorld, Skills

PLANNERS: Final = ("product", "paper")
"""Those of every domain, in process and in the machine node."""
EVERY_PLANNER: Final = (*PLANNERS, "values", "printed")
"""And two to measure with: see `composed_values` and `paper`."""


def parts_for(skills: Skills) -> str:
    """Return when a mission is best kept in parts for these skills: see `compile_mission`.

    Where the world is known, as soon as one machine would be large: the plan needs none.
    """
    return "if large" if isinstance(skills.world_model, KnownWorld) else "if too large"


def make_policy(
    mission: Mission,
    skills: Skills,
    planner: str = "product",
    slip: float = 0.0,
    *,
    possible_only: bool = False,
) -> Policy:
    """Return the policy of a mission.

    A mission that is kept in parts is planned without their product where the world is known; elsewhere
    it has to be one machine, and the policy's `mission` is that.
    `planner="paper"` is Algorithm 2, executed by Algorithm 3; `"product"` plans with what the skills
    know of the world, and refuses what they prove unachievable. `slip` is the chance that a random
    action is taken instead of the chosen one, which the product planner takes into account where goals
    are places. `"values"` is product weights over composed long-range values only, to compare with;
    `"printed"` is `"paper"` to the letter of Definition 3.2 (see `PaperPolicy`). `possible_only` has
    these two plan on the machine restricted to label sets that occur; the others always do.
    """
    if mission.in_parts:
        cells = cells_of(skills)
        if planner == "product" and cells is not None and not slip:
            return LargeMissionPolicy(mission, skills, cells)
        mission = mission.whole  # refused, if it is too large for one machine
    policy = _make_policy(mission.planned, skills, planner, slip, possible_only=possible_only)
    policy.mission = mission  # what runs is the mission itself; its states have the same numbers
    return policy


def _make_policy(
    mission: Mission, skills: Skills, planner: str, slip: float, *, possible_only: bool
) -> Policy:
    if planner not in EVERY_PLANNER:
        raise SkmError(f"unknown planner '{planner}'{did_you_mean(planner, EVERY_PLANNER)}")
    if possible_only and planner not in ("paper", "printed"):
        raise SkmError(
            f"--possible-only goes with --planner paper: '{planner}' asks for nothing that never shows"
        )
    if planner == "values":
        return ComposedValuesPolicy(mission, skills)
    if planner in ("paper", "printed"):
        printed = planner == "printed"
        return PaperPolicy(mission, skills, possible_only=possible_only, printed=printed)
    if isinstance(skills.world_model, PlaceWorld):
        sure = not slip and skills.world_model.chances is None
        if mission.events or (mission.machine.endless and sure):
            return RecurringPolicy(mission, skills, skills.world_model)
        return GroundedPolicy(mission, skills, skills.world_model, slip)
    if isinstance(skills.world_model, KnownWorld):
        if mission.machine.epsilon_transitions or mission.events:
            return RecurringPolicy(mission, skills, skills.world_model.as_places(len(skills.goals)))
        return KnownWorldPolicy(mission, skills, skills.world_model)
    behind = skills.world_model
    kept = goals_of_mission(mission, skills)
    if isinstance(skills.action_space, Box) and 0 < len(kept) < len(skills.goals):
        return NarrowedPolicy(mission, skills, behind, kept)
    return GroundedGoalPolicy(mission, skills, behind)
