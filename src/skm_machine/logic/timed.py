"""Bounds in seconds, `F[0s,5s] a`: operators with a window on the clock, and what they mean.

A timed trace is what a mission is judged on: the states that the robot enters, each with the time at
which it does, and the time that it is now. All times are whole nanoseconds, so that a window of ten
steps of 0.1 s ends with the tenth. A state lasts until the next one is entered. The windows of a formula
that stands alone count from the moment at which the mission began; those of a formula that is judged in
a state from when that state was entered.

- A formula is judged at *instants*: when a state is entered and, for an operator whose window opens
  later (`F[2s,5s] a`), in the state that lasts when it opens. Who is there by then need not come again.
- `F[i,j] a` holds if a does at an instant from i to j; `a U[i,j] b` if b does, and a at every instant
  before that one; `a W[i,j] b` also if a holds at every instant to j; G, R and M are the duals.
- What a window asks for to its end holds when the window is over, not before: `G[0s,10s] a` takes ten
  seconds. That is what "stay for ten seconds" means. (A bound in steps asks nothing of steps that do not
  come.) So on a trace that is not over a formula may hold, its negation may, or neither.
- X is the next state, whenever that is entered.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from skm_machine.logic.formula import TEMPORAL, TIMED, Formula
from skm_machine.logic.normal_forms import DUALS

NANOSECONDS: Final = 1_000_000_000


class Window(NamedTuple):
    """The times that an operator speaks of, in nanoseconds after the one at which it is judged."""

    first: int
    last: int | None

    @property
    def text(self) -> str:
        """The window as it is written."""
        last = "" if self.last is None else seconds_text(self.last)
        return f"[{seconds_text(self.first)},{last}]"


def seconds_text(nanoseconds: int) -> str:
    """Return a time as it is written in a bound, such as `2.5s`."""
    whole, rest = divmod(nanoseconds, NANOSECONDS)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".") + "s"


def timed(operator: str, window: Window, operands: tuple[Formula, ...]) -> Formula:
    """Return `operator[first,last]` of `operands`, the bound in seconds."""
    if window == (0, None):
        return Formula(operator, operands)
    last = "" if window.last is None else window.last
    return Formula(f"{operator}@", operands, f"{window.first},{last}")


def window_of(formula: Formula) -> Window:
    """Return the window of an operator with a bound in seconds."""
    first, last = formula.name.split(",")
    return Window(int(first), int(last) if last else None)


def timed_parts(formula: Formula) -> list[Formula]:
    """Return the subformulas with bounds in seconds, inner ones first."""
    return [sub for sub in formula.subformulas() if sub.operator in TIMED]


class _Instant(NamedTuple):
    """A moment at which a formula is judged, and the number of the state that lasts then."""

    time: int
    state: int


def holds_timed(
    formula: Formula,
    began: int,
    first: Collection[str],
    entered: Sequence[tuple[int, Collection[str]]],
    now: int,
) -> bool:
    """Tell whether a timed trace satisfies `formula` at the time `now`, by the definition above.

    `first` are the labels of the state in which the mission began, at the time `began`; they only count
    where a window opens before another state is entered. This is for tests and for judging recordings
    independently: it looks at the whole trace each time. What runs is `skm_machine.clocks`.
    """
    return _Judge(began, first, entered, now).holds(formula)


class _Judge:
    """Judges subformulas of one formula on one trace; every answer is found once."""

    def __init__(
        self,
        began: int,
        first: Collection[str],
        entered: Sequence[tuple[int, Collection[str]]],
        now: int,
    ) -> None:
        self.times = [began, *(time for time, _ in entered)]
        self.labels = [frozenset(first), *(frozenset(labels) for _, labels in entered)]
        self.now = now
        self._known: dict[tuple[Formula, bool, int, int], bool] = {}

    def holds(self, formula: Formula) -> bool:
        return self._at(formula, True, self.times[0], 1)

    def _at(self, formula: Formula, sign: bool, time: int, state: int) -> bool:
        """Tell whether the formula, or its negation, holds at a time in a state."""
        key = formula, sign, time, state
        if key not in self._known:
            self._known[key] = self._judged(*key)
        return self._known[key]

    def _judged(self, formula: Formula, sign: bool, time: int, state: int) -> bool:
        def here(operand: Formula, positive: bool) -> bool:
            return self._at(operand, positive, time, state)

        operands = formula.operands
        match formula.operator:
            case "!":
                return here(operands[0], not sign)
            case "&" | "|" as operator:
                every = all if (operator == "&") == sign else any
                return every(here(operand, sign) for operand in operands)
            case "->":
                parts = here(operands[0], not sign), here(operands[1], sign)
                return any(parts) if sign else all(parts)
            case "<->" | "xor" as operator:
                same = (operator == "<->") == sign
                both = here(operands[0], True) and here(operands[1], same)
                return both or (here(operands[0], False) and here(operands[1], not same))
        if formula.operator in TIMED:
            kind = formula.operator if sign else DUALS[formula.operator]
            return self._timed(TIMED[kind], formula, sign, time, state)
        if state >= len(self.times):
            return False  # no state was entered yet
        if formula.operator in TEMPORAL:
            kind = formula.operator if sign else DUALS[formula.operator]
            return self._untimed(kind, formula, sign, time, state)
        truth = formula.operator == "true" or (
            formula.operator == "prop" and formula.name in self.labels[state]
        )
        return truth == sign

    def _untimed(self, operator: str, formula: Formula, sign: bool, time: int, state: int) -> bool:
        """Judge an operator without a bound: it speaks of this moment, and of the states after it."""
        if operator == "X":
            if state + 1 == len(self.times):
                return not sign
            return self._at(formula.operands[0], sign, self.times[state + 1], state + 1)
        instants = [_Instant(max(time, self.times[state]), state)]
        instants += [_Instant(self.times[j], j) for j in range(state + 1, len(self.times))]
        left, right = self._along(formula, sign, instants)
        return _holds(operator, left, right, 0, len(instants), over=True)

    def _timed(self, operator: str, formula: Formula, sign: bool, time: int, state: int) -> bool:
        window = window_of(formula)
        opens = time + window.first
        closes = None if window.last is None else time + window.last
        instants = (
            [] if state >= len(self.times) else [_Instant(max(time, self.times[state]), state)]
        )
        instants += [_Instant(self.times[j], j) for j in range(state + 1, len(self.times))]
        if window.first and opens <= self.now and opens not in self.times:
            instants.append(_Instant(opens, bisect_right(self.times, opens) - 1))
        instants.sort()
        times = [instant.time for instant in instants]
        end = len(instants) if closes is None else bisect_right(times, closes)
        begin = bisect_left(times, opens)
        left, right = self._along(formula, sign, instants[:end])
        over = opens <= self.now if closes is None else closes < self.now
        return _holds(operator, left, right, min(begin, end), end, over=over)

    def _along(
        self, formula: Formula, sign: bool, instants: Sequence[_Instant]
    ) -> tuple[list[bool], list[bool]]:
        """Return where the operands of an operator hold: the first and the last of them."""
        truths = [[self._at(o, sign, *instant) for instant in instants] for o in formula.operands]
        return truths[0], truths[-1]


def _holds(
    operator: str, left: list[bool], right: list[bool], begin: int, end: int, *, over: bool
) -> bool:
    """Judge an operator from where its operands hold; `begin` to `end` lie in its window."""
    until = any(right[k] and all(left[:k]) for k in range(begin, end))
    released = any(left[k] and all(right[begin : k + 1]) for k in range(end))
    match operator:
        case "F":
            return any(right[begin:end])
        case "G":
            return over and all(right[begin:end])
        case "U":
            return until
        case "W":
            return until or (over and all(left[:end]))
        case "M":
            return released
        case "R":
            return released or (over and all(right[begin:end]))
        case _:
            raise ValueError(f"'{operator}' is not a temporal operator")
