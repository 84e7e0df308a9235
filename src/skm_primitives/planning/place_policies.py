"""The product planner where goals are places or the world is known: exact plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.events import Risk
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.deadlines import (
    MOST_SECONDS,
    WHILE_IT_WAITS,
    Forecast,
    can_be_late,
    soonest,
)
from skm_primitives.planning.known_product import KnownProduct
from skm_primitives.planning.policy import Decision, Outlook, best_option, log_of
from skm_primitives.planning.product import MissionProduct, mission_product
from skm_primitives.planning.reachability import MissionGraph, log_values
from skm_primitives.planning.solvers import (
    BETTER,
    GAMMA,
    EventGame,
    Lasso,
    Reaction,
    best_lasso,
    event_game,
)
from skm_primitives.skills.values import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalValues,
    KnownWorld,
    PlaceWorld,
    Skills,
)
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray

# What policies have in common where goals are places: where the robot is, and what it has
# visited.


class UnseenPlaceError(SkmError):
    """The robot is in a place that was never seen while learning."""


class PlacePolicy:
    """A policy that knows its place in the product of machine, places and visit counts."""

    planner = "product"

    def __init__(self, mission: Mission, skills: Skills, world: PlaceWorld) -> None:
        self.mission = mission
        if not world.places:
            raise SkmError(f"the skills of '{skills.domain}' know no place: train them first")
        self._world = world
        self._product: MissionProduct = mission_product(mission.machine, world)
        self._goal_at = self._goals_of_arrivals(skills)
        self._place_number = {place: index for index, place in enumerate(world.places)}
        self._place = 0
        self._counter = 0

    def _goals_of_arrivals(self, skills: Skills) -> IntArray:
        """Return the goal that each arrival [place, counter] achieves; −1 if it is in no buffer."""
        number = {
            (goal.place, goal.labels): index
            for index, goal in enumerate(skills.goals)
            if not goal.violated
        }
        rows = zip(self._world.places, self._product.labels, strict=True)
        return np.array(
            [
                [number.get((place, shown), number.get((None, shown), -1)) for shown in labels]
                for place, labels in rows
            ]
        )

    def _pursued_goals(self, destinations: IntArray) -> IntArray:
        """Return the goal of each destination; −1 if there is none."""
        return np.where(destinations >= 0, self._goal_at.reshape(-1)[destinations], -1)

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin in the observed place, with no visits counted."""
        self._place = self._number_of(observation)
        self._counter = 0

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401, ARG002
        """Count the visit."""
        self._place, self._counter = self._after(observation)

    def _after(self, observation: Any) -> tuple[int, int]:  # noqa: ANN401
        """Return the place that was entered, and the visits counted there."""
        place = self._number_of(observation)
        return place, int(self._product.counter[place, self._counter])

    def place_of(self, observation: Any) -> int:  # noqa: ANN401
        """Return the number that an observed place has in arrays."""
        return self._number_of(observation)

    def _number_of(self, observation: Any) -> int:  # noqa: ANN401
        try:
            return self._place_number[int(observation)]
        except KeyError:
            raise UnseenPlaceError(
                f"place {int(observation)} was never seen while learning"
            ) from None

    def history(self, tracker: MissionTracker) -> frozenset[str]:  # noqa: ARG002
        """Return no constraint: the machine knows which violations mattered."""
        return frozenset()


# The product planner: plans with what the primitives know of the world, beyond the paper.
#
# The paper plans on the machine alone, and so picks transitions that no state of the world
# satisfies, ties that are far away, and goals from which nothing else can be reached. Here the
# machine is planned together with the goals: only goals in the buffer can be achieved, and what a
# goal is worth is what can be done after it. The composed skill is then a *weighted* maximum over
# goals,
#
#     δ_Q(u)(s, a) = max_g  w_u(g) · Q_MAX(⟨s,∅⟩, g, ⟨a,1⟩),   w_u(g) = δ_r(u, g) + γ · V(δ_u(u, g),
#       g),
#
# of which the paper's mask is the special case w ∈ {0, 1}. With places as goals, V is exact, so
# the behaviour is optimal wherever the learned values are. Where actions slip, the values of
# stopping are chances, and the mean over where an action leads takes the place of the maximum.
#
# The history c plays no part: had a violation mattered, the machine would have failed. So a
# mission may start on a decoration that it must never enter.


