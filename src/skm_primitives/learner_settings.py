"""The settings of a learner by name: what there is, what it means, and values given as text."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_args, get_origin, get_type_hints

from skm_machine.errors import SkmError, did_you_mean


@dataclass(frozen=True)
class Setting:
    """One setting: its name, its default and what it means."""

    name: str
    default: Any
    meaning: str


def settings_of(settings: type[Any]) -> list[Setting]:
    """Return the settings of a dataclass, with the text that stands below each in its source."""
    meanings: dict[str, str] = {}
    for cls in reversed(settings.__mro__[:-1]):
        meanings |= _texts(cls)
    return [
        Setting(
            entry.name,
            None if entry.default is MISSING else entry.default,
            meanings.get(entry.name, ""),
        )
        for entry in fields(settings)
    ]


def of_preset(settings: type[Any], name: str | None) -> dict[str, Any]:
    """Return what a preset of the settings has otherwise, its name included; none, if none is asked."""
    if name is None:
        return {}
    known: Mapping[str, Mapping[str, Any]] = getattr(settings, "presets", {})
    if name not in known:
        raise SkmError(f"there is no preset '{name}'{did_you_mean(name, list(known))}")
    return {"preset": name, **known[name]}


def parse_settings(settings: type[Any], texts: Iterable[str]) -> dict[str, Any]:
    """Return `name=value` arguments as values of the types that the settings have."""
    types = get_type_hints(settings)
    known = [entry.name for entry in fields(settings)]
    parsed = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SkmError(f"--set takes name=value, such as agents=16, not '{text}'.")
        if name not in known:
            raise SkmError(f"there is no setting '{name}'{did_you_mean(name, known)}")
        parsed[name] = _value(name, types[name], value)
    return parsed


def _value(name: str, kind: Any, text: str) -> Any:  # noqa: ANN401 - a type, and a value of it
    try:
        if get_origin(kind) is tuple:
            item = get_args(kind)[0]
            return tuple(item(part) for part in text.strip("()[]").split(",") if part.strip())
        if kind is bool:
            return {"true": True, "yes": True, "false": False, "no": False}[text.lower()]
        return kind(text) if kind in (int, float) else text
    except (ValueError, KeyError):
        wanted = {bool: "yes or no", int: "a whole number", float: "a number"}
        what = wanted.get(kind, "numbers with commas between them")
        raise SkmError(f"the setting {name} is {what}, not '{text}'.") from None


def _texts(cls: type[Any]) -> dict[str, str]:
    """Return the strings that stand below the fields of a class."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(below.value.value).split())
    return found
