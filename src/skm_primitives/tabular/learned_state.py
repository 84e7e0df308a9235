"""All that a tabular learner knows, as one value that can be stored, resumed from and served."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_primitives import checkpoint
from skm_primitives.goals import Goal, GoalBuffer
from skm_primitives.histories import Histories
from skm_primitives.tabular.model_confidence import ModelConfidence
from skm_primitives.tabular.tables import Tables
from skm_primitives.tabular.visits import COUNTED_VISITS, VisitModel
from skm_sim.arrays import IntArray
from skm_sim.domain import DomainSpec

LEARNER = "tabular"


@dataclass(frozen=True)
class TabularSettings:
    """The choices of a run; a resumed run keeps those that it was started with."""

    seed: int = 0
    alpha: float = 1.0
    """Step size of moves: 1 is a full backup, with replay; the paper has 0.1, and no replay."""
    epsilon: float = 0.5
    """How often an action is random."""
    places: bool = True
    """Whether goals are told apart by place, beyond the paper's 2^(P∪C)."""
    agents: int = 20
    """Agents that act side by side."""
    replays: int = 8
    """Replays of all remembered transitions after each round."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            raise SkmError(f"alpha is {self.alpha}; it must be above 0 and at most 1.")
        if not 0 <= self.epsilon <= 1:
            raise SkmError(f"epsilon is {self.epsilon}; it must be from 0 to 1.")
        for name, least in (("seed", 0), ("agents", 1), ("replays", 0)):
            if getattr(self, name) < least:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least {least}.")


@dataclass
class TabularState:
    """Tables, labels seen, and the number of rounds, with the settings that they came from."""

    domain: str
    propositions: tuple[str, ...]
    constraints: tuple[str, ...]
    settings: TabularSettings
    tables: Tables
    visits: VisitModel
    label_targets: dict[int, int] = field(default_factory=dict)
    """The target of each label set (as bits), where places are not told apart."""
    rounds: int = 0

    @classmethod
    def blank(
        cls, spec: DomainSpec, settings: TabularSettings, states: int, actions: int
    ) -> TabularState:
        """Return what is known before the first step: nothing."""
        targets = states if settings.places else 1
        return cls(
            domain=spec.name,
            propositions=spec.propositions,
            constraints=spec.constraints,
            settings=settings,
            tables=Tables(states, actions, Histories(spec.constraints), targets, spec.gamma),
            visits=VisitModel(spec.propositions),
        )

    def goal_buffer(self) -> GoalBuffer:
        """Return every goal achieved: each label set seen (at each place), with each history.

        Any history can be drawn at the start of an episode, so whatever was achieved with one was
        achievable with all.
        """
        histories = self.tables.histories
        variants = zip(self.visits.label_sets, self.visits.places.tolist(), strict=True)
        return GoalBuffer(
            Goal(labels, histories.names(violated), place if self.settings.places else None)
            for labels, place in variants
            for violated in range(histories.sets)
        )

    def variant_targets(self) -> IntArray:
        """Return the target in the tables that each variant of the visit model belongs to."""
        if self.settings.places:
            return self.visits.places
        bits = self.visits.label_bits.tolist()
        return np.array([self.label_targets[labels] for labels in bits], np.int64)

    def confidence(self) -> ModelConfidence | None:
        """Return how well it is known where actions lead; None where goals are no places."""
        if not self.settings.places:
            return None
        return ModelConfidence(self.tables.arrivals.astype(np.int64), self.tables.ends())

    def scores(self) -> dict[str, float]:
        """Return how far learning is: goals, pairs (s, a) tried, and what replay would change.

        `stochastic` are the pairs that led to more than one place, where there are any; `uncertain`
        those that were not tried often enough.
        """
        residual = np.abs(self.tables.replayed() - self.tables.move).max()
        tried = int(self.tables.arrivals.any(axis=2).sum())
        found = {"goals": len(self.goal_buffer()), "tried": tried, "residual": float(residual)}
        astray = int(((self.tables.arrivals > 0).sum(axis=2) > 1).sum())
        confidence = self.confidence()
        if confidence is None:
            return found
        if astray:
            found["stochastic"] = astray
        if astray or confidence.uncertain:
            found["uncertain"] = confidence.uncertain
        return found

    def save(self, path: str | Path, command: str, steps: int) -> checkpoint.Card:
        """Write all of it as a checkpoint; return its card."""
        arrays: dict[str, NDArray[Any]] = {
            **self.tables.arrays(),
            "variants": self.visits.keys,
            "visits": self.visits.counts,
            "label_targets": np.array(list(self.label_targets), np.int64),
        }
        details: dict[str, Any] = {
            "settings": asdict(self.settings),
            "rounds": self.rounds,
            "gamma": self.tables.discount,
            "propositions": list(self.propositions),
            "constraints": list(self.constraints),
        }
        confidence = self.confidence()
        if confidence is not None and confidence.uncertain:
            details |= {"uncertain": confidence.document(), "warnings": [confidence.sentence()]}
        card = checkpoint.Card(
            domain=self.domain,
            learner=LEARNER,
            command=command,
            seed=self.settings.seed,
            steps=steps,
            scores=self.scores(),
            details=details,
        )
        return checkpoint.save(path, arrays, card)

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]], card: checkpoint.Card) -> TabularState:
        """Return what a checkpoint holds."""
        details = card.details
        propositions, constraints = tuple(details["propositions"]), tuple(details["constraints"])
        visits = VisitModel(propositions)
        checkpoint.expect_shape("variants", arrays["variants"], (None,))
        seen = len(arrays["variants"]), COUNTED_VISITS
        checkpoint.expect_shape("visits", arrays["visits"], seen)
        visits.keys, visits.counts = arrays["variants"], arrays["visits"]
        label_targets = {bits: i for i, bits in enumerate(arrays["label_targets"].tolist())}
        return cls(
            domain=card.domain,
            propositions=propositions,
            constraints=constraints,
            settings=TabularSettings(**details["settings"]),
            tables=Tables.restore(arrays, Histories(constraints), details["gamma"]),
            visits=visits,
            label_targets=label_targets,
            rounds=details["rounds"],
        )


def check_names(state: TabularState, spec: DomainSpec) -> None:
    """Refuse a checkpoint whose propositions, constraints or discount are not the domain's."""
    there = state.propositions, state.constraints, state.tables.discount
    here = spec.propositions, spec.constraints, spec.gamma
    if there != here:
        raise checkpoint.WrongDomainError(
            f"the checkpoint is of another version of the domain '{spec.name}': its propositions,"
            f" constraints and discount are {there}, those of the domain {here}; train anew."
        )
