"""The one way to compile a mission: from text in any format to its reward machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from skm_machine.automata.dfa import Automaton
from skm_machine.automata.limits import LimitReachedError, Limits
from skm_machine.automata.ltlf import MAX_SECONDS, MAX_STATES
from skm_machine.automata.timed import ClockTable, timed_automaton
from skm_machine.errors import MissionError, UnsupportedMissionError, did_you_mean
from skm_machine.factored import ONE_MACHINE, FactoredMachine, factored, factored_recurring
from skm_machine.logic.bounds import bounded
from skm_machine.logic.formula import TIMED, Formula
from skm_machine.logic.parser import parse
from skm_machine.logic.plain_words import looks_like_words, read_words, words_of
from skm_machine.logic.timed import timed_parts, window_of
from skm_machine.reading import Reading, read_formula
from skm_machine.recurrence import timed_recurring_machine
from skm_machine.reward_machine import RewardMachine, from_automaton
from skm_machine.translators import TRANSLATORS, check_choice, endless_machine, translate
from skm_machine.waiting import waiting_machine

FORMATS: Final = ("auto", "ltl", "words", "hoa", "rm")
PARTS: Final = ("if too large", "if large", "never")
HORIZONS: Final = ("auto", "finite", "infinite")
MAX_CHARACTERS: Final = {"ltl": 100_000, "words": 100_000, "hoa": 5_000_000, "rm": 5_000_000}
"""The longest text that is read as a mission, by format."""
_LONG_NUMBER: Final = re.compile(r"(?<![\w.])\d{19,}")


class _Limits(NamedTuple):
    """How large a machine may grow on its way."""

    max_states: int
    max_seconds: float


@dataclass(frozen=True)
class Mission:
    """A compiled mission; the formula and its automaton only where it was given as one, or in words."""

    text: str
    """As it was written."""
    format: str
    """How it was read: `ltl`, `words`, `hoa` or `rm`."""
    machine: RewardMachine
    """The reward machine that it was compiled to."""
    formula: Formula | None = None
    """The formula, where it was one or words."""
    automaton: Automaton | None = None
    """The automaton that the machine was made from, where there is one."""
    reading: Reading | None = None
    """How the formula was read; files say by themselves whether they have an end."""
    recurring: bool = False
    """Whether it is a recurring mission; not so a mission that only starts over each time it
    succeeds."""
    events: tuple[str, ...] = ()
    """The propositions that it names and the robot does not control."""
    clocks: ClockTable | None = None
    """What runs the clocks of its bounds in seconds, if it has any: see `MissionTracker`."""
    step_seconds: float | None = None
    """How long a step takes, where states have no time stamps; None: unknown."""
    expected_step_seconds: float | None = None
    """How long a step takes as a rule, to plan with, where states are entered when they are."""
    timed: Mission | None = None
    """The mission with its clocks, of one that is `planned`."""

    @cached_property
    def planned(self) -> Mission:
        """The mission to plan with: its machine waits for the clock where that helps (`waiting`)."""
        if self.clocks is None:
            return self
        machine = waiting_machine(self.machine, self.clocks.names)
        return replace(self, machine=machine, clocks=None, timed=self)

    @property
    def in_parts(self) -> bool:
        """Whether it is kept in parts (`skm_machine.factored`): there is no table of all states."""
        return isinstance(self.machine, FactoredMachine)

    @cached_property
    def whole(self) -> Mission:
        """The mission as one machine, for callers that need one; refused if that is too large."""
        if not self.in_parts:
            return self
        assert self.reading is not None
        found = compile_mission(
            self.text,
            format=self.format,
            repeat=self.machine.endless and not self.recurring,
            horizon="infinite" if self.recurring else "auto",
            step_seconds=self.step_seconds,
            events=self.events,
            parts="never",
        )
        return replace(found, expected_step_seconds=self.expected_step_seconds)

    def read_sets(self, label_sets: Collection[frozenset[str]]) -> tuple[frozenset[str], ...]:
        """Return what its machine can read in a world of these label sets: also ticks of its clocks."""
        ticks = () if self.clocks is None else self.clocks.names
        ticked = (labels | {tick} for labels in label_sets for tick in ticks)
        return (*label_sets, *ticked)

    @property
    def words(self) -> str | None:
        """The mission in plain words: as it was said, or those of the patterns that it is made of."""
        if self.format == "words":
            return " ".join(self.text.split())
        return None if self.formula is None else words_of(self.formula)

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that the mission names."""
        ticks = () if self.clocks is None else self.clocks.names
        return tuple(name for name in self.machine.propositions if name not in ticks)


