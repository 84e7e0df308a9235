"""The options of HRM: one for each edge of a machine that is no self-loop (Icarte et al., section 4.2).

Edges into failure have none, as in the authors' code. Nor have edges that no label set of the world
takes: an option for `coffee & mail`, which is nowhere, can only be tried in vain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skm_machine.logic.syntax import Formula
from skm_machine.reward_machine import RewardMachine
from skm_primitives.baselines.problem import Problem
from skm_sim.arrays import FloatArray, IntArray


class Options(NamedTuple):
    """Options by number, those of a machine state in a row; for compiled loops."""

    source: IntArray
    """`[option]`: u."""
    target: IntArray
    """`[option]`: the machine state that its edge leads to."""
    reward: FloatArray
    """`[option]`: what its edge pays."""
    first: IntArray
    """`[u]`: the number of its first option."""
    number: IntArray
    """`[u]`: how many it has."""


def make_options(problem: Problem, *, unachievable: bool = False) -> Options:
    """Return the options of all missions; with `unachievable`, also those of edges never taken."""
    found: list[tuple[int, int, float]] = []
    for mission, offset in zip(problem.missions, problem.offsets, strict=True):
        for u, target, reward in _edges(mission.machine, problem, unachievable=unachievable):
            found.append((u + offset, target + offset, reward))
    found.sort()
    source = np.array([edge[0] for edge in found], np.int64)
    states = np.arange(problem.states)
    first = np.searchsorted(source, states).astype(np.int64)
    count = np.searchsorted(source, states, side="right").astype(np.int64) - first
    return Options(
        source,
        np.array([edge[1] for edge in found], np.int64),
        np.array([edge[2] for edge in found], np.float64),
        first,
        count,
    )


def _edges(
    machine: RewardMachine, problem: Problem, *, unachievable: bool
) -> set[tuple[int, int, float]]:
    """Return (u, target, reward) of the edges that are no self-loops and do not fail."""
    edges: set[tuple[int, int, float]] = set()
    for u in range(machine.num_states):
        if u in machine.terminal or u in machine.failure:
            continue
        ways = (u, *machine.promises(u))
        outcomes = (
            [(way, outcome) for way in ways for outcome in _all(machine, way)]
            if unachievable
            else [(way, machine.step(way, s)) for way in ways for s in problem.model.label_sets]
        )
        for way, (target, reward) in outcomes:
            kept = way not in machine.promised or target in machine.promised
            moves = target != u or reward > 0
            if kept and moves and target not in machine.failure:
                edges.add((u, target, reward))
    return edges


def _all(machine: RewardMachine, state: int) -> Sequence[tuple[int, float]]:
    return [machine.outcomes[index] for index in machine.table.outcomes(state)]


def unachievable_edges(problem: Problem) -> list[tuple[str, Formula]]:
    """Return the edges that are left out, as (state, label), for those who ask why."""
    left_out = []
    for mission in problem.missions:
        machine = mission.machine
        kept = _edges(machine, problem, unachievable=False)
        for u, target, reward in sorted(_edges(machine, problem, unachievable=True) - kept):
            outcome = next(o for o in machine.outcomes if o == (target, reward))
            left_out.append((machine.names[u], machine.label(u, [outcome])))
    return left_out
