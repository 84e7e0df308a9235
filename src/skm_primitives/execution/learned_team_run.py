"""A mission of a team with learned skills, in process: each robot by its own skills, in one world.

Who does what is planned by the values of the skills (`planning.learned_teams`), again whenever the
machine moves and now and then between. Robots do not see each other. So that they keep clear, a robot
that another comes near is shown it as something that its skill avoids anyway, if there is anything that
may be touched or not as the mission stands (`TeamWorld.observe`); and of two that would come too close
within a moment the one with less right of way brakes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError, UnachievableMissionError, did_you_mean
from skm_machine.factored import FactoredMachine, in_parts
from skm_machine.mission import Mission, compile_mission
from skm_primitives.planning.learned_teams import LearnedTeamPlanner, Leg
from skm_primitives.planning.options import Options
from skm_primitives.skills.values import ContinuousGoalValues, Primitives, hold_of
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.team_world import TeamWorld

AGAIN: Final = 20
"""Decisions after which it is planned again though the machine has not moved: robots may be slower, or
nearer, than their values had it."""
NEAR: Final = 12.0
"""Radii between two centres within which robots are shown to each other."""
YIELD: Final = 2.2
"""Radii between two centres that are kept: a robot with less right of way brakes before that."""
AHEAD: Final = 10.0
"""Decisions that are looked ahead for that, as if robots kept their velocities."""


class TeamSkills(Primitives, Protocol):
    """Skills that answer for several robots at once."""

    def batch_values(
        self, observations: NDArray[Any], violated: IntArray, wanted: BoolArray | None = None
    ) -> ContinuousGoalValues:
        """Return the values of all goals, with one more axis for the robots."""
        ...

    def commands(self, actions: Float32Array) -> NDArray[Any]:
        """Return actions of `batch_values` as the world takes them."""
        ...


def learned_team_mission(
    text: str, names: Sequence[str], propositions: Sequence[str], format: str = "auto"
) -> Mission:
    """Return the mission of a team, kept in parts; it has an end, however it might be read otherwise."""
    every = (*propositions, *(f"{robot}.{name}" for robot in names for name in propositions))
    mission = compile_mission(
        text, format=format, propositions=every, horizon="finite", parts="if large"
    )
    if mission.formula is None:
        raise SkmError("a team's mission is a formula, or plain words")
    return mission if mission.in_parts else replace(mission, machine=in_parts(mission.formula))


@dataclass(frozen=True)
class LearnedTeamEpisode:
    """What happened in one run of a team."""

    outcome: str
    """`accepted`, `failed`, `impossible`, `world ended` (a robot met a wall) or `timed out`."""
    reason: str
    steps: int
    collisions: int
    """Steps at which two robots were closer than their radii."""
    closest: float
    """Metres between two centres, at least."""
    plans: int
    paths: FloatArray
    """`[step, robot, 2]`"""
    labels: tuple[frozenset[str], ...]
    """What the team showed at each step, the start first."""


class LearnedTeamRun:
    """A team in a world that was reset."""

    def __init__(
        self,
        machine: FactoredMachine,
        world: TeamWorld,
        skills: TeamSkills,
        *,
        shown: bool = True,
        yields: bool = True,
    ) -> None:
        """`shown`: whether robots see others that are near; `yields`: whether one of two brakes."""
        self.machine, self.world, self.skills = machine, world, skills
        self.parts = machine.start
        self._shown, self._yields = shown, yields
        self._planner = LearnedTeamPlanner(machine, world.names, skills)
        count = len(world.names)
        self._options = Options(skills.gamma, count, held=hold_of(skills))
        self._gone: set[str] = set()
        self._first: dict[int, str] | None = None
        """What each robot is to show next; None: that is to be planned."""
        self._age = 0
        """Decisions since it was planned."""
        self._pursued: list[tuple[str, bytes]] = [("", b"")] * count
        self._stands: BoolArray = np.ones(count, np.bool_)
        """Who brakes."""
        self._actions: FloatArray = world.brakes()
        self._paths = [world.positions]
        self._labels: list[frozenset[str]] = []
        self.outcome, self.reason, self.plans, self.collisions = "", "", 0, 0
        self.closest = self._gap()
        self._read()

    @property
    def steps(self) -> int:
        """Steps that were taken."""
        return len(self._paths) - 1

    def lose(self, name: str) -> None:
        """Take note that a robot is gone: it brakes, keeps its labels, and gets no work."""
        if name not in self.world.names:
            raise SkmError(f"there is no robot '{name}'{did_you_mean(name, self.world.names)}")
        self._gone.add(name)
        self._first = None

    def _gap(self) -> float:
        where = self.world.positions
        return min((float(np.hypot(*(a - b))) for a, b in combinations(where, 2)), default=np.inf)

    def _read(self) -> None:
        """Read what all robots show together."""
        names = self.world.names
        shown = frozenset(
            label
            for robot, labels in zip(names, self.world.labels(), strict=True)
            for name in labels
            for label in (name, f"{robot}.{name}")
        )
        self._labels.append(shown)
        after, reward = self.machine.advance(self.parts, shown)
        if reward > 0:
            self.outcome = "accepted"
        elif after is None:
            self.outcome, self.reason = "failed", "a clause was violated"
        elif after != self.parts:
            self.parts, self._first = after, None

    def run(self, max_steps: int, gone: Mapping[str, int] | None = None) -> LearnedTeamEpisode:
        """Run the mission to its end; `gone` says after which step each robot is lost."""
        lost = dict(gone or {})
        while not self.outcome:
            for name in [name for name, when in lost.items() if when <= self.steps]:
                del lost[name]
                self.lose(name)
            if self.steps >= max_steps:
                self.outcome, self.reason = "timed out", f"{max_steps} steps were taken"
            elif self._first is None or self.steps % hold_of(self.skills) == 0:
                self._decide()
            if not self.outcome:
                self._step()
        return LearnedTeamEpisode(
            self.outcome,
            self.reason,
            self.steps,
            self.collisions,
            self.closest,
            self.plans,
            np.array(self._paths),
            tuple(self._labels),
        )

    def _step(self) -> None:
        actions = np.where(self._stands[:, None], self.world.brakes(), self._actions)
        self.world.step(actions)
        self._paths.append(self.world.positions)
        gap = self._gap()
        self.closest = min(self.closest, gap)
        self.collisions += gap < 2 * self.world.radius
        self._read()
        if not self.outcome and self.world.ended.any():
            name = self.world.names[int(self.world.ended.argmax())]
            self.outcome, self.reason = "world ended", f"{name} has met a wall"

    def _decide(self) -> None:
        """Choose what each robot does until the next decision."""
        labels = self.world.labels()
        nothing = [""] * len(self.world.names)
        values = self._values(nothing)
        self._age += 1
        if self._first is None or self._age >= AGAIN:
            try:
                self._first = self._planner.plan(
                    self.parts, labels, values.value.astype(np.float64), self._gone
                )
            except UnachievableMissionError as error:
                self.outcome, self.reason = "impossible", str(error)
                return
            self.plans, self._age = self.plans + 1, 0
        gone = [self.world.names.index(name) for name in self._gone]
        legs = list(self._planner.legs(self._first, self.parts, labels, gone))
        others = [""] * len(legs)
        if self._shown:
            others = self._shown_as(legs, labels)
            if others != nothing:
                values = self._values(others)
        self._pursue(legs, values)

    def _values(self, shown_as: Sequence[str]) -> ContinuousGoalValues:
        seen = self.world.observe(shown_as)
        return self.skills.batch_values(seen, np.zeros(len(seen), np.int64))

    def _shown_as(self, legs: list[Leg], labels: Sequence[frozenset[str]]) -> list[str]:
        """Return as what each robot is shown the others, and narrow its goals to those that avoid it.

        What may be touched or not as the mission stands can be hidden: others are shown in its place.
        """
        where, radius = self.world.positions, self.world.radius
        found = [""] * len(legs)
        for robot, leg in enumerate(legs):
            gaps = np.hypot(*(np.delete(where, robot, axis=0) - where[robot]).T)
            if leg.goals is None or gaps.min(initial=np.inf) > NEAR * radius:
                continue
            allows = self._planner.allows
            free: list[bool] = np.asarray(allows[leg.goals].any(axis=0)).tolist()
            for number, name in enumerate(self.skills.constraints):
                goals = leg.goals & ~allows[:, number]
                if (
                    name != leg.target
                    and free[number]
                    and goals.any()
                    and name not in labels[robot]
                ):
                    found[robot], legs[robot] = name, replace(leg, goals=goals)
                    break
        return found

    def _pursue(self, legs: Sequence[Leg], values: ContinuousGoalValues) -> None:
        """Take the actions of the goals in pursuit."""
        mask = np.zeros((len(legs), len(self.skills.goals)), np.bool_)
        self._stands = np.ones(len(legs), np.bool_)
        changed = np.zeros(len(legs), np.bool_)
        for robot, leg in enumerate(legs):
            pursued = leg.target, b"" if leg.goals is None else leg.goals.tobytes()
            changed[robot] = pursued[0] != self._pursued[robot][0]
            self._pursued[robot] = pursued
            if leg.goals is not None and not leg.waits and leg.goals.any():
                mask[robot], self._stands[robot] = leg.goals, False
        if changed.any():
            self._options.restart(changed)
        chosen = self._options.choose(values, mask, hold=False)
        self._actions = np.asarray(self.skills.commands(chosen.action), np.float64)
        if self._yields:
            self._give_way(legs)

    def _give_way(self, legs: Sequence[Leg]) -> None:
        """Let one of two robots brake that would come too close within a moment.

        It is the one that does not stand, or has less to do, or comes later among them.
        """
        where = self.world.positions
        before = self._paths[-2] if len(self._paths) > 1 else where
        speed = (where - before) * hold_of(self.skills) * AHEAD
        for one, other in combinations(range(len(legs)), 2):
            gap, change = where[other] - where[one], speed[other] - speed[one]
            square = float(change @ change)
            share = min(1.0, max(0.0, -float(gap @ change) / square)) if square > 0 else 0.0
            nearest = float(np.hypot(*(gap + share * change)))
            closing = float(gap @ change) < 0
            if closing and nearest < YIELD * self.world.radius:
                self._stands[one if self._stands[other] else other] = True
