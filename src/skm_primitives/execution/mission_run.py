"""A mission under way, one state of the world at a time: Algorithm 3, and the only place it is in.

Whoever runs a mission drives one of these: `run_episode` in a loop, evaluations, few-shot learning, and
the machine node, which is called when something arrives. It steps the tracker and the policy; the values
of a state are handed to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cached_property
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.factored import FactoredMachine
from skm_machine.logic.timed import NANOSECONDS
from skm_machine.reward_machine import Outcome
from skm_machine.skill_machine import SkillMachine, plan_paper
from skm_machine.tracker import MissionTracker, Prefer, Status
from skm_primitives.planning.policy import Ahead, Decision, Policy, WantsGoals
from skm_primitives.planning.progress import Progress
from skm_primitives.planning.shield import AnyShield, Shield
from skm_primitives.skills.values import AnyGoalValues, ContinuousGoalValues, Skills, hold_of
from skm_sim.arrays import BoolArray, IntArray

MOST_STUDIED: Final = 64
"""States of a machine about which everything that is told of them is known before a mission begins."""


def usual_limit(policy: Policy, usual: int) -> int:
    """Return how many steps a mission may take if nobody says: more than usual where it is far."""
    return max(usual, int(getattr(policy, "most_steps", 0)))


class MissionRun:
    """A policy with its tracker: takes states, gives decisions, and knows when it is over."""

    def __init__(
        self, policy: Policy, skills: Skills, max_steps: int, shield: AnyShield | None = None
    ) -> None:
        self.policy = policy
        self.skills = skills
        self.max_steps = max_steps
        self.machine = policy.mission.machine
        self.tracker = MissionTracker(self.machine, skills.constraints, policy.mission.clocks)
        self._step_seconds = policy.mission.step_seconds
        self._planned = policy.mission.planned.machine
        """The machine that the plan is of: its labels say what the robot is after."""
        clocks = policy.mission.clocks
        self._ticks = frozenset(() if clocks is None else clocks.names)
        self.decision: Decision | None = None
        self.shield = shield
        self.blocked = False
        """Whether the shield lets nothing pass: the robot is to stop, and the mission is over."""
        self._progress = Progress(skills.gamma)
        self._hold = hold_of(skills)
        self._holds_until = 0
        self._unseen_move = False
        self._values: AnyGoalValues | None = None
        self._targets: dict[tuple[int, int], str] = {}
        self._labels: dict[tuple[int, Outcome], str] = {}
        self._chooses_ahead = policy if isinstance(policy, Ahead) else None
        self._ahead: Decision | None = None
        self._passed = False
        """Whether the shield is known to let pass what was chosen ahead."""
        self._fatal: dict[int, tuple[str, ...]] = {}
        self._alike: dict[int, slice | IntArray] = {}
        self._closing: dict[tuple[int, str], bool] = {}
        self._stamped = False

    def study(self) -> None:
        """Work out what people are told in a small machine's states, before the robot is in them."""
        if self.machine.num_states > MOST_STUDIED:
            return
        for state in range(self.machine.num_states):
            if not self._is_end(state):
                self._fatal_in(state)
                for outcome in self._planned.successors(state):
                    if _moves(state, outcome) and not self.is_fatal(outcome):
                        self._label(state, outcome)
        self._group_goals()

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
        self._progress.restart()
        self._holds_until = 0
        self._unseen_move = self.blocked = False
        self.policy.start(observation)
        if self.shield is not None:
            self.shield.start(observation)

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

        Only for missions that are told when states are entered.
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
            self._progress.restart()
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
        """Put the tracker into a machine state with a history: for those who go through them all."""
        self.tracker.state, self.tracker.violated = state, violated
        self._ahead = None
        self._progress.restart()

    @property
    def over(self) -> bool:
        """Whether nothing is left to decide."""
        tracker = self.tracker
        ended = tracker.status is not Status.RUNNING or tracker.steps >= self.max_steps
        return ended or self.blocked or self._progress.stalled

    @property
    def stalled(self) -> bool:
        """Whether the mission, still running, gets nowhere whatever is tried: see `progress`."""
        return self.tracker.status is Status.RUNNING and self._progress.stalled

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

        For those who have to wait for the values; `decide` is still to be called, with them.
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
        Where that has led nowhere for long enough, the policy tries another way from the next state.
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
        idle = self.decision.waiting or self.waiting
        if not idle and self._progress.watch(self.decision, self._expected_value):
            self.policy.doubt()
        return self.decision

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

    def _expected_value(self) -> float:
        """Return γ to the number of steps after which the last decision promised something."""
        assert self.decision is not None
        return self.decision.value if self.goal < 0 else self.goal_value

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
            self._group_goals()
        same = self._alike[goal]
        if isinstance(values, ContinuousGoalValues):
            return float(max(values.value[same].tolist()))
        tables = values.move[same], values.stop[same]  # of few goals: lists are faster
        return float(max(max(table.ravel().tolist()) for table in tables))

    @property
    def late(self) -> str:
        """The deadline that the goal in pursuit is not expected to meet; empty: none.

        A value is γ to the steps that a goal is away, so it says how long the way takes. That is an
        expectation, no proof: the mission goes on.
        """
        mission, clocks = self.policy.mission, self.tracker.clocks
        if mission.clocks is None or clocks is None:
            return ""  # As a rule, and in every step: nothing is worked out for it.
        pace, value = mission.step_seconds or mission.expected_step_seconds, self.goal_value
        if not pace or value <= 0:
            return ""
        state = self.tracker.state
        labels = self.skills.goals[self.goal].labels
        reached = self.machine.step(state, labels).target
        seconds = pace * (1 + math.log(value) / math.log(self.skills.gamma))
        for tick in mission.clocks.ticks:
            end = clocks.end(tick) if tick.kind == "closes" else None
            left = math.inf if end is None else (end - self.tracker.time) / NANOSECONDS
            # One step of grace: a value is exact to a step at best.
            if left < seconds - pace and self._lost_by(state, tick.name):
                if self._lost_by(reached, tick.name):
                    continue  # This goal is not what the deadline is about.
                return (
                    f"{mission.clocks.texts[tick.operator]} is not expected to be met in time: what it"
                    f" takes is about {seconds:.1f} s away, and {left:.1f} s are left"
                )
        return ""

    def _lost_by(self, state: int, tick: str) -> bool:
        """Tell whether a mission in a machine state fails when a window closes."""
        if self._is_end(state):
            return state in self.machine.failure
        if (state, tick) not in self._closing:
            given = {name: name == tick for name in self._ticks}
            found = self.machine.table.given(given).outcomes(state)
            targets = {self.machine.outcomes[index].target for index in found}
            self._closing[state, tick] = bool(targets & self.machine.failure)
        return self._closing[state, tick]

    def _group_goals(self) -> None:
        """Note, for each goal, which ones have the same labels at the same place."""
        numbers: dict[tuple[frozenset[str], int | None], list[int]] = {}
        for number, goal in enumerate(self.skills.goals):
            numbers.setdefault((goal.labels, goal.place), []).append(number)
        for alike in numbers.values():
            self._alike.update(dict.fromkeys(alike, _rows(alike)))

    @property
    def target(self) -> str:
        """What the current skill pursues, as an expression over propositions; empty at the end.

        With a goal in pursuit, the transition that it takes; else that of the paper's planner.
        """
        state, goal = self.tracker.state, self.goal
        if self._is_end(state):
            return ""
        if (state, goal) not in self._targets:
            self._targets[state, goal] = self._reach(state, goal)
        return self._targets[state, goal]

    def _reach(self, state: int, goal: int) -> str:
        if goal >= 0:
            outcome = self._planned.step(state, self.skills.goals[goal].labels)
            if _moves(state, outcome):
                return self._label(state, outcome)
        if isinstance(self._planned, FactoredMachine):
            return " & ".join(self._planned.owed(state))
        return str(self._paper.skills[state].reach)

    def _label(self, state: int, outcome: Outcome) -> str:
        if (state, outcome) not in self._labels:
            self._labels[state, outcome] = str(self._planned.label(state, [outcome]))
        return self._labels[state, outcome]

    @cached_property
    def _paper(self) -> SkillMachine:
        """The paper's plan, for those who watch a run that pursues no goal."""
        return plan_paper(self._planned, self.skills.gamma)

    @property
    def active_constraints(self) -> tuple[str, ...]:
        """The propositions that can fail the mission in the machine's state, sorted."""
        state = self.tracker.state
        return () if self._is_end(state) else self._fatal_in(state)

    def _fatal_in(self, state: int) -> tuple[str, ...]:
        if state not in self._fatal:
            fatal = [each for each in self.machine.successors(state) if self.is_fatal(each)]
            label = self.machine.label(state, fatal) if fatal else None
            names = () if label is None else label.propositions()
            named = tuple(sorted(name for name in names if name not in self._ticks))
            self._fatal[state] = named
        return self._fatal[state]

    def is_fatal(self, outcome: Outcome) -> bool:
        """Tell whether a step of the machine fails the mission."""
        ended = outcome.target in self.machine.terminal and outcome.reward <= 0
        return ended or outcome.target in self.machine.failure

    def _is_end(self, state: int) -> bool:
        return state in self.machine.terminal or state in self.machine.failure


def _moves(state: int, outcome: Outcome) -> bool:
    """Tell whether a step is a transition: to another state, or into another round."""
    return outcome.target != state or outcome.reward > 0


def _rows(numbers: list[int]) -> slice | IntArray:
    """Return how to take so many rows of a table: faster if they follow each other."""
    first, last = numbers[0], numbers[-1]
    if last - first == len(numbers) - 1:
        return slice(first, last + 1)
    return np.array(numbers, np.int64)
