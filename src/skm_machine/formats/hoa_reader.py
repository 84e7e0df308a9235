"""The reader of the Hanoi Omega-Automata format, version 1: from text to states and labelled edges.

Read are labels on edges, on states, or implicit, aliases, and marks of any acceptance condition, on
states or on edges; not read are alternating automata. What the automaton means is for others to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from skm_machine.errors import MissionError
from skm_machine.logic.syntax import (
    FALSE,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    negation,
    proposition,
)

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
