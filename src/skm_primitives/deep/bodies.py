"""How a learner sees and moves in a domain: features of observations, and a warp of actions.

The environment stays as it is; a *body* sits on the learner's side. `GenericBody` fits any domain
with boxes of numbers; a domain that deserves better names its own in its spec.
"""

from __future__ import annotations

from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_sim.arrays import Float32Array
from skm_sim.domain import DomainSpec


class Body(Protocol):
    """The learner's side of a robot with a box of observations and a box of actions."""

    inputs: int
    """How many features there are."""
    observations: int
    """How many numbers an observation has."""
    actions: Float32Array
    """`(count, dimensions)`: a choice of environment actions, for learners with discrete ones."""

    def features(self, observations: NDArray[Any]) -> Float32Array:
        """Return the networks' inputs `(n, inputs)` for observations `(n, observations)`."""
        ...

    def action(self, controls: Float32Array) -> Float32Array:
        """Return environment actions for a continuous learner's controls, `(n, dimensions)`.

        Controls are in [-1, 1]; where the actuators respond unevenly, this evens them out.
        """
        ...

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:
        """Return options for the reset of a batch in training, such as which worlds to start in."""
        ...


class GenericBody:
    """Observations as they are, actions as they are, and a grid of three values a dimension."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        seen, acted = env.observation_space, env.action_space
        if not isinstance(seen, Box) or len(seen.shape) != 1:
            raise SkmError(f"the network learner wants a flat box of observations, not {seen}.")
        if not isinstance(acted, Box) or len(acted.shape) != 1 or acted.shape[0] > 4:
            raise SkmError(f"the network learner wants a box of at most 4 actions, not {acted}.")
        self.inputs = self.observations = seen.shape[0]
        self._low, self._high = acted.low.astype(np.float32), acted.high.astype(np.float32)
        axes = [np.linspace(low, high, 3) for low, high in zip(self._low, self._high, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        self.actions: Float32Array = grid.reshape(-1, len(axes)).astype(np.float32)

    def features(self, observations: NDArray[Any]) -> Float32Array:
        """Return the observations."""
        return np.asarray(observations, np.float32)

    def action(self, controls: Float32Array) -> Float32Array:
        """Return the controls, scaled to the box."""
        scaled: Float32Array = self._low + (controls + 1) / 2 * (self._high - self._low)
        return scaled

    def reset_options(self, random: np.random.Generator, count: int) -> dict[str, Any]:  # noqa: ARG002
        """Return none: the environment draws its own worlds."""
        return {}


def body_for(spec: DomainSpec) -> Body:
    """Return the body of a domain."""
    own = spec.part("body")
    if own is not None:
        body: Body = own()
        return body
    env = spec.make()
    try:
        return GenericBody(env.unwrapped)
    finally:
        env.close()
