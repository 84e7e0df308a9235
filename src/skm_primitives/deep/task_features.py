"""What a few-shot learner sees of a state: how near every goal is, and what the robot observes.

How near goals are is what the skills know already, so little is left to learn. Where observations are
numbers, they are added as the network learner of the domain sees them; pictures are seen through the
skills alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_primitives.deep.bodies import Body, GenericBody, body_for
from skm_primitives.planning.policy import best_of_goals
from skm_primitives.primitives import AnyGoalValues, GoalValues
from skm_sim.arrays import Float32Array
from skm_sim.domain import DomainSpec
from skm_sim.observation_parts import is_image

NEAR: Final = (0.95, 0.8)
"""A goal k steps away is seen as these to the power of k: what is far, and what is near."""


class TaskFeatures:
    """Turns observations and the values of goals into the inputs of a network."""

    def __init__(self, spec: DomainSpec, gamma: float) -> None:
        env = spec.make()
        picture = is_image(env.observation_space)
        env.close()
        self._body: Body | None = None if picture else body_for(spec)
        self._powers = [np.float32(np.log(base) / np.log(gamma)) for base in NEAR]

    def __call__(self, observation: NDArray[Any], values: AnyGoalValues) -> Float32Array:
        """Return the inputs for one state."""
        if isinstance(values, GoalValues):
            known = [np.maximum(values.move, values.stop)]
            known += [] if values.onward is None else [values.onward]
        else:
            known = [best_of_goals(values)[1]]
        flat = np.clip(np.concatenate([part.reshape(-1) for part in known]), 0, 1)
        parts = [flat**power for power in self._powers]
        if self._body is not None:
            parts.append(self._body.features(np.asarray(observation)[None])[0])
        return np.concatenate(parts).astype(np.float32)

    def look(self, observations: NDArray[Any]) -> None:
        """Find out in what range observations are, where the domain does not say."""
        if isinstance(self._body, GenericBody):
            self._body.look(observations)

    def arrays(self) -> dict[str, Float32Array]:
        """Return that range, for a checkpoint."""
        return self._body.arrays() if isinstance(self._body, GenericBody) else {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `arrays` gave."""
        if isinstance(self._body, GenericBody):
            self._body.restore(arrays)
