"""The hint that a domain's observations are things by kind, for networks relative to a goal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Things:
    """What a domain's body makes of an observation: the robot itself, then the things of each kind.

    With it, the generic learner asks one network about every goal: what is to be reached and what is
    to be kept off is shown to it, and all kinds are alike. So the cost of learning does not grow with
    the number of goals, and what is learned of one kind holds for all.
    """

    own: int
    """Features of the robot itself; they come first."""
    kinds: tuple[str, ...]
    """The proposition that each kind of thing makes true, in the order of the features."""
    each: int
    """Things of every kind, the nearest first."""
    features: int
    """Features of one thing; all are 0 where there is none."""
    nearness: int
    """The feature that is larger the nearer a thing is."""
    kept_off: int
    """How many of the things to keep off are shown to the network: so many of the nearest."""

    @property
    def inputs(self) -> int:
        """How many features there are in all."""
        return self.own + len(self.kinds) * self.each * self.features

    @property
    def relative_inputs(self) -> int:
        """How many of them a network relative to a goal sees."""
        return self.own + (self.each + self.kept_off) * self.features
