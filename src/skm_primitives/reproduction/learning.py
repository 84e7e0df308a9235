"""The parts of the reproduction that are learning curves: jobs, and sections of the report from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Final

from skm_primitives.baselines import METHODS, Curves, LearningSettings, best_return
from skm_primitives.baselines.methods import collected, jobs_of, of_tasks
from skm_primitives.reproduction.claims import curve_claims
from skm_primitives.reproduction.curve_figure import curves_figure
from skm_primitives.reproduction.experiments import (
    METHODS_SHOWN,
    METHODS_TABLED,
    PANELS,
    PRETRAINING,
    PUBLISHED,
    ZERO_SHOT_TABLED,
    Panel,
)
from skm_primitives.reproduction.pictures import as_files
from skm_primitives.reproduction.report import Section, Table
from skm_primitives.reproduction.search import FIRST_SEED
from skm_primitives.workers import Job

STEPS: Final = 400_000
LEARNING: Final = tuple(method for method in METHODS_SHOWN if not method.startswith("sm"))
Get = Callable[[Job], Any]


@dataclass(frozen=True)
class Learning:
    """How much is learned."""

    runs: int
    steps: int = STEPS
    search_seeds: int = 3
    search_steps: int = STEPS

    def settings(self, method: str, **given: Any) -> LearningSettings:  # noqa: ANN401
        """Return a method's settings for these runs."""
        return METHODS[method].settings(steps=self.steps, **given)

    def jobs(
        self, panel: Panel, method: str, settings: LearningSettings, kind: str = "paper"
    ) -> list[Job]:
        """Return the runs of a method in an experiment as jobs."""
        experiment = of_tasks(panel.domain, panel.tasks)
        jobs = jobs_of(experiment, method, settings, range(self.runs))
        return [replace(job, key=f"{kind} {panel.name} {job.key} {self.steps}") for job in jobs]

    def search_job(self, panel: Panel, method: str) -> Job:
        """Return the search for the best settings of a method in an experiment."""
        seeds = [FIRST_SEED + 5 * number for number in range(self.search_seeds)]
        arguments = {
            "experiment": asdict(of_tasks(panel.domain, panel.tasks)),
            "method": method,
            "steps": self.search_steps,
            "every": max(1000, self.search_steps // 100),
            "seeds": seeds,
        }
        return Job(
            f"search {panel.name} {method} {self.steps}",
            "skm_primitives.reproduction.search:best_settings",
            arguments,
        )

    def curves(
        self, panel: Panel, get: Get, settings: Mapping[str, LearningSettings], kind: str = "paper"
    ) -> dict[str, Curves]:
        """Return the curves of all methods that were run, by method."""
        found = {}
        for method, used in settings.items():
            jobs = self.jobs(panel, method, used, kind)
            found[method] = collected(method, used, jobs, {job.key: get(job) for job in jobs})
        return found


@cache
def best_possible(panel: Panel) -> float:
    """Return the success of the best policy if every tenth action is random."""
    return best_return(of_tasks(panel.domain, panel.tasks).problem(), 0.1, 1000)


def learning_section(learning: Learning, get: Get) -> Section:
    """Return `fig:ow_returns` with the settings in effect in the paper's comparison."""
    outcome = faithful(learning, get)
    best = {panel.name: best_possible(panel) for panel in PANELS}
    panels = [(panel.title, outcome[panel.name], best[panel.name]) for panel in PANELS]
    figure = curves_figure(panels, f"Office Gridworld, {learning.runs} runs, the paper's settings")
    return Section(
        "figure-2",
        "Figure 2: learning the office tasks, the paper's settings",
        "Mean and one standard deviation of the success of ε-greedy evaluations (ε = 0.1), each point"
        " the mean of the last 40. The dotted line is the length of the skills' pretraining, the full"
        " one the best that any policy can do with that ε.",
        curve_claims(outcome, best),
        {"figure-2": as_files(figure)},
        [_table("figure-2", outcome, best, learning.steps, published=True)],
    )


def fair_section(learning: Learning, get: Get) -> Section:
    """Return the same with the best settings of each method, chosen on seeds of their own."""
    outcome, chosen = {}, [("experiment", "method", "α", "Q begins at", "ε while learning")]
    for panel in PANELS:
        used = fair_settings(learning, panel, get)
        outcome[panel.name] = fair(learning, panel, get)
        chosen += [
            (panel.name, METHODS[m].label, str(s.alpha), str(s.initial), str(s.epsilon))
            for m, s in used.items()
        ]
    best = {panel.name: best_possible(panel) for panel in PANELS}
    panels = [(panel.title, outcome[panel.name], best[panel.name]) for panel in PANELS]
    figure = curves_figure(panels, f"Office Gridworld, {learning.runs} runs, best settings of each")
    return Section(
        "figure-2-best",
        "Figure 2 again: the best settings of each method",
        "A fair comparison beside the faithful one: for each method and experiment the settings of a"
        " grid with the greatest mean over the whole curve, chosen on seeds of their own.",
        curve_claims(outcome, best),
        {"figure-2-best": as_files(figure)},
        [
            _table("figure-2-best", outcome, best, learning.steps),
            Table("figure-2-best-settings", chosen),
        ],
    )


def faithful(learning: Learning, get: Get) -> dict[str, dict[str, Curves]]:
    """Return the curves with the paper's settings, by experiment and method."""
    used = {method: learning.settings(method) for method in METHODS_TABLED}
    return {panel.name: learning.curves(panel, get, used) for panel in PANELS}


def fair(learning: Learning, panel: Panel, get: Get) -> dict[str, Curves]:
    """Return the curves with the best settings, by method; those that learn nothing have none."""
    learned = learning.curves(panel, get, fair_settings(learning, panel, get), "best")
    found = {**learned, **learning.curves(panel, get, zero_shot_settings(learning))}
    return {method: found[method] for method in (*METHODS_SHOWN, ZERO_SHOT_TABLED)}


def fair_settings(learning: Learning, panel: Panel, get: Get) -> dict[str, LearningSettings]:
    """Return the settings that the search has found, by method that learns."""
    searched = {m: get(learning.search_job(panel, m)) for m in LEARNING}
    return {
        method: replace(LearningSettings(**found["settings"]), steps=learning.steps, every=1000)
        for method, found in searched.items()
    }


def zero_shot_settings(learning: Learning) -> dict[str, LearningSettings]:
    """Return the settings of the methods that learn nothing of a task."""
    names = [method for method in METHODS_SHOWN if method not in LEARNING]
    return {method: learning.settings(method) for method in (*names, ZERO_SHOT_TABLED)}


def _table(
    name: str,
    outcome: Mapping[str, Mapping[str, Curves]],
    best: Mapping[str, float],
    steps: int,
    *,
    published: bool = False,
) -> Table:
    """Return the success of each method after the pretraining's length, and at the end."""
    head = ["success after 1e5 / all steps"]
    for panel in outcome:
        head += [panel, f"{panel}, authors' curves"] if published else [panel]
    rows: list[Sequence[str]] = [head]
    for method in next(iter(outcome.values())):
        row = [METHODS[method].label]
        for panel, found in outcome.items():
            early, late = (found[method].at(at)[0] for at in (min(PRETRAINING, steps), steps))
            row.append(f"{early:.2f} / {late:.2f}")
            if published:
                row.append(_published(method, panel))
        rows.append(row)
    last = ["best possible"]
    for panel in outcome:
        last += [f"{best[panel]:.3f}", ""] if published else [f"{best[panel]:.3f}"]
    return Table(name, [*rows, last])


def _published(method: str, panel: str) -> str:
    if method not in PUBLISHED:
        return "–"
    early, late = PUBLISHED[method][panel]
    return f"{late:.2f}" if early is None else f"{early:.2f} / {late:.2f}"
