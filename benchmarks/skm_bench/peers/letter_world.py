"""LetterWorld: a torus of 7 × 7 cells with twelve letters, each twice, on a new map in every episode.

After the description in DeepLTL (Jackermeier and Abate, 2025), which has it from LTL2Action (Vaezipoor
et al., 2021): the agent begins in a corner without a letter, moves by one cell in four directions, and
sees the whole torus with itself in the middle. Every cell can be reached over cells without letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import ArrayLike, NDArray

from skm_bench.peers.one_of_a_batch import OneOfABatch
from skm_machine.reward_machine import RewardMachine
from skm_sim.arrays import BoolArray, ByteArray, IntArray
from skm_sim.spec import DomainError, DomainSpec, Registration, Task, task_table
from skm_sim.vector import BatchEnv, checked_choices

SIDE: Final = 7
LETTERS: Final = tuple("abcdefghijkl")
EACH: Final = 2
MOVES: Final = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
NOTHING: Final = -1
MAPS_AT_ONCE: Final = 1024
"""Maps drawn at a time; about one in a hundred is kept."""
STEPS: Final = 75
"""The time limit of the peers."""


def draw_maps(random: np.random.Generator, count: int) -> IntArray:
    """Draw maps `(kept, 7, 7)` of letters or `NOTHING`; those with a cell out of reach are left out."""
    cells = np.full((count, SIDE * SIDE), NOTHING)
    letters = np.repeat(np.arange(len(LETTERS)), EACH)
    where = 1 + np.argsort(random.random((count, SIDE * SIDE - 1)), axis=1)[:, : len(letters)]
    np.put_along_axis(cells, where, letters[None], axis=1)
    maps: IntArray = cells.reshape(count, SIDE, SIDE)
    reached = np.zeros(maps.shape, np.bool_)
    reached[:, 0, 0] = True
    while True:
        source, more = reached & (maps == NOTHING), reached.copy()
        for move in MOVES.tolist():
            more |= np.roll(source, move, axis=(1, 2))
        if (more == reached).all():
            return maps[reached.all((1, 2))]
        reached = more


class LetterVectorEnv(BatchEnv[ByteArray]):
    """A batch of agents, each on a map of its own; see `BatchEnv`.

    `reset(options={"map": maps})` says where the letters are, `(num_envs, 7, 7)`.
    """

    def __init__(self, num_envs: int = 1, max_episode_steps: int | None = None) -> None:
        super().__init__(
            num_envs,
            max_episode_steps,
            spaces=(Box(0, 1, (SIDE, SIDE, len(LETTERS) + 1), np.uint8), Discrete(len(MOVES))),
            names=(LETTERS, LETTERS),
        )
        self._maps = np.full((num_envs, SIDE, SIDE), NOTHING)
        self._cell = np.zeros((num_envs, 2), np.int64)
        self._drawn: IntArray = self._maps[:0]

    @property
    def maps(self) -> IntArray:
        """Where the letters are, `(num_envs, 7, 7)`."""
        return self._maps.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByteArray, dict[str, Any]]:
        """Start new episodes; with a seed, no map of before is used."""
        if seed is not None:
            self._drawn = self._maps[:0]
        return super().reset(seed=seed, options=options)

    def labels(self) -> BoolArray:
        """Return the letter of each agent's cell, `(num_envs, letters)`."""
        here = self._maps[np.arange(self.num_envs), self._cell[:, 0], self._cell[:, 1]]
        labels: BoolArray = here[:, None] == np.arange(len(LETTERS))
        return labels

    def _observe(self) -> ByteArray:
        rows, columns = (
            (self._cell[:, axis, None] + np.arange(SIDE) - SIDE // 2) % SIDE for axis in (0, 1)
        )
        agents = np.arange(self.num_envs)[:, None, None]
        around = self._maps[agents, rows[:, :, None], columns[:, None, :]]
        seen: ByteArray = np.zeros((*around.shape, len(LETTERS) + 1), np.uint8)
        seen[..., :-1] = around[..., None] == np.arange(len(LETTERS))
        seen[:, SIDE // 2, SIDE // 2, -1] = 1
        return seen

    def _checked(self, actions: ArrayLike) -> NDArray[Any]:
        return checked_choices(actions, self.num_envs, len(MOVES))

    def _advance(self, actions: NDArray[Any], going: BoolArray) -> None:
        self._cell[going] = (self._cell[going] + MOVES[actions[going]]) % SIDE

    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        if strange := sorted(set(options) - {"map"}):
            raise DomainError(f"unknown reset option '{strange[0]}'; there is 'map'.")
        given = options.get("map")
        count = int(mask.sum())
        self._maps[mask] = self._next_maps(count) if given is None else np.asarray(given)[mask]
        self._cell[mask] = 0

    def _next_maps(self, count: int) -> IntArray:
        while len(self._drawn) < count:
            more = draw_maps(self.np_random, MAPS_AT_ONCE)
            self._drawn = np.concatenate([self._drawn, more])
        taken, self._drawn = self._drawn[:count], self._drawn[count:]
        return taken


class LetterEnv(OneOfABatch):
    """One agent; see `LetterVectorEnv`. `reset(options={"map": map})` says where the letters are."""

    batch: LetterVectorEnv

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(LetterVectorEnv(1), render_mode)


def fewest_steps(machine: RewardMachine, letters: IntArray) -> int | None:
    """Return in how few steps a mission can be done on a map, by search; None: not at all."""
    front = [((0, 0), machine.initial)]
    known = set(front)
    steps = 0
    while front:
        steps += 1
        following = []
        for (row, column), state in front:
            for down, right in MOVES.tolist():
                cell = (row + down) % SIDE, (column + right) % SIDE
                letter = letters[cell]
                shown = frozenset() if letter == NOTHING else frozenset(LETTERS[letter])
                target, reward = machine.step(state, shown)
                if reward > 0:
                    return steps
                if target not in machine.terminal and (cell, target) not in known:
                    known.add((cell, target))
                    following.append((cell, target))
        front = following
    return None


LETTER_WORLD: Final = DomainSpec(
    name="letter_world",
    env_id="skm_peers/LetterWorld-v0",
    environments=(
        Registration(
            "skm_peers/LetterWorld-v0",
            entry_point="skm_bench.peers.letter_world:LetterEnv",
            vector_entry_point="skm_bench.peers.letter_world:LetterVectorEnv",
            max_episode_steps=STEPS,
        ),
    ),
    propositions=LETTERS,
    constraints=LETTERS,
    gamma=0.94,
    primitive_steps=STEPS,
    tasks=task_table(
        Task(str(number), formula, repeat=False, max_steps=STEPS)
        for number, formula in enumerate(
            (
                "F(a & (!b U c)) & F d",
                "F d & (!f U (d & F b))",
                "F((a | c | j) & F b) & F(c & F d) & F k",
                "!a U (b & (!c U (d & (!e U f))))",
                "((a | b | c | d) -> F(e & F(f & F g))) U (h & F i)",
                "F(d & (!(a | b) U (i & (!e U c)))) & F(!(f | g | h) U a)",
                "F((k & (!b | c U f)) & (!(a | e | h) U g)) & F d",
                "!(j | b | d) U (a & (!c U (f & F(g & (!d U e)))))",
                "!(f | g) U ((a & (!b U c)) & F(d & (!e U f)))",
            ),
            start=1,
        )
    ),
)
"""The finite tasks 1 to 5 are DeepLTL's, 6 to 9 GenZ-LTL's."""
