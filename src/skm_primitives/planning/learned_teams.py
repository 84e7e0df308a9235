"""Planning for a team of robots with learned skills: who goes where next, by the values of the skills.

Robots are assigned and put in order as on a map (`team_schedules`). How long ways take is said by the
skills: from where a robot is by its own values, γ to the number of decisions that a goal is away, with
what it must not touch on the way; behind the next place by the mean values from goal to goal. That is
known on average only, so the plan is made again whenever the machine moves, and only the first leg of
each robot counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.factored import FactoredMachine, Parts
from skm_primitives.planning.team_schedules import Schedules, TeamMachine
from skm_primitives.skills.values import GoalToGoal, Skills
from skm_sim.arrays import BoolArray, FloatArray

PLAN_SECONDS: Final = 0.3
"""CPU seconds for a plan: there are few places, and it is made again soon."""
LEAST_VALUE: Final = 1e-12
"""What is worth less is taken to be out of reach."""


@dataclass(frozen=True)
class Leg:
    """What a robot does next."""

    target: str = ""
    """The proposition that it goes to show; empty: nothing is left for it to do."""
    waits: bool = False
    """Whether it must not show that yet: it stands until others have moved the machine."""
    goals: BoolArray | None = None
    """`[goal]`: the goals that will do, by what they allow on the way."""


class LearnedTeamPlanner:
    """Plans one mission with an end for a team whose robots have the same learned skills."""

    def __init__(self, machine: FactoredMachine, names: Sequence[str], skills: Skills) -> None:
        if machine.endless:
            raise SkmError("a team's mission has an end: read it as one (horizon finite)")
        behind = skills.world_model
        if not isinstance(behind, GoalToGoal) or any(
            goal.place is not None for goal in skills.goals
        ):
            raise SkmError(
                f"teams of learned skills need goals that are label sets: {skills.domain}"
            )
        self.asks = TeamMachine(machine, names)
        self.names, self.skills = tuple(names), skills
        shown = [goal.labels for goal in skills.goals]
        self.shows: dict[str, BoolArray] = {
            name: np.array([labels == {name} for labels in shown]) for name in skills.propositions
        }
        """The goals that show a proposition, and nothing else."""
        constraints = skills.constraints
        self.allows: BoolArray = np.array(
            [[name in goal.violated for name in constraints] for goal in skills.goals]
        )
        """`[goal, constraint]`: what may be touched on the way."""
        values = behind.table
        self._between = {
            (before, after): self.decisions(
                float(values[np.ix_(self.shows[before], self.shows[after])].max(axis=1).mean())
            )
            for before in skills.propositions
            for after in skills.propositions
            if self.shows[before].any() and self.shows[after].any()
        }

    def decisions(self, value: float) -> float:
        """Return how many decisions a goal is away by its value; infinite: it is out of reach."""
        if value < LEAST_VALUE:
            return math.inf
        return max(0.0, math.log(value) / math.log(self.skills.gamma))

    def between(self, before: str, after: str) -> float:
        """Return how many decisions a place is away from another, on average."""
        return 0.0 if before == after else self._between.get((before, after), math.inf)

    def suitable(self, robot: int, target: str, parts: Parts, others: frozenset[str]) -> BoolArray:
        """Return the goals for a leg: those that allow only what does no harm, as the others stand."""
        fine = [
            name == target
            or self.asks.is_harmless(parts, others | self.asks.shown_by(robot, [name]))
            for name in self.skills.constraints
        ]
        goals: BoolArray = self.shows[target] & ~(self.allows & ~np.array(fine)).any(axis=1)
        return goals

    def plan(
        self,
        parts: Parts,
        labels: Sequence[frozenset[str]],
        values: FloatArray,
        gone: Collection[str] = (),
    ) -> dict[int, str]:
        """Return what each robot that has work is to show next, in the order of time.

        `labels`: what each shows where it is; `values[robot, goal]`: those of its skills there.
        """
        standing = self.standing(labels)
        robots = [r for r, name in enumerate(self.names) if name not in gone]
        self._check(parts, robots, labels)
        schedules = _LearnedSchedules(self, parts, robots, standing, values)
        found = schedules.search(time.thread_time() + PLAN_SECONDS)
        if not found:
            raise UnachievableMissionError(
                "no plan was found for the team, which does not prove that there is none"
            )
        first: dict[int, str] = {}
        for event in found[0][1].events:
            first.setdefault(event.robot, event.name)
        return first

    def standing(self, labels: Sequence[frozenset[str]]) -> list[frozenset[str]]:
        """Return what the mission reads of each robot where it is."""
        return [self.asks.shown_by(robot, shown) for robot, shown in enumerate(labels)]

    def legs(
        self,
        first: Mapping[int, str],
        parts: Parts,
        labels: Sequence[frozenset[str]],
        gone: Collection[int] = (),
    ) -> tuple[Leg, ...]:
        """Return what robots do by what each has to show next, the most urgent first.

        A robot heeds what the others show now, and what those before it are about to show. One that has
        no work, and stands where another must not find it, steps aside.
        """
        standing = self.standing(labels)
        legs = [Leg() for _ in self.names]
        shown = list(standing)
        for robot, name in first.items():
            place, _ = self.asks.place(name)
            others = frozenset[str]().union(*(s for r, s in enumerate(shown) if r != robot))
            arriving = self.asks.shown_by(robot, [place])
            now = frozenset[str]().union(*(s for r, s in enumerate(standing) if r != robot))
            fine = all(
                self.asks.advance(parts, arriving | some)[0] is not None for some in (now, others)
            )
            goals = self.suitable(robot, place, parts, others)
            legs[robot] = Leg(place, not fine, goals)
            if fine:
                shown[robot] = shown[robot] | arriving
        for robot in range(len(legs)):
            if (
                robot not in first
                and robot not in gone
                and self._blocks(robot, legs, parts, standing)
            ):
                legs[robot] = Leg("", goals=self._aside(robot, parts, standing))
        return tuple(legs)

    def _blocks(
        self, robot: int, legs: Sequence[Leg], parts: Parts, standing: Sequence[frozenset[str]]
    ) -> bool:
        """Tell whether a robot waits for this one, which has no work, to be elsewhere."""
        for other, leg in enumerate(legs):
            if leg.waits and standing[robot]:
                rest = [s for r, s in enumerate(standing) if r not in (robot, other)]
                arriving = self.asks.shown_by(other, [leg.target]).union(*rest)
                if self.asks.advance(parts, arriving)[0] is not None:
                    return True
        return False

    def _aside(self, robot: int, parts: Parts, standing: Sequence[frozenset[str]]) -> BoolArray:
        """Return the goals that lead out of where a robot is, and do no harm."""
        others = frozenset[str]().union(*(s for r, s in enumerate(standing) if r != robot))
        found: BoolArray = np.zeros(len(self.skills.goals), np.bool_)
        for name in self.skills.propositions:
            arriving = self.asks.shown_by(robot, [name])
            if arriving != standing[robot] and self.asks.is_harmless(parts, others | arriving):
                found |= self.suitable(robot, name, parts, others)
        return found

    def _check(self, parts: Parts, robots: Sequence[int], labels: Sequence[frozenset[str]]) -> None:
        """Refuse what provably cannot be done: what only robots can show that are gone."""
        for name in sorted(self.asks.must(parts)):
            place, able = self.asks.place(name)
            if place in self.shows and any(r in robots for r in able):
                continue
            if not any(place in labels[r] for r in able):
                lost = " and ".join(self.names[r] for r in able)
                raise UnachievableMissionError(
                    f"'{name}' cannot be achieved any more: {lost} is gone"
                )


class _LearnedSchedules(Schedules):
    """Routes by the values of skills: a place is one cell."""

    def __init__(
        self,
        planner: LearnedTeamPlanner,
        parts: Parts,
        robots: Sequence[int],
        standing: Sequence[frozenset[str]],
        values: FloatArray,
    ) -> None:
        super().__init__(planner.asks, parts, robots, standing)
        self._planner, self._values = planner, values
        self._first: dict[tuple[int, str], FloatArray] = {}

    def way_to(self, robot: int, before: str | None, ready: FloatArray, place: str) -> FloatArray:
        """Return when a robot can be in a place, from where it is, or from its start."""
        if before is not None:
            return ready + self._planner.between(before, place) + (before == place)
        if (robot, place) not in self._first:
            others = frozenset[str]().union(
                *(shown for r, shown in enumerate(self.standing) if r != robot)
            )
            goals = self._planner.suitable(robot, place, self.parts, others)
            value = float(self._values[robot][goals].max(initial=0.0))
            self._first[robot, place] = np.array([1.0 + self._planner.decisions(value)])
        return self._first[robot, place]

    def labels(self, robot: int, place: str) -> frozenset[str]:
        """Return what the mission reads where a robot is in a place."""
        return self.asks.shown_by(robot, [place])
