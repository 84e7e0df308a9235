"""The parts of the reproduction that are pictures of what was learned and of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skm_primitives.baselines import METHODS
from skm_primitives.reproduction.claims import Claim
from skm_primitives.reproduction.curve_figure import curves_figure
from skm_primitives.reproduction.experiments import METHODS_SHOWN, REACHABILITY, ZERO_SHOT_TABLED
from skm_primitives.reproduction.learning import Get, Learning, best_possible
from skm_primitives.reproduction.pictures import as_files
from skm_primitives.reproduction.report import Section, Table
from skm_primitives.workers import Job

PICTURES = "skm_primitives.reproduction.pictures"
FEW_SHOT_STEPS = 200_000
PLANNED: Mapping[str, Mapping[str, Any]] = {
    "printed": {"planner": "printed"},
    "paper": {"planner": "paper"},
    "paper, possible only": {"planner": "paper", "possible_only": True},
    "values": {"planner": "values"},
    "product": {"planner": "product"},
}
"""The planners that are compared, with the options of their evaluations."""
TABLED = (*METHODS_SHOWN, ZERO_SHOT_TABLED)
"""Methods in the tables of the reachability experiments."""


def picture_job(key: str, **arguments: Any) -> Job:  # noqa: ANN401
    """Return a job that draws one of `skm plot`."""
    return Job(key, f"{PICTURES}:picture", arguments)


def values_job() -> Job:
    """Return `fig:ow_values_base`."""
    return picture_job("figure-6", domain="office", kind="values")


def paths_job() -> Job:
    """Return `fig:ow_trajectories`: zero-shot by the paper's planner, and few-shot from there."""
    options = {"tasks": ["coffee", "patrol", "coffee_mail"], "planner": "paper"}
    return picture_job(
        "figure-7",
        domain="office",
        kind="trajectories",
        finetune_steps=FEW_SHOT_STEPS,
        **options,
    )


def reachability_paths_job(name: str) -> Job:
    """Return the trajectories of a reachability experiment."""
    panel = REACHABILITY[name]
    return picture_job(
        f"{name}-trajectories",
        domain=panel.domain,
        kind="trajectories",
        tasks=list(panel.tasks),
        planner="paper",
        finetune_steps=FEW_SHOT_STEPS,
    )


def machine_job(name: str, domain: str, task: str) -> Job:
    """Return a task's machine, drawn."""
    arguments = {"domain": domain, "task": task, "gamma": 0.9}
    return Job(f"{name}-machine", f"{PICTURES}:machine", arguments)


def planners_job(domain: str, seeds: int) -> Job:
    """Return the tasks of a tabular domain with every planner."""
    asked = {name: dict(options) for name, options in PLANNED.items()}
    arguments = {"domain": domain, "seeds": seeds, "asked": asked}
    return Job(f"planners {domain} {seeds}", f"{PICTURES}:planners", arguments)


def returns_job(episodes: int) -> Job:
    """Return `fig:returns`."""
    key = f"figure-3 {episodes}"
    return picture_job(key, domain="moving_targets", kind="returns", episodes=episodes, seed=11)


def safety_jobs(episodes: int) -> list[Job]:
    """Return the six trajectories, and how often the tasks succeed."""
    arguments = {"domain": "safety", "episodes": episodes, "seed": 7}
    return [
        picture_job("figure-13", domain="safety", kind="trajectories"),
        Job(f"figure-13 success {episodes}", f"{PICTURES}:evaluation", arguments),
    ]


def values_section(get: Get) -> Section:
    """Return the section of the primitives' values."""
    found = get(values_job())
    names = found["document"]["primitives"]
    claim = Claim(
        "eleven skill primitives are learned once: ten propositions and a constraint",
        len(names) == 11,
        ", ".join(names),
    )
    about = (
        "The value (colour) and the policy (arrows) of every skill primitive, from the checkpoint."
    )
    files = {"figure-6": found["files"]}
    return Section("figure-6", "Figure 6: the skill primitives", about, [claim], files)


