"""What a formula means on a finite trace, or on one that goes in a circle, straight from the definition.

This is the oracle that the automata are tested against, so it shares nothing with them. A trace is a
list of label sets; a formula is judged at the first one. `X` is the strong next: it needs a next step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from skm_machine.logic.formula import TEMPORAL, Formula, boolean_value


def holds(formula: Formula, trace: Sequence[Collection[str]]) -> bool:
    """Tell whether the finite, non-empty `trace` satisfies `formula`; no empty trace satisfies any."""
    if not trace:
        return False

    def temporal(operator: str, operands: list[list[bool]]) -> list[bool]:
        return [_temporal(operator, operands, i) for i in range(len(trace))]

    return _judged(formula, trace, temporal)


def holds_forever(
    formula: Formula, prefix: Sequence[Collection[str]], loop: Sequence[Collection[str]]
) -> bool:
    """Tell whether prefix·loop·loop·… satisfies `formula`; `loop` must not be empty.

    By the fixed points that define the operators on infinite traces, as `accepts_lasso` says it by an
    automaton.
    """
    if not loop:
        raise ValueError("an infinite trace needs a loop that is not empty")
    back = len(prefix)

    def temporal(operator: str, operands: list[list[bool]]) -> list[bool]:
        return _fixed_point(operator, operands, back)

    return _judged(formula, [*prefix, *loop], temporal)


def _judged(
    formula: Formula,
    trace: Sequence[Collection[str]],
    temporal: Callable[[str, list[list[bool]]], list[bool]],
) -> bool:
    """Judge a formula at the first step, from the steps at which each part of it holds."""
    truth: dict[Formula, list[bool]] = {}
    for sub in formula.subformulas():
        operands = [truth[operand] for operand in sub.operands]
        if sub.operator == "prop":
            truth[sub] = [sub.name in labels for labels in trace]
        elif sub.operator in TEMPORAL:
            truth[sub] = temporal(sub.operator, operands)
        else:
            truth[sub] = [
                boolean_value(sub.operator, [values[i] for values in operands])
                for i in range(len(trace))
            ]
    return truth[formula][0]


def _fixed_point(operator: str, operands: list[list[bool]], back: int) -> list[bool]:
    """Return where a temporal operator holds on a trace whose last step is followed by step `back`.

    The least fixed point of F, U and M, the greatest of G, R and W: from the last step to the first and
    once more, since what holds at the end of the loop depends on its beginning.
    """
    left, right = operands[0], operands[-1]
    if operator == "X":
        return [*left[1:], left[back]]
    now: dict[str, Callable[[int, bool], bool]] = {
        "F": lambda i, later: left[i] or later,
        "G": lambda i, later: left[i] and later,
        "U": lambda i, later: right[i] or (left[i] and later),
        "W": lambda i, later: right[i] or (left[i] and later),
        "R": lambda i, later: right[i] and (left[i] or later),
        "M": lambda i, later: right[i] and (left[i] or later),
    }
    rule, later = now[operator], operator in ("G", "R", "W")
    values = [later] * len(left)
    for _ in range(2):
        for i in reversed(range(len(left))):
            values[i] = later = rule(i, later)
        later = values[back]
    return values


def _temporal(operator: str, operands: list[list[bool]], i: int) -> bool:
    """Judge a temporal operator at position `i`, from where its operands hold (Definition LTL)."""
    left, right = operands[0], operands[-1]
    rest = range(i, len(left))
    match operator:
        case "X":
            return i + 1 < len(left) and left[i + 1]
        case "F":
            return any(left[j] for j in rest)
        case "G":
            return all(left[j] for j in rest)
        case "U":
            return any(right[j] and all(left[i:j]) for j in rest)
        case "W":
            return _temporal("U", operands, i) or all(left[i:])
        case "M":
            return any(left[j] and all(right[i : j + 1]) for j in rest)
        case "R":
            return _temporal("M", operands, i) or all(right[i:])
        case _:
            raise ValueError(f"'{operator}' is not a temporal operator")
