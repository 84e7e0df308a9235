"""Where the tasks and skills of the Zones domain are tried: arenas as ZoneEnv draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skm_sim.domain import DomainSpec, Task
from skm_sim.trials import GoalPredicate, ResetOptions, TrialSet, named_tasks
from skm_sim.zones.layout import concatenate, sample_layouts
from skm_sim.zones.spec import COLOURS_OF_TASKS, HARD, INFINITE, MAX_STEPS


class ZonesTrials:
    """Random layouts; the tasks may be named by whether they come to an end."""

    variants: tuple[str, ...] = ("random",)

    def default_episodes(self, variant: str) -> int:  # noqa: ARG002
        """Return 100."""
        return 100

    def tasks(self, spec: DomainSpec, name: str) -> list[Task]:
        """Return the tasks that a name stands for: `all`, `finite`, `infinite`, or one of them.

        `hard` are missions of our own, which are none of the benchmark's tasks.
        """
        if name == "hard":
            return [Task(key, formula, False, MAX_STEPS) for key, formula in HARD.items()]
        if name in ("finite", "infinite"):
            wanted = name == "infinite"
            return [task for task in spec.tasks.values() if (task.name in INFINITE) == wanted]
        return named_tasks(spec, name)

    def draw(self, task: Task, count: int, seed: int, variant: str) -> TrialSet:  # noqa: ARG002
        """Return layouts, other ones for each task."""
        random = np.random.default_rng([seed, sum(map(ord, task.name))])
        layouts = sample_layouts(random, count)
        return TrialSet([{"layout": layouts[index]} for index in range(count)], [None] * count)


@dataclass(frozen=True)
class ReachAvoid:
    """The skill of reaching a colour with none of some others touched, and all the rest allowed."""

    reach: str
    avoid: frozenset[str]

    def satisfied_by(self, labels: frozenset[str], violated: frozenset[str]) -> bool:
        """Tell whether a goal is that one."""
        return labels == {self.reach} and violated == frozenset(COLOURS_OF_TASKS) - self.avoid


class ZonesSkillTrials:
    """Reaching a colour, and keeping off one, two or all three others; all colours are alike."""

    skills: Mapping[str, GoalPredicate] = {
        f"{COLOURS_OF_TASKS[0]}, {count} kept off": ReachAvoid(
            COLOURS_OF_TASKS[0], frozenset(COLOURS_OF_TASKS[1 : count + 1])
        )
        for count in range(len(COLOURS_OF_TASKS))
    }

    def worlds(
        self,
        skill: GoalPredicate,  # noqa: ARG002
        random: np.random.Generator,
        count: int,
    ) -> tuple[ResetOptions, float]:
        """Return a batch of layouts; nobody looked on which of them the skill is possible."""
        return {"layout": sample_layouts(random, count)}, 1.0

    def joined(self, options: Sequence[ResetOptions]) -> ResetOptions:
        """Return several batches of layouts as one."""
        return {"layout": concatenate([each["layout"] for each in options])}


TRIALS = ZonesTrials()
SKILL_TRIALS = ZonesSkillTrials()
