"""The policy of a few-shot run with networks, from its checkpoint; and the worlds of its task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numpy.typing import NDArray

from skm_machine import Mission, compile_mission
from skm_primitives.checkpoint import Card
from skm_primitives.deep.served_network import ServedMLP
from skm_primitives.deep.skill_choice_policy import SkillChoicePolicy
from skm_primitives.deep.task_features import TaskFeatures
from skm_primitives.evaluation.task_trials import task_trials
from skm_primitives.finetuning import one_task
from skm_primitives.planning.planners import make_policy
from skm_primitives.primitives import Skills
from skm_sim.domain import DomainSpec
from skm_sim.trials import SeededTrials, TaskTrials, TrialSet

LEARNER: Final = "task"
PROOF: Final = "proved"
"""The array that says whether the networks did better than zero-shot in the worlds of the proof."""


class TaskWorlds:
    """A task of a domain, or a mission of one's own, and the worlds to try it in."""

    def __init__(
        self, spec: DomainSpec, task: str, mission: str = "", repeat: bool = False
    ) -> None:
        """Take a task by name, in worlds that the domain draws for it; or else a mission, in worlds

        as they come."""
        self.task = one_task(spec, task, mission, repeat=repeat)
        self._trials: TaskTrials = task_trials(spec) if task else SeededTrials()
        self.mission: Mission = compile_mission(
            self.task.formula,
            propositions=spec.propositions,
            repeat=self.task.repeat,
            events=spec.events,
        )

    def draw(self, count: int, seed: int) -> TrialSet:
        """Return worlds, the same ones for the same seed."""
        return self._trials.draw(self.task, count, seed, self._trials.variants[0])


def from_checkpoint(
    arrays: Mapping[str, NDArray[Any]], card: Card, spec: DomainSpec, skills: Skills
) -> SkillChoicePolicy:
    """Return the policy of a checkpoint: the zero-shot one, if nothing was proved better."""
    settings = card.details["settings"]
    worlds = TaskWorlds(spec, settings["task"], settings["mission"], settings["repeat"])
    features = TaskFeatures(spec, skills.gamma)
    features.restore(arrays)
    proved = bool(arrays.get(PROOF, False))
    return SkillChoicePolicy(
        make_policy(worlds.mission, skills, settings["planner"]),
        skills,
        features,
        ServedMLP("network", arrays) if proved else None,
        hold=settings["hold"],
        margin=settings["margin"],
    )