def compile_mission(
    text: str,
    *,
    format: str = "auto",
    propositions: Collection[str] | None = None,
    repeat: bool = False,
    horizon: str = "auto",
    translator: str = "builtin",
    step_seconds: float | None = None,
    clock: bool | None = None,
    events: Collection[str] = (),
    max_states: int | None = None,
    max_seconds: float | None = None,
    parts: str | None = None,
) -> Mission:
    """Return the mission that `text` says.

    `format` is one of `FORMATS`; "auto" tells by the text. Names outside of `propositions`, where these
    are given, are errors. `repeat` starts the mission over each time it succeeds. `horizon` says whether
    a formula is a mission with an end ("finite") or a recurring mission ("infinite"); "auto" tells by
    the rule of `skm_machine.reading`. Bounds in seconds need a clock: every step takes `step_seconds`,
    or with `clock` the caller says when each state was entered.
    `events` are propositions, besides the others, that the robot does not control.
    A conjunction can be kept in parts (`skm_machine.factored`): `parts` says when. "if large" is for
    callers that plan on a map; "if too large" where a machine needs more than `max_states` on its way,
    or `max_seconds` of computing; "never": then such a machine is refused. By default, given
    limits are those of one machine; without any, a mission that is too large is kept in parts.
    """
    check_choice("format", format, FORMATS)
    check_choice("horizon", horizon, HORIZONS)
    check_choice("translator", translator, TRANSLATORS)
    if parts is None:
        parts = "if too large" if max_states is None and max_seconds is None else "never"
    check_choice("parts", parts, PARTS)
    if propositions is not None:
        propositions = tuple(dict.fromkeys((*propositions, *events)))
    format = _checked_format(text, propositions, format)
    if format in ("ltl", "words"):
        read = parse if format == "ltl" else read_words
        ticks = step_seconds is not None if clock is None else clock
        formula = read(text, propositions, clock=ticks)
        limits = _Limits(max_states or MAX_STATES, max_seconds or MAX_SECONDS)
        mission = _compile_formula(
            text, format, formula, repeat, horizon, translator, limits, parts
        )
        named = _named(events, mission.machine)
        return replace(mission, events=named, step_seconds=step_seconds)
    # Formulas, which most missions are, need neither.
    from skm_machine.formats.hoa import read_hoa  # noqa: PLC0415
    from skm_machine.formats.reward_machine_file import read_reward_machine  # noqa: PLC0415

    machine = read_hoa(text) if format == "hoa" else read_reward_machine(text, propositions)
    if propositions is not None:
        for name in machine.propositions:
            if name not in propositions:
                raise MissionError(
                    f"unknown proposition '{name}'{did_you_mean(name, propositions)}"
                )
    return Mission(
        text,
        format,
        machine.repeating() if repeat else machine,
        recurring=machine.endless,
        events=_named(events, machine),
    )


def _checked_format(text: str, propositions: Collection[str] | None, format: str) -> str:
    """Return the format of a mission, or say what makes it too long to be read."""
    known = detect_format(text[: max(MAX_CHARACTERS.values())], propositions)
    format = known if format == "auto" else format
    if len(text) > MAX_CHARACTERS[format]:
        raise MissionError(
            f"the mission has {len(text)} characters; at most {MAX_CHARACTERS[format]} are read"
            f" ({format})"
        )
    long = _LONG_NUMBER.search(text)
    if long is not None:
        raise MissionError("this number has too many digits", text, long.start())
    return format


def _named(events: Collection[str], machine: RewardMachine) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(events) if name in machine.propositions)


