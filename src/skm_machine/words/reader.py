"""From plain words to a formula: a small grammar, read clause by clause, with errors that point.

The grammar is printed in docs/missions.md. Places are Boolean formulas, read by the one parser.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from typing import Final

from skm_machine.errors import MissionError, did_you_mean, nearest
from skm_machine.logic.bound_text import BoundError, read_bound
from skm_machine.logic.bounds import bounded
from skm_machine.logic.parser import parse
from skm_machine.logic.syntax import Formula, conjunction, disjunction
from skm_machine.logic.timed import Window, timed
from skm_machine.words import formulas
from skm_machine.words.tokens import BEGINNINGS, JOINS, Token, tokenise

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
        for later, manner in reversed(groups[1:]):
            end = conjunction(*formulas.VISITS[manner](later, end))
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
        manners = tuple(end for first, end in formulas.REACTIONS if first == begin and end)
        ended = self.token.kind == "end" or self.token.text == ";"
        manner = "" if ended else self._choose(manners, "a reaction ends with")
        if (begin, manner) not in formulas.REACTIONS:
            raise self._error("'exactly when' needs an end: at once, or in the next step", position)
        return formulas.REACTIONS[begin, manner](cause, effect)

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
            raise self._error("at least 0 times is no mission", begin)
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
