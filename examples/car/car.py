"""safety-gymnasium's Car in the arenas of the Safety domain: its tasks, how it is seen and moved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_sim import DomainSpec, Registration, Task, task_table
from skm_sim.arrays import Float32Array
from skm_sim.safety.encoder import OBJECT_FEATURES, OBJECTS, decode, training_layouts
from skm_sim.safety.spec import SAFETY_REGION
from skm_sim.safety_gym.lidar import BINS
from skm_sim.safety_gym.physics import SENSORS

HOLD = 5
"""Steps of 0.04 s for which a decision is held: in 0.2 s the Car goes 15 cm at most."""
TORQUE = 0.02
"""What a wheel's motor gives at most: larger actions do the same."""
OWN = np.array([3, 4, 8, 9, 10])
"""Of the twelve numbers of the sensors: speed ahead and aside, turning speed, heading."""
OWN_SCALE = np.array([1.0, 1.0, 0.5, 2.0, 2.0], np.float32)
FULL = [(left, right) for left in (-1.0, 0.0, 1.0) for right in (-1.0, 0.0, 1.0)]
CURVES = [(0.5, 1.0), (1.0, 0.5), (-0.5, -1.0), (-1.0, -0.5)]


class CarEncoder:
    """60 numbers to features, and the torques that are learned to choose from."""

    observations = SENSORS + len(OBJECTS) * BINS
    inputs = len(OWN) + len(OBJECTS) * BINS + sum(OBJECTS) * OBJECT_FEATURES

    def __init__(self) -> None:
        self.actions: Float32Array = TORQUE * np.array(FULL + CURVES, np.float32)

    def features(self, observations: NDArray[Any]) -> Float32Array:
        """Return the Car's own motion, the lidars, and the objects decoded from them."""
        seen = np.asarray(observations, np.float32)
        own = np.clip(seen[:, OWN] * OWN_SCALE, -3, 3)
        lidars = seen[:, SENSORS:]
        objects = decode(lidars.reshape(-1, len(OBJECTS), BINS))
        return np.concatenate([own, lidars, objects], axis=1)

    def action(self, controls: Float32Array) -> Float32Array:
        """Return torques: controls are scaled to what the motors give."""
        return controls * np.float32(TORQUE)

    def commands(self, actions: Float32Array) -> Float32Array:
        """Return the actions as they are."""
        return actions

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:
        """Return the Safety domain's arenas to learn in."""
        return {"layout": training_layouts(random, count)}


CAR = DomainSpec(
    name="car",
    env_id="skm_examples/Car-v0",
    environments=(
        Registration(
            "skm_examples/Car-v0",
            entry_point="car_env:CarEnv",
            vector_entry_point="car_env:CarVectorEnv",
            max_episode_steps=2500,
        ),
    ),
    extra="safety: mujoco",
    propositions=SAFETY_REGION.propositions,
    constraints=SAFETY_REGION.constraints,
    gamma=0.99,
    primitive_steps=64,
    step_seconds=0.04,
    hold=HOLD,
    demo="2",
    checkpoint=str(Path(__file__).with_name("car.safetensors").resolve()),
    encoder="car:CarEncoder",
    validation=SAFETY_REGION.validation,
    trials=SAFETY_REGION.trials,
    figures=SAFETY_REGION.figures,
    settings={
        "horizon": 294_912,
        "update_every": 16,
        "validate_rounds": 16,
        "validation_layouts": 24,
    },
    tasks=task_table(
        Task(task.name, task.formula, repeat=False, max_steps=HOLD * task.max_steps)
        for task in SAFETY_REGION.tasks.values()
    ),
)