def paths_section(get: Get) -> Section:
    """Return the section of the trajectories."""
    about = (
        "Paths with the paper's planner: zero-shot (SM) to the left, few-shot (QL-SM, by"
        f" {FEW_SHOT_STEPS} steps of `skm finetune`) to the right."
    )
    found = get(paths_job())
    steps: Mapping[str, Mapping[str, list[int | None]]] = found["document"]["steps"]
    zero, few = (
        [taken for task in steps.values() for taken in task[kind]]
        for kind in ("zero-shot", "few-shot")
    )
    pairs = [(a, b) for a, b in zip(zero, few, strict=True) if a is not None and b is not None]
    claim = Claim(
        "zero-shot paths succeed, few-shot ones are no longer",
        None not in zero and None not in few and all(b <= a for a, b in pairs),
        f"planner {found['document']['planner']}; steps zero-shot {zero}, few-shot {few}",
    )
    files = {"figure-7": found["files"]}
    return Section("figure-7", "Figure 7: with and without few-shot", about, [claim], files)


def reachability_section(name: str, learning: Learning, get: Get) -> Section:
    """Return one of the two experiments in which a coffee cannot be left."""
    panel = REACHABILITY[name]
    used = {method: learning.settings(method) for method in TABLED}
    curves, best = learning.curves(panel, get, used), best_possible(panel)
    last = {method: found.at(learning.steps)[0] for method, found in curves.items()}
    figure = curves_figure([(panel.title, curves, best)], f"{learning.runs} runs")
    zero, few = last["sm-paper"], last["ql-sm-paper"]
    strict = name == "figure-9"
    text = "zero-shot fails completely" if strict else "zero-shot is worse than few-shot"
    fails, reached = zero < 0.02 if strict else zero < few - 0.05, few > 0.95 * best
    chance = "every tenth action is random: at random it succeeds now and then"
    rule = (
        "the printed rule leaves to the zero-shot skill what is over 21 steps from success; `skm"
        " finetune`, whose paths are drawn here, follows Q wherever Q is sure of success"
    )
    claims = [
        Claim(text, fails, f"SM (paper) {zero:.3f}", "" if fails else chance),
        Claim(
            "few-shot reaches the optimum all the same",
            reached,
            f"QL-SM (paper) {few:.3f} of {best:.3f}",
            "" if reached else rule,
        ),
    ]
    if not strict:
        claims.append(
            Claim(
                "HRM ends where zero-shot is: it goes to the nearest coffee, too",
                abs(last["hrm"] - zero) < 0.1,
                f"HRM {last['hrm']:.3f}, SM (paper) {zero:.3f}",
                "in the authors' world that coffee could be left: their wrapper drops `done`; here its"
                " controller, which sees the cell, learns which options lead nowhere",
            )
        )
    rows = [
        ("method", "success at the end"),
        *((METHODS[m].label, f"{v:.3f}") for m, v in last.items()),
    ]
    pictures = {
        f"{name}-curves": as_files(figure),
        f"{name}-trajectories": get(reachability_paths_job(name))["files"],
        f"{name}-machine": get(machine_job(name, panel.domain, panel.tasks[0]))["files"],
    }
    about = (
        "Global reachability does not hold: the coffee at the lower right cannot be left. (In the"
        " authors' code it can: a wrapper drops `done`.)"
    )
    number = name.removeprefix("figure-")
    title = f"Figure {number}: {panel.title}"
    table = Table(name, [*rows, ("best possible", f"{best:.3f}")])
    return Section(name, title, about, claims, pictures, [table])


def machine_section(get: Get) -> Section:
    """Return `fig:rm_sm`."""
    found = get(machine_job("figure-12", "safety", "2"))
    states = found["document"]["states"]
    rows = [list(states[0]), *([str(value) for value in state.values()] for state in states)]
    reached = {state["reach"] for state in states}
    claim = Claim(
        "the skill machine reaches button & !region, then cylinder & !region, values 0.9 and 1",
        reached == {"button & !region", "cylinder & !region"}
        and [state["value"] for state in states] == [0.9, 1.0],
        "; ".join(f"{state['state']}: {state['reach']}, {state['value']}" for state in states),
    )
    about = (
        "From the formula to the reward machine, its values (γ = 0.9) and the skill of each state."
    )
    files = {"figure-12": found["files"]}
    tables = [Table("figure-12", rows)]
    return Section(
        "figure-12", "Figure 12: reward and skill machine", about, [claim], files, tables
    )


