"""FlatWorld: a point in a square with nine discs in seven colours, some of which overlap.

After the description in DeepLTL (Jackermeier and Abate, 2025), which has it from Voloshin et al. (2023):
nine actions, eight directions and rest, of 0.08 a step; it begins where no disc is, and who leaves the
square has lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import ArrayLike, NDArray

from skm_bench.peers.one_of_a_batch import OneOfABatch
from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.spec import DomainError, DomainSpec, Registration, Task, task_table
from skm_sim.vector import BatchEnv, checked_choices

COLOURS: Final = ("red", "magenta", "yellow", "orange", "blue", "green", "aqua")
DISCS: Final = (
    ("red", -1.4, 0.55, 0.4),
    ("magenta", -1.1, 1.1, 0.5),
    ("yellow", -1.0, -1.2, 0.3),
    ("orange", -1.53, -0.5, 0.32),
    ("blue", 0.1, 0.0, 0.8),
    ("red", 0.5, -1.3, 0.35),
    ("green", 0.7, 0.7, 0.5),
    ("green", 1.5, -0.75, 0.4),
    ("aqua", 0.8, 0.2, 0.3),
)
"""Colour, centre and radius of each."""
_ACROSS = 1 / np.sqrt(2)
MOVES: Final = np.array(
    [
        *((0, 1), (1, 0), (0, -1), (-1, 0)),
        *((_ACROSS, _ACROSS), (_ACROSS, -_ACROSS), (-_ACROSS, _ACROSS), (-_ACROSS, -_ACROSS)),
        (0, 0),
    ]
)
STEP: Final = 0.08
EDGE: Final = 2.0
HOLD: Final = 4
"""Steps for which a decision is held: with one, values inflate and the point dithers."""
STEPS: Final = 500
"""The time limit of the peers."""

_CENTRE = np.array([disc[1:3] for disc in DISCS])
_RADIUS = np.array([disc[3] for disc in DISCS])
_COLOUR = np.array([[disc[0] == name for name in COLOURS] for disc in DISCS])


def labels_at(place: FloatArray) -> BoolArray:
    """Return the colours of the discs that points `(n, 2)` are in, `(n, colours)`."""
    inside = np.linalg.norm(place[:, None] - _CENTRE, axis=2) < _RADIUS
    shown: BoolArray = inside @ _COLOUR
    return shown


class FlatVectorEnv(BatchEnv[FloatArray]):
    """A batch of points; see `BatchEnv`. One `step` holds the actions for `hold` steps at most.

    `reset(options={"place": places})` says where they start, `(num_envs, 2)`.
    """

    def __init__(
        self, num_envs: int = 1, max_episode_steps: int | None = None, hold: int = 1
    ) -> None:
        if hold < 1:
            raise DomainError(f"hold is {hold}, must be at least 1.")
        far = EDGE + STEP
        super().__init__(
            num_envs,
            max_episode_steps,
            spaces=(Box(-far, far, (2,), np.float64), Discrete(len(MOVES))),
            names=(COLOURS, COLOURS),
        )
        self._hold = hold
        self._place = np.zeros((num_envs, 2))
        self._labels = np.zeros((num_envs, len(COLOURS)), np.bool_)

    def labels(self) -> BoolArray:
        """Return the colours that each point is in."""
        return self._labels.copy()

    def _observe(self) -> FloatArray:
        return self._place.copy()

    def _over(self) -> BoolArray:
        out: BoolArray = np.any(np.abs(self._place) > EDGE, axis=1)
        return out

    def _checked(self, actions: ArrayLike) -> NDArray[Any]:
        return checked_choices(actions, self.num_envs, len(MOVES))

    def _advance(self, actions: NDArray[Any], going: BoolArray) -> None:
        before, moving = self._labels, going
        for _ in range(self._hold):
            self._place[moving] += MOVES[actions[moving]] * STEP
            self._labels = labels_at(self._place)
            # What is held ends where labels change, so that none on the way is lost, and at the edge.
            moving = moving & ~self._over() & (self._labels == before).all(1)

    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        if strange := sorted(set(options) - {"place"}):
            raise DomainError(f"unknown reset option '{strange[0]}'; there is 'place'.")
        todo = np.flatnonzero(mask)
        if "place" in options:
            self._place[todo] = np.asarray(options["place"], np.float64)[todo]
        else:
            while len(todo):
                self._place[todo] = self.np_random.uniform(-EDGE, EDGE, (len(todo), 2))
                todo = todo[labels_at(self._place[todo]).any(1)]
        self._labels[mask] = labels_at(self._place[mask])


class FlatEnv(OneOfABatch):
    """One point; see `FlatVectorEnv`."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(FlatVectorEnv(1), render_mode)


FLAT_WORLD: Final = DomainSpec(
    name="flat_world",
    env_id="skm_peers/FlatWorld-v0",
    environments=(
        Registration(
            "skm_peers/FlatWorld-v0",
            entry_point="skm_bench.peers.flat_world:FlatEnv",
            vector_entry_point="skm_bench.peers.flat_world:FlatVectorEnv",
            max_episode_steps=STEPS // HOLD,
        ),
    ),
    propositions=COLOURS,
    constraints=COLOURS,
    gamma=0.98,
    primitive_steps=60,
    hold=HOLD,
    tasks=task_table(
        Task(str(number), formula, repeat=False, max_steps=STEPS)
        for number, formula in enumerate(
            (
                "F((red & magenta) & F((blue & green) & F yellow))",
                "F(orange & (!red U magenta))",
                "(!red U (green & blue & aqua)) & F(orange & F(red & magenta))",
                "((!yellow & !orange) U (green & blue)) & (!green U magenta)",
                "(blue -> F magenta) U (yellow | ((green & blue) & F orange))",
            ),
            start=1,
        )
    ),
    position=(0, 1),
)
"""DeepLTL's finite tasks."""
