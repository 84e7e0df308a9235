"""Missions in plain words: from words to a formula, and back."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple

from skm_machine.errors import MissionError, did_you_mean, nearest
from skm_machine.logic import patterns as formulas
from skm_machine.logic.bounds import BoundError, bounded, read_bound, written_with_bounds
from skm_machine.logic.formula import (
    TEMPORAL_BINARY,
    TRUE,
    Formula,
    conjunction,
    disjunction,
    negation,
    operator_prefix,
)
from skm_machine.logic.parser import parse
from skm_machine.logic.timed import Window, seconds_text, timed, window_of

# Plain words as tokens with their places in the text; which words have a meaning, and which
# begin.


BEGINNINGS: Final = (
    "visit",
    "patrol",
    "never",
    "avoid",
    "whenever",
    "exactly",
    "wait",
    "stay",
    "go",
)
"""The words that a clause begins with."""

JOINS: Final = {"and": "&", "or": "|", "not": "!"}
"""Words for the operators between propositions, which are understood as well."""

KEYWORDS: Final = frozenset(
    {
        *BEGINNINGS,
        *JOINS,
        "after",
        "any",
        "at",
        "be",
        "before",
        "do",
        "fairly",
        "in",
        "least",
        "most",
        "next",
        "once",
        "order",
        "sequence",
        "strict",
        "the",
        "then",
        "times",
        "to",
        "twice",
        "until",
        "when",
        "within",
    }
)
"""Words with a meaning; a proposition that is called so is written in quotes."""

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<word>\w+)
      | (?P<separator>[;,])
      | (?P<symbol>[()!~¬&∧|∨^⊕<>=→↔/\\-])""",
    re.VERBOSE,
)
_LIKE_A_BEGINNING: Final = 0.7


class Token(NamedTuple):
    """A piece of the text: a word with a meaning, a separator, a number, or part of a place."""

    kind: str
    """One of keyword, separator, number, end; or place, for what names places."""
    text: str
    position: int

    @property
    def end(self) -> int:
        """The position after the token."""
        return self.position + len(self.text)


def tokenise(text: str) -> list[Token]:
    """Return the tokens of `text`, with one at the end that is empty."""
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            character = text[position]
            problem = "this quote is never closed" if character == '"' else None
            raise MissionError(problem or f"unexpected character {character!r}", text, position)
        piece = match.group()
        if match.lastgroup == "word" and piece.lower() in KEYWORDS and piece not in JOINS:
            tokens.append(Token("keyword", piece.lower(), position))
        elif match.lastgroup in ("separator", "number"):
            tokens.append(Token(match.lastgroup, piece, position))
        elif match.lastgroup != "space":
            tokens.append(Token("place", piece, position))
        position = match.end()
    return [*tokens, Token("end", "", len(text))]


def looks_like_words(text: str, propositions: Collection[str] | None = None) -> bool:
    """Tell whether a text is meant as plain words: it begins with two words, the first as clauses do.

    No formula begins so: between two propositions there is an operator.
    """
    alone = text.strip().lower() in BEGINNINGS and text.strip() not in (propositions or ())
    match = re.match(r'\s*([^\W\d]\w*)\s+(?=([^\W\d]\w*)|["(!])', text)
    if match is None:
        return alone and propositions is not None
    first, second = match[1], match[2]
    if operator_prefix(first) == first or second in (*TEMPORAL_BINARY, "xor"):
        return False
    if propositions is not None and first in propositions and first.lower() not in BEGINNINGS:
        return False
    close = difflib.get_close_matches(first.lower(), BEGINNINGS, n=1, cutoff=_LIKE_A_BEGINNING)
    return bool(close)


# From plain words to a formula: a small grammar, read clause by clause, with errors that point.
#
# The grammar is printed in docs/reference/missions.md. Places are Boolean formulas of the one parser.


