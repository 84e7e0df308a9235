"""The paths that solve a domain's tasks: zero-shot, and few-shot beside it where it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium

from skm_machine import compile_mission
from skm_machine.drawing.canvas import words_broken
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_primitives.execution.episodes import Episode, run_episode
from skm_primitives.few_shot.tabular import FinetuneLearner
from skm_primitives.figures.options import Drawn, FigureOptions
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Policy
from skm_primitives.planning.saved_policies import load_finetuned
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import Primitives
from skm_sim.artists import DrawnRun, PathsArtist, PathsPanel
from skm_sim.locations import load_attribute
from skm_sim.scene_drawing import ScenePaths
from skm_sim.spec import DomainSpec, Task
from skm_sim.tabular import is_tabular
from skm_sim.trials import ResetOptions


def draw(spec: DomainSpec, options: FigureOptions) -> Drawn:
    """Draw runs of each task by the artist of the domain, or over its scene from above."""
    if not spec.tasks:
        raise SkmError(
            f"the domain '{spec.name}' has no tasks to draw the paths of (tasks of its spec);"
            " skm run --render draws a run of any mission."
        )
    artist = _artist(spec)
    planner = options.planner or artist.planner
    primitives = load_primitives(spec, options.checkpoint)
    tasks = [spec.task(name) for name in options.tasks or spec.tasks]
    few_shot = _few_shot(spec, primitives, tasks, planner, options)
    env = spec.make()
    panels = [
        PathsPanel(
            task,
            kind,
            words_broken(task.formula, *artist.formula_width),
            [
                _run(env, primitives, policy, task, artist, trial)
                for trial in artist.trials(task, options.seed, options.starts)
            ],
        )
        for task in options.track(tasks, f"runs of {spec.name}")
        for kind, policy in _policies(spec, primitives, task, planner, few_shot).items()
    ]
    figure = artist.figure(env.unwrapped, panels)
    figure.text(0.995, 0.004, f"planner: {planner}", ha="right", va="bottom", size=7)
    env.close()
    return Drawn(figure, {"planner": planner, **artist.document(panels, options.seed)})


def _artist(spec: DomainSpec) -> PathsArtist:
    if "trajectories" in spec.figures:
        artist: PathsArtist = load_attribute(spec.figures["trajectories"])()
        return artist
    return ScenePaths(spec)


def _policies(
    spec: DomainSpec,
    primitives: Primitives,
    task: Task,
    planner: str,
    few_shot: dict[str, Policy],
) -> dict[str, Policy]:
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
    try:
        policies = {"zero-shot": make_policy(mission, primitives, planner)}
    except UnachievableMissionError as error:
        raise SkmError(f"task '{task.name}': {error}") from error
    if few_shot:
        policies["few-shot"] = few_shot.get(task.name, policies["zero-shot"])
    return policies


def _run(
    env: gymnasium.Env[Any, Any],
    primitives: Primitives,
    policy: Policy,
    task: Task,
    artist: PathsArtist,
    trial: ResetOptions,
) -> DrawnRun:
    """Return one run; one that is refused from its start is drawn as that start."""
    path: list[Any] = []

    def note(*_: object) -> None:
        path.append(artist.place(env.unwrapped))

    seed = trial.get("seed")
    options = {key: value for key, value in trial.items() if key != "seed"} or None
    env.reset(seed=seed, options=options)  # as the run will: the path shows the start, too
    note()
    try:
        episode = run_episode(
            env,
            primitives,
            policy,
            max_steps=task.max_steps,
            seed=seed,
            options=options,
            watch=note,
        )
    except UnachievableMissionError:
        return DrawnRun(trial, path, "failed", 0, [], [])
    moves = [(move.step, move.target, move.reward) for move in episode.transitions]
    return DrawnRun(trial, path, episode.outcome, episode.steps, machine_states(episode), moves)


def machine_states(episode: Episode) -> list[int]:
    """Return the machine's state at the beginning of every step."""
    states = []
    state = episode.transitions[0].source if episode.transitions else 0
    moves = {move.step: move.target for move in episode.transitions}
    for number in range(episode.steps):
        state = moves.get(number, state)
        states.append(state)
    return states


def _few_shot(
    spec: DomainSpec,
    primitives: Primitives,
    tasks: Sequence[Task],
    planner: str,
    options: FigureOptions,
) -> dict[str, Policy]:
    """Return the few-shot policies that were given, or that are learned now, by task."""
    if options.finetune_steps and not is_tabular(spec):
        raise SkmError("--finetune-steps is for tabular domains; elsewhere, --finetuned TASK=FILE.")
    policies: dict[str, Policy] = {}
    for name, path in options.finetuned.items():
        policy = load_finetuned(path, spec, primitives)
        if policy.mission.text != spec.task(name).formula:
            raise SkmError(f"{path} was learned for another task than '{name}'.")
        policies[name] = policy
    for task in tasks:
        if options.finetune_steps and task.name not in policies:
            settings = {"task": task.name, "planner": planner, "seed": options.seed}
            checkpoint = None if options.checkpoint is None else str(options.checkpoint)
            learner = FinetuneLearner.start(spec, {**settings, "checkpoint": checkpoint})
            while learner.steps < options.finetune_steps:
                learner.run_round()
            policies[task.name] = learner.policy
    return policies
