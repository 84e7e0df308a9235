"""Training as a loop over rounds that never loses work, and the table of learners."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Protocol, Self, TypeVar

from skm_machine.errors import SkmError
from skm_primitives.checkpoint import Card, CheckpointError, checkpoint_path, understood
from skm_primitives.interrupts import InterruptFlag
from skm_primitives.run_lock import locked
from skm_sim.domain import DomainSpec
from skm_sim.locations import load_attribute

MANY_CELLS = 1000
"""Cells from which tables over cells × places are too large."""
WORLD_LEARNER = "skm_primitives.tabular.world_learner:WorldLearner"
LEARNERS = {
    ("Discrete", "Discrete"): "skm_primitives.tabular.q_learning:TabularLearner",
    ("Box", "Box"): "skm_primitives.deep.box_learner:BoxLearner",
    ("Box", "Discrete"): "skm_primitives.deep.box_learner:BoxLearner",
}
"""The learner for each kind of observation and action space; a `Learner` class, imported on use. A
domain with a learner of its own names it in its spec."""


class Learner(Protocol):
    """What every learner of skill primitives offers."""

    plans_ahead: ClassVar[bool]
    """Whether it wants to know at the start how long the run will be: a setting `horizon`."""
    save_seconds: ClassVar[float]
    """How often a run in progress is saved."""
    settings_class: ClassVar[type[Any]]
    """The dataclass of its settings; see `learner_settings`."""

    @classmethod
    def start(cls, spec: DomainSpec, options: Mapping[str, Any]) -> Self:
        """Return a learner that knows nothing yet; options left out have their defaults."""
        ...

    @classmethod
    def resume(cls, spec: DomainSpec, path: str | Path) -> Self:
        """Return the learner that a checkpoint was saved from."""
        ...

    @property
    def steps(self) -> int:
        """Environment steps taken so far."""
        ...

    @property
    def default_steps(self) -> int:
        """How long a run is if nobody says: it may depend on what was learned so far."""
        ...

    @property
    def status(self) -> str:
        """A line on how well it goes, for those who watch; empty where there is nothing to say."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the run, those left at their defaults included."""
        ...

    def run_round(self) -> None:
        """Learn for a while. What a checkpoint holds must determine all rounds that follow."""
        ...

    def save(self, path: str | Path, command: str) -> Card:
        """Write a checkpoint to serve or to resume from."""
        ...


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended."""

    card: Card
    interrupted: bool


def learner_class(spec: DomainSpec, algorithm: str | None = None) -> type[Learner]:
    """Return the learner of a domain: its own, or the generic one that fits its spaces.

    With an algorithm named that its own learner does not offer, it is the generic one, too.
    """
    if spec.learner:
        own = imported_learner(spec.learner)
        if algorithm is None or "algorithm" in {entry.name for entry in fields(own.settings_class)}:
            return own
    env = spec.make()
    kind = type(env.observation_space).__name__, type(env.action_space).__name__
    env.close()
    if kind == ("Discrete", "Discrete") and env.observation_space.n > MANY_CELLS:  # type: ignore[attr-defined]
        return imported_learner(WORLD_LEARNER)
    if kind not in LEARNERS:
        known = "; ".join(f"{observed} and {acted}" for observed, acted in LEARNERS)
        raise SkmError(
            f"no learner for the domain '{spec.name}', whose observation space is {kind[0]} and"
            f" whose action space is {kind[1]}; there are learners for {known}."
        )
    return imported_learner(LEARNERS[kind])


def imported_learner(location: str) -> type[Any]:
    """Return the learner at `package.module:CLASS`; without PyTorch, those with networks say so."""
    try:
        found: type[Any] = load_attribute(location)
    except ImportError as error:
        if error.name != "torch":
            raise
        raise SkmError(
            "learning with networks needs PyTorch; install it with `pip install 'skm[learn]'`."
        ) from error
    return found


def make_learner(
    spec: DomainSpec, options: Mapping[str, Any], out: Path, *, resume: bool, overwrite: bool
) -> Learner:
    """Start the learner of a domain, or resume the one at `out`, as `begin_learner` does."""
    modes = {"resume": resume, "overwrite": overwrite}
    learner = learner_class(spec, options.get("algorithm"))
    wanted = {} if resume else domain_settings(spec, learner)  # A run goes on as it was begun.
    return begin_learner(learner, spec, {**wanted, **options}, out, **modes)


def domain_settings(spec: DomainSpec, learner: type[Learner]) -> Mapping[str, Any]:
    """Return what a domain wants otherwise of a learner: its own, or the generic one beside that."""
    beside = spec.learner and learner is not imported_learner(spec.learner)
    return spec.generic_settings if beside else spec.settings


AnyLearner = TypeVar("AnyLearner", bound=Learner)


def begin_learner(
    learner: type[AnyLearner],
    spec: DomainSpec,
    options: Mapping[str, Any],
    out: Path,
    *,
    resume: bool,
    overwrite: bool,
) -> AnyLearner:
    """Start a learner, or resume the one at `out`; refuse to destroy a checkpoint unasked."""
    path = checkpoint_path(out)
    if resume:
        with understood(path):
            resumed = learner.resume(spec, path)
        for name, value in options.items():
            if (kept := resumed.options.get(name)) != value:
                raise SkmError(
                    f"{path} was begun with {name} {kept}, so it cannot go on with {value}; leave"
                    " the option out to resume it, or train another with --out."
                )
        return resumed
    if path.exists() and not overwrite:
        raise CheckpointError(f"{path} exists; --resume continues it, --overwrite replaces it.")
    return learner.start(spec, options)


def train(
    learner: Learner,
    steps: int | None,
    out: Path,
    command: str,
    report: Callable[[int], None] = lambda _: None,
) -> TrainingResult:
    """Run rounds until `steps` steps have been taken in all, saving on the way and at the end.

    With None, the learner says after each round how many it takes (`default_steps`).

    An interrupt (SIGINT, SIGTERM) ends the run after the round in progress, saved; a second one
    ends it at once. A round that fails, say in the environment, ends it too, with all rounds
    before it saved.
    """
    _check_writable(out)
    saved = time.monotonic()
    with locked(out), _interrupts() as interrupted:
        while learner.steps < (steps or learner.default_steps) and not interrupted.is_set():
            try:
                learner.run_round()
            except SkmError as error:
                if learner.steps == 0:
                    raise
                learner.save(out, command)
                raise SkmError(
                    f"{error} The run is saved as it was after {learner.steps} steps, in {out}."
                ) from error
            report(learner.steps)
            if time.monotonic() - saved > learner.save_seconds:
                learner.save(out, command)
                saved = time.monotonic()
        card = learner.save(out, command)
    return TrainingResult(card, interrupted.is_set())


def _check_writable(out: Path) -> None:
    """Find out before the first step, not after the last, that nothing can be saved there."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(out.parent, os.W_OK):
            raise PermissionError("permission denied")
    except OSError as error:
        raise CheckpointError(
            f"cannot write to {out.parent}: {error.strerror or error}."
        ) from error


@contextmanager
def _interrupts() -> Iterator[InterruptFlag]:
    """Give a flag that the first interrupt sets; the second has its usual effect."""
    flag = InterruptFlag()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        flag.set()
        signal.signal(number, usual[signal.Signals(number)])

    for number in usual:
        signal.signal(number, on_signal)
    try:
        yield flag
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
