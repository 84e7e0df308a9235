"""Bounds as they are written after an operator: `[0,5]` in steps, `[0s,3s]` in seconds."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from skm_machine.logic.bounds import MAX_BOUND
from skm_machine.logic.timed import NANOSECONDS, Window

_BOUND: Final = re.compile(
    r"""\[\s* (?P<first>\d+(?:\.\d+)?) \s* (?P<first_unit>[a-z]*)
        (?P<comma>\s*(?:,|:|\.\.)\s* (?:(?P<last>\d+(?:\.\d+)?) \s* (?P<last_unit>[a-z]*))? )? \s*\]""",
    re.VERBOSE,
)
SECONDS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_REVERSED: Final = "the first number of a bound must not be above the second"
_EXAMPLES: Final = "as in F[0,5] a (steps), F[0s,3s] a (seconds) or F[2,] a (no upper bound)"
MAX_SECONDS: Final = 31_622_400.0
"""Bounds of more seconds than this, a year, are refused."""


class Bound(NamedTuple):
    """The positions that an operator speaks of: from the first to the last, if there is one."""

    first: int
    last: int | None


class BoundError(ValueError):
    """A bound that cannot be read, and why."""


def read_bound(text: str, operator: str, *, clock: bool) -> Bound | Window:
    """Return the bound that `text`, brackets and all, puts on `operator`: in steps, or on the clock.

    `clock` tells whether there is one: a world whose steps take no time that is known has none.
    """
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
    if not clock:
        raise BoundError(
            "there is no clock: nothing says how long a step takes here. Write the bound in steps, as"
            " in F[0,5] a"
        )
    first = _nanoseconds(match["first"], match["first_unit"] or unit)
    if not match["last"]:
        return Window(first, None)
    window = Window(first, _nanoseconds(match["last"], unit))
    if window.last is not None and window.last < first:
        raise BoundError(_REVERSED)
    return window


def _nanoseconds(number: str, unit: str) -> int:
    if unit not in SECONDS:
        raise BoundError(f"unknown unit '{unit}'. Known: {', '.join(SECONDS)}; steps have none")
    seconds = float(number) * SECONDS[unit]
    if seconds > MAX_SECONDS:
        raise BoundError(f"a bound of {seconds:g} seconds is too long: at most a year")
    return round(seconds * NANOSECONDS)


def _checked(bound: Bound) -> Bound:
    last = bound.first if bound.last is None else bound.last
    if last < bound.first:
        raise BoundError(_REVERSED)
    if last > MAX_BOUND:
        raise BoundError(f"a bound of {last} steps is too long: at most {MAX_BOUND}")
    return bound
