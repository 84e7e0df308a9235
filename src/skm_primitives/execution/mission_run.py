"""A mission under way, one state of the world at a time: Algorithm 3, and the only place it is in.

All that runs missions drives one of these: `run_episode` in a loop, evaluations, few-shot learning, and
the machine node, which is called when something arrives. It steps the tracker and the policy; the values
of a state are handed to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.logic.timed import NANOSECONDS
from skm_machine.tracker import MissionTracker, Prefer, Stand, Status
from skm_primitives.planning.options import EXHAUSTED, transition_deadlines
from skm_primitives.planning.policy import Ahead, Decision, Expectation, Policy, WantsGoals, log_of
from skm_primitives.planning.shield import AnyShield, Shield
from skm_primitives.skills.values import AnyGoalValues, ContinuousGoalValues, Skills, hold_of
from skm_sim.arrays import BoolArray, IntArray


def usual_limit(policy: Policy, usual: int) -> int:
    """Return how many steps a mission may take by default: more than usual where it is far."""
    return max(usual, int(getattr(policy, "most_steps", 0)))


class MissionRun:
    """A policy with its tracker: takes states, gives decisions, and knows when it is over."""

    def __init__(
        self, policy: Policy, skills: Skills, max_steps: int, shield: AnyShield | None = None
    ) -> None:
        self.policy = policy
        """What decides."""
        self.skills = skills
        """The skills that are composed."""
        self.max_steps = max_steps
        """Steps after which the run is cut."""
        self.machine = policy.mission.machine
        """The reward machine of the mission."""
        self.tracker = MissionTracker(self.machine, skills.constraints, policy.mission.clocks)
        """Where in the mission the run is."""
        self._step_seconds = policy.mission.step_seconds
        self._planned = policy.mission.planned.machine
        """The machine that the plan is of."""
        self.decision: Decision | None = None
        """The latest decision."""
        self.shield = shield
        """Whether actions after which the mission can only fail are replaced."""
        self.blocked = False
        """Whether the shield lets nothing pass: the robot is to stop, and the mission is over."""
        goals = len(skills.goals) + 1  # The last is none.
        self._deadlines = transition_deadlines(skills.gamma, goals)
        """Of the machine's next transition, by the goal in pursuit."""
        self._given_up = False
        """Whether the policy has tried all that could be done in the machine's state."""
        self._hold = hold_of(skills)
        self._holds_until = 0
        self._unseen_move = False
        self._values: AnyGoalValues | None = None
        self._chooses_ahead = policy if isinstance(policy, Ahead) else None
        self._ahead: Decision | None = None
        self._passed = False
        """Whether the shield is known to let pass what was chosen ahead."""
        self._alike: dict[int, slice | IntArray] = {}
        self._stamped = False

    def begin(self, observation: Any, labels: Collection[str], time: int | None = None) -> None:  # noqa: ANN401
        """Begin in this state; refuses what cannot be achieved from here.

        `time` is when, in nanoseconds. Where it is not said, every step takes as long as the mission
        says; one with bounds in seconds needs one of the two.
        """
        self._stamped = time is not None
        if self.tracker.clocks is not None and not self._stamped and not self._step_seconds:
            raise SkmError(
                "the mission has bounds in seconds, and nothing says how long a step takes here"
            )
        self.tracker.start(labels, time or 0)
        self._ahead = None
        self._deadlines.restart()
        self._given_up = False
        self._holds_until = 0
        self._unseen_move = self.blocked = False
        self.policy.start(observation)
        if self.shield is not None:
            self.shield.start(observation)

    def resume(self, stand: Stand, observation: Any, time: int | None = None) -> None:  # noqa: ANN401
        """Go on in this state of the world from where a run of the mission stood, if it can be done.

        The policy must be planned from the machine's state then. `time` is when, as in `begin`: where
        the clock was set back meanwhile, as a simulator's is with its start, no time has gone by.
        """
        self.begin(observation, stand["labels"], time)
        self.tracker.restore(stand)
        if time is not None and time < self.tracker.time:
            self.tracker.shift(time - self.tracker.time)

    def replan(self, policy: Policy, shield: AnyShield | None, observation: Any) -> None:  # noqa: ANN401
        """Go on by another policy of the same mission, which has begun where the robot is.

        For worlds that are not as they were planned for: the tracker stays where it is.
        """
        self.policy, self.shield = policy, shield
        self._chooses_ahead = policy if isinstance(policy, Ahead) else None
        self._ahead, self.decision, self._passed = None, None, False
        self._deadlines.restart()
        self._given_up = False
        self._holds_until = 0
        self.blocked = False
        policy.entered(observation, False)
        if shield is not None:
            shield.start(observation)

    def enter(self, observation: Any, labels: Collection[str], time: int | None = None) -> bool:  # noqa: ANN401
        """Take the state that a step has led to; tell whether the machine moved.

        `observation` is None where it was unusable: the labels count all the same, and `see` takes
        the observation when it comes.
        """
        moved = self.track(observation, labels, time)
        if observation is not None:
            self.see(observation)
        return moved

    def track(self, observation: Any, labels: Collection[str], time: int | None = None) -> bool:  # noqa: ANN401
        """Take the labels of the state that a step has led to; tell whether the machine moved.

        The first half of `enter`: enough to know what to ask the primitives. `see` must follow before
        the next decision.
        """
        before = self.tracker.moves
        self._ahead = None
        if time is None and self._step_seconds:
            time = round((self.tracker.steps + 1) * self._step_seconds * NANOSECONDS)
        self.tracker.update(labels, self._preference(observation), time)
        return self._note_move(before)

    def advance(self, observation: Any, time: int) -> bool:  # noqa: ANN401
        """Take note of the time while the state lasts; tell whether that moved the machine.

        Only for missions with time stamps of states.
        """
        if self.tracker.clocks is None or not self._stamped:
            return False
        before = self.tracker.moves
        self.tracker.advance(time, self._preference(observation))
        if self.tracker.moves > before:
            self._ahead = None
        return self._note_move(before)

    def _preference(self, observation: Any) -> Prefer | None:  # noqa: ANN401
        if observation is None:
            return None
        return lambda state, options: self.policy.prefer(state, options, observation)

    def _note_move(self, before: int) -> bool:
        moved = self.tracker.moves > before
        if moved:
            self._deadlines.restart()
            self._given_up = False
            self._holds_until = 0
        self._unseen_move = self._unseen_move or moved
        return moved

    def see(self, observation: Any) -> None:  # noqa: ANN401
        """Take the observation of the present state; the policy hears of moves since the last one."""
        self.policy.entered(observation, self._unseen_move)
        if self.shield is not None:
            self.shield.entered(observation)
        self._unseen_move = False

    def visit(self, state: int, violated: frozenset[str]) -> None:
        """Put the tracker into a machine state with a history, to enumerate them all."""
        self.tracker.state, self.tracker.violated = state, violated
        self._ahead = None
        self._deadlines.restart()
        self._given_up = False

    @property
    def over(self) -> bool:
        """Whether nothing is left to decide."""
        tracker = self.tracker
        ended = tracker.status is not Status.RUNNING or tracker.steps >= self.max_steps
        return ended or self.blocked or self._exhausted

    @property
    def stalled(self) -> bool:
        """Whether the mission, still running, gets nowhere whatever is tried."""
        return self.tracker.status is Status.RUNNING and self._exhausted

    @property
    def _exhausted(self) -> bool:
        return self._given_up or bool(self._deadlines.in_a_row[0] >= EXHAUSTED)

    @property
    def history(self) -> frozenset[str]:
        """The violated constraints to ask the primitives with."""
        return self.policy.history(self.tracker)

    @property
    def holding(self) -> bool:
        """Whether the last decision stands in the present state: the skills want it held."""
        return self._hold > 1 and self.tracker.steps < self._holds_until

    @property
    def wanted(self) -> BoolArray | None:
        """The goals whose values the next decision depends on; None where it may be on all."""
        if self.shield is not None or not isinstance(self.policy, WantsGoals):
            return None
        return self.policy.wanted(self.tracker.state)

    def prepare(self) -> None:
        """Choose what to do in the present state, once it is seen, where that needs no values.

        For callers that have to wait for the values; `decide` is still to be called, with them.
        """
        if self._chooses_ahead is not None and not self.holding:
            state = self.tracker.state
            self._ahead = self._chooses_ahead.choose_ahead(state)
            shield = self.shield
            self._passed = isinstance(shield, Shield) and shield.passes(state, self._ahead)

    @property
    def settled(self) -> Decision | None:
        """What `decide` will return whatever the values are; None where it depends on them."""
        return self._ahead if self.shield is None or self._passed else None

    def decide(self, values: AnyGoalValues) -> Decision:
        """Return what to do in the present state, from the values of every goal in it.

        Where skills want decisions to be held, it is the last one for so many steps, unless the machine
        moves; then no values need be asked for (`holding`).
        After it, `blocked` tells whether nothing is to be done but to stop.
        """
        if self.holding and self.decision is not None:
            return self.decision
        self._holds_until = self.tracker.steps + self._hold
        self._values = values
        ahead, self._ahead = self._ahead, None
        self.decision = ahead or self.policy.choose(self.tracker.state, values)
        self.blocked = False
        if self.shield is not None and not (ahead and self._passed):
            passed = self.shield.vet(self.tracker.state, self.decision, values, self.policy)
            self.blocked = passed is None
            self.decision = passed or self.decision
        self._given_up = self.decision.expectation is Expectation.EXHAUSTED
        if self.decision.expectation is Expectation.NEARER and not self.waiting:
            self._watch(self.decision)
        return self.decision

    def _watch(self, decision: Decision) -> None:
        """Hold the mission to the deadline of its next transition, as its values have it."""
        log_value = decision.log_value
        log_value = log_of(decision.value) if math.isnan(log_value) else log_value
        self._deadlines.watch_one(decision.goal, log_value)

    @property
    def waiting(self) -> bool:
        """Whether the robot is where it has to be, and only time brings the mission on."""
        if self.tracker.clocks is None:
            return False
        state, labels = self.tracker.state, self.tracker.labels
        return self._planned.step(state, labels) != self.machine.step(state, labels)

    @property
    def values(self) -> AnyGoalValues | None:
        """The values that the last decision was made from; None before the first."""
        return self._values

    @property
    def goal(self) -> int:
        """The goal in pursuit, as an index in the goal buffer; −1 if there is none."""
        return -1 if self.decision is None else self.decision.goal

    @property
    def goal_value(self) -> float:
        """The value of the goal in pursuit where the last decision was made: γ to its distance.

        Whatever is violated on the way: the machine knows which violations matter.
        """
        values, goal = self._values, self.goal
        if values is None or goal < 0:
            return 0.0
        if goal not in self._alike:
            self.group_goals()
        same = self._alike[goal]
        if isinstance(values, ContinuousGoalValues):
            return float(max(values.value[same].tolist()))
        tables = values.move[same], values.stop[same]  # of few goals: lists are faster
        return float(max(max(table.ravel().tolist()) for table in tables))

    def group_goals(self) -> None:
        """Note, for each goal, which ones have the same labels at the same place."""
        numbers: dict[tuple[frozenset[str], int | None], list[int]] = {}
        for number, goal in enumerate(self.skills.goals):
            numbers.setdefault((goal.labels, goal.place), []).append(number)
        for alike in numbers.values():
            self._alike.update(dict.fromkeys(alike, _rows(alike)))


def _rows(numbers: list[int]) -> slice | IntArray:
    """Return how to take so many rows of a table: faster if they follow each other."""
    first, last = numbers[0], numbers[-1]
    if last - first == len(numbers) - 1:
        return slice(first, last + 1)
    return np.array(numbers, np.int64)
