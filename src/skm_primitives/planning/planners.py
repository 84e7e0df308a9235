"""The planners, by name: from a mission and the skills to a policy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box

from skm_machine.errors import SkmError, did_you_mean
from skm_machine.mission import Mission
from skm_primitives.planning.base_policy import BasePolicy
from skm_primitives.planning.place_graph import cells_of
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.planning.policy import Decision, Policy
from skm_primitives.skills.values import AnyGoalValues, Skills
from skm_sim.finite_world import FiniteWorld
from skm_sim.plugins import PluginError, Plugins

PLANNERS: Final = ("product", "paper")
"""Those of every domain, in process and in the machine node."""
EVERY_PLANNER: Final = (*PLANNERS, "values", "printed")
"""And two to measure with: see `composed_values` and `paper`."""
INSTALLED: Final = Plugins("skm.planners", "planner")
"""Planners of other packages: each a function or class of (mission, skills) that gives a `Policy`."""


def planner_names() -> tuple[str, ...]:
    """Return every planner that can be named: those of skm, then those of installed packages."""
    return tuple(dict.fromkeys([*EVERY_PLANNER, *INSTALLED.names()]))


FORMER_NAMES: Final = {"grounded": "product"}
"""Names of 0.1, in scripts and mission files that still say them."""


def check_planner(name: str) -> str:
    """Return the name of a planner; an unknown one raises an error that names the nearest."""
    name = FORMER_NAMES.get(name, name)
    if name in EVERY_PLANNER and name in INSTALLED.names():
        raise PluginError(f"{INSTALLED.source(name)} has the name of one of skm's; rename it.")
    if name in EVERY_PLANNER or name in INSTALLED.names():
        return name
    raise SkmError(f"unknown planner '{name}'{did_you_mean(name, planner_names())}")


def parts_for(skills: Skills) -> str:
    """Return when a mission is best kept in parts for these skills: see `compile_mission`.

    Where the world is known, as soon as one machine would be large: the plan needs none.
    """
    return "if too large" if cells_of(skills) is None else "if large"


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

    Any other name is that of a planner of an installed package (docs/how-to/extending.md).
    """
    planner = check_planner(planner)
    if mission.in_parts:
        cells = cells_of(skills)
        if planner == "product" and cells is not None and not slip:
            from skm_primitives.planning.large_mission_policy import (  # noqa: PLC0415
                LargeMissionPolicy,
            )

            return LargeMissionPolicy(mission, skills, cells)
        mission = mission.whole  # refused, if it is too large for one machine
    policy = _make_policy(mission.planned, skills, planner, slip, possible_only=possible_only)
    policy.mission = mission  # what runs is the mission itself; its states have the same numbers
    return policy


def _make_policy(
    mission: Mission, skills: Skills, planner: str, slip: float, *, possible_only: bool
) -> Policy:
    if possible_only and planner not in ("paper", "printed"):
        raise SkmError(
            f"--possible-only goes with --planner paper: '{planner}' asks for nothing that never shows"
        )
    if planner not in EVERY_PLANNER:
        return _checked(planner, INSTALLED.call(planner, mission, skills), skills)
    # Each planner is imported where it is asked for: a command that runs one waits for no other.
    if planner in ("values", "paper", "printed"):
        from skm_primitives.planning.paper import (  # noqa: PLC0415
            ComposedValuesPolicy,
            PaperPolicy,
        )
    if planner == "values":
        return ComposedValuesPolicy(mission, skills)
    if planner in ("paper", "printed"):
        printed = planner == "printed"
        return PaperPolicy(mission, skills, possible_only=possible_only, printed=printed)
    behind = skills.world_model
    if isinstance(behind, FiniteWorld):
        return ProductPolicy(mission, skills, behind, slip)
    from skm_primitives.planning.label_set_policies import (  # noqa: PLC0415
        GroundedGoalPolicy,
        goals_of_mission,
    )

    if behind.avoiding is not None:
        from skm_primitives.planning.reach_avoid import ReachAvoidPolicy  # noqa: PLC0415

        return ReachAvoidPolicy(mission, skills, behind)
    selected = goals_of_mission(mission, skills)
    fewer = isinstance(skills.action_space, Box) and 0 < len(selected) < len(skills.goals)
    return GroundedGoalPolicy(mission, skills, behind, selected if fewer else None)


def _checked(planner: str, policy: Any, skills: Skills) -> Policy:  # noqa: ANN401 - of another package
    """Return what a planner of another package made, if it has all that a policy has."""
    wanted = [name for name, part in vars(Policy).items() if callable(part) and name[0] != "_"]
    missing = [name for name in wanted if not callable(getattr(policy, name, None))]
    if missing:
        raise PluginError(
            f"{INSTALLED.source(planner)} gave a {type(policy).__name__} without"
            f" {', '.join(missing)}; derive it from skm_primitives.BasePolicy."
        )
    if isinstance(policy, BasePolicy) and not hasattr(policy, "skills"):
        raise PluginError(
            f"{INSTALLED.source(planner)} has a constructor that does not call"
            " super().__init__(mission, skills)."
        )
    policy.choose = _choosing(planner, policy.choose, skills)
    for name in dir(policy):
        if name[0] != "_" and inspect.ismethod(part := getattr(policy, name)):
            setattr(policy, name, INSTALLED.guarded(planner, part))
    policy.planner = planner
    return policy  # type: ignore[no-any-return]


def _choosing(
    planner: str, choose: Callable[[int, AnyGoalValues], Any], skills: Skills
) -> Callable[[int, AnyGoalValues], Decision]:
    """Return the choice of a planner of another package, with what it chooses looked at."""
    guarded = INSTALLED.guarded(planner, choose)

    def checked(state: int, values: AnyGoalValues) -> Decision:
        decision = guarded(state, values)
        if not isinstance(decision, Decision):
            raise PluginError(
                f"{INSTALLED.source(planner)} chose {decision!r}; `choose` returns a"
                " skm_primitives.Decision."
            )
        space = skills.action_space
        action = decision.action if isinstance(space, Box) else int(decision.action)
        if not space.contains(
            np.asarray(action, space.dtype) if isinstance(space, Box) else action
        ):
            raise PluginError(
                f"{INSTALLED.source(planner)} chose the action {decision.action!r}, which is not in"
                f" {space}."
            )
        if not -1 <= decision.goal < len(skills.goals):
            raise PluginError(
                f"{INSTALLED.source(planner)} pursues goal {decision.goal}; there are"
                f" {len(skills.goals)}, from 0, and -1 for none."
            )
        return decision

    return checked
