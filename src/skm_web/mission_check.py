"""What a mission means, while it is being typed: the same analysis as `skm check`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from skm_machine.analysis import Trace, analyse
from skm_machine.errors import MissionError, SkmError
from skm_machine.logic.syntax import quoted
from skm_machine.meaning import meaning
from skm_machine.mission import Mission, compile_mission
from skm_machine.words.catalogue import PATTERNS, Pattern
from skm_primitives.planning.keeping import keeping
from skm_primitives.primitives import Skills

MOST_CHARACTERS: Final = 4000
MOST_STATES: Final = 5000
MOST_SECONDS: Final = 1.0
"""What a check may take; the machine node takes more."""
MOST_STEPS: Final = 30
"""Steps of a trace that are shown."""
_STAND_IN: Final = re.compile(r"\b[ABCpq]\b")


@dataclass(frozen=True)
class MissionContext:
    """What a mission is about: the world's propositions, and all else that is known of it."""

    propositions: tuple[str, ...] | None = None
    events: tuple[str, ...] = ()
    label_sets: tuple[frozenset[str], ...] = ()
    step_seconds: float | None = None
    skills: Skills | None = None
    """Those that it would be run with; None: whether it can be achieved is not told."""

    def compiled(self, text: str, **options: Any) -> Mission:  # noqa: ANN401
        """Return a mission's machine."""
        given = {"step_seconds": self.step_seconds, "events": self.events, "clock": True, **options}
        return compile_mission(text, propositions=self.propositions, **given)


def check_mission(text: str, context: MissionContext) -> dict[str, Any]:
    """Return what a mission means, or what is wrong with it and where."""
    if not text.strip():
        return {"ok": False, "empty": True}
    if len(text) > MOST_CHARACTERS:
        return {"ok": False, "error": f"a mission has at most {MOST_CHARACTERS} characters here"}
    try:
        mission = context.compiled(text, max_states=MOST_STATES, max_seconds=MOST_SECONDS)
        analysis = analyse(mission, mission.read_sets(context.label_sets))
        remarks, possible = _remarks(mission, context)
    except MissionError as error:
        return {
            "ok": False,
            "error": error.message,
            "text": error.text or text,
            "position": error.position,
        }
    except SkmError as error:
        return {"ok": False, "error": str(error)}
    reading = mission.reading
    return {
        "ok": True,
        "formula": None if mission.formula is None else str(mission.formula),
        "words": mission.words,
        "reading": None if reading is None else f"{reading.kind}: {reading.why}",
        "sentences": meaning(mission, analysis),
        "remarks": remarks,
        "possible": analysis.satisfiable and possible,
        "states": mission.machine.num_states,
        "endless": mission.machine.endless,
        "witness": _steps(analysis.witness),
        "counterexample": _steps(analysis.counterexample),
    }


def offered(propositions: tuple[str, ...], constraints: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the mission patterns in a world's own words, for people to begin with."""
    names = [name for name in propositions if name not in constraints] or list(propositions)
    if not names:
        return []
    letters = {letter: quoted(names[n % len(names)]) for n, letter in enumerate("ABCpq")}
    forbidden = {**letters, "A": quoted((*constraints, *names)[0]), "p": letters["A"]}

    def filled(pattern: Pattern) -> str:
        stand_ins = forbidden if pattern.group == "avoidance" else letters
        return _STAND_IN.sub(lambda letter: stand_ins[letter[0]], pattern.words)

    return [
        {"name": pattern.name, "meaning": pattern.meaning, "words": filled(pattern)}
        for pattern in PATTERNS
    ]


def _remarks(mission: Mission, context: MissionContext) -> tuple[list[str], bool]:
    if context.skills is None or not mission.machine.satisfiable:
        return [], True
    try:
        found = keeping(mission, context.skills)
    except SkmError as error:
        return [str(error)], False
    return found.sentences, not found.blocked


def _steps(trace: Trace | None) -> list[list[str]] | None:
    return None if trace is None else [sorted(labels) for labels in trace[:MOST_STEPS]]
