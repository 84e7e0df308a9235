"""Label sets as people write them."""

from __future__ import annotations

from collections.abc import Collection


def labels_text(labels: Collection[str]) -> str:
    """Return a label set as text: `{coffee, mail}`."""
    return "{" + ", ".join(sorted(labels)) + "}"
