"""Training as a loop over rounds that never loses work, and the table of learners."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Protocol, Self, TypeVar

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.interrupts import InterruptFlag
from skm_primitives.learning.settings import ALGORITHMS
from skm_primitives.skills.checkpoint import Card, CheckpointError, checkpoint_path, understood
from skm_primitives.workers import Job
from skm_sim import get_domain
from skm_sim.locations import load_attribute
from skm_sim.plugins import Plugins
from skm_sim.spec import DomainSpec

# One run at a time for a checkpoint: two trainings with the same `--out` would undo each other.


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the lock of a checkpoint, in a file beside it; a second process is refused.

    The kernel lets go of it when the process ends, however that happens, so no lock is left behind.
    """
    path = out.with_name(f"{out.stem}.lock")
    descriptor = _acquire(path, out)
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, out: Path) -> int:
    """Return the locked file; one that its owner has just removed is taken anew."""
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise CheckpointError(
                f"another run (process {owner or 'unknown'}) is writing {out}; wait for its end, or"
                " train into another file with --out."
            ) from None
        if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
        os.close(descriptor)


MANY_CELLS = 1000
"""Cells from which tables over cells × places are too large."""
MEASURED = 0.02
"""The share of a budget from which the speed of world and learner is taken."""
KEPT_FOR_STEPS = 0.85
"""The share of a budget for steps and updates: the rest is for validations, and for what is measured
at the end."""
WORLD_LEARNER = "skm_primitives.learning.world_model:WorldLearner"
LEARNERS = {
    ("Discrete", "Discrete"): "skm_primitives.learning.tabular:TabularLearner",
    ("Box", "Box"): "skm_primitives.learning.goal_conditioned:GoalConditionedLearner",
    ("Box", "Discrete"): "skm_primitives.learning.goal_conditioned:GoalConditionedLearner",
}
"""The learner for each kind of observation and action space; a `Learner` class, imported on use. A
domain with a learner of its own names it in its spec."""
INSTALLED = Plugins("skm.learners", "learner")
"""Learners of other packages, each a `Learner` class: `skm train DOMAIN --learner NAME`."""


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
        """How long a run is by default: it may depend on what was learned so far."""
        ...

    @property
    def status(self) -> str:
        """A line on the progress so far, for display; empty where there is nothing to say."""
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
    """What was learned, how, and how good it is."""
    interrupted: bool
    """Whether it was ended by Ctrl-C, before its last step."""


def learner_class(spec: DomainSpec, algorithm: str | None = None) -> type[Learner]:
    """Return the learner of a domain: its own, or the generic one that fits its spaces.

    With an algorithm named that its own learner does not offer, it is the generic one, too; one that
    an installed package offers is the learner itself.
    """
    if algorithm in INSTALLED.names():
        return INSTALLED.load(algorithm)  # type: ignore[return-value]
    if algorithm is not None and algorithm not in ALGORITHMS:
        hint = did_you_mean(algorithm, (*ALGORITHMS, *INSTALLED.names()))
        raise SkmError(f"unknown learner '{algorithm}'{hint}")
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
    if options.get("algorithm") in INSTALLED.names():
        options = {name: value for name, value in options.items() if name != "algorithm"}
        wanted: Mapping[str, Any] = {}  # the settings in a spec are those of skm's learners
    else:
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
    budget: float | None = None,
    *,
    at_most: bool = False,
) -> TrainingResult:
    """Run rounds until `steps` steps have been taken in all, saving on the way and at the end.

    With None, the learner says after each round how many it takes (`default_steps`). With a budget in
    seconds, the first rounds tell how fast world and learner are, and the steps are decided once, from
    that (`planned_steps`). So the clock decides the plan once, and nothing else: one with the same
    settings ends with the same bytes, and so does one that is resumed. With `at_most`, a budget takes
    away from what the learner has planned, and adds nothing.

    An interrupt (SIGINT, SIGTERM) ends the run after the round in progress, saved; a second one
    ends it at once. A round that fails, say in the environment, ends it too, with all rounds
    before it saved.
    """
    _check_writable(out)
    saved = began = time.monotonic()
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
            spent = time.monotonic() - began
            if budget and (spent > MEASURED * budget or interrupted.is_set()):
                left = planned_steps(learner.steps, spent, budget)
                if not (at_most and left >= learner.default_steps):
                    steps = _plan(learner, left)
                budget = None
            report(learner.steps)
            if time.monotonic() - saved > learner.save_seconds:
                learner.save(out, command)
                saved = time.monotonic()
        card = learner.save(out, command)
    return TrainingResult(card, interrupted.is_set())


def planned_steps(steps: int, seconds: float, budget: float) -> int:
    """Return how many steps fit a budget in seconds, given how long the first ones took."""
    return max(1, int(steps * KEPT_FOR_STEPS * budget / max(seconds, 1e-9)))


def _plan(learner: Learner, steps: int) -> int | None:
    """Tell a learner that plans ahead how long the run is; else return that."""
    plan = getattr(learner, "plan", None)
    if plan is None:
        return max(steps, learner.steps)
    plan(steps)
    return None


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


# Training runs of several seeds as jobs: each has a checkpoint of its own, and goes on where it
# was.


def seed_jobs(
    domain: str,
    seeds: Sequence[int],
    options: Mapping[str, Any],
    steps: int | None,
    out: Path,
    modes: Mapping[str, bool],
    command: str,
) -> list[Job]:
    """Return a job for each seed; the checkpoint of seed 3 is OUT_seed3."""
    if not modes["resume"]:
        for seed in seeds:
            checkpoint_path(Path(f"{out}_seed{seed}")).with_suffix(".begun").unlink(missing_ok=True)
    common = {"domain": domain, "steps": steps, "modes": dict(modes), "command": command}
    return [
        Job(
            f"seed {seed}",
            "skm_primitives.learning.training:train_seed",
            {**common, "options": {**options, "seed": seed}, "out": f"{out}_seed{seed}"},
        )
        for seed in seeds
    ]


def train_seed(
    domain: str,
    options: Mapping[str, Any],
    steps: int | None,
    out: str,
    modes: Mapping[str, bool],
    command: str,
) -> dict[str, Any]:
    """Train one seed; a job that is done again, its worker lost, goes on from what was saved.

    With `resume`, so does a run that was stopped, and one that never began begins.
    """
    spec, path = get_domain(domain), checkpoint_path(Path(out))
    begun = path.with_suffix(".begun")
    resume = (modes["resume"] or begun.exists()) and path.exists()
    planned = learner_class(spec, options.get("algorithm")).plans_ahead and "horizon" not in options
    if steps and not resume and planned:
        options = {**options, "horizon": steps}
    overwrite = modes["overwrite"] and not resume
    learner = make_learner(spec, options, path, resume=resume, overwrite=overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    begun.touch()
    result = train(learner, steps, path, command)
    if result.interrupted:
        raise KeyboardInterrupt
    begun.unlink()
    card = result.card
    return {"out": str(path), "steps": card.steps, "digest": card.digest, **card.scores}
