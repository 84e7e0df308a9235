"""Evaluation of tasks by trials: runs in worlds that the domain draws, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import numpy as np

from skm_machine import Mission, compile_mission
from skm_machine.errors import SkmError, did_you_mean
from skm_machine.logic.parser import parse
from skm_machine.tracker import BuchiVisits, Status
from skm_primitives.evaluation.options import EvaluationOptions
from skm_primitives.evaluation.statistics import Interval, mean_interval, proportion_interval
from skm_primitives.execution.episodes import Episode, run_episode
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Policy
from skm_primitives.planning.saved_policies import load_finetuned
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import Primitives
from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.spec import DomainSpec, Task
from skm_sim.trials import SeededTrials, TaskTrials, TrialSet

FEW_SHOT: Final = "few-shot"
"""In place of a planner's name, where a policy was learned on top of one."""


@dataclass(frozen=True)
class TrialsTask:
    """How often one task succeeded."""

    success: float
    success_interval: Interval
    mean_steps: float | None
    """Over the runs that succeeded."""
    feasible: float | None
    """The share of all worlds in which the task is possible, if that was checked."""
    episodes: int
    violations: float | None = None
    violations_interval: Interval | None = None
    walls: float | None = None
    """The share of runs in which the world ended first, as at a wall."""
    timeouts: float | None = None
    """The share of runs that were cut off, or given up since they got nowhere."""
    visits: float | None = None
    """How often acceptance was visited in a run, on average: see `skm_machine.tracker`."""
    rounds: float | None = None
    """The same as the mission's machine counts it: rounds, where it has no end."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        interval = self.violations_interval
        return {
            "success": self.success,
            "success_interval": self.success_interval,
            "violations": self.violations,
            **({} if interval is None else {"violations_interval": interval}),
            **({} if self.walls is None else {"walls": self.walls}),
            **({} if self.timeouts is None else {"timeouts": self.timeouts}),
            "mean_steps": self.mean_steps,
            "steps": self.mean_steps,
            **({} if self.visits is None else {"visits": self.visits, "rounds": self.rounds}),
            "feasible": self.feasible,
            "episodes": self.episodes,
        }


@dataclass(frozen=True)
class RoundsTask:
    """How many rounds of a repeating task were completed, beside a reference on the true state."""

    mission: str
    max_steps: int
    mean_return: float
    mean_return_interval: Interval
    optimal_return: float
    optimal_return_interval: Interval
    violations: float
    violations_interval: Interval
    episodes: int

    @property
    def ratio(self) -> float:
        """Rounds over those of the reference."""
        return self.mean_return / self.optimal_return if self.optimal_return else 1.0

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "mission": self.mission,
            "mean_return": self.mean_return,
            "mean_return_interval": self.mean_return_interval,
            "optimal_return": self.optimal_return,
            "optimal_return_interval": self.optimal_return_interval,
            "ratio": self.ratio,
            "violations": self.violations,
            "violations_interval": self.violations_interval,
            "episodes": self.episodes,
        }


@dataclass(frozen=True)
class TrialsEvaluation:
    """How the tasks, or the single skills, of a domain went."""

    domain: str
    planner: str
    variant: str
    seed: int
    checkpoint: str
    tasks: Mapping[str, TrialsTask]

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "domain": self.domain,
            "planner": self.planner,
            "layouts": self.variant,
            "seed": self.seed,
            "checkpoint": self.checkpoint,
            "tasks": {name: task.document() for name, task in self.tasks.items()},
        }


@dataclass(frozen=True)
class RoundsEvaluation:
    """How the repeating tasks of a domain went beside the reference."""

    domain: str
    planner: str
    seed: int
    checkpoint: str
    tasks: Mapping[str, RoundsTask]

    @property
    def mean_ratio(self) -> float:
        """The mean of the tasks' ratios."""
        return float(np.mean([task.ratio for task in self.tasks.values()]))

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "domain": self.domain,
            "planner": self.planner,
            "seed": self.seed,
            "checkpoint": self.checkpoint,
            "mean_ratio": self.mean_ratio,
            "tasks": {name: task.document() for name, task in self.tasks.items()},
        }


