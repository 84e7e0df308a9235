"""Reward machines as HOA and DOT text, for other tools."""

from __future__ import annotations

from skm_machine.automata.hoa_text import hoa_header, hoa_label, hoa_string
from skm_machine.logic.formula import TRUE
from skm_machine.reward_machine import Edge, Outcome, RewardMachine


def to_hoa(machine: RewardMachine, name: str = "") -> str:
    """Return the machine as a HOA v1 automaton with marked edges; `read_hoa` gives it back.

    Spot reads it as a Büchi automaton: the end of a mission is a marked loop. The header `skm.words`
    tells `read_hoa` whether marks end finite traces. As the format has no moves that read nothing,
    commitments are written as the edges from where they lead: such an automaton is not deterministic.
    """
    number = {name: str(index) for index, name in enumerate(machine.propositions)}
    lines = [
        *hoa_header(
            name,
            machine.num_states,
            machine.initial,
            machine.propositions,
            ("acc-name: Buchi", "Acceptance: 1 Inf(0)"),
            "" if machine.epsilon_transitions else "deterministic complete",
        ),
        f"skm.words: {'infinite' if machine.endless else 'finite'}",
        "--BODY--",
    ]
    sinks = sorted(machine.terminal | machine.failure)
    edges = [*machine.edges, *(Edge(state, state, TRUE, 0.0) for state in sinks)]
    for state in range(machine.num_states):
        lines.append(f"State: {state} {hoa_string(machine.names[state])}")
        sources = (state, *machine.commitments(state))
        for edge in edges:
            if edge.source in sources and _kept(machine, edge):
                succeeded = state in machine.terminal and state not in machine.failure
                mark = " {0}" if edge.reward > 0 or succeeded else ""
                lines.append(f"[{hoa_label(edge.label, number)}] {edge.target}{mark}")
    return "\n".join([*lines, "--END--", ""])


def _kept(machine: RewardMachine, edge: Edge) -> bool:
    return machine.keeps(edge.source, Outcome(edge.target, edge.reward))


def to_dot(machine: RewardMachine) -> str:
    """Return the machine as a Graphviz graph."""
    lines = ["digraph machine {", "  rankdir=LR;", "  start [shape=point];"]
    for state, name in enumerate(machine.names):
        accepted = state in machine.terminal - machine.failure
        shape = "doublecircle" if accepted else "circle"
        lines.append(f"  {state} [label={hoa_string(name)}, shape={shape}];")
    lines.append(f"  start -> {machine.initial};")
    for edge in machine.edges:
        reward = f" / {edge.reward:g}" if edge.reward else ""
        label = hoa_string(f"{edge.label}{reward}")
        lines.append(f"  {edge.source} -> {edge.target} [label={label}];")
    for edge in machine.commitment_edges:
        label = hoa_string(f"commitment: {edge.label}")
        lines.append(f"  {edge.source} -> {edge.target} [label={label}, style=dashed];")
    return "\n".join([*lines, "}", ""])
