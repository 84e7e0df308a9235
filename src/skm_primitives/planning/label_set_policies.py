"""The product planner where goals are label sets: weights of goals, events, selection of goals."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Final, TypeVar, cast

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from skm_machine.automata.graphs import components
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.events import subsets
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.lookahead import NEVER, GoalOutcomes, Lookahead, goal_outcomes, log_sum
from skm_primitives.planning.options import DiscreteOptions, Options, Turns
from skm_primitives.planning.policy import (
    Decision,
    Expectation,
    approximate,
    best_option,
)
from skm_primitives.planning.reactions import Reactions
from skm_primitives.planning.safety import log_safety
from skm_primitives.planning.solvers import FAR, EventGame, event_game, steps_to
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalToGoal,
    GoalValues,
    Skills,
    hold_of,
    select,
)
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.finite_world import FiniteWorld

# Events where goals are label sets: what they could spoil, pending obligations, what to wait for.
#
# The plan is made of goals, and no goal shows an event: so the planner never counts on one. Three
# rules, as where goals are places (`recurring`):
#
# - Goals at which events could make the mission fail, by the game (`solvers.event_game`) in the
#   world in which the robot shows the label sets of its goals in any order, are not pursued, as
#   long as the mission can be kept at all.
# - Obligations that an event has made pending (the machine left its quiescent states) are
#   discharged first, by the goals that lead back; or, if that keeps the robot from its round
#   (`reactions`), by the goals that force it.
# - Where only an event can help, the robot waits for it.


def label_set_game(mission: Mission, skills: Skills) -> EventGame:
    """Return the game of events against a robot that can show the label sets of its goals at will."""
    sets = [frozenset[str](), *sorted(set(label_sets_of(skills.goals)) - {frozenset()}, key=sorted)]
    named = [name for name in mission.events if name in mission.machine.propositions]
    return event_game(mission.machine, FiniteWorld.any_order(sets), named)


def without_risk(outcomes: GoalOutcomes, game: EventGame, skills: Skills) -> GoalOutcomes:
    """Return the outcomes without the goals at which an event could make the mission fail."""
    numbers = [game.product.world.label_sets.index(goal.labels) for goal in skills.goals]
    safe = game.allowed[:, 0, :, 0][:, numbers] | ~game.kept[:, 0]
    return replace(outcomes, moves=outcomes.moves & safe)


def achievable_with_events(game: EventGame) -> frozenset[int]:
    """Return the machine states from which goals, with the help of events, earn a reward."""
    steps, _ = steps_to(game.product, paid=game.product.paid)
    return frozenset(np.flatnonzero(steps[:, 0, 0] < FAR).tolist())


def discharging(outcomes: GoalOutcomes, machine: RewardMachine) -> GoalOutcomes:
    """Return the outcomes of discharging pending obligations: 1 where none is left, then the end.

    Where a goal leads there at once, no other is visited before it: what lies behind goals is known on
    average only, and would underestimate longer routes.
    """
    quiescent = np.array([state in machine.quiescent for state in range(machine.num_states)])
    discharges = outcomes.moves & quiescent[outcomes.target]
    pending = ~quiescent[:, None] & (discharges | ~discharges.any(axis=1, keepdims=True))
    idle = (
        np.where(np.isfinite(outcomes.idle_reward), 0.0, -np.inf) + quiescent[outcomes.idle_target]
    )
    arrived = quiescent[outcomes.passing[:, 2]].astype(np.float64)
    return replace(
        outcomes,
        moves=outcomes.moves & pending,
        reward=quiescent[outcomes.target].astype(np.float64),
        passing_reward=np.where(np.isfinite(outcomes.passing_reward), arrived, -np.inf),
        idle_reward=np.where(quiescent, -np.inf, idle),
    )


def forcing_goals(mission: Mission, skills: Skills) -> tuple[BoolArray, FloatArray]:
    """Return `[u, g]`: the goals that bring the next round nearer, whatever events happen on the way;

    and `[u]`: by how many goals the round is forced, infinite where events can prevent it. A goal brings
    it nearer if from each state that events can lead to on the way, while the robot shows nothing,
    arriving is rewarded, or leads to where fewer goals are left.
    """
    machine = mission.machine
    happening = subsets(mission.events)
    running = [s for s in range(machine.num_states) if s not in machine.terminal | machine.failure]
    on_the_way = {
        state: {state, *(o.target for some in happening for o in machine.options(state, some))}
        for state in running
    }
    while True:
        further = {
            state: found.union(*(on_the_way.get(each, {each}) for each in found))
            for state, found in on_the_way.items()
        }
        if further == on_the_way:
            break
        on_the_way = further

    def is_nearer(state: int, labels: frozenset[str]) -> bool:
        return all(
            each in on_the_way
            and any(
                o.reward > 0 or left[o.target] < rank for o in machine.options(each, labels | some)
            )
            for each in on_the_way[state]
            for some in happening
        )

    left = np.full(machine.num_states, math.inf)
    forces = np.zeros((machine.num_states, len(skills.goals)), np.bool_)
    for rank in range(1, machine.num_states + 1):
        label_sets = label_sets_of(skills.goals)
        found = {
            state: {labels for labels in label_sets if is_nearer(state, labels)}
            for state in running
            if math.isinf(left[state])
        }
        for state, sets in found.items():
            if sets:
                left[state] = rank
                forces[state] = [goal.labels in sets for goal in skills.goals]
    return forces, left


# The product planner where goals are label sets, as in domains learned with networks.
#
# As in `skm_primitives.planning.policies`, the composed skill is a weighted maximum over goals,
#
#     max_g  w_u(g) · Q_MAX(⟨s,∅⟩, g),
#
# with w_u(g) = δ_r + γ · (what can be done after g). Where a goal is a set of labels, what lies
# behind it is known on average only: `goal_to_goal[g, h]` is the mean value of h from states that
# achieve g. Where primitives also serve continuation values, the next goals are planned with those
# (`lookahead`). A goal with the violations V allows any label set whose constraints lie in V on
# the way, so it is worth no more than the worst that these do to the machine: nothing, if one of
# them fails the mission.


_Values = TypeVar("_Values", bound=AnyGoalValues)
_Scalar = TypeVar("_Scalar", bound=np.generic)

CONVERGED: Final = 1e-9
"""The change of a logarithm that no longer counts."""


class GroundedGoalPolicy:
    """Zero-shot execution with goal weights from planning on machine × goals.

    Which goal is pursued from step to step, and for how long, is up to its options (`options`).
    """

    planner = "product"

    def __init__(
        self,
        mission: Mission,
        skills: Skills,
        behind: GoalToGoal,
        selected: IntArray | None = None,
    ) -> None:
        """`selected`: the goals to plan with (`goals_of_mission`); None: all of them.

        Callers number goals as the skills do. Inside, goals are numbered as they
        were selected.
        """
        self.mission = mission
        self._all_goals, self._selected = len(skills.goals), selected
        if selected is not None:
            skills = select(skills, behind, selected)
            behind = behind.select(selected)
        outcomes = self._outcomes(mission, skills)
        by_events = frozenset[int]()
        if mission.events:
            game = label_set_game(mission, skills)
            outcomes = without_risk(outcomes, game, skills)
            by_events = achievable_with_events(game)
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
        self._by_events = by_events
        self._idle = outcomes.log_idle(anywhere, self._log_gamma)
        if not possible[mission.machine.initial] and mission.machine.initial not in by_events:
            labels = set(label_sets_of(skills.goals))
            clause = blocking_clause(mission, _shown(mission.machine, labels))
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")
        self._new_lookahead = partial(Lookahead, skills, behind, outcomes, anywhere)
        self._reactions = Reactions()
        self._obligations, self._forced, self._left = self._reacting(outcomes, skills, behind)
        self._skills = skills
        self._log_safety = log_safety(mission.machine, outcomes, skills, behind)
        self._state = -1
        fails = np.isin(outcomes.target, sorted(mission.machine.failure))
        self._can_fail: BoolArray = np.asarray(fails.any(axis=1))
        """`[u]`: whether there are labels that fail the mission."""
        self._options = Options(skills.gamma, held=hold_of(skills))
        self._discrete: DiscreteOptions | None = None
        if approximate(skills) and isinstance(skills.action_space, Discrete):
            self._discrete = DiscreteOptions(skills.gamma, int(skills.action_space.n))
        formula = mission.formula if mission.machine.endless else None
        self._turns = Turns(formula, skills.goals, outcomes.target)

    def _reacting(
        self, outcomes: GoalOutcomes, skills: Skills, behind: GoalToGoal
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return `[u, g]`, log of what goals are worth: for what is pending, and to force the round;

        and what is left of the round in each machine state.
        """
        machine = self.mission.machine
        if not (self.mission.events and machine.quiescent):
            nothing = np.full_like(self._log_weights, -np.inf)
            return nothing, nothing, np.full(len(nothing), np.inf)
        pending, _ = log_goal_weights(discharging(outcomes, machine), skills, behind)
        forces, left = forcing_goals(self.mission, skills)
        return pending, np.where(forces, self._log_weights, -np.inf), left

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
        self._reactions.restart()
        self.entered(observation, moved=True)

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Take note of the state; once the machine has moved, goals are chosen afresh."""
        if moved:
            self._state = -1
        if self._discrete is not None:
            self._discrete.arrive(observation, moved)

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401, ARG002
        """Return what a step does, of what it may do: what is worth most in a typical state."""
        return best_option(
            self.mission.machine,
            state,
            options,
            lambda o: float(log_sum(np.array(o.reward), self._continuation(o.target))),
        )

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return no constraint: the machine knows which violations mattered. Rounds are noted."""
        self._reactions.see(tracker.accepting_visits, tracker.steps)
        pending = bool(np.isfinite(self._obligations[tracker.state]).any())
        left, typical = self._left[tracker.state], self._anywhere[tracker.state] / self._log_gamma
        steps = float(typical) if math.isfinite(left) else math.inf
        self._reactions.comes_first(pending=pending, left=float(left), steps=steps)
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
        best: FloatArray = self._worth(state, self._select(values)).max(axis=0)
        return best

    def _worth(self, state: int, values: GoalValues) -> FloatArray:
        """Return log of what each action is worth for each goal, `[goal, action]`."""
        weights = self._weights_here(state, values)
        worth: FloatArray = log_values(values) + weights[:, None]
        return worth

    def _typical_weights(self, state: int) -> FloatArray:
        """Return log of what each goal is worth on average; pending obligations come first."""
        first: FloatArray = self._first(state)
        return first if np.isfinite(first).any() else self._log_weights[state]

    def _first(self, state: int) -> FloatArray:
        """Return log of what goals are worth for what is pending in a machine state, if anything is."""
        forced: FloatArray = self._forced[state]
        again = self._reactions.forcing and np.isfinite(forced).any()
        return forced if again else self._obligations[state]

    def wanted(self, state: int) -> BoolArray:
        """Return the goals of any worth in a machine state."""
        return self._of_all(np.isfinite(self._typical_weights(state)))

    def _select(self, values: _Values) -> _Values:
        """Return the values of the goals that are planned with."""
        # `select` keeps the kind of values, which mypy cannot see through the union.
        return values if self._selected is None else cast("_Values", values.select(self._selected))

    def _of_all(self, some: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Return an entry for every goal of the skills, given those of the selected ones."""
        if self._selected is None:
            return some
        every = np.zeros(self._all_goals, some.dtype)
        every[self._selected] = some
        return every

    def _weights_here(self, state: int, values: GoalValues) -> FloatArray:
        """Return log of what each goal is worth: as seen from here, or on average."""
        if values.continuation is None or np.isfinite(self._first(state)).any():
            return self._typical_weights(state)
        states = (state, *self.mission.machine.commitments(state))
        seen = [self._lookahead.log_weights(each, values.continuation) for each in states]
        best: FloatArray = np.max(seen, axis=0)
        return best if np.isfinite(best).any() else self._typical_weights(state)

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> FloatArray:
        """Return what arriving at each goal is worth, for display."""
        if isinstance(values, GoalValues):
            return self._of_all(np.exp(self._weights_here(state, self._select(values))))
        return self._of_all(self.weights[state])

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the weighted maximum, or one that shows nothing if that is better."""
        decision = self._choose(state, self._select(values))
        if self._selected is None or decision.goal < 0:
            return decision
        return replace(decision, goal=int(self._selected[decision.goal]))

    def _choose(self, state: int, values: AnyGoalValues) -> Decision:
        pending = np.isfinite(self._obligations[state]).any()
        idle = float(self._idle[state])
        if not pending and idle > -math.inf and idle >= self._anywhere[state]:
            return self._show_nothing(state, values)
        if not pending and not self._possible[state] and state in self._by_events:
            return replace(self._show_nothing(state, values), expectation=Expectation.WAITING)
        if isinstance(values, ContinuousGoalValues):
            return self._pursue(state, values)
        worth = self._worth(state, values)
        if self._discrete is None:
            goal, action = divmod(int(worth.argmax()), worth.shape[1])
        else:
            goal, action = self._discrete.choose(worth, log_values(values).max(axis=1))
        value = float(worth[goal, action])
        return Decision(action, goal, math.exp(value), log_value=value)

    def _show_nothing(self, state: int, values: AnyGoalValues) -> Decision:
        """Return what is least likely to show anything: the empty label set is a goal like others."""
        value = math.exp(self._idle[state])
        if isinstance(values, ContinuousGoalValues):
            return Decision(values.action[0] * 0, -1, value)
        return Decision(int(values.stop.max(axis=0).argmin()), -1, value)

    def _pursue(self, state: int, values: ContinuousGoalValues) -> Decision:
        """Return what a robot with continuous actions does; each machine state begins afresh."""
        if state != self._state:
            self._options.restart()
            self._state = state
        worth = self._turns.in_turn(state, self._typical_weights(state))
        worth = worth + self._log_safety[state]
        wanted = np.isfinite(worth)
        chosen = self._options.choose(values, wanted, worth, hold=not self._can_fail[state])
        self._turns.pursue(state, int(chosen.goal[0]))
        goal, value = int(chosen.goal[0]), float(chosen.value[0])
        given_up = bool(chosen.exhausted[0] and self._can_fail[state])
        expectation = Expectation.EXHAUSTED if given_up else Expectation.NEARER
        return Decision(
            chosen.action[0], goal, value, expectation, log_value=float(chosen.log_value[0])
        )


def log_values(values: GoalValues) -> FloatArray:
    """Return the logarithms of the values of each goal and action, over both terminate decisions."""
    with np.errstate(divide="ignore"):
        found: FloatArray = np.log(np.maximum(values.move, values.stop).clip(min=0))
    return found


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
    """Return the weights; where learned values give every goal up, those of goals that lead on.

    Values of networks prove nothing, so the robot tries: by the fewest moves of the machine, of which
    `continuation[u, g]` are left after a goal.
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
# Where goals say which objects may be touched on the way, there is one for every set of them: with
# ten kinds of objects 5,120. But a mission names only some, and to it a goal that avoids the
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
