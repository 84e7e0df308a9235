"""The point robot as the learner sees it: objects decoded from the lidars, and even actuators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.safety_layout import (
    BUTTON_EXTENT,
    BUTTONS,
    REGIONS,
    ROBOT_CLEARANCE,
    ROBOT_EXTENT,
    Layout,
    sample_layouts,
)

Floats = NDArray[np.float32]

SENSORS = 12
BINS = 16
RANGE = 3.0
OBJECTS = (1, BUTTONS, REGIONS)
"""How many objects each lidar sees: cylinder, buttons, regions."""
OBJECT_FEATURES = 7
_SENSOR_SCALE = np.repeat([0.02, 1.0, 0.2, 2.0], 3).astype(np.float32)
_SAME = 1e-4
"""Two readings that differ by less come from the same object."""
FORCE = 0.05
"""The motor's force is limited to this: larger actions do the same."""
TURNS = np.array([0.0, 0.5, 1.0])
"""Turning actions, and below what they do in a step: the actuator chatters, in stairs."""
_CURVE_ACTION = np.array([0.0, 0.4, 0.5, 0.8, 0.9, 1.0])
_CURVE_TURN = np.array([0.0, 0.013, 0.08, 0.184, 0.26, 0.30])


class SafetyBody:
    """60 numbers to features, and controls in [-1, 1] to actions that respond evenly.

    The lidar is decoded: from the brightest bin and its two neighbours follow distance and bearing
    of the nearest object, which is then taken away, and so on. All of it is computed from the
    observation of this step alone.
    """

    observations = SENSORS + 3 * BINS
    inputs = SENSORS + 3 * BINS + sum(OBJECTS) * OBJECT_FEATURES

    def __init__(self) -> None:
        turns = np.concatenate([-TURNS[:0:-1], TURNS])
        pairs = [(force, turn) for force in (-FORCE, 0.0, FORCE) for turn in turns]
        self.actions: Floats = np.array(pairs, np.float32)

    def features(self, observations: NDArray[Any]) -> Floats:
        """Return scaled sensors, the lidars, and the objects decoded from them."""
        seen = np.asarray(observations, np.float32)
        parts = [np.clip(seen[:, :SENSORS] * _SENSOR_SCALE, -3, 3), seen[:, SENSORS:]]
        for kind, count in enumerate(OBJECTS):
            start = SENSORS + kind * BINS
            parts.append(decode(seen[:, start : start + BINS], count))
        return np.concatenate(parts, axis=1)

    def action(self, controls: Floats) -> Floats:
        """Return force and turn: the force is scaled to its limit, the turn made proportional."""
        turn = np.interp(np.abs(controls[:, 1]) * _CURVE_TURN[-1], _CURVE_TURN, _CURVE_ACTION)
        turn = np.where(np.abs(controls[:, 1]) < 0.02, 0.0, turn) * np.sign(controls[:, 1])
        return np.stack([controls[:, 0] * FORCE, turn], axis=1).astype(np.float32)

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:
        """Return arenas to learn in, with more overlaps and long ways than chance would give."""
        return {"layout": training_layouts(random, count)}


def decode(lidar: Floats, count: int) -> Floats:
    """Return `(n, count · 7)`: the objects that a lidar `(n, 16)` shows, nearest first.

    For each: whether it is seen, its egocentric position, its nearness (also along the axes), and
    on which side of the 0.3 m of a label it is.
    """
    rows = np.arange(len(lidar))
    rest = lidar.copy()
    found = []
    for _ in range(count):
        bins = rest.argmax(1)
        closeness = rest[rows, bins]
        seen = closeness > 0
        above, below = (bins + 1) % BINS, (bins - 1) % BINS
        scale = np.maximum(closeness, 1e-6)
        most = np.minimum(lidar[rows, above] / scale, 1)
        least = 1 - np.minimum(lidar[rows, below] / scale, 1)
        angle = (bins + (most + least) / 2) * np.float32(2 * np.pi / BINS)
        distance = RANGE * (1 - closeness)
        near = np.exp(-distance / np.float32(0.4))
        cosine, sine = np.cos(angle), np.sin(angle)
        parts = [
            np.ones_like(near),
            distance * cosine / 3,
            distance * sine / 3,
            near,
            near * cosine,
            near * sine,
            np.clip((0.3 - distance) * 5, -1, 1) + 1,
        ]
        found += [np.where(seen, part, 0) for part in parts]
        alone = lidar[rows, above] + lidar[rows, below] <= closeness + _SAME
        rest[rows, bins] = 0
        for side, beyond in ((above, (bins + 2) % BINS), (below, (bins - 2) % BINS)):
            echo = alone | (lidar[rows, beyond] >= lidar[rows, side])
            rest[rows[echo], side[echo]] = 0
    return np.stack(found, axis=1).astype(np.float32)


def training_layouts(random: np.random.Generator, count: int) -> Layout:
    """Draw arenas for learning: half as they come, half with a button moved near a region.

    What is rare by chance (a button in a region; a cylinder beyond the lidar's range) is learned
    from more often. Evaluation never uses these.
    """
    layout = sample_layouts(random, count)
    rows = np.arange(count)
    moved = rows[random.random(count) < 0.5]
    button = np.where(
        random.random(count) < 0.5, layout.cylinder, random.integers(BUTTONS, size=count)
    )
    angle, gap = random.uniform(0, 2 * np.pi, count), random.uniform(0, 0.65, count)
    offset = gap[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    near = np.clip(
        layout.regions[rows, random.integers(REGIONS, size=count)] + offset,
        -BUTTON_EXTENT,
        BUTTON_EXTENT,
    )
    layout.buttons[moved, button[moved]] = near[moved]
    tries = random.uniform(-ROBOT_EXTENT, ROBOT_EXTENT, (count, 6, 2))
    gaps = np.linalg.norm(tries[:, :, None] - layout.buttons[:, None], axis=-1).min(-1)
    to_cylinder = np.linalg.norm(tries - layout.cylinder_position[:, None], axis=-1)
    far = random.random(count) < 0.2
    score = np.where(gaps < ROBOT_CLEARANCE, -1.0, np.where(far[:, None], to_cylinder, 0.0))
    best = score.argmax(1)
    free = score[rows, best] >= 0
    layout.robot[rows[free], :2] = tries[rows[free], best[free]]
    return layout[layout.clear()] if layout.clear().all() else _mended(random, layout)


def _mended(random: np.random.Generator, layout: Layout) -> Layout:
    """Replace the arenas in which the robot could not be put, by plain ones."""
    bad = ~layout.clear()
    plain = sample_layouts(random, int(bad.sum()))
    for name in ("robot", "buttons", "regions", "cylinder"):
        getattr(layout, name)[bad] = getattr(plain, name)
    return layout
