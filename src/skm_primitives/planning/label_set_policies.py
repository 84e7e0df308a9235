"""The product planner where goals are label sets: weights of goals, events, narrowing."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from skm_machine.automata.graphs import components
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.events import EventGame, subsets
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.lookahead import NEVER, GoalOutcomes, Lookahead, goal_outcomes, log_sum
from skm_primitives.planning.options import Pursuit, Turns
from skm_primitives.planning.policy import (
    Decision,
    best_option,
    choose_action,
    memory_for,
    noise_of,
)
from skm_primitives.planning.revisits import harder_goals
from skm_primitives.planning.unsafe_dwell import Brittle, sturdy
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    RemoteSkills,
    Skills,
    hold_of,
)
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

# Events where goals are label sets: what they could spoil, what is pending, and what to wait for.
#
# The plan is made of goals, and no goal shows an event: so the planner never counts on one. Three
# rules, as where goals are places (`recurring`):
#
# - Goals at which events could make the mission fail, by the game on the machine in which the
#   robot shows the label sets of its goals, are not pursued, as long as the mission can be kept
#   at all.
# - What is pending because the machine left its quiescent states is done first, by the goals that lead
#   back.
# - Where only an event can help, the robot waits for it.


def without_risk(outcomes: GoalOutcomes, mission: Mission, skills: Skills) -> GoalOutcomes:
    """Return the outcomes without the goals at which an event could make the mission fail."""
    machine, goals = mission.machine, skills.goals
    label_sets = label_sets_of(goals)
    game = EventGame(machine, mission.events, label_sets={frozenset(), *label_sets})
    kept = {
        (state, labels): all(
            any(option.target in game.won for option in machine.options(state, labels | happening))
            for happening in game.events
        )
        for state in game.won - machine.terminal
        for labels in label_sets
    }
    safe: BoolArray = np.array(
        [
            [kept.get((state, goal.labels), True) for goal in goals]
            for state in range(machine.num_states)
        ]
    )
    return replace(outcomes, moves=outcomes.moves & safe)


def paying_debts(outcomes: GoalOutcomes, machine: RewardMachine) -> GoalOutcomes:
    """Return the outcomes of the mission to be where no obligation is pending: 1 on arrival, then the end.

    Where a goal leads there at once, no other is gone to before it: what lies behind goals is known on
    average only, and would make detours look short.
    """
    quiescent = np.array([state in machine.quiescent for state in range(machine.num_states)])
    paying = outcomes.moves & quiescent[outcomes.target]
    owing = ~quiescent[:, None] & (paying | ~paying.any(axis=1, keepdims=True))
    idle = (
        np.where(np.isfinite(outcomes.idle_reward), 0.0, -np.inf) + quiescent[outcomes.idle_target]
    )
    arrived = quiescent[outcomes.passing[:, 2]].astype(np.float64)
    return replace(
        outcomes,
        moves=outcomes.moves & owing,
        reward=quiescent[outcomes.target].astype(np.float64),
        passing_reward=np.where(np.isfinite(outcomes.passing_reward), arrived, -np.inf),
        idle_reward=np.where(quiescent, -np.inf, idle),
    )


def hopeful(mission: Mission, skills: Skills) -> frozenset[int]:
    """Return the machine states from which goals, with the help of events, earn a reward."""
    machine = mission.machine
    happening = subsets(mission.events)
    own = {frozenset[str](), *label_sets_of(skills.goals)}
    shown = {labels | some for labels in own for some in happening}
    running = [s for s in range(machine.num_states) if s not in machine.terminal]
    found = frozenset[int]()
    while True:
        more = frozenset(
            state
            for state in running
            if any(
                option.reward > 0 or option.target in found
                for labels in shown
                for option in machine.options(state, labels)
            )
        )
        if more == found:
            return found
        found = more


# The product planner where goals are label sets, as in domains learned with networks.
#
# As in `skm_primitives.planning.place_policies`, the composed skill is a weighted maximum over goals,
#
#     max_g  w_u(g) · Q_MAX(⟨s,∅⟩, g),
#
# with w_u(g) = δ_r + γ · (what can be done after g). Where a goal is a set of labels, what lies
# behind it is known on average only: `goal_to_goal[g, h]` is the mean value of h from states that
# achieve g. Where primitives also serve continuation values, the next goals are planned with those
# (`lookahead`). A goal with the violations V allows any label set whose constraints lie in V on
# the way, so it is worth no more than the worst that these do to the machine: nothing, if one of
# them fails the mission.


CONVERGED: Final = 1e-9
"""The change of a logarithm that no longer counts."""


class GroundedGoalPolicy:
    """Zero-shot execution with goal weights from planning on machine × goals.

    There is no flapping between goals: where actions are continuous, `Pursuit` keeps to a goal unless
    another is better by more than the networks disagree; where they are discrete, `Revisits` makes
    what was tried in the same situation worth less each time.
    """

    planner = "product"

    def __init__(
        self, mission: Mission, skills: Skills, behind: GoalToGoal, many: bool = False
    ) -> None:
        """`many`: these are some of many goals of each label set, which tell apart what is touched."""
        self.mission = mission
        outcomes = self._outcomes(mission, skills)
        hope = frozenset[int]()
        if mission.events:
            outcomes, hope = without_risk(outcomes, mission, skills), hopeful(mission, skills)
        self._log_gamma = math.log(skills.gamma)
        self._log_weights, anywhere = log_goal_weights(outcomes, skills, behind)
        possible = np.isfinite(anywhere)
        if behind.approximate:
            ended = np.zeros(len(skills.goals), np.bool_) if behind.ended is None else behind.ended
            steps = outcomes.steps_to_reward(mission.machine.endless, ended)
            possible = steps < NEVER
            self._log_weights = _any_weights(
                self._log_weights, outcomes, np.where(ended, NEVER, steps[outcomes.target])
            )
        self.weights: FloatArray = np.exp(self._log_weights)
        """`[u, g]`: what achieving each goal is worth in each machine state."""
        self._anywhere = anywhere
        self._possible = possible
        self._hope = hope
        self._idle = outcomes.log_idle(anywhere, self._log_gamma)
        if not possible[mission.machine.initial] and mission.machine.initial not in hope:
            labels = set(label_sets_of(skills.goals))
            clause = blocking_clause(mission, _shown(mission.machine, labels))
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")
        self._new_lookahead = partial(Lookahead, skills, behind, outcomes, anywhere)
        self._debts = np.full_like(self.weights, -np.inf)
        if mission.events and mission.machine.quiescent:
            debts = paying_debts(outcomes, mission.machine)
            self._debts, _ = log_goal_weights(debts, skills, behind)
        self._skills = skills
        self._brittle = Brittle(mission.machine, outcomes, skills, behind)
        self._daring = False
        self._labels = frozenset[str]()
        self._state = -1
        harder = harder_goals(skills.goals, many)
        fails = np.isin(outcomes.target, sorted(mission.machine.failure))
        self._careful = [harder is not None and bool(some.any()) for some in fails]
        """`[u]`: whether to look where one goes: goals tell what may be touched, and it can fail."""
        self._holds = hold_of(skills) > 1
        self._pursuit = Pursuit(harder=harder)
        self._revisits = memory_for(skills)
        formula = mission.formula if mission.machine.endless else None
        self._turns = Turns(formula, skills.goals, outcomes.target)

    def _outcomes(self, mission: Mission, skills: Skills) -> GoalOutcomes:
        """Return what each goal does to the machine, and what may happen on the way to it."""
        return goal_outcomes(mission.machine, skills)

    @cached_property
    def _lookahead(self) -> Lookahead:
        """Made when it is first needed: with the first continuation values."""
        return self._new_lookahead()

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin with no goal in pursuit, and nothing tried yet."""
        self._turns.restart()
        self.entered(observation, moved=True)

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Take note of the state; once the machine has moved, goals are chosen afresh."""
        if moved:
            self._state = -1
            self._daring = False
        if self._revisits is not None:
            self._revisits.arrive(observation, moved)

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401, ARG002
        """Return what a step does, of what it may do: what is worth most in a typical state."""
        return best_option(
            self.mission.machine,
            state,
            options,
            lambda o: float(log_sum(np.array(o.reward), self._continuation(o.target))),
        )

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return no constraint: the machine knows which violations mattered. What is shown is noted."""
        self._labels = tracker.labels
        return frozenset()

    def _continuation(self, state: int) -> FloatArray:
        """Return log of what follows once the machine is in a state, in a typical state of the world."""
        return np.array(self._log_gamma + self._anywhere[state])

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the weighted maximum over the goals, for each action."""
        worth = np.exp(self.log_values(state, values))
        return worth.astype(np.float32)

    def log_values(self, state: int, values: GoalValues) -> FloatArray:
        """Return the same as logarithms, for each action: no weight is too small for those."""
        best: FloatArray = self._worth(state, values).max(axis=0)
        return best

    def _worth(self, state: int, values: GoalValues) -> FloatArray:
        """Return log of what each action is worth for each goal, `[goal, action]`."""
        weights = self._weights_here(state, values)
        with np.errstate(divide="ignore"):
            logarithms = np.log(np.maximum(values.move, values.stop).clip(min=0))
        worth: FloatArray = logarithms + weights[:, None]
        return worth

    def _typical_weights(self, state: int) -> FloatArray:
        """Return log of what each goal is worth on average; what is pending comes first."""
        debts = self._debts[state]
        weights: FloatArray = debts if np.isfinite(debts).any() else self._log_weights[state]
        return weights

    def wanted(self, state: int) -> BoolArray:
        """Return the goals of any worth in a machine state, and those that help them."""
        return self._brittle.asked(state, np.isfinite(self._typical_weights(state)))

    def _weights_here(self, state: int, values: GoalValues) -> FloatArray:
        """Return log of what each goal is worth: as seen from here, or on average."""
        if values.continuation is None or np.isfinite(self._debts[state]).any():
            return self._typical_weights(state)
        states = (state, *self.mission.machine.commitments(state))
        seen = [self._lookahead.log_weights(each, values.continuation) for each in states]
        best: FloatArray = np.max(seen, axis=0)
        return best if np.isfinite(best).any() else self._typical_weights(state)

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> FloatArray:
        """Return what arriving at each goal is worth, for those who watch."""
        if isinstance(values, GoalValues):
            return np.exp(self._weights_here(state, values))
        weights: FloatArray = self.weights[state]
        return weights

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the weighted maximum, or one that shows nothing if that is better."""
        owing = np.isfinite(self._debts[state]).any()
        idle = float(self._idle[state])
        if not owing and idle > -math.inf and idle >= self._anywhere[state]:
            return self._show_nothing(state, values)
        if not owing and not self._possible[state] and state in self._hope:
            return replace(self._show_nothing(state, values), waiting=True)
        if isinstance(values, ContinuousGoalValues):
            return self._pursue(state, values)
        worth = self._worth(state, values)
        best = float(worth.max())
        unit = best if math.isfinite(best) else 0.0  # Relative to the best, none is too small.
        goal, action = choose_action(np.exp(worth - unit), self._revisits)
        value = float(worth[goal, action])
        noise = noise_of(self._skills)
        return Decision(action, goal, math.exp(value), noise, log_value=value)

    def _show_nothing(self, state: int, values: AnyGoalValues) -> Decision:
        """Return what is least likely to show anything: the empty label set is a goal like others."""
        value = math.exp(self._idle[state])
        if isinstance(values, ContinuousGoalValues):
            return Decision(values.action[0] * 0, -1, value)
        return Decision(int(values.stop.max(axis=0).argmin()), -1, value)

    def _pursue(self, state: int, values: ContinuousGoalValues) -> Decision:
        """Return what a robot with continuous actions does; each machine state begins afresh."""
        if state != self._state:
            self._pursuit.restart()
            self._pursuit.careful = self._careful[state]
            self._state = state
        worth = self._turns.in_turn(state, self._typical_weights(state))
        wanted = np.isfinite(worth)
        if not self._daring:
            wanted = sturdy(wanted, self._brittle.goals[state], values.value, self._skills.gamma)
        chosen = self._pursuit.choose(values, wanted, worth)
        self._turns.pursue(state, int(chosen.goal[0]))
        decision = chosen.decision(self._skills)
        if decision.vain and not self._holds:  # Who decides in every step may as well try on.
            decision = replace(decision, vain=False)
        return self._brittle.leave(state, self._labels, decision, values)

    def doubt(self) -> None:
        """Believe what was pursued longest half as much, and dare what is brittle."""
        self._daring = True
        self._pursuit.doubt()
        if self._revisits is not None:
            self._revisits.doubt()


