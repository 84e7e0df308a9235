"""What the agent sees: 84 × 84 RGB, centred on the agent, the board wrapping around the edges.

The picture is the 10 × 10 board drawn at 420 × 420 and averaged over 5 × 5 points, so a tile is 8.4
pixels wide. Walls never move, so what a frame shows without its objects depends on the agent's cell
alone and is kept ready; objects keep clear of the edges of their tiles, so each one changes a block of
7 × 7 whole pixels and nothing else. A frame is thus one copy and six small blocks.

Everything is drawn here by formulas; there are no picture files.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from skm_sim.arrays import BoolArray, ByteArray, FloatArray, IntArray
from skm_sim.domain import DomainError
from skm_sim.moving_targets.board import (
    AGENT,
    BOARD,
    KINDS,
    NOTHING,
    NUM_CELLS,
    OBJECTS,
    POSITIONS,
    SIZE,
    States,
)

Frames: TypeAlias = ByteArray

PIXELS = 84
_FINE = 5
"""Points per pixel and direction."""
_TILE = PIXELS * _FINE // SIZE
"""Points per tile and direction: 42."""
_CENTRE = SIZE // 2
"""The row and column of the view in which the agent is."""
_BLOCK = 7
"""Pixels per object and direction."""

FLOOR = (58, 62, 70)
WALL = (20, 22, 26)
WALL_LIT = (104, 112, 122)
AGENT_COLOUR = (240, 244, 248)
COLOURS = {"beige": (232, 206, 158), "blue": (52, 120, 236), "purple": (160, 64, 200)}


class Tables(NamedTuple):
    """What frames are put together from."""

    empty: Frames
    """`(58, 84, 84, 3)`: the view from each cell of a board without objects."""
    block: Frames
    """`(6, 100, 147)`: the pixels that an object of each kind shows, at each tile of the view."""
    pixels: IntArray
    """`(100, 147)`: where they go in a flattened frame."""
    tile: IntArray
    """`(58, 58)`: the tile of the view in which one cell is seen from another."""


def render(states: States) -> Frames:
    """Return the frames of a batch of states, `(n, 84, 84, 3)`."""
    tables = picture_tables()
    frames: Frames = tables.empty[states[:, AGENT]]
    flat = frames.reshape(len(states), -1)
    tile = tables.tile[states[:, :1], states[:, OBJECTS]]
    rows = np.arange(len(states))[:, None]
    for kind in range(len(KINDS)):
        flat[rows, tables.pixels[tile[:, kind]]] = tables.block[kind, tile[:, kind]]
    return frames


def read_state(frame: Frames) -> States:
    """Return the state `(8,)` that a frame shows, with nothing just collected: a frame shows it all."""
    tables = picture_tables()
    flat = np.asarray(frame).reshape(-1)
    blocks = flat[tables.pixels]
    kinds, tiles = np.nonzero((tables.block == blocks[None]).all(axis=2))
    bare = np.ones(flat.size, np.bool_)
    bare[tables.pixels[tiles]] = False
    cells = np.flatnonzero((tables.empty.reshape(NUM_CELLS, -1)[:, bare] == flat[bare]).all(axis=1))
    if len(cells) != 1 or kinds.tolist() != list(range(len(KINDS))):
        raise DomainError("the picture shows no board of Moving Targets.")
    objects = [np.flatnonzero(tables.tile[cells[0]] == tile)[0] for tile in tiles]
    return np.array([cells[0], *objects, NOTHING], np.uint8)


@cache
def picture_tables() -> Tables:
    """Draw all that a frame may need, once."""
    wall = np.array([[cell == "#" for cell in row] for row in BOARD])
    floor_tile, wall_tile, agent_tile = _floor(), _wall(), _agent()
    empty = np.empty((NUM_CELLS, PIXELS, PIXELS, 3), np.uint8)
    for cell, (row, column) in enumerate(POSITIONS.tolist()):
        view = np.roll(wall, (_CENTRE - row, _CENTRE - column), (0, 1))
        tiles = np.where(view[:, :, None, None, None], wall_tile, floor_tile)
        tiles[_CENTRE, _CENTRE] = agent_tile
        empty[cell] = _average(tiles.transpose(0, 2, 1, 3, 4).reshape(SIZE * _TILE, -1, 3))
    blocks = np.empty((len(KINDS), SIZE, SIZE, _BLOCK, _BLOCK, 3), np.uint8)
    starts = [(place * _TILE + 6) // _FINE for place in range(SIZE)]
    for kind, (colour, shape) in enumerate(KINDS):
        picture = _object(colour, shape)
        for row, top in enumerate(starts):
            for column, left in enumerate(starts):
                blocks[kind, row, column] = _block(
                    picture, top * _FINE - row * _TILE, left * _FINE - column * _TILE
                )
    lines = np.array(starts)[:, None] + np.arange(_BLOCK)
    pixel = lines[:, None, :, None] * PIXELS + lines[None, :, None, :]
    seen = (POSITIONS[None, :] - POSITIONS[:, None] + _CENTRE) % SIZE
    return Tables(
        empty,
        blocks.reshape(len(KINDS), SIZE * SIZE, -1),
        (pixel[..., None] * 3 + np.arange(3)).reshape(SIZE * SIZE, -1),
        seen[:, :, 0] * SIZE + seen[:, :, 1],
    )


def _block(picture: FloatArray, top: int, left: int) -> Frames:
    """Return the 7 × 7 pixels that begin at a point of a tile (before its edge: floor there)."""
    margin = _FINE
    padded = np.empty((_TILE + 2 * margin, _TILE + 2 * margin, 3))
    padded[:] = FLOOR
    padded[margin:-margin, margin:-margin] = picture
    size = _BLOCK * _FINE
    return _average(padded[top + margin :, left + margin :][:size, :size])


def _average(fine: FloatArray) -> Frames:
    """Average points to pixels."""
    height, width = fine.shape[0] // _FINE, fine.shape[1] // _FINE
    pixels = fine.reshape(height, _FINE, width, _FINE, 3).mean(axis=(1, 3))
    rounded: Frames = np.round(pixels).astype(np.uint8)
    return rounded


def _grid() -> tuple[FloatArray, FloatArray]:
    """Return how far each point of a tile is below and right of its centre, in tiles."""
    line = (np.arange(_TILE) + 0.5) / _TILE - 0.5
    return line[:, None], line[None, :]


def _paint(*layers: tuple[BoolArray, tuple[int, int, int]]) -> FloatArray:
    """Return a tile of floor with shapes painted over it in order."""
    tile = _floor()
    for shape, colour in layers:
        tile[np.broadcast_to(shape, tile.shape[:2])] = colour
    return tile


def _floor() -> FloatArray:
    return np.tile(np.array(FLOOR, np.float64), (_TILE, _TILE, 1))


def _wall() -> FloatArray:
    """A dark block with a lit top left edge."""
    down, right = _grid()
    everything = (down < 1) & (right < 1)
    return _paint((everything, WALL), ((down < -0.36) | (right < -0.36), WALL_LIT))


def _agent() -> FloatArray:
    """A light ring with a dot in it."""
    down, right = _grid()
    distance = np.hypot(down, right)
    ring = (distance < 0.44) & (distance > 0.26)
    return _paint((ring, AGENT_COLOUR), (distance < 0.12, AGENT_COLOUR))


def _object(colour: str, shape: str) -> FloatArray:
    """A square or circle with a darker rim, clear of the six outermost points of the tile."""
    down, right = _grid()
    distance = np.maximum(abs(down), abs(right)) if shape == "square" else np.hypot(down, right)
    fill = COLOURS[colour]
    rim = (fill[0] // 2, fill[1] // 2, fill[2] // 2)
    return _paint((distance < 0.35, rim), (distance < 0.27, fill))
