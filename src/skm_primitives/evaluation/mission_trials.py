"""Evaluation of missions that nobody wrote down before: drawn by chance, run zero-shot.

`skm eval DOMAIN --missions N --seed S` draws N missions over the domain's label sets and runs each
from a number of starts. Where the world is tabular, it starts where the mission can be done, and the
return is compared with the optimum (`product_optimum`); elsewhere it starts as the domain does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission, compile_mission
from skm_machine.tracker import Status
from skm_primitives.episodes import Episode, run_episode
from skm_primitives.evaluation.evaluation_options import EvaluationOptions
from skm_primitives.evaluation.product_optimum import IMPOSSIBLE, fewest_steps
from skm_primitives.evaluation.random_missions import random_missions
from skm_primitives.evaluation.statistics import Interval, mean_interval, proportion_interval
from skm_primitives.goals import label_sets_of
from skm_primitives.loading import load_primitives
from skm_primitives.planning.planners import make_policy
from skm_primitives.primitives import Primitives
from skm_sim.arrays import IntArray
from skm_sim.domain import DomainSpec, Task
from skm_sim.tabular import TabularModel, is_tabular, tabular_model

STARTS: Final = 100
MAX_STEPS: Final = 1000
"""Steps that a run may take where nobody knows the optimum; else three times that."""


@dataclass(frozen=True)
class MissionTrial:
    """How one mission went."""

    mission: str
    machine_states: int
    runs: int
    succeeded: int
    violations: int
    """Runs that failed the mission for good."""
    steps: Sequence[int]
    """Of the runs that succeeded."""
    optimal_steps: float | None
    return_ratio: float | None
    """Mean discounted return over that of the optimum; None where the world is not known."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "mission": self.mission,
            "machine_states": self.machine_states,
            "runs": self.runs,
            "success": self.succeeded / self.runs,
            "violations": self.violations,
            "mean_steps": float(np.mean(self.steps)) if self.steps else None,
            "optimal_steps": self.optimal_steps,
            "return_ratio": self.return_ratio,
        }


@dataclass(frozen=True)
class MissionsEvaluation:
    """How all missions went."""

    domain: str
    planner: str
    seed: int
    checkpoint: str
    trials: Sequence[MissionTrial]

    @property
    def runs(self) -> int:
        """All runs of all missions."""
        return sum(trial.runs for trial in self.trials)

    @property
    def success(self) -> float:
        """The share of runs that succeeded."""
        return sum(trial.succeeded for trial in self.trials) / self.runs

    @property
    def success_interval(self) -> Interval:
        """The 95 % interval of that."""
        return proportion_interval(sum(trial.succeeded for trial in self.trials), self.runs)

    @property
    def violations(self) -> int:
        """How many runs failed their mission for good."""
        return sum(trial.violations for trial in self.trials)

    @property
    def return_ratio(self) -> float | None:
        """The mean of the missions' ratios."""
        found = [trial.return_ratio for trial in self.trials if trial.return_ratio is not None]
        return float(np.mean(found)) if found else None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        ratios = [trial.return_ratio for trial in self.trials if trial.return_ratio is not None]
        steps = [float(count) for trial in self.trials for count in trial.steps]
        return {
            "domain": self.domain,
            "planner": self.planner,
            "seed": self.seed,
            "checkpoint": self.checkpoint,
            "runs": self.runs,
            "success": self.success,
            "success_interval": self.success_interval,
            "violations": self.violations,
            "violations_interval": proportion_interval(self.violations, self.runs),
            "return_ratio": self.return_ratio,
            "least_return_ratio": min(ratios) if ratios else None,
            "mean_steps": float(np.mean(steps)) if steps else None,
            "mean_steps_interval": mean_interval(steps),
            "missions": [trial.document() for trial in self.trials],
        }


