"""The mission tracker: where the mission stands, from the labels of the states that the robot enters.

One small object that simulators, nodes and monitors share (the bookkeeping of Algorithm 3).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from skm_machine.automata.timed import ClockTable
from skm_machine.clocks import Clocks
from skm_machine.logic.formula import Formula, evaluate
from skm_machine.recurrence import sort_clauses
from skm_machine.reward_machine import Outcome, RewardMachine

# The last transitions of a mission, packed: of days of a patrol no more is kept than of an hour.


FIELDS: Final = 5


@dataclass(frozen=True, slots=True)
class Transition:
    """A machine transition that has happened: at which step, between which states, on which labels."""

    step: int
    """After how many steps it happened."""
    source: int
    """The state before it."""
    target: int
    """The state after it."""
    labels: frozenset[str]
    """What was true."""
    reward: float
    """What it earned."""


class RecentTransitions:
    """Keeps at most so many, 40 bytes each; the oldest go first."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self.count = 0
        """How many there have been."""
        self.forgotten = 0
        """How many of the first are not here."""
        self._numbers = array("d")
        """Step, source, target, labels and reward of each; a ring once it is full."""
        self._label_numbers: dict[frozenset[str], int] = {}
        self._label_sets: list[frozenset[str]] = []

    def add(
        self, step: int, source: int, target: int, labels: frozenset[str], reward: float
    ) -> None:
        """Take a transition."""
        number = self._label_numbers.setdefault(labels, len(self._label_sets))
        if number == len(self._label_sets):
            self._label_sets.append(labels)
        row = array("d", (step, source, target, number, reward))
        place = FIELDS * ((self.count - self.forgotten) % self._kept)
        self._numbers[place : place + FIELDS] = row
        self.count += 1

    @property
    def latest(self) -> Transition | None:
        """The last one; None if there was none."""
        return self._read(self.count - 1) if len(self) else None

    def __len__(self) -> int:
        return min(self.count - self.forgotten, self._kept)

    def __iter__(self) -> Iterator[Transition]:
        """Yield those that are kept, in order."""
        return map(self._read, range(self.count - len(self), self.count))

    def last(self, count: int) -> list[Transition]:
        """Return the last so many, in order; fewer, if they are not kept any more."""
        first = self.count - min(count, len(self))
        return [self._read(number) for number in range(first, self.count)]

    def _read(self, number: int) -> Transition:
        place = FIELDS * ((number - self.forgotten) % self._kept)
        step, source, target, labels, reward = self._numbers[place : place + FIELDS]
        return Transition(
            int(step), int(source), int(target), self._label_sets[int(labels)], reward
        )


# Visits of acceptance: how often a run passes the recurrences of a recurring mission, one after
# another.
#
# A machine's *round* is complete when every p of a `G F p` was seen, in any order, and what stays
# true counts for the next round at once. A Büchi automaton of the same formula waits for the
# recurrences in turn, in the order in which they are written, and its acceptance is visited once
# in each turn. The two agree on whether a run goes on forever, not on how often: a robot that
# goes to and fro between a and b completes a round of `G F a & G F b` each way, and visits
# acceptance with each return. Other systems report visits; this counts them.


class BuchiVisits:
    """Takes the labels of every step; `count` is how often acceptance was visited."""

    def __init__(self, formula: Formula) -> None:
        self.recurrences = sort_clauses(formula).recurrences
        """What is waited for in turn; empty where the formula has no recurrence."""
        self.count = 0
        self._next = 0

    def step(self, labels: Collection[str]) -> None:
        """Take the labels of a step; acceptance is visited once at most."""
        shown = frozenset(labels)
        while self.recurrences and evaluate(self.recurrences[self._next], shown):
            self._next += 1
            if self._next == len(self.recurrences):
                self.count += 1
                self._next = 0
                return


Stand: TypeAlias = dict[str, Any]
"""How a mission stands: see `MissionTracker.stand`."""
STOOD_TRANSITIONS: Final = 200
"""How many of the last transitions are among that."""
KEPT_TRANSITIONS: Final = 10_000
"""How many transitions a tracker remembers: missions without end run for days."""


