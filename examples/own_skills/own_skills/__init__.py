"""Skills of Stable-Baselines3 for skm: a policy for each spot of a yard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import torch
from stable_baselines3 import DQN

from skm_primitives import PolicySkills
from skm_sim import DomainSpec


class GoTo(gymnasium.Wrapper[Any, Any, Any, Any]):
    """What a policy learns in: 1 on arrival at one spot, 0 before."""

    def __init__(self, env: gymnasium.Env[Any, Any], spot: str) -> None:
        super().__init__(env)
        self.spot = spot

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step; the episode ends on arrival."""
        seen, _, _, truncated, info = self.env.step(action)
        there = self.spot in info["labels"]
        return seen, float(there), there, truncated, info


def train(spec: DomainSpec, spot: str, steps: int, seed: int = 0) -> DQN:
    """Learn to go to a spot."""
    net = {"net_arch": [64, 64]}
    options = {"learning_starts": 500, "exploration_fraction": 0.5, "target_update_interval": 250}
    world = gymnasium.wrappers.TimeLimit(GoTo(spec.make(), spot), 60)
    model = DQN("MlpPolicy", world, 1e-3, gamma=spec.gamma, policy_kwargs=net, seed=seed, **options)
    return model.learn(steps)


def skill(model: DQN) -> Any:
    """Return a policy for skm: from an observation to the best action and its value."""

    def act(observation: Any) -> tuple[int, float]:
        with torch.no_grad():
            values = model.q_net(model.policy.obs_to_tensor(observation)[0])[0]
        return int(values.argmax()), float(values.max())

    return act


def load(spec: DomainSpec, folder: str) -> PolicySkills:
    """Return the skills in a folder of policies: what `--checkpoint sb3:FOLDER` loads."""
    found = {path.stem: DQN.load(path, device="cpu") for path in sorted(Path(folder).glob("*.zip"))}
    return PolicySkills.of(spec, {spot: skill(model) for spot, model in found.items()})
