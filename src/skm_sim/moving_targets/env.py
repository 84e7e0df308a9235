"""Moving Targets: boards as arrays, what the agent sees, and the Gymnasium environments."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import ArrayLike, NDArray

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, ByteArray, FloatArray, IntArray
from skm_sim.moving_targets.spec import COLOURS, CONSTRAINTS, PROPOSITIONS, SHAPES
from skm_sim.scene import Kind, Shape, Triple
from skm_sim.spec import DomainError
from skm_sim.vector import BatchEnv, checked_choices

# The logic of Moving Targets on arrays: a batch of boards is an array of bytes, a step is a
# lookup.
#
# A state is `STATE_BYTES` bytes: the cell of the agent, the cells of the six objects, and the
# kind that the last step collected (`NOTHING`, if none), since labels hold in the step that
# collects only. Cells are numbered over the free cells, row by row. Everything here takes and
# returns `(n, 8)` arrays.


States: TypeAlias = ByteArray
"""`(n, 8)`."""

BOARD = tuple(
    """
##########
#........#
#........#
#..##....#
#.....#..#
#.....#..#
#..##....#
#........#
#........#
##########
""".strip().splitlines()
)
"""10 × 10 cells, 58 of them free. The paper gives the counts, not the walls; these are our own: a
closed outer wall and three blocks of two. Every free cell has at least two free neighbours, and all
but the corners three, so that hardly ever an object can be reached only through another one. The
agent never crosses the edge; the *view* wraps around (`skm_sim.moving_targets.env`)."""

SIZE = len(BOARD)
KINDS = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)
"""The six objects, one of each kind."""
_GONE = 255
NOTHING = len(KINDS)
"""Stands for "no object" where a kind is expected."""
AGENT, OBJECTS, COLLECTED = 0, slice(1, 1 + len(KINDS)), 1 + len(KINDS)
"""Columns of a state."""
STATE_BYTES = 2 + len(KINDS)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Actions: 0 up, 1 right, 2 down, 3 left."""

POSITIONS: IntArray = np.argwhere(np.array([list(row) for row in BOARD]) == ".")
"""`(58, 2)`: row and column of each free cell."""
NUM_CELLS = len(POSITIONS)
LABELS: BoolArray = np.array(
    [[name in kind for name in PROPOSITIONS] for kind in KINDS] + [[False] * len(PROPOSITIONS)]
)
"""`(7, 5)`: the labels of collecting each kind, and of collecting nothing."""


def _transitions() -> States:
    """Return `(58, 4)`: where each action leads from each cell; a wall keeps the agent in place."""
    cell_at = {(row, column): cell for cell, (row, column) in enumerate(POSITIONS.tolist())}
    return np.array(
        [
            [cell_at.get((row + down, column + right), cell) for down, right in MOVES]
            for cell, (row, column) in enumerate(POSITIONS.tolist())
        ],
        np.uint8,
    )


TRANSITIONS = _transitions()


def sample(rng: np.random.Generator, count: int) -> States:
    """Return random boards: agent and objects on different cells, uniformly."""
    states = np.full((count, STATE_BYTES), NOTHING, np.uint8)
    for column in range(COLLECTED):
        draws = rng.integers(NUM_CELLS - column, size=count)
        states[:, column] = _skip(draws, states[:, :column])
    return states


def step(states: States, actions: NDArray[np.integer], rng: np.random.Generator) -> States:
    """Move the agents. One that steps on an object collects it, and the object respawns at once."""
    after = states.copy()
    after[:, AGENT] = TRANSITIONS[states[:, AGENT], actions]
    return collect(after, rng)


def collect(states: States, rng: np.random.Generator) -> States:
    """Return the states after agents that stand on an object have collected it.

    It respawns uniformly on the free cells that hold neither the agent nor another object. Chance is
    drawn only where something is collected.
    """
    after = states.copy()
    after[:, COLLECTED] = NOTHING
    where, kind = np.nonzero(after[:, OBJECTS] == after[:, :1])
    if len(where):
        after[where, COLLECTED] = kind
        others = after[where, :COLLECTED]
        others[np.arange(len(where)), 1 + kind] = _GONE  # it was under the agent: counted once
        draws = rng.integers(NUM_CELLS - len(KINDS), size=len(where))
        after[where, 1 + kind] = _skip(draws, others)
    return after


def labels(states: States) -> BoolArray:
    """Return what is true in each state, `(n, propositions)`."""
    truth: BoolArray = LABELS[states[:, COLLECTED]]
    return truth


def _skip(draws: IntArray, occupied: States) -> IntArray:
    """Turn the k-th free cell into its number, by stepping over the occupied ones (`_GONE` is none)."""
    cells = draws.copy()
    for column in np.sort(occupied, axis=1).T:
        cells += cells >= column  # sorted, so that each step over one may meet the next
    return cells