def evaluate_missions(spec: DomainSpec, options: EvaluationOptions) -> MissionsEvaluation:
    """Draw missions, or take the tasks of a domain, and run them."""
    primitives = load_primitives(spec, options.checkpoint)
    model = tabular_model(spec) if is_tabular(spec) else None
    if options.missions:
        missions = _drawn(spec, primitives, model, options)
    else:
        missions = [_compiled(spec, task) for task in _tasks(spec, options.task)]
    rng = np.random.default_rng((options.seed, 1))
    for mission in missions[: options.part or 0]:  # Those before draw from the same stream.
        _starts(model, mission, options, rng)
    trials = [
        _run(spec, primitives, model, mission, options, rng)
        for mission in options.track(options.chosen(missions), f"eval {spec.name}")
    ]
    who = spec.name, options.planner_name
    return MissionsEvaluation(*who, options.seed, primitives.digest, trials)


def _tasks(spec: DomainSpec, name: str) -> list[Task]:
    return list(spec.tasks.values()) if name == "all" else [spec.task(name)]


def _compiled(spec: DomainSpec, task: Task) -> Mission:
    return compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)


def _drawn(
    spec: DomainSpec,
    primitives: Primitives,
    model: TabularModel | None,
    options: EvaluationOptions,
) -> list[Mission]:
    """Return missions that can be done: from a tenth of all starts, or as far as skills know."""

    def feasible(mission: Mission) -> bool:
        if model is not None:
            return bool((fewest_steps(model, mission.machine) != IMPOSSIBLE).mean() > 0.1)
        try:
            make_policy(mission, primitives)
        except UnachievableMissionError:
            return False
        return True

    label_sets = label_sets_of(primitives.goals) if model is None else model.label_sets
    names = spec.propositions, spec.constraints
    return random_missions(label_sets, *names, options.missions, options.seed, feasible)


def _run(
    spec: DomainSpec,
    primitives: Primitives,
    model: TabularModel | None,
    mission: Mission,
    options: EvaluationOptions,
    rng: np.random.Generator,
) -> MissionTrial:
    """Run one mission from a number of starts."""
    policy = make_policy(mission, primitives, options.planner, possible_only=options.possible_only)
    env = spec.make()
    starts, optimal = _starts(model, mission, options, rng)
    count = len(starts)
    seeds = np.random.SeedSequence(options.seed).generate_state(count).tolist()
    episodes = []
    for index, start in enumerate(starts):
        limit = MAX_STEPS if optimal is None else 50 + 3 * int(optimal[index])
        try:
            episode = run_episode(
                env, primitives, policy, max_steps=limit, seed=seeds[index], options=start
            )
        except UnachievableMissionError:
            continue
        episodes.append(episode)
    env.close()
    return _trial(mission, episodes, count, optimal, primitives.gamma)


def _starts(
    model: TabularModel | None,
    mission: Mission,
    options: EvaluationOptions,
    rng: np.random.Generator,
) -> tuple[Sequence[dict[str, Any] | None], IntArray | None]:
    """Return where runs start, and how many steps the optimum takes from there, where it is known."""
    count = options.episodes or STARTS
    if model is None:
        return [None] * count, None
    fewest = fewest_steps(model, mission.machine)
    possible = np.flatnonzero(fewest != IMPOSSIBLE)
    if not len(possible):
        raise SkmError(f"the mission '{mission.text}' can be done from no start at all.")
    chosen = rng.choice(possible, size=count, replace=count > len(possible))
    return [{"cell": int(cell)} for cell in chosen], fewest[chosen]


def _trial(
    mission: Mission,
    episodes: Sequence[Episode],
    count: int,
    optimal: IntArray | None,
    gamma: float,
) -> MissionTrial:
    done = [e for e in episodes if e.status is Status.ACCEPTED or e.accepting_visits]
    ratio = None
    if optimal is not None and not mission.machine.endless:
        returns = sum(gamma ** (episode.steps - 1.0) for episode in done)
        ratio = float(returns / (gamma ** (optimal - 1.0)).sum())
    return MissionTrial(
        mission.text,
        mission.machine.num_states,
        count,
        len(done),
        sum(episode.status is Status.FAILED for episode in episodes),
        [episode.steps for episode in done],
        None if optimal is None else float(optimal.mean()),
        ratio,
    )
