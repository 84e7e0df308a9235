"""Compiled loops: numba where it is there, a sentence where it is not; and what every loop draws from.

Random numbers are SplitMix64 (Steele, Lea & Flood 2014), kept in an array of one number: the same on
every machine, and a stream of its own for each run and each evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError

try:
    from numba import njit
except ImportError:  # the extra `baselines` is not installed: said on use
    njit = None

Function = TypeVar("Function", bound=Callable[..., Any])

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def compiled(function: Function) -> Function:
    """Compile a loop when it is first called, and keep what was compiled on disk."""
    if njit is None:

        def missing(*_: object) -> None:
            raise SkmError(
                "the baselines are compiled by numba; install it with `pip install"
                " 'skm[baselines]'`."
            )

        return cast(Function, missing)
    return cast(Function, njit(cache=True, nogil=True)(function))


@compiled
def stream(seed: int, number: int) -> NDArray[np.uint64]:
    """Return the random stream `number` of a run."""
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed) * _MIX_1 + np.uint64(number) * _MIX_2 + _GOLDEN
    for _ in range(3):
        uniform(state)
    return state


@compiled
def uniform(state: NDArray[np.uint64]) -> float:
    """Draw from [0, 1)."""
    state[0] += _GOLDEN
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    mixed = mixed ^ (mixed >> np.uint64(31))
    return np.float64(mixed >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def below(state: NDArray[np.uint64], count: int) -> int:
    """Draw a whole number from 0 to `count` − 1."""
    return int(uniform(state) * count)


@compiled
def soft(values: NDArray[np.float64], epsilon: float, state: NDArray[np.uint64]) -> int:
    """Return a random index with probability `epsilon`, else that of the greatest value."""
    if uniform(state) < epsilon:
        return below(state, len(values))
    return greedy(values, state)


@compiled
def greedy(values: NDArray[np.float64], state: NDArray[np.uint64]) -> int:
    """Return the index of the greatest value; ties are drawn."""
    best, ties, chosen = values[0], 1, 0
    for index in range(1, len(values)):
        value = values[index]
        if value > best:
            best, ties, chosen = value, 1, index
        elif value == best:
            ties += 1
            if uniform(state) * ties < 1.0:
                chosen = index
    return chosen


@compiled
def highest(values: NDArray[np.float64]) -> float:
    """Return the greatest value."""
    best = values[0]
    for index in range(1, len(values)):
        best = max(best, values[index])
    return float(best)
