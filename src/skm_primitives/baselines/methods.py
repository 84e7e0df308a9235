"""The methods by name: what each learns with, and one way to run them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from skm_machine import compile_mission
from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.baselines import crm as counterfactual
from skm_primitives.baselines import few_shot
from skm_primitives.baselines import hrm as hierarchical
from skm_primitives.baselines import q_learning as product_q_learning
from skm_primitives.baselines.hrm import make_options
from skm_primitives.baselines.problem import Curves, LearningSettings, Problem, make_problem
from skm_primitives.learning.tabular import TabularLearner
from skm_primitives.learning.training import learner_class
from skm_primitives.skills.checkpoint import checkpoint_path
from skm_primitives.skills.known_skills import KnownPrimitives
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.tabular_skills import TabularPrimitives
from skm_primitives.skills.values import Primitives
from skm_primitives.workers import Job
from skm_sim import get_domain
from skm_sim.arrays import FloatArray
from skm_sim.exploration import explored_model
from skm_sim.spec import DomainSpec
from skm_sim.tabular import TabularModel, is_tabular, tabular_model

PRETRAINED: Final = 5
"""Training seeds of the skills: run i has those of seed i mod 5."""

Runner = Callable[[Problem, DomainSpec, LearningSettings, Sequence[int]], FloatArray]


@dataclass(frozen=True)
class Method:
    """A method: its name in figures, how it runs, and the settings that differ from the others'."""

    label: str
    run: Runner
    differs: dict[str, Any] = field(default_factory=dict)

    def settings(self, **given: Any) -> LearningSettings:  # noqa: ANN401 - any setting
        """Return the settings in effect in the paper's comparison, with those given in their place."""
        return replace(LearningSettings(**self.differs), **given)


def _shaping(problem: Problem, settings: LearningSettings, *, shaped: bool) -> FloatArray:
    return problem.potentials(settings.gamma) if shaped else np.zeros(problem.states)


def _plain(learn: Callable[..., FloatArray], *, shaped: bool) -> Runner:
    def run(
        problem: Problem, _: DomainSpec, settings: LearningSettings, seeds: Sequence[int]
    ) -> FloatArray:
        potential, numbers = _shaping(problem, settings, shaped=shaped), settings.numbers
        world, machines = problem.world, problem.machines
        return np.array([learn(world, machines, potential, numbers, seed) for seed in seeds])

    return run


def _hierarchical(*, shaped: bool, unachievable: bool = False) -> Runner:
    def run(
        problem: Problem, _: DomainSpec, settings: LearningSettings, seeds: Sequence[int]
    ) -> FloatArray:
        options = make_options(problem, unachievable=unachievable)
        potential, numbers = _shaping(problem, settings, shaped=shaped), settings.numbers
        world, machines = problem.world, problem.machines
        return np.array(
            [hierarchical.learn(world, machines, options, potential, numbers, s) for s in seeds]
        )

    return run


def _skilled(planner: str, *, learns: bool, counters: bool = False) -> Runner:
    def run(
        problem: Problem, spec: DomainSpec, settings: LearningSettings, seeds: Sequence[int]
    ) -> FloatArray:
        loop = few_shot.learn if learns else few_shot.zero_shot
        skills = {
            number: _composed(problem, spec, number, planner, settings.test_epsilon)
            for number in sorted({seed % PRETRAINED for seed in seeds})
        }
        if counters:
            skills = {number: few_shot.seeing_all(found) for number, found in skills.items()}
        return np.array([loop(skills[seed % PRETRAINED], settings.numbers, seed) for seed in seeds])

    return run


_COMPOSED: dict[tuple[str, str, int, str, float], few_shot.Skilled] = {}
"""The latest zero-shot policies as arrays: asking for every situation takes longer than a run."""


def _composed(
    problem: Problem, spec: DomainSpec, seed: int, planner: str, slip: float
) -> few_shot.Skilled:
    parts = []
    for mission in problem.missions:
        key = spec.name, f"{mission.text} {mission.machine.endless}", seed, planner, slip
        if key not in _COMPOSED:
            while len(_COMPOSED) >= 16 * PRETRAINED:
                del _COMPOSED[next(iter(_COMPOSED))]
            skills = pretrained(spec, seed)
            _COMPOSED[key] = few_shot.compose(mission, problem.model, skills, planner, slip)
        parts.append(_COMPOSED[key])
    return few_shot.joined(parts)


_LEARNED: dict[tuple[str, int], Primitives] = {}
"""Skills by domain and seed, for as long as the process lives: several methods use the same."""


def pretrained(spec: DomainSpec, seed: int) -> Primitives:
    """Return the skills of a training seed: 0 is what comes with the domain, others are learned now.

    Skills that were computed, as those of maps, are the same for every seed.
    """
    key = spec.name, seed
    if key not in _LEARNED:
        shipped = load_primitives(spec) if spec.checkpoint else None
        if shipped and (seed == 0 or isinstance(shipped, KnownPrimitives)):
            _LEARNED[key] = shipped
        else:
            _LEARNED[key] = _learned(spec, seed)
    return _LEARNED[key]