def returns_section(episodes: int, get: Get) -> Section:
    """Return the section of Moving Targets."""
    found = get(returns_job(episodes))
    theirs = {"1": (37, 28.6), "2": (20, 13.9), "3": (25, 17.1), "4": (17, 9.7)}
    rows = [("task", "ours", "reference", "ratio", "authors: composed / optimal, medians")]
    ratios = []
    for name, task in found["document"]["tasks"].items():
        ratios.append(task["ratio"])
        optimal, composed = theirs.get(name, (0, 0))
        rows.append(
            (
                name,
                f"{task['mean_return']:.2f}",
                f"{task['optimal_return']:.2f}",
                f"{task['ratio']:.3f}",
                f"{composed} / {optimal}",
            )
        )
    fall = min(ratios[:2]) - min(ratios[2:])
    claims = [
        Claim(
            "zero-shot returns are very close to optimal",
            min(ratios) > 0.9,
            f"{min(ratios):.1%} to {max(ratios):.1%} of the reference on the true state",
            "with few boards chance decides",
        ),
        Claim(
            "on tasks 3 and 4 errors add up to failures now and then",
            fall > 0.02,
            f"the least of tasks 3 and 4 is {-fall:+.3f} from the least of tasks 1 and 2",
            "ours do not fall off; the planner looks ahead, and remembers what led nowhere",
        ),
    ]
    about = (
        f"Missions completed in 50 steps, {episodes} boards a task, planner product. Figures of the"
        " authors, on their boards and tasks' lengths, are the medians that their plots show: 57 to 77 %"
        " of the optimum."
    )
    files, tables = {"figure-3": found["files"]}, [Table("figure-3", rows)]
    return Section("figure-3", "Figure 3: Moving Targets", about, claims, files, tables)


def safety_section(episodes: int, get: Get) -> Section:
    """Return the section of the Safety tasks."""
    drawn, measured = (get(job) for job in safety_jobs(episodes))
    tasks: Mapping[str, Any] = measured["document"]["tasks"]
    rows = [
        ("task", "success", "violations", "mean steps"),
        *(
            (name, f"{t['success']:.3f}", f"{t['violations']:.3f}", f"{t['mean_steps'] or 0:.1f}")
            for name, t in tasks.items()
        ),
    ]
    least = min(task["success"] for task in tasks.values())
    claim = Claim(
        "composed policies solve the six tasks zero-shot",
        least > 0.9,
        f"success on random layouts at least {least:.3f}; the paper shows one run of each",
    )
    about = f"One run of each task, and {episodes} random feasible layouts a task, planner product."
    files, tables = {"figure-13": drawn["files"]}, [Table("figure-13", rows)]
    return Section("figure-13", "Figure 13: Safety", about, [claim], files, tables)


def planners_section(seeds: int, get: Get) -> Section:
    """Return what plans what: all planners on all office tasks."""
    found = {
        domain: get(planners_job(domain, seeds))["document"]
        for domain in ("office", "office_absorbing")
    }
    about = (
        "Success, and return over that of the optimum: exact, first over all starts from which the task"
        " is possible, then over those of them on which no constraint holds. `product` reads the"
        " one-step world off the learned tables and plans on it: model-based planning on what was"
        " learned, which would do as well with every long-range value wiped out. `values` composes the"
        " learned long-range values, weighted by what comes after each goal; `paper` masks them by the"
        " paper's Algorithm 2, on the machine as it is, or restricted to label sets that occur"
        " (possible only); `printed` is the same to the letter of Definition 3.2."
    )
    tables = [
        Table("planners", _planner_rows(found, lambda task: task["all_starts"])),
        Table("planners_off_constraints", _planner_rows(found, lambda task: task)),
    ]
    return Section("planners", "What plans", about, tables=tables)


def _planner_rows(
    found: Mapping[str, Any], summary: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> list[tuple[str, ...]]:
    """Return a row for each task: success and return with every planner."""
    rows: list[tuple[str, ...]] = [
        ("task", *(f"{name}: {what}" for name in PLANNED for what in ("success", "return")))
    ]
    for domain, planners in found.items():
        for task in planners["paper"]:
            cells = [
                f"{summary(planners[name][task])[what] or 0:.3f}"
                for name in PLANNED
                for what in ("success", "return_ratio")
            ]
            rows.append((f"{domain}: {task}", *cells))
    return rows


Make = Callable[[Get], Section]
