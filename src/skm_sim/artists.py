"""What a domain draws of what was learned in it, and what it gets to draw.

`DomainSpec.figures` names an artist for each kind of picture; the runs and values that it gets are
worked out by `skm_primitives.figures`, so that nothing here knows of skills.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import gymnasium
from matplotlib.figure import Figure

from skm_sim.arrays import Float32Array, IntArray
from skm_sim.spec import Task
from skm_sim.trials import ResetOptions

STATE_COLOURS: Final = (
    *("#2f6fd0", "#e08e1b", "#6a4c93", "#1f8a8c", "#8c5a3c", "#b8518f", "#7a8b2a"),
)
"""Of the machine's states, and of whatever else comes one after the other: the same in all pictures."""
WALL: Final = "#3d4653"
INK: Final = "#26364d"
ROBOT: Final = "#1d6fd8"


@dataclass(frozen=True)
class ValuePanel:
    """The value function and the policy of one primitive, over the cells of a tabular world."""

    title: str
    values: Float32Array
    actions: IntArray
    """The best action in each cell; −1 for none."""


class ValuesArtist(Protocol):
    """Draws value functions."""

    def __call__(self, env: gymnasium.Env[Any, Any], panels: Sequence[ValuePanel]) -> Figure:
        """Return the figure; `env` is the unwrapped environment."""
        ...


@dataclass(frozen=True)
class DrawnRun:
    """One run of a mission, as its picture needs it."""

    options: ResetOptions
    path: Sequence[Any]
    """Where the robot was in each state, by `PathsArtist.place`."""
    outcome: str
    """`accepted`, `failed`, `no progress` or `timed out`."""
    steps: int
    machine_states: Sequence[int]
    """The machine's state at the beginning of every step."""
    moves: Sequence[tuple[int, int, float]]
    """The machine's transitions: step, target, reward."""


@dataclass(frozen=True)
class PathsPanel:
    """Runs of one task by one policy."""

    task: Task
    policy: str
    """`zero-shot` or `few-shot`."""
    formula: Sequence[str]
    """The task's formula, broken into lines of the artist's `formula_width`."""
    runs: Sequence[DrawnRun]


class PathsArtist(Protocol):
    """Draws the paths of tasks."""

    planner: str
    """The planner whose paths are drawn by default."""
    formula_width: tuple[float, float]
    """The size of a formula's letters and the room for a line of it, in points."""

    def trials(self, task: Task, seed: int, starts: Sequence[str]) -> Sequence[ResetOptions]:
        """Return how the world is reset for the runs of a task; `starts` as the user wrote them."""
        ...

    def place(self, env: gymnasium.Env[Any, Any]) -> Any:  # noqa: ANN401 - whatever a path is made of
        """Return where the robot is now."""
        ...

    def figure(self, env: gymnasium.Env[Any, Any], panels: Sequence[PathsPanel]) -> Figure:
        """Return the figure; `env` is the unwrapped environment."""
        ...

    def document(self, panels: Sequence[PathsPanel], seed: int) -> dict[str, Any]:
        """Return what the runs came to, for programs."""
        ...