class Status(Enum):
    """How a mission stands."""

    RUNNING = "running"
    """Neither accepted nor failed yet."""
    ACCEPTED = "accepted"
    """The mission has succeeded."""
    FAILED = "failed"
    """The mission can no longer succeed."""


Prefer: TypeAlias = Callable[[int, tuple[Outcome, ...]], Outcome]
"""From a machine state and what a step may do there, to what it does: see `RewardMachine.options`."""


def eager(machine: RewardMachine, state: int, options: tuple[Outcome, ...]) -> Outcome:
    """Return what a step does if commitments are made as soon as they can be, and kept."""
    return options[0] if state in machine.committed else options[min(1, len(options) - 1)]


class MissionTracker:
    """Tracks the machine state u, the violated constraints c, and the outcome of one mission.

    A mission with bounds in seconds also has `clocks`: then every state comes with its time, and
    `advance` says how late it is while no state is entered.
    """

    def __init__(
        self,
        machine: RewardMachine,
        constraints: Collection[str],
        clocks: ClockTable | None = None,
    ) -> None:
        self.machine = machine
        """The reward machine whose states are followed."""
        self.constraints = frozenset(constraints)
        """The propositions whose violation is remembered."""
        self._clock_table = clocks
        self.start(frozenset())

    def start(self, labels: Collection[str], time: int = 0) -> None:
        """Begin in the initial machine state; the first labels move nothing (Algorithm 3).

        `time` is when, in nanoseconds: only differences count.
        """
        self.labels = frozenset(labels)
        self.state = self.machine.initial
        self.violated: frozenset[str] = frozenset()
        self.status = Status.RUNNING if self.machine.satisfiable else Status.FAILED
        self.steps = 0
        self.total_reward = 0.0
        self.accepting_visits = 0
        self._recent = RecentTransitions(KEPT_TRANSITIONS)
        self.began = self.time = time
        self.clocks = None if self._clock_table is None else Clocks(self._clock_table, time)

    @property
    def stand(self) -> Stand:
        """How the mission stands, as plain data: what another tracker of it goes on from."""
        parts = getattr(self.machine, "parts_of", None)
        open_ = self.status is Status.RUNNING
        return {
            "state": self.state,
            "parts": None if parts is None or not open_ else list(parts(self.state)),
            "status": self.status.value,
            "labels": sorted(self.labels),
            "violated": sorted(self.violated),
            "steps": self.steps,
            "total_reward": self.total_reward,
            "accepting_visits": self.accepting_visits,
            "began": self.began,
            "time": self.time,
            "clocks": None if self.clocks is None else self.clocks.stand,
            "moves": self.moves,
            "transitions": [
                [move.step, move.source, move.target, sorted(move.labels), move.reward]
                for move in self._recent.last(STOOD_TRANSITIONS)
            ],
        }

    def restore(self, stand: Stand) -> None:
        """Go on from where another tracker of the same mission stood."""
        self.state = int(stand["state"])
        if stand["parts"] is not None:
            self.state = self.machine.number(tuple(stand["parts"]))  # type: ignore[attr-defined]
        self.status = Status(stand["status"])
        self.labels, self.violated = frozenset(stand["labels"]), frozenset(stand["violated"])
        self.steps, self.total_reward = int(stand["steps"]), float(stand["total_reward"])
        self.accepting_visits = int(stand["accepting_visits"])
        self.began, self.time = int(stand["began"]), int(stand["time"])
        if self._clock_table is not None:
            state, started = stand["clocks"]
            self.clocks = Clocks.at(self._clock_table, (state, tuple(map(tuple, started))))
        self._recent = RecentTransitions(KEPT_TRANSITIONS)
        self._recent.count = int(stand["moves"]) - len(stand["transitions"])
        self._recent.forgotten = self._recent.count
        for step, source, target, labels, reward in stand["transitions"]:
            self._recent.add(step, source, target, frozenset(labels), reward)

    def shift(self, nanoseconds: int) -> None:
        """Go by a clock that was set: all times so far are by so much later."""
        self.began, self.time = self.began + nanoseconds, self.time + nanoseconds
        if self.clocks is not None and self._clock_table is not None:
            state, started = self.clocks.stand
            later = tuple(tuple(time + nanoseconds for time in times) for times in started)
            self.clocks = Clocks.at(self._clock_table, (state, later))

    @property
    def moves(self) -> int:
        """How many transitions there have been."""
        return self._recent.count

    @property
    def transitions(self) -> list[Transition]:
        """The last `KEPT_TRANSITIONS` of the transitions, in order; `moves` counts them all."""
        return list(self._recent)

    def transitions_since(self, moves: int) -> list[Transition]:
        """Return the transitions after so many, as far as they are remembered."""
        return self._recent.last(self.moves - moves)

    @property
    def latest(self) -> Transition | None:
        """The last transition; None if there was none."""
        return self._recent.latest

    def update(
        self, labels: Collection[str], prefer: Prefer | None = None, time: int | None = None
    ) -> float:
        """Take the labels of the state that was entered, and when it was; return the reward δ_r.

        Where a commitment may be made, `prefer` chooses; without `prefer`, it is made. What the
        clock decided before the state was entered counts first: if that was the end of the mission, the
        state changes nothing any more.

        c ← c ∪ ((l̂ ⊕ l̂') ∩ C), emptied when the machine moves on to another state or another round.
        """
        if self.status is not Status.RUNNING:
            raise RuntimeError(f"the mission has already {self.status.value}: start it again")
        before = self.total_reward
        entered = frozenset(labels)
        if self.clocks is not None:
            if time is None:
                raise ValueError("a mission with bounds in seconds needs the time of every state")
            self._tick_until(time, prefer, entering=True)
        self.steps += 1
        if self.status is Status.RUNNING:
            self._step(entered, prefer)
        self.labels = entered
        return self.total_reward - before

    def advance(self, time: int, prefer: Prefer | None = None) -> bool:
        """Take note of the time while no state is entered; tell whether the machine moved."""
        before = self.moves
        if self.clocks is not None and self.status is Status.RUNNING:
            self._tick_until(time, prefer)
        return self.moves > before

    def _tick_until(self, time: int, prefer: Prefer | None, *, entering: bool = False) -> None:
        """Step the machine for every window that has opened or closed by `time`, in turn.

        `entering`: a state is entered at that time; windows that open just then open for it.
        """
        assert self.clocks is not None
        while self.status is Status.RUNNING and (due := self.clocks.due(time, entering=entering)):
            self.time = due.time
            self._step(self.labels | {due.tick.name}, prefer)
        self.time = max(self.time, time)
        while entering and self.status is Status.RUNNING and (tick := self.clocks.opening(time)):
            self._step(self.labels | {tick.name}, prefer)

    def _step(self, read: frozenset[str], prefer: Prefer | None) -> None:
        """Step the machine, and the clocks."""
        target, reward = self._outcome(read, prefer)
        self.total_reward += reward
        self.accepting_visits += reward > 0
        if target != self.state or reward > 0:
            self._recent.add(self.steps, self.state, target, read, reward)
            self.violated = frozenset()
        elif read is not self.labels:
            self.violated |= (self.labels ^ read) & self.constraints
        self.state = target
        if self.clocks is not None:
            self.clocks.step(read, self.time)
            if reward > 0 and self._clock_table is not None and self._clock_table.repeats:
                self.clocks = Clocks(self._clock_table, self.time)
        if target in self.machine.failure:
            self.status = Status.FAILED
        elif target in self.machine.terminal:
            self.status = Status.ACCEPTED if reward > 0 else Status.FAILED

    def _outcome(self, entered: frozenset[str], prefer: Prefer | None) -> Outcome:
        machine = self.machine
        if not machine.epsilon_transitions:
            return machine.step(self.state, entered)
        options = machine.options(self.state, entered)
        if len(options) > 1 and prefer is not None:
            return prefer(self.state, options)
        return eager(machine, self.state, options)
