"""The point robot as a learner sees it that has to keep off each kind of thing: lidars told exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import ByteArray, Float32Array
from skm_sim.lidar_fit import as_shown, fit_objects
from skm_sim.point_robot import SENSORS
from skm_sim.pseudo_lidar import BINS, things_seen
from skm_sim.safety.body import (
    OBJECT_FEATURES,
    OBJECTS,
    RANGE,
    SafetyBody,
    robots_for_learning,
    scaled_sensors,
    training_layouts,
)
from skm_sim.safety.layout import BUTTON_EXTENT, BUTTONS, LABEL_RADIUS, REGIONS, Layout

_OTHERS = np.array([BUTTONS - 1, REGIONS])
"""How many objects are told by fitting: the buttons but that under the cylinder, the regions."""
CROWDED = 0.4
"""Share of the arenas learned in where another button is moved near the cylinder."""
STRIP, AHEAD, MOST = 0.06, 0.08, 15
"""Metres, seconds and steps of a near miss."""


class FittedBody(SafetyBody):
    """As `SafetyBody`, with the objects that explain the lidars best (`lidar_fit`).

    What is taken away one after the other, the brightest first, misplaces a third of the second nearest
    buttons, which does little harm where only the nearest matters.
    """

    def features(self, observations: NDArray[Any]) -> Float32Array:
        """Return scaled sensors, the lidars, and the objects decoded from them."""
        seen = np.asarray(observations, np.float32)
        objects = decode(seen[:, SENSORS:].reshape(len(seen), -1, BINS))
        return np.concatenate([scaled_sensors(seen), seen[:, SENSORS:], objects], axis=1)

    def near_misses(self, features: Float32Array) -> ByteArray:
        """Return for the cylinder, the other buttons and the regions how near the robot came to them.

        In steps, up to `MOST` where it would touch one if it went on like this for `AHEAD`; none where
        it is inside, or more than `STRIP` outside.
        """
        own, things = features[:, :SENSORS], features[:, -sum(OBJECTS) * OBJECT_FEATURES :]
        seen = things.reshape(len(features), -1, OBJECT_FEATURES)
        x, y = 3 * seen[..., 1], 3 * seen[..., 2]
        distance = np.maximum(np.hypot(x, y), np.float32(1e-6))
        towards = (own[:, 3:4] * x + own[:, 4:5] * y) / distance
        gap = distance - LABEL_RADIUS
        left = gap - np.maximum(towards, 0) * np.float32(AHEAD)
        near = MOST * np.clip(1 - left / np.float32(STRIP), 0, 1) * (seen[..., 0] > 0) * (gap > 0)
        groups = near[:, :1], near[:, 2 : 1 + BUTTONS], near[:, 1 + BUTTONS :]
        return np.stack([group.max(1) for group in groups], axis=1).astype(np.uint8)

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:
        """Return arenas to learn in, in some of which other buttons stand close to the cylinder."""
        return {"layout": crowded_layouts(random, count)}


def crowded_layouts(random: np.random.Generator, count: int) -> Layout:
    """Draw arenas as `training_layouts` does, in four of ten with a button moved near the cylinder.

    A way to the cylinder between buttons, none of which may be touched, is rare by chance.
    """
    layout = training_layouts(random, count)
    moved = np.flatnonzero(random.random(count) < CROWDED)
    other = (layout.cylinder[moved] + random.integers(1, BUTTONS, size=len(moved))) % BUTTONS
    turn, gap = random.uniform(0, 2 * np.pi, len(moved)), random.uniform(0.3, 0.9, len(moved))
    offset = gap[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    near = layout.cylinder_position[moved] + offset
    layout.buttons[moved, other] = np.clip(near, -BUTTON_EXTENT, BUTTON_EXTENT)
    return robots_for_learning(random, layout)


def decode(lidars: Float32Array) -> Float32Array:
    """Return `(n, 7 · 7)`: the objects that the lidars `(n, 3, 16)` show, of each kind nearest first.

    For each: whether it is seen, its egocentric position, its nearness (also along the axes), and
    on which side of the 0.3 m of a label it is. The cylinder is alone, so it is told exactly; it stands
    on a button, which is the first one, and the other three are those that explain what is left.
    """
    count = len(lidars)
    alone, bright = fit_objects(lidars[:, 0], np.ones(count, np.int64))
    peak = alone[0].astype(np.int64)
    known = np.zeros((count, 2, BINS), np.float32)
    known[:, 0] = as_shown(peak, alone[0] - peak, bright[0])
    others = np.tile(_OTHERS, count)
    bins, light = fit_objects(lidars[:, 1:].reshape(-1, BINS), others, known.reshape(-1, BINS))
    parts = [
        np.concatenate([first, first, rest[:, ::2], rest[:REGIONS, 1::2]]).T
        for first, rest in ((alone, bins), (bright, light))
    ]
    angle = parts[0] * np.float32(2 * np.pi / BINS)
    distance = np.float32(RANGE) * (1 - parts[1])
    near = np.exp(-distance / np.float32(0.4))
    return things_seen(angle, distance, near, 0.3, parts[1] > 0)
