"""Primitives that are served elsewhere: what is known about them, and a way to ask for values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnasium.spaces import Space

from skm_primitives.goals import Goal
from skm_primitives.primitives import AnyGoalValues, FloatArray


@dataclass(frozen=True, eq=False)
class RemotePrimitives:
    """Fits the protocol `Primitives`; `ask` gets the values from wherever they are served.

    Planners ask for the values of places again and again, so those are kept: they only change with the
    digest, and then all of this is made anew.
    """

    domain: str
    checkpoint: str
    digest: str
    propositions: tuple[str, ...]
    constraints: tuple[str, ...]
    goals: tuple[Goal, ...]
    goal_probability: FloatArray
    goal_to_goal: FloatArray
    visit_labels: Mapping[int, tuple[frozenset[str], ...]]
    gamma: float
    observation_space: Space[Any]
    action_space: Space[Any]
    ask: Callable[[Any, frozenset[str]], AnyGoalValues]
    _known: dict[tuple[int, frozenset[str]], AnyGoalValues] = field(default_factory=dict)

    def values(self, observation: Any, violated: frozenset[str] = frozenset()) -> AnyGoalValues:  # noqa: ANN401
        """Return the values of every goal, from an observation and the constraints violated."""
        if not isinstance(observation, int):
            return self.ask(observation, violated)
        key = observation, violated
        if key not in self._known:
            self._known[key] = self.ask(observation, violated)
        return self._known[key]