# What the agent sees: 84 × 84 RGB, centred on the agent, the board wrapping around the edges.
#
# The picture is the 10 × 10 board drawn at 420 × 420 and averaged over 5 × 5 points, so a tile is
# 8.4 pixels wide. Walls never move, so what a frame shows without its objects depends on the
# agent's cell alone and is kept ready; objects keep clear of the edges of their tiles, so each
# one changes a block of 7 × 7 whole pixels and nothing else. A frame is thus one copy and six
# small blocks.
#
# Everything is drawn here by formulas; there are no picture files.


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
RGB = {"beige": (232, 206, 158), "blue": (52, 120, 236), "purple": (160, 64, 200)}


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
    fill = RGB[colour]
    rim = (fill[0] // 2, fill[1] // 2, fill[2] // 2)
    return _paint((distance < 0.35, rim), (distance < 0.27, fill))


# A board of Moving Targets as shapes for 3D views: one metre a cell, the board's first row on
# top.


FLOOR_COLOUR = (0.98, 0.97, 0.94, 1.0)
WALL_COLOUR = (0.24, 0.27, 0.33, 1.0)
ROBOT = (0.13, 0.16, 0.19, 1.0)
TILE: Final = 0.96
OBJECT: Final = 0.7
"""Width of an object, as in the agent's view."""
SOLIDS: Final[dict[str, Kind]] = {"square": "cube", "circle": "cylinder"}


def board_scene(state: States) -> list[Shape]:
    """Return the floor, the walls, the objects of one state where they are now, and the agent."""
    shapes = [
        Shape("wall", "cube", _at((row, column), 0.2), (TILE, TILE, 0.4), WALL_COLOUR)
        if cell == "#"
        else Shape("floor", "cube", _at((row, column), -0.05), (TILE, TILE, 0.1), FLOOR_COLOUR)
        for row, cells in enumerate(BOARD)
        for column, cell in enumerate(cells)
    ]
    shapes += [object_shape(kind, cell) for kind, cell in enumerate(state[OBJECTS].tolist())]
    agent = _at(POSITIONS[state[AGENT]], 0.3)
    return [*shapes, Shape("robot", "sphere", agent, (0.5, 0.5, 0.5), ROBOT)]


def object_shape(kind: int, cell: int) -> Shape:
    """Return an object of a kind in a cell."""
    colour, shape = KINDS[kind]
    red, green, blue = (part / 255 for part in RGB[colour])
    centre, size = _at(POSITIONS[cell], 0.1), (OBJECT, OBJECT, 0.2)
    return Shape(f"{colour} {shape}", SOLIDS[shape], centre, size, (red, green, blue, 1.0))


def _at(position: Sequence[int] | IntArray, height: float) -> Triple:
    row, column = position
    return float(column), float(SIZE - 1 - row), height


# Moving Targets as Gymnasium environments: one at a time, and a batch that steps as arrays.
#
# Six objects, {beige, blue, purple} × {square, circle}, on a walled board. Stepping on one
# collects it: the labels of that step, and of that step only, are its colour and its shape, and
# it comes back at once elsewhere. Observations are pictures, centred on the agent
# (`skm_sim.moving_targets.env`). Rewards are 0: they come from the reward machine. Episodes
# never end: missions decide when they do.


DRAWN_STATES = 100
"""Most states of the path that a picture shows."""


def _observation_space() -> Box:
    return Box(0, 255, (PIXELS, PIXELS, 3), np.uint8)


class MovingTargetsEnv(gymnasium.Env[Frames, int]):
    """One board. Actions: 0 up, 1 right, 2 down, 3 left; observation: `(84, 84, 3)` bytes.

    `state()` is all there is to know in eight bytes, `set_state` goes back to it, and
    `reset(options={"state": state})` starts there. With `render_mode="rgb_array"`, `render()` draws
    the board with the agent's path, and beside it what the agent sees.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["rgb_array"],
        "render_fps": 5,
    }

    def __init__(self, render_mode: str | None = None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise DomainError(f"no render_mode '{render_mode}'{did_you_mean(render_mode, modes)}")
        self.render_mode = render_mode
        self.propositions = PROPOSITIONS
        self.constraints = CONSTRAINTS
        self.observation_space = cast("Space[Frames]", _observation_space())
        self.action_space = cast("Space[int]", Discrete(len(MOVES)))
        self._states = sample(np.random.default_rng(0), 1)
        self._drawn: deque[States] = deque([self._states], maxlen=DRAWN_STATES)

    def state(self) -> bytes:
        """Return the current state."""
        return self._states.tobytes()

    def set_state(self, state: bytes) -> None:
        """Go to a state that `state()` gave."""
        self._states = checked_states(np.frombuffer(state, np.uint8), 1)
        self._begin_path()

    def labels(self) -> frozenset[str]:
        """Return the colour and shape of what the last step collected, if it collected anything."""
        kind = int(self._states[0, COLLECTED])
        return frozenset(KINDS[kind]) if kind < len(KINDS) else frozenset()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Frames, dict[str, Any]]:
        """Start on a random board, or in `options["state"]`."""
        super().reset(seed=seed)
        given = _checked_options(options, ("state",))
        if "state" in given:
            self.set_state(given["state"])
        else:
            self._states = sample(self.np_random, 1)
            self._begin_path()
        return render(self._states)[0], {"labels": self.labels()}

    def step(self, action: int) -> tuple[Frames, float, bool, bool, dict[str, Any]]:
        """Move; a wall keeps the agent in place."""
        if not 0 <= action < len(MOVES):
            raise DomainError(f"action {action} is not from 0 to {len(MOVES) - 1}.")
        self._states = step(self._states, np.array([action]), self.np_random)
        if self.render_mode is not None:
            self._drawn.append(self._states)
        return render(self._states)[0], 0.0, False, False, {"labels": self.labels()}

    def _begin_path(self) -> None:
        self._drawn.clear()
        self._drawn.append(self._states)

    def render(self) -> Frames | None:
        """Return the picture as `(height, width, 3)` bytes, or None without a render mode."""
        if self.render_mode is None:
            return None
        from skm_sim.moving_targets.drawing import picture  # noqa: PLC0415 (matplotlib is slow)

        return picture(np.concatenate(self._drawn))

    def scene(self) -> list[Shape]:
        """Return the board as shapes for 3D views."""
        return board_scene(self._states[0])


class MovingTargetsVectorEnv(BatchEnv[Frames]):
    """A batch of boards, stepping and drawing as arrays; see `BatchEnv`.

    `reset(options={"state": states})` says where they start (`(num_envs, 8)` bytes). `states` is the
    whole batch in a few bytes a board.
    """

    def __init__(self, num_envs: int = 1, max_episode_steps: int | None = None) -> None:
        super().__init__(
            num_envs,
            max_episode_steps,
            spaces=(_observation_space(), Discrete(len(MOVES))),
            names=(PROPOSITIONS, CONSTRAINTS),
        )
        self._states = sample(np.random.default_rng(0), num_envs)

    @property
    def states(self) -> States:
        """The current states, `(num_envs, 8)` bytes (a copy)."""
        return self._states.copy()

    @states.setter
    def states(self, states: ArrayLike) -> None:
        self._states = checked_states(states, self.num_envs)

    def labels(self) -> BoolArray:
        """Return what is true in the current states, `(num_envs, propositions)`."""
        return labels(self._states)

    def _observe(self) -> Frames:
        return render(self._states)

    def _checked(self, actions: ArrayLike) -> NDArray[Any]:
        return checked_choices(actions, self.num_envs, len(MOVES))

    def _advance(self, actions: NDArray[Any], going: BoolArray) -> None:
        self._states[going] = step(self._states[going], actions[going], self.np_random)

    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        given = _checked_options(options, ("state", "reset_mask"))
        if "state" in given:
            self._states[mask] = checked_states(given["state"], self.num_envs)[mask]
        else:
            self._states[mask] = sample(self.np_random, int(mask.sum()))


def _checked_options(options: Mapping[str, Any] | None, known: tuple[str, ...]) -> dict[str, Any]:
    given = dict(options or {})
    for key in given:
        if key not in known:
            raise DomainError(f"unknown reset option '{key}'{did_you_mean(key, known)}")
    return given


def checked_states(states: ArrayLike | bytes, count: int) -> States:
    """Return states as an array `(count, 8)` of one's own, after checking that they can be."""
    if isinstance(states, bytes):
        states = np.frombuffer(states, np.uint8)
    array = np.asarray(states)
    if array.dtype.kind not in "iu" or array.size != count * STATE_BYTES:
        raise DomainError(f"a state of Moving Targets is {STATE_BYTES} bytes for each board.")
    rows = array.reshape(count, STATE_BYTES)
    cells = np.sort(rows[:, :COLLECTED], axis=1)
    if rows.min() < 0 or cells.max() >= NUM_CELLS or rows[:, COLLECTED].max() > len(KINDS):
        raise DomainError(
            f"a state holds seven cells from 0 to {NUM_CELLS - 1} and a kind from 0 to {len(KINDS)}."
        )
    if (cells[:, 1:] == cells[:, :-1]).any():
        raise DomainError("in a state, the agent and the objects must be on different cells.")
    return rows.astype(np.uint8)
