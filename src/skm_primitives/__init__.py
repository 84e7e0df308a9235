"""Skill primitives (world value functions): learned once, composed for any mission.

`load_primitives(domain)` gives the skills, `make_policy(mission, skills)` plans a mission with them, and
`run_episode(domain.make(), skills, policy, max_steps=1000)` runs it.
"""

from skm_machine.version import __version__
from skm_primitives.checkpoint import Card, CheckpointError
from skm_primitives.episodes import Episode, run_episode
from skm_primitives.goals import Goal
from skm_primitives.loading import default_checkpoint, load_primitives
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.planners import PLANNERS, make_policy
from skm_primitives.planning.policy import Decision, Policy
from skm_primitives.primitives import ContinuousGoalValues, GoalValues, Primitives, Skills
from skm_primitives.training import Learner, TrainingResult, make_learner, train

__all__ = [
    "PLANNERS",
    "Card",
    "CheckpointError",
    "ContinuousGoalValues",
    "Decision",
    "Episode",
    "Goal",
    "GoalValues",
    "Learner",
    "MissionRun",
    "Policy",
    "Primitives",
    "Skills",
    "TrainingResult",
    "__version__",
    "default_checkpoint",
    "load_primitives",
    "make_learner",
    "make_policy",
    "run_episode",
    "train",
]
