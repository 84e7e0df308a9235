"""The real safety-gymnasium as a simulator of the Safety domain (`skm/SafetyGymnasium-v0`).

Its own engine, agent, objects and lidars run; only where objects stand and what the labels are comes
from skm. It is slow (a reset compiles a model), and there to compare with: `skm/Safety-v0` is the
same robot. safety-gymnasium 1.0.0 pins old packages and does not import on Python 3.11; it is
installed without its pins (the README has the command), and imported here in a way that works:

- its package file, which imports wrappers for an old gymnasium, is not run; the few modules that
  make up the engine are;
- dataclass fields with arrays as defaults, which Python 3.11 refuses, get a default factory.

The wheel's robot has a physics step of 0.002 s; the domain's is 0.01 s, so that is what is set.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import sys
import warnings
from types import ModuleType
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Space
from numpy.typing import ArrayLike

from skm_sim.arrays import FloatArray
from skm_sim.robots.simulated import INSTALL, PACKAGE
from skm_sim.safety.env import TIMESTEP, observation_space
from skm_sim.safety.layout import LABEL_RADIUS, Layout, read_layout, sample_layouts
from skm_sim.safety.spec import PROPOSITIONS
from skm_sim.safety_gym.env import given_layout
from skm_sim.safety_gym.physics import action_space, check_actions
from skm_sim.spec import DomainError

_SENSORS = ("accelerometer", "velocimeter", "gyro", "magnetometer")
_LIDARS = ("goal_lidar", "buttons_lidar", "hazards_lidar")
_REGION_RADIUS = 0.3


def is_installed() -> bool:
    """Tell whether safety-gymnasium and what its engine needs are there."""
    needed = (PACKAGE, "xmltodict", "imageio", "yaml", "glfw")
    return all(importlib.util.find_spec(name) is not None for name in needed)


class SafetyGymnasiumEnv(gymnasium.Env[FloatArray, FloatArray]):
    """One robot in safety-gymnasium; same observation, actions, labels and options as `SafetyEnv`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(self, label_radius: float = LABEL_RADIUS, timestep: float = TIMESTEP) -> None:
        self.propositions = PROPOSITIONS
        self.constraints = PROPOSITIONS
        self.observation_space = cast("Space[FloatArray]", observation_space())
        self.action_space = cast("Space[FloatArray]", action_space())
        self.label_radius = label_radius
        self._timestep = timestep
        with warnings.catch_warnings():  # Its boxes have bounds that overflow a cast.
            warnings.simplefilter("ignore", RuntimeWarning)
            self._task = task_class()({"agent_name": "Point", "observation_flatten": False})
            self._task.build_observation_space()
        self.layout = sample_layouts(np.random.default_rng(0), 1)[0]

    @property
    def pose(self) -> FloatArray:
        """The robot's x, y and heading."""
        agent = self._task.agent
        return np.array([*agent.pos[:2], np.arctan2(agent.mat[1, 0], agent.mat[0, 0])])

    @property
    def touching(self) -> bool:
        """Whether the robot touches anything but the floor, in the current state."""
        data, model = self._task.data, self._task.model
        floor = model.geom("floor").id
        return any(floor not in contact.geom for contact in data.contact[: data.ncon])

    def labels(self) -> frozenset[str]:
        """Return the propositions that are true in the current state."""
        true = self.layout.labels(self.pose[:2], self.label_radius).tolist()
        return frozenset(name for name, holds in zip(self.propositions, true, strict=True) if holds)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Start an episode in an arena drawn at random, or in `options["layout"]`."""
        super().reset(seed=seed)
        given = given_layout(options, (), read_layout)
        self.layout = sample_layouts(self.np_random, 1)[0] if given is None else given
        self._task.place(self.layout)
        self._task.reset()
        self._task.model.opt.timestep = self._timestep
        return self._observe(), {"labels": self.labels()}

    def step(self, action: ArrayLike) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Let safety-gymnasium simulate one action."""
        if self._task.simulation_forward(check_actions(action, (2,))):
            raise DomainError("safety-gymnasium's physics failed; reset the environment.")
        return self._observe(), 0.0, False, False, {"labels": self.labels()}

    def _observe(self) -> FloatArray:
        observed = self._task.obs()
        return np.concatenate([observed[name] for name in (*_SENSORS, *_LIDARS)])


@functools.cache
def task_class() -> Any:  # noqa: ANN401 (a class of an untyped package)
    """Return a task of safety-gymnasium with the objects of the domain, and no goal of its own."""
    base, geoms = (engine_module(name) for name in ("bases.base_task", "assets.geoms"))

    class SkmTask(base.BaseTask):  # type: ignore[misc, name-defined]
        """Four buttons, two regions (hazards) and a cylinder (goal); skm says where."""

        def __init__(self, config: dict[str, Any]) -> None:
            super().__init__(config=config)
            self._add_geoms(geoms.Goal(), geoms.Buttons(num=4, is_constrained=False))
            self._add_geoms(geoms.Hazards(num=2, size=_REGION_RADIUS, is_constrained=False))
            self.random_generator.set_random_seed(0)

        def place(self, layout: Layout) -> None:
            """Say where everything is at the next reset."""
            positions = {"agent": layout.robot[:2], "goal": layout.cylinder_position}
            positions |= {f"button{i}": xy for i, xy in enumerate(layout.buttons)}
            positions |= {f"hazard{i}": xy for i, xy in enumerate(layout.regions)}
            self.agent.rot = float(layout.robot[2])
            self.random_generator.build_layout = lambda: positions

        def calculate_reward(self) -> float:
            return 0.0

        def specific_reset(self) -> None:
            """There is nothing of its own to reset."""

        def specific_step(self) -> None:
            """There is nothing of its own to step."""

        def update_world(self) -> None:
            """There is no goal to move."""

        @property
        def goal_achieved(self) -> bool:
            return False

    return SkmTask


def engine_module(name: str) -> Any:  # noqa: ANN401 (a module of an untyped package)
    """Import a module of safety-gymnasium's engine, without running the package's own file."""
    if PACKAGE not in sys.modules:
        found = importlib.util.find_spec(PACKAGE)
        if found is None or not is_installed():
            raise DomainError(
                f"the backend safety-gymnasium is not installed; install it with `{INSTALL}`."
            )
        package = ModuleType(PACKAGE)
        package.__path__ = list(found.submodule_search_locations or [])
        package.__file__ = found.origin
        package.__spec__ = found
        sys.modules[PACKAGE] = package
    original = dataclasses.dataclass
    dataclasses.dataclass = _lenient_dataclass  # type: ignore[assignment]
    try:
        return importlib.import_module(f"{PACKAGE}.{name}")
    finally:
        dataclasses.dataclass = original


def _lenient_dataclass(cls: Any, **options: Any) -> Any:  # noqa: ANN401 (stands in for dataclass)
    """Make a dataclass of a class even if defaults of its fields are arrays."""
    for name in inspect.get_annotations(cls):
        default = cls.__dict__.get(name)
        if isinstance(default, np.ndarray):
            setattr(cls, name, dataclasses.field(default_factory=default.copy))
    return _DATACLASS(cls, **options)


_DATACLASS: Any = dataclasses.dataclass
