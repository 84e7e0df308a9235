"""Cells of a map that cannot be entered for a while: something stands there, or no way was found.

What stands in a way may go away, so blocked cells expire; they count anew whenever they are seen again.
Times are of a steady clock, in seconds; there is no ROS here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.maps.floor import Floor

REACH: Final = 2.5
"""Metres around the robot in which what it sees blocks cells; farther things are not in the way yet."""


class Blockages:
    """The cells that are blocked now, and by what; each until its time is up."""

    def __init__(self, floor: Floor, radius: float, seconds: float) -> None:
        """`radius` is the room that the robot needs; `seconds` is how long a cell stays blocked."""
        self._floor, self._radius, self.seconds = floor, radius, seconds
        self._until: dict[int, float] = {}
        self.reason = ""
        """What blocks the way, as text; the last report while any cell is blocked."""

    def cells(self, now: float) -> frozenset[int]:
        """Return the cells that are blocked now."""
        self._until = {cell: until for cell, until in self._until.items() if until > now}
        if not self._until:
            self.reason = ""
        return frozenset(self._until)

    def block(self, cells: Iterable[int], reason: str, now: float) -> None:
        """Block cells from now on."""
        self._until.update(dict.fromkeys(map(int, cells), now + self.seconds))
        self.reason = reason

    def block_around(self, points: FloatArray, place: tuple[float, float], now: float) -> bool:
        """Block the cells in which a robot that stands at a place would touch what it sees there.

        The cell that it stands in stays open: it has to get out. Tell whether anything is blocked.
        """
        gaps = np.hypot(points[:, 0] - place[0], points[:, 1] - place[1])
        near = points[gaps < REACH]
        if not len(near):
            return False
        centres = self._floor.centres
        around = np.flatnonzero(np.hypot(*(centres - place).T) < REACH + self._radius)
        away = np.hypot(
            centres[around, None, 0] - near[None, :, 0], centres[around, None, 1] - near[None, :, 1]
        )
        touched = around[away.min(axis=1) < self._radius]
        here, _ = self._floor.nearest_cell(*place)
        touched = touched[touched != here]
        if not len(touched):
            return False
        x, y = near[np.hypot(near[:, 0] - place[0], near[:, 1] - place[1]).argmin()]
        self.block(touched.tolist(), f"something stands in the way at ({x:.1f}, {y:.1f})", now)
        return True

    def clear(self) -> None:
        """Open all cells."""
        self._until.clear()
        self.reason = ""
