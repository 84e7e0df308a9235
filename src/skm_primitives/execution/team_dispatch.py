"""A team of robots that move at their own pace, through the steps of one plan.

A step of the team is over when each robot has confirmed its cell. Until then some robots are there and
others are not, in any order. So a robot is let go only if its way keeps clear of where every other robot
may be, and if no order of arrivals shows labels that lose the mission; the rest waits for the others. A
robot from which nothing is heard is gone, one that does not arrive in time is stuck: both keep their
labels and get no work. Those that are under way arrive, and the team plans again from there, as it does
when a robot is found elsewhere.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np

from skm_primitives.execution.team_run import TeamRun
from skm_sim.arrays import IntArray
from skm_sim.robots.command_gate import is_by_person

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
        self._going: dict[int, float] = {}
        """Robots that were let go in this step, and when."""
        self._lost: set[int] = set()
        """Robots that are found to be gone or stuck, and that the plan does not know of yet."""
        self._began = now

    def begin(self, now: float) -> None:
        """Begin the next step of the plan."""
        self._began = now
        self._going.clear()

    def replanned(self, now: float) -> None:
        """Begin with a plan that knows which robots are lost."""
        self._lost.clear()
        self.begin(now)

    @property
    def targets(self) -> list[int]:
        """The cell that each robot is to be in at the end of the step."""
        return self.run.next_cells

    def saw(self, robot: int, cell: int, now: float, stopped: str = "") -> None:
        """Take note of where a robot is, and of why it is kept from moving."""
        self.cells[robot] = cell
        self._heard[robot], self._stopped[robot] = now, stopped

    def target(self, robot: int, now: float) -> int | None:
        """Return where a robot may go now; None: it is there, or has to wait."""
        here, there = self.cells[robot], self.targets[robot]
        if here == there or robot in self._lost or self.run.team.names[robot] in self.run.team.gone:
            return None
        if robot not in self._going and (self.interrupted or not self._may_go(robot)):
            return None
        self._going.setdefault(robot, now)
        return there

    def _may_go(self, robot: int) -> bool:
        """Tell whether a way keeps clear of all others, whenever they are where on theirs."""
        team, targets = self.run.team, self.targets
        here, there = self.cells[robot], targets[robot]
        for other, at in enumerate(self.cells):
            if other != robot:
                to = targets[other] if other in self._going else at
                if bool(team.too_close(here, there, *team.ends(other, at, to))):
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
        self._forgive(now)
        found: dict[str, str] = {}
        names, gone = self.run.team.names, self.run.team.gone
        working = [r for r, name in enumerate(names) if name not in gone and r not in self._lost]
        for robot in working:
            name = names[robot]
            under_way = robot in self._going and self.cells[robot] != self.targets[robot]
            if now - self._heard[robot] > self.gone_after:
                found[name] = f"nothing is heard of {name}"
            elif under_way and now - self._going[robot] > self.stuck_after:
                why = f": {self._stopped[robot]}" if self._stopped[robot] else ""
                found[name] = f"{name} is stuck{why}"
        if not found and not self._going and now - self._began > self.stuck_after:
            waiting = [names[r] for r in working if self.cells[r] != self.targets[r]]
            found = {
                name: f"{name} cannot go without meeting another robot, or losing the mission"
                for name in waiting[:1]
            }
        self.reasons.update(found)
        self._lost |= {names.index(name) for name in found}
        return found

    def _forgive(self, now: float) -> None:
        """Let robots that a person keeps from moving, and those that wait for them, take their time."""
        held = [robot for robot, why in enumerate(self._stopped) if is_by_person(why)]
        for robot in held:
            if robot in self._going:
                self._going[robot] = now
        if held:
            self._began = now

    @property
    def arrived(self) -> bool:
        """Whether the step is over: each robot has confirmed its cell."""
        return self.cells == self.targets

    @property
    def interrupted(self) -> bool:
        """Whether the plan cannot be followed any further: robots are lost, or somewhere else."""
        return bool(self._lost) or any(map(self._is_astray, range(len(self.cells))))

    @property
    def settled(self) -> bool:
        """Whether no robot is under way that may still arrive: then it can be planned again."""
        return not any(
            self.cells[robot] != self.targets[robot]
            for robot in self._going
            if robot not in self._lost and not self._is_astray(robot)
        )

    def _is_astray(self, robot: int) -> bool:
        """Tell whether a robot is neither where the step began nor where it is to end."""
        return self.cells[robot] not in (self.run.paths[robot][-1], self.targets[robot])

    @property
    def lost(self) -> tuple[str, ...]:
        """The robots that the plan does not know to be lost."""
        return tuple(self.run.team.names[robot] for robot in sorted(self._lost))

    @property
    def halted(self) -> dict[str, int]:
        """Where lost robots were going that have not arrived."""
        return {
            self.run.team.names[robot]: self.targets[robot]
            for robot in sorted(self._lost & self._going.keys())
            if self.cells[robot] != self.targets[robot]
        }


def action_to(successors: IntArray, cell: int, target: int) -> int | None:
    """Return the action that leads from a cell to the next; None: none does."""
    found = np.flatnonzero(successors[cell] == target)
    return int(found[0]) if len(found) else None
