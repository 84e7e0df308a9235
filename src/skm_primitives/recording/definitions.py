"""Definitions of ROS messages: found, read, and put together as an MCAP schema has them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from skm_machine.errors import SkmError
from skm_primitives.recording.standard_types import STANDARD_TYPES

PRIMITIVES: Final = {
    "bool": "?",
    "byte": "B",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""Kinds of numbers, and their letters in `struct`."""
SEPARATOR: Final = "=" * 80
MOST_NESTED: Final = 30
_FIELD: Final = re.compile(
    r"(?P<kind>[\w/]+)(?:<=\d+)?(?P<array>\[(?:<=)?\d*\])?\s+(?P<name>\w+)\s*(?P<rest>.*)"
)


class RecordingError(SkmError):
    """A recording, or a definition in it, that cannot be read or written."""


class ExistingRecordingError(RecordingError):
    """There is a file at the path of a new recording."""


@dataclass(frozen=True)
class Field:
    """One field of a message."""

    name: str
    kind: str
    """A kind of number, `string`, or the full name of a message: `skm/Goal`."""
    length: int | None
    """Of an array: as many elements; −1 for any number; None if it is no array."""
    default: str
    """As the definition writes it; empty for zero."""


@dataclass(frozen=True)
class MessageType:
    """A message: its fields in order, and its constants."""

    name: str
    fields: tuple[Field, ...]
    constants: Mapping[str, int | str]


def short_name(name: str) -> str:
    """Return `skm/Labels` for `skm/msg/Labels`."""
    return name.replace("/msg/", "/")


def long_name(name: str) -> str:
    """Return `skm/msg/Labels` for `skm/Labels`."""
    return name if name.count("/") != 1 else name.replace("/", "/msg/")


def read_definition(name: str, text: str) -> MessageType:
    """Return the message that one definition says; `name` is its full name."""
    fields: list[Field] = []
    constants: dict[str, int | str] = {}
    for line in text.splitlines():
        bare = line.split("#", maxsplit=1)[0].strip()
        if not bare:
            continue
        found = _FIELD.fullmatch(bare)
        if found is None:
            raise RecordingError(f"the definition of {name} has a line that is none: '{bare[:80]}'")
        kind, rest = found["kind"], found["rest"].strip()
        if rest.startswith("="):
            constants[found["name"]] = _constant(kind, rest[1:].strip())
            continue
        length = None
        if found["array"] is not None:
            inside = found["array"][1:-1]
            length = int(inside) if inside.isdigit() else -1
        fields.append(Field(found["name"], _full(kind, name), length, rest))
    return MessageType(name, tuple(fields), constants)


def _constant(kind: str, text: str) -> int | str:
    if kind == "string":
        return text.strip("\"'")
    try:
        return int(float(text))
    except ValueError:
        return text


def _full(kind: str, inside: str) -> str:
    """Return the full name of a kind that is named in the definition of another message."""
    if kind in PRIMITIVES or kind == "string":
        return kind
    if kind == "wstring":
        raise RecordingError(f"the definition of {inside} has a wstring, which is not read here")
    if kind == "Header":
        return "std_msgs/Header"
    return short_name(kind) if "/" in kind else f"{inside.split('/', maxsplit=1)[0]}/{kind}"


def read_schema(name: str, text: str) -> dict[str, MessageType]:
    """Return the message that a schema says, and all that it is made of, by their full names."""
    first, *others = re.split(r"^={40,}\s*$", text, flags=re.MULTILINE)
    root = short_name(name)
    found = {root: read_definition(root, first)}
    for part in others:
        head, _, body = part.strip("\n").partition("\n")
        if not head.startswith("MSG:"):
            raise RecordingError(f"the schema of {name} names a part by '{head[:80]}'")
        other = short_name(head[4:].strip())
        found[other] = read_definition(other, body)
    for known in list(found.values()):
        for field in known.fields:
            plain = field.kind in PRIMITIVES or field.kind == "string"
            if not plain and field.kind not in found:
                raise RecordingError(f"the schema of {name} does not say what {field.kind} is")
    return found


@cache
def schema_text(name: str) -> str:
    """Return the definition of a message with all that it is made of, as an MCAP schema has it.

    skm's own come with skm, those that it is made of too; others from the ROS that is installed.
    """
    parts: dict[str, str] = {}
    _collect(short_name(name), parts)
    first, *others = parts.items()
    return first[1] + "".join(f"{SEPARATOR}\nMSG: {other}\n{text}" for other, text in others)


def _collect(name: str, parts: dict[str, str]) -> None:
    if name in parts:
        return
    parts[name] = _definition(name)
    for field in read_definition(name, parts[name]).fields:
        if field.kind not in PRIMITIVES and field.kind != "string":
            _collect(field.kind, parts)


def _definition(name: str) -> str:
    if name in STANDARD_TYPES:
        return STANDARD_TYPES[name]
    package, _, kind = name.partition("/")
    roots = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    places = [Path(root) / "share" / package / "msg" / f"{kind}.msg" for root in roots if root]
    if package == "skm":
        places.insert(0, Path(__file__).resolve().parents[3] / "msg" / f"{kind}.msg")
    for place in places:
        if place.is_file():
            text = place.read_text(encoding="utf-8")
            return text if text.endswith("\n") else text + "\n"
    raise RecordingError(f"there is no definition of {name}: is its package installed?")
