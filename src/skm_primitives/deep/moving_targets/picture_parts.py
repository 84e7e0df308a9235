"""Frames as sums of parts, so that a linear layer can be applied to the parts once and for all.

A frame of Moving Targets is the view of the empty board from the agent's cell, plus a change for each
object that depends on its kind and on the tile of the view alone: one of 58 parts and six of 600. A
linear layer of a sum is the sum of the linear layer, so its output on any frame is a sum of seven rows
of a table with 658 rows, and the table costs as much as a few hundred frames. Values and gradients are
those of the network on the frames (`test_deep_pixel.py` compares them); drawing is what is saved.

Networks get frames averaged from 84 × 84 to 30 × 30 and cut into patches of 3 × 3.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from skm_primitives.deep.shrinking import averaging
from skm_sim.arrays import Float32Array, IntArray
from skm_sim.moving_targets.board import AGENT, KINDS, NUM_CELLS, OBJECTS, SIZE, States
from skm_sim.moving_targets.view import FLOOR, PIXELS, Frames, picture_tables

SMALL = 30
"""Pixels per direction after averaging."""
PATCH = 3
PATCHES = (SMALL // PATCH) ** 2
PATCH_INPUTS = PATCH * PATCH * 3


_DOWN = averaging(PIXELS, SMALL)
_ACROSS = np.kron(_DOWN.T, np.eye(3, dtype=np.float32))
"""Averages the columns of all three colours at once."""


def patches(frames: Frames) -> Float32Array:
    """Return the networks' inputs `(n, PATCHES, PATCH_INPUTS)` for frames `(n, 84, 84, 3)`.

    Colours are centred and scaled so that they are of the order of 1.
    """
    count = len(frames)
    rows = _DOWN @ frames.reshape(count, PIXELS, -1).astype(np.float32)
    small = rows.reshape(count * SMALL, -1) @ _ACROSS
    cut = small.reshape(count, SMALL // PATCH, PATCH, SMALL // PATCH, PATCH, 3)
    flat = cut.transpose(0, 1, 3, 2, 4, 5).reshape(count, PATCHES, PATCH_INPUTS)
    scaled: Float32Array = flat * np.float32(4 / 255) - np.float32(1)
    return scaled


@cache
def dictionary() -> tuple[Float32Array, Float32Array]:
    """Return the parts: views of the empty board `(58, PATCHES, PATCH_INPUTS)`, and what an object
    adds to the patch that it is in, `(PATCHES, kinds, PATCH_INPUTS)`.
    """
    tables = picture_tables()
    floor = np.tile(np.array(FLOOR, np.uint8), (SIZE * SIZE, PIXELS * PIXELS))
    plain = patches(floor[:1].reshape(1, PIXELS, PIXELS, 3))[0]
    tile = np.arange(SIZE * SIZE)
    changes = np.empty((SIZE * SIZE, len(KINDS), PATCH_INPUTS), np.float32)
    for kind in range(len(KINDS)):
        frames = floor.copy()
        np.put_along_axis(frames, tables.pixels, tables.block[kind], axis=1)
        seen = patches(frames.reshape(-1, PIXELS, PIXELS, 3))
        changes[:, kind] = seen[tile, tile] - plain
    return patches(tables.empty), changes


def parts(states: States) -> IntArray:
    """Return which parts make up the frames of states: `(n, 7)` rows of the table of parts."""
    index = np.empty((len(states), 1 + len(KINDS)), np.int64)
    index[:, 0] = states[:, AGENT]
    tile = picture_tables().tile[states[:, :1], states[:, OBJECTS]]
    index[:, 1:] = NUM_CELLS + len(KINDS) * tile.astype(np.int64) + np.arange(len(KINDS))
    return index
