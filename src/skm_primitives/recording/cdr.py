"""Messages ⇄ bytes in CDR, by their definitions, as ROS 2 has them on the wire: no ROS is needed.

Values go in as mappings (what is left out has its default), and come out as `Message`s.
Nothing in a recording is executed; what does not fit its definition is an error.

Why not `mcap-ros2-support` (0.6.0)? Its bytes are the same, for all of 245 messages of 7 types, and
it reads small ones in 0.75 to 0.9 of the time. But to write one takes it 2.7 to 6 times as long (Labels
25 µs against 9, a MarkerArray 434 against 149), to read an observation of 60 numbers 1.6 times, and it
offers what is needed here in private modules only.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

import numpy as np

from skm_machine.errors import SkmError

# The fields of those standard ROS 2 messages that skm's recordings hold, for where no ROS is
# installed.
#
# Field for field those of ROS 2 Jazzy; a test compares them with what is installed there.


STANDARD_TYPES: Final = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec\n",
    "builtin_interfaces/Duration": "int32 sec\nuint32 nanosec\n",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id\n",
    "std_msgs/ColorRGBA": "float32 r\nfloat32 g\nfloat32 b\nfloat32 a\n",
    "std_msgs/Bool": "bool data\n",
    "std_msgs/String": "string data\n",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n",
    "geometry_msgs/Pose": "Point position\nQuaternion orientation\n",
    "sensor_msgs/Image": (
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\n"
        "uint8 is_bigendian\nuint32 step\nuint8[] data\n"
    ),
    "sensor_msgs/CompressedImage": "std_msgs/Header header\nstring format\nuint8[] data\n",
    "unique_identifier_msgs/UUID": "uint8[16] uuid\n",
    "visualization_msgs/UVCoordinate": "float32 u\nfloat32 v\n",
    "visualization_msgs/MeshFile": "string filename\nuint8[] data\n",
    "visualization_msgs/Marker": (
        "int32 ARROW=0\nint32 CUBE=1\nint32 SPHERE=2\nint32 CYLINDER=3\nint32 LINE_STRIP=4\n"
        "int32 LINE_LIST=5\nint32 CUBE_LIST=6\nint32 SPHERE_LIST=7\nint32 POINTS=8\n"
        "int32 TEXT_VIEW_FACING=9\nint32 MESH_RESOURCE=10\nint32 TRIANGLE_LIST=11\n"
        "int32 ARROW_STRIP=12\nint32 ADD=0\nint32 MODIFY=0\nint32 DELETE=2\nint32 DELETEALL=3\n"
        "std_msgs/Header header\nstring ns\nint32 id\nint32 type\nint32 action\n"
        "geometry_msgs/Pose pose\ngeometry_msgs/Vector3 scale\nstd_msgs/ColorRGBA color\n"
        "builtin_interfaces/Duration lifetime\nbool frame_locked\ngeometry_msgs/Point[] points\n"
        "std_msgs/ColorRGBA[] colors\nstring texture_resource\n"
        "sensor_msgs/CompressedImage texture\nUVCoordinate[] uv_coordinates\nstring text\n"
        "string mesh_resource\nMeshFile mesh_file\nbool mesh_use_embedded_materials\n"
    ),
    "visualization_msgs/MarkerArray": "Marker[] markers\n",
}


# Definitions of ROS messages: found, read, and put together as an MCAP schema has them.


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


LITTLE_ENDIAN: Final = b"\x00\x01\x00\x00"
HEADER: Final = len(LITTLE_ENDIAN)
_LENGTH: Final = struct.Struct("<I")

Encode: TypeAlias = Callable[[bytearray, Any], None]
Decode: TypeAlias = Callable[["_Input"], Any]


class Message(SimpleNamespace):
    """A decoded message: an attribute for each field."""


class Codec:
    """One type of message, from its schema."""

    def __init__(self, name: str, schema: str) -> None:
        self.name = short_name(name)
        self.types = read_schema(self.name, schema)
        self._encoders: dict[str, Encode] = {}
        self._decoders: dict[str, Decode] = {}
        self._encode = self._encoder(self.name, 0)
        self._decode = self._decoder(self.name)

    @property
    def constants(self) -> Mapping[str, int | str]:
        """The constants of the message."""
        return self.types[self.name].constants

    def encode(self, value: Mapping[str, Any]) -> bytes:
        """Return a message as bytes."""
        out = bytearray(LITTLE_ENDIAN)
        try:
            self._encode(out, value)
        except (struct.error, TypeError, ValueError, AttributeError) as error:
            raise RecordingError(f"this is no {self.name}: {error}") from error
        return bytes(out)

    def decode(self, data: bytes) -> Message:
        """Return the message that bytes hold."""
        try:
            message: Message = self._decode(_Input(data, self.name))
        except (struct.error, ValueError, UnicodeDecodeError, IndexError) as error:
            raise RecordingError(f"a {self.name} cannot be read: {error}") from error
        return message

    # Encoding

    def _encoder(self, name: str, depth: int) -> Encode:
        if name not in self._encoders:
            if depth > len(self.types):
                raise RecordingError(f"{name} holds itself")
            made = [(f.name, self._field_encoder(f, depth)) for f in self.types[name].fields]
            self._encoders[name] = _struct_encoder(name, made)
        return self._encoders[name]

    def _field_encoder(self, field: Field, depth: int) -> Callable[[bytearray, Any, bool], None]:
        one = self._element_encoder(field.kind, depth)
        if field.length is None:
            zero = _default(field)

            def plain(out: bytearray, value: Any, given: bool) -> None:  # noqa: ANN401
                one(out, value if given else zero)

            return plain
        number, length = PRIMITIVES.get(field.kind), field.length

        def array(out: bytearray, value: Any, given: bool) -> None:  # noqa: ANN401
            elements = value if given else [_zero(field.kind)] * max(length, 0)
            if length < 0:
                _align(out, 4)
                out += _LENGTH.pack(len(elements))
            elif len(elements) != length:
                raise RecordingError(f"{field.name} has {len(elements)} elements, not {length}")
            if number is None:
                for element in elements:
                    one(out, element)
            elif len(elements):
                _align(out, struct.calcsize(number))
                if isinstance(elements, bytes | bytearray):
                    out += elements
                else:
                    out += np.asarray(elements, np.dtype(f"<{number}")).tobytes()

        return array

    def _element_encoder(self, kind: str, depth: int) -> Encode:
        if kind == "string":
            return _encode_string
        if kind in PRIMITIVES:
            return _number_encoder(PRIMITIVES[kind])
        return self._encoder(kind, depth + 1)

    # Decoding

    def _decoder(self, name: str) -> Decode:
        if name not in self._decoders:
            made = [(field.name, self._field_decoder(field)) for field in self.types[name].fields]

            def decode(data: _Input) -> Message:
                if not made:
                    data.number("B")
                return Message(**{field: read(data) for field, read in made})

            self._decoders[name] = decode
        return self._decoders[name]

    def _field_decoder(self, field: Field) -> Decode:
        if field.kind == "string":
            one: Decode = _Input.string
        elif field.kind in PRIMITIVES:
            letter = PRIMITIVES[field.kind]
            if field.length is not None:
                return lambda data: data.numbers(letter, field.length)
            return lambda data: data.number(letter)
        else:
            one = self._decoder(field.kind)
        if field.length is None:
            return one

        def several(data: _Input) -> list[Any]:
            return [one(data) for _ in range(data.count(field.length))]

        return several


class _Input:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes, name: str) -> None:
        if data[:2] != LITTLE_ENDIAN[:2]:
            raise RecordingError(f"a {name} is not in little-endian CDR")
        self._data = memoryview(data)[HEADER:]
        self._at = 0

    def _take(self, size: int, align: int) -> memoryview:
        start = self._at + -self._at % align
        self._at = start + size
        if self._at > len(self._data):
            raise RecordingError("a message is shorter than its definition says")
        return self._data[start : self._at]

    def number(self, letter: str) -> Any:  # noqa: ANN401 - int, float or bool
        size = struct.calcsize(letter)
        return struct.unpack(f"<{letter}", self._take(size, size))[0]

    def count(self, length: int | None) -> int:
        """Return how many elements follow; each takes at least a byte."""
        if length is not None and length >= 0:
            return length
        count = int(self.number("I"))
        if count > len(self._data) - self._at:
            raise RecordingError(f"a message says that {count} elements follow, which do not")
        return count

    def numbers(self, letter: str, length: int | None) -> Any:  # noqa: ANN401 - bytes or an array
        count, size = self.count(length), struct.calcsize(letter)
        if not count:
            return b"" if letter == "B" else np.zeros(0, np.dtype(letter))
        data = self._take(count * size, size)
        return bytes(data) if letter == "B" else np.frombuffer(data, np.dtype(f"<{letter}")).copy()

    def string(self) -> str:
        size = int(self.number("I"))
        if not size:
            return ""
        return bytes(self._take(size, 1)[:-1]).decode("utf-8")


def _struct_encoder(
    name: str, fields: list[tuple[str, Callable[[bytearray, Any, bool], None]]]
) -> Encode:
    names = frozenset(field for field, _ in fields)

    def encode(out: bytearray, value: Mapping[str, Any]) -> None:
        if value and not names.issuperset(value):
            strange = ", ".join(sorted(set(value) - names))
            raise RecordingError(f"{name} has no field {strange}")
        if not fields:
            out += b"\x00"
        for field, put in fields:
            put(out, value.get(field), field in value)

    return encode


def _align(out: bytearray, size: int) -> None:
    out += bytes(-(len(out) - HEADER) % size)


@cache
def _number_encoder(letter: str) -> Encode:
    packed, size = struct.Struct(f"<{letter}"), struct.calcsize(letter)

    def encode(out: bytearray, value: Any) -> None:  # noqa: ANN401
        _align(out, size)
        out += packed.pack(value)

    return encode


def _encode_string(out: bytearray, value: str) -> None:
    data = value.encode("utf-8")
    _align(out, 4)
    out += _LENGTH.pack(len(data) + 1) + data + b"\x00"


def _zero(kind: str) -> Any:  # noqa: ANN401
    return "" if kind == "string" else 0 if kind in PRIMITIVES else {}


def _default(field: Field) -> Any:  # noqa: ANN401
    if not field.default or field.kind not in PRIMITIVES:
        return field.default.strip("\"'") if field.kind == "string" else _zero(field.kind)
    text = field.default
    if field.kind == "bool":
        return text.lower() in ("true", "1")
    return float(text) if field.kind.startswith("float") else int(text)


@cache
def codec_of(name: str) -> Codec:
    """Return the codec of a message that skm writes, such as `skm/Labels`."""
    return Codec(name, schema_text(name))


def message_type(name: str) -> MessageType:
    """Return fields and constants of a message that skm writes."""
    return codec_of(name).types[short_name(name)]


# The words for numbers in skm's messages, for readers without ROS.
#
# A test compares them with the constants of the messages.


PHASES: Final = ("waiting", "idle", "preparing", "running", "stopped")
"""`MachineState.phase`."""
OUTCOMES: Final = (
    "unknown",
    "accepted",
    "failed",
    "cancelled",
    "preempted",
    "timed out",
    "rejected",
    "error",
    "no progress",
    "satisfied so far",
)
"""`outcome` of `ExecuteMission`'s result."""
LEVELS: Final = ("ok", "warning", "error", "stale")
"""`level` of `diagnostic_msgs/DiagnosticStatus`."""
SHAPES: Final = {0: "arrow", 1: "cube", 2: "sphere", 3: "cylinder", 9: "text"}
"""`type` of `visualization_msgs/Marker`, as far as scenes have them."""
ADD, DELETE_ALL = 0, 3
"""`action` of `visualization_msgs/Marker`."""
STOP, DISCRETE, CONTINUOUS = 0, 1, 2
"""`kind` of `Action`."""
BEGAN, WENT_ON, ENDED, RESUMED = 0, 1, 2, 3
"""`kind` of `MissionLog`."""


def word(words: tuple[str, ...], number: int) -> str:
    """Return the word for a number; the number itself if there is none."""
    return words[number] if 0 <= number < len(words) else str(number)