def evaluate_trials(
    spec: DomainSpec, options: EvaluationOptions
) -> TrialsEvaluation | RoundsEvaluation:
    """Run the tasks of a domain in the worlds that it draws for them."""
    trials = task_trials(spec)
    variant = checked_variant(spec, trials, options.variant)
    primitives = chosen_primitives(spec, options)
    count = options.episodes or trials.default_episodes(variant)
    succeeded: dict[str, TrialsTask] = {}
    rounds: dict[str, RoundsTask] = {}
    for task in options.chosen(trials.tasks(spec, options.task)):
        drawn = trials.draw(task, count, options.seed, variant)
        mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
        episodes, reference, visits = _run(spec, primitives, task, mission, drawn, options)
        if reference:
            rounds[task.name] = _rounds_task(task, episodes, reference)
        else:
            succeeded[task.name] = _trials_task(episodes, visits, drawn.feasible)
    who = spec.name, options.planner_name if options.finetuned is None else FEW_SHOT
    if rounds:
        return RoundsEvaluation(*who, options.seed, primitives.digest, rounds)
    return TrialsEvaluation(*who, variant, options.seed, primitives.digest, succeeded)


def chosen_primitives(spec: DomainSpec, options: EvaluationOptions) -> Primitives:
    """Return the primitives to evaluate: learned ones, or perfect ones where the domain has them."""
    if not options.exact:
        return load_primitives(spec, options.checkpoint)
    exact = spec.part("exact")
    if exact is None:
        raise SkmError(f"--exact: nobody knows perfect skills of '{spec.name}'")
    primitives: Primitives = exact(spec)
    return primitives


def task_trials(spec: DomainSpec) -> TaskTrials:
    """Return who draws the worlds of a domain's tasks."""
    own: TaskTrials | None = spec.part("trials")
    return SeededTrials() if own is None else own


def checked_variant(spec: DomainSpec, trials: TaskTrials, variant: str) -> str:
    """Return a kind of worlds that the domain has; by default the usual one."""
    if variant and variant not in trials.variants:
        hint = did_you_mean(variant, trials.variants)
        raise SkmError(f"--layouts: '{spec.name}' has no '{variant}'{hint}")
    return variant or trials.variants[0]


def _run(
    spec: DomainSpec,
    primitives: Primitives,
    task: Task,
    mission: Mission,
    drawn: TrialSet,
    options: EvaluationOptions,
) -> tuple[list[Episode], list[int], list[int]]:
    """Run one task in every trial, and the reference beside it, where there is one; count visits."""
    policy = _policy(spec, primitives, mission, options)
    env = spec.make()
    episodes, reference, visits = [], [], []
    formula = parse(task.formula, spec.propositions, clock=False)
    for index in options.track(range(len(drawn.options)), f"eval {spec.name}/{task.name}"):
        passes = BuchiVisits(formula)
        episode = run_episode(
            env,
            primitives,
            policy,
            max_steps=task.max_steps,
            seed=drawn.seeds[index],
            options=drawn.options[index],
            watch=lambda *_, passes=passes: passes.step(_labels(env)),
        )
        episodes.append(episode)
        counted = mission.recurring and passes.recurrences
        visits.append(passes.count if counted else episode.accepting_visits)
        if drawn.reference is not None:
            reference.append(drawn.reference(index, mission.machine, task.max_steps))
    env.close()
    return episodes, reference, visits


def _policy(
    spec: DomainSpec, primitives: Primitives, mission: Mission, options: EvaluationOptions
) -> Policy:
    """Return the planner's policy, or the one that few-shot learning has saved for this mission."""
    if options.finetuned is None:
        return make_policy(
            mission, primitives, options.planner, possible_only=options.possible_only
        )
    policy = load_finetuned(options.finetuned, spec, primitives)
    if policy.mission.text != mission.text:
        raise SkmError(
            f"{options.finetuned} was learned for another mission: {policy.mission.text}"
        )
    return policy


