"""One environment made of a batch of one, so that a world is written once."""

from __future__ import annotations

from typing import Any

import gymnasium

from skm_sim.vector import BatchEnv


class OneOfABatch(gymnasium.Env[Any, Any]):
    """The first of a batch; labels are a set of names, as single environments have them."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(self, batch: BatchEnv[Any], render_mode: str | None = None) -> None:
        self.batch = batch
        self.render_mode = render_mode
        self.propositions, self.constraints = batch.propositions, batch.constraints
        self.observation_space = batch.single_observation_space
        self.action_space = batch.single_action_space

    def labels(self) -> frozenset[str]:
        """Return the propositions that are true in the current state."""
        true = self.batch.labels()[0].tolist()
        return frozenset(name for name, holds in zip(self.propositions, true, strict=True) if holds)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode."""
        super().reset(seed=seed)
        given = {name: [value] for name, value in (options or {}).items()}
        observation, _ = self.batch.reset(seed=seed, options=given)
        return observation[0], {"labels": self.labels()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Take an action."""
        seen, _, ended, _, _ = self.batch.step([action])
        return seen[0], 0.0, bool(ended[0]), False, {"labels": self.labels()}
