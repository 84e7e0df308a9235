"""HOA automata as missions.

How a deterministic automaton with Büchi acceptance (`Inf(0)`), `t` or `f` is taken as a mission:
- with the header `skm.words: finite`, which skm writes, marks end finite traces;
- a *weak* automaton (no cycle mixes marked and unmarked edges: `F a`, `F a & G !b`) succeeds on
  entering a marked cycle: the mission ends there, as in the paper;
- any other (`G F a`) has no end, and its marked edges are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skm_machine.automata.automaton import Automaton
from skm_machine.automata.decision import table_from_edges
from skm_machine.automata.minimise import minimise
from skm_machine.automata.reachability import cycles, reachable
from skm_machine.errors import MissionError, NondeterministicError, UnsupportedMissionError
from skm_machine.formats.hoa_reader import HoaReader
from skm_machine.logic.syntax import FALSE, TRUE, Formula
from skm_machine.reward_machine import Outcome, RewardMachine, from_edges


@dataclass
class _MissionEdge:
    label: Formula | None
    target: int
    marked: bool
    """Whether taking the edge is an accepting visit: by a mark of its own or of the state it enters."""


def read_hoa(text: str) -> RewardMachine:
    """Return the reward machine of the HOA automaton in `text`."""
    reader = HoaReader(text)
    try:
        return _as_mission(reader.propositions, _rows(reader), reader.starts[0], reader.words)
    except NondeterministicError as error:
        raise UnsupportedMissionError(
            f"HOA: {error}; give the formula itself, or see if Spot's autfilt --deterministic helps"
        ) from error


def read_hoa_automaton(text: str) -> Automaton:
    """Return the minimal automaton of the finite traces that end on a mark of the HOA automaton.

    Its states are a fresh initial one, since no empty trace is accepted, and each state of the file
    twice: entered with a mark (even numbers), and without.
    """
    reader = HoaReader(text)
    rows = _rows(reader)

    def state(edge: _MissionEdge) -> int:
        return 1 + 2 * edge.target + edge.marked

    sources = [reader.starts[0], *(source for source in range(len(rows)) for _ in (False, True))]
    edges = [[(edge.label or TRUE, state(edge)) for edge in rows[source]] for source in sources]
    dead = len(edges)
    table = table_from_edges(reader.propositions, [*edges, []], default=dead)
    return minimise(table, 0, range(2, dead, 2))


def _rows(reader: HoaReader) -> list[list[_MissionEdge]]:
    """Return the edges of every state, with marks resolved."""
    every = reader.acceptance == ["0", "t"]
    if not every and reader.acceptance not in (["0", "f"], ["1", "Inf", "(", "0", ")"]):
        raise UnsupportedMissionError(
            f"HOA: the acceptance '{' '.join(reader.acceptance)}' is not read as a mission, only Büchi "
            "(1 Inf(0)), t and f; Spot's autfilt --deterministic --buchi converts where that is possible"
        )
    if len(reader.starts) > 1:
        raise MissionError("HOA: a deterministic automaton has one start state")
    return [
        [
            _MissionEdge(
                edge.label,
                edge.target,
                every or 0 in edge.marks or 0 in reader.marks(edge.target),
            )
            for edge in row
        ]
        for row in reader.rows()
    ]


def _as_mission(
    propositions: Sequence[str], rows: Sequence[Sequence[_MissionEdge]], start: int, words: str
) -> RewardMachine:
    """Turn marked edges into rewards: at the end of a finite trace, or each time without end."""
    successors = [[edge.target for edge in row if edge.label is not FALSE] for row in rows]
    found_cycles = cycles(successors)
    marks = [
        {edge.marked for state in cycle for edge in rows[state] if edge.target in cycle}
        for cycle in found_cycles
    ]
    endless = words != "finite" and any(len(mark) > 1 for mark in marks)
    marked_cycles = frozenset(
        state
        for cycle, mark in zip(found_cycles, marks, strict=True)
        if mark == {True}
        for state in cycle
    )

    def accepted(edge: _MissionEdge) -> bool:
        return edge.marked if words == "finite" or endless else edge.target in marked_cycles

    def following(state: int) -> list[int]:
        return [edge.target for edge in rows[state] if endless or not accepted(edge)]

    kept = reachable(start, following)
    number = {state: index for index, state in enumerate(kept)}
    end = len(kept)
    edges: list[list[tuple[Formula, Outcome]]] = []
    for state in kept:
        edges.append([])
        for edge in rows[state]:
            target = end if accepted(edge) and not endless else number[edge.target]
            edges[-1].append((edge.label or TRUE, Outcome(target, float(accepted(edge)))))
    any_accepted = any(outcome.reward > 0 for row in edges for _, outcome in row)
    has_end = any_accepted and not endless
    if has_end:
        edges.append([])
    ended = {edge.target for row in rows for edge in row if accepted(edge)}
    after = [[(edge.label or TRUE, int(accepted(edge))) for edge in rows[state]] for state in ended]
    kept_accepting = table_from_edges(propositions, after, default=0)
    stays = all(kept_accepting.outcomes(state) == [1] for state in range(len(after)))
    return from_edges(
        propositions,
        edges,
        terminal=[end] if has_end else [],
        endless=endless,
        co_safe=has_end and stays,
    )
