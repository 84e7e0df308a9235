"""The four rooms of MiniGrid as a domain: four objects by colour and kind, seen as an image of the grid.

MiniGrid knows nothing of skm. Its agent turns and goes forward; what is observed is MiniGrid's own code
of the whole grid (`FullyObsWrapper`), a picture of bytes with three channels. A colour and a kind are
true while the agent faces such an object, and `wet` is a doorway that missions may forbid.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Ball, Box, Floor, Goal
from minigrid.envs.fourrooms import FourRoomsEnv
from minigrid.minigrid_env import MiniGridEnv
from minigrid.wrappers import FullyObsWrapper

from skm_sim import DomainSpec, Registration, Shape, Task, label_env, task_table

SIZE = 11
LAYOUT = 4
"""The seed of the doorways: the rooms are the same in every episode, the agent's start is not."""
OBJECTS = {
    (1, 1): Ball("red"),
    (9, 2): Box("green"),
    (2, 9): Box("red"),
    (9, 9): Ball("green"),
}
"""Column and row of each object, one in each room."""


class Rooms(FourRoomsEnv):
    """MiniGrid's four rooms, smaller, with four objects in place of the goal, and a wet doorway."""

    def __init__(self, **options: Any) -> None:
        self._agent_default_pos = self._goal_default_pos = None
        self.size = SIZE
        mission = MissionSpace(mission_func=self._gen_mission)
        sides = {"width": SIZE, "height": SIZE, "max_steps": 1_000_000}
        MiniGridEnv.__init__(self, mission_space=mission, see_through_walls=True, **sides, **options)

    def _gen_grid(self, width: int, height: int) -> None:
        """Build the rooms from their own seed, then put the agent where this episode's seed says."""
        chance, self._np_random = self.np_random, np.random.default_rng(LAYOUT)
        super()._gen_grid(width, height)
        self._np_random = chance
        for index, found in enumerate(self.grid.grid):
            if isinstance(found, Goal):
                self.grid.grid[index] = None
        for (column, row), thing in OBJECTS.items():
            self.grid.set(column, row, thing)
        self.grid.set(*self.doorway(), Floor("blue"))
        self.place_agent()

    def doorway(self) -> tuple[int, int]:
        """Return the cell of the doorway between the two rooms at the top."""
        wall = SIZE // 2
        gaps = [row for row in range(1, wall) if self.grid.get(wall, row) is None]
        wet = [row for row in range(1, wall) if isinstance(self.grid.get(wall, row), Floor)]
        return wall, (gaps + wet)[0]


class Walk(gymnasium.ActionWrapper):
    """Turn left, turn right, go forward: MiniGrid's other actions are left out."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.action_space = Discrete(3)

    def action(self, action: int) -> int:
        """Return the same number: MiniGrid counts these three first."""
        return action


def faces(word: str) -> Any:
    """Return the predicate of a colour or a kind: the agent faces an object that has it."""

    def predicate(observation: Any, info: dict[str, Any], env: Any) -> bool:
        thing = env.grid.get(*env.front_pos)
        return thing is not None and thing.type in ("ball", "box") and word in (thing.color, thing.type)

    return predicate


def is_wet(observation: Any, info: dict[str, Any], env: Any) -> bool:
    """Tell whether the agent stands in the wet doorway."""
    return isinstance(env.grid.get(*env.agent_pos), Floor)


PREDICATES = {**{word: faces(word) for word in ("red", "green", "ball", "box")}, "wet": is_wet}


def make(render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """Return the labelled rooms."""
    rooms = Walk(FullyObsWrapper(Rooms(render_mode=render_mode)))
    return label_env(rooms, PREDICATES, constraints=("wet",), observation_key="image")


COLOURS = {
    "red": (0.80, 0.22, 0.20, 1.0),
    "green": (0.30, 0.62, 0.30, 1.0),
    "blue": (0.45, 0.65, 0.90, 1.0),
    "grey": (0.75, 0.73, 0.70, 1.0),
}
SIZES = {"wall": (1, 1, 0.4), "ball": (0.7,) * 3, "box": (0.6,) * 3, "floor": (0.95, 0.95, 0.02)}


def scene(env: Any) -> list[Shape]:
    """Return walls, objects, the wet doorway and the agent as shapes."""
    rooms = env.env.unwrapped
    shapes = []
    for column in range(SIZE):
        for row in range(SIZE):
            if (thing := rooms.grid.get(column, row)) is not None:
                form = "sphere" if thing.type == "ball" else "cube"
                where = (column, -row, SIZES[thing.type][2] / 2)
                name = thing.type if thing.type == "wall" else f"{thing.color} {thing.type}"
                shapes.append(Shape(name, form, where, SIZES[thing.type], COLOURS[thing.color]))
    column, row = rooms.agent_pos
    return [*shapes, Shape("robot", "sphere", (column, -row, 0.2), (0.4,) * 3, (0.1, 0.1, 0.1, 1))]


FOUR_ROOMS = DomainSpec(
    name="four_rooms",
    env_id="skm_examples/FourRooms-v0",
    environments=(Registration("skm_examples/FourRooms-v0", "four_rooms:make", 200),),
    propositions=tuple(PREDICATES),
    constraints=("wet",),
    gamma=0.97,
    primitive_steps=50,
    settings={
        "horizon": 64_000,
        "hidden": (256,),
        "channels": 16,
        "batch": 128,
        "update_every": 16,
        "gamma": 0.95,
        "validate_rounds": 10,
    },
    scene="four_rooms:scene",
    tasks=task_table(
        [
            Task("ball", "F(red & ball)", repeat=False, max_steps=100),
            Task("both", "F(red & box & X F(green & ball)) & G !wet", repeat=False, max_steps=200),
            Task("kinds", "F(green & box) & F(ball & !red)", repeat=False, max_steps=200),
        ]
    ),
)
