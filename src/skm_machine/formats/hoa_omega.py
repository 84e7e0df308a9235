"""HOA automata on infinite traces as they are: nondeterministic ones too, with any acceptance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skm_machine.automata.bdd import ONE, ZERO, Diagrams
from skm_machine.automata.decision import DecisionTable
from skm_machine.automata.omega import Condition, Move, OmegaAutomaton
from skm_machine.errors import MissionError, UnsupportedMissionError
from skm_machine.formats.hoa_reader import HoaEdge, HoaReader
from skm_machine.logic.syntax import TRUE, Formula

MAX_CONDITIONS: Final = 1000
"""Acceptance conditions that are longer, written as a disjunction of conjunctions, are refused."""


def read_hoa_omega(text: str) -> OmegaAutomaton:
    """Return the automaton on infinite traces that the HOA file in `text` describes."""
    reader = HoaReader(text)
    rows = reader.rows()
    for state, row in enumerate(rows):  # marks of a state are those of all edges from it
        for edge in row:
            edge.marks |= reader.marks(state)
    jumps: tuple[tuple[int, ...], ...] = ()
    initial = reader.starts[0]
    if len(reader.starts) > 1:
        jumps = (*(() for _ in rows), tuple(reader.starts))
        initial = len(rows)
        rows.append([])
    acceptance = _Acceptance(reader.acceptance).conditions()
    table, outcomes = _table(reader.propositions, rows)
    return OmegaAutomaton(table, outcomes, initial, jumps, acceptance)


def _table(
    propositions: Sequence[str], rows: Sequence[Sequence[HoaEdge]]
) -> tuple[DecisionTable, tuple[tuple[Move, ...], ...]]:
    """Return, for each state and label set, the moves that can be made."""
    diagrams = Diagrams()
    number = {name: index for index, name in enumerate(propositions)}

    def atom(formula: Formula) -> int:
        return diagrams.literal(number[formula.name])

    outcomes: dict[tuple[Move, ...], int] = {}
    roots = []
    for row in rows:
        parts: dict[frozenset[Move], int] = {frozenset(): ONE}
        for edge in row:
            label = diagrams.of_formula(edge.label or TRUE, atom)
            finer: dict[frozenset[Move], int] = {}
            for moves, part in parts.items():
                for more, piece in (
                    (moves, diagrams.conjunction(part, diagrams.negation(label))),
                    (moves | {Move(edge.target, edge.marks)}, diagrams.conjunction(part, label)),
                ):
                    if piece != ZERO:
                        finer[more] = diagrams.disjunction(finer.get(more, ZERO), piece)
            parts = finer
        root = ZERO
        for moves, part in parts.items():
            name = tuple(sorted(moves, key=lambda move: (move.target, sorted(move.marks))))
            leaf = diagrams.leaf(outcomes.setdefault(name, len(outcomes)))
            root = leaf if root == ZERO else diagrams.if_then_else(part, leaf, root)
        roots.append(root)
    return DecisionTable(tuple(propositions), diagrams, tuple(roots)), tuple(outcomes)


class _Acceptance:
    """A reader of acceptance conditions: `2 Fin(0) & Inf(1)`."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.text = " ".join(tokens)
        self.tokens = list(tokens[1:])

    def conditions(self) -> tuple[Condition, ...]:
        """Return the condition as a disjunction of conjunctions."""
        found = self._disjunction()
        if self.tokens:
            raise self._error()
        return tuple(found)

    def _disjunction(self) -> list[Condition]:
        found = self._conjunction()
        while self.tokens and self.tokens[0] == "|":
            self.tokens.pop(0)
            found = list(dict.fromkeys([*found, *self._conjunction()]))
        return found

    def _conjunction(self) -> list[Condition]:
        found = self._atom()
        while self.tokens and self.tokens[0] == "&":
            self.tokens.pop(0)
            other = self._atom()
            pairs = [Condition(a.fin | b.fin, a.inf | b.inf) for a in found for b in other]
            found = [pair for pair in dict.fromkeys(pairs) if not pair.fin & pair.inf]
            if len(found) > MAX_CONDITIONS:
                raise UnsupportedMissionError(f"HOA: the acceptance '{self.text}' is too long")
        return found

    def _atom(self) -> list[Condition]:
        match self.tokens:
            case ["t", *rest]:
                found = [Condition(frozenset(), frozenset())]
            case ["f", *rest]:
                found = []
            case ["Inf", "(", mark, ")", *rest] if mark.isdigit():
                found = [Condition(frozenset(), frozenset({int(mark)}))]
            case ["Fin", "(", mark, ")", *rest] if mark.isdigit():
                found = [Condition(frozenset({int(mark)}), frozenset())]
            case ["(", *inner]:
                self.tokens = inner
                found = self._disjunction()
                if not self.tokens or self.tokens[0] != ")":
                    raise self._error()
                rest = self.tokens[1:]
            case _:
                raise self._error()
        self.tokens = rest
        return found

    def _error(self) -> MissionError:
        return MissionError(
            f"HOA: cannot read the acceptance '{self.text}'; it is made of Inf(n), Fin(n), &, |, t and f"
        )
