"""Bounds as they are written after an operator: `[0,5]` in steps, `[0s,3s]` in seconds."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from skm_machine.logic.bounds import MAX_BOUND

_BOUND: Final = re.compile(
    r"""\[\s* (?P<first>\d+(?:\.\d+)?) \s* (?P<first_unit>[a-z]*)
        (?P<comma>\s*(?:,|:|\.\.)\s* (?:(?P<last>\d+(?:\.\d+)?) \s* (?P<last_unit>[a-z]*))? )? \s*\]""",
    re.VERBOSE,
)
SECONDS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0}
_EXAMPLES: Final = "as in F[0,5] a (steps), F[0s,3s] a (seconds) or F[2,] a (no upper bound)"
_ROUNDING: Final = 1e-9


class Bound(NamedTuple):
    """The positions that an operator speaks of: from the first to the last, if there is one."""

    first: int
    last: int | None


class BoundError(ValueError):
    """A bound that cannot be read, and why."""


def read_bound(text: str, operator: str, step_seconds: float | None) -> Bound:
    """Return the bound that `text`, brackets and all, puts on `operator`."""
    match = _BOUND.fullmatch(text)
    if match is None:
        raise BoundError(f"'{text}' is no bound: write it {_EXAMPLES}")
    if operator == "X":
        if match["comma"] or match["first_unit"] or "." in match["first"]:
            raise BoundError("X takes one number of steps, as in X[3] a")
        return _checked(Bound(int(match["first"]), int(match["first"])))
    if not match["comma"]:
        n = match["first"] + match["first_unit"]
        raise BoundError(f"write {operator}[0,{n}] for 'within {n}', or {operator}[{n},{n}]")
    unit = match["last_unit"] or match["first_unit"]
    if not unit:
        for number in (match["first"], match["last"] or "0"):
            if "." in number:
                raise BoundError(f"{number} is no number of steps; write {number}s for seconds")
        return _checked(Bound(int(match["first"]), int(match["last"]) if match["last"] else None))
    if step_seconds is None:
        raise BoundError(
            "how many steps these are is not known: only a domain with a rate says how long a step"
            " takes. Write the bound in steps, as in F[0,5] a"
        )
    first = _seconds(match["first"], match["first_unit"] or unit) / step_seconds
    earliest = math.ceil(first - _ROUNDING)
    if not match["last"]:
        return _checked(Bound(earliest, None))
    last = _seconds(match["last"], unit) / step_seconds
    bound = Bound(earliest, math.floor(last + _ROUNDING))
    if first <= last and (bound.last or 0) < bound.first:
        raise BoundError(f"no step falls into {text}: a step takes {step_seconds:g} s")
    return _checked(bound)


def _seconds(number: str, unit: str) -> float:
    if unit not in SECONDS:
        raise BoundError(f"unknown unit '{unit}'. Known: {', '.join(SECONDS)}; steps have none")
    return float(number) * SECONDS[unit]


def _checked(bound: Bound) -> Bound:
    last = bound.first if bound.last is None else bound.last
    if last < bound.first:
        raise BoundError("the first number of a bound must not be above the second")
    if last > MAX_BOUND:
        raise BoundError(f"a bound of {last} steps is too long: at most {MAX_BOUND}")
    return bound
