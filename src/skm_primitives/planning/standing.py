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
- Where every way risks that an event makes the mission fail, the risk is taken.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from skm_machine.errors import UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.grounded import first_best, not_from_here
from skm_primitives.planning.lasso import BETTER, GAMMA, best_lasso
from skm_primitives.planning.place_game import EventGame, event_game
from skm_primitives.planning.place_policy import PlacePolicy
from skm_primitives.planning.policy import Decision, best_option, log_of
from skm_primitives.planning.reaction import Reaction
from skm_primitives.primitives import AnyGoalValues, GoalValues, PlaceWorld, Skills
from skm_sim.arrays import BoolArray, Float32Array

MOST_LOST: Final = 500.0
"""Steps lost that are told apart; more are as bad."""


class StandingPolicy(PlacePolicy):
    """Zero-shot execution along the best lasso, reacting to events."""

    def __init__(self, mission: Mission, skills: Skills, world: PlaceWorld) -> None:
        super().__init__(mission, skills, world)
        machine, self._gamma = mission.machine, skills.gamma
        self.game: EventGame | None = None
        self._reaction: Reaction | None = None
        quiet = self._product
        if mission.events:
            self.game = event_game(machine, world, mission.events)
            quiet = self.game.quiet
        self._lasso = best_lasso(quiet, skills.gamma)
        if self.game is not None and not self._lasso.achievable[machine.initial].any():
            quiet = self.game.products[0]
            risky = best_lasso(quiet, skills.gamma)
            self._lasso = risky if risky.achievable[machine.initial].any() else self._lasso
        possible = self._lasso.achievable
        if self.game is not None:
            self._reaction = Reaction(quiet, machine, self._lasso.action)
            self._hope, self._hoped_for = self.game.hopeful_lengths(skills.gamma)
            possible = possible | np.isfinite(self._hope)
        self._possible: BoolArray = possible
        if not possible[machine.initial].any():
            clause = blocking_clause(mission, self._product.shown_labels(machine.initial))
            raise UnachievableMissionError(f"the mission cannot be achieved: {clause}")
        self._pursued = self._pursued_goals(self._lasso.destination)

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
        values = self._lasso.value
        return best_option(
            self.mission.machine,
            state,
            options,
            lambda o: log_of(o.reward + GAMMA * float(values[o.target, place, counter])),
        )

    def composed(self, state: int, values: GoalValues) -> Float32Array:  # noqa: ARG002
        """Return γ to the number of steps that each action loses against the best one."""
        arriving = self._lasso.arriving[state, self._world.successors[self._place], self._counter]
        gain = max(float(self._lasso.gain[state, self._place, self._counter]), BETTER)
        lost = np.minimum((arriving.max() - arriving) / gain, MOST_LOST)
        composed: Float32Array = np.power(self._gamma, lost).astype(np.float32)
        return composed

    def choose(self, state: int, values: AnyGoalValues) -> Decision:  # noqa: ARG002
        """Return the next action; values are not needed for it."""
        return self.choose_ahead(state)

    def choose_ahead(self, state: int) -> Decision:
        """Return the next action; its value is γ to the steps until the machine moves next."""
        here = state, self._place, self._counter
        if self._reaction is not None:
            reaction = self._reaction.decide(*here)
            if reaction is not None:
                action, steps, arrival = reaction
                goal = int(self._goal_at.reshape(-1)[arrival])
                value = (steps - 1) * math.log(self._gamma)
                return Decision(action, goal, math.exp(value), log_value=value)
            if not self._lasso.achievable[here]:
                return self._wait(*here)
        moves = int(self._lasso.moves[here])
        value = (moves - 1) * math.log(self._gamma) if moves > 0 else -math.inf
        action, goal = int(self._lasso.action[here]), int(self._pursued[here])
        return Decision(action, goal, math.exp(value), log_value=value)

    def owed(self, state: int) -> int:
        """Return in how many steps from here nothing is owed any more; 0 without events."""
        if self._reaction is None:
            return 0
        return self._reaction.steps(state, self._place, self._counter)

    def _wait(self, state: int, place: int, counter: int) -> Decision:
        """Return what brings the robot nearest to where an event would help, and keeps it safe."""
        assert self.game is not None
        arriving = self._hoped_for[state, self._world.successors[place], counter]
        options = np.where(self.game.allowed[state, place, :, counter], -arriving, -np.inf)
        value = self._gamma ** float(self._hope[state, place, counter])
        return Decision(int(first_best(options)), -1, value, waiting=True)
