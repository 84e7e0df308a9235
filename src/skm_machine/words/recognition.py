"""The words behind a formula, where it is made of mission patterns.

Guesses are made by the form of each conjunct, and taken only if the words read as just this formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skm_machine.errors import MissionError
from skm_machine.logic.bounds import written_with_bounds
from skm_machine.logic.syntax import TRUE, Formula, conjunction, negation
from skm_machine.logic.timed import seconds_text, window_of
from skm_machine.words import formulas
from skm_machine.words.reader import read_words

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
    modes: dict[str, formulas.Manner],
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
