"""A tabular world that draws itself: its picture, with the path of this episode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from skm_sim.arrays import ByteArray
from skm_sim.tabular.environments import TabularEnv
from skm_sim.tabular.model import TabularModel


class PathRenderer(Protocol):
    """Draws a world once, and then a path of cells over it as often as it is asked to."""

    def picture(self, path: Sequence[int]) -> ByteArray:
        """Return the world with the path, `(height, width, 3)` bytes."""
        ...


class DrawnTabularEnv(TabularEnv, ABC):
    """A `TabularEnv` with `render_mode="rgb_array"`; what draws it is made when first asked."""

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium declares it this way)
        "render_modes": ["rgb_array"],
        "render_fps": 10,
    }

    def __init__(self, model: TabularModel, render_mode: str | None = None) -> None:
        super().__init__(model, render_mode)
        self._path: list[int] = []
        self._renderer: PathRenderer | None = None

    @abstractmethod
    def _make_renderer(self) -> PathRenderer:
        """Return what draws this world (matplotlib is slow to import: do it here)."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode, and its path."""
        result = super().reset(seed=seed, options=options)
        self._path = [result[0]]
        return result

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Go to a neighbouring cell; where there is no way, the agent stays."""
        result = super().step(action)
        if self.render_mode is not None:
            self._path.append(result[0])
        return result

    def render(self) -> ByteArray | None:
        """Return the picture as `(height, width, 3)` bytes, or None without a render mode."""
        if self.render_mode is None:
            return None
        if self._renderer is None:
            self._renderer = self._make_renderer()
        return self._renderer.picture(self._path)
