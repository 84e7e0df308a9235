"""Which layouts a skill or a mission is possible on, by a rule that is the same for everyone.

The rule, on a grid of 5 cm over the arena and a margin around it:
- no label is true where the robot starts;
- some cell shows the wanted labels with 5 cm to spare, is not inside a button, and is connected to
  the start by cells that are not inside a button;
- where things are to be avoided, the path keeps 5 cm from where they show, and what is wanted has its
  centre more than 0.3 m from theirs; a button under a wanted cylinder is not avoided.
A mission is a sequence of such skills, each from wherever the one before may have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.safety.layout import LABEL_RADIUS, Layout, sample_layouts, stack

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
"""Those besides, of primitives that know every kind of thing as a constraint."""

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
"""Those of the missions that keep off a button or the cylinder."""


def feasible(layout: Layout, stages: Sequence[Arrival]) -> bool:
    """Tell whether the skills can be done one after the other in a single arena."""
    if layout.labels(layout.robot[:2]).any():
        return False
    things = {
        "button": layout.buttons,
        "cylinder": layout.cylinder_position[None],
        "region": layout.regions,
    }
    free = _distance(layout.buttons) >= BUTTON_REACH
    here = _start(layout.robot)
    for skill in stages:
        avoided = [things[name] for name in skill.avoid]
        if skill.wanted.get("cylinder") and "button" in skill.avoid:
            others = np.arange(len(layout.buttons)) != layout.cylinder
            avoided[skill.avoid.index("button")] = layout.buttons[others]
        open_cells = free.copy()
        for points in avoided:
            open_cells &= _distance(points) > LABEL_RADIUS + SPARE
        goal = open_cells.copy()
        for name, value in skill.wanted.items():
            if value:
                goal &= _distance(_clear_of(things[name], avoided)) <= LABEL_RADIUS - SPARE
            else:
                goal &= _distance(things[name]) >= LABEL_RADIUS + SPARE
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
