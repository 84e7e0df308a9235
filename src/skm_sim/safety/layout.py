"""Where things stand in the Safety domain: layouts drawn by chance, given, or the authors' own.

One `Layout` holds one arena or a batch of them: every array has the same leading shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.domain import DomainError

BUTTONS = 4
REGIONS = 2
BUTTON_EXTENT = 1.7
REGION_EXTENT = 1.6
ROBOT_EXTENT = 1.6
ARENA = 2.0
LABEL_RADIUS = 0.3
ROBOT_CLEARANCE = 0.26
"""The robot does not start closer than this to a button's centre: its nose would be inside."""
TEST_DISTANCE = 1.4
"""The d of the authors' fixed layout."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions in metres, heading in radians; `cylinder` says on which button it stands."""

    robot: FloatArray
    """`(..., 3)`: x, y, heading."""
    buttons: FloatArray
    """`(..., 4, 2)`"""
    regions: FloatArray
    """`(..., 2, 2)`"""
    cylinder: IntArray
    """`(...)`: the index of a button."""

    def __post_init__(self) -> None:
        shape = np.shape(self.cylinder)
        for name, tail in (("robot", (3,)), ("buttons", (BUTTONS, 2)), ("regions", (REGIONS, 2))):
            array = np.asarray(getattr(self, name), np.float64)
            if array.shape != (*shape, *tail):
                raise DomainError(
                    f"layout: '{name}' has shape {array.shape}, must have {(*shape, *tail)}."
                )
            if not np.isfinite(array).all():
                raise DomainError(f"layout: '{name}' holds a value that is not a finite number.")
            positions = array[..., :2]
            if np.abs(positions).max(initial=0.0) > ARENA:
                raise DomainError(f"layout: '{name}' lies outside of the arena of ±{ARENA:g} m.")
            object.__setattr__(self, name, array)
        cylinder = np.asarray(self.cylinder)
        if cylinder.dtype.kind not in "iu" or not np.isin(cylinder, range(BUTTONS)).all():
            raise DomainError(
                f"layout: 'cylinder' must be the index of a button, 0 to {BUTTONS - 1},"
                f" got {self.cylinder!r}."
            )
        object.__setattr__(self, "cylinder", cylinder.astype(np.int64))

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape: `()` for one arena, `(n,)` for a batch."""
        return self.cylinder.shape

    @property
    def cylinder_position(self) -> FloatArray:
        """`(..., 2)`: where the cylinder stands."""
        index = self.cylinder[..., None, None]
        position: FloatArray = np.take_along_axis(self.buttons, index, axis=-2)[..., 0, :]
        return position

    def __getitem__(self, index: Any) -> Layout:  # noqa: ANN401 (whatever numpy takes)
        return Layout(*(getattr(self, entry.name)[index] for entry in fields(self)))

    def labels(self, positions: ArrayLike, radius: float = LABEL_RADIUS) -> BoolArray:
        """Return `(..., 3)`: whether a button, the cylinder, a region is within the radius."""
        here = np.asarray(positions, np.float64)[..., None, :]
        button = np.hypot(*np.moveaxis(self.buttons - here, -1, 0)) <= radius
        region = np.hypot(*np.moveaxis(self.regions - here, -1, 0)) <= radius
        on_cylinder = np.take_along_axis(button, self.cylinder[..., None], axis=-1)
        return np.concatenate(
            [button.any(-1, keepdims=True), on_cylinder, region.any(-1, keepdims=True)], axis=-1
        )

    def clear(self) -> BoolArray:
        """Return whether the robot stands free of all buttons."""
        gaps = self.buttons - self.robot[..., None, :2]
        free: BoolArray = np.hypot(*np.moveaxis(gaps, -1, 0)).min(-1) >= ROBOT_CLEARANCE
        return free

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain lists, for JSON; `read_layout` reads that."""
        return {entry.name: getattr(self, entry.name).tolist() for entry in fields(self)}


def stack(layouts: list[Layout]) -> Layout:
    """Return single arenas as a batch."""
    return Layout(
        *(np.stack([getattr(one, entry.name) for one in layouts]) for entry in fields(Layout))
    )


