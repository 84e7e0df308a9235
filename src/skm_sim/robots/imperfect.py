"""Messages as robots send them: with noise, late, and some of them never."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.robots.walls import Pose

Message = TypeVar("Message")


@dataclass(frozen=True)
class Noise:
    """Standard deviations of what is added to readings; each reading has its own draw."""

    place: float = 0.0
    """Metres, in x and y each."""
    heading: float = 0.0
    """Radians."""
    speed: float = 0.0
    """m/s and rad/s."""
    distance: float = 0.0
    """Metres, for each ray of a laser."""

    def of_pose(self, pose: Pose, random: np.random.Generator) -> Pose:
        """Return a pose as it is read."""
        x, y, heading = pose
        dx, dy, turned = random.normal(size=3) * (self.place, self.place, self.heading)
        return x + dx, y + dy, heading + turned

    def of_speeds(
        self, speeds: tuple[float, float], random: np.random.Generator
    ) -> tuple[float, float]:
        """Return speeds as they are read."""
        ahead, turn = random.normal(0.0, self.speed, 2)
        return speeds[0] + ahead, speeds[1] + turn

    def of_distances(self, distances: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return distances as a laser reads them, never below 0."""
        read = distances + random.normal(0.0, self.distance, len(distances))
        return np.maximum(read, 0.0)


class Channel(Generic[Message]):
    """A way on which messages take a while, keep their order, and get lost."""

    def __init__(self, delay: float, loss: float, random: np.random.Generator) -> None:
        self._delay = delay
        self._loss = loss
        self._random = random
        self._under_way: deque[tuple[float, Message]] = deque()

    def send(self, message: Message, now: float) -> None:
        """Take a message, or lose it."""
        if self._random.random() >= self._loss:
            self._under_way.append((now + self._delay, message))

    def arrived(self, now: float) -> list[Message]:
        """Return what has arrived by now, in order."""
        found = []
        while self._under_way and self._under_way[0][0] <= now:
            found.append(self._under_way.popleft()[1])
        return found
