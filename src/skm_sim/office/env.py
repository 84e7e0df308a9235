"""Office Gridworld (`skm/Office-v0`, `skm/OfficeAbsorbing-v0`): map, shapes, environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.office.spec import CONSTRAINTS, PROPOSITIONS
from skm_sim.scene import Shape, Triple
from skm_sim.spec import DomainError
from skm_sim.tabular import DrawnTabularEnv, PathRenderer, TabularModel, TabularVectorEnv

# The map of the Office Gridworld: what one sees below is what the agent walks on.


Position: TypeAlias = tuple[int, int]
"""(row, column), counted from 0 at the top left corner of the outer wall."""

OFFICE_DRAWING = """
#################
#   #   #   #   #
# A   d   d   B #
#   #c  #   #   #
## ### ### ### ##
#   #   #   #   #
# d # o # m # d #
#   #   #   #   #
## ########### ##
#   #   #  c#   #
# D   d   d   C #
#   #   #   #   #
#################
""".strip("\n")

LEGEND = {
    "A": "A",
    "B": "B",
    "C": "C",
    "D": "D",
    "d": "decoration",
    "c": "coffee",
    "m": "mail",
    "o": "office",
}
"""The proposition that each letter of the drawing stands for; `#` is a wall, a blank is floor."""

ACTIONS = ("up", "right", "down", "left")
MOVES: tuple[Position, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""The (row, column) change of each action, in the order of `ACTIONS`."""


@dataclass(frozen=True)
class GridMap:
    """A drawing read as a map: free cells are numbered row by row, from the top left."""

    drawing: str

    def __post_init__(self) -> None:
        lines = self.drawing.split("\n")
        if len({len(line) for line in lines}) != 1:
            raise DomainError("a map's lines must all have the same length.")
        border = lines[0] + lines[-1] + "".join(line[0] + line[-1] for line in lines)
        if set(border) != {"#"}:
            raise DomainError("a map must be closed: its first and last row and column are walls.")
        unknown = sorted(set(self.drawing) - set(LEGEND) - set("# \n"))
        if unknown:
            raise DomainError(f"unknown letters {unknown} in a map; known: {[*LEGEND, '#', ' ']}.")
        if not self.positions:
            raise DomainError("a map must have a free cell.")

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The lines of the drawing, from the top."""
        return tuple(self.drawing.split("\n"))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, the outer wall included."""
        return len(self.rows), len(self.rows[0])

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """The (row, column) of every free cell, in the order of the cell indices."""
        return tuple(
            (row, column)
            for row, line in enumerate(self.rows)
            for column, letter in enumerate(line)
            if letter != "#"
        )

    @cached_property
    def _indices(self) -> dict[Position, int]:
        return {position: cell for cell, position in enumerate(self.positions)}

    @property
    def num_cells(self) -> int:
        """The number of free cells."""
        return len(self.positions)

    def cell_at(self, position: Position) -> int:
        """Return the index of the free cell at (row, column)."""
        cell = self._indices.get((int(position[0]), int(position[1])))
        if cell is None:
            row, column = position
            rows, columns = self.shape
            inside = 0 <= row < rows and 0 <= column < columns
            where = "a wall" if inside else f"outside the map of {rows} rows and {columns} columns"
            raise DomainError(f"(row, column) = ({row}, {column}) is {where}, not a free cell.")
        return cell

    def places(self, proposition: str) -> tuple[Position, ...]:
        """Return where the objects of a kind stand."""
        return tuple(
            (row, column)
            for row, column in self.positions
            if LEGEND.get(self.rows[row][column]) == proposition
        )

    @cached_property
    def transitions(self) -> IntArray:
        """`(cells, actions)`: the cell that each move leads to; a wall keeps the agent in place."""
        table = np.empty((self.num_cells, len(MOVES)), np.int64)
        for cell, (row, column) in enumerate(self.positions):
            for action, (down, right) in enumerate(MOVES):
                table[cell, action] = self._indices.get((row + down, column + right), cell)
        table.setflags(write=False)
        return table


OFFICE_MAP = GridMap(OFFICE_DRAWING)


# The office as shapes for 3D views: one metre a cell, the map's first row on top.


COLOURS: dict[str, tuple[float, float, float]] = {
    "coffee": (0.55, 0.35, 0.24),
    "mail": (0.88, 0.56, 0.11),
    "office": (0.12, 0.48, 0.55),
    "decoration": (0.31, 0.62, 0.29),
}
OTHER = (0.42, 0.30, 0.58)
FLOOR = (0.98, 0.97, 0.94, 1.0)
ABSORBING = (0.95, 0.71, 0.67, 1.0)
ROBOT = (0.82, 0.20, 0.36, 1.0)
INK = (0.13, 0.16, 0.19, 1.0)


