"""Things named by where they are, `package.module:ATTRIBUTE`, and imported when they are used."""

from __future__ import annotations

import importlib
from typing import Any


def load_attribute(location: str) -> Any:  # noqa: ANN401 - whatever is there
    """Import what a location names; a wrong one raises ImportError or AttributeError."""
    module, _, attribute = location.partition(":")
    return getattr(importlib.import_module(module), attribute)
