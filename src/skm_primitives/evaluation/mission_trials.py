"""Evaluation of missions that are drawn at random or read from a file, run zero-shot.

`skm eval DOMAIN --missions N --seed S` draws N missions from the domain and the seed alone, so that
two checkpoints are compared on the same ones. In a finite world every mission is drawn, and counted,
only where it is feasible, which an independent search on the true world decides (`tabular.optimum`),
from the starts that the domain draws; the same search gives the optimum. Elsewhere it is unknown: every
mission and every start counts, and a refusal counts as a failure.

**Intervals.** Runs of one mission are alike, and in a deterministic world runs from one start are one
run: it is made once and weighed by how often the start was drawn. So intervals are over missions
(Wilson's, with as many observations as there are missions, which is never too narrow however alike the
runs of a mission are); of a single mission, over its different starts, and where all runs have one
start, over the runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission, compile_mission
from skm_machine.tracker import Status
from skm_primitives.evaluation.exact import IMPOSSIBLE, TrueProduct
from skm_primitives.evaluation.options import EvaluationOptions
from skm_primitives.evaluation.random_missions import random_missions
from skm_primitives.evaluation.statistics import Interval, mean_interval, proportion_interval
from skm_primitives.execution.episodes import Episode, run_episode
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policies import UnseenPlaceError
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import Primitives
from skm_sim.arrays import IntArray
from skm_sim.finite_world import FiniteWorld
from skm_sim.spec import DomainSpec, Task
from skm_sim.tabular import TabularModel, is_tabular, tabular_model
from skm_sim.true_world import finite_world, known_start

STARTS: Final = 100
"""Starts of a mission by default; and the starts that decide whether it is drawn."""
LEAST_SHARE: Final = 0.1
"""A mission is drawn if it is feasible from more than this share of the starts."""
SOUGHT: Final = 20
"""Starts that are looked at for each that is wanted, to find those where a mission is feasible."""
MAX_STEPS: Final = 1000
"""Steps that a run may take; in a deterministic finite world, 50 and three times the optimum."""
WALK_STEPS: Final = 5000
"""Random steps in a world that is not finite, to see what it shows."""


@dataclass(frozen=True)
class MissionTrial:
    """How one mission went."""

    mission: str
    machine_states: int
    starts: int
    """Runs, each weighed by how often its start was drawn."""
    succeeded: int
    violations: int
    """Runs that failed the mission for good."""
    steps: Sequence[int]
    """Of the runs that succeeded, weighed alike."""
    runs: int
    """Different runs that were made."""
    different_starts: int
    infeasible: int = 0
    """Starts that were drawn as well, but from which no policy can do the mission: they do not count."""
    refused: int = 0
    """Runs that the planner refused."""
    optimal_steps: float | None = None
    """The mean of the fewest steps, in deterministic worlds."""
    best_success: float | None = None
    """The greatest probability of success that any policy has; None where the world is not finite."""
    return_ratio: float | None = None
    """Mean discounted return over that of the optimum, in deterministic finite worlds."""

    @property
    def success(self) -> float:
        """The share of runs that succeeded."""
        return self.succeeded / self.starts

    @property
    def success_ratio(self) -> float | None:
        """Success over the best possible."""
        return self.success / self.best_success if self.best_success else None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "mission": self.mission,
            "machine_states": self.machine_states,
            "runs": self.runs,
            "starts": self.starts,
            "infeasible_starts": self.infeasible,
            "success": self.success,
            "best_success": self.best_success,
            "success_ratio": self.success_ratio,
            "violations": self.violations,
            "refused": self.refused,
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
    optimum: str = "unknown"
    """How the optimum is known: `exact`, `estimated` (from tried actions), or `unknown`."""

    @property
    def runs(self) -> int:
        """All different runs of all missions."""
        return sum(trial.runs for trial in self.trials)

    @property
    def success(self) -> float:
        """The share of runs that succeeded."""
        return sum(t.succeeded for t in self.trials) / sum(t.starts for t in self.trials)

    @property
    def success_interval(self) -> Interval:
        """The 95 % interval of that."""
        return proportion_interval(self.success * self._independent, self._independent)

    @property
    def _independent(self) -> int:
        """How many observations do not depend on one another: see the module."""
        if len(self.trials) > 1:
            return len(self.trials)
        (trial,) = self.trials
        return trial.different_starts if trial.different_starts > 1 else trial.runs

    @property
    def violations(self) -> int:
        """How many runs failed their mission for good."""
        return sum(trial.violations for trial in self.trials)

    @property
    def return_ratio(self) -> float | None:
        """The mean of the missions' ratios of returns."""
        return _mean([trial.return_ratio for trial in self.trials])

    @property
    def success_ratio(self) -> float | None:
        """The mean of the missions' ratios of success."""
        return _mean([trial.success_ratio for trial in self.trials])

    @property
    def best_success(self) -> float | None:
        """The mean of the best possible success."""
        return _mean([trial.best_success for trial in self.trials])

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        ratios = [trial.return_ratio for trial in self.trials if trial.return_ratio is not None]
        steps = [float(count) for trial in self.trials for count in trial.steps]
        per_mission = [float(np.mean(trial.steps)) for trial in self.trials if trial.steps]
        share = self.violations / sum(trial.starts for trial in self.trials)
        return {
            "domain": self.domain,
            "planner": self.planner,
            "seed": self.seed,
            "checkpoint": self.checkpoint,
            "runs": self.runs,
            "success": self.success,
            "success_interval": self.success_interval,
            "optimum": self.optimum,
            "best_success": self.best_success,
            "success_ratio": self.success_ratio,
            "violations": self.violations,
            "violations_interval": proportion_interval(
                share * self._independent, self._independent
            ),
            "return_ratio": self.return_ratio,
            "least_return_ratio": min(ratios) if ratios else None,
            "mean_steps": float(np.mean(steps)) if steps else None,
            "mean_steps_interval": mean_interval(per_mission if len(self.trials) > 1 else steps),
            "intervals_over": "missions" if len(self.trials) > 1 else "starts",
            "missions": [trial.document() for trial in self.trials],
        }