def log_goal_weights(
    outcomes: GoalOutcomes, skills: Skills, behind: GoalToGoal
) -> tuple[FloatArray, FloatArray]:
    """Return log w[u, g], what achieving each goal is worth in each machine state, by value iteration;

    and what each machine state is worth in a typical state of the world. Logarithms, since what
    lies behind many goals is worth less than any number; machine states that the machine leaves for
    others are worked out after those.
    """
    log_gamma = math.log(skills.gamma)
    if np.shape(behind.table) != (len(skills.goals), len(skills.goals)):
        raise SkmError(
            f"the primitives of '{skills.domain}' do not say what lies behind their goals "
            "(goal_to_goal); use planner 'paper'"
        )
    with np.errstate(divide="ignore"):
        after = np.log(np.maximum(np.asarray(behind.table, np.float64), 0.0))
        typical = np.log(np.maximum(np.asarray(behind.typical, np.float64), 0.0))
    # Goals that lead nowhere stay worth nothing; with many kinds, they are most of a large table.
    some = outcomes.leading_somewhere()
    after, typical = after[:, some], typical[some]
    weights = np.full(outcomes.moves.shape, -np.inf)
    continuation = np.full(outcomes.moves.shape, -np.inf)  # [u, g]: best from g in u
    anywhere = np.full(len(weights), -np.inf)  # [u]: best from a typical state in u
    for rows in components(outcomes.leads_to()):
        part = outcomes.among(rows)
        while True:
            idle = part.log_idle(anywhere, log_gamma)
            for state in rows:
                continuation[state] = (after + weights[state, some]).max(axis=1, initial=-np.inf)
            continuation[rows] = np.maximum(continuation[rows], idle[:, None])
            before = anywhere[rows]
            best = (typical + weights[rows][:, some]).max(axis=1, initial=-np.inf)
            anywhere[rows] = np.maximum(best, idle)
            updated = part.log_worth(continuation, part.log_most(anywhere, log_gamma), log_gamma)
            for state, ways in outcomes.commitments:
                if state in rows:
                    for way in ways:
                        there = updated[rows.index(way)] if way in rows else weights[way]
                        place = rows.index(state)
                        updated[place] = np.maximum(updated[place], there)
            settled = _same(updated, weights[rows]) and _same(anywhere[rows], before)
            weights[rows] = updated
            if settled:
                break
    return weights, anywhere


