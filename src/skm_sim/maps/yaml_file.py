"""YAML files that people write: read, and checked with sentences that say where and what."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml

from skm_machine.errors import SkmError, did_you_mean

MOST_BYTES: Final = 10_000_000
MOST_DEPTH: Final = 100
"""Brackets within brackets: PyYAML takes time by the square of their number."""
MOST_VALUES: Final = 100_000
"""Values that a file may hold."""


class MapError(SkmError):
    """A map or a places file that cannot be used; the message says what would be right."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MapError(f"cannot read {path}: {_reason(error)}") from error
    if len(data) > MOST_BYTES:
        raise MapError(f"{path} is larger than {MOST_BYTES} bytes: this is not a file of skm.")
    try:
        found = yaml.load(text, Loader=_UniqueKeys)
        _check_size(found)
    except RecursionError:
        raise MapError(f"{path}: this is not valid YAML: it is nested too deep") from None
    except (
        yaml.YAMLError,
        ValueError,
        OverflowError,
    ) as error:  # a date of a 13th month, 1e400 digits
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = getattr(error, "problem", None) or str(error).split("\n", maxsplit=1)[0][:200]
        raise MapError(f"{path}{where}: this is not valid YAML: {what}") from error
    if not isinstance(found, dict):
        kind = "empty" if found is None else f"a {type(found).__name__}"
        raise MapError(f"{path} must hold keys with values, such as `cell: 0.25`; it is {kind}.")
    return {str(key): value for key, value in found.items()}


def _check_size(document: object) -> None:
    """Refuse what is small as a text and, by aliases of aliases, beyond all measure when written out."""
    sizes: dict[int, int] = {}

    def size(value: object) -> int:
        if not isinstance(value, list | dict):
            return 1
        if id(value) not in sizes:
            sizes[id(value)] = MOST_VALUES  # for as long as it is not known: an alias of itself
            parts = value if isinstance(value, list) else [*value, *value.values()]
            sizes[id(value)] = 1 + sum(map(size, parts))
        return sizes[id(value)]

    if size(document) > MOST_VALUES:
        raise ValueError(f"with its aliases written out it holds more than {MOST_VALUES} values")


class _UniqueKeys(yaml.SafeLoader):  # type: ignore[misc]
    """Reads YAML as `safe_load` does, but a key that is there twice is an error, not lost."""

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        """Take an opening bracket."""
        if self.flow_level >= MOST_DEPTH:
            problem = "it is nested too deep"
            raise yaml.scanner.ScannerError(None, None, problem, self.get_mark())
        super().fetch_flow_collection_start(token)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping whose keys are all different."""
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                problem = f"the key '{name}' is there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(name)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def check_keys(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Refuse keys that are not known, naming the nearest that is."""
    for key in given:
        if key not in known:
            raise MapError(f"{where}: unknown key '{key}'{did_you_mean(str(key), known)}")


def number(value: object, where: str, *, positive: bool = False) -> float:
    """Return a finite number, or say that this is none."""
    found = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):  # of a whole number of hundreds of digits
            found = float(value)
    if not math.isfinite(found):
        raise MapError(f"{where} must be a number, not {reprlib.repr(value)}.")
    if positive and found <= 0:
        raise MapError(f"{where} must be greater than 0, not {value!r}.")
    return found


def numbers(value: object, names: str, where: str) -> tuple[float, ...]:
    """Return a list of as many numbers as `names` has words, such as `x, y, r`."""
    count = len(names.split(", "))
    if not isinstance(value, list | tuple) or len(value) != count:
        raise MapError(f"{where} must be [{names}], {count} numbers, not {value!r}.")
    return tuple(
        number(part, f"{where}: {name}")
        for name, part in zip(names.split(", "), value, strict=True)
    )
