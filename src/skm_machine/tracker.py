"""The mission tracker: where the mission stands, from the labels of the states that the robot enters.

One small object that simulators, nodes and monitors share (the bookkeeping of Algorithm 3).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Final, TypeAlias

from skm_machine.recent_transitions import RecentTransitions, Transition
from skm_machine.reward_machine import Outcome, RewardMachine

KEPT_TRANSITIONS: Final = 10_000
"""How many transitions a tracker remembers: missions without end run for days."""


class Status(Enum):
    """How a mission stands."""

    RUNNING = "running"
    ACCEPTED = "accepted"
    FAILED = "failed"


Prefer: TypeAlias = Callable[[int, tuple[Outcome, ...]], Outcome]
"""From a machine state and what a step may do there, to what it does: see `RewardMachine.options`."""


def eager(machine: RewardMachine, state: int, options: tuple[Outcome, ...]) -> Outcome:
    """Return what a step does if promises are made as soon as they can be, and kept."""
    return options[0] if state in machine.promised else options[min(1, len(options) - 1)]


class MissionTracker:
    """Tracks the machine state u, the violated constraints c, and the outcome of one mission."""

    def __init__(self, machine: RewardMachine, constraints: Collection[str]) -> None:
        self.machine = machine
        self.constraints = frozenset(constraints)
        self.start(frozenset())

    def start(self, labels: Collection[str]) -> None:
        """Begin in the initial machine state; the first labels move nothing (Algorithm 3)."""
        self.labels = frozenset(labels)
        self.state = self.machine.initial
        self.violated: frozenset[str] = frozenset()
        self.status = Status.RUNNING if self.machine.satisfiable else Status.FAILED
        self.steps = 0
        self.total_reward = 0.0
        self.accepting_visits = 0
        self._recent = RecentTransitions(KEPT_TRANSITIONS)

    @property
    def moves(self) -> int:
        """How many transitions there have been."""
        return self._recent.count

    @property
    def transitions(self) -> list[Transition]:
        """The last `KEPT_TRANSITIONS` of the transitions, in order; `moves` counts them all."""
        return list(self._recent)

    @property
    def latest(self) -> Transition | None:
        """The last transition; None if there was none."""
        return self._recent.latest

    def update(self, labels: Collection[str], prefer: Prefer | None = None) -> float:
        """Take the labels of the state that was entered; return the reward δ_r.

        Where a promise may be made, `prefer` chooses; if there is nobody to ask, it is made.

        c ← c ∪ ((l̂ ⊕ l̂') ∩ C), emptied when the machine moves on to another state or another round.
        """
        if self.status is not Status.RUNNING:
            raise RuntimeError(f"the mission has already {self.status.value}: start it again")
        entered = frozenset(labels)
        target, reward = self._outcome(entered, prefer)
        self.steps += 1
        self.total_reward += reward
        self.accepting_visits += reward > 0
        if target != self.state or reward > 0:
            self._recent.add(self.steps, self.state, target, entered, reward)
            self.violated = frozenset()
        elif entered is not self.labels:
            self.violated |= (self.labels ^ entered) & self.constraints
        self.labels = entered
        self.state = target
        if target in self.machine.failure:
            self.status = Status.FAILED
        elif target in self.machine.terminal:
            self.status = Status.ACCEPTED if reward > 0 else Status.FAILED
        return reward

    def _outcome(self, entered: frozenset[str], prefer: Prefer | None) -> Outcome:
        machine = self.machine
        if not machine.jumps:
            return machine.step(self.state, entered)
        options = machine.options(self.state, entered)
        if len(options) > 1 and prefer is not None:
            return prefer(self.state, options)
        return eager(machine, self.state, options)
