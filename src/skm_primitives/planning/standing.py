"""The grounded planner for standing orders and for missions with events, where goals are places.

Without events it follows the best lasso, step by step. The composed value of an action says how much the
arrival that it leads to loses against the best one: γ to the number of steps that it costs. In the long
run that is all that tells two lassos apart.

**Events.** The plan is made as if no event ever happened, of the actions that events cannot turn into a
loss (`place_game`). When one happens, the machine moves, and the plan is another. Three rules:

- What is owed because the machine left its calm states is done first, by the shortest way: a robot whose
  battery is low goes to the charger, and on with its patrol afterwards.
- Where only an event can help, the robot waits for it: in a safe place, as near as can be to where it
  would go on. It never counts on the event.
- Where every way risks that an event makes the mission fail, the risk is taken. It is told before:
  `risk_from` has the events, and what the robot shows when they find it.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from skm_machine.errors import UnachievableMissionError
from skm_machine.event_game import Risk
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.grounded import first_best, not_from_here
from skm_primitives.planning.lasso import BETTER, GAMMA, Lasso, best_lasso
from skm_primitives.planning.mission_product import MissionProduct
from skm_primitives.planning.place_game import EventGame, event_game
from skm_primitives.planning.place_policy import PlacePolicy
from skm_primitives.planning.policy import Decision, best_option, log_of
from skm_primitives.planning.reaction import Reaction
from skm_primitives.primitives import AnyGoalValues, GoalValues, PlaceWorld, Skills
from skm_sim.arrays import BoolArray, Float32Array, IntArray

MOST_LOST: Final = 500.0
"""Steps lost that are told apart; more are as bad."""


class _Plan(NamedTuple):
    """The best lasso by the actions of a product, and the way to where nothing is owed by the same."""

    lasso: Lasso
    pursued: IntArray
    reaction: Reaction | None


class StandingPolicy(PlacePolicy):
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
            if machine.jumps and self.game.kept.any():
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
        """Return in how many steps from here nothing is owed any more; 0 without events."""
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
        story = self.game.story(node, self.actions)
        happened = frozenset().union(*story.steps, *story.forever)
        named = tuple(name for name in self.mission.events if name in happened)
        return Risk(named or self.mission.events, story)

    def _wait(self, state: int, place: int, counter: int) -> Decision:
        """Return what brings the robot nearest to where an event would help, and keeps it safe."""
        here = state, place, counter
        hope = next((some for some in self._hopes if some.region[here]), self._hopes[0])
        options = -hope.arriving[state, self._world.successors[place], counter]
        if hope.allowed is not None:
            options = np.where(hope.allowed[state, place, :, counter], options, -np.inf)
        value = self._gamma ** float(hope.length[here])
        return Decision(int(first_best(options)), -1, value, waiting=True)


def _over(machine: RewardMachine, state: int) -> bool:
    return state in machine.terminal or state in machine.failure
