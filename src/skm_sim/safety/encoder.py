"""The point robot as the learner sees it: objects decoded from the lidars, and even actuators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import ByteArray, Float32Array
from skm_sim.safety.layout import (
    BUTTON_EXTENT,
    BUTTONS,
    LABEL_RADIUS,
    REGIONS,
    ROBOT_CLEARANCE,
    ROBOT_EXTENT,
    Layout,
    sample_layouts,
)
from skm_sim.safety_gym.lidar import BINS, as_shown, fit_objects, objects_seen
from skm_sim.safety_gym.physics import SENSORS

# The point robot as the learner sees it: objects decoded from the lidars, and even actuators.


RANGE = 3.0
OBJECTS = (1, BUTTONS, REGIONS)
"""How many objects each lidar sees: cylinder, buttons, regions."""
OBJECT_FEATURES = 7
_SENSOR_SCALE = np.repeat([0.02, 1.0, 0.2, 2.0], 3).astype(np.float32)
_SAME = 1e-4
"""Two readings that differ by less come from the same object."""
_AROUND = np.array([-2, -1, 1, 2])
_BESIDE = [(np.arange(BINS) + step) % BINS for step in _AROUND]
FEW = 4
"""Up to so many states at a time are decoded bin by bin."""
_PEELED = np.arange(max(OBJECTS)) < np.array(OBJECTS)[:, None]
"""Which of the objects taken from each lidar, one after the other, there can be."""
FORCE = 0.05
"""The motor's force is limited to this: larger actions do the same."""
TURNS = np.array([0.0, 0.5, 1.0])
"""Turning actions, and below what they do in a step: the actuator chatters, in stairs."""
_CURVE_ACTION = np.array([0.0, 0.4, 0.5, 0.8, 0.9, 1.0])
_CURVE_TURN = np.array([0.0, 0.013, 0.08, 0.184, 0.26, 0.30])


class SafetyEncoder:
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
        self.actions: Float32Array = np.array(pairs, np.float32)

    def features(self, observations: NDArray[Any]) -> Float32Array:
        """Return scaled sensors, the lidars, and the objects decoded from them."""
        seen = np.asarray(observations, np.float32)
        objects = decode(seen[:, SENSORS:].reshape(-1, len(OBJECTS), BINS))
        return np.concatenate([scaled_sensors(seen), seen[:, SENSORS:], objects], axis=1)

    def action(self, controls: Float32Array) -> Float32Array:
        """Return force and turn: the force is scaled to its limit, the turn made proportional."""
        turn = np.interp(np.abs(controls[:, 1]) * _CURVE_TURN[-1], _CURVE_TURN, _CURVE_ACTION)
        turn = np.where(np.abs(controls[:, 1]) < 0.02, 0.0, turn) * np.sign(controls[:, 1])
        return np.stack([controls[:, 0] * FORCE, turn], axis=1).astype(np.float32)

    def commands(self, actions: Float32Array) -> Float32Array:
        """Return the actions as they are."""
        return actions

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:
        """Return arenas to learn in, with more overlaps and long ways than chance would give."""
        return {"layout": training_layouts(random, count)}


def scaled_sensors(seen: Float32Array) -> Float32Array:
    """Return the robot's own sensors, in their usual range."""
    sensors: Float32Array = np.clip(seen[:, :SENSORS] * _SENSOR_SCALE, -3, 3)
    return sensors


def decode(lidars: Float32Array) -> Float32Array:
    """Return `(n, 7 · 7)`: the objects that the lidars `(n, 3, 16)` show, of each kind nearest first.

    For each: whether it is seen, its egocentric position, its nearness (also along the axes), and
    on which side of the 0.3 m of a label it is.
    """
    bins, closeness, least, most = (_peel_few if len(lidars) <= FEW else _peel)(lidars)
    scale = np.maximum(closeness, np.float32(1e-6))
    share = (np.minimum(most / scale, 1) + (1 - np.minimum(least / scale, 1))) / 2
    angle = (bins + share) * np.float32(2 * np.pi / BINS)
    distance = RANGE * (1 - closeness)
    near = np.exp(-distance / np.float32(0.4))
    return objects_seen(angle, distance, near, 0.3, closeness > 0)


def _peel(lidars: Float32Array) -> tuple[Float32Array, ...]:
    """Return the brightest bin of each object `(n, 7)`, its light, and that of its two neighbours."""
    flat = lidars.reshape(-1, BINS)
    rows = np.arange(len(flat))
    rest = flat.copy()
    found: Float32Array = np.empty((4, max(OBJECTS), len(flat)), np.float32)
    for turn in range(max(OBJECTS)):
        brightest = rest.argmax(1)
        light = rest[rows, brightest]
        around = flat[rows[:, None], (brightest[:, None] + _AROUND) % BINS]
        found[:, turn] = brightest, light, around[:, 1], around[:, 2]
        alone = around[:, 1] + around[:, 2] <= light + _SAME
        rest[rows, brightest] = 0
        # A neighbour is the same object's echo if there is no other, or a brighter one beyond it.
        for side, beyond, step in ((2, 3, 1), (1, 0, -1)):
            echo = rows[alone | (around[:, beyond] >= around[:, side])]
            rest[echo, (brightest[echo] + step) % BINS] = 0
    return tuple(
        np.moveaxis(part.reshape(-1, *lidars.shape[:2]), 0, -1)[:, _PEELED] for part in found
    )