MAX_TIMES: Final = 100
MAX_PLACES: Final = 200
_MODES: Final = ("in any order", "in sequence", "in order", "in strict order", "fairly")
_CONTINUATIONS: Final = (
    "then",
    "in",
    "until",
    "after",
    "before",
    "within",
    "go to",
    "do",
    "fairly",
)
_VERBS: Final = ("go to", "do", "be at", "visit")
_UNITS: Final = {
    **dict.fromkeys(("step", "steps"), ""),
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("min", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
}


def read_words(
    text: str, propositions: Collection[str] | None = None, *, clock: bool = True
) -> Formula:
    """Return the formula that plain words say, or raise a `MissionError` that shows what is wrong."""
    return _Reader(text, propositions, clock).mission()


class _Reader:
    """Reads tokens from the left to the right; each method reads one part of the grammar."""

    def __init__(self, text: str, propositions: Collection[str] | None, clock: bool) -> None:
        self.text = text
        self.known = propositions
        self.clock = clock
        self.tokens = tokenise(text)
        self.index = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    # Clauses --------------------------------------------------------------------------------------

    def mission(self) -> Formula:
        """Clauses with semicolons between them."""
        conjuncts: list[Formula] = []
        while True:
            while self.token.text == ";":
                self.index += 1
            if self.token.kind == "end":
                break
            conjuncts += self._clause()
            if self.token.kind != "end" and self.token.text != ";":
                hint = _alike(self.token.text, _CONTINUATIONS)
                if self.token.text in ("once", "twice") or self.token.kind == "number":
                    hint = f", or 'exactly', 'at least' or 'at most' before '{self.token.text}'"
                raise self._unexpected(f"the clause ends here: expected ';'{hint}")
        if not conjuncts:
            raise MissionError("the mission is empty", self.text, 0)
        return conjunction(*conjuncts)

    def _clause(self) -> list[Formula]:
        clauses: dict[str, Callable[[], list[Formula]]] = {
            "visit": self._visit,
            "go": self._go,
            "patrol": self._patrol,
            "never": self._never,
            "avoid": self._avoid,
            "whenever": lambda: self._reaction("whenever"),
            "exactly": self._exactly_when,
            "wait": self._wait,
            "stay": self._wait,
        }
        begin = self.token
        if begin.text not in clauses or begin.kind != "keyword":
            hint = did_you_mean(begin.text, BEGINNINGS)
            raise self._error(f"no clause begins with '{begin.text}'{hint}")
        self.index += 1
        return clauses[begin.text]()

    def _go(self) -> list[Formula]:
        self._expect("to", "go to")
        return self._visit()

    def _visit(self) -> list[Formula]:
        """visit PLACES [MODE] {then PLACES [MODE]} | visit PLACE COUNT | visit PLACES within TIME."""
        groups = [self._group()]
        if count := self._count(groups[0][0]):
            return count
        while self._take("then"):
            groups.append(self._group())
        places, mode = groups[0]
        if self.token.text == "within":
            begin = self.token
            if len(groups) > 1 or (len(places) > 1 and mode != "in any order"):
                raise self._error("only visits in any order can be 'within' a time", begin)
            soon = self._within()
            return [soon(place) for place in places]
        end: Formula | None = None
        for later, way in reversed(groups[1:]):
            end = conjunction(*formulas.VISITS[way](later, end))
        return formulas.VISITS[mode](places, end)

    def _patrol(self) -> list[Formula]:
        """patrol PLACES [MODE]."""
        places, mode = self._group()
        if self.token.text == "then":
            raise self._error("a patrol goes round: write 'in sequence' or 'in order' for 'then'")
        return formulas.PATROLS[mode](places)

    def _never(self) -> list[Formula]:
        """never PLACES [after CONDITION | before CONDITION]."""
        places = self._places()
        if self._take("before"):
            return formulas.past_avoidance(disjunction(*places), self._place())
        if self._take("after"):
            condition = self._place()
            return formulas.future_avoidance(disjunction(*places), condition)
        return [clause for place in places for clause in formulas.global_avoidance(place)]

    def _avoid(self) -> list[Formula]:
        """avoid PLACES [until CONDITION | after CONDITION]."""
        if not any(token.text == "until" for token in self._rest_of_clause()):
            return self._never()
        place = disjunction(*self._places())
        self._expect("until", "until")
        return formulas.past_avoidance(place, self._place())

    def _reaction(self, begin: str) -> list[Formula]:
        """whenever CONDITION [,] VERB PLACE [at once | in the next step | within TIME]."""
        cause = self._place()
        self._take(",")
        self._choose(_VERBS, f"'{begin} …' goes on with")
        effect = self._place()
        position = self.token
        if begin == "whenever" and self.token.text == "within":
            later = self._within()(effect)
            return [formulas.always(formulas.implies(cause, later))]
        endings = tuple(end for first, end in formulas.REACTIONS if first == begin and end)
        ended = self.token.kind == "end" or self.token.text == ";"
        ending = "" if ended else self._choose(endings, "a reaction ends with")
        if (begin, ending) not in formulas.REACTIONS:
            raise self._error("'exactly when' needs an end: at once, or in the next step", position)
        return formulas.REACTIONS[begin, ending](cause, effect)

    def _exactly_when(self) -> list[Formula]:
        self._expect("when", "exactly when")
        return self._reaction("exactly when")

    def _wait(self) -> list[Formula]:
        """wait at PLACE until CONDITION."""
        if not self._take("at"):
            self._take("in")
        place = self._place()
        self._expect("until", "wait at PLACE until CONDITION")
        return formulas.wait(place, self._place())

    # Parts of clauses -----------------------------------------------------------------------------

    def _group(self) -> tuple[list[Formula], str]:
        """PLACES [MODE]: in any order, if nothing is said."""
        places = self._places()
        if self.token.text in ("in", "fairly"):
            return places, self._choose(_MODES, "places are visited")
        return places, "in any order"

    def _count(self, places: list[Formula]) -> list[Formula] | None:
        """at most N times | at least N times | exactly N times; also once and twice."""
        begin = self.token
        if begin.text not in ("at", "exactly"):
            return None
        how = self._choose(tuple(formulas.COUNTS), "how often is said with")
        if len(places) > 1:
            raise self._error("say how often for each place alone, with ';' between them", begin)
        if self.token.text in ("once", "twice"):
            times = 1 if self.token.text == "once" else 2
            self.index += 1
        else:
            times = self._whole_number(MAX_TIMES)
            self._expect("times", f"{how} {times} times")
        if how == "at least" and not times:
            raise self._error("at least 0 times is not a mission", begin)
        return formulas.COUNTS[how](places[0], times)

    def _within(self) -> Callable[[Formula], Formula]:
        """within N steps | within N seconds. Returns what makes F[0,N] of a place."""
        self._expect("within", "within 20 steps")
        number, unit = self.token, self.tokens[min(self.index + 1, len(self.tokens) - 1)]
        if number.kind != "number":
            raise self._unexpected("expected a number, as in 'within 20 steps'")
        self.index += 1
        if unit.text not in _UNITS:
            hint = did_you_mean(unit.text, ("steps", "s", "ms", "min", "h"))
            raise self._error(f"expected a unit of time after '{number.text}'{hint}")
        self.index += 1
        try:
            bound = read_bound(f"[0,{number.text}{_UNITS[unit.text]}]", "F", clock=self.clock)
        except BoundError as error:
            raise self._error(str(error), number) from error
        if isinstance(bound, Window):
            window = bound
            return lambda place: timed("F", window, (place,))
        first, last = bound
        return lambda place: bounded("F", first, last, (place,))

    def _places(self) -> list[Formula]:
        """Places with commas between them."""
        places = [self._place()]
        while self._take(","):
            places.append(self._place())
            if len(places) > MAX_PLACES:
                raise self._error(f"more than {MAX_PLACES} places")
        return places

    def _place(self) -> Formula:
        """A Boolean formula: names, with and, or, not and parentheses, or as in logic."""
        begin = self.index
        while self.token.kind == "place":
            self._check_neighbours()
            self.index += 1
        found = self.tokens[begin : self.index]
        if not found:
            before = f" after '{self.tokens[begin - 1].text}'" if begin else ""
            if self.token.text == "then" and before == " after ','":
                raise self._error("'then' comes after a place, without a comma: 'visit A then B'")
            raise self._unexpected(f"expected a place{before}")
        if found[-1].text in JOINS and self.token.kind == "keyword":
            hint = "'then' for what comes after it, ';' for a clause of its own"
            self.index -= 1
            raise self._error(f"'{found[-1].text}' stands between two places: write {hint}")
        if found[-1].text in JOINS:
            raise self._unexpected(f"expected a place after '{found[-1].text}'")
        start = found[0].position
        pieces = "".join(
            JOINS.get(token.text, token.text).ljust(len(token.text))
            + " " * (following.position - token.end)
            for token, following in zip(found, [*found[1:], found[-1]], strict=True)
        )
        try:
            formula = parse(pieces, self.known)
        except MissionError as error:
            position = start + (error.position or 0)
            raise MissionError(error.message, self.text, position) from error
        if not formula.is_boolean():
            hint = "write the proposition in quotes, or the mission as a formula"
            message = f"'{pieces.strip()}' reads as temporal logic: {hint}"
            raise MissionError(message, self.text, start)
        return formula

    def _check_neighbours(self) -> None:
        """Refuse two names with nothing between them."""
        previous = self.tokens[self.index - 1]
        names = [token.text for token in (previous, self.token) if _is_name(token)]
        if len(names) == 2 and previous.kind == "place":
            hint = _alike(names[1], _CONTINUATIONS) or ", such as ',' or 'then'"
            raise self._error(f"expected something between '{names[0]}' and '{names[1]}'{hint}")

    def _rest_of_clause(self) -> Iterable[Token]:
        for token in self.tokens[self.index :]:
            if token.text == ";":
                return
            yield token

    def _whole_number(self, most: int) -> int:
        token = self.token
        if token.kind != "number" or "." in token.text or int(token.text) > most:
            raise self._unexpected(f"expected a whole number up to {most}, as in '2 times'")
        self.index += 1
        return int(token.text)

    # Words ----------------------------------------------------------------------------------------

    def _take(self, word: str) -> bool:
        taken = self.token.text == word and self.token.kind != "place"
        self.index += taken
        return taken

    def _expect(self, word: str, example: str) -> None:
        if not self._take(word):
            raise self._unexpected(f"expected '{word}', as in '{example}'")

    def _choose(self, phrases: tuple[str, ...], what: str) -> str:
        """Read one of these phrases; the longest, if several fit."""
        for phrase in sorted(phrases, key=len, reverse=True):
            words = phrase.split()
            if [token.text for token in self.tokens[self.index :][: len(words)]] == words:
                self.index += len(words)
                return phrase
        given = " ".join(token.text for token in list(self._rest_of_clause())[:3]).strip()
        guess = nearest(given, phrases) or nearest(given.split(" ")[0], phrases)
        hint = f"; did you mean '{guess}'?" if guess else "."
        known = ", ".join(phrases)
        found = f"'{given}'" if given else "the end"
        raise self._error(f"{what} one of: {known}; not {found}{hint}")

    def _unexpected(self, message: str) -> MissionError:
        found = f"'{self.token.text}'" if self.token.text else "the end"
        return self._error(f"{message}, not {found}")

    def _error(self, message: str, token: Token | None = None) -> MissionError:
        return MissionError(message, self.text, (token or self.token).position)


def _alike(word: str, words: tuple[str, ...]) -> str:
    """Return a question for the one of `words` that is meant, if it is clear enough."""
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.65)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _is_name(token: Token) -> bool:
    word = token.text[0] == '"' or token.text[0] == "_" or token.text[0].isalnum()
    return word and token.text not in JOINS