def _mean(found: Sequence[float | None]) -> float | None:
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known else None


def read_mission_set(path: str | Path) -> tuple[str, ...]:
    """Return the missions of a file: a formula a line; lines that begin with # are left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise SkmError(f"cannot read the mission set {path}: {why}.") from error
    found = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    if not found:
        raise SkmError(f"the mission set {path} has no mission: write a formula a line.")
    return tuple(found)


def mission_set_text(evaluation: MissionsEvaluation) -> str:
    """Return the missions of an evaluation as `read_mission_set` reads them."""
    title = f"# {len(evaluation.trials)} missions of the domain {evaluation.domain}"
    return "\n".join([title, *(trial.mission for trial in evaluation.trials)]) + "\n"


def evaluate_missions(spec: DomainSpec, options: EvaluationOptions) -> MissionsEvaluation:
    """Draw missions, take those that are given, or the tasks of a domain, and run them."""
    primitives = load_primitives(spec, options.checkpoint)
    field = _Field(spec, options)
    if options.mission_set:
        names = spec.propositions
        missions = [compile_mission(text, propositions=names) for text in options.mission_set]
    elif options.missions:
        missions = field.drawn(options.missions)
    else:
        missions = [_compiled(spec, task) for task in _tasks(spec, options.task)]
    rng = np.random.default_rng((options.seed, 1))
    for mission in missions[: options.part or 0]:  # Those before draw from the same stream.
        field.starts(mission, rng)
    trials = [
        _run(spec, primitives, field, mission, options, rng)
        for mission in options.track(options.chosen(missions), f"eval {spec.name}")
    ]
    who = spec.name, options.planner_name, options.seed, primitives.digest
    return MissionsEvaluation(*who, trials, field.optimum)


def _tasks(spec: DomainSpec, name: str) -> list[Task]:
    return list(spec.tasks.values()) if name == "all" else [spec.task(name)]


def _compiled(spec: DomainSpec, task: Task) -> Mission:
    return compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)


@dataclass(frozen=True)
class _Start:
    """Where a run starts, and the state of the true world there, where it is known."""

    seed: int
    options: dict[str, Any] | None = None
    state: int | None = None
    drawn: int = 1
    """How often it was drawn, where it is run once for all."""


class _Field:
    """The world of a domain as the evaluation knows it: nothing of any checkpoint."""

    def __init__(self, spec: DomainSpec, options: EvaluationOptions) -> None:
        self.spec, self.options = spec, options
        self.count = options.episodes or STARTS
        self.model: TabularModel | None = tabular_model(spec) if is_tabular(spec) else None
        seeds = np.random.SeedSequence(options.seed).generate_state(
            max(STARTS, SOUGHT * self.count)
        )
        self.seeds: list[int] = seeds.tolist()
        self.world: FiniteWorld | None = finite_world(spec, self.seeds)
        self._pool = self._observed_starts()

    @property
    def optimum(self) -> str:
        """How the optimum is known."""
        if self.world is None:
            return "unknown"
        return "exact" if self.world.exact else "estimated"

    def _observed_starts(self) -> list[_Start]:
        """Return the starts that the domain draws with the seeds, where it draws them itself."""
        if self.world is None or self.model is not None:
            return [_Start(seed) for seed in self.seeds]
        env = self.spec.make()
        cells = [int(env.reset(seed=seed)[0]) for seed in self.seeds]
        env.close()
        states = [known_start(self.world, cell) for cell in cells]
        return [_Start(s, None, state) for s, state in zip(self.seeds, states, strict=True)]

    def fewest(self, mission: Mission) -> IntArray | None:
        """Return the fewest steps from every state of the world; None if unknown.

        Of a machine with commitments, what a step does is for a policy to say.
        """
        if self.world is None or mission.machine.epsilon_transitions:
            return None
        return TrueProduct(self.world, mission.machine).fewest_steps()

    def drawn(self, count: int) -> list[Mission]:
        """Draw missions from the domain and the seed alone: in a finite world, feasible ones."""
        label_sets = self._shown() if self.world is None else self.world.label_sets
        names = self.spec.propositions, self.spec.constraints
        return random_missions(label_sets, *names, count, self.options.seed, self._feasible)

    def _feasible(self, mission: Mission) -> bool:
        if (fewest := self.fewest(mission)) is None:
            return True
        if self.model is not None:
            states = self.model.start_states
        else:
            states = np.array([start.state for start in self._pool[:STARTS]])
        return bool((fewest[states] != IMPOSSIBLE).mean() > LEAST_SHARE)

    def _shown(self) -> list[frozenset[str]]:
        """Return the label sets that random actions show, and each proposition that they do not."""
        env = self.spec.make()
        env.action_space.seed(self.options.seed)
        shown: set[frozenset[str]] = set()
        steps, seeds = 0, iter(self.seeds)
        while steps < WALK_STEPS and (seed := next(seeds, None)) is not None:
            _, info = env.reset(seed=seed)
            for _ in range(self.spec.primitive_steps):
                shown.add(frozenset(info["labels"]))
                _, _, ended, cut, info = env.step(env.action_space.sample())
                steps += 1
                if ended or cut:
                    break
            shown.add(frozenset(info["labels"]))
        env.close()
        seen = {name for labels in shown for name in labels}
        hidden = [name for name in self.spec.propositions if name not in seen]
        return [*shown, *(frozenset({name}) for name in hidden if name not in self.spec.events)]

    def starts(self, mission: Mission, rng: np.random.Generator) -> tuple[list[_Start], int]:
        """Return where runs start, and how many drawn starts were infeasible."""
        fewest = self.fewest(mission)
        if self.model is not None:
            return self._cells(mission, fewest, rng), 0
        if fewest is None:
            return self._once(self._pool[: self.count]), 0
        feasible = [i for i, s in enumerate(self._pool) if fewest[s.state] != IMPOSSIBLE]
        if not feasible:
            raise _no_start(mission)
        chosen = feasible[: self.count]
        return self._once([self._pool[i] for i in chosen]), chosen[-1] + 1 - len(chosen)

    def _cells(
        self, mission: Mission, fewest: IntArray | None, rng: np.random.Generator
    ) -> list[_Start]:
        """Return cells of a tabular model: all that there are, if they are no more than wanted."""
        assert self.model is not None
        states = self.model.start_states
        possible = np.arange(len(states))
        if fewest is not None:
            possible = np.flatnonzero(fewest[states] != IMPOSSIBLE)
        if not len(possible):
            raise _no_start(mission)
        chosen = rng.choice(possible, size=min(self.count, len(possible)), replace=False)
        seeds = self.seeds[: len(chosen)]
        return [
            _Start(seed, {"cell": cell}, int(states[cell]))
            for seed, cell in zip(seeds, chosen.tolist(), strict=True)
        ]

    def _once(self, starts: list[_Start]) -> list[_Start]:
        """Return each start of a deterministic world once, with how often it was drawn."""
        if self.world is None or not self.world.deterministic:
            return starts
        often = Counter(start.state for start in starts)
        first = {start.state: start for start in reversed(starts)}
        return [_Start(first[state].seed, None, state, often[state]) for state in often]


def _no_start(mission: Mission) -> SkmError:
    return SkmError(f"the mission '{mission.text}' is feasible from none of the domain's starts.")


def _run(
    spec: DomainSpec,
    primitives: Primitives,
    field: _Field,
    mission: Mission,
    options: EvaluationOptions,
    rng: np.random.Generator,
) -> MissionTrial:
    """Run one mission from a number of starts."""
    starts, infeasible = field.starts(mission, rng)
    fewest = field.fewest(mission)
    sure = fewest is not None and field.world is not None and field.world.deterministic
    limits = [50 + 3 * int(fewest[s.state]) if sure else MAX_STEPS for s in starts]  # type: ignore[index]
    env = spec.make()
    episodes = list(_episodes(env, primitives, mission, options, starts, limits))
    env.close()
    weights = np.array([start.drawn for start in starts])
    done = [e is not None and _succeeded(e) for e in episodes]
    failed = [e is not None and e.status is Status.FAILED for e in episodes]
    found = MissionTrial(
        mission=mission.text,
        machine_states=mission.machine.num_states,
        starts=int(weights.sum()),
        succeeded=int(weights[done].sum()),
        violations=int(weights[failed].sum()),
        steps=[
            episode.steps
            for episode, start in zip(episodes, starts, strict=True)
            if episode is not None and _succeeded(episode)
            for _ in range(start.drawn)
        ],
        runs=len(starts),
        different_starts=len(
            {start.seed if start.state is None else start.state for start in starts}
        ),
        infeasible=infeasible,
        refused=int(weights[[e is None for e in episodes]].sum()),
    )
    if fewest is None or field.world is None:
        return found
    states = np.array([start.state for start in starts])
    if not sure:  # Planners are for success there, rather than for speed.
        best = TrueProduct(field.world, mission.machine).best_success(MAX_STEPS)[states]
        return replace(found, best_success=float(np.average(best, weights=weights)))
    optimal = fewest[states]
    found = replace(found, optimal_steps=float(np.average(optimal, weights=weights)))
    if mission.machine.endless:
        return found
    steps = np.array([e.steps if e is not None and _succeeded(e) else np.inf for e in episodes])
    gamma, nearest = (
        primitives.gamma,
        optimal.min(),
    )  # Of far missions, γ to the steps is not a number.
    best = (weights * gamma ** (optimal - float(nearest))).sum()
    ratio = (weights * gamma ** (steps - nearest)).sum() / best
    return replace(found, best_success=1.0, return_ratio=float(ratio))


def _episodes(
    env: Any,  # noqa: ANN401
    primitives: Primitives,
    mission: Mission,
    options: EvaluationOptions,
    starts: Sequence[_Start],
    limits: Sequence[int],
) -> Iterator[Episode | None]:
    """Run a mission from each start; None where the planner refuses, or knows too little to begin."""
    refusals = UnachievableMissionError, UnseenPlaceError
    try:
        policy = make_policy(
            mission, primitives, options.planner, possible_only=options.possible_only
        )
    except refusals:
        yield from [None] * len(starts)
        return
    for start, limit in zip(starts, limits, strict=True):
        try:
            yield run_episode(
                env,
                primitives,
                policy,
                max_steps=limit,
                seed=start.seed,
                options=start.options,
            )
        except refusals:
            yield None


def _succeeded(episode: Episode) -> bool:
    return episode.status is Status.ACCEPTED or bool(episode.accepting_visits)
