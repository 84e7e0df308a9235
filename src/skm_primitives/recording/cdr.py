"""Messages ⇄ bytes in CDR, by their definitions, as ROS 2 has them on the wire: no ROS is needed.

Values go in as mappings (what is left out has its default), and come out as `Message`s.
Nothing in a recording is executed; what does not fit its definition is an error.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

import numpy as np

from skm_primitives.recording.definitions import (
    PRIMITIVES,
    Field,
    MessageType,
    RecordingError,
    read_schema,
    schema_text,
    short_name,
)

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
