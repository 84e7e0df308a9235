"""What a formula means on a finite trace, straight from the definition.

This is the oracle that the automata are tested against, so it shares nothing with them. A trace is a
list of label sets; a formula is judged at the first one. `X` is the strong next: it needs a next step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from skm_machine.logic.syntax import TEMPORAL, Formula, boolean_value


def holds(formula: Formula, trace: Sequence[Collection[str]]) -> bool:
    """Tell whether the finite, non-empty `trace` satisfies `formula`; no empty trace satisfies any."""
    if not trace:
        return False
    truth: dict[Formula, list[bool]] = {}
    for sub in formula.subformulas():
        operands = [truth[operand] for operand in sub.operands]
        if sub.operator == "prop":
            truth[sub] = [sub.name in labels for labels in trace]
        elif sub.operator in TEMPORAL:
            truth[sub] = [_temporal(sub.operator, operands, i) for i in range(len(trace))]
        else:
            truth[sub] = [
                boolean_value(sub.operator, [values[i] for values in operands])
                for i in range(len(trace))
            ]
    return truth[formula][0]


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
