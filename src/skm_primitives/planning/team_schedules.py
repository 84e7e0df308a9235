"""Who of a team visits what, in which order, and who waits for whom, with no regard for collisions.

`TeamMachine` says what a mission asks of whom. `Schedules` searches routes, the places that each robot
is to visit in order, by insertion and local search; routes are carried out in time as events: robots
arrive, wait where they must, and go on. How long ways take is for subclasses to say: they are counted in
cells on a map (`teams`), or come from the values of learned skills (`learned_teams`).
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from skm_machine.factored import FactoredMachine, Parts
from skm_sim.arrays import FloatArray

SHAKES: Final = 10
"""Shakes of a schedule, for each task, that find no better one before it counts as the best."""


class TeamMachine:
    """What a mission asks of a team, worked out where it is met."""

    def __init__(self, machine: FactoredMachine, names: Sequence[str]) -> None:
        self.machine, self.names = machine, tuple(names)
        self._needs: dict[Parts, frozenset[str]] = {}
        self._steps: dict[tuple[Parts, frozenset[str]], tuple[Parts | None, float]] = {}
        self._must: dict[tuple[int, int], frozenset[str]] = {}
        self._named: dict[str, tuple[str, tuple[int, ...]]] = {}
        self._propositions = frozenset(machine.propositions)

    def advance(self, parts: Parts, labels: frozenset[str]) -> tuple[Parts | None, float]:
        """Return what a label set does to the parts."""
        # Local search asks for the same moves of the machine thousands of times.
        key = parts, labels
        if key not in self._steps:
            self._steps[key] = self.machine.advance(parts, labels)
        return self._steps[key]

    def moved_on(self, parts: Parts, labels: frozenset[str]) -> tuple[Parts | None, float]:
        """Return where labels that are shown for a further step lead, and time alone does not."""
        after, reward = self.advance(parts, labels)
        by_itself = after in (parts, self.advance(parts, frozenset())[0])
        return (None, 0.0) if by_itself and reward <= 0 else (after, reward)

    def needs(self, parts: Parts) -> frozenset[str]:
        """Return what has to show yet: what every way to success shows, else what one way does."""
        if parts not in self._needs:
            found: set[str] = set()
            for number, (part, state) in enumerate(zip(self.machine.parts, parts, strict=True)):
                if state not in part.accepting:
                    found |= self._needs_of(number, state)
            self._needs[parts] = frozenset(found)
        return self._needs[parts]

    def _needs_of(self, number: int, state: int) -> set[str]:
        part = self.machine.parts[number]
        # With alternatives (`a | b`) nothing is shown on every way: one shortest way stands for all
        # then.
        if must := self._must_of(number, state):
            return set(must)
        word = part.shortest_word(state, part.accepting.__contains__)
        return {name for labels in word or () for name in labels}

    def _must_of(self, number: int, state: int) -> frozenset[str]:
        """Return what every way to the success of a part shows."""
        if (number, state) not in self._must:
            names = self.machine.parts[number].table.propositions
            found = (name for name in names if self._blocked(number, state, name))
            self._must[number, state] = frozenset(found)
        return self._must[number, state]

    def _blocked(self, number: int, state: int, name: str) -> bool:
        """Tell whether a part cannot be done if a proposition never shows."""
        part = self.machine.parts[number]
        # Without that proposition, is an accepting state still in reach? If not, it must show.
        table = part.table.given({name: False})
        seen, stack = {state}, [state]
        while stack:
            for outcome in table.outcomes(stack.pop()):
                target = part.after(outcome)
                if target in part.accepting:
                    return False
                if target is not None and target not in seen:
                    seen.add(target)
                    stack.append(target)
        return True

    def place(self, name: str) -> tuple[str, tuple[int, ...]]:
        """Return the place that a proposition names, and the robots that can show it."""
        if name not in self._named:
            robot, _, place = name.rpartition(".")
            own = (place, (self.names.index(robot),)) if robot in self.names else None
            self._named[name] = own or (name, tuple(range(len(self.names))))
        return self._named[name]

    def shown_by(self, robot: int, labels: Iterable[str]) -> frozenset[str]:
        """Return what the mission reads where a robot shows labels."""
        own = f"{self.names[robot]}."
        return self._propositions.intersection([n for name in labels for n in (name, own + name)])

    def is_harmless(self, parts: Parts, labels: frozenset[str]) -> bool:
        """Tell whether a label set neither loses the mission nor makes new work."""
        after, _ = self.advance(parts, labels)
        return after is not None and not any(
            before in part.accepting and now not in part.accepting
            for part, before, now in zip(self.machine.parts, parts, after, strict=True)
        )

    def must(self, parts: Parts) -> set[str]:
        """Return what every way to success shows."""
        return {
            name
            for number, (part, state) in enumerate(zip(self.machine.parts, parts, strict=True))
            if state not in part.accepting
            for name in self._must_of(number, state)
        }


# Schedules: who visits what, in which order, with no regard for collisions.


Route = tuple[tuple[str, ...], ...]
"""For each robot the places that it is to visit, in order."""


@dataclass(frozen=True)
class Event:
    """A robot's arrival that counts, or its wait for others at a place."""

    robot: int
    name: str
    time: float
    holds: bool
    """Whether the machine did not move: the robot waits there for what others do."""


