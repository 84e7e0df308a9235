"""The grounded planner: plans with what the primitives know of the world, beyond the paper.

The paper plans on the machine alone, and so picks transitions that no state of the world satisfies,
ties that are far away, and goals from which nothing else can be reached. Here the machine is planned
together with the goals: only goals in the buffer can be achieved, and what a goal is worth is what can
be done after it. The composed skill is then a *weighted* maximum over goals,

    δ_Q(u)(s, a) = max_g  w_u(g) · Q_MAX(⟨s,∅⟩, g, ⟨a,1⟩),   w_u(g) = δ_r(u, g) + γ · V(δ_u(u, g), g),

of which the paper's mask is the special case w ∈ {0, 1}. With places as goals, V is exact, so the
behaviour is optimal wherever the learned values are. Where actions slip, the values of stopping are
chances, and the mean over where an action leads takes the place of the maximum.

The history c plays no part: had a violation mattered, the machine would have failed. So a mission may
start on a decoration that it must never enter.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.place_policy import PlacePolicy
from skm_primitives.planning.policy import Decision, best_option, log_of
from skm_primitives.planning.reachability import MissionGraph, log_values
from skm_primitives.primitives import (
    AnyGoalValues,
    ContinuousGoalValues,
    GoalValues,
    PlaceWorld,
    Skills,
)
from skm_sim.arrays import Float32Array, FloatArray, IntArray

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
        """Return what being at, arriving at and arriving at with no promise made each node are worth.

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
        noise = 0.0 if self._world.chances is None else -math.inf  # Chance may throw a robot back.
        value = float(self._values[here])
        worth = float(self._worth(self._values[here]))
        log_value = value if self._logs else math.nan
        return Decision(action, int(self._pursued[here]), worth, noise, log_value=log_value)


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
