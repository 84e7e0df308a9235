"""What an evaluation is asked for, and how it shows that it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from skm_machine.errors import SkmError

Item = TypeVar("Item")
Track = Callable[[Sequence[Any], str], Any]
"""Wraps a sequence that is worked through, with a few words on what it is: a progress bar."""


def silent(items: Sequence[Any], what: str) -> Sequence[Any]:  # noqa: ARG001
    """Show nothing."""
    return items


@dataclass(frozen=True)
class EvaluationOptions:
    """Choices of an evaluation; what is left out is as the domain has it."""

    task: str = "all"
    """A task, `all`, `skills`, or another name that the domain's trials know."""
    missions: int = 0
    """How many missions to draw at random, instead of the domain's tasks."""
    mission_set: tuple[str, ...] = ()
    """Missions to run instead of drawing any."""
    planner: str = "product"
    possible_only: bool = False
    """The planner `paper`: on the machine restricted to label sets that occur."""
    seeds: int = 1
    """Tabular domains: training seeds, of which the first is the shipped one."""
    epsilon: float = 0.0
    """Tabular domains: the share of random actions."""
    episodes: int | None = None
    variant: str = ""
    """The kind of worlds, of those that the domain's trials know."""
    checkpoint: str | Path | None = None
    finetuned: str | Path | None = None
    """A policy that few-shot learning has saved, for its task, instead of the planner's."""
    exact: bool = False
    """Perfect skills instead of learned ones, where the domain has them."""
    seed: int = 0
    part: int | None = None
    """Only the task, or the mission drawn, of this number: one job of a spread evaluation."""
    track: Track = silent

    @property
    def planner_name(self) -> str:
        """The planner as reports name it."""
        return f"{self.planner}, possible only" if self.possible_only else self.planner

    def chosen(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return all tasks or missions, or of those the one that is this part."""
        return items if self.part is None else items[self.part : self.part + 1]

    def __post_init__(self) -> None:
        if self.seeds < 1 or (self.episodes is not None and self.episodes < 1):
            raise SkmError("--seeds and --episodes must be at least 1")
        if self.missions < 0:
            raise SkmError(f"--missions must be at least 1, not {self.missions}")
        if not 0 <= self.epsilon <= 1:
            raise SkmError(f"--epsilon is a share between 0 and 1, not {self.epsilon}")