def _same(new: FloatArray, old: FloatArray) -> bool:
    """Tell whether logarithms have settled."""
    with np.errstate(invalid="ignore"):
        return not (np.abs(new - old) > CONVERGED).any()


def _any_weights(weights: FloatArray, outcomes: GoalOutcomes, continuation: IntArray) -> FloatArray:
    """Return the weights; where learned values give every goal up, those of goals that lead onward.

    Values of networks prove nothing, so the robot tries: by the fewest moves of the machine, of which
    `onward[u, g]` are left after a goal.
    """
    fewest = np.where(outcomes.reward > 0, 0, continuation)
    given_up = ~np.isfinite(weights).any(axis=1, keepdims=True)
    return np.where(given_up & outcomes.moves & (fewest < NEVER), -1.0 * fewest, weights)


def _shown(machine: RewardMachine, labels: set[frozenset[str]]) -> dict[int, set[frozenset[str]]]:
    """Return the label sets for each machine state that they lead to."""
    shown, queue = {}, [machine.initial]
    for state in queue:
        shown[state] = labels
        targets = {o.target for found in labels for o in machine.options(state, found)}
        queue += sorted(targets - machine.terminal - set(queue))
    return shown


# Only the goals that a mission can tell apart: of what it does not name, everything may be
# touched.
#
# Where goals say which things may be touched on the way, there is one for every set of them: with
# ten kinds of things 5,120. But a mission names only some, and to it a goal that avoids the
# others is like one that does not, only harder. So of goals with the same labels that allow the
# same of what the mission names, only the freest are planned with; and those whose labels it does
# not name are left out where showing nothing moves its machine nowhere. What is left grows with
# the mission, not with the world.


