"""Runtime monitor: judges labels as they come as satisfied, violated, or still possible."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from skm_machine.analysis import Trace, shortest_trace
from skm_machine.factored import FactoredMachine
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.tracker import MissionTracker, Status


class Verdict(Enum):
    """What the labels so far come to."""

    POSSIBLE = "possible"
    SATISFIED = "satisfied"
    VIOLATED = "violated"


def is_fatal(machine: RewardMachine, outcome: Outcome) -> bool:
    """Tell whether a mission has failed after a step with this outcome."""
    unrewarded = outcome.target in machine.terminal and outcome.reward <= 0
    return unrewarded or outcome.target in machine.failure


class Monitor:
    """Follows a mission through the labels of the states that are entered.

    The labels of the first state move nothing, as with a mission under way. A mission with an end is
    judged until it is satisfied or violated; a recurring mission goes on, and its rounds are counted.
    """

    def __init__(self, mission: Mission) -> None:
        self.mission = mission
        self._tracker = MissionTracker(mission.machine, (), mission.clocks)
        self._ways: dict[tuple[int, bool], Trace | None] = {}

    def begin(self, labels: Collection[str], time: int = 0) -> None:
        """Begin, or begin anew, in a state with these labels; `time` is when, in nanoseconds."""
        self._tracker.start(labels, time)

    def advance(self, time: int) -> bool:
        """Take note of the time while the state lasts; tell whether that moved the machine."""
        return self._tracker.advance(time)

    def enter(self, labels: Collection[str], time: int | None = None) -> bool:
        """Take the labels of the next state; tell whether they moved the machine.

        A mission with bounds in seconds needs the time at which it was entered.
        """
        tracker = self._tracker
        if tracker.status is not Status.RUNNING:
            return False
        before = tracker.moves
        tracker.update(labels, time=time)
        return tracker.moves > before

    @property
    def verdict(self) -> Verdict:
        """How it stands."""
        status = self._tracker.status
        if status is Status.RUNNING:
            return Verdict.POSSIBLE
        return Verdict.SATISFIED if status is Status.ACCEPTED else Verdict.VIOLATED

    @property
    def state(self) -> int:
        """The state of the mission's machine."""
        return self._tracker.state

    @property
    def steps(self) -> int:
        """States entered since the beginning."""
        return self._tracker.steps

    @property
    def rounds(self) -> int:
        """Accepting transitions so far: completed rounds, of a recurring mission."""
        return self._tracker.accepting_visits

    def way_to_violate(self) -> Trace | None:
        """Return a shortest sequence of label sets from here that violates it; None: none does."""
        return self._way(fatal=True)

    def way_to_satisfy(self) -> Trace | None:
        """Return a shortest sequence of label sets from here that satisfies it, or ends a round.

        Of a mission in parts it need not be a shortest one, and None says only that none was found.
        """
        return self._way(fatal=False)

    def _way(self, *, fatal: bool) -> Trace | None:
        if self.verdict is not Verdict.POSSIBLE:
            return None
        key = self.state, fatal
        machine = self.mission.machine
        if key not in self._ways and isinstance(machine, FactoredMachine):
            way = machine.way_to_fail if fatal else machine.way_to_succeed
            self._ways[key] = way(self.state)
        if key not in self._ways:

            def wanted(outcome: Outcome) -> bool:
                return is_fatal(machine, outcome) if fatal else outcome.reward > 0

            self._ways[key] = shortest_trace(machine, wanted, start=self.state)
        return self._ways[key]
