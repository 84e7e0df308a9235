"""What policies have in common where goals are places: where the robot is, and what it has visited."""

from __future__ import annotations

from typing import Any

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_machine.tracker import MissionTracker
from skm_primitives.planning.mission_product import MissionProduct, mission_product
from skm_primitives.primitives import PlaceWorld, Skills
from skm_sim.arrays import IntArray


class UnseenPlaceError(SkmError):
    """The robot is in a place that was never seen while learning."""


class PlacePolicy:
    """A policy that knows its place in the product of machine, places and visit counts."""

    planner = "grounded"

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

    def doubt(self) -> None:
        """Do as before: in a world that is as it was learned, there is no better way."""
