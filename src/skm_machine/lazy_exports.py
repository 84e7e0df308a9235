"""Public API lists: names that are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose modules, its `modules`, define these names."""
    where = {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    def find(name: str) -> Any:  # noqa: ANN401 (whatever it is)
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(where[name]), name)

    return find