def office_scene(grid: GridMap, absorbing: Sequence[Position], cell: int) -> list[Shape]:
    """Return floor, objects with their names, and the robot in its cell."""
    shapes = [
        Shape(
            "floor",
            "cube",
            _at(grid, position, -0.05),
            (0.96, 0.96, 0.1),
            ABSORBING if position in absorbing else FLOOR,
        )
        for position in grid.positions
    ]
    for proposition in LEGEND.values():
        colour = (*COLOURS.get(proposition, OTHER), 0.9)
        for position in grid.places(proposition):
            shapes.append(
                Shape(proposition, "cylinder", _at(grid, position, 0.1), (0.6, 0.6, 0.2), colour)
            )
            shapes.append(
                Shape("names", "text", _at(grid, position, 0.5), (0, 0, 0.3), INK, text=proposition)
            )
    robot = _at(grid, grid.positions[cell], 0.25)
    return [*shapes, Shape("robot", "sphere", robot, (0.5, 0.5, 0.5), ROBOT)]


def _at(grid: GridMap, position: Position, height: float) -> Triple:
    row, column = position
    return float(column), float(grid.shape[0] - 1 - row), height


# Office Gridworld (`skm/Office-v0`, `skm/OfficeAbsorbing-v0`): bring coffee, mail, patrol rooms.
#
# What is true where:
# - `A` to `D`, `decoration`, `coffee`, `mail`, `office` hold in their cells.
# - `mail_present` holds in the mail cell while mail is left: on the first `mail_visits` visits of
#   an episode. `people_present` holds in the office cell on the first `people_visits` visits.
# - A visit is a step that *ends* in the cell, whether the agent came from elsewhere or stayed put
#   (on this map that takes an absorbing cell: mail and office are in the middle of their rooms).
# - Starting in the cell is no visit: the first label is read with the counters at zero, so that
#   the first mail is still there, and stays there for the first real visit.
#
# In `skm/OfficeAbsorbing-v0` the coffee at (9, 11) cannot be left: every move stays there, and
# the label `coffee` is read again. The episode is not terminated: it is the mission that has an
# end, and one that wants nothing more than that coffee has not failed.


MAIL_VISITS = 2
PEOPLE_VISITS = 4
MOST_VISITS = 100


class OfficeState(NamedTuple):
    """All that an office remembers: save it with `state()`, go back to it with `set_state()`."""

    cell: int
    mail_visits: int = 0
    """Visits of the mail cell so far; stops counting one above what the office has mail for."""
    people_visits: int = 0
    """Visits of the office cell so far; likewise."""


@dataclass(frozen=True, eq=False)
class OfficeModel(TabularModel):
    """The office as arrays over its states (cell, mail visits, people visits)."""

    grid: GridMap
    absorbing: tuple[Position, ...]
    counts: tuple[int, int, int]
    """How many values each field of `OfficeState` can take."""

    def index_of(self, state: OfficeState) -> int:
        """Return the index of a state in the arrays."""
        if not all(0 <= value < count for value, count in zip(state, self.counts, strict=True)):
            raise DomainError(
                f"{state} is not a state of this world; its fields must be below {self.counts}."
            )
        cell, mail, people = state
        return (cell * self.counts[1] + mail) * self.counts[2] + people

    def state_of(self, index: int) -> OfficeState:
        """Return the state at an index of the arrays."""
        if not 0 <= index < self.num_states:
            raise DomainError(f"state {index} is not from 0 to {self.num_states - 1}.")
        rest, people = divmod(int(index), self.counts[2])
        return OfficeState(*divmod(rest, self.counts[1]), people)


def office_model(
    mail_visits: int = MAIL_VISITS,
    people_visits: int = PEOPLE_VISITS,
    absorbing: Sequence[Position] = (),
) -> OfficeModel:
    """Return the office as arrays; one model is shared by all who ask for the same office."""
    for name, visits in (("mail_visits", mail_visits), ("people_visits", people_visits)):
        if not 0 <= visits <= MOST_VISITS:
            raise DomainError(f"{name} is {visits}, must be from 0 to {MOST_VISITS}.")
    cells = tuple((int(row), int(column)) for row, column in absorbing)
    return _build_model(int(mail_visits), int(people_visits), cells)


