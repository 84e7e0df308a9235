"""The last stop of a robot: when it began, when the robot stood, and how far it went."""

from __future__ import annotations

import math
from typing import Final

STILL: Final = 2e-3
"""A robot that moves less than so many metres in a period is at rest."""


class StopRecord:
    """Notes stops, for the diagnostics and for those who measure them; times of a steady clock."""

    def __init__(self) -> None:
        self.stop_began = self._at_rest = 0.0
        self._way = self._oldest = 0.0
        self._place: tuple[float, float] | None = None

    def begin_stop(self, now: float) -> None:
        """Note that the robot is being brought to rest from now on."""
        self.stop_began, self._at_rest, self._way = now, 0.0, 0.0

    def note_obeyed(self, age: float) -> None:
        """Note that a command of this age is being carried out."""
        self._oldest = max(self._oldest, age)

    def note_place(self, place: tuple[float, float] | None, now: float, *, braking: bool) -> None:
        """Note where the robot is, once a period: how far it still went, and when it came to rest."""
        if place is not None and self._place is not None and braking and not self._at_rest:
            way = math.dist(place, self._place)
            self._way += way
            if way < STILL and now > self.stop_began:
                self._at_rest = now
        self._place = place

    def report(self) -> dict[str, object]:
        """Return the last stop, and how fresh commands were, as values for the diagnostics."""
        return {
            "last stop began (s, steady clock)": f"{self.stop_began:.4f}",
            "last stop, at rest (s, steady clock)": f"{self._at_rest:.4f}",
            "last stop, way to rest (m)": f"{self._way:.3f}",
            "oldest command obeyed (s)": f"{self._oldest:.4f}",
        }
