"""HOA automata as missions.

How a deterministic automaton with Büchi acceptance (`Inf(0)`), `t` or `f` is taken as a mission:
- with the header `skm.words: finite`, which skm writes, marks end finite traces;
- a *weak* automaton (no cycle mixes marked and unmarked edges: `F a`, `F a & G !b`) succeeds on
  entering a marked cycle: the mission ends there, as in the paper;
- any other (`G F a`) has no end, and its marked edges are counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from skm_machine.automata.dfa import Automaton, minimise
from skm_machine.automata.graphs import cycles, reachable
from skm_machine.automata.mtbdd import ONE, ZERO, DecisionTable, Diagrams, table_from_edges
from skm_machine.automata.omega import Condition, Move, OmegaAutomaton
from skm_machine.errors import MissionError, NondeterministicError, UnsupportedMissionError
from skm_machine.logic.formula import (
    FALSE,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    negation,
    proposition,
)
from skm_machine.reward_machine import Outcome, RewardMachine, from_edges

# The reader of the Hanoi Omega-Automata format, version 1: from text to states and labelled
# edges.
#
# Read are labels on edges, on states, or implicit, aliases, and marks of any acceptance
# condition, on states or on edges; not read are alternating automata. What the automaton means is
# for others to say.


_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/)
      | (?P<section>--[A-Z]+--)
      | (?P<header>[A-Za-z_][\w.-]*:)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>\d+)
      | (?P<word>@?[A-Za-z_][\w.-]*)
      | (?P<symbol>[\[\]{}()&|!])""",
    re.VERBOSE | re.DOTALL,
)
MAX_LABEL_DEPTH: Final = 100
_IGNORED_CAPITALS: Final = frozenset({"HOA:", "States:", "Start:", "AP:", "Alias:", "Acceptance:"})


@dataclass
class HoaEdge:
    """An edge as written, or with its label resolved."""

    label: Formula | None
    target: int
    marks: frozenset[int]


@dataclass
class HoaState:
    """A state as written."""

    label: Formula | None = None
    marks: frozenset[int] = frozenset()
    edges: list[HoaEdge] = field(default_factory=list)