@lru_cache(maxsize=8)
def _build_model(
    mail_visits: int, people_visits: int, absorbing: tuple[Position, ...]
) -> OfficeModel:
    grid = OFFICE_MAP
    moves = grid.transitions.copy()
    for position in absorbing:
        moves[grid.cell_at(position)] = grid.cell_at(position)
    counts = (grid.num_cells, mail_visits + 2, people_visits + 2)
    cell, mail, people = (axis.reshape(-1) for axis in np.indices(counts))

    target = moves[cell]
    mail_after = np.minimum(mail[:, None] + _at_environment(grid, "mail")[target], mail_visits + 1)
    people_after = np.minimum(
        people[:, None] + _at_environment(grid, "office")[target], people_visits + 1
    )
    transitions = np.ravel_multi_index((target, mail_after, people_after), counts)

    labels = np.zeros((len(cell), len(PROPOSITIONS)), np.bool_)
    for proposition in LEGEND.values():
        labels[:, PROPOSITIONS.index(proposition)] = _at_environment(grid, proposition)[cell]
    labels[:, PROPOSITIONS.index("mail_present")] = _at_environment(grid, "mail")[cell] & (
        np.maximum(mail, 1) <= mail_visits
    )
    labels[:, PROPOSITIONS.index("people_present")] = _at_environment(grid, "office")[cell] & (
        np.maximum(people, 1) <= people_visits
    )
    return OfficeModel(
        propositions=PROPOSITIONS,
        constraints=CONSTRAINTS,
        transitions=transitions,
        cells=cell,
        labels=labels,
        start_states=np.arange(grid.num_cells) * counts[1] * counts[2],
        grid=grid,
        absorbing=absorbing,
        counts=counts,
    )


def _at_environment(grid: GridMap, proposition: str) -> BoolArray:
    """Return for every cell whether an object of that kind stands there."""
    there = np.zeros(grid.num_cells, np.bool_)
    there[[grid.cell_at(position) for position in grid.places(proposition)]] = True
    return there


class OfficeEnv(DrawnTabularEnv):
    """The office with one agent. Actions: 0 up, 1 right, 2 down, 3 left; observation: the cell.

    The cell index runs over the 120 free cells row by row (`OFFICE_MAP.positions`). Reset options:
    `{"cell": index}` or `{"start": (row, column)}`. With `render_mode="rgb_array"`, `render()`
    draws the map, the agent and its path in this episode.
    """

    model: OfficeModel

    def __init__(
        self,
        mail_visits: int = MAIL_VISITS,
        people_visits: int = PEOPLE_VISITS,
        absorbing: Sequence[Position] = (),
        render_mode: str | None = None,
    ) -> None:
        super().__init__(office_model(mail_visits, people_visits, absorbing), render_mode)

    @property
    def transitions(self) -> IntArray:
        """`(120, 4)`: the cell that each action leads to from each cell."""
        return self.model.cell_transitions

    def state(self) -> OfficeState:
        """Return the current state as a small immutable value."""
        return self.model.state_of(self.state_index)

    def set_state(self, state: OfficeState) -> None:
        """Go to a state; the drawn path begins anew there."""
        self.state_index = self.model.index_of(state)
        self._path = [state.cell]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode, with all mail and people back; see the class for the options."""
        return super().reset(seed=seed, options=_with_cells(options, ()))

    def _make_renderer(self) -> PathRenderer:
        from skm_sim.office.drawing import OfficeRenderer  # noqa: PLC0415 (matplotlib is slow)

        return OfficeRenderer(self.model.grid, self.model.absorbing)

    @property
    def positions(self) -> FloatArray:
        """`(120, 2)`: where each cell is in the scene."""
        grid = self.model.grid
        return np.array([_at(grid, position, 0.0)[:2] for position in grid.positions])

    def scene(self) -> list[Shape]:
        """Return the office as shapes for 3D views."""
        return office_scene(self.model.grid, self.model.absorbing, self.state().cell)


class OfficeVectorEnv(TabularVectorEnv):
    """A batch of offices; see `TabularVectorEnv` for resets and `OfficeEnv` for what is in one.

    Reset options: `{"cell": index or num_envs indices}` or `{"start": (row, column)}`.
    """

    model: OfficeModel

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        mail_visits: int = MAIL_VISITS,
        people_visits: int = PEOPLE_VISITS,
        absorbing: Sequence[Position] = (),
    ) -> None:
        model = office_model(mail_visits, people_visits, absorbing)
        super().__init__(model, num_envs, max_episode_steps)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[IntArray, dict[str, Any]]:
        """Start new episodes; see the class for the options."""
        return super().reset(seed=seed, options=_with_cells(options, (self.num_envs,)))


def _with_cells(options: Mapping[str, Any] | None, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the reset options with `start`, a position, replaced by `cell`, its index."""
    given = dict(options or {})
    if "start" not in given:
        return given
    if "cell" in given:
        raise DomainError("reset options 'start' and 'cell' say the same thing; give one of them.")
    start = np.asarray(given.pop("start"))
    if start.dtype.kind not in "iu" or start.shape not in ((2,), (*shape, 2)):
        raise DomainError(f"reset option 'start' must be (row, column), got {start.tolist()!r}.")
    cells = [OFFICE_MAP.cell_at((row, column)) for row, column in start.reshape(-1, 2).tolist()]
    given["cell"] = np.array(cells) if start.ndim == 2 else cells[0]
    return given