def _peel_few(lidars: Float32Array) -> tuple[Float32Array, ...]:
    """Return the same, in a fifth of the time for one state: arrays pay only for many."""
    flat = lidars.reshape(-1, BINS)
    far_left, left, right, far_right = (flat[:, beside] for beside in _BESIDE)
    alone = left + right <= flat + _SAME
    echo_right = (alone | (far_right >= right)).tolist()
    echo_left = (alone | (far_left >= left)).tolist()
    found: list[tuple[int, float, float, float]] = []
    for row, light in enumerate(flat.tolist()):
        rest = light.copy()
        for _ in range(OBJECTS[row % len(OBJECTS)]):
            most = max(rest)
            brightest = rest.index(most)
            before, after = brightest - 1, (brightest + 1) % BINS
            found.append((brightest, most, light[before], light[after]))
            rest[brightest] = 0.0
            if echo_right[row][brightest]:
                rest[after] = 0.0
            if echo_left[row][brightest]:
                rest[before] = 0.0
    columns = np.array(found, np.float32).reshape(len(lidars), -1, 4)
    return tuple(columns[..., part] for part in range(4))


def training_layouts(random: np.random.Generator, count: int) -> Layout:
    """Draw arenas for learning: half as they come, half with a button moved near a region.

    What is rare at random (a button in a region; a cylinder beyond the lidar's range) is learned
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
    return robots_for_learning(random, layout)


def robots_for_learning(random: np.random.Generator, layout: Layout) -> Layout:
    """Put robots into arenas, anew where they would start in a button, some far from the cylinder."""
    count = len(layout.cylinder)
    rows = np.arange(count)
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


# The point robot as a learner sees it that has to avoid each kind of object: lidars told
# exactly.


_OTHERS = np.array([BUTTONS - 1, REGIONS])
"""How many objects are located by fitting: the buttons but that under the cylinder, the regions."""
CROWDED = 0.4
"""Share of the arenas learned in where another button is moved near the cylinder."""
STRIP, AHEAD, MOST = 0.06, 0.08, 15
"""Metres, seconds and steps of a near miss."""


class FittedSafetyEncoder(SafetyEncoder):
    """As `SafetyEncoder`, with the objects that explain the lidars best (`lidar_fit`).

    What is taken away one after the other, the brightest first, misplaces a third of the second nearest
    buttons, which does little harm where only the nearest matters.
    """

    def features(self, observations: NDArray[Any]) -> Float32Array:
        """Return scaled sensors, the lidars, and the objects decoded from them."""
        seen = np.asarray(observations, np.float32)
        objects = decode_fitted(seen[:, SENSORS:].reshape(len(seen), -1, BINS))
        return np.concatenate([scaled_sensors(seen), seen[:, SENSORS:], objects], axis=1)

    def clearance_steps(self, features: Float32Array) -> ByteArray:
        """Return for the cylinder, the other buttons and the regions how near the robot came to them.

        In steps, up to `MOST` where it would touch one if it went on like this for `AHEAD`; none where
        it is inside, or more than `STRIP` outside.
        """
        own, objects = features[:, :SENSORS], features[:, -sum(OBJECTS) * OBJECT_FEATURES :]
        seen = objects.reshape(len(features), -1, OBJECT_FEATURES)
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

    A way to the cylinder between buttons, none of which may be touched, is rare at random.
    """
    layout = training_layouts(random, count)
    moved = np.flatnonzero(random.random(count) < CROWDED)
    other = (layout.cylinder[moved] + random.integers(1, BUTTONS, size=len(moved))) % BUTTONS
    turn, gap = random.uniform(0, 2 * np.pi, len(moved)), random.uniform(0.3, 0.9, len(moved))
    offset = gap[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    near = layout.cylinder_position[moved] + offset
    layout.buttons[moved, other] = np.clip(near, -BUTTON_EXTENT, BUTTON_EXTENT)
    return robots_for_learning(random, layout)


def decode_fitted(lidars: Float32Array) -> Float32Array:
    """Return `(n, 7 · 7)`: the objects that the lidars `(n, 3, 16)` show, of each kind nearest first.

    For each: whether it is seen, its egocentric position, its nearness (also along the axes), and
    on which side of the 0.3 m of a label it is. The cylinder is alone, so its place is exact; it stands
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
    return objects_seen(angle, distance, near, 0.3, parts[1] > 0)
