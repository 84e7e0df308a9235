"""Paths of tasks on the map of the office, and the starts that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import gymnasium
from matplotlib.figure import Figure

from skm_sim.artists import PathsPanel, ValuePanel
from skm_sim.office.drawing import trajectories_figure, values_figure
from skm_sim.office.env import OFFICE_MAP, Position
from skm_sim.spec import DomainError, Task
from skm_sim.trials import ResetOptions

STARTS: Final[tuple[Position, ...]] = ((11, 9), (5, 13))
"""Where the drawn paths start, if nothing else is asked for."""


def draw_values(env: gymnasium.Env[Any, Any], panels: Sequence[ValuePanel]) -> Figure:
    """Return a map a primitive, as `fig:ow_values_base`."""
    absorbing = env.model.absorbing  # type: ignore[attr-defined]
    arrays = [(panel.title, panel.values, panel.actions) for panel in panels]
    return values_figure(arrays, absorbing=absorbing)


class OfficePaths:
    """Zero-shot left and few-shot right, as `fig:ow_trajectories`."""

    planner = "paper"
    formula_width = (9.0, 300.0)

    def trials(self, task: Task, seed: int, starts: Sequence[str]) -> list[ResetOptions]:  # noqa: ARG002
        """Return the start cells asked for, such as `2,2`, or the usual two."""
        positions = [read_position(text) for text in starts] or list(STARTS)
        return [{"start": position} for position in positions]

    def place(self, env: gymnasium.Env[Any, Any]) -> int:
        """Return the cell."""
        cell: int = env.state().cell  # type: ignore[attr-defined]
        return cell

    def figure(self, env: gymnasium.Env[Any, Any], panels: Sequence[PathsPanel]) -> Figure:
        """Return a map for each task and policy."""
        drawn = [
            (
                f"{panel.task.name}, {panel.policy}: {outcome_text(_steps(panel))}",
                [run.path for run in panel.runs],
            )
            for panel in panels
        ]
        return trajectories_figure(drawn, absorbing=env.model.absorbing)  # type: ignore[attr-defined]

    def document(self, panels: Sequence[PathsPanel], seed: int) -> dict[str, Any]:  # noqa: ARG002
        """Return the starts, and the steps of each run by task and policy."""
        steps: dict[str, dict[str, list[int | None]]] = {}
        for panel in panels:
            steps.setdefault(panel.task.name, {})[panel.policy] = _steps(panel)
        starts = [run.options["start"] for run in panels[0].runs]
        return {"starts": starts, "steps": steps}


def _steps(panel: PathsPanel) -> list[int | None]:
    return [run.steps if run.outcome == "accepted" else None for run in panel.runs]


def outcome_text(steps: Sequence[int | None]) -> str:
    """Return how the runs of a panel ended, for its title."""
    solved = [str(count) for count in steps if count is not None]
    text = f"{', '.join(solved)} steps" if solved else ""
    failed = len(steps) - len(solved)
    return ", ".join([*filter(None, [text]), *([f"{failed} not solved"] if failed else [])])


def read_position(text: str) -> Position:
    """Return the free cell that a text such as `2,2` names."""
    try:
        row, column = (int(part) for part in text.split(","))
    except ValueError:
        raise DomainError(
            f"--starts takes rows and columns, such as 2,2 11,9, not '{text}'."
        ) from None
    OFFICE_MAP.cell_at((row, column))
    return row, column