# The words behind a formula, where it is made of mission patterns.
#
# Guesses are made by the form of each conjunct, and taken only if the words read as just this
# formula.


Guess = tuple[str, list[Formula]]
"""Words, and the conjuncts that they stand for."""


def words_of(formula: Formula) -> str | None:
    """Return plain words that say exactly `formula`, or None if it is not made of patterns."""
    left = dict.fromkeys(_conjuncts(formula))
    clauses: list[str] = []
    for conjunct in sorted(left, key=lambda conjunct: not _is_goal(conjunct)):
        if conjunct not in left:
            continue
        for words, parts in _guesses(conjunct, left):
            if all(part in left for part in parts):
                clauses.append(words)
                for part in parts:
                    left.pop(part, None)
                break
        else:
            return None
    text = "; ".join(_joined(clauses))
    try:
        said = read_words(text)
    except MissionError:
        return None
    same = set(_conjuncts(said)) == set(_conjuncts(formula))
    return text if same else None


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    return formula.operands if formula.operator == "&" else (formula,)


def _is_goal(conjunct: Formula) -> bool:
    """Tell whether a conjunct says where to go; what says how goes with it."""
    inner = conjunct.operands[0] if conjunct.operator == "G" else conjunct
    return inner.operator == "F"


def _joined(clauses: list[str]) -> list[str]:
    """Return the clauses with plain avoidances said once."""
    plain = [clause for clause in clauses if re.fullmatch(r"never (?!.* after ).*", clause)]
    rest = [clause for clause in clauses if clause not in plain]
    if plain:
        rest.append("never " + ", ".join(clause.removeprefix("never ") for clause in plain))
    return rest


