"""Safety domain (`skm/Safety-v0`): Safety Gym's point robot among buttons, regions and a cylinder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from skm_sim.arrays import BoolArray, ByteArray, FloatArray
from skm_sim.safety.layout import (
    BUTTONS,
    LABEL_RADIUS,
    REGIONS,
    Layout,
    read_layout,
    sample_layouts,
)
from skm_sim.safety.scene import safety_scene
from skm_sim.safety.spec import PROPOSITIONS
from skm_sim.safety_gym.env import ArenaEnv, ArenaVectorEnv, given_layout
from skm_sim.safety_gym.lidar import BINS, shown_in_bins
from skm_sim.safety_gym.physics import (
    CONTROL,
    CONTROLS,
    SENSORS,
    PointRobots,
    action_space,
    check_actions,
)
from skm_sim.scene import Shape
from skm_sim.spec import DomainError

# The physics of the Safety domain: a batch of Safety Gym's point robots in MuJoCo, as arrays.
#
# Two effects are left out of the model since they change nothing, which `test_safety_oracle.py`
# checks against safety-gymnasium: regions and cylinder (nothing collides with them), and contacts
# with the floor (the robot has no vertical joint, so the floor cannot push it, and nothing rubs).


TIMESTEP = 0.01
"""Seconds of one physics step."""
_BUTTON_RADIUS = 0.1
_OUT_OF_REACH = 10.0
_OBJECTS = "".join(
    f'<body name="button{i}" mocap="true"><geom type="sphere" size="{_BUTTON_RADIUS}"/></body>'
    for i in range(BUTTONS)
)


class SafetyPhysics(PointRobots):
    """A batch of robots among buttons, which are solid."""

    def __init__(self, count: int, timestep: float = TIMESTEP) -> None:
        super().__init__(
            "safety",
            count,
            timestep,
            objects=_OBJECTS,
            width=CONTROLS + 3 * BUTTONS,
            control_spec=CONTROL | int(mujoco.mjtState.mjSTATE_MOCAP_POS),
        )
        steps = self._control.shape[1]
        self._buttons = self._control[:, :, CONTROLS:].reshape(count, steps, BUTTONS, 3)

    def reset(self, mask: BoolArray, layout: Layout) -> None:
        """Put the robots in `mask` at rest where the layouts of these robots have them."""
        rows = np.flatnonzero(mask)
        self._buttons[rows, :, :, :2] = layout.buttons[:, None]
        self._buttons[rows, :, :, 2] = _BUTTON_RADIUS
        self.put(rows, layout.robot)

    def lift_buttons(self) -> None:
        """Take the buttons out of the robots' way, until the next reset."""
        self._buttons[..., 2] = _OUT_OF_REACH


# Safety Gym's pseudo-lidar for a batch of robots: closeness of objects in bins around the robot.


RANGE = 3.0
KINDS = ("cylinder", "buttons", "regions")
"""The three lidars, in the order of the observation."""
_FIRST = np.array([0, 1, 1 + BUTTONS])
"""The first object of each kind, among all objects of an arena."""


def object_positions(layout: Layout) -> FloatArray:
    """Return `(n, 7, 2)`: the cylinder, the buttons, the regions."""
    return np.concatenate(
        [layout.cylinder_position[:, None], layout.buttons, layout.regions], axis=1
    )


def pseudo_lidar(pose: FloatArray, objects: FloatArray) -> FloatArray:
    """Return `(n, 48)`: for each kind, the closeness of the closest object in each of 16 bins.

    Closeness falls from 1 at the robot's centre to 0 at 3 m.
    """
    shown, distance = shown_in_bins(pose, objects)
    closeness = np.maximum(0.0, RANGE - distance) / RANGE
    shown *= closeness[..., None]
    lidar: FloatArray = np.maximum.reduceat(shown, _FIRST, axis=1).reshape(len(pose), -1)
    return lidar


assert len(_FIRST) == len(KINDS)
assert _FIRST[-1] + REGIONS == 1 + BUTTONS + REGIONS


# Safety domain (`skm/Safety-v0`): Safety Gym's point robot among buttons, regions and a cylinder.
#
# Observation, 60 numbers: accelerometer, velocimeter, gyro, magnetometer (three each), then the
# pseudo-lidars of the cylinder, the buttons and the regions (16 each). Action: two numbers in
# [-1, 1], the force along the heading and the wanted turning speed. An action lasts 0.1 s.
#
# A proposition holds while the robot's centre is within `label_radius` of the centre of a button,
# the cylinder, a region. The cylinder stands on a button, so `cylinder` implies `button`. Rewards
# are 0 (they come from the reward machine), and an episode never terminates: missions decide when
# they end.


OBSERVATION = SENSORS + len(KINDS) * BINS
"""How many numbers an observation has."""