def concatenate(layouts: list[Layout]) -> Layout:
    """Return batches as one batch."""
    return Layout(
        *(np.concatenate([getattr(one, entry.name) for one in layouts]) for entry in fields(Layout))
    )


def sample_layouts(random: np.random.Generator, count: int) -> Layout:
    """Draw arenas: all positions uniform, objects may overlap, the robot starts free of buttons."""
    buttons = random.uniform(-BUTTON_EXTENT, BUTTON_EXTENT, (count, BUTTONS, 2))
    regions = random.uniform(-REGION_EXTENT, REGION_EXTENT, (count, REGIONS, 2))
    cylinder = random.integers(BUTTONS, size=count)
    return place_robots(random, buttons, regions, cylinder)


def place_robots(
    random: np.random.Generator,
    buttons: FloatArray,
    regions: FloatArray,
    cylinder: IntArray,
) -> Layout:
    """Add robots at uniform poses that are free of buttons to a batch of arenas."""
    count = len(cylinder)
    robot = np.empty((count, 3))
    robot[:, 2] = random.uniform(0, 2 * np.pi, count)
    todo = np.arange(count)
    while len(todo):
        robot[todo, :2] = random.uniform(-ROBOT_EXTENT, ROBOT_EXTENT, (len(todo), 2))
        gaps = buttons[todo] - robot[todo, None, :2]
        todo = todo[np.hypot(gaps[..., 0], gaps[..., 1]).min(1) < ROBOT_CLEARANCE]
    return Layout(robot, buttons, regions, cylinder)


def authors_layouts(random: np.random.Generator, count: int, cylinder: int | None = None) -> Layout:
    """Return the authors' fixed objects, with robots drawn by chance, and so the cylinder if None.

    Button 2, at (0, d), is in a region; the others are not.
    """
    d = TEST_DISTANCE
    buttons = np.broadcast_to([[d, 0.0], [-d, 0.0], [0.0, d], [0.0, -d]], (count, BUTTONS, 2))
    regions = np.broadcast_to([[0.0, 0.0], [0.0, d]], (count, REGIONS, 2))
    on = random.integers(BUTTONS, size=count) if cylinder is None else np.full(count, cylinder)
    return place_robots(random, buttons, regions, on)


def read_layout(value: object, shape: tuple[int, ...] = ()) -> Layout:
    """Return a layout given as `Layout` or as a mapping of its fields, broadcast to `shape`.

    A robot that would start inside a button cannot be placed, and is an error.
    """
    layout = value if isinstance(value, Layout) else _from_mapping(value)
    if layout.shape != shape:
        try:
            layout = Layout(
                *(
                    np.broadcast_to(array, (*shape, *array.shape[len(layout.shape) :]))
                    for entry in fields(layout)
                    for array in [getattr(layout, entry.name)]
                )
            )
        except ValueError:
            raise DomainError(
                f"layout: there are arenas of shape {layout.shape}, wanted {shape}."
            ) from None
    if not layout.clear().all():
        raise DomainError(
            f"layout: the robot starts inside a button; put it at least {ROBOT_CLEARANCE} m from"
            " the centre of every button."
        )
    return layout


def _from_mapping(value: object) -> Layout:
    if not isinstance(value, Mapping):
        raise DomainError(f"a layout is a Layout or a mapping of its fields, not {value!r}.")
    names = [entry.name for entry in fields(Layout)]
    for name in value:
        if name not in names:
            raise DomainError(f"layout: unknown field '{name}'{did_you_mean(str(name), names)}")
    missing = [name for name in names if name not in value]
    if missing:
        raise DomainError(f"layout: {', '.join(missing)} missing; it takes {', '.join(names)}.")
    try:
        robot, buttons, regions = (np.asarray(value[name], np.float64) for name in names[:-1])
    except (TypeError, ValueError) as error:
        raise DomainError(f"layout: positions must be numbers ({error}).") from None
    return Layout(robot, buttons, regions, np.asarray(value["cylinder"]))