def _guesses(conjunct: Formula, left: dict[Formula, None]) -> Iterator[Guess]:
    inner = conjunct.operands[0] if conjunct.operands else conjunct
    yield from _counts(conjunct)
    if places := _chain(conjunct):
        goals = [sub for sub in left if sub.operator == "F"]
        yield from _movement("visit", formulas.VISITS, places, goals, left)
    if conjunct.operator == "G" and (places := _chain(inner)):
        goals = [sub.operands[0] for sub in left if sub.operator == "G"]
        yield from _movement("patrol", formulas.PATROLS, places, goals, left)
    if conjunct.operator == "G":
        yield from _always(conjunct, inner)
    if conjunct.operator == "U":
        place, condition = conjunct.operands
        if place.operator == "!":
            yield f"avoid {_say(place.operands[0])} until {_say(condition)}", [conjunct]
        yield f"wait at {_say(place)} until {_say(condition)}", [conjunct]
    bound = written_with_bounds(conjunct)
    if bound is not None and (bound.operator, bound.first) == ("F", 0):
        yield f"visit {_say(bound.operands[0])} within {bound.last} steps", [conjunct]
    if conjunct.operator == "F@" and conjunct.operands[0].is_boolean():
        for time in _seconds(conjunct):
            yield f"visit {_say(conjunct.operands[0])} within {time}", [conjunct]


