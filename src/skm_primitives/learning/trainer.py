"""The loop that all network learners share: rounds, validation, the best so far, exact resume.

A learner subclasses `DeepLearner` and says how a round of experience is gathered (`collect`), how
the networks learn from what is remembered (`improve`), and how good they are (`validate`). The rest
is here:

- A *round* is determined by what a checkpoint holds and by the round's number: its random generators
  are seeded with (seed, round). So a run that is stopped and resumed equals one that is not.
- Every `validate_rounds` rounds the networks are scored on validation worlds. What is served is the
  best so far by that score, not the last; the card holds its scores.
- `save(path)` writes two checkpoints: `NAME.resume.safetensors` with all that training needs
  (replay, optimisers, networks), then `NAME.safetensors`, small, with what is served.
"""

from __future__ import annotations

import contextlib
import csv
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills import checkpoint
from skm_primitives.skills.checkpoint import (
    Card,
    MissingCheckpointError,
    WrongDomainError,
    checkpoint_path,
)
from skm_sim.spec import DomainError, DomainSpec

# The scores of every validation of a run, with what they cost: its learning curve.


class ScoreCurve:
    """Rows of environment steps, CPU minutes and scores; CPU time goes on where a run is resumed."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self._started = time.process_time()
        self._before = 0.0

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the run so far, in all the processes that it was resumed in."""
        return self._before + time.process_time() - self._started

    def add(self, steps: int, scores: Mapping[str, float]) -> None:
        """Note the scores of a validation."""
        minutes = round(self.cpu_seconds / 60, 3)
        self.rows.append({"steps": steps, "cpu_minutes": minutes, **scores})

    def details(self) -> dict[str, Any]:
        """Return what a checkpoint's card says of it."""
        return {"cpu_seconds": round(self.cpu_seconds, 1), "curve": self.rows}

    def restore(self, details: Mapping[str, Any]) -> None:
        """Take back what `details` gave; runs of long ago have none."""
        self.rows = [dict(row) for row in details.get("curve", [])]
        self._before = details.get("cpu_seconds", 0.0)

    def write(self, checkpoint: str | Path) -> None:
        """Write it beside a checkpoint, as `NAME.curve.csv`."""
        if not self.rows:
            return
        target = checkpoint_path(checkpoint)
        with target.with_name(f"{target.stem}.curve.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, self.rows[0])
            writer.writeheader()
            writer.writerows(self.rows)


Arrays = dict[str, NDArray[Any]]


SERVED = ("best", "last")
RENAMED: Final = {"near_misses": "clearance_penalty", "onward": "continuation"}
"""Settings that have another name than in older checkpoints and commands."""
NAMED: Final = 5
"""Skills that a warning names."""
EARLY: Final = (8, 4, 2)
"""Validations before the first usual one, as parts of the rounds until then."""
MORE_STEPS: Final = "What helps as a rule is more steps: --resume with a larger --steps."


def renamed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under the names that they have now."""
    return {RENAMED.get(name, name): value for name, value in options.items()}


@dataclass(frozen=True)
class TrainerSettings:
    """Choices that every network learner has; subclasses add theirs."""

    seed: int = 0
    preset: str = "cpu"
    """`cpu`: under an hour on one core. `paper`: the paper's sizes, however long they take."""
    validate_rounds: int = 50
    """Rounds between two validations."""
    serve: str = "best"
    """Which networks are served: `best`, those that did best in a validation, or `last`, those of the
    last one: where validations come near 1, they tell the networks apart no more."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"cpu": {}, "paper": {}}
    """What each preset has otherwise."""

    @classmethod
    def with_preset(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with those of their preset filled in."""
        return {**cls.presets.get(options.get("preset", "cpu"), {}), **options}

    def __post_init__(self) -> None:
        if self.preset not in self.presets:
            hint = did_you_mean(self.preset, list(self.presets))
            raise SkmError(f"no preset '{self.preset}'{hint}")
        if self.serve not in SERVED:
            raise SkmError(f"no serve '{self.serve}'{did_you_mean(self.serve, SERVED)}")
        if self.seed < 0:
            raise SkmError(f"seed is {self.seed}; it must be at least 0.")
        if self.validate_rounds < 1:
            raise SkmError(f"validate_rounds is {self.validate_rounds}; it must be at least 1.")


@dataclass(frozen=True)
class SkillRow:
    """How one skill came out of a run."""

    skill: str
    success: float
    """In the validation of what is served."""
    reached: int | None
    """How often agents arrived at it while learning; None: it is no single proposition."""


class DeepLearner(ABC):
    """A learner of skill primitives by function approximation; see the module for what it shares.

    Implements `skm_primitives.learning.training.Learner`.
    """

    learner: ClassVar[str]
    """The name in the card; `skm_primitives.skills.loading` says who serves it."""
    settings_class: ClassVar[type[Any]]
    """A `TrainerSettings`."""
    plans_ahead: ClassVar[bool] = True
    save_seconds: ClassVar[float] = 120.0
    """How often a run in progress is saved (a replay memory takes its time)."""

    def __init__(self, spec: DomainSpec, settings: TrainerSettings) -> None:
        self.spec = spec
        self.rounds = 0
        self._settings = settings
        self._best_score = -np.inf
        self._best: Arrays = {}
        self._best_scores: dict[str, float] = {}
        self._best_steps = 0
        self.world_seconds, self.learning_seconds = 0.0, 0.0
        """What gathering experience and learning from it took, in this process."""
        self.status = ""
        """A line on how far learning is, for the progress bar."""

    @abstractmethod
    def collect(self, random: np.random.Generator) -> None:
        """Gather one round of experience, `round_steps` environment steps."""

    @abstractmethod
    def improve(self, random: np.random.Generator) -> None:
        """Learn from what is remembered."""

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Return scores on validation worlds, the same ones every time, drawn from no generator.

        The key `validation` is what the best is chosen by; the others are reported with it.
        """

    @property
    @abstractmethod
    def round_steps(self) -> int:
        """Environment steps of one round."""

    @abstractmethod
    def served_arrays(self) -> Arrays:
        """Return what `Primitives` need of the networks as they are now, in copies."""

    @abstractmethod
    def served_details(self) -> dict[str, Any]:
        """Return what `Primitives` need beyond arrays, as JSON (gamma, sizes, label sets …)."""

    @abstractmethod
    def training_arrays(self) -> Arrays:
        """Return all that the rounds to come depend on, beyond the settings and `rounds`."""

    @abstractmethod
    def restore(self, arrays: Arrays, details: Mapping[str, Any]) -> None:
        """Take back what `training_arrays` and `served_details` gave."""

    def warnings(self) -> list[str]:
        """Return, as a sentence, which skills were never achieved, and what to change."""
        scores = {name: rate for name, rate in self._best_scores.items() if name != "validation"}
        if not self._best_scores:
            every = self._settings.validate_rounds
            first = every // EARLY[0] if every >= EARLY[0] else every
            short = first * self.round_steps
            return [
                f"The run ended before its first validation, at {short} steps, so nobody knows how good"
                f" the skills are. {MORE_STEPS}"
            ]
        never = [name for name, rate in scores.items() if rate == 0]
        return [f"{_skills(never)} in no validation world. {self.what_helps()}"] if never else []

    def skill_rows(self) -> list[SkillRow]:
        """Return how good each skill is."""
        named = self._best_scores.items()
        return [SkillRow(name, rate, None) for name, rate in named if name != "validation"]

    def what_helps(self) -> str:
        """Return, as a sentence, what to change where skills were never achieved."""
        return MORE_STEPS

    def finish(self, arrays: Arrays, card: Card) -> Arrays:  # noqa: ARG002
        """Return what to serve, with what is measured on it, such as goal-to-goal values.

        Called on every save; arrays that it has returned before come back to it as they were.
        """
        return arrays

    @classmethod
    def start(cls, spec: DomainSpec, options: Mapping[str, Any]) -> Self:
        """Return a learner that knows nothing yet."""
        options = renamed(options)
        known = [entry.name for entry in fields(cls.settings_class)]
        for name in options:
            if name not in known:
                hint = did_you_mean(name, known)
                raise SkmError(f"the {cls.learner} learner has no option '{name}'{hint}")
        return cls(spec, cls.settings_class(**options))

    @classmethod
    def resume(cls, spec: DomainSpec, path: str | Path) -> Self:
        """Return the learner that a checkpoint was saved from, ready to go on."""
        try:
            arrays, card = checkpoint.load(resume_path(path), spec.name)
        except MissingCheckpointError:
            raise MissingCheckpointError(
                f"there is no {resume_path(path)}, which holds the replay memory and all else that"
                " training needs to go on; train anew, or copy it from where the run was."
            ) from None
        if card.learner != cls.learner:
            raise SkmError(f"{path} is from the learner '{card.learner}', not '{cls.learner}'.")
        details = card.details
        if tuple(details["propositions"]) != spec.propositions:
            raise WrongDomainError(
                f"{path} is of another version of '{spec.name}', with the propositions"
                f" {details['propositions']}; train anew."
            )
        settings: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in renamed(details["settings"]).items()
        }
        learner = cls(spec, cls.settings_class(**settings))
        learner.rounds = details["rounds"]
        learner._best_score = details["best_score"]
        learner._best_scores = dict(details["best_scores"])
        learner._best_steps = details.get("served_steps", 0)
        learner._best = {
            name.removeprefix("best/"): value
            for name, value in arrays.items()
            if name.startswith("best/")
        }
        learner.restore(arrays, details)
        return learner

    @property
    def steps(self) -> int:
        """Environment steps taken so far."""
        return self.rounds * self.round_steps

    @property
    def options(self) -> dict[str, Any]:
        """The settings of the run, by name."""
        return asdict(self._settings)

    def run_round(self) -> None:
        """Gather experience and learn; validate now and then."""
        seeds = np.random.SeedSequence([self._settings.seed, self.rounds])
        random = np.random.default_rng(seeds)
        began = time.monotonic()
        self.collect(random)
        collected = time.monotonic()
        self.improve(random)
        self.world_seconds += collected - began
        self.learning_seconds += time.monotonic() - collected
        self.rounds += 1
        if self._is_validation_due():
            self._validate()

    def _is_validation_due(self) -> bool:
        """Tell whether skills are tried after this round.

        Every `validate_rounds`; in the beginning sooner, so that who waits sees early whether anything
        is learned; and at the end of the plan, where step sizes are smallest.
        """
        every, end = self._settings.validate_rounds, getattr(self._settings, "horizon", 0)
        early = {every // part for part in EARLY} if every >= EARLY[0] else set()
        ends = self.steps - self.round_steps < end <= self.steps
        return self.rounds % every == 0 or self.rounds in early or ends

    def _validate(self) -> None:
        scores = self.validate()
        last = self._settings.serve == "last"
        if last or scores["validation"] >= self._best_score:  # Of equals the later: smaller steps.
            self._best_score = scores["validation"]
            self._best = self.served_arrays()
            self._best_scores = scores
            self._best_steps = self.steps
        self.status = " ".join(f"{name} {value:.3f}" for name, value in scores.items())

    def save(self, path: str | Path, command: str) -> Card:
        """Write a checkpoint to resume from and one to serve; return the card of the latter."""
        details: dict[str, Any] = {
            "settings": asdict(self._settings),
            "rounds": self.rounds,
            "served_steps": self._best_steps if self._best else self.steps,
            "propositions": list(self.spec.propositions),
            "constraints": list(self.spec.constraints),
            **self.served_details(),
        }
        if warnings := self.warnings():
            details["warnings"] = warnings
        card = Card(
            domain=self.spec.name,
            learner=self.learner,
            command=command,
            seed=self._settings.seed,
            steps=self.steps,
            scores=self._best_scores,
            details=details,
        )
        served = self._best or self.served_arrays()
        with contextlib.suppress(DomainError):  # A world that fails must not cost what was learned.
            served = self.finish(served, card)
        if self._best:
            self._best = served
        best = {"best_score": max(self._best_score, -1.0), "best_scores": self._best_scores}
        whole = {**self.training_arrays(), **{f"best/{k}": v for k, v in self._best.items()}}
        everything = Card(**{**asdict(card), "details": {**details, **best}})
        checkpoint.save(resume_path(path), whole, everything)
        return checkpoint.save(path, served, card)


def _skills(names: Sequence[str]) -> str:
    """Return which skills were not achieved, as the beginning of a sentence."""
    listed = "; ".join(f"'{name}'" for name in names[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{'The skill' if len(names) == 1 else 'The skills'} {listed}{more} succeeded"


def resume_path(path: str | Path) -> Path:
    """Return where the state of training lies for the checkpoint at `path`."""
    target = checkpoint.checkpoint_path(path)
    return target.with_name(f"{target.stem}.resume{checkpoint.SUFFIX}")