def _learned(spec: DomainSpec, seed: int) -> Primitives:
    """Learn the skills as `skm train` does; those that are no tables in a folder that goes away."""
    learner = learner_class(spec).start(spec, {**spec.settings, "seed": seed})
    while learner.steps < learner.default_steps:
        learner.run_round()
    if isinstance(learner, TabularLearner):
        return TabularPrimitives(learner.state)
    with TemporaryDirectory() as folder:
        path = checkpoint_path(Path(folder) / "skills")
        learner.save(path, "skm baseline")
        return load_primitives(spec, path)


_FEW_SHOT: Final = {"alpha": 0.5, "initial": 0.001}
"""Of SM and QL-SM in the authors' code."""

METHODS: Final = {
    "ql": Method("QL", _plain(product_q_learning.learn, shaped=False)),
    "ql-rs": Method("QL-RS", _plain(product_q_learning.learn, shaped=True)),
    "crm": Method("CRM", _plain(counterfactual.learn, shaped=False)),
    "crm-rs": Method("CRM-RS", _plain(counterfactual.learn, shaped=True)),
    "hrm": Method("HRM", _hierarchical(shaped=False)),
    "hrm-rs": Method("HRM-RS", _hierarchical(shaped=True)),
    "sm-paper": Method("SM (paper)", _skilled("paper", learns=False), _FEW_SHOT),
    "sm": Method("SM (product)", _skilled("product", learns=False), _FEW_SHOT),
    "ql-sm-paper": Method("QL-SM (paper)", _skilled("paper", learns=True), _FEW_SHOT),
    "ql-sm": Method("QL-SM (product)", _skilled("product", learns=True), _FEW_SHOT),
    "sm-values": Method("SM (values)", _skilled("values", learns=False), _FEW_SHOT),
    "ql-sm-paper-counters": Method(
        "QL-SM (paper), counters seen", _skilled("paper", learns=True, counters=True), _FEW_SHOT
    ),
    "hrm-all-edges": Method("HRM, all edges", _hierarchical(shaped=False, unachievable=True)),
}


def find_method(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        raise SkmError(f"there is no method '{name}'{did_you_mean(name, METHODS)}")
    return METHODS[name]


def run_method(
    name: str,
    problem: Problem,
    spec: DomainSpec,
    seeds: Sequence[int],
    settings: LearningSettings | None = None,
) -> Curves:
    """Run a method on a problem, once for each seed; without settings, with the paper's."""
    method = find_method(name)
    settings = settings or method.settings()
    return Curves(name, method.run(problem, spec, settings, seeds), settings, tuple(seeds))


# Runs of a method as jobs: some seeds each, put together again in order.


SEEDS_A_JOB: Final = 10


@dataclass(frozen=True)
class Experiment:
    """Missions of a tabular domain; each episode has one of them."""

    domain: str
    """As the command line takes it: a name, package.module:SPEC or a folder."""
    missions: tuple[tuple[str, bool], ...]
    """Each mission, and whether it repeats."""
    horizon: str = "auto"

    def problem(self) -> Problem:
        """Return the arrays to learn on."""
        spec = get_domain(self.domain)
        compiled = [
            compile_mission(
                text, propositions=spec.propositions, repeat=repeat, horizon=self.horizon
            )
            for text, repeat in self.missions
        ]
        return make_problem(_model(self.domain), compiled)


@cache
def _model(domain: str) -> TabularModel:
    """Return the world of a domain: its own arrays, or what exploring a plain environment finds."""
    spec = get_domain(domain)
    return tabular_model(spec) if is_tabular(spec) else explored_model(spec)


def of_tasks(domain: str, tasks: Sequence[str]) -> Experiment:
    """Return tasks of a domain as an experiment."""
    spec = get_domain(domain)
    found = [spec.task(name) for name in tasks]
    return Experiment(domain, tuple((task.formula, task.repeat) for task in found))


def jobs_of(
    experiment: Experiment, method: str, settings: LearningSettings, seeds: Sequence[int]
) -> list[Job]:
    """Return the runs of a method as jobs of at most `SEEDS_A_JOB` seeds."""
    find_method(method)
    chunks = [seeds[begin : begin + SEEDS_A_JOB] for begin in range(0, len(seeds), SEEDS_A_JOB)]
    common = {"experiment": asdict(experiment), "method": method, "settings": asdict(settings)}
    return [
        Job(
            f"{method} {chunk[0]}-{chunk[-1]}",
            "skm_primitives.baselines.methods:scores",
            {**common, "seeds": list(chunk)},
        )
        for chunk in chunks
    ]


def scores(
    experiment: Mapping[str, Any], method: str, settings: Mapping[str, Any], seeds: Sequence[int]
) -> FloatArray:
    """Do one job; return the scores `[seed, evaluation]`."""
    asked = Experiment(**experiment)
    problem, spec = asked.problem(), get_domain(asked.domain)
    return run_method(method, problem, spec, seeds, LearningSettings(**settings)).scores


def collected(
    method: str, settings: LearningSettings, jobs: Sequence[Job], results: Mapping[str, FloatArray]
) -> Curves:
    """Return the results of jobs, by key, as the curves of a method."""
    seeds = [seed for job in jobs for seed in job.arguments["seeds"]]
    found = np.concatenate([results[job.key] for job in jobs])
    return Curves(method, found, settings, tuple(seeds))
