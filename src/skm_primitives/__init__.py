"""Skill primitives (world value functions): learned once, composed for any mission.

`load_primitives(domain)` gives the skills, `make_policy(mission, skills)` plans a mission with them, and
`run_episode(domain.make(), skills, policy, max_steps=1000)` runs it. What is named here is imported when
it is first asked for: whoever trains does not wait for the planners.
"""

from typing import TYPE_CHECKING

from skm_machine.front_door import front_door
from skm_machine.version import __version__

if TYPE_CHECKING:
    from skm_primitives.checkpoint import Card, CheckpointError
    from skm_primitives.episodes import Episode, run_episode
    from skm_primitives.goals import Goal
    from skm_primitives.loading import default_checkpoint, load_primitives
    from skm_primitives.mission_run import MissionRun
    from skm_primitives.planning.planners import PLANNERS, make_policy
    from skm_primitives.planning.policy import Decision, Policy
    from skm_primitives.primitives import ContinuousGoalValues, GoalValues, Primitives, Skills
    from skm_primitives.training import Learner, TrainingResult, make_learner, train

__getattr__ = front_door(
    __name__,
    {
        "checkpoint": ("Card", "CheckpointError"),
        "episodes": ("Episode", "run_episode"),
        "goals": ("Goal",),
        "loading": ("default_checkpoint", "load_primitives"),
        "mission_run": ("MissionRun",),
        "planning.planners": ("PLANNERS", "make_policy"),
        "planning.policy": ("Decision", "Policy"),
        "primitives": ("ContinuousGoalValues", "GoalValues", "Primitives", "Skills"),
        "training": ("Learner", "TrainingResult", "make_learner", "train"),
    },
)

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


def __dir__() -> list[str]:
    return __all__
