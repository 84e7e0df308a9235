"""Evaluations as tables."""

from __future__ import annotations

from skm_cli.output import console, plain_table
from skm_primitives.evaluation import (
    Evaluation,
    MissionsEvaluation,
    RoundsEvaluation,
    TabularEvaluation,
    TrialsEvaluation,
)
from skm_primitives.evaluation.skill_trials import SkillReport
from skm_primitives.evaluation.statistics import proportion_interval
from skm_primitives.evaluation.task_trials import FEW_SHOT


def print_evaluation(evaluation: Evaluation) -> None:
    """Print the table of an evaluation."""
    match evaluation:
        case TabularEvaluation():
            _print_tabular(evaluation)
        case TrialsEvaluation():
            _print_trials(evaluation)
        case RoundsEvaluation():
            _print_rounds(evaluation)
        case MissionsEvaluation():
            _print_missions(evaluation)
        case SkillReport():
            _print_skills(evaluation)


def _print_tabular(found: TabularEvaluation) -> None:
    title = (
        f"{found.domain}, planner {found.planner}, {found.seeds} seed(s),"
        f" ε = {found.epsilon:g}, zero-shot"
    )
    columns = {
        "success": "success",
        "best_success": "best\npossible",
        "return_ratio": "return /\noptimum",
        "mean_steps": "steps",
        "optimal_steps": "optimal\nsteps",
        "violations": "vio-\nlations",
    }
    shown = [key for key in columns if key != "best_success" or found.epsilon]
    headers = ["task", "starts", *(columns[key] for key in shown)]
    table = plain_table(title, headers, wrap=False)
    apart = False
    for name, task in found.tasks.items():
        every, clear = task.all_starts, task.off_constraints
        best = {"best_success": task.best_success}
        rows = [(name, f"all {every.starts}", {**every.document(), **best})]
        if clear.starts < every.starts:
            rows.append(("", f"{clear.starts} clear", clear.document()))
            apart = True
        for first, starts, figures in rows:
            table.add_row(first, starts, *(_figure(figures.get(key)) for key in shown))
    console().print(table)
    if apart:
        console().print("clear: starts on which no constraint holds")
    if any(task.impossible_starts for task in found.tasks.values()):
        console().print("starts from which a task is impossible are left out")


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.3f}" if value < 2 else f"{value:.2f}"


def _print_trials(found: TrialsEvaluation) -> None:
    title = f"{found.domain}, {_who(found.planner)}, {found.variant} layouts{_shots(found.planner)}"
    usual = {"walls": 0, "timeouts": 0, "visits": 1}  # columns that say no more are left out
    tasks = found.tasks.values()
    rare = [key for key, most in usual.items() if any((getattr(t, key) or 0) > most for t in tasks)]
    headers = ("task", "success", "95 %", "violations", *rare)
    table = plain_table(title, (*headers, "steps", "feasible", "episodes"))
    for name, task in found.tasks.items():
        low, high = task.success_interval
        table.add_row(
            name,
            f"{task.success:.3f}",
            f"{low:.3f}–{high:.3f}",
            "–" if task.violations is None else f"{task.violations:.3f}",
            *(_figure(getattr(task, key)) for key in rare),
            "–" if task.mean_steps is None else f"{task.mean_steps:.1f}",
            "–" if task.feasible is None else f"{task.feasible:.2f}",
            str(task.episodes),
        )
    console().print(table)


def _print_rounds(found: RoundsEvaluation) -> None:
    steps = max(task.max_steps for task in found.tasks.values())
    who, shots = _who(found.planner), _shots(found.planner)
    title = f"{found.domain}, {who}{shots}, rounds in {steps} steps"
    headers = ("task", "return", "95 %", "reference", "ratio", "violations", "episodes")
    table = plain_table(title, headers)
    for name, task in found.tasks.items():
        low, high = task.mean_return_interval
        table.add_row(
            name,
            f"{task.mean_return:.2f}",
            f"{low:.2f}–{high:.2f}",
            f"{task.optimal_return:.2f}",
            f"{task.ratio:.3f}",
            f"{task.violations:.3f}",
            str(task.episodes),
        )
    console().print(table)
    console().print(f"mean ratio {found.mean_ratio:.3f}")


def _print_missions(found: MissionsEvaluation) -> None:
    title = f"{found.domain}, planner {found.planner}, seed {found.seed}, zero-shot"
    columns = {
        "success": "success",
        "best_success": "best\npossible",
        "mean_steps": "steps",
        "optimal_steps": "optimal",
        "return_ratio": "return /\noptimum",
        "violations": "violations",
    }
    rows = [trial.document() for trial in found.trials]
    optional = {"best_success": 1, "optimal_steps": None, "return_ratio": None}
    shown = [
        key
        for key in columns
        if key not in optional or any(row[key] not in (None, optional[key]) for row in rows)
    ]
    table = plain_table(title, ["mission", "states", *(columns[key] for key in shown)])
    for row in rows:
        figures = [_figure(row[key]) for key in shown]
        table.add_row(row["mission"], str(row["machine_states"]), *figures)
    console().print(table)
    low, high = found.success_interval
    console().print(
        f"{found.runs} runs: success {found.success:.3f} (95 %: {low:.3f}–{high:.3f})"
        f"{_beside_optimum(found)}, {found.violations} violations"
    )
    if infeasible := sum(row["infeasible_starts"] for row in rows):
        console().print(f"{infeasible} more starts, from which no policy can do it, do not count.")
    if refused := sum(row["refused"] for row in rows):
        console().print(f"{refused} runs were refused by the planner, which counts as no success.")
    if found.optimum == "unknown":
        console().print(
            "No finite world was found out: whether a mission is feasible is not known, and there is no"
            " optimum to compare with."
        )
    elif found.optimum == "estimated":
        console().print("The optimum is of a world estimated by trying every action often.")


def _beside_optimum(found: MissionsEvaluation) -> str:
    """Return what the success and the return are beside the best possible."""
    text = ""
    if (
        found.best_success is not None
        and found.best_success < 1
        and found.success_ratio is not None
    ):
        text = f" of {found.best_success:.3f} possible, ratio {found.success_ratio:.3f}"
    if found.return_ratio is not None:
        text += f", return / optimum {found.return_ratio:.3f}"
    return text


def _print_skills(found: SkillReport) -> None:
    boards = found.boards
    title = f"{found.domain}, single skills on {boards} boards each, within {found.max_steps} steps"
    table = plain_table(title, ("skill", "as executed", "95 %", "network alone", "95 %"))
    executed, alone = found.rates["executed"], found.rates["greedy"]
    for name in executed:
        row = [name]
        for rate in (executed[name], alone[name]):
            low, high = proportion_interval(round(rate * boards), boards)
            row += [f"{rate:.3f}", f"{low:.3f}–{high:.3f}"]
        table.add_row(*row)
    console().print(table)
    console().print(f"a composed step: {found.milliseconds_per_step} ms of CPU time")


def _who(planner: str) -> str:
    """Name the planner; or say that a policy was learned few-shot."""
    return planner if planner == FEW_SHOT else f"planner {planner}"


def _shots(planner: str) -> str:
    return "" if planner == FEW_SHOT else ", zero-shot"
