"""Pictures of a run as its environment draws them: the last one, or all of them as a film."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skm_cli.output import written
from skm_machine.errors import SkmError
from skm_sim.faults import said

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
            self.frames.append(_picture(env))

    def save(self, env: Any) -> None:  # noqa: ANN401
        """Write the file."""
        if self.path is None:
            return
        from PIL import Image  # noqa: PLC0415

        images = [Image.fromarray(frame) for frame in self.frames or [_picture(env)]]
        more: dict[str, Any] = {
            "save_all": True,
            "append_images": images[1:],
            "duration": [*(FRAME_MILLISECONDS for _ in images[1:]), END_MILLISECONDS],
            "loop": 0,
        }
        with written(self.path) as path:
            images[0].save(path, **(more if path.suffix == ".gif" else {}))


def _picture(env: Any) -> Any:  # noqa: ANN401 - what the environment draws
    """Return what an environment draws; where it cannot, say so."""
    try:
        return env.render()
    except Exception as error:
        raise SkmError(f"--render: the environment cannot draw itself ({said(error)}).") from error
