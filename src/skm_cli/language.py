"""The language of what commands say."""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "SKM_LANGUAGE"
"""Of the environment; see `skm_primitives.execution.phrases.chosen_language`."""


def said(text: str) -> str:
    """Return a sentence in the language that was chosen; nothing is imported where none was."""
    if VARIABLE not in os.environ:
        return text
    from skm_primitives.execution.german import translated  # noqa: PLC0415
    from skm_primitives.execution.phrases import chosen_language  # noqa: PLC0415

    words = text.lstrip()
    return text[: len(text) - len(words)] + translated(words, chosen_language())