class SafetyWorld:
    """A batch of arenas, each with its robot; what both environments are shells of."""

    def __init__(self, count: int, label_radius: float, timestep: float) -> None:
        if not 0 < label_radius <= 2:
            raise DomainError(f"label_radius is {label_radius}, must be above 0 and at most 2 m.")
        if not 0 < timestep <= 0.01:
            raise DomainError(f"timestep is {timestep}, must be above 0 and at most 0.01 s.")
        self.label_radius = label_radius
        self.physics = SafetyPhysics(count, timestep)
        self.layout = Layout(
            np.zeros((count, 3)),
            np.ones((count, 4, 2)),
            np.ones((count, 2, 2)),
            np.zeros(count, np.int64),
        )
        self._objects = object_positions(self.layout)

    def reset(self, mask: BoolArray, layout: Layout) -> None:
        """Start the arenas in `mask` anew; `layout` has one entry for each of them."""
        current = self.layout
        for name in ("robot", "buttons", "regions", "cylinder"):
            getattr(current, name)[mask] = getattr(layout, name)
        self._objects[mask] = object_positions(layout)
        self.physics.reset(mask, layout)

    def observe(self) -> FloatArray:
        """Return what each robot sensors, `(count, 60)`."""
        lidar = pseudo_lidar(self.physics.pose, self._objects)
        return np.concatenate([self.physics.sensors, lidar], axis=1)

    def labels(self) -> BoolArray:
        """Return what is true where each robot is, `(count, 3)`."""
        objects, pose = self._objects, self.physics.pose
        near = np.hypot(objects[..., 0] - pose[:, :1], objects[..., 1] - pose[:, 1:2])
        near_enough = near <= self.label_radius
        return np.stack(
            [near_enough[:, 1:5].any(1), near_enough[:, 0], near_enough[:, 5:].any(1)], axis=1
        )


class SafetyEnv(ArenaEnv):
    """One robot. `reset(options={"layout": layout})` places it and all objects as given.

    With `render_mode="rgb_array"`, `render()` draws the arena from above with the path of this
    episode; nothing of it needs a screen or OpenGL.
    """

    metadata: dict[str, Any] = {**ArenaEnv.metadata, "render_fps": 10}  # noqa: RUF012
    world: SafetyWorld

    def __init__(
        self,
        label_radius: float = LABEL_RADIUS,
        timestep: float = TIMESTEP,
        render_mode: str | None = None,
        constraints: tuple[str, ...] = PROPOSITIONS,
    ) -> None:
        super().__init__(observation_space(), (PROPOSITIONS, constraints), render_mode)
        self.world = SafetyWorld(1, label_radius, timestep)

    @property
    def layout(self) -> Layout:
        """Where everything was at the start of the episode."""
        return self.world.layout[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Start an episode in an arena drawn at random, or in `options["layout"]`."""
        super().reset(seed=seed)
        given = given_layout(options, (), read_layout)
        layout = sample_layouts(self.np_random, 1) if given is None else given[None]
        self.world.reset(np.ones(1, np.bool_), layout)
        return self._begun()

    def step(self, action: ArrayLike) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Take one step; the labels in `info` are those of the state that it leads to."""
        self.world.physics.step(check_actions(action, (2,))[None])
        return self._entered(over=False)

    def render(self) -> ByteArray | None:
        """Return the picture as `(height, width, 3)` bytes, or None without a render mode."""
        if self.render_mode is None:
            return None
        from skm_sim.safety.drawing import picture  # noqa: PLC0415 (matplotlib is slow)

        return picture(self.layout, np.array(self._path), self.world.label_radius)

    def scene(self) -> list[Shape]:
        """Return the arena and the robot as shapes for 3D views."""
        return safety_scene(self.layout, self.pose, self.world.label_radius)


class SafetyVectorEnv(ArenaVectorEnv):
    """A batch of robots, each in an arena of its own, stepping as arrays in one process.

    See `BatchEnv`. `reset(options={"layout": layout})` says where everything is: one arena for all,
    or a `Layout` with an entry for every robot.
    """

    world: SafetyWorld

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        label_radius: float = LABEL_RADIUS,
        timestep: float = TIMESTEP,
        constraints: tuple[str, ...] = PROPOSITIONS,
    ) -> None:
        super().__init__(
            num_envs,
            max_episode_steps,
            spaces=(observation_space(), action_space()),
            names=(PROPOSITIONS, constraints),
        )
        self.world = SafetyWorld(num_envs, label_radius, timestep)

    @property
    def layout(self) -> Layout:
        """Where everything was at the start of each robot's episode."""
        return self.world.layout[:]

    def _advance(self, actions: FloatArray, going: BoolArray) -> None:  # noqa: ARG002
        self.world.physics.step(actions)

    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        """Start the robots in `mask`, in the arenas given or in new ones."""
        given = given_layout(options, (self.num_envs,), read_layout)
        count = int(np.count_nonzero(mask))
        if count:
            new = sample_layouts(self.np_random, count) if given is None else given[mask]
            self.world.reset(mask, new)


def observation_space() -> Box:
    """Return the space of 60 numbers: sensors without bounds, lidars from 0 to 1."""
    low, high = np.full(OBSERVATION, -np.inf), np.full(OBSERVATION, np.inf)
    low[SENSORS:], high[SENSORS:] = 0.0, 1.0
    return Box(low, high, dtype=np.float64)
