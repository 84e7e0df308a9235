"""The arenas of the Safety domain with safety-gymnasium's Car in place of the point robot.

Observation, 60 numbers, and labels: as the Safety domain's. Action: two numbers in [-1, 1], the torques
of the left and the right wheel, of which the motors give at most 0.02. A step lasts 0.04 s.
"""

from __future__ import annotations

import numpy as np
from car_engine import Cars

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.labels import told_labels
from skm_sim.safety.env import TIMESTEP, SafetyEnv, SafetyVectorEnv, SafetyWorld, observation_space
from skm_sim.safety.layout import LABEL_RADIUS, Layout
from skm_sim.safety.spec import PAPER_CONSTRAINTS, PROPOSITIONS
from skm_sim.safety_gym.env import ArenaEnv, ArenaVectorEnv
from skm_sim.safety_gym.physics import action_space, check_actions


class CarWorld(SafetyWorld):
    """The Safety domain's arenas, each with its Car."""

    def __init__(self, count: int, hold: int = 1) -> None:
        super().__init__(count, LABEL_RADIUS, TIMESTEP)
        self.physics = Cars(count, hold)
        self._told = np.zeros((count, len(PROPOSITIONS)), np.bool_)

    def reset(self, mask: BoolArray, layout: Layout) -> None:
        """Start the arenas in `mask` anew."""
        super().reset(mask, layout)
        self._told[mask] = layout.labels(layout.robot[:, :2])

    def step(self, actions: FloatArray) -> None:
        """Hold the actions, and take note of what was touched on the way."""
        self.physics.step(actions)
        track = self.physics.track
        shown = [self.layout.labels(track[:, step, :2]) for step in range(track.shape[1])]
        self._told = told_labels(self._told, np.stack(shown, axis=1))

    def labels(self) -> BoolArray:
        """Return what is true where each Car is, or was on the way there."""
        return self._told


class CarEnv(SafetyEnv):
    """One Car; `reset` and pictures as the Safety domain's. A layout's heading is the engine's."""

    metadata = {**SafetyEnv.metadata, "render_fps": 25}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(self, render_mode: str | None = None) -> None:
        ArenaEnv.__init__(self, observation_space(), (PROPOSITIONS, PAPER_CONSTRAINTS), render_mode)
        self.world = CarWorld(1)

    @property
    def pose(self) -> FloatArray:
        """The Car's x and y, and where ahead is."""
        return super().pose - np.array([0.0, 0.0, np.pi / 2])

    def step(self, action: object) -> tuple:
        """Take one step; the labels in `info` are those of the state that it leads to."""
        self.world.step(check_actions(action, (2,))[None])
        return self._entered(over=False)


class CarVectorEnv(SafetyVectorEnv):
    """A batch of Cars; one of its steps takes `hold` steps of 0.04 s."""

    def __init__(
        self, num_envs: int = 1, max_episode_steps: int | None = None, hold: int = 1
    ) -> None:
        ArenaVectorEnv.__init__(
            self,
            num_envs,
            max_episode_steps,
            spaces=(observation_space(), action_space()),
            names=(PROPOSITIONS, PAPER_CONSTRAINTS),
        )
        self.world = CarWorld(num_envs, hold)

    def _advance(self, actions: FloatArray, going: BoolArray) -> None:
        self.world.step(actions)
