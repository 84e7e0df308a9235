"""The pieces of HOA text that skm writes: labels, strings and headers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skm_machine.logic.formula import Formula


def hoa_label(formula: Formula, number: dict[str, str]) -> str:
    """Return a Boolean formula in HOA's label syntax: numbers for names, only `!`, `&`, `|`."""
    texts: dict[Formula, str] = {}
    for sub in formula.subformulas():
        operands = [texts[operand] for operand in sub.operands]
        match sub.operator:
            case "prop":
                texts[sub] = number[sub.name]
            case "true" | "false":
                texts[sub] = sub.operator[0]
            case "!":
                texts[sub] = f"!{operands[0]}"
            case "&" | "|" as operator:
                texts[sub] = f"({operator.join(operands)})"
            case "xor":
                left, right = operands
                texts[sub] = f"({left}&!{right}|!{left}&{right})"
            case operator:
                raise ValueError(f"'{operator}' is not an operator of an edge's label")
    text = texts[formula]
    return text[1:-1] if formula.operator in ("&", "|", "xor") else text


def hoa_string(text: str) -> str:
    """Return a text in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def hoa_header(
    name: str,
    num_states: int,
    initial: int,
    propositions: Sequence[str],
    acceptance: Iterable[str],
    properties: str,
) -> list[str]:
    """Return the lines of a header up to the properties; `acceptance` holds its own lines."""
    names = " ".join(hoa_string(proposition) for proposition in propositions)
    return [
        "HOA: v1",
        *([f"name: {hoa_string(name)}"] if name else []),
        'tool: "skm"',
        f"States: {num_states}",
        f"Start: {initial}",
        f"AP: {len(propositions)} {names}".rstrip(),
        *acceptance,
        f"properties: trans-labels explicit-labels trans-acc {properties}".rstrip(),
    ]
