"""Few-shot learning of one task, for any domain: who learns it, and the policies that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

from gymnasium.spaces import Discrete

from skm_machine.errors import SkmError
from skm_primitives.evaluation.task_trials import task_trials
from skm_primitives.learning.training import Learner, imported_learner
from skm_primitives.planning.policy import Policy
from skm_primitives.skills import checkpoint as checkpoints
from skm_primitives.skills.values import Skills
from skm_sim.locations import load_attribute
from skm_sim.spec import DomainSpec, Task

TABULAR: Final = "skm_primitives.few_shot.tabular:FinetuneLearner"
NETWORKS: Final = "skm_primitives.few_shot.networks:TaskLearner"

POLICIES: Final = {
    "finetune": "skm_primitives.few_shot.tabular:from_checkpoint",
    "task": "skm_primitives.few_shot.networks:from_checkpoint",
}
"""Who makes a policy of what each learner writes: a function of (arrays, card, spec, skills)."""


class FewShotLearner(Learner, Protocol):
    """A learner of one task, as the command `skm finetune` wants it."""

    columns: ClassVar[tuple[str, ...]]
    """Of the curve: steps and episodes first."""
    curve: list[tuple[float, ...]]
    episodes: int
    spec: DomainSpec
    task: Task
    planner: str
    """The planner whose zero-shot policy learning begins with."""

    @property
    def remark(self) -> str:
        """What a user should know before the run; empty as a rule."""
        ...

    def remarks(self) -> dict[str, Any]:
        """Return what else there is to tell of the run, by name."""
        ...


def few_shot_learner(spec: DomainSpec) -> type[FewShotLearner]:
    """Return the learner that fits a domain: by tables where cells are observed, else on networks."""
    env = spec.make()
    cells = isinstance(env.observation_space, Discrete)
    env.close()
    found: type[FewShotLearner] = imported_learner(TABULAR if cells else NETWORKS)
    return found


def one_task(spec: DomainSpec, name: str, mission: str, *, repeat: bool) -> Task:
    """Return the task that few-shot learning is for: one of the domain, or a mission of one's own."""
    if bool(name) == bool(mission):
        raise SkmError("few-shot learning is for one task or one mission; name one of them.")
    if name:
        if repeat:
            raise SkmError("--repeat goes with --mission; a task says itself whether it repeats.")
        found = task_trials(spec).tasks(spec, name)
        if len(found) != 1:
            raise SkmError(f"few-shot learning is for one task; '{name}' stands for {len(found)}.")
        return found[0]
    limits = [task.max_steps for task in spec.tasks.values()]
    return Task("mission", mission, repeat, max(limits, default=10 * spec.primitive_steps))


def load_finetuned(path: str | Path, spec: DomainSpec, skills: Skills) -> Policy:
    """Return the policy that `skm finetune` has saved; it belongs to the primitives it began with."""
    arrays, card = checkpoints.load(path, spec.name)
    check_finetuned(card, path)
    check_primitives(card.details, skills, path)
    with checkpoints.understood(path):
        policy: Policy = load_attribute(POLICIES[card.learner])(arrays, card, spec, skills)
    return policy


def check_finetuned(card: checkpoints.Card, path: str | Path) -> None:
    """Refuse a checkpoint of another learner."""
    if card.learner not in POLICIES:
        raise SkmError(
            f"{path} was written by the learner '{card.learner}', not by `skm finetune`; give a"
            " checkpoint that `skm finetune` has written."
        )


def check_primitives(
    details: Mapping[str, Any], skills: Skills, path: str | Path = "the policy"
) -> None:
    """Refuse primitives other than those that a fine-tuned policy was learned on top of."""
    if details["primitives"] != skills.digest:
        raise SkmError(
            f"{path} was learned on top of other primitives (digest {details['primitives'][:12]}…,"
            f" these are {skills.digest[:12]}…); give those, or learn it anew."
        )
