"""Where objects stand in the Safety domain: layouts drawn at random, given, or the authors' own.

One `Layout` holds one arena or a batch of them: every array has the same leading shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.spec import DomainError

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
    """Return the authors' fixed objects, with robots drawn at random, and so the cylinder if None.

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


# Which layouts a skill or a mission is possible on, by a rule that is the same for everyone.
#
# The rule, on a grid of 5 cm over the arena and a margin around it:
# - no label is true where the robot starts;
# - some cell shows the wanted labels with 5 cm to spare, is not inside a button, and is connected
#   to the start by cells that are not inside a button;
# - where objects are to be avoided, the path keeps 5 cm from where they show, and what is wanted
#   has its centre more than 0.3 m from theirs; a button under a wanted cylinder is not avoided.
# A mission is a sequence of such skills, each from wherever the one before may have ended.


SPACING = 0.05
SPARE = 0.05
BUTTON_REACH = 0.2
"""The robot's centre cannot come closer than this to a button's centre: both have radius 0.1."""
EXTENT = 2.4
_AXIS = np.arange(-EXTENT, EXTENT + SPACING / 2, SPACING)
_CELLS: FloatArray = np.stack(np.meshgrid(_AXIS, _AXIS, indexing="ij"), axis=-1)


@dataclass(frozen=True)
class Arrival:
    """What is wanted on arrival, and what must not be touched on the way."""

    wanted: Mapping[str, bool] = field(hash=False)
    """Propositions that must be true or false; the others may be either."""
    avoid: tuple[str, ...] = ()

    def satisfied_by(self, labels: frozenset[str], violated: frozenset[str]) -> bool:
        """Tell whether arriving with these labels will do (a `GoalPredicate`)."""
        if any(name in violated for name in self.avoid):
            return False
        met = [name for name in self.avoid if name in labels and not self._under_cylinder(name)]
        return not met and all((name in labels) == value for name, value in self.wanted.items())

    def _under_cylinder(self, name: str) -> bool:
        """Tell whether arriving at it is no fault, since the cylinder is wanted, which is on one."""
        return name == "button" and self.wanted.get("cylinder", False)


SKILLS: dict[str, Arrival] = {
    "button": Arrival({"button": True}),
    "cylinder": Arrival({"cylinder": True}),
    "region": Arrival({"region": True}),
    "button, no region": Arrival({"button": True}, avoid=("region",)),
    "cylinder, no region": Arrival({"cylinder": True}, avoid=("region",)),
    "button & !cylinder": Arrival({"button": True, "cylinder": False}),
    "button & region": Arrival({"button": True, "region": True}),
}
"""The skills that the primitives are judged by."""

AVOID_SKILLS: dict[str, Arrival] = {
    "region, no button": Arrival({"region": True}, avoid=("button",)),
    "button, no cylinder": Arrival({"button": True}, avoid=("cylinder",)),
    "cylinder, no other button": Arrival({"cylinder": True}, avoid=("button",)),
}
"""Those besides, of primitives that know every kind of object as a constraint."""

STAGES: dict[str, tuple[Arrival, ...]] = {
    "1": (SKILLS["button"], SKILLS["cylinder"]),
    "2": (SKILLS["button, no region"], SKILLS["cylinder, no region"]),
    "3": (
        SKILLS["button"],
        Arrival({"cylinder": True, "region": False}),
        SKILLS["button & region"],
        SKILLS["cylinder"],
    ),
    "4": (SKILLS["button"], Arrival({"cylinder": True, "region": True})),
    "5": (SKILLS["cylinder"], SKILLS["button & region"], SKILLS["cylinder"]),
    "6": (
        SKILLS["region"],
        Arrival({"cylinder": True, "region": False}),
        SKILLS["cylinder, no region"],
    ),
}
"""The skills that each task of the domain asks for, one after the other."""

