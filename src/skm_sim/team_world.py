"""Several robots in one world, for teams of learned skills: what a domain's `team` has to fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from skm_sim.arrays import BoolArray, FloatArray


class TeamWorld(Protocol):
    """Robots by number, in the order of their names; made from those names."""

    names: tuple[str, ...]
    radius: float
    """Of a robot, in metres: two whose centres are nearer than two of it have collided."""

    def reset(self, seed: int, starts: Mapping[str, Sequence[float]]) -> None:
        """Begin anew, with everything drawn by the seed but the robots that are given places."""
        ...

    def step(self, actions: FloatArray) -> None:
        """Take one step of the world with all robots, `(robots, …)`."""
        ...

    def labels(self) -> list[frozenset[str]]:
        """Return what is true where each robot is."""
        ...

    def observe(self, shown_as: Sequence[str]) -> FloatArray:
        """Return what the skills of each robot see, `(robots, …)`.

        `shown_as`: for each robot, the proposition as which it sees the other robots, in place of what
        really shows that; empty: it sees none of them.
        """
        ...

    def brakes(self) -> FloatArray:
        """Return the actions that bring the robots to rest as fast as they can."""
        ...

    @property
    def positions(self) -> FloatArray:
        """`(robots, 2)`: where they are, in metres."""
        ...

    @property
    def ended(self) -> BoolArray:
        """`(robots,)`: whose world has ended, as by meeting a wall."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """Return where everything is, for JSON."""
        ...
