"""The settings of a learner: what was in effect in the paper's comparison, and all that can be set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from skm_machine.errors import SkmError


class Numbers(NamedTuple):
    """The same for compiled loops."""

    steps: int
    every: int
    alpha: float
    gamma: float
    epsilon: float
    test_epsilon: float
    initial: float
    episode_steps: int
    evaluations: int


@dataclass(frozen=True)
class LearningSettings:
    """How a method learns and is evaluated."""

    steps: int = 400_000
    every: int = 1000
    """Steps between two evaluations, of which there is one before the first step, too."""
    alpha: float = 0.1
    gamma: float = 0.9
    epsilon: float = 0.5
    """The share of random actions while learning."""
    test_epsilon: float = 0.1
    """The share of random actions in evaluations."""
    initial: float = 2.0
    """What Q begins at."""
    episode_steps: int = 1000
    """An episode that is not over by then is cut off: no end of the mission, only a new start."""
    evaluations: int = 10
    """Episodes of each evaluation; the paper has one."""

    def __post_init__(self) -> None:
        shares = ("alpha", "gamma", "epsilon", "test_epsilon")
        for name in shares:
            if not 0 <= getattr(self, name) <= 1:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be from 0 to 1.")
        for name in ("steps", "every", "episode_steps", "evaluations"):
            if getattr(self, name) < 1:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.steps % self.every:
            raise SkmError(
                f"{self.steps} steps are no multiple of {self.every}, between evaluations."
            )

    @property
    def numbers(self) -> Numbers:
        """The settings for compiled loops."""
        return Numbers(
            self.steps,
            self.every,
            self.alpha,
            self.gamma,
            self.epsilon,
            self.test_epsilon,
            self.initial,
            self.episode_steps,
            self.evaluations,
        )
