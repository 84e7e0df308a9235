"""A robot with imperfect senses, driven by the bridge's own `Drive`, faster than life.

Time passes in `period` only: the same readings with the same noise, delays and losses as those of the
robot's node, and the same driving as that of the bridge's, without messages and without waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_sim.driving.robot_drive import Driving, Entered
from skm_sim.driving.velocities import Velocity
from skm_sim.robots.bodies import Body
from skm_sim.robots.imperfect import Channel, Noise
from skm_sim.robots.walls import Pose

READING: Final = 0.02
"""Seconds between two readings of the pose, and between two looks at the true one."""


USUAL: Final = Noise(place=0.02, heading=0.02, speed=0.02, distance=0.01)


@dataclass(frozen=True)
class Senses:
    """How well a robot knows where it is, and how well it hears."""

    noise: Noise = USUAL
    delay: float = 0.02
    """Seconds that readings and commands take, each."""
    loss: float = 0.02
    """Part of the readings, and of the commands, that get lost."""


class Rig:
    """A robot and its driver in simulated time; `watch` is shown the true pose at 50 Hz."""

    def __init__(
        self, car: Body, drive: Driving, senses: Senses, seed: int, watch: Callable[[Pose], None]
    ) -> None:
        self._car, self._drive, self._watch = car, drive, watch
        self._noise = senses.noise
        self._random = np.random.default_rng(seed)
        self._readings: Channel[tuple[Pose, Velocity]] = Channel(
            senses.delay, senses.loss, self._random
        )
        self._commands: Channel[Velocity] = Channel(senses.delay, senses.loss, self._random)
        self.now = self._due = 0.0

    def period(self, seconds: float, *, go: bool) -> list[Entered]:
        """Let a control period pass; return the states that were entered in it."""
        command = self._drive.velocity(self.now) if go else self._drive.halt()
        self._commands.send(command, self.now)
        self._due += seconds  # readings need not fit into a period: some have one more than others
        while self.now < self._due - READING / 2:
            for arrived in self._commands.arrived(self.now):
                self._car.command(*arrived)
            self._car.advance(READING)
            self.now += READING
            self._sense()
        return self._drive.states(self.now, resting=not go)

    def _sense(self) -> None:
        pose = self._car.pose
        self._watch(pose)
        speeds = self._noise.of_speeds(self._car.speeds, self._random)
        reading = self._noise.of_pose(pose, self._random), Velocity(*speeds)
        self._readings.send(reading, self.now)
        for seen, velocity in self._readings.arrived(self.now):
            self._drive.tracker.read(seen, velocity, self.now)
