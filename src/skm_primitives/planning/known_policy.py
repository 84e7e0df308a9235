"""The grounded planner where the world is known as a whole: optimal from every cell.

It plans on machine × cells (`known_product`), so where in a place it arrives is chosen for what comes
after. The values of the primitives are not needed to choose an action: they say how far single goals
are, for those who watch.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.achievability import blocking_clause
from skm_primitives.planning.known_product import KnownProduct
from skm_primitives.planning.policy import Decision
from skm_primitives.primitives import AnyGoalValues, GoalValues, KnownWorld, Skills
from skm_sim.arrays import Float32Array, FloatArray, IntArray

EQUAL: Final = 1e-7
"""Ways whose lengths differ by less than this share of a step are equally long."""


class KnownWorldPolicy:
    """Takes the shortest way to success; of equally short ones the first action, straight ones first."""

    planner = "grounded"

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

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401, ARG002
        """Take note of the cell."""
        self._cell = self._checked(observation)

    def _checked(self, observation: Any) -> int:  # noqa: ANN401
        cell = int(observation)
        if not 0 <= cell < len(self._world.successors):
            raise SkmError(f"there is no cell {cell} in the world that was planned for")
        return cell

    def prefer(self, state: int, options: tuple[Outcome, ...], observation: Any) -> Outcome:  # noqa: ANN401, ARG002
        """Return what a step does: machines with promises are planned otherwise (`standing`)."""
        return options[0]

    def history(self, tracker: MissionTracker) -> frozenset[str]:  # noqa: ARG002
        """Return no constraint: the machine knows which violations mattered."""
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
        lengths = self._lengths(state, cell)
        return int(np.argmax(lengths <= lengths.min() + EQUAL))

    def choose(self, state: int, values: AnyGoalValues) -> Decision:  # noqa: ARG002
        """Return the next action; values are not needed for it."""
        return self.choose_ahead(state)

    def choose_ahead(self, state: int) -> Decision:
        """Return the first action of the shortest way, and the goal at which the machine moves next."""
        value = float(self._product.length[state, self._cell]) * math.log(self._gamma)
        action, goal = self._best(state, self._cell), self._goal(state, self._cell)
        return Decision(action, goal, math.exp(value), log_value=value)

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

    def doubt(self) -> None:
        """Do as before: in a world that is known there is no better way."""