def _compile_formula(
    text: str,
    format: str,
    formula: Formula,
    repeat: bool,
    horizon: str,
    translator: str,
    limits: _Limits,
    parts: str,
) -> Mission:
    if timed_parts(formula):
        if translator != "builtin":
            raise UnsupportedMissionError(f"{translator} knows no bounds in seconds: use 'builtin'")
        return _compile_timed(text, format, formula, repeat, horizon, limits)
    # Who asks for finite traces gets them by definition; else what is bounded is seen through.
    through = horizon != "finite"
    translated = cache(lambda: translate(formula, translator, through=through, **limits._asdict()))
    if translator != "builtin" or parts == "never":
        most = None
    else:
        most = ONE_MACHINE if parts == "if large" else limits.max_states
    several = cache(lambda: None if most is None else factored(formula, through, most))

    def whole() -> Automaton | None:
        """Return the one automaton, if it is to be one and is not too large."""
        if (found := several()) is not None and not (found.may_fit and parts == "if too large"):
            return None
        try:
            return translated()
        except UnsupportedMissionError:
            if found is None:
                raise
            return None

    def automata() -> list[Automaton]:
        if (one := whole()) is not None:
            return [one]
        found = several()
        assert found is not None
        return [Automaton(part.table, part.accepting) for part in found.machine.parts]

    reading = read_formula(formula, horizon, automata)
    if reading.recurring:
        machine = _recurring(formula, translator, limits, parts, most)
        return Mission(text, format, machine, formula, reading=reading, recurring=True)
    if (one := whole()) is not None:
        machine = from_automaton(one, repeat=repeat)
        return Mission(text, format, machine, formula, one, reading)
    found = several()
    assert found is not None
    machine = found.machine.repeating() if repeat else found.machine
    return Mission(text, format, machine, formula, reading=reading)


def _recurring(
    formula: Formula, translator: str, limits: _Limits, parts: str, most: int | None
) -> RewardMachine:
    """Return the machine of a recurring mission, or its parts."""
    several = None if most is None else factored_recurring(formula, most)
    if several is not None and not (several.may_fit and parts == "if too large"):
        return several.machine
    try:
        return endless_machine(formula, translator, **limits._asdict())
    except UnsupportedMissionError:
        if several is None:
            raise
        return several.machine


def _compile_timed(
    text: str, format: str, formula: Formula, repeat: bool, horizon: str, limits: _Limits
) -> Mission:
    """Compile a formula with bounds in seconds: see `skm_machine.logic.timed`."""
    try:
        found = timed_automaton(formula, Limits(*limits))
    except LimitReachedError as problem:
        reason = f"the mission's machine grows too large: {problem}"
        raise UnsupportedMissionError(reason) from problem
    reading = _timed_reading(formula, horizon, lambda: [found.automaton])
    if reading.recurring:
        machine, clocks = timed_recurring_machine(formula, **limits._asdict())
        return Mission(
            text, format, machine, formula, reading=reading, recurring=True, clocks=clocks
        )
    machine = from_automaton(found.automaton, repeat=repeat)
    clocks = replace(found.clocks, repeats=repeat)
    return Mission(text, format, machine, formula, found.automaton, reading, clocks=clocks)


def _timed_reading(
    formula: Formula, horizon: str, automata: Callable[[], list[Automaton]]
) -> Reading:
    """Return how a formula with bounds in seconds is read: by its form, as one with bounds in steps."""
    forms: dict[Formula, Formula] = {}
    for sub in formula.subformulas():
        operands = tuple(forms[operand] for operand in sub.operands)
        if sub.operator not in TIMED:
            forms[sub] = Formula(sub.operator, operands, sub.name)
        else:
            steps = None if window_of(sub).last is None else 1
            forms[sub] = bounded(TIMED[sub.operator], 0, steps, operands)
    reading = read_formula(forms[formula], horizon, automata)
    written = {str(form): str(sub) for sub, form in forms.items()}
    part = reading.why.split("'")[1] if reading.why.startswith("'") else ""
    why = reading.why.replace(part, written.get(part, part)) if part else reading.why
    return replace(reading, why=why)


def detect_format(text: str, propositions: Collection[str] | None = None) -> str:
    """Tell the format of a mission by its text."""
    if text.lstrip().startswith("HOA:"):
        return "hoa"
    if looks_like_words(text, propositions):
        return "words"
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    begin = " ".join(islice(filter(None, lines), 20))
    return "rm" if re.match(r"\d+ *\[[\d\s,]*\]", begin) else "ltl"


def read_mission_text(argument: str) -> str:
    """Return the mission that a command line gives: the content of a file of that name, or the text."""
    try:
        path = Path(argument)
        if path.suffix or path.is_absolute():
            if path.is_file():
                return path.read_text(encoding="utf-8")
            if path.suffix in (".hoa", ".rm", ".txt", ".ltl"):
                raise MissionError(f"there is no file '{argument}'")
    except (OSError, ValueError) as error:
        if len(argument) < 4096 and "\0" not in argument:
            raise MissionError(f"cannot read the mission file: {error}") from error
    return argument
