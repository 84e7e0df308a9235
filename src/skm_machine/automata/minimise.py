"""The minimal automaton of a language, by partition refinement on decision diagrams (Hopcroft)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from skm_machine.automata.automaton import Automaton
from skm_machine.automata.decision import DecisionTable


def minimise(table: DecisionTable, initial: int, accepting: Collection[int]) -> Automaton:
    """Merge the states that accept the same continuations; number them breadth first from 0."""
    states = table.reachable(initial)
    block = _blocks(table, states, accepting)
    number: dict[int, int] = {}
    representatives = []
    for state in states:
        if block[state] not in number:
            number[block[state]] = len(number)
            representatives.append(state)
    merged = table.mapped(representatives, lambda state: number[block[state]])
    return Automaton(merged, frozenset(number[block[s]] for s in states if s in accepting))


def _blocks(
    table: DecisionTable, states: Sequence[int], accepting: Collection[int]
) -> dict[int, int]:
    """Return the number of the block of each state: those in one block accept the same continuations.

    Only states that lead into a block which was just split off are looked at again, and of the parts of
    a block the largest keeps its number: a chain of n states takes n steps, not n².
    """
    block = {state: int(state in accepting) for state in states}
    members: list[set[int]] = [set(), set()]
    for state in states:
        members[block[state]].add(state)
    known = frozenset(states)
    doubtful: Collection[int] = states
    while doubtful:
        rows = table.mapped(doubtful, block.__getitem__)
        parts: dict[int, dict[int, list[int]]] = {}
        for index, state in enumerate(doubtful):
            parts.setdefault(block[state], {}).setdefault(rows.same_as(index), []).append(state)
        moved: list[int] = []
        for number, found in parts.items():
            rest = members[number].difference(*found.values())
            sizes = sorted(found.values(), key=len)
            leaving = sizes if len(rest) >= len(sizes[-1]) else [list(rest), *sizes[:-1]]
            for part in filter(None, leaving):
                members[number].difference_update(part)
                block.update(dict.fromkeys(part, len(members)))
                members.append(set(part))
                moved += part
        doubtful = sorted(table.sources(moved) & known)
    return block
