"""Where zones and robot are in the Zones domain: drawn as ZoneEnv draws them, or given.

One `ZoneLayout` holds one arena or a batch of them: both arrays have the same leading shape. All numbers
of colours share the arena of four; with six, eight and ten it is more crowded, as GenZ-LTL has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.spec import DomainError

COLOURS: Final = (
    *("blue", "green", "magenta", "yellow"),
    *("red", "cyan", "orange", "purple", "lime", "teal"),
)
EACH: Final = 2
"""Zones of each colour."""
TRIES: Final = 100
"""Places tried for a zone, before all are placed anew."""
COVERED: Final = 0.3
"""Share of the arenas learned in where zones of two colours lie on those of two others."""
HIDDEN: Final = 0.6
"""Share of these where nothing is left free of them."""
HIDDEN_OFFSET: Final = 0.12
"""Metres from one's centre to the other's there, at most."""
COVERED_OFFSET: Final = 0.6
"""The same where something may be left free."""
_KEEP_OUT: Final = {2: 0.55, 4: 0.55, 6: 0.55, 8: 0.45, 10: 0.4}
"""For each number of colours, the least distance of a zone from the edge and other things."""
_ROBOT_KEEP_OUT: Final = 0.4
_EXTENT: Final = 2.5
_FIELDS: Final = ("robot", "zones")


@dataclass(frozen=True)
class Arena:
    """How large everything is, in metres from the middle, for a number of colours."""

    colours: int = 4

    def __post_init__(self) -> None:
        if self.colours not in _KEEP_OUT:
            raise DomainError(f"colours is {self.colours}, must be one of 2, 4, 6, 8, 10.")

    wall = 3.3
    """Where the walls are, that end an episode."""
    robot = _EXTENT - _ROBOT_KEEP_OUT
    """The robot starts within ± this."""

    @property
    def zones(self) -> float:
        """Centres of zones are within ± this."""
        return _EXTENT - _KEEP_OUT[self.colours]

    @property
    def apart(self) -> float:
        """Metres between the centres of two zones, at least; with `overlap`, none."""
        return 2 * _KEEP_OUT[self.colours]

    @property
    def clearance(self) -> float:
        """Metres between the robot's start and every centre, at least."""
        return _KEEP_OUT[self.colours] + _ROBOT_KEEP_OUT

    @property
    def radius(self) -> float:
        """Of every zone."""
        return 0.4 if self.colours < 10 else 0.35

    @property
    def names(self) -> tuple[str, ...]:
        """The colours."""
        return COLOURS[: self.colours]