@dataclass(frozen=True)
class Score:
    """How good routes are: steps, or what is missing."""

    cost: float
    steps: float
    events: tuple[Event, ...]


class Schedules(ABC):
    """The search for routes."""

    def __init__(
        self,
        asks: TeamMachine,
        parts: Parts,
        robots: Sequence[int],
        standing: Sequence[frozenset[str]],
    ) -> None:
        """Take the state of the machine, the robots that work, and what each shows where it stands."""
        self.asks, self.parts = asks, parts
        self.robots, self.standing = list(robots), standing
        self._rng = np.random.default_rng(0)
        self._changes = self._moved, self._swapped, self._turned
        self._scores: dict[Route, Score] = {}

    @abstractmethod
    def way_to(self, robot: int, before: str | None, ready: FloatArray, place: str) -> FloatArray:
        """Return when a robot can be in each cell of a place, from where it is, or from its start.

        `ready`: when it is ready in each cell of the place in which it is.
        """

    @abstractmethod
    def labels(self, robot: int, place: str) -> frozenset[str]:
        """Return what the mission reads where a robot is in a place."""

    def search(self, until: float) -> list[tuple[Route, Score]]:
        """Return routes that work without regard for collisions, best first."""
        tasks = self._tasks()
        route = self._inserted(tasks)
        route = self._local_optimum(route, until)
        best, in_vain = route, 0
        patience = SHAKES * (1 + len(tasks))
        while time.thread_time() < until and in_vain < patience:
            shaken = self._shaken(best)
            found = self._local_optimum(shaken, until)
            in_vain = 0 if self.score(found).cost < self.score(best).cost - 1e-9 else in_vain + 1
            if self.score(found).cost <= self.score(best).cost:
                best = found
        working = [(r, s) for r, s in self._scores.items() if math.isfinite(s.steps)]
        return sorted(working, key=lambda item: item[1].cost)

    def _tasks(self) -> list[str]:
        """Return what is to be visited, also what becomes due by that."""
        found = dict.fromkeys(sorted(self.asks.needs(self.parts)))
        for part, state in zip(self.asks.machine.parts, self.parts, strict=True):
            word = part.shortest_word(state, part.accepting.__contains__) or []
            if state not in part.accepting and not found.keys() & set(part.table.propositions):
                found |= dict.fromkeys(name for labels in word for name in sorted(labels))
        return list(found)

    def _able(self, name: str) -> list[int]:
        _, robots = self.asks.place(name)
        return [r for r in robots if r in self.robots]

    def _inserted(self, tasks: Sequence[str]) -> Route:
        """Return routes made by putting one task after the other where it costs least."""
        route: Route = tuple(() for _ in self.asks.names)
        for name in tasks:
            options = [
                _with(route, r, i, name) for r in self._able(name) for i in range(len(route[r]) + 1)
            ]
            route = min(options, key=lambda r: self.score(r).cost, default=route)
        return route

    def _local_optimum(self, route: Route, until: float) -> Route:
        """Return routes that no single change makes better, as far as the time allows."""
        cost = self.score(route).cost
        improved = True
        while improved:
            improved = False
            # In random order, or the first kind of change would decide which local optimum is
            # found.
            for change in self._rng.permutation(3).tolist():
                for changed in self._changes[change](route):
                    if time.thread_time() > until:
                        return route
                    # Scores are kept, so a schedule that comes up again costs nothing.
                    found = self.score(changed).cost
                    if found < cost - 1e-9:
                        route, cost, improved = changed, found, True
                        break
        return route

    def _shuffled(self, route: Route) -> list[tuple[int, int]]:
        """Return where tasks stand in the routes, in any order: no robot is favoured."""
        places = [(r, i) for r in self.robots for i in range(len(route[r]))]
        return [places[i] for i in self._rng.permutation(len(places)).tolist()]

    def _moved(self, route: Route) -> Iterator[Route]:
        """Yield routes with one task moved."""
        for robot, index in self._shuffled(route):
            name = route[robot][index]
            without = _without(route, robot, index)
            for other in self._able(name):
                for place in range(len(without[other]) + 1):
                    if (other, place) != (robot, index):
                        yield _with(without, other, place, name)

    def _swapped(self, route: Route) -> Iterator[Route]:
        """Yield routes with two tasks of two robots swapped."""
        for (a, i), (b, j) in combinations(self._shuffled(route), 2):
            if a != b and b in self._able(route[a][i]) and a in self._able(route[b][j]):
                changed = [list(row) for row in route]
                changed[a][i], changed[b][j] = route[b][j], route[a][i]
                yield tuple(map(tuple, changed))

    def _turned(self, route: Route) -> Iterator[Route]:
        """Yield routes with a part of one turned round."""
        for robot in self.robots:
            row = route[robot]
            for first in range(len(row)):
                for last in range(first + 2, len(row) + 1):
                    turned = row[:first] + row[first:last][::-1] + row[last:]
                    yield (*route[:robot], turned, *route[robot + 1 :])

    def _shaken(self, route: Route) -> Route:
        """Return routes with a few tasks moved at random."""
        rng = self._rng
        for _ in range(3):
            places = [(r, i) for r in self.robots for i in range(len(route[r]))]
            if not places:
                break
            robot, index = places[int(rng.integers(len(places)))]
            name = route[robot][index]
            route = _without(route, robot, index)
            other = int(rng.choice(self._able(name)))
            route = _with(route, other, int(rng.integers(len(route[other]) + 1)), name)
        return route

    def score(self, route: Route) -> Score:
        """Return how long routes take, by events in the order of time."""
        if route not in self._scores:
            self._scores[route] = _Schedule(self, route).score()
        return self._scores[route]


