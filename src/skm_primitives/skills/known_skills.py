"""Skills of worlds that are known as a whole: shortest ways, served as world value functions."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills.checkpoint import Card, CheckpointError
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import UNKNOWN, GoalValues
from skm_sim.arrays import BoolArray, Float32Array, IntArray, Uint16Array
from skm_sim.finite_world import FiniteWorld, Predecessors
from skm_sim.spec import DomainSpec
from skm_sim.tabular import TabularModel

# Shortest ways in a known world, to every label set at once: breadth-first, backwards.
#
# The cost is in proportion to cells × label sets.


FAR: Final = 65535
"""Stands for a cell from which there is no way."""


def label_distances(
    successors: IntArray, label_ids: IntArray, wanted: IntArray, passable: BoolArray
) -> Uint16Array:
    """Return `[field, cell]`: the fewest steps to a cell that shows the label set `wanted[field]`.

    0 in such a cell itself. On the way, only cells in `passable[field]` are entered; where it begins
    and where it ends may be any.
    """
    cells = len(successors)
    before = Predecessors(successors)
    steps = np.full((len(wanted), cells), FAR, np.uint16)
    flat, allowed = steps.reshape(-1), passable.reshape(-1)
    mark = np.zeros(flat.shape, np.int32)
    frontier = np.flatnonzero((label_ids[None] == wanted[:, None]).reshape(-1))
    flat[frontier] = 0
    level = 0
    while len(frontier):
        level += 1
        field, cell = np.divmod(frontier, cells)
        source, owner = before.of(cell)
        reached = field[owner] * cells + source
        reached = reached[flat[reached] == FAR]
        mark[reached] = np.arange(len(reached))
        reached = reached[mark[reached] == np.arange(len(reached))]  # each once
        flat[reached] = min(level, FAR - 1)
        frontier = reached[allowed[reached]]
    return steps


# Primitives of a known world: exact world value functions, served from shortest ways.
#
# A goal is a label set with the constraints that may be touched on the way to it: every set of
# them, or where these are many, none, all, each alone and all but each. With the deterministic
# moves of a known world the value of ⟨a, 1⟩ is 1 where a leads to the goal, and that of ⟨a, 0⟩ is
# γ to the number of further steps.


LEARNER: Final = "known"
ARRAYS: Final = ("successors", "labels", "label_sets", "allowed", "steps")
ALL_SETS: Final = 3
"""Up to so many constraints, every set of them is told apart."""


def compute_skills(model: TabularModel) -> dict[str, NDArray[Any]]:
    """Return all that the primitives of a known world are: arrays for a checkpoint."""
    if not np.array_equal(model.start_states, model.cells) or model.num_states != model.num_cells:
        raise SkmError("only a world whose cells are its states is known as a whole.")
    rows = np.array([[name in s for name in model.propositions] for s in model.label_sets])
    columns = [model.propositions.index(name) for name in model.constraints]
    kinds = allowed_sets(np.flatnonzero(rows[:, columns].any(axis=0)).tolist(), len(columns))
    allowed = np.repeat(kinds, len(rows), axis=0)
    wanted = np.tile(np.arange(len(rows)), len(kinds))
    passable = ~_forbidden(rows[:, columns], allowed)[:, model.label_ids]
    return {
        "successors": model.transitions.astype(np.int32),
        "labels": model.label_ids.astype(np.uint16),
        "label_sets": rows,
        "allowed": allowed,
        "steps": label_distances(model.transitions, model.label_ids, wanted, passable),
    }


def allowed_sets(shown: list[int], constraints: int) -> BoolArray:
    """Return the sets of constraints that goals allow, a row each: none first, all last.

    `shown` are those that some cell shows. Up to `ALL_SETS` of them, all sets; else each alone, and
    all but each, besides.
    """
    sizes = range(len(shown) + 1)
    if len(shown) > ALL_SETS:
        sizes = sorted({0, 1, len(shown) - 1, len(shown)})  # type: ignore[assignment]
    chosen = [found for size in sizes for found in combinations(shown, size)]
    sets = np.zeros((len(chosen), constraints), np.bool_)
    for row, found in zip(sets, chosen, strict=True):
        row[list(found)] = True
    return sets


def _forbidden(shows: BoolArray, allowed: BoolArray) -> BoolArray:
    """Return `[field, label set]`: whether it shows a constraint that the field does not allow."""
    forbidden: BoolArray = np.any(shows[None] & ~allowed[:, None], axis=2)
    return forbidden


def cells_of(
    leads: IntArray,
    label_ids: IntArray,
    label_sets: tuple[frozenset[str], ...],
    constraints: tuple[str, ...],
    near: IntArray | None,
) -> FiniteWorld:
    """Return the world of cells; where `leads[cell]` are all `UNKNOWN`, it ends on arriving there."""
    ended: BoolArray = np.all(leads == UNKNOWN, axis=1)
    tried: BoolArray = leads != UNKNOWN
    return FiniteWorld(
        np.where(tried, leads, np.arange(len(leads))[:, None]),
        label_sets,
        label_ids,
        tried=None if tried.all() else tried,
        ended=ended if ended.any() else None,
        constraints=constraints,
        near=near,
    )


class KnownPrimitives:
    """Fits `Primitives`: values are looked up in the tables of shortest ways."""

    def __init__(self, arrays: dict[str, NDArray[Any]], spec: DomainSpec, digest: str = "") -> None:
        missing = [name for name in ARRAYS if name not in arrays]
        if missing:
            raise CheckpointError(f"the skills of '{spec.name}' lack {', '.join(missing)}.")
        self.domain = spec.name
        self.propositions, self.constraints = spec.propositions, spec.constraints
        self.gamma, self.digest = spec.gamma, digest
        rows = arrays["label_sets"].astype(np.bool_)
        self._allowed: BoolArray = arrays["allowed"].astype(np.bool_)
        self._successors: IntArray = arrays["successors"].astype(np.int64)
        self._steps: Uint16Array = arrays["steps"]
        label_ids = arrays["labels"].astype(np.int64)
        cells, fields = len(self._successors), len(self._allowed)
        shapes = {
            "label_sets": (len(rows), len(spec.propositions)),
            "allowed": (fields, len(spec.constraints)),
            "steps": (fields, cells),
            "labels": (cells,),
        }
        fits = all(arrays[name].shape == shape for name, shape in shapes.items())
        inside = fits and self._successors.ndim == 2 and 0 < len(rows) <= fields
        if (
            not inside
            or fields % len(rows)
            or not ((self._successors >= 0) & (self._successors < cells)).all()
            or (label_ids >= len(rows)).any()
        ):
            raise CheckpointError(
                f"the skills of '{spec.name}' do not fit together: make them anew."
            )
        names, hats = np.array(spec.propositions), np.array(spec.constraints)
        label_sets = tuple(frozenset(names[row].tolist()) for row in rows)
        self._wanted = np.arange(fields) % len(rows)
        self.goals: tuple[Goal, ...] = tuple(
            Goal(label_sets[label], frozenset(hats[row].tolist()) if len(hats) else frozenset())
            for label, row in zip(self._wanted.tolist(), self._allowed, strict=True)
        )
        self.action_space: Space[Any] = Discrete(self._successors.shape[1])
        self._label_ids = label_ids
        near = arrays["near"].astype(np.int64) if "near" in arrays else None
        # The last cell of a world that was learned stands for what comes after its end (`world_model`).
        real = cells - 1 if "learned_ends" in arrays else cells
        self.world_model = cells_of(
            np.where(self._successors < real, self._successors, UNKNOWN)[:real],
            label_ids[:real],
            label_sets,
            spec.constraints,
            near,
        )
        columns = [spec.propositions.index(name) for name in spec.constraints]
        self._forbidden = _forbidden(rows[:, columns], self._allowed)
        self._power: Float32Array = np.power(spec.gamma, np.arange(FAR + 2)).astype(np.float32)
        self._power[FAR:] = 0.0

    def values(self, observation: int, violated: frozenset[str] = frozenset()) -> GoalValues:
        """Return the values of every goal in that cell, with that history."""
        unknown = sorted(violated.difference(self.constraints))
        if unknown:
            hint = did_you_mean(unknown[0], self.constraints)
            raise SkmError(f"'{unknown[0]}' is not a constraint of '{self.domain}'{hint}")
        if not 0 <= observation < len(self._successors):
            last = len(self._successors) - 1
            raise SkmError(f"cell {observation} is not from 0 to {last} in '{self.domain}'")
        arrived = self._successors[observation]
        labels = self._label_ids[arrived]
        stop = (labels[None] == self._wanted[:, None]).astype(np.float32)
        beyond = self._successors[arrived]
        continuation = self._steps[:, beyond].astype(np.int64)
        continuation[self._forbidden[:, self._label_ids[beyond]] & (continuation > 0)] = FAR
        move = self._power[np.minimum(continuation.min(axis=2) + 1, FAR)]
        move[self._forbidden[:, labels]] = 0.0
        if violated:
            broken = [self.constraints.index(name) for name in violated]
            lost = ~self._allowed[:, broken].all(axis=1)
            stop[lost] = move[lost] = 0.0
        return GoalValues(move, stop)


def load(arrays: dict[str, NDArray[Any]], card: Card, spec: DomainSpec) -> KnownPrimitives:
    """Return the primitives in a checkpoint of a known world."""
    return KnownPrimitives(arrays, spec, card.digest)