SURE_GAMMA: Final = 0.9999
"""The discount for planning where actions slip: success is what is at stake then, not speed."""
ENDLESS_GAMMA: Final = 0.99
"""The same for missions without end, whose rewards have no end either."""
EQUAL: Final = 1e-7
"""Values that differ by less than this share are equal: rounding is less, a step is more."""


class GroundedPolicy(PlacePolicy):
    """Zero-shot execution with goal weights from planning on machine × places × visit counts."""

    def __init__(
        self, mission: Mission, skills: Skills, world: PlaceWorld, slip: float = 0.0
    ) -> None:
        super().__init__(mission, skills, world)
        self._gamma = _discount(mission, skills, world, slip)
        machine, product = mission.machine, self._product
        self._possible = MissionGraph([product]).possible(machine.endless)
        """`[u, place, counter]`: whether some run from there does what the mission asks for."""
        if not self._possible[machine.initial].any():
            clause = blocking_clause(mission, product.shown_labels(machine.initial))
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")
        self._values, arriving, direct = self._solve(slip)
        """`[u, place, counter]`: what being there is worth, as a rank: the greater the better."""
        self._arriving = arriving
        self._weights = self._goal_weights(self._worth(arriving), len(skills.goals))
        options = self._options(arriving, slice(None))
        self.actions: IntArray = first_best(np.moveaxis(options, 2, 3))
        """`[u, place, counter]`: what it does everywhere."""
        _, destinations = product.next_moves(self.actions, product.best_way(direct))
        self._pursued = self._pursued_goals(destinations)

    def _solve(self, slip: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what being at, arriving at and arriving at with no commitment made each node are worth.

        As logarithms, unless there are rewards below 0.
        """
        product, gamma = self._product, self._gamma
        self._logs = product.positive
        if not self._logs:
            values, arriving = product.solve(gamma, slip)
            return values, arriving, product.arriving_directly(values, gamma)
        if slip or self._world.chances is not None:
            return log_values(product, gamma, slip)
        lengths = MissionGraph([product]).lengths(gamma)
        log_gamma = math.log(gamma)
        return (
            lengths.being * log_gamma,
            lengths.arriving * log_gamma,
            lengths.direct * log_gamma,
        )

    def _worth(self, ranks: FloatArray) -> FloatArray:
        """Return the values that ranks stand for."""
        worth: FloatArray = np.exp(ranks) if self._logs else ranks
        return worth

    def _options(self, arriving: FloatArray, rows: slice | list[int]) -> FloatArray:
        """Return what each action is worth in some machine states, as ranks."""
        if self._logs:
            return self._product.log_options(arriving, rows)
        return self._product.options(arriving)

    def _goal_weights(self, arriving: FloatArray, goals: int) -> Float32Array:
        """Return w[u, counter, goal]: what arriving at each goal is worth.

        Divided by the chance that arriving shows the goal's labels, which is a factor of its values:
        the visit counts already say which labels the next arrival shows.
        """
        machine_states, _, combinations = arriving.shape
        weights = np.zeros((machine_states, combinations, goals), np.float32)
        place, counter = np.nonzero(self._goal_at >= 0)
        weights[:, counter, self._goal_at[place, counter]] = arriving[:, place, counter]
        weights /= self._world.goal_probability
        return weights[:, :, :, None]

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin in the observed place, with no visits counted; refuse what cannot be done from here."""
        super().start(observation)
        if not self._possible[self.mission.machine.initial, self._place, 0]:
            raise not_from_here(observation)

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what a step does, of what it may do: what is worth most where it has led."""
        place, counter = self._after(observation)
        return best_option(
            self.mission.machine,
            state,
            options,
            lambda o: self._log_after(o, (o.target, place, counter)),
        )

    def _log_after(self, outcome: Outcome, node: tuple[int, int, int]) -> float:
        """Return the logarithm of what a step is worth, its reward and what follows."""
        value = float(self._values[node])
        if not self._logs:
            return log_of(outcome.reward + self._gamma * value)
        return float(np.logaddexp(log_of(outcome.reward), math.log(self._gamma) + value))

    def log_values(self, state: int, values: AnyGoalValues) -> FloatArray:  # noqa: ARG002
        """Return what each action is worth where the robot is, as ranks: the greatest is the best."""
        rows = self._arriving if not self._logs else self._arriving[[state]]
        options = self._options(rows, [state])
        ranks: FloatArray = options[0 if self._logs else state, self._place, :, self._counter]
        return ranks

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the weighted maximum over the goals that each action leads to; where actions slip,

        the mean: stopping is worth the chance of each.
        """
        weighted = values.stop * self._weights[state, self._counter]
        slips = self._world.chances is not None
        best: Float32Array = weighted.sum(axis=0) if slips else weighted.max(axis=0)
        return best

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> Float32Array:  # noqa: ARG002
        """Return what arriving at each goal is worth, for those who watch."""
        weights: Float32Array = self._weights[state, self._counter, :, 0]
        return weights

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the weighted maximum, and the goal at which the machine moves next.

        The maximum is taken over the plan's own ranks: weights of far goals are too small for numbers.
        """
        if isinstance(values, ContinuousGoalValues):
            raise SkmError("place goals go with discrete actions")
        here = state, self._place, self._counter
        action = int(first_best(self.log_values(state, values)))
        outlook = Outlook.NEARER if self._world.chances is None else Outlook.CHANCE
        value = float(self._values[here])
        worth = float(self._worth(self._values[here]))
        log_value = value if self._logs else math.nan
        return Decision(action, int(self._pursued[here]), worth, outlook, log_value=log_value)


def first_best(ranks: FloatArray) -> IntArray:
    """Return the first of the best along the last axis: what differs by less than `EQUAL` is as good."""
    best = ranks.max(axis=-1, keepdims=True)
    first: IntArray = np.argmax(ranks >= best - EQUAL, axis=-1)
    return first


def _discount(mission: Mission, skills: Skills, world: PlaceWorld, slip: float) -> float:
    """Return the discount to plan with: near 1 where actions slip."""
    if slip:
        return SURE_GAMMA
    if world.chances is None:
        return skills.gamma
    return max(ENDLESS_GAMMA, skills.gamma) if mission.machine.endless else SURE_GAMMA


def not_from_here(observation: Any) -> UnachievableMissionError:  # noqa: ANN401
    """Return the error of a mission that can be achieved, but not from where the robot is."""
    return UnachievableMissionError(
        f"the mission cannot be achieved from here (place {int(observation)}), though it can "
        "from elsewhere"
    )


# The product planner where the world is known as a whole: optimal from every cell.
#
# It plans on machine × cells (`known_product`), so where in a place it arrives is chosen for what
# comes after. The values of the primitives are not needed to choose an action: they say how far
# single goals are, for those who watch.


"""Ways whose lengths differ by less than this share of a step are equally long."""


class KnownWorldPolicy:
    """Takes the shortest way to success; of equally short ones the first action, straight ones first."""

    planner = "product"

    def __init__(self, mission: Mission, skills: Skills, world: KnownWorld) -> None:
        self.mission = mission
        self._world = world
        self._product = KnownProduct(mission.machine, world, skills.gamma)
        self._gamma = skills.gamma
        if not np.isfinite(self._product.length[mission.machine.initial]).any():
            clause = blocking_clause(mission, self._shown())
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")
        numbers: dict[frozenset[str], int] = {}
        for index, goal in enumerate(skills.goals):
            numbers.setdefault(goal.labels, index)
        self._goal_of = [numbers.get(labels, -1) for labels in world.label_sets]
        self._pursued: dict[tuple[int, int], int] = {}
        self._cell = 0
        self._labels = frozenset[str]()
        self._timed = mission.timed
        self._in_time: dict[tuple[int, int], int] = {}
        """The action in each machine state and cell of a way that is fast enough."""
        self._forecasts: dict[int, Forecast] = {}
        self.warning = ""
        """What is to be feared of the clock, as a sentence; empty if nothing is."""

    def _shown(self) -> dict[int, set[frozenset[str]]]:
        """Return the label sets that the world has, for each machine state that they lead to."""
        machine, world = self.mission.machine, self._world
        ids = world.label_ids if world.end is None else np.delete(world.label_ids, world.end)
        present = {world.label_sets[index] for index in np.unique(ids).tolist()}
        shown, queue = {}, [machine.initial]
        for state in queue:
            shown[state] = present
            targets = {machine.step(state, labels).target for labels in present}
            queue += sorted(targets - machine.terminal - set(queue))
        return shown

    def steps_from(self, cell: int) -> float:
        """Return how many steps the mission takes from a cell to its first reward; infinite: never."""
        length = float(self._product.length[self.mission.machine.initial, cell])
        return length + 1 if math.isfinite(length) else math.inf

    @property
    def most_steps(self) -> int:
        """Steps that are enough for the mission from everywhere, twice over."""
        lengths = self._product.length[self.mission.machine.initial]
        return 2 * math.ceil(float(lengths[np.isfinite(lengths)].max(initial=0.0)) + 1)

    def way_from(self, cell: int) -> list[tuple[int, int, int]]:
        """Return the way to the first reward: machine state, cell and action of each step."""
        way, state, world = [], self.mission.machine.initial, self._world
        while math.isfinite(self._product.length[state, cell]):
            action = self._best(state, cell)
            way.append((state, cell, action))
            cell = int(world.successors[cell, action])
            label = world.label_ids[cell]
            if self._product.reward[state, label] > 0:
                break
            state = int(self._product.target[state, label])
        return way

    def shortest_trace(self) -> list[frozenset[str]]:
        """Return the labels of the shortest of its ways to the first reward, over all cells."""
        cell = int(self._product.length[self.mission.machine.initial].argmin())
        shown = self._world.label_ids[self._world.successors]
        way = self.way_from(cell)
        return [self._world.label_sets[int(shown[cell, action])] for _, cell, action in way]

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin in the observed cell; refuse what cannot be done from here."""
        self._cell = self._checked(observation)
        if not math.isfinite(self._product.length[self.mission.machine.initial, self._cell]):
            raise UnachievableMissionError(
                f"the mission cannot be achieved from here (cell {self._cell}), though it can from"
                " elsewhere"
            )
        self._plan_in_time()

    def look_ahead_from(self, observation: Any) -> None:  # noqa: ANN401
        """Look for a way in time from where the mission will begin, while there is time for that."""
        timed, cell = self._timed, self._checked(observation)
        pace = None if timed is None else timed.step_seconds or timed.expected_step_seconds
        if timed is not None and pace and can_be_late(timed):
            self._forecasts[cell] = soonest(timed, self._world, cell, pace)

    def share_in_time(self, cells: Sequence[int], step_seconds: float) -> float | None:
        """Return the share of these cells from which no deadline passes; None if there is none."""
        if self._timed is None or not can_be_late(self._timed) or not len(cells):
            return None
        found = [soonest(self._timed, self._world, cell, step_seconds) for cell in cells]
        return sum(each.seconds is not None for each in found) / len(found)

    def _plan_in_time(self) -> None:
        """Look for a way on which no deadline passes, and say so if there is none."""
        self._in_time, self.warning = {}, ""
        timed = self._timed
        if timed is None or not can_be_late(timed):
            return
        pace = timed.step_seconds or timed.expected_step_seconds
        if not pace:
            return
        if self._cell not in self._forecasts:
            patience = MOST_SECONDS if timed.step_seconds else WHILE_IT_WAITS
            self._forecasts[self._cell] = soonest(timed, self._world, self._cell, pace, patience)
        found = self._forecasts[self._cell]
        self._in_time = found.actions
        if found.impossible:
            steps = self.steps_from(self._cell)
            text = (
                f"from here (cell {self._cell}) the mission cannot be achieved in time: without its"
                f" deadlines it takes {steps:.0f} steps, {steps * pace:.1f} s of {pace:.2g} s a step"
            )
            if timed.step_seconds:
                raise UnachievableMissionError(text)
            self.warning = text.replace("cannot be", "is not expected to be")

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401, ARG002
        """Take note of the cell."""
        self._cell = self._checked(observation)

    def _checked(self, observation: Any) -> int:  # noqa: ANN401
        cell = int(observation)
        if not 0 <= cell < len(self._world.successors):
            raise SkmError(f"there is no cell {cell} in the world that was planned for")
        return cell

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401, ARG002
        """Return what a step does: machines with commitments are planned otherwise (`recurring`)."""
        return options[0]

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return no constraint: the machine knows which violations mattered. What is shown is noted."""
        self._labels = tracker.labels
        return frozenset()

    def composed(self, state: int, values: GoalValues) -> Float32Array:  # noqa: ARG002
        """Return the value of each action."""
        worth: Float32Array = (self._gamma ** self._lengths(state, self._cell)).astype(np.float32)
        return worth

    def _lengths(self, state: int, cell: int | IntArray) -> FloatArray:
        return self._product.arrival_lengths(state, self._world.successors[cell])

    @cached_property
    def actions(self) -> IntArray:
        """`[u, cell]`: what it does everywhere."""
        found = np.zeros(self._product.length.shape, np.int64)
        for state, row in enumerate(found):
            lengths = self._lengths(state, np.arange(len(row)))
            row[:] = np.argmax(lengths <= lengths.min(axis=1, keepdims=True) + EQUAL, axis=1)
        return found

    def _best(self, state: int, cell: int) -> int:
        if (state, cell) in self._in_time:
            return self._in_time[state, cell]
        lengths = self._lengths(state, cell)
        return int(np.argmax(lengths <= lengths.min() + EQUAL))

    def choose(self, state: int, values: AnyGoalValues) -> Decision:  # noqa: ARG002
        """Return the next action; values are not needed for it."""
        return self.choose_ahead(state)

    def choose_ahead(self, state: int) -> Decision:
        """Return the first action of the shortest way, and the goal at which the machine moves next."""
        value = float(self._product.length[state, self._cell]) * math.log(self._gamma)
        action, goal = self._best(state, self._cell), self._goal(state, self._cell)
        rest = self._may_rest(state)
        return Decision(action, goal, math.exp(value), log_value=value, rest=rest)

    def _may_rest(self, state: int) -> bool:
        """Tell whether only the clock brings the mission on here, and no other place is better."""
        if self._timed is None or (state, self._cell) in self._in_time:
            return False
        # By the labels that hold: at the edge of a place they may be others than those of the cell.
        planned = self._timed.planned.machine.step(state, self._labels)
        if planned == self._timed.machine.step(state, self._labels):
            return False
        here = 0.0 if planned.reward > 0 else 1 + self._product.length[planned.target, self._cell]
        return bool(here <= self._lengths(state, self._cell).min() + EQUAL)

    def log_values(self, state: int, values: AnyGoalValues) -> FloatArray:  # noqa: ARG002
        """Return the logarithm of the value of each action: a long way has one, too."""
        logarithms: FloatArray = self._lengths(state, self._cell) * math.log(self._gamma)
        return logarithms

    def _goal(self, state: int, cell: int) -> int:
        """Return the goal of the way from here, followed to where the machine moves."""
        way: list[tuple[int, int]] = []
        goal, limit = -1, len(self._world.successors)
        while len(way) <= limit and math.isfinite(self._product.length[state, cell]):
            if (state, cell) in self._pursued:
                goal = self._pursued[state, cell]
                break
            way.append((state, cell))
            cell = int(self._world.successors[cell, self._best(state, cell)])
            label = self._world.label_ids[cell]
            if (
                self._product.target[state, label] != state
                or self._product.reward[state, label] > 0
            ):
                goal = self._goal_of[label]
                break
        self._pursued.update(dict.fromkeys(way, goal))
        return goal


# The product planner for recurring missions and for missions with events, where goals are places.
#
# Without events it follows the best lasso, step by step. The composed value of an action says how
# much the arrival that it leads to loses against the best one: γ to the number of steps that it
# costs. In the long run that is all that tells two lassos apart.
#
# **Events.** The plan is made as if no event ever happened, of the actions that events cannot turn
#   into a
# loss (`place_game`). When one happens, the machine moves, and the plan is another. Three rules:
#
# - What is pending because the machine left its quiescent states is done first, by the shortest way: a
#   robot whose battery is low goes to the charger, and on with its patrol afterwards.
# - Where only an event can help, the robot waits for it: in a safe place, as near as can be to
#   where it would go on. It never counts on the event.
# - Where every way risks that an event makes the mission fail, the risk is taken. It is told
#   before: `risk_from` has the events, and what the robot shows when they find it.


MOST_LOST: Final = 500.0
"""Steps lost that are told apart; more are as bad."""


class _Plan(NamedTuple):
    """The best lasso by the actions of a product, and the way to where no obligation is pending by the same."""

    lasso: Lasso
    pursued: IntArray
    reaction: Reaction | None


class RecurringPolicy(PlacePolicy):
    """Zero-shot execution along the best lasso, reacting to events."""

    def __init__(self, mission: Mission, skills: Skills, world: PlaceWorld) -> None:
        super().__init__(mission, skills, world)
        machine, self._gamma = mission.machine, skills.gamma
        self.game: EventGame | None = None
        quiet = self._product
        if mission.events:
            self.game = event_game(machine, world, mission.events)
            quiet = self.game.quiet
        self._plans = [self._plan_on(quiet)]
        """The first by which the mission can be done from a node is gone by: they dare more and more."""
        possible = self._plans[0].lasso.achievable
        if self.game is not None:
            if machine.epsilon_transitions and self.game.kept.any():
                self._plans.insert(0, self._plan_on(self.game.sure))
            running = [u for u in range(machine.num_states) if not _over(machine, u)]
            if not (possible[running].all() or self.game.allowed.all()):
                self._plans.append(self._plan_on(self.game.products[0]))
                possible = possible | self._plans[-1].lasso.achievable
            self._hopes = [self.game.hope(skills.gamma)]
            possible = possible | self._hopes[0].region
            if not (possible[running].all() or self.game.allowed.all()):
                self._hopes.append(self.game.hope(skills.gamma, daring=True))
                possible = possible | self._hopes[1].region
        self._possible: BoolArray = possible
        if not possible[machine.initial].any():
            clause = blocking_clause(mission, self._product.shown_labels(machine.initial))
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")

    def _plan_on(self, product: MissionProduct) -> _Plan:
        lasso = best_lasso(product, self._gamma)
        reaction = None
        if self.game is not None:
            reaction = Reaction(product, self.mission.machine, lasso.action)
        return _Plan(lasso, self._pursued_goals(lasso.destination), reaction)

    def _plan(self, node: tuple[int, int, int]) -> _Plan:
        """Return the plan to go by at a node: the first by which the mission can be done from there."""
        return next((p for p in self._plans if p.lasso.achievable[node]), self._plans[0])

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin in the observed place; refuse what cannot be done from here."""
        super().start(observation)
        if not self._possible[self.mission.machine.initial, self._place, 0]:
            raise not_from_here(observation)

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401
        """Return what a step does, of what it may do: what is worth most where it has led.

        What can be kept whatever happens comes before all else.
        """
        place, counter = self._after(observation)
        if self.game is not None:
            kept = [o for o in options if self.game.kept[o.target, place, counter]]
            options = tuple(kept) or options

        def value(outcome: Outcome) -> float:
            node = outcome.target, place, counter
            return log_of(outcome.reward + GAMMA * float(self._plan(node).lasso.value[node]))

        return best_option(self.mission.machine, state, options, value)

    def composed(self, state: int, values: GoalValues) -> Float32Array:  # noqa: ARG002
        """Return γ to the number of steps that each action loses against the best one."""
        lasso = self._plan((state, self._place, self._counter)).lasso
        arriving = lasso.arriving[state, self._world.successors[self._place], self._counter]
        gain = max(float(lasso.gain[state, self._place, self._counter]), BETTER)
        lost = np.minimum((arriving.max() - arriving) / gain, MOST_LOST)
        composed: Float32Array = np.power(self._gamma, lost).astype(np.float32)
        return composed

    def choose(self, state: int, values: AnyGoalValues) -> Decision:  # noqa: ARG002
        """Return the next action; values are not needed for it."""
        return self.choose_ahead(state)

    def choose_ahead(self, state: int) -> Decision:
        """Return the next action; its value is γ to the steps until the machine moves next."""
        here = state, self._place, self._counter
        plan = self._plan(here)
        for reaction in dict.fromkeys([self._plans[0].reaction, plan.reaction]):
            found = None if reaction is None else reaction.decide(*here)
            if found is not None:
                action, steps, arrival = found
                goal = int(self._goal_at.reshape(-1)[arrival])
                value = (steps - 1) * math.log(self._gamma)
                return Decision(action, goal, math.exp(value), log_value=value)
        if self.game is not None and not plan.lasso.achievable[here]:
            return self._wait(*here)
        moves = int(plan.lasso.moves[here])
        value = (moves - 1) * math.log(self._gamma) if moves > 0 else -math.inf
        action, goal = int(plan.lasso.action[here]), int(plan.pursued[here])
        return Decision(action, goal, math.exp(value), log_value=value)

    def owed(self, state: int) -> int:
        """Return in how many steps from here no obligation is pending any more; 0 without events."""
        here = state, self._place, self._counter
        plans = self._plans[0], self._plan(here)
        return min((p.reaction.steps(*here) for p in plans if p.reaction is not None), default=0)

    @property
    def possible(self) -> BoolArray:
        """`[u, place, counter]`: from where the mission can be done; with events, if these help."""
        return self._possible

    @cached_property
    def actions(self) -> IntArray:
        """`[u, place, counter]`: what it does everywhere, as long as no event happens."""
        plans, world = self._plans, self._world
        actions = plans[0].lasso.action
        if self.game is not None:
            ranked = [(plan.lasso.achievable, plan.lasso.action) for plan in plans]
            for hope in self._hopes:
                options = hope.arriving[:, world.successors]
                if hope.allowed is not None:
                    options = np.where(hope.allowed, options, -1.0)
                ranked.append((hope.region, options.argmax(axis=2)))
            actions = np.select([region for region, _ in ranked], [a for _, a in ranked], actions)
            first = np.argmax([plan.lasso.achievable for plan in plans], axis=0)
            for number in reversed(range(len(plans))):
                reaction = plans[number].reaction
                assert reaction is not None
                asked = (first == number) | (number == 0)
                actions = np.where(asked & (reaction.actions >= 0), reaction.actions, actions)
        return actions

    @cached_property
    def waiting(self) -> BoolArray:
        """`[u, place, counter]`: where it can only wait for an event."""
        done = np.logical_or.reduce([plan.lasso.achievable for plan in self._plans])
        owing = [plan.reaction.actions >= 0 for plan in self._plans if plan.reaction is not None]
        waiting: BoolArray = self._possible & ~np.logical_or.reduce([done, *owing])
        return waiting

    def risk_from(self, observation: Any) -> Risk | None:  # noqa: ANN401
        """Return how events can make the mission fail from an observed place, whatever it does."""
        node = self.mission.machine.initial, self._number_of(observation), 0
        if self.game is None or self.game.kept[node] or not self._possible[node]:
            return None
        counterexample = self.game.counterexample(node, self.actions)
        happened = frozenset().union(*counterexample.steps, *counterexample.forever)
        named = tuple(name for name in self.mission.events if name in happened)
        return Risk(named or self.mission.events, counterexample)

    def _wait(self, state: int, place: int, counter: int) -> Decision:
        """Return what brings the robot nearest to where an event would help, and keeps it safe."""
        here = state, place, counter
        hope = next((some for some in self._hopes if some.region[here]), self._hopes[0])
        options = -hope.arriving[state, self._world.successors[place], counter]
        if hope.allowed is not None:
            options = np.where(hope.allowed[state, place, :, counter], options, -np.inf)
        value = self._gamma ** float(hope.length[here])
        return Decision(int(first_best(options)), -1, value, Outlook.WAITING)


def _over(machine: RewardMachine, state: int) -> bool:
    return state in machine.terminal or state in machine.failure