@dataclass(frozen=True, eq=False)
class ZoneLayout:
    """Positions in metres, heading in radians."""

    robot: FloatArray
    """`(..., 3)`: x, y, heading."""
    zones: FloatArray
    """`(..., colours, 2, 2)`: the centres, by colour."""

    def __post_init__(self) -> None:
        for name in _FIELDS:
            array = np.asarray(getattr(self, name), np.float64)
            if not np.isfinite(array).all():
                raise DomainError(f"layout: '{name}' holds a value that is not a finite number.")
            object.__setattr__(self, name, array)
        shape, zones = self.robot.shape[:-1], self.zones.shape
        fits = len(zones) >= 3 and zones[:-3] == shape and zones[-2:] == (EACH, 2)
        if self.robot.shape[-1:] != (3,) or not fits or zones[-3] not in _KEEP_OUT:
            raise DomainError(
                f"layout: 'robot' has shape {self.robot.shape} and 'zones' {zones}; they must have"
                " (..., 3) and (..., colours, 2, 2)."
            )
        arena = Arena(zones[-3])
        if np.abs(self.robot[..., :2]).max(initial=0) >= arena.wall:
            raise DomainError(f"layout: the robot is not within the walls at {arena.wall:g} m.")
        if np.abs(self.zones).max(initial=0) > arena.wall - arena.radius:
            raise DomainError(f"layout: a zone reaches over the walls at {arena.wall:g} m.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape: `()` for one arena, `(n,)` for a batch."""
        return self.robot.shape[:-1]

    @property
    def colours(self) -> int:
        """How many colours there are."""
        return int(self.zones.shape[-3])

    def __getitem__(self, index: Any) -> ZoneLayout:  # noqa: ANN401 (whatever numpy takes)
        return ZoneLayout(self.robot[index], self.zones[index])

    def labels(self, positions: ArrayLike) -> BoolArray:
        """Return `(..., colours)`: in zones of which colours each position is."""
        here = np.asarray(positions, np.float64)[..., None, None, :]
        return inside(self.zones, here, Arena(self.colours).radius)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain lists, for JSON; `read_layout` reads that."""
        return {name: getattr(self, name).tolist() for name in _FIELDS}


def inside(zones: FloatArray, here: FloatArray, radius: float) -> BoolArray:
    """Return in zones of which colours `(..., colours)` the points `(..., 1, 1, 2)` are."""
    gap = zones - here
    near: BoolArray = np.hypot(gap[..., 0], gap[..., 1]) <= radius
    shown: BoolArray = np.asarray(near.any(-1))
    return shown


def sample_layouts(
    random: np.random.Generator, count: int, colours: int = 4, *, overlap: bool = False
) -> ZoneLayout:
    """Draw arenas as safety-gymnasium does: the robot first, then one zone after the other.

    Each place is uniform, and drawn again while it is too near to what stands already; an arena in
    which a zone finds no place within `TRIES` tries is begun anew.
    """
    arena, many = Arena(colours), colours * EACH
    robot, zones = np.empty((count, 3)), np.empty((count, many, 2))
    robot[:, 2] = random.uniform(0, 2 * np.pi, count)
    todo = np.arange(count)
    while len(todo):
        rows = np.arange(len(todo))
        start = random.uniform(-arena.robot, arena.robot, (len(todo), 2))
        placed = np.empty((len(todo), many, 2))
        failed = np.zeros(len(todo), np.bool_)
        for zone in range(many):
            tried = random.uniform(-arena.zones, arena.zones, (len(todo), TRIES, 2))
            fits = np.hypot(*np.moveaxis(tried - start[:, None], -1, 0)) >= arena.clearance
            if zone and not overlap:
                gaps = tried[:, :, None] - placed[:, None, :zone]
                fits &= np.hypot(gaps[..., 0], gaps[..., 1]).min(-1) >= arena.apart
            first = fits.argmax(1)
            failed |= ~fits[rows, first]
            placed[:, zone] = tried[rows, first]
        robot[todo, :2], zones[todo] = start, placed
        todo = todo[failed]
    return ZoneLayout(robot, zones.reshape(count, colours, EACH, 2))


def training_layouts(random: np.random.Generator, count: int, colours: int = 4) -> ZoneLayout:
    """Draw arenas to learn in: in some of them, the zones of a colour lie on those of another.

    A skill that has never met a target under something forbidden believes that it can be had.
    """
    layout = sample_layouts(random, count, colours)
    rows = np.flatnonzero(random.random(count) < COVERED)
    drawn = random.permuted(np.tile(np.arange(colours), (len(rows), 1)), axis=1).T
    farthest = np.where(random.random(len(rows)) < HIDDEN, HIDDEN_OFFSET, COVERED_OFFSET)
    for under, over in (drawn[:2], drawn[2:4]):
        turn = random.uniform(0, 2 * np.pi, (len(rows), EACH))
        away = farthest[:, None] * np.sqrt(random.random((len(rows), EACH)))
        offset = away[..., None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        layout.zones[rows, over] = layout.zones[rows, under] + offset
    return layout


def concatenate(layouts: list[ZoneLayout]) -> ZoneLayout:
    """Return batches as one batch."""
    return ZoneLayout(*(np.concatenate([getattr(o, name) for o in layouts]) for name in _FIELDS))


def read_layout(value: object, shape: tuple[int, ...], colours: int) -> ZoneLayout:
    """Return a layout given as `ZoneLayout` or as a mapping of its fields, broadcast to `shape`."""
    layout = value if isinstance(value, ZoneLayout) else _from_mapping(value)
    if layout.colours != colours:
        raise DomainError(f"layout: there are {layout.colours} colours, wanted {colours}.")
    if layout.shape == shape:
        return layout
    try:
        return ZoneLayout(
            np.broadcast_to(layout.robot, (*shape, 3)),
            np.broadcast_to(layout.zones, (*shape, colours, EACH, 2)),
        )
    except ValueError:
        raise DomainError(
            f"layout: there are arenas of shape {layout.shape}, wanted {shape}."
        ) from None


def _from_mapping(value: object) -> ZoneLayout:
    if not isinstance(value, Mapping):
        raise DomainError(f"a layout is a ZoneLayout or a mapping of its fields, not {value!r}.")
    for name in value:
        if name not in _FIELDS:
            raise DomainError(f"layout: unknown field '{name}'{did_you_mean(str(name), _FIELDS)}")
    missing = [name for name in _FIELDS if name not in value]
    if missing:
        raise DomainError(f"layout: {', '.join(missing)} missing; it takes {', '.join(_FIELDS)}.")
    try:
        return ZoneLayout(*(np.asarray(value[name], np.float64) for name in _FIELDS))
    except (TypeError, ValueError) as error:
        raise DomainError(f"layout: positions must be numbers ({error}).") from None
