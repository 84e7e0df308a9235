"""Pictures of the Safety domain: one path of every task, in the colours of the machine's states."""

from __future__ import annotations

import argparse
from typing import Any, Final

import gymnasium
import numpy as np
from matplotlib.figure import Figure

from skm_machine import Status, compile_mission
from skm_machine.drawing.lettering import words_broken
from skm_machine.errors import SkmError
from skm_primitives.episodes import Episode, run_episode
from skm_primitives.planning.policy import make_policy
from skm_primitives.primitives import Primitives, default_checkpoint, load_primitives
from skm_sim.domain import DomainSpec, Task, get_domain
from skm_sim.safety.drawing import PATH_COLOURS, draw_arena
from skm_sim.safety.feasibility import STAGES, sample_feasible
from skm_sim.safety.layout import Floats, Layout, authors_layouts

COLUMNS: Final = 3
SIZE: Final = 3.4
LEGEND: Final = (
    "○ start   ● the machine moves   ★ accepted   one colour for each state of the machine\n"
    "green: button, red: cylinder, blue: region; a proposition holds inside of its dotted circle"
)


def trajectories(args: argparse.Namespace) -> tuple[Figure, dict[str, Any]]:
    """Draw a run of each task on the authors' objects, zero-shot, as `fig:se_zs_returns`.

    `--seed` says where the robot starts, and which button the cylinder stands on: one on which the
    task is possible, by the rule of `skm_sim.safety.feasibility`.
    """
    if args.starts or args.finetuned or args.finetune_steps:
        raise SkmError("--starts, --finetuned and --finetune-steps are for the office domains.")
    spec = get_domain(args.domain)
    primitives = load_primitives(args.checkpoint or default_checkpoint(spec.name), spec)
    tasks = [spec.task(name) for name in args.task or spec.tasks]
    rows = -(-len(tasks) // COLUMNS)
    columns = min(COLUMNS, len(tasks))
    figure = Figure(figsize=(SIZE * columns, (SIZE + 0.75) * rows), layout="constrained")
    document: dict[str, Any] = {}
    for number, task in enumerate(tasks, start=1):
        random = np.random.default_rng([args.seed, int(task.name)])
        layout = sample_feasible(random, 1, STAGES[task.name], authors_layouts)[0][0]
        episode, path = _run(spec, primitives, task, args.planner, layout)
        solved = episode.status is Status.ACCEPTED
        said = (
            f"accepted, {episode.steps} steps" if solved else f"not solved: {episode.status.value}"
        )
        axes = figure.add_subplot(rows, columns, number)
        draw_arena(axes, layout, path=path, phases=machine_states(episode))
        for step in episode.transitions:
            colour = PATH_COLOURS[step.target % len(PATH_COLOURS)]
            look: dict[str, Any] = {"mfc": colour, "mec": "white", "ms": 7, "zorder": 8}
            if step.reward > 0:
                look |= {"marker": "*", "mfc": "#ffd23f", "mec": "black", "ms": 13, "mew": 0.8}
            axes.plot(*path[step.number, :2], **{"marker": "o", **look})
        formula = "\n".join(words_broken(task.formula, 7.5, 72 * SIZE - 20))
        axes.set_title(f"{task.name}: {said}\n{formula}", size=7.5, loc="left")
        document[task.name] = {
            "outcome": "timed out" if episode.status is Status.RUNNING else episode.status.value,
            "steps": episode.steps,
        }
    figure.supxlabel(LEGEND, size=8)
    return figure, {"planner": args.planner, "seed": args.seed, "tasks": document}


def machine_states(episode: Episode) -> list[int]:
    """Return the machine's state at the beginning of every step."""
    states = []
    state = episode.transitions[0].source if episode.transitions else 0
    moves = {step.number: step.target for step in episode.transitions}
    for number in range(episode.steps):
        state = moves.get(number, state)
        states.append(state)
    return states


def _run(
    spec: DomainSpec, primitives: Primitives, task: Task, planner: str, layout: Layout
) -> tuple[Episode, Floats]:
    """Return one run and the poses of its states."""
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
    policy = make_policy(mission, primitives, planner)
    env = gymnasium.make(spec.env_id, max_episode_steps=-1)
    world: Any = env.unwrapped
    poses = [layout.robot]
    episode = run_episode(
        env,
        primitives,
        policy,
        max_steps=task.max_steps,
        options={"layout": layout},
        watch=lambda *_: poses.append(world.pose),
    )
    env.close()
    return episode, np.array(poses)
