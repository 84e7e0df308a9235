"""The catalogue of what is said about a mission under way: every phrase once, in every language.

A language is a table with the same keys as `ENGLISH`; a test sees to it that none is missing. Names of
propositions are the domain's own, and are not translated.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from skm_machine.errors import SkmError

ENGLISH: Final[Mapping[str, str]] = {
    "step": "1 step",
    "steps": "{n} steps",
    "after step": "1 step",
    "after steps": "{n} steps",
    "seconds": "about {n} s",
    "minutes": "about {n} min",
    "about": "about {steps}",
    "s": "{n} s",
    "min": "{n} min",
    "point": ".",
    "and": "{first} and {last}",
    "or": "{first} or {last}",
    "with": "{first} with {last}",
    "count": "{k} of {n}: ",
    "round": "Round {round}, ",
    "going": "going for {goal}",
    "quickest": "going for {goal}, whichever is quickest",
    "getting on": "on the way to what comes next",
    "to go": ", {steps} to go",
    "to go in": ", {steps} ({time}) to go",
    "overdue": ", expected {steps} ago",
    "then": "; then {next}",
    "next": ", then {next}",
    "any order": "{names} in any order",
    "more": "{n} more",
    "avoiding": " Avoiding {names}.",
    "avoiding near": " Avoiding {names} (nearest: {steps}).",
    "staying": " Staying with {names}: leaving it would fail the mission.",
    "would fail": " {names} would fail the mission, and is not the robot's to avoid.",
    "waiting event": "waiting for {names}: until then there is nothing to do",
    "waiting time": "waiting: only time brings the mission on",
    "without": "without {names}",
    "reached": "{goal} reached",
    "reached count": "{goal} reached ({k} of {n})",
    "round complete": "{goal} reached: round {round} is complete",
    "accomplished": "{goal} reached: the mission is accomplished",
    "clock": "a time limit has passed",
    "moved": "what to do next has changed",
    "fatal": "{goal}: after that the mission can only fail",
    "done": "Done after {length}",
    "rounds done": "Ended after {length} with {n} rounds complete",
    "round done": "Ended after {length} with 1 round complete",
    "rounds before": " {n} rounds were complete.",
    "round before": " 1 round was complete.",
    "failed": "Failed after {length}",
    "ended": "Ended after {length} ({outcome})",
    "never began": "Never begun ({outcome})",
    "at step": "{goal} at step {step}",
    "list": ": {names}",
    "forbidden": ": {goal} at step {step}, which {clause} forbids",
    "forbidden there": ": {goal} at step {step}, which the mission forbids there",
    "missed": ": {names} was due by step {step}, which {clause} asks for",
    "missed there": ": {names} was due by step {step}, which the mission asks for",
    "too late": ": {names} was due within {time}, which {clause} asks for",
    "left": " It was still {steps} away.",
    "stood": " For {time} of it the robot was stopped ({reason}).",
    "until then": " Until then: {names}.",
    "pursued": " It was on the way to {goal}.",
    "sought": " It was looking for {goal}, expected {steps} before: there may be none here.",
    "instead": " Any step without {goal} would have kept it possible.",
    "not controlled": " The robot does not control {goal}: nothing that it could do kept it from this.",
    "no shield": " The shield was off; with it, such a step is not taken where the way is known.",
    "not learned": " No skill was learned to avoid {names}: train skills with it as a constraint.",
    "mistaken": " Here skills are learned, and what they expect of {goal} can be wrong.",
    "mistaken by": " Just before, the learned skills took {goal} to be {steps} away.",
    "accepted": "accepted",
    "outcome failed": "failed",
    "cancelled": "cancelled",
    "preempted": "a newer mission took its place",
    "timed out": "out of time",
    "rejected": "rejected",
    "error": "error",
    "no progress": "no progress",
    "satisfied so far": "satisfied so far",
}

GERMAN: Final[Mapping[str, str]] = {
    "step": "1 Schritt",
    "steps": "{n} Schritte",
    "after step": "1 Schritt",
    "after steps": "{n} Schritten",
    "seconds": "etwa {n} s",
    "minutes": "etwa {n} min",
    "about": "etwa {steps}",
    "s": "{n} s",
    "min": "{n} min",
    "point": ",",
    "and": "{first} und {last}",
    "or": "{first} oder {last}",
    "with": "{first} mit {last}",
    "count": "{k} von {n}: ",
    "round": "Runde {round}, ",
    "going": "unterwegs zu {goal}",
    "quickest": "unterwegs zu {goal}, je nachdem, was schneller geht",
    "getting on": "unterwegs zum Nächsten",
    "to go": ", noch {steps}",
    "to go in": ", noch {steps} ({time})",
    "overdue": ", erwartet vor {steps}",
    "then": "; dann {next}",
    "next": ", dann {next}",
    "any order": "{names} in beliebiger Reihenfolge",
    "more": "{n} weitere",
    "avoiding": " Meidet {names}.",
    "avoiding near": " Meidet {names} (am nächsten: {steps}).",
    "staying": " Bleibt bei {names}: es zu verlassen, ließe die Mission scheitern.",
    "would fail": " {names} ließe die Mission scheitern, und der Roboter kann es nicht vermeiden.",
    "waiting event": "wartet auf {names}: bis dahin ist nichts zu tun",
    "waiting time": "wartet: nur die Zeit bringt die Mission voran",
    "without": "ohne {names}",
    "reached": "{goal} erreicht",
    "reached count": "{goal} erreicht ({k} von {n})",
    "round complete": "{goal} erreicht: Runde {round} ist vollendet",
    "accomplished": "{goal} erreicht: die Mission ist erfüllt",
    "clock": "eine Frist ist verstrichen",
    "moved": "was als Nächstes zu tun ist, hat sich geändert",
    "fatal": "{goal}: danach kann die Mission nur noch scheitern",
    "done": "Erledigt nach {length}",
    "rounds done": "Beendet nach {length} mit {n} vollendeten Runden",
    "round done": "Beendet nach {length} mit 1 vollendeten Runde",
    "rounds before": " {n} Runden waren vollendet.",
    "round before": " 1 Runde war vollendet.",
    "failed": "Gescheitert nach {length}",
    "ended": "Beendet nach {length} ({outcome})",
    "never began": "Nie begonnen ({outcome})",
    "at step": "{goal} bei Schritt {step}",
    "list": ": {names}",
    "forbidden": ": {goal} bei Schritt {step}, was {clause} verbietet",
    "forbidden there": ": {goal} bei Schritt {step}, was die Mission dort verbietet",
    "missed": ": {names} war bis Schritt {step} fällig, was {clause} verlangt",
    "missed there": ": {names} war bis Schritt {step} fällig, was die Mission verlangt",
    "too late": ": {names} war binnen {time} fällig, was {clause} verlangt",
    "left": " Bis dahin fehlten noch {steps}.",
    "stood": " {time} davon stand der Roboter ({reason}).",
    "until then": " Bis dahin: {names}.",
    "pursued": " Sie war unterwegs zu {goal}.",
    "sought": " Gesucht wurde {goal}, erwartet {steps} zuvor: vielleicht gibt es das hier nicht.",
    "instead": " Jeder Schritt ohne {goal} hätte sie möglich gehalten.",
    "not controlled": " Der Roboter bestimmt {goal} nicht: nichts, was er tat, konnte es verhindern.",
    "no shield": " Der Schutzschild war aus; mit ihm unterbleibt das, wo der Weg bekannt ist.",
    "not learned": " Keine Fertigkeit hat gelernt, {names} zu meiden: mit dieser Bedingung trainieren.",
    "mistaken": " Hier sind Fertigkeiten gelernt, und was sie von {goal} erwarten, kann falsch sein.",
    "mistaken by": " Die gelernten Fertigkeiten hielten {goal} kurz zuvor für {steps} entfernt.",
    "accepted": "erfüllt",
    "outcome failed": "gescheitert",
    "cancelled": "abgebrochen",
    "preempted": "eine neuere Mission kam an ihre Stelle",
    "timed out": "Zeit abgelaufen",
    "rejected": "abgelehnt",
    "error": "Fehler",
    "no progress": "kein Fortschritt",
    "satisfied so far": "bisher erfüllt",
}

LANGUAGES: Final[Mapping[str, Mapping[str, str]]] = {"en": ENGLISH, "de": GERMAN}
VARIABLE: Final = "SKM_LANGUAGE"
"""Of the environment: the language of commands, and of nodes without another setting."""


def chosen_language() -> str:
    """Return the language that the environment asks for; English, if it asks for none."""
    wanted = os.environ.get(VARIABLE) or "en"
    if wanted not in LANGUAGES:
        raise SkmError(f"{VARIABLE} is '{wanted}'; it can be {' or '.join(LANGUAGES)}")
    return wanted


class Phrases:
    """The phrases of one language, with what goes into them."""

    def __init__(self, language: str = "en") -> None:
        self._texts = LANGUAGES[language]

    def __call__(self, key: str, **parts: object) -> str:
        """Return a phrase with its gaps filled in."""
        return self._texts[key].format(**parts)

    def steps(self, number: int) -> str:
        """Return a number of steps."""
        return self("step") if number == 1 else self("steps", n=number)

    def after(self, number: int) -> str:
        """Return a number of steps as it stands behind "after" or "ago"."""
        return self("after step") if number == 1 else self("after steps", n=number)

    def time(self, seconds: float) -> str:
        """Return about how long something takes."""
        return self._time(seconds, "seconds", "minutes")

    def span(self, seconds: float) -> str:
        """Return how long something takes, where it is said already that nobody knows exactly."""
        return self._time(seconds, "s", "min")

    def _time(self, seconds: float, short: str, long: str) -> str:
        if seconds >= 120:
            return self(long, n=round(seconds / 60))
        return self(short, n=self.number(seconds) if seconds < 2 else round(seconds))

    def number(self, number: float) -> str:
        """Return a number with one decimal."""
        return f"{number:.1f}".replace(".", self("point"))

    def joined(self, names: Sequence[str], how: str = "and") -> str:
        """Return names as a list: a, b and c."""
        if len(names) < 2:
            return "".join(names)
        return self(how, first=", ".join(names[:-1]), last=names[-1])
