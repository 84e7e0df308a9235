"""Which part of a mission makes its machine grow: for the error that refuses it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from skm_machine.automata.limits import LimitReachedError, Limits
from skm_machine.errors import UnsupportedMissionError
from skm_machine.logic.bounds import Bounded, all_bounds, bounded
from skm_machine.logic.formula import Formula

_TRIAL_STATES: Final = 200
_TRIAL_SECONDS: Final = 0.1
_ALL_TRIALS: Final = 0.4
_MAX_TEXT: Final = 80
_MANY: Final = 4096
"""So many states may make a machine too large; for fewer, parts of two states are to blame, too."""


def too_large(
    formula: Formula, problem: LimitReachedError, count: Callable[[Formula, Limits], int]
) -> UnsupportedMissionError:
    """Return the error that says how large the machine grew, and through which clause.

    `count` gives the states of a clause alone; it may reach its limits.
    """
    start = time.thread_time()
    sizes: dict[Formula, int] = {}
    clause = formula
    while len(parts := _parts(clause)) > 1 and time.thread_time() < start + _ALL_TRIALS:
        sizes, too_large_part = {}, None
        for part in parts:
            try:
                sizes[part] = count(part, Limits(_TRIAL_STATES, _TRIAL_SECONDS))
            except LimitReachedError:
                too_large_part = part
                break
            if time.thread_time() > start + _ALL_TRIALS:
                break
        if too_large_part is None:
            break
        sizes, clause = {}, too_large_part
    where = "" if clause is formula else f" in the clause '{_shortened(clause)}'"
    reason = f"the mission's machine grows too large{where}: {problem}"
    growing = {part: size for part, size in sizes.items() if size > 2}
    if math.prod(growing.values()) < _MANY:
        growing = sizes
    if len(growing) > 1:
        largest = max(growing, key=growing.__getitem__)
        product = math.prod(growing.values())
        many = f", to up to {product} states" if 1000 < product < 10**9 else ""
        reason += (
            f". Its {len(growing)} parts multiply{many}; "
            f"'{_shortened(largest)}' alone has {growing[largest]}"
        )
    delay = _longest_delay(clause)
    if delay is not None:
        reason += (
            f". '{_shortened(delay.delayed)}' begins {delay.steps} steps later, so that the machine "
            f"has to remember each of these steps by itself; '{_shortened(delay.at_once)}' only takes "
            "a counter"
        )
        return UnsupportedMissionError(f"{reason}.")
    way_out = "Split it into several missions"
    if len(_parts(formula)) > 1 and formula.operator == "&":
        way_out += (
            ", or run it on a map with no limits given: there its clauses are kept apart, and need not"
            " be one machine"
        )
    return UnsupportedMissionError(f"{reason}. {way_out}.")


class _Delay(NamedTuple):
    """A part that speaks of steps that come later, and a part alike that begins at once."""

    steps: int
    delayed: Formula
    at_once: Formula


def _longest_delay(formula: Formula) -> _Delay | None:
    """Return the longest delay that has to be kept again and again, if any: `F[9,20] a`, `X[9] a`."""
    repeated = dict.fromkeys(
        inner
        for sub in formula.subformulas()
        if sub.operator in ("G", "R", "W", "F", "U", "M")
        for inner in sub.operands
    )
    bound = max(
        (bound for inner in repeated for bound in all_bounds(inner)),
        key=lambda bound: bound.first,
        default=Bounded("F", 0, 0, ()),
    )
    nexts = {sub: 1 for inner in repeated for sub in inner.subformulas() if sub.operator == "X"}
    for sub in nexts:  # operands come first
        nexts[sub] += nexts.get(sub.operands[0], 0)
    delayed = max(nexts, key=nexts.__getitem__, default=formula)
    steps = nexts.get(delayed, 0)
    if max(bound.first, steps) <= 1:
        return None
    if bound.first >= steps:
        return _Delay(bound.first, bounded(*bound), bounded(*bound._replace(first=0)))
    later = delayed
    while later.operator == "X":
        later = later.operands[0]
    return _Delay(steps, delayed, bounded("F", 0, steps, (later,)))


def _parts(formula: Formula) -> tuple[Formula, ...]:
    """Return what a formula consists of: its operands, below operators with one temporal operand."""
    temporal: tuple[Formula, ...] = (formula,)
    while len(temporal) == 1:
        operands = temporal[0].operands
        temporal = tuple(dict.fromkeys(part for part in operands if not part.is_boolean()))
    return temporal


def _shortened(formula: Formula) -> str:
    text = str(formula)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
