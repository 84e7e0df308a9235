"""A team of robots that move at their own pace, through the steps of one plan.

A step of the team is over when each robot has confirmed its cell. Until then some robots are there and
others are not, in any order. So a robot is let go only if its move keeps clear of where every other
robot is and of where it goes, and if no order of arrivals shows labels that lose the mission; the rest
waits for the others. A robot from which nothing is heard is gone, one that does not arrive in time is
stuck: both keep their labels and get no work. A robot that is found elsewhere makes the team plan again.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np

from skm_primitives.execution.team_run import TeamRun
from skm_sim.arrays import IntArray

GONE_SECONDS: Final = 3.0
STUCK_SECONDS: Final = 20.0


class TeamDispatch:
    """Which robot may go where now; times are of a steady clock, in seconds."""

    def __init__(
        self,
        run: TeamRun,
        now: float,
        *,
        gone_after: float = GONE_SECONDS,
        stuck_after: float = STUCK_SECONDS,
    ) -> None:
        self.run = run
        self.gone_after, self.stuck_after = gone_after, stuck_after
        self.cells = [path[-1] for path in run.paths]
        """Where each robot was seen last."""
        self.reasons: dict[str, str] = {}
        """Why robots get no work any more."""
        self._heard = [now] * len(self.cells)
        self._stopped = [""] * len(self.cells)
        self._going: set[int] = set()
        self._began = now

    def begin(self, now: float) -> None:
        """Begin the next step of the plan."""
        self._began = now
        self._going.clear()

    @property
    def targets(self) -> list[int]:
        """The cell that each robot is to be in at the end of the step."""
        return self.run.next_cells

    def saw(self, robot: int, cell: int, now: float, stopped: str = "") -> None:
        """Take note of where a robot is, and of why it is kept from moving."""
        self.cells[robot] = cell
        self._heard[robot], self._stopped[robot] = now, stopped

    def target(self, robot: int) -> int | None:
        """Return where a robot may go now; None: it is there, or has to wait."""
        here, there = self.cells[robot], self.targets[robot]
        if here == there or self.run.team.names[robot] in self.run.team.gone:
            return None
        if robot not in self._going and not self._may_go(robot):
            return None
        self._going.add(robot)
        return there

    def _may_go(self, robot: int) -> bool:
        team, targets = self.run.team, self.targets
        here, there = self.cells[robot], targets[robot]
        for other, at in enumerate(self.cells):
            if other == robot:
                continue
            ends = {at, targets[other]} if other in self._going else {at}
            moves = [(end, end) for end in ends]
            if other in self._going:
                moves.append((at, targets[other]))
            for came, to in moves:
                if bool(team.too_close(here, there, came, to)):
                    return False
        return self._harmless({*self._going, robot})

    def _harmless(self, going: set[int]) -> bool:
        """Tell whether no order of arrivals shows labels that lose the mission."""
        moving = sorted(r for r in going if self.cells[r] != self.targets[r])
        for count in range(len(moving) + 1):
            for arrived in combinations(moving, count):
                cells = list(self.cells)
                for robot in arrived:
                    cells[robot] = self.targets[robot]
                if cells not in (self.targets, self.cells) and self.run.would_lose(cells):
                    return False
        return True

    def missing(self, now: float) -> dict[str, str]:
        """Return the robots that are gone or stuck now, and were not before, each with the reason."""
        found: dict[str, str] = {}
        for robot, name in enumerate(self.run.team.names):
            if name in self.run.team.gone:
                continue
            if now - self._heard[robot] > self.gone_after:
                found[name] = f"nothing is heard of {name}"
            elif robot in self._going and now - self._began > self.stuck_after:
                why = f": {self._stopped[robot]}" if self._stopped[robot] else ""
                found[name] = f"{name} is stuck{why}"
        if not found and not self._going and now - self._began > self.stuck_after:
            waiting = [
                n for r, n in enumerate(self.run.team.names) if self.cells[r] != self.targets[r]
            ]
            found = {
                name: f"{name} cannot go without meeting another robot" for name in waiting[:1]
            }
        self.reasons.update(found)
        return found

    @property
    def arrived(self) -> bool:
        """Whether the step is over: each robot that has work has confirmed its cell."""
        return self.cells == self.targets

    @property
    def astray(self) -> bool:
        """Whether a robot is neither where the step began nor where it is to end."""
        began = (path[-1] for path in self.run.paths)
        return any(
            cell not in (before, after)
            for cell, before, after in zip(self.cells, began, self.targets, strict=True)
        )


def action_to(successors: IntArray, cell: int, target: int) -> int | None:
    """Return the action that leads from a cell to the next; None: none does."""
    found = np.flatnonzero(successors[cell] == target)
    return int(found[0]) if len(found) else None
