"""Pictures of the office domains: values of the primitives, and paths of the tasks."""

from __future__ import annotations

import argparse
from typing import Any, Final

import gymnasium
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from skm_machine import compile_mission
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.tracker import Status
from skm_primitives.composition import primitive
from skm_primitives.episodes import run_episode
from skm_primitives.planning.policy import Policy, make_policy
from skm_primitives.primitives import (
    GoalValues,
    Primitives,
    default_checkpoint,
    load_primitives,
)
from skm_primitives.tabular.finetune import FinetuneLearner
from skm_primitives.tabular.finetuned_policy import load_finetuned
from skm_sim.domain import DomainSpec, Task, get_domain
from skm_sim.office.figures import trajectories_figure, values_figure
from skm_sim.office.floor_plan import OFFICE_MAP, Position

STARTS: Final[tuple[Position, ...]] = ((11, 9), (5, 13))
"""Where the drawn paths start, if nothing else is asked for."""

Path = list[int]


def values(args: argparse.Namespace) -> tuple[Figure, dict[str, Any]]:
    """Draw the value function and policy of every primitive, as `fig:ow_values_base`.

    No arrow is drawn where the primitive is true already, nor where it has no value.
    """
    spec = get_domain(args.domain)
    primitives = _primitives(args, spec)
    cell_labels = _model(spec).cell_labels
    panels = []
    for name, constraint in [(name, False) for name in spec.propositions] + [
        (name, True) for name in spec.constraints
    ]:
        value, action = _primitive(primitives, name, constraint)
        there = cell_labels[:, spec.propositions.index(name)]
        action[there | (value <= 0)] = -1
        title = f"constraint: {name}" if constraint else name.replace("_", " ")
        panels.append((title, value, action))
    figure = values_figure(panels, absorbing=_absorbing(spec))
    return figure, {"primitives": [title for title, _, _ in panels]}


def _primitive(
    primitives: Primitives, name: str, constraint: bool
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return V(s) and the best action of a primitive in every cell, no constraint being violated."""
    best = []
    for cell in range(OFFICE_MAP.num_cells):
        found = primitives.values(cell, frozenset())
        if not isinstance(found, GoalValues):
            raise SkmError(f"the primitives of '{primitives.domain}' have no discrete actions.")
        q_max = np.maximum(found.move, found.stop)
        best.append(primitive(name, primitives.goals, q_max, constraint=constraint).max(axis=0))
    q = np.array(best)
    return q.max(axis=1), q.argmax(axis=1)


def trajectories(args: argparse.Namespace) -> tuple[Figure, dict[str, Any]]:
    """Draw the paths of each task, zero-shot left and few-shot right, as `fig:ow_trajectories`."""
    spec = get_domain(args.domain)
    primitives = _primitives(args, spec)
    tasks = [spec.task(name) for name in args.task or spec.tasks]
    starts = [_position(text) for text in args.starts] if args.starts else list(STARTS)
    finetuned = _finetuned(args, spec, primitives, tasks)
    panels: list[tuple[str, list[Path]]] = []
    document: dict[str, Any] = {}
    for task in tasks:
        mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
        policies: dict[str, Policy] = {}
        try:
            policies["zero-shot"] = make_policy(mission, primitives, args.planner)
        except UnachievableMissionError as error:
            raise SkmError(f"task '{task.name}': {error}") from error
        if finetuned:
            policies["few-shot"] = finetuned.get(task.name, policies["zero-shot"])
        for kind, policy in policies.items():
            runs = [_run(spec, primitives, policy, task, start) for start in starts]
            outcome = _outcome([count for _, count in runs])
            panels.append((f"{task.name}, {kind}: {outcome}", [path for path, _ in runs]))
            document.setdefault(task.name, {})[kind] = [count for _, count in runs]
    figure = trajectories_figure(panels, absorbing=_absorbing(spec))
    return figure, {"planner": args.planner, "starts": starts, "steps": document}


def _outcome(steps: list[int | None]) -> str:
    """Return how the runs of a panel ended, for its title."""
    solved = [str(count) for count in steps if count is not None]
    text = f"{', '.join(solved)} steps" if solved else ""
    failed = len(steps) - len(solved)
    return ", ".join([*filter(None, [text]), *([f"{failed} not solved"] if failed else [])])


def _run(
    spec: DomainSpec, primitives: Primitives, policy: Policy, task: Task, start: Position
) -> tuple[Path, int | None]:
    """Return the cells of one run, and its steps if it succeeds."""
    env = gymnasium.make(spec.env_id, max_episode_steps=-1)
    options = {"start": start}
    try:
        episode = run_episode(env, primitives, policy, max_steps=task.max_steps, options=options)
    except UnachievableMissionError:
        return [OFFICE_MAP.cell_at(start)], None
    return list(episode.observations), episode.steps if episode.status is Status.ACCEPTED else None


def _finetuned(
    args: argparse.Namespace, spec: DomainSpec, primitives: Primitives, tasks: list[Task]
) -> dict[str, Policy]:
    """Return the few-shot policies that were given, or that are learned now, by task."""
    policies: dict[str, Policy] = {}
    for text in args.finetuned:
        name, equals, path = text.partition("=")
        if not equals:
            raise SkmError(
                f"--finetuned takes TASK=FILE, such as coffee=runs/coffee, not '{text}'."
            )
        policy = load_finetuned(path, spec, primitives)
        if policy.mission.text != spec.task(name).formula:
            raise SkmError(f"{path} was learned for another task than '{name}'.")
        policies[name] = policy
    if args.finetune_steps:
        for task in tasks:
            if task.name not in policies:
                options = {"task": task.name, "planner": args.planner, "seed": args.seed}
                learner = FinetuneLearner.start(spec, {**options, "checkpoint": args.checkpoint})
                while learner.steps < args.finetune_steps:
                    learner.run_round()
                policies[task.name] = learner.policy
    return policies


def _primitives(args: argparse.Namespace, spec: DomainSpec) -> Primitives:
    return load_primitives(args.checkpoint or default_checkpoint(spec.name), spec)


def _model(spec: DomainSpec) -> Any:  # noqa: ANN401 - an OfficeModel, which Gymnasium does not say
    return gymnasium.make(spec.env_id).unwrapped.model  # type: ignore[attr-defined]


def _absorbing(spec: DomainSpec) -> tuple[Position, ...]:
    absorbing: tuple[Position, ...] = _model(spec).absorbing
    return absorbing


def _position(text: str) -> Position:
    try:
        row, column = (int(part) for part in text.split(","))
    except ValueError:
        raise SkmError(
            f"--starts takes rows and columns, such as 2,2 11,9, not '{text}'."
        ) from None
    OFFICE_MAP.cell_at((row, column))
    return row, column
