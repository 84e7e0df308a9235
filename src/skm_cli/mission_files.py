"""Mission files: a mission with its name, domain, planner, limits, events and places, as YAML.

What the command line says goes first; the file says the rest.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import MissionError, SkmError, did_you_mean
from skm_machine.logic.formula import RESERVED, operator_prefix
from skm_machine.logic.parser import parse
from skm_machine.logic.plain_words import KEYWORDS
from skm_machine.mission import FORMATS, HORIZONS, read_mission_text

SUFFIXES: Final = (".yaml", ".yml")
_TEXTS: Final = ("name", "description", "mission", "domain")
_CHOICES: Final = {"format": FORMATS, "horizon": HORIZONS}
_LIMITS: Final = {
    "steps": ("max_steps", int),
    "seconds": ("max_seconds", float),
    "states": ("max_states", int),
    "translation_seconds": ("translation_seconds", float),
}
"""Each limit, the option that it stands for, and its kind."""
KEYS: Final = (*_TEXTS, *_CHOICES, "planner", "repeat", "limits", "events", "places")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^\W\d]\w*')


@dataclass(frozen=True)
class MissionFile:
    """What a mission file says."""

    mission: str
    """The mission's text, with its places written out."""
    title: str = ""
    """Its name and description."""
    options: dict[str, Any] = field(default_factory=dict)
    """Values of options, by their names on a command line."""


def mission_text(args: argparse.Namespace) -> str:
    """Return the mission that a command line names; options that a mission file gives are set.

    Options that the command does not have are left out: a file serves all commands.
    """
    if getattr(args, "domain", None) and args.mission is None:  # skm run FILE
        if not args.domain.endswith(SUFFIXES):
            raise SkmError(f"say which mission to run in '{args.domain}', or name a mission file")
        args.mission, args.domain = args.domain, None
    if not args.mission.strip().endswith(SUFFIXES):
        return read_mission_text(args.mission)
    found = read_mission_file(Path(args.mission.strip()))
    args.title = found.title
    for option, value in found.options.items():
        if hasattr(args, option) and getattr(args, option) in (None, False, 0, "", "auto"):
            setattr(args, option, value)
    return found.mission


def read_mission_file(path: Path) -> MissionFile:
    """Return what the file says, or raise an error that says where it is wrong."""
    from skm_sim.maps.yaml_file import MapError, check_keys, read_yaml  # noqa: PLC0415

    if not path.is_file():
        raise MissionError(f"there is no file '{path}'")
    try:
        content = read_yaml(path)
        check_keys(content, KEYS, str(path))
    except MapError as error:
        raise MissionError(str(error).replace("`cell: 0.25`", "`mission: F a`")) from error
    return _Reader(path, content).file()


class _Reader:
    """Checks the values of a mission file, key by key."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self.path = path
        self.content = content

    def file(self) -> MissionFile:
        texts = {key: self._text(key) for key in _TEXTS if key in self.content}
        if not texts.get("mission"):
            raise self._error("a mission file needs the key 'mission'")
        options: dict[str, Any] = {"domain": texts["domain"]} if "domain" in texts else {}
        for key, choices in _CHOICES.items():
            if key in self.content:
                options[key] = self._choice(key, choices)
        if "planner" in self.content:
            from skm_primitives.planning.planners import (  # noqa: PLC0415
                FORMER_NAMES,
                planner_names,
            )

            chosen = self._choice("planner", (*planner_names(), *FORMER_NAMES))
            options["planner"] = FORMER_NAMES.get(chosen, chosen)
        repeat = self.content.get("repeat", False)
        if not isinstance(repeat, bool):
            raise self._error(f"repeat is true or false, not {repeat!r}")
        options["repeat"] = repeat
        options |= self._limits()
        if "events" in self.content:
            events = self.content["events"]
            names = events if isinstance(events, list) else [events]
            if not all(isinstance(name, str) for name in names):
                raise self._error(f"events are names, such as [call, alarm], not {events!r}")
            options["events"] = ", ".join(names)
        title = ": ".join(texts[key].strip() for key in ("name", "description") if key in texts)
        return MissionFile(self._written_out(texts["mission"]), title, options)

    def _text(self, key: str) -> str:
        value = self.content[key]
        if not isinstance(value, str):
            raise self._error(f"{key} must be text, not {value!r}; put it in quotes")
        return value

    def _choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = str(self.content[key])
        if value not in choices:
            raise self._error(f"unknown {key} '{value}'{did_you_mean(value, choices)}")
        return value

    def _limits(self) -> dict[str, Any]:
        limits = self._mapping("limits")
        found: dict[str, Any] = {}
        for key, value in limits.items():
            if key not in _LIMITS:
                raise self._error(f"limits: unknown key '{key}'{did_you_mean(key, _LIMITS)}")
            option, kind = _LIMITS[key]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 < value < 2**63 or (kind is int and value != int(value)):
                raise self._error(f"limits: {key} must be a number above 0, not {value!r}")
            found[option] = kind(value)
        return found

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self.content.get(key) or {}
        if not isinstance(value, dict):
            raise self._error(f"{key} must hold keys with values, not {value!r}")
        return {str(name): found for name, found in value.items()}

    def _written_out(self, mission: str) -> str:
        """Return the mission with each place replaced by what it stands for."""
        places: dict[str, str] = {}
        for name, text in self._mapping("places").items():
            taken = name in RESERVED or name.lower() in KEYWORDS or operator_prefix(name)
            if taken or not _NAME.fullmatch(name):
                raise self._error(f"places: '{name}' has another meaning; choose another name")
            written = _replaced(str(text), places)
            try:
                boolean = parse(written).is_boolean()
            except MissionError as error:
                raise self._error(f"places: {name}: {error}") from error
            if not boolean:
                raise self._error(f"places: {name}: '{text}' must not speak of time")
            places[name] = f"({written})"
        return _replaced(mission, places)

    def _error(self, message: str) -> MissionError:
        return MissionError(f"{self.path}: {message}")


def _replaced(text: str, places: dict[str, str]) -> str:
    return _PIECE.sub(lambda piece: places.get(piece[0], piece[0]), text)
