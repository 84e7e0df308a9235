"""The minimal automaton of a language, by Moore's partition refinement on decision diagrams."""

from __future__ import annotations

from collections.abc import Collection

from skm_machine.automata.automaton import Automaton
from skm_machine.automata.decision import DecisionTable


def minimise(table: DecisionTable, initial: int, accepting: Collection[int]) -> Automaton:
    """Merge the states that accept the same continuations; number them breadth first from 0."""
    states = table.reachable(initial)
    block = {state: int(state in accepting) for state in states}
    count = len(set(block.values()))
    while True:
        quotient = table.mapped(states, block.__getitem__)
        signatures: dict[tuple[int, int], int] = {}
        finer = {
            state: signatures.setdefault((block[state], quotient.same_as(index)), len(signatures))
            for index, state in enumerate(states)
        }
        if len(signatures) == count:
            break
        block, count = finer, len(signatures)
    number: dict[int, int] = {}
    representatives = []
    for state in states:
        if block[state] not in number:
            number[block[state]] = len(number)
            representatives.append(state)
    merged = table.mapped(representatives, lambda state: number[block[state]])
    return Automaton(merged, frozenset(number[block[s]] for s in states if s in accepting))