FEW: Final = 2
"""Goals of a label set among which none is worth leaving out."""


def goals_of_mission(mission: Mission, skills: Skills) -> IntArray:
    """Return which goals a mission can tell apart, as indices into those of the skills.

    All of them with two of each label set, the strictest and the freest: these are few anyway.
    """
    machine, goals = mission.machine, skills.goals
    if max(Counter(goal.labels for goal in goals).values(), default=0) <= FEW:
        return np.arange(len(goals))
    named = frozenset(machine.propositions).union(mission.events)
    others = frozenset(skills.constraints) - named
    there = {(goal.labels, goal.violated) for goal in goals}
    running = [state for state in range(machine.num_states) if state not in machine.terminal]
    nothing = [(state, machine.step(state, frozenset())) for state in running]
    idle = any(outcome.target != state or outcome.reward > 0 for state, outcome in nothing)
    kept = [
        index
        for index, goal in enumerate(goals)
        if (idle or goal.labels & named)
        and (others <= goal.violated or (goal.labels, goal.violated | others) not in there)
    ]
    return np.array(kept, np.int64)


class NarrowedPolicy:
    """The product planner on some of the goals, for robots with continuous actions."""

    planner = GroundedGoalPolicy.planner

    def __init__(
        self, mission: Mission, skills: Skills, behind: GoalToGoal, kept: IntArray
    ) -> None:
        self.mission = mission
        self._kept, self._count = kept, len(skills.goals)
        among = behind.among(kept)
        self._policy = GroundedGoalPolicy(
            mission, _with_goals(skills, kept, among), among, many=True
        )

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin an episode."""
        self._policy.start(observation)

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Take note of the state."""
        self._policy.entered(observation, moved)

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what a step does, of what it may do."""
        return self._policy.prefer(state, options, observation)

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return the violated constraints to ask with."""
        return self._policy.history(tracker)

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the weighted maximum over the goals, for each action."""
        kept, continuation = self._kept, values.continuation
        some = GoalValues(
            values.move[kept],
            values.stop[kept],
            None if continuation is None else continuation[:, kept],
        )
        return self._policy.composed(state, some)

    def wanted(self, state: int) -> BoolArray:
        """Return the goals of any worth in a machine state."""
        wanted = np.zeros(self._count, np.bool_)
        wanted[self._kept] = self._policy.wanted(state)
        return wanted

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> FloatArray:
        """Return what arriving at each goal is worth, for those who watch."""
        weights = np.zeros(self._count)
        weights[self._kept] = self._policy.weights_of_goals(state, values)
        return weights

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return what to do, from the values of every goal."""
        assert isinstance(values, ContinuousGoalValues)
        kept = self._kept
        some = ContinuousGoalValues(
            values.action[kept], values.value[kept], values.spread[kept], values.detour[kept]
        )
        found = self._policy.choose(state, some)
        goal = int(kept[found.goal]) if found.goal >= 0 else found.goal
        return replace(found, goal=goal)

    def doubt(self) -> None:
        """Try another way."""
        self._policy.doubt()


def _with_goals(skills: Skills, kept: IntArray, behind: GoalToGoal) -> RemoteSkills:
    """Return what is known of skills, with some of their goals."""
    return RemoteSkills(
        domain=skills.domain,
        checkpoint="",
        digest=skills.digest,
        propositions=skills.propositions,
        constraints=skills.constraints,
        goals=tuple(skills.goals[index] for index in kept.tolist()),
        world_model=behind,
        gamma=skills.gamma,
        observation_space=skills.action_space,
        action_space=skills.action_space,
        hold=hold_of(skills),
    )
