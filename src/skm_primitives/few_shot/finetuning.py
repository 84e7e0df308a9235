"""Few-shot learning of one task, for any domain: who learns it.

The policies that come of it are loaded by `skm_primitives.planning.saved_policies`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Protocol

from gymnasium.spaces import Discrete

from skm_machine.errors import SkmError
from skm_primitives.evaluation.task_trials import task_trials
from skm_primitives.learning.training import Learner, imported_learner
from skm_sim.spec import DomainSpec, Task

TABULAR: Final = "skm_primitives.few_shot.tabular:FinetuneLearner"
NETWORKS: Final = "skm_primitives.few_shot.networks:TaskLearner"


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
