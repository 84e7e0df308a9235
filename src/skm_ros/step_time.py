"""How long a step takes in lock-step, for missions that name seconds; how long a decision is held."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Final

from skm_machine.errors import SkmError
from skm_sim.registry import get_domain
from skm_sim.spec import DomainSpec

KEPT: Final = 100
"""Number of recent steps that predict how long the next ones take."""
ENOUGH: Final = 10
"""Fewer tell nothing."""


def step_seconds(period: float, domain: str) -> float | None:
    """Return the seconds of a step in lock-step: what the domain's world says.

    In real time steps have no length of their own: a robot on a map enters a cell when it gets there.
    Then the stamps of the states count, and None is returned.
    The domain is named by a message, so only domains that are known by name are looked up, no paths.
    """
    if period > 0:
        return None
    spec = _known(domain)
    return None if spec is None else spec.step_seconds


def decision_steps(domain: str) -> int:
    """Return for how many steps a decision is held: what the domain says, if it is known by name."""
    spec = _known(domain)
    return 1 if spec is None else spec.hold


class StepTimes:
    """Recent duration of steps in real time, as a prediction for the next ones."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=KEPT)

    def note(self, seconds: float) -> None:
        """Take the time from one state to the next, while the robot was on its way."""
        if seconds > 0:
            self._seconds.append(seconds)

    @property
    def expected(self) -> float | None:
        """The seconds that a step takes as a rule; None before enough of them were seen."""
        return median(self._seconds) if len(self._seconds) >= ENOUGH else None


def _known(domain: str) -> DomainSpec | None:
    try:
        return None if {":", "/"} & set(domain) else get_domain(domain)
    except SkmError:
        return None
