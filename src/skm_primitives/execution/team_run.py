"""A team's mission in process: one step of all robots at a time, planned again when one fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError, did_you_mean
from skm_machine.factored import FactoredMachine, in_parts
from skm_machine.mission import Mission, compile_mission
from skm_primitives.planning.place_graph import Cells
from skm_primitives.planning.teams import (
    AGAIN_SECONDS,
    BEST_SECONDS,
    Team,
    TeamPlan,
    TeamPlanner,
    collisions,
)
from skm_sim.arrays import FloatArray
from skm_sim.maps.building import Building


def team_mission(text: str, team: Team, format: str = "auto") -> Mission:
    """Return the mission of a team, kept in parts; it has an end, however it might be read otherwise."""
    mission = compile_mission(
        text, format=format, propositions=team.propositions(), horizon="finite", parts="if large"
    )
    if mission.formula is None:
        raise SkmError("a team's mission is a formula, or plain words")
    return mission if mission.in_parts else replace(mission, machine=in_parts(mission.formula))


@dataclass(frozen=True)
class TeamEpisode:
    """What happened in one run of a team."""

    outcome: str
    """`accepted`, `failed` or `impossible`."""
    reason: str
    """Why it is not accepted; empty: it is."""
    paths: tuple[tuple[int, ...], ...]
    """The cells of each robot, the start first."""
    collisions: int
    first_plan: TeamPlan | None
    plans: int

    @property
    def steps(self) -> int:
        """Steps that were taken."""
        return len(self.paths[0]) - 1


class TeamRun:
    """A team that follows its plan; `lose` a robot, and the rest is planned again."""

    def __init__(
        self,
        machine: FactoredMachine,
        team: Team,
        starts: Sequence[int],
        seconds: float = BEST_SECONDS,
    ) -> None:
        self.machine, self.team = machine, team
        self.parts = machine.start
        self.paths: list[list[int]] = [[int(cell)] for cell in starts]
        self.outcome, self.reason = "", ""
        self.plans = 0
        self.first_plan: TeamPlan | None = None
        self._plan(seconds)

    def _plan(self, seconds: float) -> None:
        """Plan from where the robots are."""
        planner = TeamPlanner(self.machine, self.team)
        self.plan: TeamPlan | None = None
        try:
            here = [path[-1] for path in self.paths]
            self.plan = planner.plan(here, self.parts, seconds=seconds)
        except UnachievableMissionError as error:
            self.outcome, self.reason = "impossible", str(error)
        self._at = 0
        self.plans += 1
        if self.plans == 1:
            self.first_plan = self.plan

    def lose(self, *names: str, halted: Mapping[str, int] | None = None) -> None:
        """Take note that robots are gone or stuck: they keep their labels, and get no work.

        `halted`: where those were going that may stand between two cells.
        """
        for name in names:
            if name not in self.team.names:
                raise SkmError(f"there is no robot '{name}'{did_you_mean(name, self.team.names)}")
        self.team = replace(
            self.team,
            gone=self.team.gone | set(names),
            halted={**self.team.halted, **(halted or {})},
        )
        if not self.outcome:
            self._plan(AGAIN_SECONDS)

    @property
    def next_cells(self) -> list[int]:
        """Where each robot is after the next step of the plan."""
        assert self.plan is not None
        return [path[self._at + 1] for path in self.plan.paths]

    def way(self, robot: int) -> list[int]:
        """Return the cells that a robot is still to go through by the plan, each once in a row."""
        if self.plan is None or self.outcome:
            return []
        path = self.plan.paths[robot][self._at :]
        return [after for before, after in pairwise(path) if before != after]

    def would_lose(self, cells: Sequence[int]) -> bool:
        """Tell whether a mission is lost if the robots show what these cells show."""
        return self.machine.advance(self.parts, self.team.labels(cells)).parts is None

    def step(self) -> None:
        """Move all robots by one step of the plan, and read what they show together."""
        self.take(self.next_cells)
        self._at += 1

    def take(self, cells: Sequence[int]) -> None:
        """Take a step that ends in these cells, and read what the robots show together."""
        for path, cell in zip(self.paths, cells, strict=True):
            path.append(int(cell))
        after, reward = self.machine.advance(self.parts, self.team.labels(cells))
        if after is None:
            self.outcome, self.reason = "failed", "a clause was violated"
        elif reward > 0:
            self.outcome = "accepted"
        else:
            self.parts = after

    @property
    def episode(self) -> TeamEpisode:
        """What has happened so far."""
        return TeamEpisode(
            self.outcome,
            self.reason,
            tuple(map(tuple, self.paths)),
            collisions(self.team, self.paths),
            self.first_plan,
            self.plans,
        )


def run_team(run: TeamRun, gone: Mapping[str, int] | None = None) -> TeamEpisode:
    """Run a team's mission to its end; `gone` says after which step each robot is lost."""
    lost = dict(gone or {})
    while not run.outcome:
        step = len(run.paths[0]) - 1
        for name in [name for name, when in lost.items() if when <= step]:
            del lost[name]
            run.lose(name)
        if not run.outcome:
            run.step()
    return run.episode


def team_of(
    names: Sequence[str],
    cells: Cells,
    building: Building | None,
    *,
    margin: float = 0.0,
    asynchronous: bool = False,
) -> Team:
    """Return a team in a world; in a building its robots keep their radii apart, and a margin."""
    if building is None:
        return Team(tuple(names), cells, asynchronous=asynchronous)
    centres: FloatArray = np.asarray(building.floor.centres)
    return Team(
        tuple(names),
        cells,
        centres,
        building.file.robot_radius,
        margin,
        asynchronous=asynchronous,
    )
