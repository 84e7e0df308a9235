"""JSON that others wrote: whatever is wrong with it is a `ValueError`."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:  # noqa: ANN401 - any JSON document
    """Return a JSON document as `json.loads` does; one that is nested too deep is a ValueError, too."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
