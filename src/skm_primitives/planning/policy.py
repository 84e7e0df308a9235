"""Policies: from a mission and the learned skills to the next action, with no further learning.

A policy says which constraint history to ask the primitives with, and chooses an action from their
values. It never calls the primitives itself, so that the same policy runs in process and in a node
which asks for the values over a service.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_machine.mission import Mission
from skm_machine.skill_machine import SkillMachine, plan_paper
from skm_machine.tracker import MissionTracker
from skm_primitives.composition import goal_mask
from skm_primitives.planning.pursuit import Pursuit
from skm_primitives.planning.revisits import Revisits
from skm_primitives.primitives import AnyGoalValues, ContinuousGoalValues, Primitives

PLANNERS: Final = ("grounded", "paper")


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do next, and why: the goal in pursuit (an index in the goal buffer) and its value."""

    action: int | NDArray[np.float32]
    goal: int
    value: float


class Policy(Protocol):
    """What runs a mission in a state of the world."""

    planner: str
    mission: Mission

    def start(self, observation: Any) -> None:  # noqa: ANN401 - whatever the domain observes
        """Begin an episode of the mission in the state that is observed."""
        ...

    def entered(self, observation: Any, moved: bool = False) -> None:  # noqa: ANN401
        """Note that a step has ended in the state that is observed, and if it moved the machine."""
        ...

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return the violated constraints to ask the primitives with."""
        ...

    def composed(self, state: int, values: AnyGoalValues) -> NDArray[np.float32]:
        """Return δ_Q(u)(⟨s,c⟩, ·): the composed value of each action in the machine state `state`."""
        ...

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the best action in the machine state `state`, from the values of every goal."""
        ...


def make_policy(
    mission: Mission, primitives: Primitives, planner: str = "grounded", slip: float = 0.0
) -> Policy:
    """Return the policy of a mission.

    `planner="paper"` is Algorithm 2 as printed; `"grounded"` plans with what the primitives know, and
    refuses what they prove unachievable. `slip` is the chance that a random action is taken instead of
    the chosen one, which the grounded planner takes into account.
    """
    if planner not in PLANNERS:
        raise SkmError(f"unknown planner '{planner}'{did_you_mean(planner, PLANNERS)}")
    if planner == "paper":
        return PaperPolicy(mission, primitives)
    from skm_primitives.planning.grounded import GroundedPolicy  # noqa: PLC0415 - they build on this module
    from skm_primitives.planning.grounded_goals import GroundedGoalPolicy  # noqa: PLC0415

    if any(goal.place is not None for goal in primitives.goals):
        return GroundedPolicy(mission, primitives, slip)
    return GroundedGoalPolicy(mission, primitives)


def memory_for(primitives: Primitives) -> Revisits | None:
    """Return a memory against going in circles where values of discrete actions are approximate."""
    places = any(goal.place is not None for goal in primitives.goals)
    if places or not isinstance(primitives.action_space, Discrete):
        return None
    return Revisits(int(primitives.action_space.n), primitives.gamma)


def choose_action(worth: NDArray[Any], revisits: Revisits | None) -> tuple[int, int]:
    """Return the goal and the action of the greatest worth `[goal, action]`, and remember it."""
    if revisits is None:
        goal, action = divmod(int(worth.argmax()), worth.shape[1])
        return goal, action
    action = int((worth.max(axis=0) * revisits.factors()).argmax())
    revisits.took(action)
    return int(worth[:, action].argmax()), action


def best_of_goals(values: AnyGoalValues) -> tuple[Any, NDArray[np.float32]]:
    """Return the best action of each goal, and its value over both terminate decisions."""
    if isinstance(values, ContinuousGoalValues):
        return values.action, values.value
    both = np.maximum(values.move, values.stop)
    return both.argmax(axis=1).tolist(), both.max(axis=1)


class PaperPolicy:
    """Zero-shot execution of the paper's skill machine (Algorithm 3).

    The composed value of an action is the best over both terminate decisions. With ⟨a, 0⟩ alone, as
    printed, stepping on a goal in the middle of a room is worth the same as walking away from it
    (either way it takes two more steps to stop there), and the agent can dither next to its goal.
    """

    planner = "paper"

    def __init__(self, mission: Mission, primitives: Primitives) -> None:
        self.mission = mission
        self.skill_machine: SkillMachine = plan_paper(mission.machine, primitives.gamma)
        self._wanted: dict[int, NDArray[np.intp]] = {
            state: np.flatnonzero(goal_mask(skill, primitives.goals))
            for state, skill in self.skill_machine.skills.items()
        }
        self._pursuit, self._state = Pursuit(), -1
        self._revisits = memory_for(primitives)

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin with no goal in pursuit and nothing tried: it matters where values are approximate."""
        self.entered(observation, moved=True)

    def entered(self, observation: Any, moved: bool = False) -> None:  # noqa: ANN401
        """Take note of the state; once the machine has moved, goals are chosen afresh."""
        if moved:
            self._state = -1
        if self._revisits is not None:
            self._revisits.arrive(observation, moved)

    def history(self, tracker: MissionTracker) -> frozenset[str]:
        """Return the constraints violated since the machine entered its state."""
        return tracker.violated

    def composed(self, state: int, values: AnyGoalValues) -> NDArray[np.float32]:
        """Return the masked maximum over the wanted goals: for each action, or the one best value."""
        wanted = self._wanted[state]
        best: NDArray[np.float32]
        if isinstance(values, ContinuousGoalValues):
            best = values.value[wanted].max(initial=0.0, keepdims=True)
        else:
            best = np.maximum(values.move[wanted], values.stop[wanted]).max(axis=0, initial=0.0)
        return best

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the action of the masked maximum; its value is 0 where no wanted goal is in reach."""
        wanted = self._wanted[state]
        if not len(wanted):
            still = values.action[0] * 0 if isinstance(values, ContinuousGoalValues) else 0
            return Decision(still, -1, 0.0)
        if isinstance(values, ContinuousGoalValues):
            if state != self._state:
                self._pursuit.restart()
                self._state = state
            chosen = self._pursuit.choose(values, np.isin(np.arange(len(values.value)), wanted))
            return Decision(chosen.action[0], int(chosen.goal[0]), float(chosen.value[0]))
        composed = np.maximum(values.move[wanted], values.stop[wanted])
        number, action = choose_action(composed, self._revisits)
        return Decision(action, int(wanted[number]), float(composed[number, action]))
