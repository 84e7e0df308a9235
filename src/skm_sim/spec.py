"""What a domain is: propositions, constraints, tasks, an environment, and what else it brings.

A domain has two halves. `DomainSpec` is plain data (no simulator is imported for it), and `Domain`
is what its Gymnasium environment offers beyond `reset` and `step`: the labelling function of the
paper, `L: S -> 2^P`. `skm_sim.check_domain` tells what a domain of one's own still lacks, and
`skm_sim.registry` finds domains by name.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Protocol, runtime_checkable

import gymnasium
from gymnasium.vector import VectorEnv

from skm_machine.errors import did_you_mean
from skm_sim.faults import DomainError as DomainError  # noqa: PLC0414
from skm_sim.faults import making_faults
from skm_sim.labels import with_label_arrays
from skm_sim.locations import load_attribute
from skm_sim.object_centric import ObjectKinds, ObjectSets

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = frozenset({"X", "F", "G", "U", "R", "W", "M", "true", "false", "xor"})


@runtime_checkable
class Domain(Protocol):
    """What the unwrapped Gymnasium environment of a domain offers.

    `info["labels"]` from `reset` and `step` equals `labels()`. If there is a batch version
    (`vector_entry_point`), its `info["labels"]` is a bool array `(num_envs, len(propositions))`,
    and with `num_envs=1` and the same seed it goes through the same steps as the single one.
    """

    propositions: tuple[str, ...]
    """What can be true in it, by name."""
    constraints: tuple[str, ...]
    """The propositions that missions may want kept false on the way."""

    def labels(self) -> frozenset[str]:
        """Return the propositions that are true in the current state."""
        ...


@dataclass(frozen=True)
class Task:
    """A mission that belongs to a domain, with the limit that the paper's comparison uses."""

    name: str
    """What commands call it by."""
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
class Registration:
    """An environment to make known to Gymnasium, as `gymnasium.register` takes it."""

    id: str
    """The environment's id in Gymnasium."""
    entry_point: str | Callable[..., gymnasium.Env[Any, Any]]
    """What makes it: a function, or `package.module:name`."""
    max_episode_steps: int
    """The time limit of an episode."""
    vector_entry_point: str | None = None
    """What makes a batch of it, if it has one of its own."""
    kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What it is made with."""


@dataclass(frozen=True)
class DomainSpec:
    """Everything about a domain that is known without starting its simulator.

    What it brings beyond its environment is named, not imported: `package.module:ATTRIBUTE`. All of
    it may be left out: there is a generic learner for each kind of spaces, and so on.
    """

    name: str
    """What commands call it by."""
    env_id: str
    """The Gymnasium id, for `gymnasium.make` and `gymnasium.make_vec`."""
    propositions: tuple[str, ...]
    """What can be true in it, by name."""
    constraints: tuple[str, ...]
    """The propositions whose constraint (the paper's hatted copy) the primitives keep track of."""
    gamma: float
    """The discount that its skills are learned and composed with."""
    primitive_steps: int
    """Environment steps after which an episode of primitive learning is cut off."""
    tasks: Mapping[str, Task] = field(hash=False)
    """Its missions by name."""

    environments: tuple[Registration, ...] = ()
    """What to register with Gymnasium; none, where the domain's package does it itself."""
    demo: str = ""
    """The task that shows the domain best; else it is the first one."""
    extra: str = ""
    """The extra of skm that the simulator needs, and what it imports: `extra: module`."""
    checkpoint: str = ""
    """Skills that come with the domain, as `package:path/in/the/package`, or an absolute path."""
    skills_of: str = ""
    """Another domain, whose checkpoints serve here, too: its `objects` are made up as they are here,
    only of other kinds or more of them, and all kinds are alike (`ObjectSets`)."""
    learner: str = ""
    """A `skm_primitives.learning.training.Learner`; else it is found by the kind of spaces."""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Settings of the learner that this domain wants otherwise than their defaults."""
    generic_settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The same of the generic learner, where the domain names one of its own: `train --learner`."""
    server: str = ""
    """A function (arrays, card, spec) that serves what that learner writes, if it is not generic."""
    encoder: str = ""
    """How a network learner sees and moves: see `skm_primitives.skills.encoders`."""
    validation: str = ""
    """The single skills that the primitives are judged by: a `skm_sim.trials.SkillTrials`."""
    trials: str = ""
    """Where tasks are evaluated: a `skm_sim.trials.TaskTrials`."""
    skills: str = ""
    """A function that evaluates single skills, if not by `validation`."""
    exact: str = ""
    """Perfect primitives, made from the spec, that show what a planner alone can do."""
    figures: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Who draws each kind of `skm plot`: see `skm_primitives.figures`."""
    brake: str = ""
    """A function from the environment to the action that brings the robot to rest as fast as it can,
    where a zero action would let it coast."""
    team: str = ""
    """Several robots in one world: a class that fits `skm_sim.team_world.TeamWorld`."""
    embodiment: str = ""
    """How a real robot stands in for the domain's: a class, made from the path of a file that says
    where objects are, that fits `skm_sim.robots.embodiment.Embodiment`."""
    hold: int = 1
    """Steps for which a decision is held, unless the machine moves: where a step is too short to decide
    on. Labels count at each. A batch to learn in takes so many at once: its environment has to have an
    option `hold`; `primitive_steps` and γ are then of decisions."""
    objects: ObjectSets | ObjectKinds | None = None
    """That the features of its encoder are objects by kind, so that the generic learner asks a network
    relative to the goal, or to what is to be avoided."""
    step_seconds: float | None = None
    """How long a step takes, where the world has a clock: for missions that name seconds."""
    events: tuple[str, ...] = ()
    """Propositions of the domain that the robot does not control: they happen."""
    position: tuple[int, int] | None = None
    """Which two numbers of an observed vector are x and y: for pictures of values."""
    scene: str = ""
    """A function from the environment to `skm_sim.scene.Shape`s; else its method `scene()`."""
    body: InitVar[str] = ""
    """The former name of `encoder`."""

    def __post_init__(self, body: str) -> None:
        if body:
            said = "DomainSpec(body=...) is called encoder now"
            warnings.warn(said, DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "encoder", body)
        problems = name_problems(self.propositions, self.constraints)
        if not 0 < self.gamma < 1:
            problems.append(f"gamma is {self.gamma}; it must lie between 0 and 1.")
        if self.primitive_steps < 1:
            problems.append(f"primitive_steps is {self.primitive_steps}; it must be at least 1.")
        if self.hold < 1:
            problems.append(f"hold is {self.hold}; it must be at least 1.")
        if self.objects is not None and set(self.objects.kinds) != set(self.constraints):
            problems.append("the kinds of its objects must be its constraints.")
        for name in self.events:
            if name not in self.propositions:
                problems.append(f"the event '{name}' is none of its propositions.")
        if self.step_seconds is not None and not 0 < self.step_seconds < math.inf:
            problems.append(f"step_seconds is {self.step_seconds}; it must be above 0.")
        if self.position is not None and min(self.position) < 0:
            problems.append(f"position is {self.position}; it counts from 0.")
        problems += [
            f"the task filed under '{key}' is named '{task.name}'; the two must be the same."
            for key, task in self.tasks.items()
            if key != task.name
        ]
        if self.demo and self.demo not in self.tasks:
            problems.append(f"the demo '{self.demo}' is none of its tasks.")
        if problems:
            raise DomainError(f"domain '{self.name}': " + " ".join(problems))

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name.replace("_", " ").title()

    def task(self, name: str) -> Task:
        """Return the task of that name; an unknown one raises an error that names the nearest."""
        try:
            return self.tasks[name]
        except KeyError:
            hint = did_you_mean(name, self.tasks)
            raise DomainError(f"domain '{self.name}' has no task '{name}'{hint}") from None

    @property
    def demo_task(self) -> Task:
        """The task that shows the domain best."""
        if not self.tasks:
            raise DomainError(f"the domain '{self.name}' has no tasks: say which mission to run")
        return self.task(self.demo or next(iter(self.tasks)))

    def register(self) -> None:
        """Make its environments known to Gymnasium, once."""
        for entry in self.environments:
            if entry.id not in gymnasium.registry:
                gymnasium.register(
                    entry.id,
                    entry_point=entry.entry_point,
                    vector_entry_point=entry.vector_entry_point,
                    max_episode_steps=entry.max_episode_steps,
                    kwargs=dict(entry.kwargs),
                )

    def make(self, render_mode: str | None = None, **options: Any) -> gymnasium.Env[Any, Any]:  # noqa: ANN401
        """Return one environment. By default it has no time limit: missions have their own."""
        given: dict[str, Any] = {"max_episode_steps": -1, **options}
        if render_mode is not None:
            given["render_mode"] = render_mode
        self.register()
        with making_faults(self.name, self.env_id, self.extra):
            return gymnasium.make(self.env_id, **given)

    def make_batch(self, num_envs: int, limit: int | None = None) -> VectorEnv[Any, Any, Any]:
        """Return a batch of environments, whose `info["labels"]` is a bool array.

        Where they step as arrays, `limit` takes the place of the time limit that they have.
        """
        self.register()
        with making_faults(self.name, self.env_id, self.extra):
            held: dict[str, Any] = {"hold": self.hold} if self.hold > 1 else {}
            native = gymnasium.spec(self.env_id).vector_entry_point is not None
            if limit is not None and native:
                held["max_episode_steps"] = limit
            batch = gymnasium.make_vec(self.env_id, num_envs=num_envs, **held)
        return with_label_arrays(batch, self.propositions)

    def part(self, name: str) -> Any:  # noqa: ANN401 - whatever the part is
        """Return the part of that name, imported; None where the domain leaves it out."""
        location: str = getattr(self, name)
        return load_attribute(location) if location else None


def task_table(tasks: Iterable[Task]) -> dict[str, Task]:
    """Return the tasks by name, in order, as `DomainSpec.tasks` wants them."""
    return {task.name: task for task in tasks}


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
