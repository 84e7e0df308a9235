"""Pictures of a run as its environment draws them: the last one, or all of them as a film."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skm_machine.errors import SkmError

FRAME_MILLISECONDS = 120
END_MILLISECONDS = 2000
"""How long a film stays at its last picture."""


class Film:
    """Collects the pictures of a run: all of them for a GIF, the last one for a PNG."""

    def __init__(self, path: Path | None) -> None:
        if path is not None and path.suffix not in (".png", ".gif"):
            raise SkmError(f"--render writes .png or .gif, not '{path.name}'")
        self.path = path
        self.frames: list[Any] = []

    def step(self, env: Any) -> None:  # noqa: ANN401 - any environment that renders
        """Take a picture if every step is wanted."""
        if self.path is not None and self.path.suffix == ".gif":
            self.frames.append(env.render())

    def save(self, env: Any) -> None:  # noqa: ANN401
        """Write the file."""
        if self.path is None:
            return
        from PIL import Image  # noqa: PLC0415

        images = [Image.fromarray(frame) for frame in self.frames or [env.render()]]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        more: dict[str, Any] = {
            "save_all": True,
            "append_images": images[1:],
            "duration": [*(FRAME_MILLISECONDS for _ in images[1:]), END_MILLISECONDS],
            "loop": 0,
        }
        images[0].save(self.path, **(more if self.path.suffix == ".gif" else {}))
