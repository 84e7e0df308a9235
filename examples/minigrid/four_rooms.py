"""The four rooms of MiniGrid as a domain: four objects by colour and kind, seen as an image of the grid.

MiniGrid knows nothing of skm. Its agent turns and goes forward; what is observed is MiniGrid's own code
of the whole grid (`FullyObsWrapper`), an image of bytes with three channels. A colour and a kind are
true while the agent faces such an object, and `wet` is a doorway that missions may forbid.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Ball, Box, Floor
from minigrid.envs.fourrooms import FourRoomsEnv
from minigrid.minigrid_env import MiniGridEnv
from minigrid.wrappers import FullyObsWrapper

from skm_sim import DomainSpec, Registration, Shape, Task, label_env, task_table

SIZE = 9
"""Cells a side, outer walls included; MiniGrid's own rooms have 19."""
DOORS = 6
"""The seed of the doorways, which are the same in every episode."""
SPOTS = ((1, 1), (7, 1), (1, 7), (7, 7))
"""Column and row of a spot in each room: which object lies on which, every episode draws anew."""
OBJECTS = (Ball("red"), Box("green"), Box("red"), Ball("green"))


class Rooms(FourRoomsEnv):
    """MiniGrid's four rooms, smaller, with four objects in place of the goal, and a wet doorway."""

    def __init__(self, **options: Any) -> None:
        self._agent_default_pos, self._goal_default_pos = None, SPOTS[0]
        self.size = SIZE
        mission = MissionSpace(mission_func=self._gen_mission)
        sides = {"width": SIZE, "height": SIZE, "max_steps": 1_000_000}
        MiniGridEnv.__init__(self, mission, **sides, see_through_walls=True, **options)

    def _gen_grid(self, width: int, height: int) -> None:
        """Build the rooms from a seed of their own; objects and agent are of the episode's chance."""
        chance, self._np_random = self.np_random, np.random.default_rng(DOORS)
        super()._gen_grid(width, height)
        self._np_random = chance
        wall = width // 2
        doorway = next(row for row in range(1, wall) if self.grid.get(wall, row) is None)
        self.grid.set(wall, doorway, Floor("blue"))
        for spot, thing in zip(SPOTS, chance.permutation(len(OBJECTS)), strict=True):
            self.grid.set(*spot, OBJECTS[thing])
        self.place_agent()


class Walk(gymnasium.ActionWrapper):
    """Turn left, turn right, go forward: MiniGrid's other actions are left out."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.action_space = Discrete(3)

    def action(self, action: int) -> int:
        """Return the same number: MiniGrid counts these three first."""
        return action


def faces(word: str, observation: Any, info: dict[str, Any], env: Any) -> bool:
    """Tell whether the agent faces an object of that colour or kind."""
    thing = env.grid.get(*env.front_pos)
    return isinstance(thing, Ball | Box) and word in (thing.color, thing.type)


def is_wet(observation: Any, info: dict[str, Any], env: Any) -> bool:
    """Tell whether the agent stands in the wet doorway."""
    return isinstance(env.grid.get(*env.agent_pos), Floor)


PREDICATES = {word: partial(faces, word) for word in ("red", "green", "ball", "box")}
PREDICATES["wet"] = is_wet


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
    """Return walls, objects, the wet doorway and the agent as shapes, for pictures and RViz."""
    rooms = env.env.unwrapped
    shapes = []
    for column, row in np.ndindex(SIZE, SIZE):
        if (thing := rooms.grid.get(column, row)) is not None:
            group = thing.type if thing.type == "wall" else f"{thing.color} {thing.type}"
            form = "sphere" if thing.type == "ball" else "cube"
            place = (column, -row, SIZES[thing.type][2] / 2)
            shapes.append(Shape(group, form, place, SIZES[thing.type], COLOURS[thing.color]))
    column, row = rooms.agent_pos
    return [*shapes, Shape("robot", "sphere", (column, -row, 0.2), (0.4,) * 3, (0.1, 0.1, 0.1, 1))]


FOUR_ROOMS = DomainSpec(
    name="four_rooms",
    env_id="skm_examples/FourRooms-v0",
    environments=(Registration("skm_examples/FourRooms-v0", "four_rooms:make", 200),),
    propositions=tuple(PREDICATES),
    constraints=("wet",),
    gamma=0.97,
    primitive_steps=40,
    checkpoint=str(Path(__file__).with_name("four_rooms.safetensors").resolve()),
    settings={
        "horizon": 64_000,
        "hidden": (256,),
        "channels": 16,
        "batch": 128,
        "update_every": 8,
        "learning_rate": 1e-3,
        "average_rate": 0.02,
        "action_gap": 0.0,
        "gamma": 0.93,
        "validate_rounds": 10,
    },
    scene="four_rooms:scene",
    tasks=task_table(
        [
            Task("ball", "F(red & ball)", repeat=False, max_steps=100),
            Task("dry", "F(red & box & X F(green & ball)) & G !wet", repeat=False, max_steps=200),
            Task("kinds", "F(green & box) & F(ball & !red)", repeat=False, max_steps=200),
        ]
    ),
)
