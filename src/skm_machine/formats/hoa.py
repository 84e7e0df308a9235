"""Automata in the Hanoi Omega-Automata format, version 1: reading and writing.

Read are deterministic automata with Büchi acceptance (`Inf(0)`), `t` or `f`, marked on states or on
edges, with labels on edges, on states, or implicit, and with aliases. How an automaton is taken as a
mission:
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

from skm_machine.automata.automaton import Automaton
from skm_machine.automata.decision import table_from_edges
from skm_machine.automata.minimise import minimise
from skm_machine.automata.reachability import cycles, reachable
from skm_machine.errors import MissionError, NondeterministicError, UnsupportedMissionError
from skm_machine.logic.syntax import (
    FALSE,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    negation,
    proposition,
)
from skm_machine.reward_machine import Outcome, RewardMachine, from_edges

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
class _HoaEdge:
    label: Formula | None
    target: int
    marked: bool
    """Whether taking the edge is an accepting visit: by a mark of its own or of the state it enters."""


@dataclass
class _HoaState:
    label: Formula | None = None
    marked: bool = False
    edges: list[_HoaEdge] = field(default_factory=list)


def read_hoa(text: str) -> RewardMachine:
    """Return the reward machine of the HOA automaton in `text`."""
    reader = _Reader(text)
    try:
        return _as_mission(reader.propositions, reader.rows(), reader.start, reader.words)
    except NondeterministicError as error:
        raise UnsupportedMissionError(
            f"HOA: {error}; Spot's autfilt --deterministic may help"
        ) from error


def read_hoa_automaton(text: str) -> Automaton:
    """Return the minimal automaton of the finite traces that end on a mark of the HOA automaton.

    Its states are a fresh initial one, since no empty trace is accepted, and each state of the file
    twice: entered with a mark (even numbers), and without.
    """
    reader = _Reader(text)
    rows = reader.rows()

    def state(edge: _HoaEdge) -> int:
        return 1 + 2 * edge.target + edge.marked

    sources = [reader.start, *(source for source in range(len(rows)) for _ in (False, True))]
    edges = [[(edge.label or TRUE, state(edge)) for edge in rows[source]] for source in sources]
    dead = len(edges)
    table = table_from_edges(reader.propositions, [*edges, []], default=dead)
    return minimise(table, 0, range(2, dead, 2))


class _Reader:
    """A recursive-descent reader over the tokens of one file."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokenise())
        self.index = 0
        self.propositions: list[str] = []
        self.aliases: dict[str, Formula] = {}
        self.states: dict[int, _HoaState] = {}
        self.start = -1
        self.num_states: int | None = None
        self.acceptance = ""
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
        if self.start < 0:
            raise self._error("there is no 'Start:' state")

    def _header(self, name: str) -> None:
        match name:
            case "States:":
                self.num_states = int(self._next("number"))
            case "Start:":
                if self.start >= 0:
                    raise self._error("a deterministic automaton has one start state")
                self.start = self._target()
            case "AP:":
                count = int(self._next("number"))
                self.propositions = [self._string() for _ in range(count)]
            case "Alias:":
                alias = self._next("word")
                self.aliases[alias] = self._label()
            case "Acceptance:":
                self.acceptance = " ".join(self._rest())
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
        state = self.states[number] = _HoaState(label, self._marks())
        while self._peek()[0] not in ("header", "section", "end"):
            edge_label = self._bracketed_label()
            state.edges.append(_HoaEdge(edge_label, self._target(), self._marks()))

    def _target(self) -> int:
        target = int(self._next("number"))
        if self._peek()[1] == "&":
            raise self._error("alternating automata (several targets with '&') are not read")
        return target

    def _marks(self) -> bool:
        if self._peek()[1] != "{":
            return False
        self._next()
        sets = []
        while self._peek()[1] != "}":
            sets.append(self._next("number"))
        self._next()
        return "0" in sets

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

    def rows(self) -> list[list[_HoaEdge]]:
        """Return the edges of every state, with labels and marks resolved."""
        found = {edge.target for state in self.states.values() for edge in state.edges}
        count = 1 + max(self.start, *self.states, *found, -1)
        if self.num_states is not None and count > self.num_states:
            raise self._error(f"there is a state {count - 1}, but only {self.num_states} states")
        return [self._edges(self.states.get(number, _HoaState())) for number in range(count)]

    def _edges(self, state: _HoaState) -> list[_HoaEdge]:
        """Return the edges of a state with labels and marks resolved."""
        every = self.acceptance.split() == ["0", "t"]
        if not every and self.acceptance.split() not in (["0", "f"], ["1", "Inf", "(", "0", ")"]):
            raise UnsupportedMissionError(
                f"HOA: the acceptance '{self.acceptance}' is not read, only Büchi (1 Inf(0)), t and f; "
                "Spot's autfilt --deterministic --buchi converts where that is possible"
            )
        implicit = [edge.label is None and state.label is None for edge in state.edges]
        if any(implicit) and len(state.edges) != 1 << len(self.propositions):
            raise self._error("edges without labels must be as many as there are label sets")
        return [
            _HoaEdge(
                self._implicit_label(index) if implicit[index] else edge.label or state.label,
                edge.target,
                every or edge.marked or self.states.get(edge.target, _HoaState()).marked,
            )
            for index, edge in enumerate(state.edges)
        ]

    def _implicit_label(self, index: int) -> Formula:
        literals = (
            proposition(name) if index >> bit & 1 else negation(proposition(name))
            for bit, name in enumerate(self.propositions)
        )
        return conjunction(*literals)


def _as_mission(
    propositions: Sequence[str], rows: Sequence[Sequence[_HoaEdge]], start: int, words: str
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

    def accepted(edge: _HoaEdge) -> bool:
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
