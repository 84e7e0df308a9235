"""The product planner of finite worlds: exact plans, on machine × world × visits.

The paper plans on the machine alone, and so picks transitions that no state of the world satisfies, ties
that are far away, and goals from which nothing else can be reached. Here the machine is planned together
with the world: what a goal is worth is what can be done after it. Where goals are places, the composed
skill is then a *weighted* maximum over goals,

    δ_Q(u)(s, a) = max_g  w_u(g) · Q_MAX(⟨s,∅⟩, g, ⟨a,1⟩),   w_u(g) = δ_r(u, g) + γ · V(δ_u(u, g), g),

of which the paper's mask is the special case w ∈ {0, 1}. V is exact, so the behaviour is optimal
wherever the learned values are. Where actions slip, the values of stopping are chances, and the mean
over where an action leads takes the place of the maximum. The values of the primitives are not needed to
choose an action: the plan's own ranks order them, also where weights are too small for numbers.

The history c plays no part: had a violation mattered, the machine would have failed. So a mission may
start on a decoration that it must never enter.

**Events.** The plan is made as if no event ever happened, of the actions that events cannot turn into a
loss (`solvers.event_game`). When one happens, the machine moves, and the plan is another. Three rules:

- What is pending because the machine left its quiescent states is done first, by the shortest way: a
  robot whose battery is low goes to the charger, and on with its patrol afterwards; unless that keeps
  it from its patrol (`reactions`): then by the way that forces the round, whatever happens.
- Where only an event can help, the robot waits for it: in a safe place, as near as can be to where it
  would go on. It never counts on the event.
- Where every way risks that an event makes the mission fail, the risk is taken. It is reported before:
  `risk_from` has the events, and what the robot shows when they find it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.events import Risk
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_machine.skill_machine import optimal_values, transition_value
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.deadlines import Deadlines
from skm_primitives.planning.policy import Decision, Expectation, best_option, log_of
from skm_primitives.planning.product import Node, Product, mission_product
from skm_primitives.planning.reactions import Reactions
from skm_primitives.planning.solvers import (
    BETTER,
    GAMMA,
    EventGame,
    Lengths,
    Reaction,
    best_lasso,
    best_way,
    event_game,
    log_options,
    options,
    possible,
    solve_values,
)
from skm_primitives.skills.values import AnyGoalValues, GoalValues, Skills
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.finite_world import FiniteWorld

SURE_GAMMA: Final = 0.9999
"""The discount for planning where actions slip: success is what is at stake then, not speed."""
ENDLESS_GAMMA: Final = 0.99
"""The same for missions without end, whose rewards have no end either."""
EQUAL: Final = 1e-7
"""Values that differ by less than this share are equal: rounding is less, a step is more."""
MOST_LOST: Final = 500.0
"""Steps lost that are told apart; more are as bad."""


class UnseenPlaceError(SkmError):
    """The robot is in a place that was never seen while learning."""


def first_best(ranks: FloatArray) -> IntArray:
    """Return the first of the best along the last axis: what differs by less than `EQUAL` is as good."""
    best = ranks.max(axis=-1, keepdims=True)
    # `argmax` alone would pick among equals by rounding, and so differently on other CPUs.
    first: IntArray = np.argmax(ranks >= best - EQUAL, axis=-1)
    return first


# Plans: what a solver says of every node, in one form.


class ShortestPlan:
    """The shortest way to a reward; of equally short ones the first action."""

    def __init__(self, product: Product, gamma: float, *, lasting: bool) -> None:
        """With `lasting`, to a reward that others without end can follow."""
        self.product, self._log_gamma = product, math.log(gamma)
        self.lengths = Lengths(product, gamma, lasting=lasting)

    @cached_property
    def achievable(self) -> BoolArray:
        """`[u, place, counter]`: whether the mission can be done from there."""
        found: BoolArray = np.isfinite(self.lengths.being).reshape(self.product.shape)
        return found

    def log_value(self, node: Node) -> float:
        """Return the logarithm of what being there is worth."""
        return float(self.lengths.being[self.product.reading(*node)]) * self._log_gamma

    def ranks(self, state: int, place: IntArray | int, counter: IntArray | int) -> FloatArray:
        """Return the logarithm of what each action is worth, as the last axis."""
        arrived = self.product.world.successors[place]
        if isinstance(counter, np.ndarray):
            counter = counter[..., None]
        found = self.lengths.arriving(state, arrived, counter) * self._log_gamma
        return _where_allowed(self.product, found, state, place, counter)

    def action(self, node: Node) -> int:
        """Return what to do there."""
        return int(first_best(self.ranks(*node)))

    def way(self, state: int, place: int, counter: int) -> int:
        """Return the machine state in which to read an arrival."""
        ways = self.product.ways(state)
        if len(ways) == 1:
            return state
        here = np.array([place])
        return min(ways, key=lambda way: float(self.lengths.direct(way, here, counter)[0]))

    def after(self, outcome: Outcome, node: Node) -> float:
        """Return the logarithm of what a step is worth, its reward and what follows at a node."""
        continuation = self._log_gamma + self.log_value(node)
        return float(np.logaddexp(log_of(outcome.reward), continuation))

    def arriving(self) -> FloatArray:
        """Return the logarithm of what arriving is worth, `[u, place, counter]`."""
        _, places, counters = self.product.shape
        place, counter = np.divmod(np.arange(places * counters), counters)
        rows = [self.lengths.arriving(u, place, counter) for u in range(self.product.shape[0])]
        found: FloatArray = np.array(rows).reshape(self.product.shape) * self._log_gamma
        return found


def _where_allowed(
    product: Product,
    ranks: FloatArray,
    state: int,
    place: IntArray | int,
    counter: IntArray | int,
) -> FloatArray:
    """Return ranks with −∞ for actions that are not allowed."""
    if product.allowed is None:
        return ranks
    at = counter[..., 0] if isinstance(counter, np.ndarray) else counter
    return np.where(product.allowed[state][place, :, at], ranks, -np.inf)


class ValuePlan:
    """The greatest value where actions slip, or where there are rewards below 0."""

    def __init__(self, product: Product, gamma: float, slip: float) -> None:
        self.product, self._gamma = product, gamma
        self.achievable = possible(product, endless=product.machine.endless)
        self._values = solve_values(product, gamma, slip)
        self._way = best_way(product, self._values.direct)

    @cached_property
    def _ranks(self) -> FloatArray:
        arriving = self._values.arriving
        if not self._values.logs:
            return options(self.product, arriving)
        return log_options(self.product, arriving, slice(None))

    def log_value(self, node: Node) -> float:
        """Return the logarithm of what being there is worth; NaN where values have none."""
        return float(self._values.being[node]) if self._values.logs else math.nan

    def value(self, node: Node) -> float:
        """Return what being there is worth."""
        value = float(self._values.being[node])
        return math.exp(value) if self._values.logs else value

    def ranks(self, state: int, place: IntArray | int, counter: IntArray | int) -> FloatArray:
        """Return what orders the actions, as the last axis: logarithms of values, or values."""
        found: FloatArray = self._ranks[state][place, :, counter]
        return found

    def worth(self, ranks: FloatArray) -> FloatArray:
        """Return the values that ranks stand for."""
        worth: FloatArray = np.exp(ranks) if self._values.logs else ranks
        return worth

    def action(self, node: Node) -> int:
        """Return what to do there."""
        return int(first_best(self.ranks(*node)))

    def way(self, state: int, place: int, counter: int) -> int:
        """Return the machine state in which to read an arrival."""
        return int(self._way[state, place, counter])

    def after(self, outcome: Outcome, node: Node) -> float:
        """Return the logarithm of what a step is worth, its reward and what follows at a node."""
        value = float(self._values.being[node])
        if not self._values.logs:
            return log_of(outcome.reward + self._gamma * value)
        return float(np.logaddexp(log_of(outcome.reward), math.log(self._gamma) + value))

    def arriving(self) -> FloatArray:
        """Return what arriving is worth, as a rank, `[u, place, counter]`."""
        return self._values.arriving


class LassoPlan:
    """Rounds without end, as many as can be.

    The value of an action says how much the arrival that it leads to loses against the best one: γ to
    the number of steps that it costs. In the long run that is all that tells two lassos apart.
    """

    def __init__(self, product: Product, gamma: float, *, reacting: bool) -> None:
        self.product, self._log_gamma = product, math.log(gamma)
        self._lasso = best_lasso(product, gamma)
        self.achievable = self._lasso.achievable
        self.reaction = Reaction(product, self._lasso.action) if reacting else None

    def ranks(self, state: int, place: int, counter: int) -> FloatArray:
        """Return the logarithm of what each action is worth."""
        arriving = self._lasso.arriving[state, self.product.world.successors[place], counter]
        # Rounds lost, divided by rounds a step: so many steps does an arrival cost.
        gain = max(float(self._lasso.gain[state, place, counter]), BETTER)
        lost: FloatArray = np.minimum((arriving.max() - arriving) / gain, MOST_LOST)
        return lost * self._log_gamma

    def action(self, node: Node) -> int:
        """Return what to do there."""
        return int(self._lasso.action[node])

    def way(self, state: int, place: int, counter: int) -> int:
        """Return the machine state in which to read an arrival."""
        return int(self._lasso.way[state, place, counter])

    def after(self, outcome: Outcome, node: Node) -> float:
        """Return the logarithm of what a step is worth, its reward and what follows at a node."""
        return log_of(outcome.reward + GAMMA * float(self._lasso.value[node]))


Plan = ShortestPlan | ValuePlan | LassoPlan


class ProductPolicy:
    """Zero-shot execution in a finite world: the shortest way to success, or the best lasso."""

    planner = "product"

    def __init__(
        self, mission: Mission, skills: Skills, world: FiniteWorld, slip: float = 0.0
    ) -> None:
        if not world.states:
            raise SkmError(f"the skills of '{skills.domain}' know no place: train them first")
        self.mission = mission
        self._world, self._skills, self._gamma = world, skills, skills.gamma
        self.game: EventGame | None = None
        """What events can do to it; None without events."""
        self._hopes: list[ShortestPlan] = []
        """Where only an event can help: ways by its help, the first with no risk."""
        self._plans = self._make_plans(slip)
        """The first that can do the mission from a node is followed: they take more and more risk."""
        self.product = self._plans[-1].product
        # Not from any start: refused before the robot moves. From one start only it is refused in
        # `start`.
        if not self.possible[mission.machine.initial, :, 0].any():  # no visits are counted yet
            clause = blocking_clause(mission, self.product.shown_labels())
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")
        self._place = self._counter = 0
        self._labels = frozenset[str]()
        self._reactions = Reactions()
        self._moves: dict[tuple[int, Node], tuple[int, int, int]] = {}
        """What `_next_move` has found, by the number of the plan."""
        self._deadlines: Deadlines | None = None
        # Deadlines are planned in steps, for which actions must lead surely, and places must not
        # change by visits.
        plain = world.chances is None and self.product.shape[2] == 1
        if mission.timed is not None and plain and self.game is None:
            self._deadlines = Deadlines(mission.timed, world)

    # Plans.

    def _make_plans(self, slip: float) -> list[Plan]:
        machine, world = self.mission.machine, self._world
        if self.mission.events:
            return self._plans_against_events()
        product = mission_product(machine, world)
        slips = bool(slip) or world.chances is not None
        if slips or (product.reward < 0).any():
            return [ValuePlan(product, self._discount(slip), slip)]
        # On maps, the next rounds are planned for, as they are discounted: a patrol of four rooms takes
        # 0.5 s of planning on 12,493 cells, the most rounds in the long run 1.7 s.
        on_a_map = world.goal_probability is None and not product.commitments
        if machine.endless and not on_a_map:
            return [LassoPlan(product, self._gamma, reacting=False)]
        return [ShortestPlan(product, self._gamma, lasting=machine.endless)]

    def _discount(self, slip: float) -> float:
        """Return the discount to plan with where actions slip, or rewards are below 0."""
        if slip:
            return SURE_GAMMA
        if self._world.chances is None:
            return self._gamma
        return max(ENDLESS_GAMMA, self._gamma) if self.mission.machine.endless else SURE_GAMMA

    def _plans_against_events(self) -> list[Plan]:
        machine = self.mission.machine
        self.game = game = event_game(machine, self._world, self.mission.events)
        running = sorted(set(range(machine.num_states)) - machine.terminal - machine.failure)

        def plan(product: Product) -> LassoPlan:
            return LassoPlan(product, self._gamma, reacting=True)

        plans = [plan(game.quiet)]
        found = plans[0].achievable
        if machine.epsilon_transitions and game.kept.any():
            # Commitments that events can break come last: a plan without them is preferred where
            # there is one.
            plans.insert(0, plan(game.sure))
        if not (found[running].all() or game.allowed.all()):
            plans.append(plan(game.unrestricted))
            found = found | plans[-1].achievable
        # Where the robot alone cannot go on, it waits for an event at a good place: first without
        # any risk.
        self._hopes = [ShortestPlan(game.helped, self._gamma, lasting=True)]
        found = found | self._hopes[0].achievable
        if not (found[running].all() or game.allowed.all()):
            self._hopes.append(ShortestPlan(game.product, self._gamma, lasting=True))
        return list(plans)

    def _plan(self, node: Node) -> Plan:
        """Return the plan to go by at a node: the first by which the mission can be done from there."""
        # Asked anew at every node: an event may have brought the robot to where a safer plan works
        # again.
        return next((plan for plan in self._plans if plan.achievable[node]), self._plans[0])

    @cached_property
    def possible(self) -> BoolArray:
        """`[u, place, counter]`: from where the mission can be done; with events, if these help."""
        found: BoolArray = np.logical_or.reduce([p.achievable for p in self._plans + self._hopes])
        return found

    # Where the robot is.

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin in the observed place, with no visits counted; refuse what cannot be done from here."""
        self._place, self._counter = self.place_of(observation), 0
        self._reactions.restart()
        if not self.possible[self.mission.machine.initial, self._place, 0]:
            raise UnachievableMissionError(
                "the mission cannot be achieved from here, though it can from elsewhere: there is no"
                " way within its bounds and without what it forbids"
            )
        if self._deadlines is not None:
            # They were found for other deadlines, which depend on where the mission began.
            self._moves.clear()
            self._deadlines.plan_from(self._place, self.steps_from(self._place))

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401, ARG002
        """Count the visit."""
        self._place, self._counter = self._after(observation)

    def _after(self, observation: Any) -> tuple[int, int]:  # noqa: ANN401
        """Return the place that was entered, and the visits counted there."""
        place = self.place_of(observation)
        return place, int(self.product.counter_after[place, self._counter])

    def place_of(self, observation: Any) -> int:  # noqa: ANN401
        """Return the number that an observed place has in arrays."""
        place = self._world.state(int(observation))
        if place < 0:
            raise UnseenPlaceError(f"place {int(observation)} was never seen while learning")
        return place

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return no constraint: the machine knows which violations mattered. What is shown is noted."""
        self._labels = tracker.labels
        self._reactions.see(tracker.accepting_visits, tracker.steps)
        return frozenset()

    # What to do.

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what a step does, of what it may do: what is worth most where it has led.

        What can be kept whatever happens comes before all else.
        """
        place, counter = self._after(observation)
        if self.game is not None:
            kept = [o for o in options if self.game.kept[o.target, place, counter]]
            # Where nothing can be kept any more, the best of the rest is taken.
            options = tuple(kept) or options
            if kept and self._reactions.forcing:
                ranks = self.game.forced[0]
                return min(
                    kept, key=lambda o: -1 if o.reward > 0 else ranks[o.target, place, counter]
                )

        def value(outcome: Outcome) -> float:
            node = outcome.target, place, counter
            return self._plan(node).after(outcome, node)

        return best_option(self.mission.machine, state, options, value)

    def log_values(self, state: int, values: AnyGoalValues) -> FloatArray:  # noqa: ARG002
        """Return what each action is worth where the robot is, as ranks: the greatest is the best."""
        here = state, self._place, self._counter
        return self._plan(here).ranks(*here)

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the value of each action: by the values of the goals that it leads to, where goals

        are places; else by the plan.
        """
        if self._weights is not None:
            weighted = values.stop * self._weights[state, self._counter]
            slips = self._world.chances is not None
            # Where actions lead by chance, the goals of an action are alternatives whose chances
            # add up.
            best: Float32Array = weighted.sum(axis=0) if slips else weighted.max(axis=0)
            return best
        here = state, self._place, self._counter
        plan = self._plan(here)
        ranks = plan.ranks(*here)
        worth = plan.worth(ranks) if isinstance(plan, ValuePlan) else np.exp(ranks)
        return worth.astype(np.float32)

    def choose(self, state: int, values: AnyGoalValues) -> Decision:  # noqa: ARG002
        """Return the next action; values are not needed for it."""
        return self.choose_ahead(state)

    def choose_ahead(self, state: int) -> Decision:
        """Return the next action, and the goal at which the machine moves next."""
        here = state, self._place, self._counter
        plan = self._plan(here)
        reaction = self._reaction(here)
        if self.game is not None:
            left = float(self.game.forced[0][here]) if self.game.kept[here] else math.inf
            self._reactions.comes_first(pending=reaction is not None, left=left, steps=left)
            if self._reactions.forcing:
                return self._force(self.game, here)
        if reaction is not None:
            action, steps, arrival = reaction.decide(here)
            value = (steps - 1) * math.log(self._gamma)
            goal = int(self._goal_at[arrival])
            return Decision(action, goal, math.exp(value), log_value=value, steps=steps)
        if self._hopes and not plan.achievable[here]:
            return self._wait(here)
        action, steps, goal = self._next_move(plan, here)
        expected = max(steps, 0)
        if isinstance(plan, LassoPlan):
            value = (steps - 1) * math.log(self._gamma) if steps > 0 else -math.inf
            return Decision(action, goal, math.exp(value), log_value=value, steps=expected)
        value = plan.log_value(here)
        if isinstance(plan, ValuePlan):  # Chance may throw a robot back.
            expectation = Expectation.NEARER if self._world.chances is None else Expectation.CHANCE
            return Decision(action, goal, plan.value(here), expectation, log_value=value)
        rest = self._may_rest(plan, here)
        return Decision(action, goal, math.exp(value), log_value=value, rest=rest, steps=expected)

    def _force(self, game: EventGame, node: Node) -> Decision:
        """Return what forces the next round, and where the machine moves next if no event happens."""
        first, product = game.forcing_action(node), self.product
        action = first
        for steps in range(int(game.forced[0][node])):
            state, place, counter = node
            place = int(self._world.successors[place, action])
            reading = product.reading(state, place, counter)
            node = product.node(int(product.lands(reading)))
            if node[0] != state or product.pays(reading) > 0:
                value = steps * math.log(self._gamma)
                goal = int(self._goal_at[place, counter])
                return Decision(first, goal, math.exp(value), log_value=value, steps=steps + 1)
            action = game.forcing_action(node)
        return Decision(first, -1, 1.0)

    def action_at(self, node: Node) -> int:
        """Return what it does at a node, as long as no event happens."""
        reaction = self._reaction(node)
        if reaction is not None:
            return reaction.action(node)
        plan = self._plan(node)
        if self._hopes and not plan.achievable[node]:
            return int(self._wait(node).action)
        return self._in_time(node, plan)

    def _reaction(self, node: Node) -> Reaction | None:
        """Return how to do what is pending at a node; None if nothing is, or nothing helps."""
        for plan in (self._plans[0], self._plan(node)):
            reaction = plan.reaction if isinstance(plan, LassoPlan) else None
            if reaction is not None and reaction.is_pending(node):
                return reaction
        return None

    def _wait(self, node: Node) -> Decision:
        """Return what brings the robot nearest to where an event would help, and keeps it safe."""
        hope = next((some for some in self._hopes if some.achievable[node]), None)
        if hope is None:
            return Decision(self._harmless(node), -1, 0.0, Expectation.WAITING)
        return Decision(hope.action(node), -1, math.exp(hope.log_value(node)), Expectation.WAITING)

    def _harmless(self, node: Node) -> int:
        """Return what to do where nothing helps any more: to stay, unless that fails at once.

        A mission that an event has made impossible is no reason to do what it forbids.
        """
        state, place, counter = node
        product, failure = self.product, self.mission.machine.failure

        def harm(action: int) -> tuple[bool, bool]:
            arrival = int(self._world.successors[place, action])
            landed = product.node(int(product.lands(product.reading(state, arrival, counter))))
            return landed[0] in failure, arrival != place

        return min(range(self._world.successors.shape[1]), key=harm)

    def _may_rest(self, plan: ShortestPlan, node: Node) -> bool:
        """Tell whether only the clock brings the mission on here, and no other place is better."""
        if self._deadlines is None or node[:2] in self._deadlines.actions:
            return False
        timed, state = self._deadlines.timed, node[0]
        # By the labels that hold: at the edge of a place they may be others than those of the cell.
        planned = timed.planned.machine.step(state, self._labels)
        if planned == timed.machine.step(state, self._labels):
            return False
        here = 0.0 if planned.reward > 0 else plan.after(planned, (planned.target, *node[1:]))
        return bool(here >= plan.ranks(*node).max() - EQUAL)

    def _next_move(self, plan: Plan, node: Node) -> tuple[int, int, int]:
        """Return what the plan does at a node, in how many steps the machine moves next, at which goal.

        The way is followed there, as if actions led where they do as a rule; −1 if it never moves.
        """
        number, product = self._plans.index(plan), self.product
        way: dict[Node, int] = {}
        steps, goal, start = -1, -1, node
        # A way that comes back to a node never moves the machine: −1.
        while node not in way:
            if (number, node) in self._moves:
                _, steps, goal = self._moves[number, node]
                break
            state, place, counter = node
            action = way[node] = self._in_time(node, plan)
            place = int(self._world.successors[place, action])
            reading = product.reading(plan.way(state, place, counter), place, counter)
            # A broken commitment, or a plan that does not apply here: nothing can be said of what
            # follows.
            if not product.keeps(reading) or not plan.achievable[node]:
                break
            node = product.node(int(product.lands(reading)))
            if node[0] != state or product.pays(reading) > 0:
                steps, goal = 0, int(self._goal_at[place, counter])
                break
        for passed, action in reversed(way.items()):
            steps = steps + 1 if steps >= 0 else -1
            self._moves[number, passed] = action, steps, goal
        return self._moves[number, start]

    def way_ahead(self, state: int, place: int, most: int) -> list[int] | None:
        """Return the places that it goes through from one to where the machine moves; None if it stays.

        The present one first, as many as `most`, as long as no event happens.
        """
        product, seen = self.product, set[Node]()
        here = place == self._place  # else it was entered just now, and is not counted yet
        counter = self._counter if here else int(product.counter_after[place, self._counter])
        node: Node = (state, place, counter)
        places = [place]
        while node not in seen and len(places) < most:
            seen.add(node)
            number = int(self._world.successors[node[1], self.action_at(node)])
            reading = product.reading(state, number, node[2])
            node = product.node(int(product.lands(reading)))
            places.append(number)
            if node[0] != state or product.pays(reading) > 0:
                return places
        return places if len(places) >= most else None

    def _in_time(self, node: Node, plan: Plan) -> int:
        """Return what a plan does at a node, unless there is a deadline to meet."""
        hurried = None if self._deadlines is None else self._deadlines.actions.get(node[:2])
        return plan.action(node) if hurried is None else hurried

    # Goals.

    @cached_property
    def _goal_at(self) -> IntArray:
        """The goal that each arrival [place, counter] achieves; −1 if it is in no buffer."""
        number: dict[tuple[int | None, frozenset[str]], int] = {}
        for index, goal in enumerate(self._skills.goals):
            # Where goals are places, the machine keeps the history: goals with violations are not
            # pursued.
            if goal.place is None or not goal.violated:
                number.setdefault((goal.place, goal.labels), index)
        label_sets, label_ids = self._world.label_sets, self.product.label_ids
        anywhere = np.array([number.get((None, labels), -1) for labels in label_sets], np.int64)
        found: IntArray = anywhere[label_ids]
        if self._world.state_of is not None:
            for observed, place in self._world.state_of.items():
                for counter, label in enumerate(label_ids[place].tolist()):
                    own = number.get((observed, label_sets[label]))
                    if own is not None:
                        found[place, counter] = own
        return found

    @cached_property
    def _weights(self) -> Float32Array | None:
        """w[u, counter, goal]: what arriving at each goal is worth; None where goals are no places.

        Divided by the chance that arriving shows the goal's labels, which is a factor of its values:
        the visit counts already say which labels the next arrival shows.
        """
        plan, chance = self._plans[0], self._world.goal_probability
        if isinstance(plan, LassoPlan) or chance is None:
            return None
        ranks = plan.arriving()
        worth = plan.worth(ranks) if isinstance(plan, ValuePlan) else np.exp(ranks)
        states, _, counters = worth.shape
        weights = np.zeros((states, counters, len(self._skills.goals)), np.float32)
        place, counter = np.nonzero(self._goal_at >= 0)
        weights[:, counter, self._goal_at[place, counter]] = worth[:, place, counter]
        weights /= chance
        return weights[:, :, :, None]

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> Float32Array:  # noqa: ARG002
        """Return what arriving at each goal is worth, for display."""
        if self._weights is not None:
            weights: Float32Array = self._weights[state, self._counter, :, 0]
            return weights
        machine, goals = self.mission.machine, self._skills.goals
        known = {labels: machine.step(state, labels) for labels in {g.labels for g in goals}}
        worth = {
            labels: transition_value(machine, state, outcome, self._machine_values, self._gamma)
            for labels, outcome in known.items()
        }
        return np.array([worth[goal.labels] for goal in goals], np.float32)

    @cached_property
    def _machine_values(self) -> Sequence[float]:
        return optimal_values(self.mission.machine, self._gamma)

    # Reports before anything moves.

    @cached_property
    def steps(self) -> FloatArray:
        """`[u, place, counter]`: the steps to the first reward by the shortest way; else infinite."""
        plan = self._plans[0]
        if not isinstance(plan, ShortestPlan):
            return np.full(self.product.shape, np.inf)
        return (plan.lengths.being + 1).reshape(self.product.shape)

    def steps_from(self, place: int) -> float:
        """Return how many steps the mission takes from a place to its first reward; infinite: never."""
        return float(self.steps[self.mission.machine.initial, place, 0])

    @property
    def most_steps(self) -> int:
        """Steps that are enough for the mission from everywhere, twice over; 0 if unknown."""
        steps = self.steps[self.mission.machine.initial, :, 0]
        return 2 * math.ceil(float(steps[np.isfinite(steps)].max(initial=0.0)))

    def way_from(self, place: int) -> list[tuple[int, int, int]]:
        """Return the way to the first reward: machine state, place and action of each step."""
        node, product = (self.mission.machine.initial, place, 0), self.product
        way: list[tuple[int, int, int]] = []
        while len(way) < product.size and math.isfinite(self.steps[node]):
            action = self.action_at(node)
            way.append((node[0], node[1], action))
            reached = int(self._world.successors[node[1], action])
            reading = product.reading(node[0], reached, node[2])
            if product.pays(reading) > 0:
                break
            node = product.node(int(product.lands(reading)))
        return way

    def shortest_trace(self) -> list[frozenset[str]] | None:
        """Return the labels of the shortest of its ways to the first reward; None if unknown."""
        steps = self.steps[self.mission.machine.initial, :, 0]
        if not np.isfinite(steps).any() or self.product.shape[2] > 1:
            return None
        world = self._world
        shown = world.label_ids[world.successors]
        return [
            world.label_sets[int(shown[place, action])]
            for _, place, action in self.way_from(int(steps.argmin()))
        ]

    def actions_in(self, state: int) -> IntArray:
        """Return `[place, counter]`: what it does in a machine state, as long as no event happens."""
        plan = self._plans[0]
        _, places, counters = self.product.shape
        if self.game is None and not isinstance(plan, LassoPlan) and self._deadlines is None:
            place, counter = np.divmod(np.arange(places * counters), counters)
            return first_best(plan.ranks(state, place, counter)).reshape(places, counters)
        return np.array(
            [[self.action_at((state, p, k)) for k in range(counters)] for p in range(places)]
        )

    @cached_property
    def waiting(self) -> BoolArray:
        """`[u, place, counter]`: where it can only wait for an event."""
        done = [plan.achievable for plan in self._plans]
        reactions = [plan.reaction for plan in self._plans if isinstance(plan, LassoPlan)]
        pending = [reaction.pending for reaction in reactions if reaction is not None]
        waiting: BoolArray = self.possible & ~np.logical_or.reduce([*done, *pending])
        return waiting

    def pending_steps(self, state: int) -> int:
        """Return in how many steps from here no obligation is pending any more; 0 without events."""
        here = state, self._place, self._counter
        plans = [p for p in (self._plans[0], self._plan(here)) if isinstance(p, LassoPlan)]
        return min((p.reaction.steps(here) for p in plans if p.reaction is not None), default=0)

    def risk_from(self, observation: Any) -> Risk | None:  # noqa: ANN401
        """Return how events can make the mission fail from an observed place, whatever it does."""
        node = self.mission.machine.initial, self.place_of(observation), 0
        if self.game is None or self.game.kept[node] or not self.possible[node]:
            return None
        counterexample = self.game.counterexample(node, self.action_at)
        happened = frozenset().union(*counterexample.steps, *counterexample.forever)
        named = tuple(name for name in self.mission.events if name in happened)
        return Risk(named or self.mission.events, counterexample)

    # Deadlines.

    @property
    def warning(self) -> str:
        """What is to be feared of the clock, as a sentence; empty if nothing is."""
        return "" if self._deadlines is None else self._deadlines.warning

    def look_ahead_from(self, observation: Any) -> None:  # noqa: ANN401
        """Look for a way in time from where the mission will begin, while there is time for that."""
        if self._deadlines is not None:
            self._deadlines.look_ahead_from(self.place_of(observation))

    def share_in_time(self, places: Sequence[int], step_seconds: float) -> float | None:
        """Return the share of these places from which no deadline passes; None if there is none."""
        if self._deadlines is None:
            return None
        return self._deadlines.share_in_time(places, step_seconds)
