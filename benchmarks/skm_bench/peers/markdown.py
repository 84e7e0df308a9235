"""What `skm bench peers` found as Markdown, as docs/results/peers.md has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def peers_markdown(found: Sequence[dict[str, Any]]) -> str:
    """Return a table for each world, and below it what is no task."""
    return "\n".join(_world(world) for world in found)


def _world(world: dict[str, Any]) -> str:
    runs = world["starts"] * len(world["seeds"])
    over = any("over_optimum" in row for row in world["tasks"])
    heads = [world["world"], f"success, of {runs}", "worst seed", "violated", "steps"]
    heads += ["over the fewest", "worst seed"] if over else []
    lines = [_row([*heads, "DeepLTL: success, steps"]), "|---" * (len(heads) + 1) + "|"]
    for row in world["tasks"]:
        known = row.get("published")
        mission = row["mission"].replace("|", "\\|")
        cells = [f"`{mission}`", f"{row['success']:.4f}", f"{row['worst_seed']:.3f}"]
        cells += [str(round(row["violations"] * runs)), _number(row["steps"], 1)]
        if over:
            cells += [_number(row.get(key), 3) for key in ("over_optimum", "worst_over_optimum")]
        told = f"{known['success']:.3f}, {known['steps']:.1f}" if known else "–"
        lines.append(_row([*cells, told]))
    return "\n".join([*lines, "", *(f"- {line}" for line in _below(world)), ""])


def _below(world: dict[str, Any]) -> list[str]:
    lines = [
        f"Training seed {row['seed']}: {row['steps']:,} steps, {row['cpu_seconds']:.0f} CPU seconds."
        for row in world["training"]
        if row["cpu_seconds"]
    ]
    lines.append(f"Success, interquartile mean and 95 % interval: {_interval(world, 4)}.")
    if "over_optimum" in world:
        lines.append(f"Steps over the fewest, the same: {_interval(world, 3, 'over_optimum')}.")
    for mission in dict.fromkeys(row["mission"] for row in world["recurring"]):
        rows = [row for row in world["recurring"] if row["mission"] == mission]
        rounds = ", ".join(f"{row['rounds']:g}" for row in rows)
        violated = sum(row["violated"] for row in rows)
        episodes = sum(row["episodes"] for row in rows)
        lines.append(
            f"`{mission}`: {rounds} rounds on the mean of each seed, {violated} of {episodes} violated."
        )
    if some := world.get("formulas"):
        lines.append(
            f"Formulas: {some['runs']} runs, success {some['success']:.4f}, violated"
            f" {some['violations']:.4f}."
        )
    return lines


def _interval(world: dict[str, Any], digits: int, key: str = "interquartile_mean") -> str:
    if len(world["seeds"]) < 2:  # Its bootstrap draws seeds: of one there is nothing to draw.
        return f"{world[key]:.{digits}f} (one seed has no interval)"
    low, high = world["interval" if key == "interquartile_mean" else f"{key}_interval"]
    return f"{world[key]:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