def _seconds(formula: Formula) -> list[str]:
    """Return the time of a window from now on, such as `5 s`, if it is one."""
    window = window_of(formula)
    soon = window.first == 0 and window.last is not None
    return [f"{seconds_text(window.last)[:-1]} s"] if soon and window.last is not None else []


def _chain(formula: Formula) -> list[Formula]:
    """Return the places of F(l1 & F(l2 & … F ln)); none if it is something else."""
    places: list[Formula] = []
    while formula.operator == "F":
        operands = _conjuncts(formula.operands[0])
        later = [operand for operand in operands if not operand.is_boolean()]
        places.append(conjunction(*(operand for operand in operands if operand.is_boolean())))
        if not later:
            return places if TRUE not in places else []
        if len(later) > 1:
            return []
        formula = later[0]
    return []


def _movement(
    verb: str,
    modes: dict[str, formulas.DriveConfig],
    places: list[Formula],
    goals: list[Formula],
    left: dict[Formula, None],
) -> Iterator[Guess]:
    """Guess at the order in which places are visited."""
    if len(places) > 1:
        for mode in ("in strict order", "in order", "in sequence"):
            yield f"{verb} {_list(places)} {mode}", modes[mode](places)
        return
    single = [found[0] for goal in goals if len(found := _chain(goal)) == 1]
    turns = _turns(places[0], single, left)
    if len(turns) > 1:
        yield f"{verb} {_list(turns)} fairly", modes["fairly"](turns)
    alone = [place for place in single if not _turns(place, single, left)] or places
    yield f"{verb} {_list(alone)}", modes["in any order"](alone)


