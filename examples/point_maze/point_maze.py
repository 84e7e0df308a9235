"""PointMaze of gymnasium-robotics as a domain: rooms of the large maze are labelled, one is forbidden.

The environment knows nothing of skm. A force moves a ball through a maze; what is observed is its
position and its velocity. Every proposition is a cell of the maze, and `wet` is a cell in the way.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import gymnasium_robotics
import numpy as np

from skm_sim import DomainSpec, Registration, Shape, Task, label_env, task_table

gymnasium.register_envs(gymnasium_robotics)

PLACES = {
    "dock": (1, 1),
    "lab": (1, 10),
    "store": (7, 1),
    "bench": (7, 4),
    "exit": (7, 10),
    "wet": (4, 6),
}
"""Row and column of each labelled cell of the maze."""
REACH = 0.5
"""A place is half a cell around the middle of its cell."""
LEAST, MOST = 5, 20
"""Steps for which an action is held: 0.05 s, in which the ball goes a quarter of a cell, to 0.2 s."""


class Held(gymnasium.Wrapper):
    """Holds each action until the ball comes into another cell, so that none is missed, or time is up.

    The maze's own steps of 0.01 s are too short to plan in: the far end is hundreds of them away.
    """

    def step(self, action: Any) -> Any:
        """Take the action until it was held long enough, or the world ends."""
        first = None
        for count in range(1, MOST + 1):
            result = self.env.step(action)
            cell = tuple(self.unwrapped.maze.cell_xy_to_rowcol(result[0]["achieved_goal"]))
            first = first or cell
            if result[2] or result[3] or (count >= LEAST and cell != first):
                break
        return result


def middle(cell: tuple[int, int]) -> np.ndarray:
    """Return where the middle of a cell is: the maze lies around the origin, rows going down."""
    return np.array([cell[1] - 5.5, 4.0 - cell[0]])


def is_at(cell: tuple[int, int], observation: Any, info: dict[str, Any], env: Any) -> bool:
    """Tell whether the ball is in a cell."""
    return bool((np.abs(observation["achieved_goal"] - middle(cell)) <= REACH).all())


PREDICATES = {name: partial(is_at, cell) for name, cell in PLACES.items()}


def make(render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """Return the labelled maze."""
    maze = gymnasium.make("PointMaze_Large-v3", render_mode=render_mode, max_episode_steps=-1)
    return label_env(
        Held(maze.unwrapped), PREDICATES, constraints=("wet",), observation_key="observation"
    )


COLOURS = {
    "dock": (0.55, 0.42, 0.75, 1.0),
    "lab": (0.20, 0.55, 0.60, 1.0),
    "store": (0.88, 0.60, 0.15, 1.0),
    "bench": (0.55, 0.38, 0.25, 1.0),
    "exit": (0.35, 0.62, 0.32, 1.0),
    "wet": (0.45, 0.65, 0.90, 1.0),
}


def scene(env: Any) -> list[Shape]:
    """Return walls, places and the ball as shapes, for pictures and for markers in RViz."""
    maze = env.env.unwrapped
    shapes = [
        Shape("wall", "cube", (*middle((row, column)), 0.2), (1, 1, 0.4), (0.75, 0.73, 0.7, 1))
        for row, cells in enumerate(maze.maze.maze_map)
        for column, cell in enumerate(cells)
        if cell == 1
    ]
    shapes += [
        Shape(name, "cube", (*middle(cell), 0.01), (0.9, 0.9, 0.02), COLOURS[name])
        for name, cell in PLACES.items()
    ]
    ball = maze.point_env.data.qpos[:2]
    return [*shapes, Shape("robot", "sphere", (*ball, 0.1), (0.2,) * 3, (0.8, 0.2, 0.2, 1))]


POINT_MAZE = DomainSpec(
    name="point_maze",
    env_id="skm_examples/PointMaze-v0",
    environments=(Registration("skm_examples/PointMaze-v0", "point_maze:make", 200),),
    propositions=tuple(PLACES),
    constraints=("wet",),
    gamma=0.99,
    primitive_steps=64,
    checkpoint=str(Path(__file__).with_name("point_maze.safetensors").resolve()),
    settings={
        "horizon": 131_072,
        "update_every": 8,
        "gamma": 0.95,
        "waves": 3,
        "learning_rate": 1e-3,
        "average_rate": 0.01,
        "validate_rounds": 16,
    },
    scene="point_maze:scene",
    position=(0, 1),
    tasks=task_table(
        [
            Task("round", "F(dock & X F(exit & X F lab))", repeat=False, max_steps=200),
            Task("dry", "F(store & X F lab) & G !wet", repeat=False, max_steps=200),
            Task("choice", "F(dock | exit) & F(store | lab)", repeat=False, max_steps=200),
        ]
    ),
)
