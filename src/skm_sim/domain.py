"""What a domain is (propositions, constraints, tasks, environment) and how one is found by name.

A domain has two halves. `DomainSpec` is plain data (no simulator is imported for it), and `Domain`
is what its Gymnasium environment offers beyond `reset` and `step`: the labelling function of the
paper, `L: S -> 2^P`. `skm_sim.checker.check_domain` tells what a domain of one's own still lacks.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from skm_machine.errors import SkmError, did_you_mean

_LOCATIONS = {
    "office": "skm_sim.office.spec:OFFICE",
    "office_absorbing": "skm_sim.office.spec:OFFICE_ABSORBING",
    "safety": "skm_sim.safety.spec:SAFETY",
    "moving_targets": "skm_sim.moving_targets.spec:MOVING_TARGETS",
}
"""Where each domain that comes with skm keeps its `DomainSpec`: one line a domain."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = frozenset({"X", "F", "G", "U", "R", "W", "M", "true", "false", "xor"})


class DomainError(SkmError):
    """A domain that is unknown or does not fit together; the message says what would be right."""


@runtime_checkable
class Domain(Protocol):
    """What the unwrapped Gymnasium environment of a domain offers.

    `info["labels"]` from `reset` and `step` equals `labels()`. If there is a batch version
    (`vector_entry_point`), its `info["labels"]` is a bool array `(num_envs, len(propositions))`,
    and with `num_envs=1` and the same seed it goes through the same steps as the single one.
    """

    propositions: tuple[str, ...]
    constraints: tuple[str, ...]

    def labels(self) -> frozenset[str]:
        """Return the propositions that are true in the current state."""
        ...


@dataclass(frozen=True)
class Task:
    """A mission that belongs to a domain, with the limit that the paper's comparison uses."""

    name: str
    formula: str
    """Temporal logic over the domain's propositions."""
    repeat: bool
    """Whether an accepting transition leads back to the start, so that completions are counted."""
    max_steps: int
    """Environment steps after which an episode of the task is cut off."""

    def __post_init__(self) -> None:
        if self.max_steps < 1:
            raise DomainError(f"task '{self.name}': max_steps is {self.max_steps}, must be >= 1.")


@dataclass(frozen=True)
class DomainSpec:
    """Everything about a domain that is known without starting its simulator."""

    name: str
    env_id: str
    """The Gymnasium id, for `gymnasium.make` and `gymnasium.make_vec`."""
    propositions: tuple[str, ...]
    constraints: tuple[str, ...]
    """The propositions whose constraint (the paper's hatted copy) the primitives keep track of."""
    gamma: float
    primitive_steps: int
    """Environment steps after which an episode of primitive learning is cut off."""
    tasks: Mapping[str, Task] = field(hash=False)

    def __post_init__(self) -> None:
        problems = name_problems(self.propositions, self.constraints)
        if not 0 < self.gamma < 1:
            problems.append(f"gamma is {self.gamma}; it must lie between 0 and 1.")
        if self.primitive_steps < 1:
            problems.append(f"primitive_steps is {self.primitive_steps}; it must be at least 1.")
        problems += [
            f"the task filed under '{key}' is named '{task.name}'; the two must be the same."
            for key, task in self.tasks.items()
            if key != task.name
        ]
        if problems:
            raise DomainError(f"domain '{self.name}': " + " ".join(problems))

    def task(self, name: str) -> Task:
        """Return the task of that name; an unknown one raises an error that names the nearest."""
        try:
            return self.tasks[name]
        except KeyError:
            hint = did_you_mean(name, self.tasks)
            raise DomainError(f"domain '{self.name}' has no task '{name}'{hint}") from None


def task_table(tasks: Iterable[Task]) -> dict[str, Task]:
    """Return the tasks by name, in order, as `DomainSpec.tasks` wants them."""
    return {task.name: task for task in tasks}


def domain_names() -> tuple[str, ...]:
    """Return the names of the domains that come with skm."""
    return tuple(_LOCATIONS)


def get_domain(name: str) -> DomainSpec:
    """Return a domain that comes with skm by its name, or one's own by `package.module:ATTRIBUTE`.

    Only the module that holds the spec is imported, never the simulators of other domains.
    """
    if ":" in name:
        return _load(name)
    if name not in _LOCATIONS:
        raise DomainError(
            f"unknown domain '{name}'{did_you_mean(name, _LOCATIONS)}"
            " A domain of your own is written package.module:ATTRIBUTE."
        )
    return _load(_LOCATIONS[name])


def _load(location: str) -> DomainSpec:
    """Import the `DomainSpec` at `package.module:ATTRIBUTE`."""
    module_name, _, attribute = location.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as error:
        raise DomainError(
            f"domain '{location}': cannot import '{module_name}' ({error}). Install its package, or"
            " put its folder on PYTHONPATH."
        ) from error
    spec = getattr(module, attribute, None)
    if isinstance(spec, DomainSpec):
        return spec
    known = [key for key, value in vars(module).items() if isinstance(value, DomainSpec)]
    what = f"no attribute '{attribute}'" if spec is None else f"'{attribute}' is no DomainSpec"
    hint = did_you_mean(attribute, known)
    raise DomainError(f"domain '{location}': {what} in {module_name}{hint}")


def name_problems(propositions: Sequence[str], constraints: Sequence[str]) -> list[str]:
    """Return what is wrong with a domain's proposition and constraint names, a sentence each."""
    problems = [] if propositions else ["there are no propositions; name at least one."]
    for kind, names in (("propositions", propositions), ("constraints", constraints)):
        twice = sorted({name for name in names if list(names).count(name) > 1})
        if twice:
            problems.append(f"{kind} lists {', '.join(twice)} more than once; list each name once.")
    for name in dict.fromkeys(propositions):
        if not _NAME.fullmatch(name):
            problems.append(
                f"the proposition name '{name}' cannot be written in a mission; use letters,"
                " digits and underscores, not starting with a digit."
            )
        elif name in _OPERATORS:
            problems.append(
                f"the proposition name '{name}' is an operator of temporal logic; choose another."
            )
    strangers = [name for name in dict.fromkeys(constraints) if name not in propositions]
    if strangers:
        problems.append(
            f"constraints names {', '.join(strangers)}, not among the propositions; a constraint"
            " is a proposition whose change is tracked, so add it there or drop it here."
        )
    return problems
