"""Office Gridworld (`skm/Office-v0`, `skm/OfficeAbsorbing-v0`): bring coffee, mail, patrol rooms.

What is true where:
- `A` to `D`, `decoration`, `coffee`, `mail`, `office` hold in their cells.
- `mail_present` holds in the mail cell while mail is left: on the first `mail_visits` visits of an
  episode. `people_present` holds in the office cell on the first `people_visits` visits.
- A visit is a step that *ends* in the cell, whether the agent came from elsewhere or stayed put
  (on this map that takes an absorbing cell: mail and office are in the middle of their rooms).
- Starting in the cell is no visit: the first label is read with the counters at zero, so that the
  first mail is still there, and stays there for the first real visit.

In `skm/OfficeAbsorbing-v0` the coffee at (9, 11) cannot be left: every move stays there, and the
label `coffee` is read again. The episode is not terminated: it is the mission that has an end, and
one that wants nothing more than that coffee has not failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from skm_sim.arrays import BoolArray, IntArray
from skm_sim.domain import DomainError
from skm_sim.office.floor_plan import LEGEND, OFFICE_MAP, GridMap, Position
from skm_sim.office.scene import office_scene
from skm_sim.office.spec import CONSTRAINTS, PROPOSITIONS
from skm_sim.shapes import Shape
from skm_sim.tabular import DrawnTabularEnv, PathRenderer, TabularModel, TabularVectorEnv

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
            raise DomainError(f"{state} is no state here; its fields must be below {self.counts}.")
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
    mail_after = np.minimum(mail[:, None] + _at(grid, "mail")[target], mail_visits + 1)
    people_after = np.minimum(people[:, None] + _at(grid, "office")[target], people_visits + 1)
    transitions = np.ravel_multi_index((target, mail_after, people_after), counts)

    labels = np.zeros((len(cell), len(PROPOSITIONS)), np.bool_)
    for proposition in LEGEND.values():
        labels[:, PROPOSITIONS.index(proposition)] = _at(grid, proposition)[cell]
    labels[:, PROPOSITIONS.index("mail_present")] = _at(grid, "mail")[cell] & (
        np.maximum(mail, 1) <= mail_visits
    )
    labels[:, PROPOSITIONS.index("people_present")] = _at(grid, "office")[cell] & (
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


def _at(grid: GridMap, proposition: str) -> BoolArray:
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