class _Schedule:
    """Routes carried out in time: robots arrive, wait where they must, and go on."""

    def __init__(self, schedules: Schedules, route: Route) -> None:
        self.schedules, self.asks, self.route = schedules, schedules.asks, route
        self.parts, self.now, self.total = schedules.parts, 0.0, 0.0
        self.at: list[str | None] = [None] * len(route)
        self.ready: list[FloatArray] = [np.zeros(1) for _ in route]
        self.index = [0] * len(route)
        self.holding: dict[int, str] = {}
        """Robots that wait in a place for what others do, and for what they are there."""
        self.blocked: set[int] = set()
        """Robots that must not enter their next place before the machine has moved."""
        self.events: list[Event] = []
        self.shown: list[frozenset[str]] = [
            frozenset() if r in schedules.robots else schedules.standing[r]
            for r in range(len(route))
        ]

    def score(self) -> Score:
        """Return when the mission is done, or what is missing when no robot can go on."""
        while (arrival := self._next_arrival()) is not None:
            if self._arrive(*arrival):
                # Among schedules of equal length, the one with earlier arrivals: it leaves more
                # room for detours around others.
                cost = self.now + 1e-3 * self.total
                return Score(cost, self.now, tuple(self.events))
        pairs = zip(self.asks.machine.parts, self.parts, strict=True)
        owed = sum(state not in part.accepting for part, state in pairs)
        return Score(1e6 + 1e4 * owed + self.now + 1e-3 * self.total, math.inf, ())

    def _next_arrival(self) -> tuple[float, int, str, FloatArray] | None:
        """Return who arrives next: when, for what, and when in each cell of the place."""
        needed = self.asks.needs(self.parts)
        best: tuple[float, int, str, FloatArray] | None = None
        for r in self.schedules.robots:
            if r in self.holding or r in self.blocked:
                continue
            # Another robot may have shown it in the meantime, or the machine may not ask for it any
            # more.
            while self.index[r] < len(self.route[r]) and self.route[r][self.index[r]] not in needed:
                self.index[r] += 1
            if self.index[r] == len(self.route[r]):
                continue
            name = self.route[r][self.index[r]]
            place, _ = self.asks.place(name)
            reach = self.schedules.way_to(r, self.at[r], self.ready[r], place)
            when = float(reach.min(initial=math.inf))
            if math.isfinite(when) and (best is None or when < best[0]):
                best = when, r, name, reach
        return best

    def _arrive(self, when: float, robot: int, name: str, reach: FloatArray) -> bool:
        """Let a robot arrive; tell whether the mission is done."""
        asks, now = self.asks, max(self.now, when)
        place, _ = asks.place(name)
        labels = self.schedules.labels(robot, place)
        others = (shown for r, shown in enumerate(self.shown) if r != robot)
        after, reward = asks.advance(self.parts, labels.union(*others))
        if after is None:
            # Entering now would lose the mission; after the next move of the machine it may be
            # right.
            self.blocked.add(robot)
            return False
        self.now = now
        self.at[robot], self.ready[robot] = place, np.maximum(reach, now)
        self.shown[robot] = labels
        self.total += now
        holds = after == self.parts and reward <= 0
        self.events.append(Event(robot, name, now, holds))
        if reward > 0:
            return True
        if holds:
            self.holding[robot] = name
            return False
        self.blocked.clear()
        if name in asks.needs(after):
            self.holding[robot] = name  # it has to show once more, or with others
        else:
            self.index[robot] += 1
        return self._moved(after)

    def _moved(self, parts: Parts) -> bool:
        """Take a move of the machine; who waits or is gone shows the same in the next step, too."""
        asks = self.asks
        while True:
            self.parts = parts
            for r in [r for r, n in self.holding.items() if n not in asks.needs(parts)]:
                self.index[r] += 1
                self.ready[r] = np.maximum(self.ready[r], self.now)
                del self.holding[r]
            self.shown = [
                labels if r in self.holding or r not in self.schedules.robots else frozenset()
                for r, labels in enumerate(self.shown)
            ]
            after, reward = asks.moved_on(parts, frozenset().union(*self.shown))
            if reward > 0:
                self.now += 1
                return True
            if after is None:
                return False
            self.now += 1
            parts = after


def _with(route: Route, robot: int, index: int, name: str) -> Route:
    row = (*route[robot][:index], name, *route[robot][index:])
    return (*route[:robot], row, *route[robot + 1 :])


def _without(route: Route, robot: int, index: int) -> Route:
    row = route[robot][:index] + route[robot][index + 1 :]
    return (*route[:robot], row, *route[robot + 1 :])
