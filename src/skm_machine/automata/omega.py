"""Automata on infinite traces: deterministic, limit-deterministic, or as other tools write them.

A limit-deterministic Büchi automaton reads deterministically but for *ε-transitions*: moves that read
nothing, each of which commits the run to something about the rest of the trace. After that there is
nothing left to choose.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from skm_machine.automata.graphs import cyclic_components, reachable
from skm_machine.automata.hoa_text import hoa_header, hoa_label
from skm_machine.automata.mtbdd import DecisionTable
from skm_machine.logic.formula import Formula

Trace = Sequence[Collection[str]]


class Move(NamedTuple):
    """Where a step leads, and the acceptance marks that it carries."""

    target: int
    marks: frozenset[int] = frozenset()


class Condition(NamedTuple):
    """Marks that must be seen finitely often (`fin`) and infinitely often (`inf`)."""

    fin: frozenset[int]
    inf: frozenset[int]


BUCHI: Final = (Condition(frozenset(), frozenset({0})),)
"""Mark 0 again and again."""

MARK: Final = frozenset({0})


@dataclass(frozen=True)
class OmegaEdge:
    """An edge: from `source` to `target` on every label set that satisfies the Boolean `label`."""

    source: int
    target: int
    label: Formula
    marks: frozenset[int]


@dataclass(frozen=True, eq=False)
class OmegaAutomaton:
    """An automaton on infinite traces. A trace is accepted if some run of it is."""

    table: DecisionTable
    """For each state and label set, an index into `outcomes`."""

    outcomes: tuple[tuple[Move, ...], ...]
    """What a step may do: one move in a deterministic automaton, none where the run ends."""

    initial: int = 0
    """The state that every trace begins in."""
    epsilon_transitions: tuple[tuple[int, ...], ...] = ()
    """For each state, the states that a run may go to without reading anything; () if there are none."""

    acceptance: tuple[Condition, ...] = BUCHI
    """A run is accepted if one of these conditions holds of it."""

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that the edges may read."""
        return self.table.propositions

    @property
    def num_states(self) -> int:
        """The number of states; where the automaton is deterministic, a dead one is among them."""
        return len(self.table)

    @cached_property
    def deterministic(self) -> bool:
        """Whether no trace has more than one run."""
        return not any(self.epsilon_transitions) and all(count <= 1 for count in self._choices)

    @cached_property
    def complete(self) -> bool:
        """Whether no run ever ends."""
        return 0 not in self._choices

    @property
    def _choices(self) -> set[int]:
        """The numbers of moves that some label set allows in some state."""
        return {len(self.outcomes[outcome]) for outcome in self.table.all_outcomes()}

    @cached_property
    def transitions(self) -> tuple[OmegaEdge, ...]:
        """All edges, by source and then by target; ε-transitions are not among them."""
        edges = []
        for source in range(self.num_states):
            found: dict[Move, list[int]] = {}
            for outcome in self.table.outcomes(source):
                for move in self.outcomes[outcome]:
                    found.setdefault(move, []).append(outcome)
            edges += [
                OmegaEdge(source, move.target, self.table.label(source, *found[move]), move.marks)
                for move in sorted(found, key=lambda move: (move.target, sorted(move.marks)))
            ]
        return tuple(edges)

    def moves(self, state: int, labels: Collection[str]) -> tuple[Move, ...]:
        """Return the moves from `state` on one label set."""
        return self.outcomes[self.table.outcome(state, labels)]

    def epsilon_transitions_from(self, state: int) -> tuple[int, ...]:
        """Return the states that a run may go to from `state` without reading anything."""
        return self.epsilon_transitions[state] if self.epsilon_transitions else ()

    def accepts(self, prefix: Trace, loop: Trace) -> bool:
        """Tell whether prefix·loop^ω is accepted: has some run of it an accepting cycle?"""
        if not loop:
            raise ValueError("the loop of a lasso has at least one step")
        word = [*prefix, *loop]
        numbers = {(self.initial, 0): 0}
        nodes = [(self.initial, 0)]
        rows: list[list[Move]] = []
        for state, position in nodes:  # grows while it is walked
            later = position + 1 if position + 1 < len(word) else len(prefix)
            following = [
                (other, position, frozenset[int]())
                for other in self.epsilon_transitions_from(state)
            ]
            following += [
                (move.target, later, move.marks) for move in self.moves(state, word[position])
            ]
            row = []
            for target, there, marks in following:
                if (target, there) not in numbers:
                    numbers[target, there] = len(nodes)
                    nodes.append((target, there))
                row.append(Move(numbers[target, there], marks))
            rows.append(row)
        return any(_has_cycle(rows, condition) for condition in self.acceptance)

    def to_hoa(self, name: str = "") -> str:
        """Return the automaton as HOA text with marks on its edges.

        An ε-transition is written as the edges of where it leads to, as the format has no moves that
        read nothing.
        """
        number = {name: str(index) for index, name in enumerate(self.propositions)}
        kind = ["acc-name: Buchi"] if self.acceptance == BUCHI else []
        lines = hoa_header(
            name,
            self.num_states,
            self.initial,
            self.propositions,
            [*kind, f"Acceptance: {_acceptance_text(self.acceptance)}"],
            f"{'deterministic' * self.deterministic} {'complete' * self.complete}".strip(),
        )
        lines += ["skm.words: infinite", "--BODY--"]
        edges: list[list[str]] = [[] for _ in range(self.num_states)]
        for edge in self.transitions:
            marks = " ".join(map(str, sorted(edge.marks)))
            text = f"[{hoa_label(edge.label, number)}] {edge.target}"
            edges[edge.source].append(f"{text} {{{marks}}}" if marks else text)
        for state in range(self.num_states):
            lines.append(f"State: {state}")
            sources = reachable(state, self.epsilon_transitions_from)
            lines += dict.fromkeys(text for source in sources for text in edges[source])
        return "\n".join([*lines, "--END--", ""])


def _acceptance_text(acceptance: Sequence[Condition]) -> str:
    """Return an acceptance condition as HOA writes it, with the number of marks before it."""
    marks = {mark for condition in acceptance for mark in condition.fin | condition.inf}
    parts = [
        "&".join(
            [f"Fin({mark})" for mark in sorted(condition.fin)]
            + [f"Inf({mark})" for mark in sorted(condition.inf)]
        )
        or "t"
        for condition in acceptance
    ]
    text = " | ".join(parts if len(parts) < 2 else (f"({part})" for part in parts))
    return f"{1 + max(marks, default=-1)} {text or 'f'}"


def _has_cycle(rows: Sequence[Sequence[Move]], condition: Condition) -> bool:
    """Tell whether some cycle has no mark of `fin`, and all marks of `inf`."""
    kept = [[move for move in row if not move.marks & condition.fin] for row in rows]
    for cycle in cyclic_components([[move.target for move in row] for row in kept]):
        inside = set(cycle)
        marks = (move.marks for node in cycle for move in kept[node] if move.target in inside)
        if condition.inf <= frozenset().union(*marks):
            return True
    return False
