"""Reward machines as HOA and DOT text, for other tools."""

from __future__ import annotations

from skm_machine.logic.syntax import TRUE, Formula
from skm_machine.reward_machine import Edge, RewardMachine


def to_hoa(machine: RewardMachine, name: str = "") -> str:
    """Return the machine as a HOA v1 automaton with marked edges; `read_hoa` gives it back.

    Spot reads it as a Büchi automaton: the end of a mission is a marked loop. The header `skm.words`
    tells `read_hoa` whether marks end finite traces.
    """
    number = {name: str(index) for index, name in enumerate(machine.propositions)}
    propositions = " ".join(_string(name) for name in machine.propositions)
    lines = [
        "HOA: v1",
        *([f"name: {_string(name)}"] if name else []),
        'tool: "skm"',
        f"States: {machine.num_states}",
        f"Start: {machine.initial}",
        f"AP: {len(machine.propositions)} {propositions}".rstrip(),
        "acc-name: Buchi",
        "Acceptance: 1 Inf(0)",
        "properties: trans-labels explicit-labels trans-acc deterministic complete",
        f"skm.words: {'infinite' if machine.endless else 'finite'}",
        "--BODY--",
    ]
    sinks = sorted(machine.terminal | machine.failure)
    edges = [*machine.edges, *(Edge(state, state, TRUE, 0.0) for state in sinks)]
    for state in range(machine.num_states):
        lines.append(f"State: {state} {_string(machine.names[state])}")
        for edge in edges:
            if edge.source == state:
                succeeded = state in machine.terminal and state not in machine.failure
                mark = " {0}" if edge.reward > 0 or succeeded else ""
                lines.append(f"[{hoa_label(edge.label, number)}] {edge.target}{mark}")
    return "\n".join([*lines, "--END--", ""])


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
                raise ValueError(f"'{operator}' is no operator of an edge's label")
    text = texts[formula]
    return text[1:-1] if formula.operator in ("&", "|", "xor") else text


def to_dot(machine: RewardMachine) -> str:
    """Return the machine as a Graphviz graph."""
    lines = ["digraph machine {", "  rankdir=LR;", "  start [shape=point];"]
    for state, name in enumerate(machine.names):
        accepted = state in machine.terminal - machine.failure
        shape = "doublecircle" if accepted else "circle"
        lines.append(f"  {state} [label={_string(name)}, shape={shape}];")
    lines.append(f"  start -> {machine.initial};")
    for edge in machine.edges:
        reward = f" / {edge.reward:g}" if edge.reward else ""
        label = _string(f"{edge.label}{reward}")
        lines.append(f"  {edge.source} -> {edge.target} [label={label}];")
    return "\n".join([*lines, "}", ""])


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
