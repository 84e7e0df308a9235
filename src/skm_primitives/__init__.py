"""Skill primitives (world value functions): learned once, composed for any mission.

`load_primitives(domain)` gives the skills, `make_policy(mission, skills)` plans a mission with them, and
`run_episode(domain.make(), skills, policy, max_steps=1000)` runs it. What is named here is imported when
it is first asked for: training does not wait for the planners.
"""

from typing import TYPE_CHECKING

from skm_machine.lazy_exports import lazy_exports
from skm_machine.version import __version__

if TYPE_CHECKING:
    from skm_primitives.execution.episodes import Episode, run_episode
    from skm_primitives.execution.mission_env import MissionEnv, MissionVectorEnv
    from skm_primitives.execution.mission_run import MissionRun
    from skm_primitives.learning.training import Learner, TrainingResult, make_learner, train
    from skm_primitives.planning.base_policy import BasePolicy
    from skm_primitives.planning.planners import PLANNERS, make_policy, planner_names
    from skm_primitives.planning.policy import Decision, Policy
    from skm_primitives.skills.checkpoint import Card, CheckpointError
    from skm_primitives.skills.goals import Goal
    from skm_primitives.skills.loading import default_checkpoint, load_primitives
    from skm_primitives.skills.policy_skills import PolicySkills, make_goal_env, sb3_policy
    from skm_primitives.skills.values import ContinuousGoalValues, GoalValues, Primitives, Skills

__getattr__ = lazy_exports(
    __name__,
    {
        "execution.episodes": (
            "Episode",
            "run_episode",
        ),
        "execution.mission_env": (
            "MissionEnv",
            "MissionVectorEnv",
        ),
        "execution.mission_run": ("MissionRun",),
        "learning.training": (
            "Learner",
            "TrainingResult",
            "make_learner",
            "train",
        ),
        "planning.base_policy": ("BasePolicy",),
        "planning.planners": (
            "PLANNERS",
            "make_policy",
            "planner_names",
        ),
        "planning.policy": (
            "Decision",
            "Policy",
        ),
        "skills.checkpoint": (
            "Card",
            "CheckpointError",
        ),
        "skills.goals": ("Goal",),
        "skills.loading": (
            "default_checkpoint",
            "load_primitives",
        ),
        "skills.policy_skills": (
            "PolicySkills",
            "make_goal_env",
            "sb3_policy",
        ),
        "skills.values": (
            "ContinuousGoalValues",
            "GoalValues",
            "Primitives",
            "Skills",
        ),
    },
)

__all__ = [
    "PLANNERS",
    "BasePolicy",
    "Card",
    "CheckpointError",
    "ContinuousGoalValues",
    "Decision",
    "Episode",
    "Goal",
    "GoalValues",
    "Learner",
    "MissionEnv",
    "MissionRun",
    "MissionVectorEnv",
    "Policy",
    "PolicySkills",
    "Primitives",
    "Skills",
    "TrainingResult",
    "__version__",
    "default_checkpoint",
    "load_primitives",
    "make_goal_env",
    "make_learner",
    "make_policy",
    "planner_names",
    "run_episode",
    "sb3_policy",
    "train",
]


def __dir__() -> list[str]:
    return __all__