_REGION_NO_CYLINDER = Arrival({"region": True}, avoid=("cylinder",))
AVOID_STAGES: dict[str, tuple[Arrival, ...]] = {
    "button_later": (AVOID_SKILLS["region, no button"], SKILLS["button"]),
    "no_button": (AVOID_SKILLS["region, no button"],),
    "no_other_button": (
        AVOID_SKILLS["region, no button"],
        AVOID_SKILLS["cylinder, no other button"],
    ),
    "no_cylinder": 2 * (AVOID_SKILLS["button, no cylinder"], _REGION_NO_CYLINDER),
}
"""Those of the missions that avoid a button or the cylinder."""


def feasible(layout: Layout, stages: Sequence[Arrival]) -> bool:
    """Tell whether the skills can be done one after the other in a single arena."""
    if layout.labels(layout.robot[:2]).any():
        return False
    objects = {
        "button": layout.buttons,
        "cylinder": layout.cylinder_position[None],
        "region": layout.regions,
    }
    free = _distance(layout.buttons) >= BUTTON_REACH
    here = _start(layout.robot)
    for skill in stages:
        avoided = [objects[name] for name in skill.avoid]
        if skill.wanted.get("cylinder") and "button" in skill.avoid:
            others = np.arange(len(layout.buttons)) != layout.cylinder
            avoided[skill.avoid.index("button")] = layout.buttons[others]
        open_cells = free.copy()
        for points in avoided:
            open_cells &= _distance(points) > LABEL_RADIUS + SPARE
        goal = open_cells.copy()
        for name, value in skill.wanted.items():
            if value:
                goal &= _distance(_clear_of(objects[name], avoided)) <= LABEL_RADIUS - SPARE
            else:
                goal &= _distance(objects[name]) >= LABEL_RADIUS + SPARE
        here = _connected(here, open_cells) & goal
        if not here.any():
            return False
    return True


def _clear_of(places: FloatArray, avoided: Sequence[FloatArray]) -> FloatArray:
    """Return the places whose centre is outside of everything that is avoided."""
    for points in avoided:
        gaps = np.hypot(*np.moveaxis(places[:, None] - points, -1, 0)).min(1, initial=np.inf)
        places = places[gaps > LABEL_RADIUS]
    return places


def sample_feasible(
    random: np.random.Generator,
    count: int,
    stages: Sequence[Arrival],
    sample: Callable[[np.random.Generator, int], Layout] = sample_layouts,
) -> tuple[Layout, float]:
    """Draw arenas on which the skills are possible; return also what share of all that is."""
    found: list[Layout] = []
    tried = 0
    while len(found) < count:
        batch = sample(random, 64)
        for index in range(64):
            tried += 1
            if feasible(batch[index], stages):
                found.append(batch[index])
                if len(found) == count:
                    break
        if tried > 200 * count + 6400:
            raise ValueError(f"fewer than {count} of {tried} layouts are feasible.")
    return stack(found), count / tried


def _distance(points: FloatArray) -> FloatArray:
    """Return every cell's distance to the nearest of some points; infinite if there are none."""
    gaps = _CELLS[:, :, None] - points
    distance: FloatArray = np.hypot(gaps[..., 0], gaps[..., 1]).min(-1, initial=np.inf)
    return distance


def _start(robot: FloatArray) -> BoolArray:
    cell = np.rint((robot[:2] + EXTENT) / SPACING).astype(np.int64)
    start = np.zeros(_CELLS.shape[:2], np.bool_)
    start[tuple(cell)] = True
    return start


def _connected(start: BoolArray, cells: BoolArray) -> BoolArray:
    """Return what can be reached from the start cells over neighbouring open cells."""
    reached = start.copy()  # A start that is not open itself counts: the robot is there.
    while True:
        grown = reached.copy()
        grown[1:] |= reached[:-1]
        grown[:-1] |= reached[1:]
        grown[:, 1:] |= grown[:, :-1]
        grown[:, :-1] |= grown[:, 1:]
        grown &= cells | start
        if (grown == reached).all():
            return reached
        reached = grown
