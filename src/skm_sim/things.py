"""The hints that a domain's observations are things by kind, for networks relative to a goal."""

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


@dataclass(frozen=True)
class Kinds:
    """The same where kinds are not alike, and may be met at once: some are solid, some lie on others.

    What is learned of one kind says little of another then, but what it takes to keep off a kind is
    much the same whatever is to be reached. So a network sees all things, and once more those to be
    kept off, and has an output for every label set.
    """

    own: int
    """Features that come before those of things."""
    kinds: tuple[str, ...]
    """The proposition that each kind of thing makes true, in the order of the features."""
    each: tuple[int, ...]
    """How many things there are of each kind."""
    features: int
    """Features of one thing; all are 0 where there is none."""
    allowed: tuple[tuple[str, ...], ...]
    """The sets V of kinds that a goal may allow to be touched on the way; all of them is one."""
    shown: tuple[tuple[str, ...], ...] = ()
    """The labels that things show by themselves, of which the body tells when they were nearly touched
    (`skm_primitives.deep.near_misses`); empty: it tells of none."""

    @property
    def inputs(self) -> int:
        """How many features there are in all."""
        return self.own + sum(self.each) * self.features

    @property
    def relative_inputs(self) -> int:
        """How many numbers a network sees: all, and what is to be kept off."""
        return self.inputs + sum(self.each) * self.features + len(self.kinds)
