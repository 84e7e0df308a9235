"""Gridworlds of many cells, eight places and a wet stripe: for tests and benchmarks/large_worlds.py."""

import gymnasium
import numpy as np

from skm_sim import DomainSpec, TabularEnv, TabularModel, TabularVectorEnv

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h", "wet")


def grid_model(side):
    """A square of cells with walls here and there, eight places, and a wet stripe with a gap."""
    cells = np.arange(side * side)
    row, column = np.divmod(cells, side)
    random = np.random.default_rng(side)
    wall = random.random(len(cells)) < 0.15
    spots = random.choice(np.flatnonzero(~wall), 8, replace=False)
    wet = (row == side // 2) & (column % 7 != 3) & ~wall
    wet[spots] = False
    moves = []
    for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        there = np.clip(row + down, 0, side - 1) * side + np.clip(column + right, 0, side - 1)
        moves.append(np.where(wall[there] | wall, cells, there))
    labels = np.zeros((len(cells), len(NAMES)), np.bool_)
    labels[spots, np.arange(8)] = True
    labels[:, 8] = wet
    return TabularModel(NAMES, ("wet",), np.stack(moves, 1), cells, labels, cells.copy())


class Grid(TabularEnv):
    def __init__(self, side):
        super().__init__(grid_model(side))


class Grids(TabularVectorEnv):
    def __init__(self, num_envs=1, max_episode_steps=None, side=0):
        super().__init__(grid_model(side), num_envs, max_episode_steps)


def grid_spec(side):
    env_id = f"skm_large/Grid{side}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(
            env_id, entry_point=Grid, vector_entry_point=Grids, kwargs={"side": side}
        )
    return DomainSpec(f"grid{side}", env_id, NAMES, ("wet",), 0.99, 100, {})
