"""What `skm bench robot` prints."""

from __future__ import annotations

from typing import Any

from skm_cli.output import console


def print_trials(found: dict[str, Any]) -> None:
    """Print how missions went on a robot."""
    out = console()
    robot = {"car": "the Car", "irsim": "ir-sim's robot"}[found["robot"]]
    out.print(
        f"{found['domain']}: {found['runs']} runs on {robot}, {found['kilometres']:.2f} km in"
        f" {found['hours']:.2f} h of its time, seed {found['seed']}"
    )
    out.print(f"  success {found['success']:.3f}, by the true pose {found['true_success']:.3f}")
    out.print(f"  forbidden places touched (true pose, 50 Hz): {found['forbidden_touched']}")
    out.print(f"  walls touched: {found['walls_touched']}")
    compared = ""
    if "path_over_planned" in found:
        compared = (
            f"path / planned {found['path_over_planned']:.3f}, worst"
            f" {found['worst_path_over_planned']:.3f}; "
        )
    out.print(f"  {compared}mean speed {found['mean_speed']:.2f} m/s")
