"""`skm reproduce paper`: which parts there are, their jobs in two rounds, and the report at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.reproduction import gallery
from skm_primitives.reproduction.experiments import METHODS_TABLED, PANELS, REACHABILITY
from skm_primitives.reproduction.learning import (
    LEARNING,
    STEPS,
    Learning,
    fair_section,
    fair_settings,
    learning_section,
    zero_shot_settings,
)
from skm_primitives.reproduction.report import Section, write_report
from skm_primitives.reproduction.search import GRID_SIZE
from skm_primitives.reproduction.task_four import task_four_jobs, task_four_section
from skm_primitives.reproduction.tasks import tasks_section
from skm_primitives.reproduction.weighed_claims import NEEDS, findings_section
from skm_primitives.workers import Job, Store, run_jobs

PARTS: Final = {
    "findings": "claims",
    "figure-2": "ow_returns",
    "figure-2-best": "ow_returns_best",
    "task-4": "ow_task_4",
    "planners": "planners",
    "figure-3": "returns",
    "figure-6": "ow_values_base",
    "figure-7": "ow_trajectories",
    "figure-8": "gr1",
    "figure-9": "gr2",
    "figure-12": "rm_sm",
    "figure-13": "safety",
    "tasks": "tables",
}
"""Each part by the number that LaTeX gives its figure, and by the label that it has there."""

QUICK_RUNS: Final = 5
QUICK_SEARCH_STEPS: Final = 100_000
PICTURE_RUNS: Final = 30
"""What a picture or an evaluation counts for in the progress, in runs of a learner."""
Progress = Callable[[str, int, int], None]
"""Called with what was done last, how many runs are done, and of how many."""


def _quiet(what: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class ReproduceOptions:
    """What to make, how much of it, where, and by whom."""

    out: Path
    only: Sequence[str] = ()
    runs: int = 60
    quick: bool = False
    workers: str = "1"
    progress: Progress = field(default=_quiet)

    def parts(self) -> list[str]:
        """Return the parts that are asked for, in order."""
        labels = {label: name for name, label in PARTS.items()}
        for name in self.only:
            if name not in PARTS and name not in labels:
                raise SkmError(
                    f"there is no part '{name}'{did_you_mean(name, [*PARTS, *labels])} There are "
                    + ", ".join(f"{part} ({label})" for part, label in PARTS.items())
                )
        wanted = {labels.get(name, name) for name in self.only} or set(PARTS)
        wanted |= NEEDS if "findings" in wanted else set()
        return [name for name in PARTS if name in wanted]

    @property
    def learning(self) -> Learning:
        """How much is learned."""
        if self.quick:
            return Learning(QUICK_RUNS, search_seeds=1, search_steps=QUICK_SEARCH_STEPS)
        return Learning(self.runs)

    @property
    def few_runs(self) -> int:
        """Runs of what takes ten times as many steps."""
        return 1 if self.quick else min(5, self.runs)

    @property
    def episodes(self) -> int:
        """Boards of each task of Moving Targets."""
        return 10 if self.quick else 100

    @property
    def layouts(self) -> int:
        """Layouts of each task of Safety."""
        return 10 if self.quick else 200


def reproduce(options: ReproduceOptions) -> Path:
    """Make the parts that are asked for; return where the report is. What is done is not done again."""
    parts, store = options.parts(), Store(options.out / "raw")
    first = _first_jobs(parts, options)
    later = len(PANELS) * len(LEARNING) * options.learning.runs if "figure-2-best" in parts else 0
    total = sum(map(_runs, first)) + later
    before = _do(first, store, options, 0, total)
    _do(_second_jobs(parts, options, store), store, options, before, total)
    sections = [_section(name, options)(store.get) for name in parts]
    words = (
        f"Made by `skm reproduce paper`, {options.learning.runs} runs of each method. Beside each"
        " figure: what the paper claims, whether ours shows it, and where not, why."
    )
    return write_report(options.out, "Skill Machines, reproduced", words, sections)


def _do(
    jobs: Sequence[Job], store: Store, options: ReproduceOptions, before: int, total: int
) -> int:
    """Do what is left of some jobs; return how many runs are done with them."""
    left = [job for job in jobs if not store.has(job)]
    finished = before + sum(map(_runs, jobs)) - sum(map(_runs, left))
    options.progress("", finished, total)

    def done(job: Job, result: Any) -> None:  # noqa: ANN401
        nonlocal finished
        store.put(job, result)
        finished += _runs(job)
        options.progress(job.key, finished, total)

    run_jobs(left, options.workers, done)
    return finished


def _runs(job: Job) -> int:
    """Return how many runs of a learner a job is worth, for the estimate of the time left."""
    if "method" not in job.arguments:
        return PICTURE_RUNS
    steps: int = job.arguments.get("settings", job.arguments)["steps"]
    tried = 1 if "settings" in job.arguments else GRID_SIZE
    return max(1, round(len(job.arguments["seeds"]) * tried * steps / STEPS))


def _first_jobs(parts: Sequence[str], options: ReproduceOptions) -> list[Job]:
    """Return all jobs that wait for nothing."""
    learning, jobs = options.learning, []
    if "figure-2" in parts:
        for panel in PANELS:
            for method in METHODS_TABLED:
                jobs += learning.jobs(panel, method, learning.settings(method))
    if "figure-2-best" in parts:
        for panel in PANELS:
            for method, used in zero_shot_settings(learning).items():
                jobs += learning.jobs(panel, method, used)
            jobs += [learning.search_job(panel, method) for method in LEARNING]
    for name in ("figure-8", "figure-9"):
        if name in parts:
            panel = REACHABILITY[name]
            for method in gallery.TABLED:
                jobs += learning.jobs(panel, method, learning.settings(method))
            jobs.append(gallery.reachability_paths_job(name))
            jobs.append(gallery.machine_job(name, panel.domain, panel.tasks[0]))
    seeds = 1 if options.quick else 5
    single = {
        "task-4": task_four_jobs(options.few_runs),
        "planners": [gallery.planners_job(d, seeds) for d in ("office", "office_absorbing")],
        "figure-3": [gallery.returns_job(options.episodes)],
        "figure-6": [gallery.values_job()],
        "figure-7": [gallery.paths_job()],
        "figure-12": [gallery.machine_job("figure-12", "safety", "2")],
        "figure-13": gallery.safety_jobs(options.layouts),
    }
    jobs += [job for name, found in single.items() if name in parts for job in found]
    return list({job.key: job for job in jobs}.values())  # Two parts may need the same.


def _second_jobs(parts: Sequence[str], options: ReproduceOptions, store: Store) -> list[Job]:
    """Return the runs with the settings that the search has found."""
    learning = options.learning
    if "figure-2-best" not in parts:
        return []
    return [
        job
        for panel in PANELS
        for method, used in fair_settings(learning, panel, store.get).items()
        for job in learning.jobs(panel, method, used, "best")
    ]


def _section(name: str, options: ReproduceOptions) -> gallery.Make:
    learning = options.learning
    makers: dict[str, Callable[..., Section]] = {
        "findings": partial(findings_section, learning),
        "tasks": tasks_section,
        "task-4": partial(task_four_section, options.few_runs),
        "figure-2": partial(learning_section, learning),
        "figure-2-best": partial(fair_section, learning),
        "planners": partial(gallery.planners_section, 1 if options.quick else 5),
        "figure-3": partial(gallery.returns_section, options.episodes),
        "figure-6": gallery.values_section,
        "figure-7": gallery.paths_section,
        "figure-8": partial(gallery.reachability_section, "figure-8", learning),
        "figure-9": partial(gallery.reachability_section, "figure-9", learning),
        "figure-12": gallery.machine_section,
        "figure-13": partial(gallery.safety_section, options.layouts),
    }
    return makers[name]
