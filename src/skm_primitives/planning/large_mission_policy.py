"""The policy of a mission in parts: it follows a plan, and plans again when it leaves it."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.factored import FactoredMachine
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.large_missions import BEST_SECONDS, LargeMissionPlanner, Plan
from skm_primitives.planning.place_graph import Cells
from skm_primitives.planning.policy import Decision
from skm_primitives.skills.values import AnyGoalValues, GoalValues, Skills
from skm_sim.arrays import Float32Array, FloatArray

AGAIN_SECONDS: Final = 1.0
"""CPU seconds for a plan while the robot waits for it: after an event, a slip, or a round."""


class LargeMissionPolicy:
    """Takes the plan's next step; where the robot is not on the plan, there is a new one from there.

    What moves it off the plan: an event that moves the machine, another driver, an action that slipped,
    and the end of a round of a recurring mission.
    """

    planner = "product"

    def __init__(
        self, mission: Mission, skills: Skills, cells: Cells, seconds: float = BEST_SECONDS
    ) -> None:
        assert isinstance(mission.machine, FactoredMachine)
        self.mission = mission
        self.machine: FactoredMachine = mission.machine
        self.seconds = seconds
        """CPU seconds for the first plan."""
        self.plan: Plan | None = None
        """The plan that is followed."""
        self.first_plan: Plan | None = None
        """The one from the start of the mission."""
        self.plans = 0
        """How often it was planned."""
        self._cells = cells
        self._gamma = skills.gamma
        self._planner = LargeMissionPlanner(self.machine, cells)
        self._cell = 0
        self._ahead: dict[int, Plan] = {}
        self._next: dict[tuple[int, int], tuple[int, int, int, int]] = {}
        """In each state and cell of the plan: the action, the goal, the steps that are left, and those
        to the next move."""
        self._goals: dict[frozenset[str], int] = {}
        for index, goal in enumerate(skills.goals):
            self._goals.setdefault(goal.labels, index)

    @property
    def most_steps(self) -> int:
        """Steps that are enough for the mission from everywhere, twice over."""
        return 2 * self._planner.most_steps

    def plan_from(self, observation: Any, seconds: float | None = None) -> Plan:  # noqa: ANN401
        """Return a plan for the whole mission, or its first round, from an observed cell."""
        return self._planner.plan(self._checked(observation), seconds=seconds or self.seconds)

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Plan from the observed cell; refuse what provably cannot be done from here."""
        self._cell = self._checked(observation)
        self.plans = 0
        self._follow(self.machine.initial, self.seconds)

    def look_ahead_from(self, observation: Any) -> None:  # noqa: ANN401
        """Plan from where the mission will begin, while there is time for that."""
        cell = self._checked(observation)
        self._ahead[cell] = self._planner.plan(cell, seconds=self.seconds)

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401, ARG002
        """Take note of the cell."""
        self._cell = self._checked(observation)

    def _checked(self, observation: Any) -> int:  # noqa: ANN401
        cell = int(observation)
        if not 0 <= cell < len(self._cells.labels):
            raise SkmError(f"there is no cell {cell} in the world that was planned for")
        return cell

    def _follow(self, state: int, seconds: float) -> None:
        """Plan from the present cell and a machine state."""
        ahead = self._ahead.pop(self._cell, None) if state == self.machine.initial else None
        parts = self.machine.parts_of(state)
        self.plan = ahead or self._planner.plan(self._cell, parts, seconds=seconds)
        self.plans += 1
        if self.plans == 1:
            self.first_plan = self.plan
        self._next = {}
        plan, goal, moves_at = self.plan, -1, self.plan.steps
        before = [self._cell, *plan.cells]
        for step in reversed(range(plan.steps)):
            cell, after = before[step], before[step + 1]
            labels = self._cells.labels[after]
            outcome = self.machine.advance(plan.parts[step], labels)
            if outcome.reward > 0 or outcome.parts != plan.parts[step]:
                goal, moves_at = self._goals.get(labels, -1), step + 1
            action = int(np.argmax(self._cells.successors[cell] == after))
            key = self.machine.number(plan.parts[step]), cell
            # A cell may be met twice in one state, where a part waits: the later visit is the nearer.
            self._next.setdefault(key, (action, goal, plan.steps - step, moves_at - step))

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401, ARG002
        """Return what a step does: missions in parts make no commitments."""
        return options[0]

    def history(self, tracker: MissionTracker) -> frozenset[str]:  # noqa: ARG002
        """Return no constraint: the machine knows which violations mattered."""
        return frozenset()

    def choose(self, state: int, values: AnyGoalValues) -> Decision:  # noqa: ARG002
        """Return the next action; values are not needed for it."""
        return self.choose_ahead(state)

    def choose_ahead(self, state: int) -> Decision:
        """Return the next action of the plan, and the goal at which the machine moves next."""
        if (state, self._cell) not in self._next:
            self._follow(state, AGAIN_SECONDS if self.plans else self.seconds)
        action, goal, left, steps = self._next[state, self._cell]
        value = left * math.log(self._gamma)
        return Decision(action, goal, math.exp(value), log_value=value, steps=steps)

    def log_values(self, state: int, values: AnyGoalValues) -> FloatArray:  # noqa: ARG002
        """Return the logarithm of the value of the plan's action; the others are not known."""
        decision = self.choose_ahead(state)
        found: FloatArray = np.full(self._cells.successors.shape[1], -np.inf)
        found[int(decision.action)] = decision.log_value
        return found

    def composed(self, state: int, values: GoalValues) -> Float32Array:
        """Return the value of the plan's action; the others are not known, and 0."""
        worth: Float32Array = np.exp(self.log_values(state, values)).astype(np.float32)
        return worth

    def weights_of_goals(self, state: int, values: AnyGoalValues) -> FloatArray:  # noqa: ARG002
        """Return the weight of each goal: 1 for the one in pursuit."""
        found: FloatArray = np.zeros(1 + max(self._goals.values(), default=0))
        over = state in self.machine.terminal or state in self.machine.failure
        goal = -1 if over else self.choose_ahead(state).goal
        if goal >= 0:
            found[goal] = 1.0
        return found
