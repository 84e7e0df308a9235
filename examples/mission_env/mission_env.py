"""One mission learned by Stable-Baselines3, which knows nothing of missions: `MissionEnv`.

python mission_env.py            # 10,000 steps; prints the rate of success, and that of random actions
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np

from skm_primitives import MissionEnv
from skm_sim import label_env

PLACES = {"hut": 0, "pier": 2, "tree": 9}
MISSION = "F(tree & X F hut) & G !pier"


def make() -> MissionEnv:
    """Return the mission on Gymnasium's FrozenLake: to the tree and back to the hut, no pier."""
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    predicates = {
        name: lambda observation, info, env, cell=cell: observation == cell
        for name, cell in PLACES.items()
    }
    return MissionEnv(label_env(lake, predicates), MISSION, max_steps=40)


def success(env: MissionEnv, policy: Any, episodes: int = 100) -> float:
    """Return how often a policy, from observations to actions, fulfils the mission."""
    wins = 0
    for seed in range(episodes):
        observation, info = env.reset(seed=seed)
        over = cut = False
        while not (over or cut):
            observation, _, over, cut, info = env.step(policy(observation))
        wins += info["is_success"]
    return wins / episodes


def learn(steps: int) -> Any:
    """Return a policy that Stable-Baselines3's DQN has learned in so many steps."""
    from stable_baselines3 import DQN  # noqa: PLC0415 - all else is of use without it

    model = DQN(
        "MlpPolicy",
        make(),
        gamma=0.95,
        learning_rate=1e-3,
        exploration_fraction=0.5,
        exploration_final_eps=0.1,
        learning_starts=500,
        target_update_interval=250,
        seed=0,
    )
    model.learn(steps)
    return lambda observation: int(model.predict(np.asarray(observation), deterministic=True)[0])


def main() -> None:
    """Learn, and say how well."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    env = make()
    env.action_space.seed(0)
    print(f"random: success {success(env, lambda _: env.action_space.sample()):.2f}")
    print(f"DQN after {steps} steps: success {success(env, learn(steps)):.2f}")


if __name__ == "__main__":
    main()
