"""From a formula with bounds in seconds to an automaton with clocks.

As in `translation`, a state is a Boolean function over obligations. An operator with a bound in seconds
adds obligations with a *clock*, which runs since the operator was asked for: `waiting` until its window
opens, then `open` until the window closes. The automaton moves when a state of the world is entered, on
its labels, and when the clock of an obligation gets to an end of its window: a *tick*, a step that reads
a proposition of its own besides the labels that hold. So the automaton itself knows no time, and a bound
of an hour has as few states as one of a second.

Clocks of one operator have the same window, so they come to its ends in the order in which they were
started: a tick is always about the oldest that waits, or that is open. A state says how many clocks an
operator has; a move says which of them go on, and whether one is started. Of two open clocks the older
leaves less time, so that one of two obligations often follows from the other, and is dropped: `G(call ->
F[0s,60s] coffee)` has one clock, that of the oldest call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from skm_machine.automata.dfa import Automaton, minimise
from skm_machine.automata.limits import Limits, deep_diagrams_are_a_limit
from skm_machine.automata.ltlf import until_form
from skm_machine.automata.mtbdd import ONE, ZERO, DecisionTable, Diagrams
from skm_machine.errors import MissionError
from skm_machine.logic.formula import TIMED, TRUE, Formula, conjunction, disjunction, negation
from skm_machine.logic.normal_forms import DUALS
from skm_machine.logic.timed import Window, seconds_text, window_of

MOST_CLOCKS: Final = 6
"""An operator that could have more clocks at once is refused."""
NEW: Final = -1
"""The clock that a move starts, before it has a number."""


class Tick(NamedTuple):
    """A step that the clock brings about."""

    name: str
    """The proposition that says so."""
    operator: int
    kind: str
    """`opens`: its window opens, in the state that lasts. `opens as entered`: the same just when
    another state is entered, which is the one that counts. `closes`: its window is over."""


@dataclass(frozen=True, eq=False)
class ClockTable:
    """What the clocks do at each move of the automaton, before equal states were merged."""

    windows: tuple[Window, ...]
    """Of each operator with a bound in seconds."""
    texts: tuple[str, ...]
    """The operators as they are written."""
    ticks: tuple[Tick, ...]
    table: DecisionTable
    """For each state and label set, an index into `moves`."""
    moves: tuple[tuple[int, tuple[tuple[int, ...], ...]], ...]
    """The next state, and for each operator the clocks that go on, in order; `NEW` starts."""
    open: tuple[tuple[tuple[bool, ...], ...], ...]
    """For each state and operator: whether the window of each of its clocks is open, oldest first."""
    repeats: bool = False
    """Whether the mission starts over each time it succeeds: then all its clocks do."""

    @property
    def names(self) -> tuple[str, ...]:
        """The propositions of the ticks."""
        return tuple(tick.name for tick in self.ticks)


@dataclass(frozen=True, eq=False)
class TimedAutomaton:
    """The minimal automaton over labels and ticks, and the clocks that say when ticks come."""

    automaton: Automaton
    clocks: ClockTable


def timed_automaton(
    formula: Formula, limits: Limits, reserved: Sequence[str] = ()
) -> TimedAutomaton:
    """Return the automaton of the timed traces that satisfy `formula`: see `skm_machine.logic.timed`.

    Ticks get names that are no proposition of the formula and not `reserved`.
    """
    with deep_diagrams_are_a_limit():
        return _Translation(formula, limits, reserved).result()


def positive_form(formula: Formula) -> Formula:
    """Return `formula` with no negation above an operator with a bound in seconds, on finite traces."""
    forms: dict[tuple[Formula, bool], Formula] = {}
    for sub in formula.subformulas():
        for sign in (True, False):
            forms[sub, sign] = _signed(sub, sign, forms)
    return forms[formula, True]


def _signed(formula: Formula, sign: bool, forms: dict[tuple[Formula, bool], Formula]) -> Formula:
    operands = formula.operands
    match formula.operator:
        case "prop" | "true" | "false":
            return formula if sign else negation(formula)
        case "!":
            return forms[operands[0], not sign]
        case "&" | "|" as operator:
            join = conjunction if (operator == "&") == sign else disjunction
            return join(*(forms[operand, sign] for operand in operands))
        case "->":
            join = disjunction if sign else conjunction
            return join(forms[operands[0], not sign], forms[operands[1], sign])
        case "<->" | "xor" as operator:
            same = (operator == "<->") == sign
            left, right = operands
            return disjunction(
                conjunction(forms[left, True], forms[right, same]),
                conjunction(forms[left, False], forms[right, not same]),
            )
        case "X":
            following = Formula("X", (forms[operands[0], sign],))
            return following if sign else disjunction(negation(Formula("X", (TRUE,))), following)
        case operator:
            dual = operator if sign else DUALS[operator]
            return Formula(dual, tuple(forms[o, sign] for o in operands), formula.name)


class _Clock(NamedTuple):
    """An obligation with a clock; number 0 is the oldest of its operator."""

    operator: int
    number: int
    open: bool


class _Operator(NamedTuple):
    """An operator with a bound in seconds."""

    kind: str
    left: Formula
    right: Formula
    window: Window
    text: str
    plain: Formula
    """The operator without its bound: what is left of it when a window without an end has opened."""


class _Translation:
    """The work of one translation: diagrams, obligations, and the states found so far."""

    def __init__(self, formula: Formula, limits: Limits, reserved: Sequence[str]) -> None:
        self.limits = limits
        self.formula = until_form(positive_form(formula))
        self.numbers: dict[Formula, int] = {}
        self.operators: list[_Operator] = []
        for sub in self.formula.subformulas():
            if sub.operator in TIMED:
                self.numbers[sub] = len(self.operators)
                self.operators.append(_operator(sub))
        own = formula.propositions()
        self.ticks = _ticks(self.operators, {*own, *reserved})
        self.names = (*own, *(tick.name for tick in self.ticks))
        self.diagrams = Diagrams(limits.check)
        self.place = {name: index for index, name in enumerate(self.names)}
        self.obligations: dict[Formula | _Clock, int] = {}
        self.meaning: list[Formula | _Clock] = []
        self.expansions: dict[Formula, int] = {}

    def result(self) -> TimedAutomaton:
        """Explore the states from the initial one, then merge those that accept the same."""
        initial, _ = self._canonical(self._initial())
        states: dict[int, int] = {initial: 0}
        moves: dict[tuple[int, tuple[tuple[int, ...], ...]], int] = {}
        diagrams, roots = Diagrams(), []
        queue = [initial]
        for state in queue:  # grows while it is walked
            root = self._successor(state)
            memo: dict[int, int] = {}

            def leaf(node: int) -> int | None:
                if self.diagrams.variable[node] < len(self.names):
                    return None
                target, kept = self._canonical(node)
                if target not in states:
                    states[target] = len(states)
                    queue.append(target)
                    self.limits.check(len(states))
                return diagrams.leaf(moves.setdefault((states[target], kept), len(moves)))

            roots.append(self.diagrams.rebuild(root, diagrams, leaf, memo))
        table = DecisionTable(self.names, diagrams, tuple(roots))
        found = tuple(moves)
        plain = table.mapped(range(len(table)), lambda move: found[move][0])
        accepting = [index for state, index in states.items() if self._ends(state)]
        clocks = ClockTable(
            tuple(operator.window for operator in self.operators),
            tuple(operator.text for operator in self.operators),
            self.ticks,
            table,
            found,
            tuple(self._open(state) for state in states),
        )
        return TimedAutomaton(minimise(plain, 0, accepting), clocks)

    # Obligations

    def _initial(self) -> int:
        """Return the first state: the clocks of what stands alone run since the mission began."""

        def begun(formula: Formula) -> int:
            if formula.operator in TIMED:
                number = self.numbers[formula]
                opened = self.operators[number].window.first == 0
                return self._obligation(_Clock(number, NEW, opened))
            if formula.operator in ("&", "|"):
                join = (
                    self.diagrams.conjunction
                    if formula.operator == "&"
                    else self.diagrams.disjunction
                )
                found = begun(formula.operands[0])
                for operand in formula.operands[1:]:
                    found = join(found, begun(operand))
                return found
            return self._obligation(formula)

        return begun(self.formula)

    def _obligation(self, what: Formula | _Clock) -> int:
        """Return the variable of an obligation: from the next state on, or as long as a clock says."""
        if what not in self.obligations:
            self.obligations[what] = len(self.names) + len(self.obligations)
            self.meaning.append(what)
        return self.diagrams.literal(self.obligations[what])

    def _expansion(self, formula: Formula) -> int:
        """Return what `formula` asks of the state that was entered and, as obligations, of later."""
        return self.diagrams.expanded(formula, self.expansions, self._atom)

    def _atom(self, formula: Formula) -> int:
        diagrams = self.diagrams
        operands = [self.expansions[operand] for operand in formula.operands]
        match formula.operator:
            case "prop":
                return diagrams.literal(self.place[formula.name])
            case "X":
                return self._obligation(formula.operands[0])
            case "F":
                return diagrams.disjunction(operands[0], self._obligation(formula))
            case "U":
                waiting = diagrams.conjunction(operands[0], self._obligation(formula))
                return diagrams.disjunction(operands[1], waiting)
            case _:
                number = self.numbers[formula]
                opened = self.operators[number].window.first == 0
                return self._asked(_Clock(number, NEW, opened))

    def _asked(self, clock: _Clock) -> int:
        """Return what an obligation with a clock asks at an instant."""
        diagrams, operator = self.diagrams, self.operators[clock.operator]
        both, either = diagrams.conjunction, diagrams.disjunction
        if clock.open and operator.window.last is None:
            return self._expansion(operator.plain)
        later = self._obligation(clock)
        left, right = self._expansion(operator.left), self._expansion(operator.right)
        match operator.kind, clock.open:
            case "F", True:
                return either(right, later)
            case "G", True:
                return both(right, later)
            case "U" | "W", True:
                return either(right, both(left, later))
            case "R" | "M", True:
                return both(right, either(left, later))
            case "U" | "W", False:
                return both(left, later)
            case "R" | "M", False:
                return either(left, later)
            case _:
                return later

    # Moves

    def _successor(self, state: int) -> int:
        """Return what `state` comes to: on a tick, or else on entering a state of the world."""

        def entered(what: Formula | _Clock) -> int:
            return self._asked(what) if isinstance(what, _Clock) else self._expansion(what)

        found = self._replaced(state, entered)
        present = self._open(state)
        for tick in self.ticks:
            opened = present[tick.operator]
            clock = _Clock(tick.operator, opened.index(False), False) if False in opened else None
            if tick.kind == "closes":
                clock = _Clock(tick.operator, 0, True) if True in opened else None
            reached = state if clock is None else self._replaced(state, self._ticking(tick, clock))
            test = self.diagrams.literal(self.place[tick.name])
            found = self.diagrams.if_then_else(test, reached, found)
        return found

    def _ticking(self, tick: Tick, clock: _Clock) -> Callable[[Formula | _Clock], int]:
        def ticked(what: Formula | _Clock) -> int:
            if what != clock:
                return self._obligation(what)
            if tick.kind == "closes":
                return ONE if self.operators[clock.operator].kind in ("G", "R", "W") else ZERO
            opened = clock._replace(open=True)
            if tick.kind == "opens":
                return self._asked(opened)
            if self.operators[clock.operator].window.last is None:
                return self._obligation(self.operators[clock.operator].plain)
            return self._obligation(opened)

        return ticked

    def _replaced(self, state: int, by: Callable[[Formula | _Clock], int]) -> int:
        """Return the function `state` with every obligation replaced."""
        memo: dict[int, int] = {ZERO: ZERO, ONE: ONE}
        diagrams = self.diagrams

        def replaced(node: int) -> int:
            if node not in memo:
                what = self.meaning[diagrams.variable[node] - len(self.names)]
                high, low = replaced(diagrams.high[node]), replaced(diagrams.low[node])
                memo[node] = diagrams.if_then_else(by(what), high, low)
            return memo[node]

        return replaced(state)

    # States

    def _support(self, state: int) -> list[Formula | _Clock]:
        seen, stack, found = set[int](), [state], dict[int, None]()
        while stack:
            node = stack.pop()
            if node > ONE and node not in seen:
                seen.add(node)
                found[self.diagrams.variable[node]] = None
                stack += (self.diagrams.low[node], self.diagrams.high[node])
        return [self.meaning[variable - len(self.names)] for variable in sorted(found)]

    def _clocks(self, state: int) -> list[list[_Clock]]:
        """Return the clocks of each operator, the oldest first."""
        found: list[list[_Clock]] = [[] for _ in self.operators]
        for what in self._support(state):
            if isinstance(what, _Clock):
                found[what.operator].append(what)
        for clocks in found:
            clocks.sort(key=lambda clock: (clock.number == NEW, clock.number))
        return found

    def _open(self, state: int) -> tuple[tuple[bool, ...], ...]:
        return tuple(tuple(clock.open for clock in clocks) for clocks in self._clocks(state))

    def _canonical(self, state: int) -> tuple[int, tuple[tuple[int, ...], ...]]:
        """Return a state with its clocks numbered from 0, without those that follow from others.

        And which clocks these are, for each operator.
        """
        state = self._without_what_follows(state)
        number: dict[Formula | _Clock, _Clock] = {}
        kept = []
        for operator, clocks in zip(self.operators, self._clocks(state), strict=True):
            if len(clocks) > MOST_CLOCKS:
                raise MissionError(_too_many(operator))
            kept.append(tuple(clock.number for clock in clocks))
            number.update(
                (clock, clock._replace(number=index)) for index, clock in enumerate(clocks)
            )
        renamed = self._replaced(state, lambda what: self._obligation(number.get(what, what)))
        return renamed, tuple(kept)

    def _without_what_follows(self, state: int) -> int:
        """Return a state without obligations that others decide, of the same operator and both open.

        Of two windows that are open the older closes first: what F, U and M of it ask for, that of the
        younger one then has; what G, R and W of the younger ask for, the older has.
        """
        again = True
        while again:
            again = False
            for operator, clocks in zip(self.operators, self._clocks(state), strict=True):
                opened = [clock for clock in clocks if clock.open]
                pairs = [(a, b) for i, a in enumerate(opened) for b in opened[i + 1 :]]
                for older, younger in pairs:
                    stronger, weaker = older, younger
                    if operator.kind in ("G", "R", "W"):
                        stronger, weaker = younger, older
                    shorter = self._one_of(state, stronger, weaker)
                    if shorter is not None:
                        state, again = shorter, True
                        break
                if again:
                    break
        return state

    def _one_of(self, state: int, stronger: _Clock, weaker: _Clock) -> int | None:
        """Return `state` with one of two obligations only, the stronger of which implies the other."""

        def given(first: int, second: int) -> int:
            values = {stronger: first, weaker: second}
            return self._replaced(state, lambda what: _value(values, what, self._obligation))

        neither, one, two = given(ZERO, ZERO), given(ZERO, ONE), given(ONE, ONE)
        test = None
        if neither == one:
            test = stronger
        elif one == two:
            test = weaker
        if test is None:
            return None
        return self.diagrams.if_then_else(self._obligation(test), two, neither)

    def _ends(self, state: int) -> bool:
        """Tell whether a trace may end in `state`: is it true with every obligation false?"""
        while state > ONE:
            state = self.diagrams.low[state]
        return state == ONE


def _value(
    values: dict[_Clock, int], what: Formula | _Clock, other: Callable[[Formula | _Clock], int]
) -> int:
    return values[what] if isinstance(what, _Clock) and what in values else other(what)


def _operator(formula: Formula) -> _Operator:
    kind = TIMED[formula.operator]
    plain = until_form(Formula(kind, formula.operands))
    left, right = formula.operands[0], formula.operands[-1]
    return _Operator(kind, left, right, window_of(formula), str(formula), plain)


def _ticks(operators: Sequence[_Operator], taken: set[str]) -> tuple[Tick, ...]:
    """Return the ticks of each operator, with names that say what they are."""
    ticks = []
    for number, operator in enumerate(operators):
        window = operator.window
        wanted = [("opens", "after", window.first), ("opens as entered", "at", window.first)]
        if not window.first:
            wanted = []
        if window.last is not None:
            wanted.append(("closes", "after", window.last))
        for kind, word, time in wanted:
            plain = f"{word}_{seconds_text(time)}".replace(".", "_")
            name, count = plain, 2
            while name in taken:
                name, count = f"{plain}_{count}", count + 1
            taken.add(name)
            ticks.append(Tick(name, number, kind))
    return tuple(ticks)


def _too_many(operator: _Operator) -> str:
    first = seconds_text(operator.window.first)
    last = "" if operator.window.last is None else seconds_text(operator.window.last)
    if operator.window.first:
        return (
            f"'{operator.text}' begins {first} after it is asked for, and can be asked for again and"
            f" again before that: too many windows to tell apart. '{operator.kind}[0s,{last}]' takes"
            " one clock"
        )
    return (
        f"'{operator.text}' can be asked for again and again while it is pending, each time with"
        " another end: too many windows to tell apart. Leave out the bound around it, or write one of"
        " the two in steps"
    )
