"""The one way to compile a mission: from text in any format to its reward machine."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skm_machine.automata.automaton import Automaton
from skm_machine.errors import MissionError, did_you_mean
from skm_machine.formats.hoa import read_hoa
from skm_machine.formats.rm_file import read_reward_machine
from skm_machine.logic.parser import parse
from skm_machine.logic.syntax import Formula
from skm_machine.recurrence import is_endless
from skm_machine.reward_machine import RewardMachine, from_automaton
from skm_machine.translators import TRANSLATORS, check_choice, endless_machine, translate

FORMATS: Final = ("auto", "ltl", "hoa", "rm")
HORIZONS: Final = ("auto", "finite", "infinite")


@dataclass(frozen=True)
class Mission:
    """A compiled mission; the formula and its automaton only where it was given as a formula."""

    text: str
    format: str
    machine: RewardMachine
    formula: Formula | None = None
    automaton: Automaton | None = None

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that the mission names."""
        return self.machine.propositions


def compile_mission(
    text: str,
    *,
    format: str = "auto",
    propositions: Collection[str] | None = None,
    repeat: bool = False,
    horizon: str = "auto",
    translator: str = "builtin",
) -> Mission:
    """Return the mission that `text` says.

    `format` is one of `FORMATS`; "auto" tells by the text. Names outside of `propositions`, where these
    are given, are errors. `repeat` starts the mission over each time it succeeds. A formula that says
    `G F` or `F G` is a mission without end, unless `horizon` says "finite".
    """
    check_choice("format", format, FORMATS)
    check_choice("horizon", horizon, HORIZONS)
    check_choice("translator", translator, TRANSLATORS)
    format = detect_format(text) if format == "auto" else format
    if format == "ltl":
        return _compile_formula(text, parse(text, propositions), repeat, horizon, translator)
    machine = read_hoa(text) if format == "hoa" else read_reward_machine(text, propositions)
    if propositions is not None:
        for name in machine.propositions:
            if name not in propositions:
                raise MissionError(
                    f"unknown proposition '{name}'{did_you_mean(name, propositions)}"
                )
    return Mission(text, format, machine.repeating() if repeat else machine)


def _compile_formula(
    text: str, formula: Formula, repeat: bool, horizon: str, translator: str
) -> Mission:
    if horizon == "infinite" or (horizon == "auto" and is_endless(formula)):
        return Mission(text, "ltl", endless_machine(formula, translator), formula)
    automaton = translate(formula, translator)
    return Mission(text, "ltl", from_automaton(automaton, repeat=repeat), formula, automaton)


def detect_format(text: str) -> str:
    """Tell the format of a mission by its text."""
    if text.lstrip().startswith("HOA:"):
        return "hoa"
    return "rm" if re.match(r"\s*(#.*\s*)*\d+\s*(#.*)?\s*\[[\d\s,]*\]", text) else "ltl"


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
