"""Where the tasks and skills of the Zones domain are tried: arenas as ZoneEnv draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skm_sim.spec import DomainSpec, Task
from skm_sim.trials import GoalPredicate, ResetOptions, TrialSet, named_tasks
from skm_sim.zones.layout import Arena, concatenate, sample_layouts
from skm_sim.zones.spec import HARD, INFINITE, MAX_STEPS
from skm_sim.zones.variants import HARD_TEN


class ZonesTrials:
    """Random layouts; the tasks may be named by whether they come to an end."""

    variants: tuple[str, ...] = ("random",)

    def __init__(self, colours: int, hard: Mapping[str, str]) -> None:
        self._colours = colours
        self._hard = hard

    def default_episodes(self, variant: str) -> int:  # noqa: ARG002
        """Return 100."""
        return 100

    def tasks(self, spec: DomainSpec, name: str) -> list[Task]:
        """Return the tasks that a name stands for: `all`, `finite`, `infinite`, or one of them.

        `hard` are missions of our own, which are none of the benchmark's tasks.
        """
        if name == "hard":
            return [Task(key, formula, False, MAX_STEPS) for key, formula in self._hard.items()]
        if name in ("finite", "infinite"):
            wanted = name == "infinite"
            return [task for task in spec.tasks.values() if (task.name in INFINITE) == wanted]
        return named_tasks(spec, name)

    def draw(self, task: Task, count: int, seed: int, variant: str) -> TrialSet:  # noqa: ARG002
        """Return layouts, other ones for each task."""
        random = np.random.default_rng([seed, sum(map(ord, task.name))])
        layouts = sample_layouts(random, count, self._colours)
        return TrialSet([{"layout": layouts[index]} for index in range(count)], [None] * count)


@dataclass(frozen=True)
class ReachAvoid:
    """The skill of reaching a colour with none of some others touched, and all the rest allowed."""

    reach: str
    allowed: frozenset[str]

    def satisfied_by(self, labels: frozenset[str], violated: frozenset[str]) -> bool:
        """Tell whether a goal is that one."""
        return labels == {self.reach} and violated == self.allowed


class ZonesSkillTrials:
    """Reaching a colour, and avoiding some of the others; all colours are alike."""

    def __init__(self, colours: int, avoided: Iterable[int]) -> None:
        first, *others = Arena(colours).names
        self._colours = colours
        self.skills: Mapping[str, GoalPredicate] = {
            f"{first}, {count} avoided": ReachAvoid(first, frozenset([first, *others[count:]]))
            for count in avoided
        }

    def worlds(
        self,
        skill: GoalPredicate,  # noqa: ARG002
        random: np.random.Generator,
        count: int,
    ) -> tuple[ResetOptions, float]:
        """Return a batch of layouts; on which of them the skill is possible is not checked."""
        return {"layout": sample_layouts(random, count, self._colours)}, 1.0

    def joined(self, options: Sequence[ResetOptions]) -> ResetOptions:
        """Return several batches of layouts as one."""
        return {"layout": concatenate([each["layout"] for each in options])}


TRIALS, TEN_TRIALS = ZonesTrials(4, HARD), ZonesTrials(10, HARD_TEN)
TWO_TRIALS, SIX_TRIALS, EIGHT_TRIALS = (ZonesTrials(colours, {}) for colours in (2, 6, 8))
SKILL_TRIALS = ZonesSkillTrials(4, range(4))
TWO_SKILL_TRIALS = ZonesSkillTrials(2, range(2))
SIX_SKILL_TRIALS = ZonesSkillTrials(6, (0, 3, 5))
EIGHT_SKILL_TRIALS = ZonesSkillTrials(8, (0, 3, 7))
TEN_SKILL_TRIALS = ZonesSkillTrials(10, (0, 3, 6, 9))
