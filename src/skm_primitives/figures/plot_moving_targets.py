"""Pictures of Moving Targets: returns beside the reference, and how learning went."""

from __future__ import annotations

import argparse
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from skm_machine.drawing.lettering import words_broken
from skm_machine.errors import SkmError
from skm_primitives import checkpoint
from skm_primitives.deep.moving_targets.kind_goals import PixelGoals
from skm_primitives.deep.moving_targets.skill_tests import (
    VALIDATION_SEED,
    group_scores,
    skill_tests,
    success,
)
from skm_primitives.evaluation.eval_moving_targets import evaluate
from skm_primitives.primitives import default_checkpoint, load_primitives
from skm_sim.domain import get_domain
from skm_sim.moving_targets.board import KINDS, MOVES, States

INK: Final = "#222831"
GRID: Final = "#e6e0d4"
REFERENCE: Final = "#b8b2a7"
ZERO_SHOT: Final = "#1f7a8c"
GROUPS: Final = {
    "kind": ("a kind, such as blue & square", "#3b6fb6", "o"),
    "colour": ("a colour", "#7a5195", "s"),
    "shape": ("a shape", "#2a9d8f", "^"),
    "without": ("a colour, never touching a shape", "#e08e1b", "D"),
    "only": ("a kind before any other object", "#d1345b", "v"),
}
"""Groups of `skill_tests`: what they are, and how they are drawn."""


def returns(args: argparse.Namespace) -> tuple[Figure, dict[str, Any]]:
    """Draw the mean return of each task beside that of the reference, as `fig:returns`."""
    if args.starts or args.finetuned or args.finetune_steps:
        raise SkmError("--starts, --finetuned and --finetune-steps are for the office domains.")
    if args.episodes < 1:
        raise SkmError(f"--episodes is {args.episodes}; it must be at least 1.")
    spec = get_domain(args.domain)
    primitives = load_primitives(args.checkpoint or default_checkpoint(spec.name), spec)
    tasks = [spec.task(name) for name in args.task or spec.tasks]
    found = {
        task.name: evaluate(spec, primitives, task, args.planner, args.seed, args.episodes)
        for task in tasks
    }
    figure = returns_figure(found)
    return figure, {"planner": args.planner, "seed": args.seed, "tasks": found}


def returns_figure(found: dict[str, dict[str, Any]]) -> Figure:
    """Return bars for what `evaluate` found, with 95 % intervals."""
    figure = Figure(figsize=(max(4.5, 2.1 * len(found)), 4.2), layout="constrained")
    axes = figure.add_subplot(ylabel="missions completed in 50 steps")
    places = np.arange(len(found))
    bars = (
        ("optimal_return", "reference, on the true state", REFERENCE, -0.2),
        ("mean_return", "zero-shot, from pixels", ZERO_SHOT, 0.2),
    )
    for key, label, colour, shift in bars:
        means = np.array([result[key] for result in found.values()])
        ends = np.array([result[f"{key}_interval"] for result in found.values()])
        errors = np.abs(ends.T - means)
        look: dict[str, Any] = {"ecolor": INK, "capsize": 3, "error_kw": {"elinewidth": 1}}
        axes.bar(places + shift, means, 0.38, yerr=errors, color=colour, label=label, **look)
        for place, mean, end in zip(places + shift, means, ends[:, 1], strict=True):
            axes.annotate(
                f"{mean:.2f}", (place, end), (0, 3), textcoords="offset points", ha="center", size=8
            )
    names = [
        "\n".join(
            [
                f"task {name}: {result['ratio']:.1%} of the reference",
                *words_broken(result["mission"], 6.5, 135),
            ]
        )
        for name, result in found.items()
    ]
    axes.set_xticks(places, names, size=7)
    axes.margins(y=0.12)
    counts = sorted({result["episodes"] for result in found.values()})
    boards = "–".join(str(count) for count in counts)
    axes.set_title(f"Moving Targets, {boards} random boards a task, 95 % intervals", size=10)
    axes.legend(fontsize=8, framealpha=0.9, edgecolor="none")
    _plain(axes)
    return figure


def curve(args: argparse.Namespace) -> tuple[Figure, dict[str, Any]]:
    """Draw the success of single skills while they were learned, from the checkpoint's card."""
    spec = get_domain(args.domain)
    _, card = checkpoint.load(args.checkpoint or default_checkpoint(spec.name), spec.name)
    rows: list[dict[str, float]] = card.details.get("curve", [])
    if not rows:
        raise SkmError("the checkpoint has no learning curve; it was never validated.")
    boards = int(card.details["settings"]["validation_boards"])
    chance = random_success(boards)
    document = {"seed": card.seed, "boards": boards, "random": chance, "curve": rows}
    return curve_figure(rows, chance, boards, card.seed), document


def random_success(boards: int, seed: int = VALIDATION_SEED) -> dict[str, float]:
    """Return the success of random actions on validation boards, by group of skills."""
    spec = get_domain("moving_targets")
    goals = PixelGoals(spec.constraints, [frozenset(kind) for kind in KINDS])
    random = np.random.default_rng(0)

    def judge(states: States) -> NDArray[np.float32]:
        # One draw for all goals: the best action is then uniform, whatever goals are asked for.
        draws = random.random((len(states), 1, len(MOVES)), np.float32)
        return np.broadcast_to(draws, (len(states), len(goals), len(MOVES)))

    tests = skill_tests()
    scores = group_scores(tests, success(judge, goals, tests, boards, seed))
    return {group: scores[group] for group in GROUPS}


def curve_figure(
    rows: list[dict[str, float]], chance: dict[str, float], boards: int, seed: int
) -> Figure:
    """Return the curves, with what random actions reach as broken lines in the same colours.

    The optimum is 1: the boards are those on which the skill can be done.
    """
    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.add_subplot(xlabel="environment steps, millions", ylabel="success in 50 steps")
    steps = np.array([row["steps"] for row in rows]) / 1e6
    minutes = np.array([row["cpu_minutes"] for row in rows])
    for group, (label, colour, marker) in GROUPS.items():
        rates = [row[group] for row in rows]
        look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5, "lw": 1.8}
        axes.plot(steps, rates, label=f"{label}: {rates[-1]:.3f}", zorder=3, **look)
        dashes: dict[str, Any] = {"color": colour, "lw": 1, "ls": (0, (4, 3))}
        axes.axhline(chance[group], label=f"random actions: {chance[group]:.2f}", **dashes)
    axes.axhline(1.0, color=INK, lw=1, ls=(0, (1, 1.5)), label="optimal: 1")
    end = float(steps[-1])
    axes.set(xlim=(0, 1.03 * end), ylim=(0, 1.04))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    # From (0, 0) along the validations, and on beyond the last one.
    known_steps = np.array([0, *steps, 2 * end])
    known_minutes = np.array([0, *minutes, 2 * minutes[-1]])
    top = axes.secondary_xaxis(
        "top",
        functions=(
            lambda x: np.interp(np.asarray(x, float), known_steps, known_minutes),
            lambda x: np.interp(np.asarray(x, float), known_minutes, known_steps),
        ),
    )
    top.set_xlabel(f"CPU minutes on one core (training seed {seed})", size=9)
    top.tick_params(length=0, labelsize=8)
    top.spines["top"].set_visible(False)
    title = f"network alone, {boards} validation boards a skill"
    look = {"fontsize": 8, "title": title, "title_fontsize": 8, "edgecolor": "none"}
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), **look)
    _plain(axes)
    return figure


def _plain(axes: Axes) -> None:
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