class HoaReader:
    """A recursive-descent reader over the tokens of one file; `rows` has what it says."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokenise())
        self.index = 0
        self.propositions: list[str] = []
        self.aliases: dict[str, Formula] = {}
        self.states: dict[int, HoaState] = {}
        self.starts: list[int] = []
        self.num_states: int | None = None
        self.acceptance: list[str] = []
        self.words = ""
        self._read()

    # Tokens -----------------------------------------------------------------------------------------

    def _tokenise(self) -> list[tuple[str, str, int]]:
        tokens, position = [], 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise MissionError(
                    f"unexpected character {self.text[position]!r} in the HOA file",
                    self.text,
                    position,
                )
            if match.lastgroup != "space":
                tokens.append((str(match.lastgroup), match.group(), position))
            position = match.end()
        return [*tokens, ("end", "the end of the file", len(self.text))]

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.index][:2]

    def _next(self, kind: str | None = None, text: str | None = None) -> str:
        found_kind, found, _ = self.tokens[self.index]
        if (kind and found_kind != kind) or (text and found != text):
            raise self._error(f"expected {text or 'a ' + str(kind)}, found '{found}'")
        self.index += 1
        return found

    def _error(self, message: str) -> MissionError:
        return MissionError(f"HOA: {message}", self.text, self.tokens[self.index][2])

    # Header -----------------------------------------------------------------------------------------

    def _read(self) -> None:
        self._next("header", "HOA:")
        if self._next("word") != "v1":
            raise self._error("only version v1 of the format is read")
        while self._peek()[0] != "section":
            self._header(self._next("header"))
        self._next("section", "--BODY--")
        while self._peek()[1] == "State:":
            self._state()
        self._next("section", "--END--")
        if not self.starts:
            raise self._error("there is no 'Start:' state")

    def _header(self, name: str) -> None:
        match name:
            case "States:":
                self.num_states = int(self._next("number"))
            case "Start:":
                self.starts.append(self._target())
            case "AP:":
                count = int(self._next("number"))
                self.propositions = [self._string() for _ in range(count)]
            case "Alias:":
                alias = self._next("word")
                self.aliases[alias] = self._label()
            case "Acceptance:":
                self.acceptance = self._rest()
            case "skm.words:":
                self.words = self._next("word")
            case _ if name[0].isupper() and name not in _IGNORED_CAPITALS:
                raise self._error(f"the header '{name}' must be understood, and is not")
            case _:
                self._rest()

    def _rest(self) -> list[str]:
        values = []
        while self._peek()[0] not in ("header", "section", "end"):
            values.append(self._next())
        return values

    def _string(self) -> str:
        return re.sub(r"\\(.)", r"\1", self._next("string")[1:-1])

    # Body -------------------------------------------------------------------------------------------

    def _state(self) -> None:
        self._next("header", "State:")
        label = self._bracketed_label()
        number = int(self._next("number"))
        if self._peek()[0] == "string":
            self._next()
        state = self.states[number] = HoaState(label, self._marks())
        while self._peek()[0] not in ("header", "section", "end"):
            edge_label = self._bracketed_label()
            state.edges.append(HoaEdge(edge_label, self._target(), self._marks()))

    def _target(self) -> int:
        target = int(self._next("number"))
        if self._peek()[1] == "&":
            raise self._error("alternating automata (several targets with '&') are not read")
        return target

    def _marks(self) -> frozenset[int]:
        if self._peek()[1] != "{":
            return frozenset()
        self._next()
        sets = []
        while self._peek()[1] != "}":
            sets.append(int(self._next("number")))
        self._next()
        return frozenset(sets)

    def _bracketed_label(self) -> Formula | None:
        if self._peek()[1] != "[":
            return None
        self._next()
        label = self._label()
        self._next("symbol", "]")
        return label

    def _label(self, depth: int = 0) -> Formula:
        """Read a label: disjunctions of conjunctions of literals, with parentheses."""
        parts = [self._conjunction(depth)]
        while self._peek()[1] == "|":
            self._next()
            parts.append(self._conjunction(depth))
        return disjunction(*parts)

    def _conjunction(self, depth: int) -> Formula:
        parts = [self._literal(depth)]
        while self._peek()[1] == "&":
            self._next()
            parts.append(self._literal(depth))
        return conjunction(*parts)

    def _literal(self, depth: int) -> Formula:
        kind, text = self._peek()
        if depth > MAX_LABEL_DEPTH:
            raise self._error(f"a label nested more than {MAX_LABEL_DEPTH} deep")
        if text == "!":
            self._next()
            return negation(self._literal(depth + 1))
        if text == "(":
            self._next()
            label = self._label(depth + 1)
            self._next("symbol", ")")
            return label
        if kind == "number":
            if int(text) >= len(self.propositions):
                raise self._error(f"proposition {text} of {len(self.propositions)}: count from 0")
            return proposition(self.propositions[int(self._next())])
        if text in ("t", "f"):
            return TRUE if self._next() == "t" else FALSE
        if text in self.aliases:
            return self.aliases[self._next()]
        raise self._error(f"expected a label, found '{text}'")

    # Meaning ----------------------------------------------------------------------------------------

    def rows(self) -> list[list[HoaEdge]]:
        """Return the edges of every state, with their labels resolved, and their own marks."""
        found = {edge.target for state in self.states.values() for edge in state.edges}
        count = 1 + max(*self.starts, *self.states, *found, -1)
        if self.num_states is not None and count > self.num_states:
            raise self._error(f"there is a state {count - 1}, but only {self.num_states} states")
        return [self._edges(self.states.get(number, HoaState())) for number in range(count)]

    def marks(self, state: int) -> frozenset[int]:
        """Return the marks that are written on a state."""
        return self.states[state].marks if state in self.states else frozenset()

    def _edges(self, state: HoaState) -> list[HoaEdge]:
        implicit = [edge.label is None and state.label is None for edge in state.edges]
        if any(implicit) and len(state.edges) != 1 << len(self.propositions):
            raise self._error("edges without labels must be as many as there are label sets")
        return [
            HoaEdge(
                self._implicit_label(index) if implicit[index] else edge.label or state.label,
                edge.target,
                edge.marks,
            )
            for index, edge in enumerate(state.edges)
        ]

    def _implicit_label(self, index: int) -> Formula:
        literals = (
            proposition(name) if index >> bit & 1 else negation(proposition(name))
            for bit, name in enumerate(self.propositions)
        )
        return conjunction(*literals)


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


# HOA automata on infinite traces as they are: nondeterministic ones too, with any acceptance.


MAX_CONDITIONS: Final = 1000
"""Acceptance conditions that are longer, written as a disjunction of conjunctions, are refused."""


def read_hoa_omega(text: str) -> OmegaAutomaton:
    """Return the automaton on infinite traces that the HOA file in `text` describes."""
    reader = HoaReader(text)
    rows = reader.rows()
    for state, row in enumerate(rows):  # marks of a state are those of all edges from it
        for edge in row:
            edge.marks |= reader.marks(state)
    epsilon_transitions: tuple[tuple[int, ...], ...] = ()
    initial = reader.starts[0]
    if len(reader.starts) > 1:
        epsilon_transitions = (*(() for _ in rows), tuple(reader.starts))
        initial = len(rows)
        rows.append([])
    acceptance = _Acceptance(reader.acceptance).conditions()
    table, outcomes = _table(reader.propositions, rows)
    return OmegaAutomaton(table, outcomes, initial, epsilon_transitions, acceptance)


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
