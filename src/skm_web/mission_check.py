"""What a mission means, while it is being typed: the same analysis as `skm check`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from skm_machine.analysis import Analysis, Trace, analyse, meaning
from skm_machine.errors import MissionError, SkmError
from skm_machine.events import EventVerdict, subsets
from skm_machine.logic.formula import quoted
from skm_machine.logic.patterns import PATTERNS, Pattern
from skm_machine.mission import Mission, compile_mission
from skm_machine.possible import Shown, shown_everywhere
from skm_primitives.execution.german import in_german, translated
from skm_primitives.planning.outlook import outlook
from skm_primitives.planning.planners import parts_for
from skm_primitives.skills.values import Skills

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
        given = {
            "step_seconds": self.step_seconds,
            "events": self.events,
            "clock": True,
            "parts": "if too large" if self.skills is None else parts_for(self.skills),
            **options,
        }
        return compile_mission(text, propositions=self.propositions, **given)


_FOR_EXPERTS: Final = re.compile(r"states? .*\bover ")
_SHOWN_ELSEWHERE: Final = re.compile(r"shortest|can fail by|a round: |a success: ")


def check_mission(text: str, context: MissionContext, language: str = "en") -> dict[str, Any]:
    """Return what a mission means, or what is wrong with it and where.

    `told` has the sentences for a page, in the language: those of traces are left out, which have a
    place of their own, and `exact` those for experts.
    """
    verdict = _checked(text, context)
    said = verdict.get("sentences", ())
    told = [sentence for sentence in said if not _SHOWN_ELSEWHERE.match(sentence)]
    exact = [sentence for sentence in told if _FOR_EXPERTS.search(sentence)]
    for name, sentences in (("exact", exact), ("told", [s for s in told if s not in exact])):
        verdict[name] = [translated(sentence, language) for sentence in sentences]
    for name in ("error", "reading"):
        if verdict.get(name):
            verdict[name] = translated(verdict[name], language)
    verdict["remarks"] = [translated(remark, language) for remark in verdict.get("remarks", ())]
    return verdict


def _checked(text: str, context: MissionContext) -> dict[str, Any]:
    if not text.strip():
        return {"ok": False, "empty": True}
    if len(text) > MOST_CHARACTERS:
        return {"ok": False, "error": f"a mission has at most {MOST_CHARACTERS} characters here"}
    try:
        mission = context.compiled(text, max_states=MOST_STATES, max_seconds=MOST_SECONDS)
        meant = _meant(mission, context)
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
        "reading": None if reading is None else str(reading),
        "sentences": meaning(mission, meant.analysis, meant.verdict, meant.shown),
        "remarks": meant.remarks,
        "possible": meant.analysis.satisfiable and meant.possible,
        "states": mission.machine.num_states,
        "endless": mission.machine.endless,
        "witness": _steps(meant.analysis.witness),
        "counterexample": _steps(meant.analysis.counterexample),
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
        {
            "name": pattern.name,
            "meaning": pattern.meaning,
            "meaning_de": in_german(pattern.meaning),
            "words": filled(pattern),
        }
        for pattern in PATTERNS
    ]


@dataclass(frozen=True)
class _Meant:
    """What a mission comes to in the world of the page."""

    analysis: Analysis
    verdict: EventVerdict | None = None
    shown: Shown | None = None
    remarks: list[str] = field(default_factory=list)
    possible: bool = True


def _meant(mission: Mission, context: MissionContext) -> _Meant:
    """Say it as the planner will do it; without skills, over the label sets that the world shows."""
    machine = mission.machine
    if not machine.satisfiable:
        return _Meant(analyse(mission))
    if mission.in_parts and context.skills is None:
        return _Meant(analyse(mission))
    remarks, possible = [], True
    if context.skills is not None:
        try:
            ahead = outlook(mission, context.skills)
        except SkmError as error:
            remarks, possible = [str(error)], False
        else:
            return _Meant(
                ahead.analysis, ahead.verdict, ahead.shown, ahead.sentences, ahead.possible
            )
    if not context.label_sets:
        return _Meant(analyse(mission), remarks=remarks, possible=possible)
    read = mission.read_sets(context.label_sets)
    shown = shown_everywhere(machine, read, subsets(mission.events))
    return _Meant(analyse(mission, shown), None, shown, remarks, possible)


def _steps(trace: Trace | None) -> list[list[str]] | None:
    return None if trace is None else [sorted(labels) for labels in trace[:MOST_STEPS]]