def _turns(place: Formula, places: list[Formula], left: dict[Formula, None]) -> list[Formula]:
    """Return the places in the order in which they are to be visited fairly, from `place` on."""
    found = [place]
    while len(found) <= len(places):
        for other in places:
            if formulas.turn(found[-1], other, "W") in left:
                if other is place:
                    return found
                found.append(other)
                break
        else:
            return []
    return []


def _always(conjunct: Formula, inner: Formula) -> Iterator[Guess]:
    """Guess at avoidances and reactions."""
    if inner.is_boolean() and inner.operator == "!":
        yield f"never {_say(inner.operands[0])}", [conjunct]
    if inner.operator not in ("->", "<->"):
        return
    cause, effect = inner.operands
    begin = "whenever" if inner.operator == "->" else "exactly when"
    if effect.is_boolean():
        yield f"{begin} {_say(cause)} do {_say(effect)} at once", [conjunct]
        return
    then = effect.operands[0]
    if effect.operator == "X":
        yield f"{begin} {_say(cause)} do {_say(then)} in the next step", [conjunct]
    if effect.operator == "F":
        yield f"{begin} {_say(cause)} do {_say(then)}", [conjunct]
    if effect.operator == "G":
        yield f"never {_say(negation(then))} after {_say(cause)}", [conjunct]
    if effect.operator == "F@" and then.is_boolean():
        for time in _seconds(effect):
            yield f"{begin} {_say(cause)} do {_say(then)} within {time}", [conjunct]
    bound = written_with_bounds(effect)
    if bound is not None:
        place = _say(bound.operands[0])
        yield f"{begin} {_say(cause)} do {place} within {bound.last} steps", [conjunct]


def _counts(conjunct: Formula) -> Iterator[Guess]:
    """Guess at how often a place is visited."""
    if conjunct.operator not in ("F", "U", "!"):
        return
    every = set(conjunct.propositions())
    names = [
        sub
        for sub in conjunct.subformulas()
        if sub.is_boolean() and sub.operator != "!" and set(sub.propositions()) == every
    ]
    depth = sum(sub.operator in ("F", "U") for sub in conjunct.subformulas())
    for how, rule in formulas.COUNTS.items():
        for times in (depth - 1, depth):
            if times > 1 or (times == 1 and how != "at least"):
                for place in names:
                    if rule(place, times) == [conjunct]:
                        yield f"visit {_say(place)} {how} {_times(times)}", [conjunct]


def _times(times: int) -> str:
    return {1: "once", 2: "twice"}.get(times, f"{times} times")


def _list(places: list[Formula]) -> str:
    return ", ".join(_say(place) for place in places)


_SPOKEN = {"!": "not ", "&": "and", "|": "or"}
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[!&|]')


def _say(formula: Formula) -> str:
    """Return a Boolean formula with words for its operators."""
    return _PIECE.sub(lambda piece: _SPOKEN.get(piece[0], piece[0]), str(formula))
