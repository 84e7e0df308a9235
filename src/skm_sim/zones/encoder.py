"""The point robot among zones as the learner sees it: own motion and place, and zones from lidars."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_sim.arrays import Float32Array
from skm_sim.safety_gym.lidar import BINS, fit_objects, objects_seen
from skm_sim.safety_gym.physics import SENSORS
from skm_sim.zones.env import WALLS, observations
from skm_sim.zones.layout import EACH, Arena, training_layouts
from skm_sim.zones.spec import RAW_OBJECTS, objects

FORCE: Final = 0.05
"""The motor's force is limited to this: larger actions do the same."""
TURNS: Final = (-1.0, -0.5, 0.0, 0.5, 1.0)
_FARTHEST = 8.0


class ZonesEncoder:
    """80 numbers to features, all of them computed from the observation of this step alone."""

    def __init__(self, colours: int = 4) -> None:
        self._arena = Arena(colours)
        self.observations = observations(colours)
        self.inputs = objects(colours).inputs
        pairs = [(force, turn) for force in (-FORCE, 0.0, FORCE) for turn in TURNS]
        self.actions: Float32Array = np.array(pairs, np.float32)

    def features(self, observations: NDArray[Any]) -> Float32Array:
        """Return the robot's own motion and place, then the two zones of each colour."""
        seen = np.asarray(observations, np.float32)
        sensors, wall = seen[:, :SENSORS], seen[:, SENSORS : SENSORS + WALLS]
        sine, cosine = -2 * sensors[:, 9], -2 * sensors[:, 10]
        x, y = self._place(wall)
        own = np.stack(
            [
                sensors[:, 3],
                sensors[:, 4],
                sensors[:, 8] * np.float32(0.2),
                sine,
                cosine,
                (-x * cosine - y * sine) / 3,
                (x * sine - y * cosine) / 3,
                *wall.T,
            ],
            axis=1,
        )
        lidars = seen[:, SENSORS + WALLS :].reshape(-1, self._arena.colours, BINS)
        features: Float32Array = np.concatenate([np.clip(own, -3, 3), self._seen(lidars)], axis=1)
        return features

    def _seen(self, lidars: Float32Array) -> Float32Array:
        """Return what is known of the zones from lidars `(n, colours, 16)`."""
        return decode(lidars, self._arena.radius)

    def _place(self, wall: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Return where the robot is, from the nearer wall of each pair; 0 before the first step."""
        known, light = wall.min(1) > 0, np.maximum(wall, np.float32(1e-6))
        far = np.float32(self._arena.wall)
        right, low, left, high = (np.log(light[:, side]) for side in range(WALLS))
        x = np.where(right > left, far + right, -far - left) * known
        y = np.where(high > low, far + high, -far - low) * known
        return x, y

    def action(self, controls: Float32Array) -> Float32Array:
        """Return force and turn: the force is scaled to its limit."""
        return np.stack([controls[:, 0] * FORCE, controls[:, 1]], axis=1).astype(np.float32)

    def commands(self, actions: Float32Array) -> Float32Array:
        """Return the actions as they are."""
        return actions

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:
        """Return arenas to learn in, in some of which zones lie on others."""
        return {"layout": training_layouts(random, count, self._arena.colours)}


class RawZonesEncoder(ZonesEncoder):
    """The same with raw lidar bins: a colour is one object, with its brightest bin last."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs = RAW_OBJECTS.inputs

    def _seen(self, lidars: Float32Array) -> Float32Array:
        seen: Float32Array = np.concatenate([lidars, lidars.max(-1, keepdims=True)], axis=-1)
        return seen.reshape(len(lidars), -1)


TWO_COLOURS, SIX_COLOURS, EIGHT_COLOURS, TEN_COLOURS = (
    partial(ZonesEncoder, count) for count in (2, 6, 8, 10)
)


def decode(lidars: Float32Array, radius: float) -> Float32Array:
    """Return `(n, colours · 2 · 7)`: the two zones that each lidar `(n, colours, 16)` shows."""
    flat = lidars.reshape(-1, BINS)
    bins, light = fit_objects(flat, np.full(len(flat), EACH))
    shape = -1, lidars.shape[1], EACH
    angle = bins.T.reshape(shape) * np.float32(2 * np.pi / BINS)
    light = light.T.reshape(shape)
    distance = np.minimum(-2 * np.log(np.maximum(light, np.float32(1e-6))), _FARTHEST)
    near = np.exp(-np.maximum(distance - radius, 0) / np.float32(0.4))
    return objects_seen(angle, distance, near, radius, light > 0)