def _labels(env: gymnasium.Env[Any, Any]) -> frozenset[str]:
    labels: frozenset[str] = env.unwrapped.labels()  # type: ignore[attr-defined]
    return labels


def _trials_task(
    episodes: Sequence[Episode], visits: Sequence[int], feasible: float | None
) -> TrialsTask:
    count = len(episodes)
    succeeded = [e for e in episodes if e.status is Status.ACCEPTED or e.accepting_visits]
    failed = sum(episode.status is Status.FAILED for episode in episodes)
    running = [e for e in episodes if e.status is Status.RUNNING]
    walls = sum(episode.world_ended for episode in running)
    cut = sum(not (e.world_ended or (e.endless and e.accepting_visits)) for e in running)
    return TrialsTask(
        success=len(succeeded) / count,
        success_interval=proportion_interval(len(succeeded), count),
        mean_steps=float(np.mean([e.steps for e in succeeded])) if succeeded else None,
        feasible=feasible,
        episodes=count,
        violations=failed / count,
        violations_interval=proportion_interval(failed, count),
        walls=walls / count,
        timeouts=cut / count,
        visits=float(np.mean(visits)),
        rounds=float(np.mean([episode.accepting_visits for episode in episodes])),
    )


def _rounds_task(task: Task, episodes: Sequence[Episode], reference: Sequence[int]) -> RoundsTask:
    count = len(episodes)
    returns = [float(episode.accepting_visits) for episode in episodes]
    best = [float(rounds) for rounds in reference]
    failed = sum(episode.status is Status.FAILED for episode in episodes)
    return RoundsTask(
        mission=task.formula,
        max_steps=task.max_steps,
        mean_return=float(np.mean(returns)),
        mean_return_interval=mean_interval(returns),
        optimal_return=float(np.mean(best)),
        optimal_return_interval=mean_interval(best),
        violations=failed / count,
        violations_interval=proportion_interval(failed, count),
        episodes=count,
    )


# Two policies in the same worlds: what each did, and whether one is better beyond doubt.


@dataclass(frozen=True)
class Outcomes:
    """How one policy did, an entry for every world."""

    succeeded: BoolArray
    failed: BoolArray
    score: FloatArray
    """The rounds of a mission without end; else the discounted return."""

    @property
    def success(self) -> float:
        """The share of worlds in which the mission succeeded."""
        return float(self.succeeded.mean())


@dataclass(frozen=True)
class Comparison:
    """One policy beside another, in the same worlds."""

    before: Outcomes
    after: Outcomes

    @property
    def gain(self) -> float:
        """By how much the mean score is higher."""
        return float((self.after.score - self.before.score).mean())

    @property
    def interval(self) -> Interval:
        """The 95 % interval of that, from the differences world by world."""
        return mean_interval((self.after.score - self.before.score).tolist())

    @property
    def no_worse(self) -> bool:
        """Whether it succeeded in no fewer worlds, and failed in no more."""
        fewer = self.after.succeeded.sum() < self.before.succeeded.sum()
        return not fewer and bool(self.after.failed.sum() <= self.before.failed.sum())

    @property
    def better(self) -> bool:
        """Whether it is no worse, and its score higher by all that the interval allows."""
        return self.no_worse and self.interval[0] > 0


def run_worlds(
    spec: DomainSpec,
    primitives: Primitives,
    policy: Policy,
    task: Task,
    drawn: TrialSet,
) -> Outcomes:
    """Run a task in every world that was drawn."""
    env = spec.make()
    rows = []
    for seed, options in zip(drawn.seeds, drawn.options, strict=True):
        episode = run_episode(
            env, primitives, policy, max_steps=task.max_steps, seed=seed, options=options
        )
        visits = episode.accepting_visits
        score = visits if policy.mission.machine.endless else episode.discounted_return
        succeeded = episode.status is Status.ACCEPTED or visits > 0
        rows.append((succeeded, episode.status is Status.FAILED, float(score)))
    env.close()
    columns = np.array(rows).T
    return Outcomes(columns[0] > 0, columns[1] > 0, columns[2])
