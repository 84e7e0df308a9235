"""Skills of large worlds of cells: learn where each action leads, then compute all values at once.

Tables of Q_MAX over cells × goals that are places grow with the square of the cells. Where a world is
deterministic and each cell always shows the same labels, there is less to learn: the cell that each
action leads to. Agents try what was not tried yet, and walk to the nearest such place; every value of
Definition 3.1 then follows exactly, by sweeps backwards over what was learned (full backups of every
transition until nothing changes), at a cost of cells × label sets. What is served, and how missions are
planned with it, is as for known worlds (`skm_primitives.skills.known_skills`).

A world that turns out to be neither is refused, with what was seen: it takes the tables of `q_learning`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills import checkpoint
from skm_primitives.skills.checkpoint import Card, WrongDomainError, expect_shape
from skm_primitives.skills.goals import pack
from skm_primitives.skills.known_skills import LEARNER, compute_skills, label_distances
from skm_primitives.skills.model_confidence import NAMED, WHAT_HELPS
from skm_sim.arrays import BoolArray, IntArray
from skm_sim.faults import environment_faults
from skm_sim.spec import DomainSpec
from skm_sim.tabular import TabularModel

UNKNOWN: Final = -1
STEPS_A_PAIR: Final = 12
"""Steps of a run for each cell and action by default."""
LIMIT_TIMES: Final = 5
"""So many times as long a run may be, where there is still something to try."""


@dataclass(frozen=True)
class WorldSettings:
    """The choices of a run; a resumed run keeps those that it was started with."""

    seed: int = 0
    epsilon: float = 0.1
    """How often an action is random, where there is nothing new to try."""
    agents: int = 32
    """Agents that explore side by side."""

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise SkmError(f"epsilon is {self.epsilon}; it must be from 0 to 1.")
        for name, least in (("seed", 0), ("agents", 1)):
            if getattr(self, name) < least:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least {least}.")


class WorldLearner:
    """Learns where every action leads; implements `skm_primitives.learning.training.Learner`."""

    plans_ahead: ClassVar[bool] = False
    save_seconds: ClassVar[float] = 60.0
    settings_class: ClassVar[type[Any]] = WorldSettings
    status = ""

    def __init__(self, spec: DomainSpec, settings: WorldSettings) -> None:
        self.spec = spec
        self.settings = settings
        self.env = spec.make_batch(settings.agents)
        seen, acted = self.env.single_observation_space, self.env.single_action_space
        if not isinstance(seen, Discrete) or not isinstance(acted, Discrete):
            raise SkmError(f"the world learner wants cells and choices, not {seen} and {acted}.")
        shape = int(seen.n), int(acted.n)
        self.successors: IntArray = np.full(shape, UNKNOWN)
        self.label_bits: IntArray = np.full(shape[0], UNKNOWN)
        self.ends: BoolArray = np.zeros(shape[0], np.bool_)
        """The cells that are the end of the world."""
        self.rounds = 0

    @classmethod
    def start(cls, spec: DomainSpec, options: Mapping[str, Any]) -> WorldLearner:
        """Return a learner that knows nothing yet."""
        known = [entry.name for entry in fields(WorldSettings)]
        for name in options:
            if name not in known:
                hint = did_you_mean(name, known)
                raise SkmError(
                    f"worlds of so many cells are learned without the option '{name}'{hint}"
                )
        return cls(spec, WorldSettings(**options))

    @classmethod
    def resume(cls, spec: DomainSpec, path: str | Path) -> WorldLearner:
        """Return the learner that a checkpoint was saved from, ready to go on."""
        arrays, card = checkpoint.load(path, spec.name)
        if tuple(card.details["propositions"]) != spec.propositions:
            raise WrongDomainError(f"{path} is of another version of '{spec.name}'; train anew.")
        learner = cls(spec, WorldSettings(**card.details["settings"]))
        for name in ("successors", "label_bits", "ends"):
            stored = arrays[f"learned_{name}"]
            expect_shape(name, stored, getattr(learner, name).shape)
            setattr(learner, name, stored.astype(getattr(learner, name).dtype))
        learner.rounds = card.details["rounds"]
        return learner

    @property
    def options(self) -> dict[str, Any]:
        """The settings of the run, by name."""
        return asdict(self.settings)

    @property
    def steps(self) -> int:
        """Environment steps taken so far."""
        return self.rounds * self.settings.agents * self.spec.primitive_steps

    @property
    def default_steps(self) -> int:
        """Enough to try every action in every cell, as a rule; if it was not, as many as it takes.

        The rule is that of all tables (`model_confidence`): in a deterministic world, one try.
        """
        usual = max(100_000, STEPS_A_PAIR * self.successors.size)
        if self.steps < usual or not self._untried().any():
            return usual
        return min(
            LIMIT_TIMES * usual, self.steps + self.settings.agents * self.spec.primitive_steps
        )

    def _untried(self) -> BoolArray:
        """Return `[cell, action]`: what can be tried, since the cell was seen, and was not."""
        here = (self.label_bits != UNKNOWN) & ~self.ends
        untried: BoolArray = here[:, None] & (self.successors == UNKNOWN)
        return untried

    def run_round(self) -> None:
        """Let every agent explore for one episode."""
        agents = self.settings.agents
        seeds = np.random.SeedSequence([self.settings.seed, self.rounds])
        random = np.random.default_rng(seeds)
        with environment_faults(self.spec.name, "reset()"):
            cells, info = self.env.reset(seed=int(seeds.generate_state(1)[0] >> 1))
        self._show(cells, pack(info["labels"]))
        to_new = self._steps_to_what_is_new()
        over = np.zeros(agents, np.bool_)
        for _ in range(self.spec.primitive_steps):
            actions = self._choose(cells, to_new, random)
            with environment_faults(self.spec.name, "step()"):
                following, _, ended, cut, info = self.env.step(actions)
            live = ~over
            self._show(following, pack(info["labels"]))
            self._lead(cells[live], actions[live], following[live])
            self.ends[following[live & ended]] = True
            cells, over = following, ended | cut
        self.rounds += 1

    def _choose(self, cells: IntArray, to_new: IntArray, random: np.random.Generator) -> IntArray:
        """Return what was never tried, or what leads to the nearest place where something was not."""
        rows = self.successors[cells]
        untried = rows == UNKNOWN
        away = np.where(untried, -1.0, to_new[np.maximum(rows, 0)])
        away += random.random(away.shape) * 0.5  # ties are drawn
        greedy = away.argmin(axis=1)
        explores = ~untried.any(axis=1) & (random.random(len(cells)) < self.settings.epsilon)
        chance = random.integers(rows.shape[1], size=len(cells))
        chosen: IntArray = np.where(explores, chance, greedy)
        return chosen

    def _steps_to_what_is_new(self) -> IntArray:
        """Return how far every cell is from one where something was not tried yet."""
        seen = self.label_bits != UNKNOWN
        new = seen & (self.successors == UNKNOWN).any(axis=1) & ~self.ends
        everywhere = np.ones((1, len(new)), np.bool_)
        wanted = np.ones(1, np.int64)
        found = label_distances(self._filled(), new.astype(np.int64), wanted, everywhere)
        steps: IntArray = found[0].astype(np.int64)
        return steps

    def _filled(self) -> IntArray:
        """Return the successors, a cell itself where they are unknown."""
        here = np.arange(len(self.successors))[:, None]
        return np.where(self.successors == UNKNOWN, here, self.successors)

    def _show(self, cells: IntArray, bits: IntArray) -> None:
        """Take note of what cells show."""
        known = self.label_bits[cells]
        wrong = np.flatnonzero((known != UNKNOWN) & (known != bits))
        if wrong.size:
            raise SkmError(
                f"cell {int(cells[wrong[0]])} of '{self.spec.name}' showed two label sets: a world of"
                f" so many cells must show the same every time. {_WAY_OUT}"
            )
        self.label_bits[cells] = bits

    def _lead(self, cells: IntArray, actions: IntArray, following: IntArray) -> None:
        """Take note of where actions lead."""
        known = self.successors[cells, actions]
        wrong = np.flatnonzero((known != UNKNOWN) & (known != following))
        if wrong.size:
            first = wrong[0]
            raise SkmError(
                f"action {int(actions[first])} in cell {int(cells[first])} of '{self.spec.name}' led"
                f" to cell {int(known[first])}, then to cell {int(following[first])}: the world is"
                f" stochastic. {_WAY_OUT}"
            )
        self.successors[cells, actions] = following

    def model(self) -> TabularModel:
        """Return the world as it was learned, with one more cell: where one is after the end."""
        cells = len(self.successors)
        moves = self._filled()
        moves[self.ends] = cells
        moves = np.concatenate([moves, np.full((1, moves.shape[1]), cells)])
        bits = np.append(np.maximum(self.label_bits, 0), 0)
        labels = (bits[:, None] >> np.arange(len(self.spec.propositions)) & 1).astype(np.bool_)
        numbers = np.arange(cells + 1)
        names = self.spec.propositions, self.spec.constraints
        return TabularModel(*names, moves, numbers.copy(), labels, numbers.copy())

    def save(self, path: str | Path, command: str) -> Card:
        """Write a checkpoint to serve or to resume from; return its card."""
        skills = compute_skills(self.model())
        arrays: dict[str, NDArray[Any]] = {
            **skills,
            "learned_successors": self.successors.astype(np.int32),
            "learned_label_bits": self.label_bits,
            "learned_ends": self.ends,
        }
        seen = self.label_bits != UNKNOWN
        tried = int((self.successors[seen & ~self.ends] != UNKNOWN).sum())
        untried = np.argwhere(self._untried())
        card = Card(
            domain=self.spec.name,
            learner=LEARNER,
            command=command,
            seed=self.settings.seed,
            steps=self.steps,
            scores={
                "goals": len(skills["allowed"]),
                "cells": int(seen.sum()),
                "tried": tried,
                "untried": len(untried),
            },
            details={
                "settings": asdict(self.settings),
                "rounds": self.rounds,
                "gamma": self.spec.gamma,
                "propositions": list(self.spec.propositions),
                "constraints": list(self.spec.constraints),
                **({"warnings": [_warning(untried)]} if len(untried) else {}),
            },
        )
        return checkpoint.save(path, arrays, card)


def _warning(untried: IntArray) -> str:
    """Return, as a sentence, what was never tried."""
    named = ", ".join(
        f"action {action} in cell {cell}" for cell, action in untried[:NAMED].tolist()
    )
    more = " and others" if len(untried) > NAMED else ""
    return f"{len(untried)} actions were never tried: {named}{more}. {WHAT_HELPS}"


_WAY_OUT: Final = (
    "Observe what it depends on, or name `skm_primitives.learning.tabular:TabularLearner` as the"
    " spec's learner, if its tables fit."
)
