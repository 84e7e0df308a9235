"""Skills of Stable-Baselines3 for skm: a policy for each spot of a yard."""

from __future__ import annotations

from pathlib import Path

from stable_baselines3 import DQN

from skm_primitives import PolicySkills, make_goal_env, sb3_policy
from skm_sim import DomainSpec


def train(spec: DomainSpec, spot: str, steps: int, seed: int = 0) -> DQN:
    """Learn to go to a spot."""
    net = {"net_arch": [64, 64]}
    options = {"learning_starts": 500, "exploration_fraction": 0.5, "target_update_interval": 250}
    world = make_goal_env(spec, spot, max_steps=60)
    model = DQN("MlpPolicy", world, 1e-3, gamma=spec.gamma, policy_kwargs=net, seed=seed, **options)
    return model.learn(steps)


def load(spec: DomainSpec, folder: str) -> PolicySkills:
    """Return the skills in a folder of policies: what `--checkpoint sb3:FOLDER` loads."""
    files = sorted(Path(folder).glob("*.zip"))
    models = {file.stem: DQN.load(file, device="cpu") for file in files}
    return PolicySkills.of(spec, {spot: sb3_policy(model) for spot, model in models.items()})
