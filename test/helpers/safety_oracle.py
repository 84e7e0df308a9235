"""Roll-outs that both simulators of the Safety domain can be put through, and a way to record them.

`python test/helpers/safety_oracle.py` runs them in the real safety-gymnasium (see the README for how to
install it) and writes what it observed to `test/data/safety_gymnasium.npz`, which the tests compare
with.
"""

from pathlib import Path

import numpy as np

from skm_sim.safety.layout import Layout, sample_layouts

RECORD = Path(__file__).parents[1] / "data" / "safety_gymnasium.npz"
STEPS = 60
FREE = 3
"""Roll-outs in arenas drawn at random; one more drives straight into a button and pushes on."""


def arenas():
    """Return the arenas of all roll-outs."""
    drawn = sample_layouts(np.random.default_rng(20), FREE)
    head_on = Layout(
        np.array([-0.6, 0.02, 0.0]),
        np.array([[0.0, 0.0], [1.5, 1.5], [-1.5, 1.5], [1.5, -1.5]]),
        np.array([[0.5, 0.5], [-1.0, -1.0]]),
        np.array(0),
    )
    return [drawn[i] for i in range(FREE)] + [head_on]


def actions():
    """Return `(roll-outs, STEPS, 2)`: wild driving, held for a few steps; then straight ahead."""
    random = np.random.default_rng(21)
    wild = np.repeat(random.uniform(-1, 1, (FREE, STEPS // 4, 2)), 4, axis=1)
    return np.concatenate([wild, np.full((1, STEPS, 2), [0.05, 0.0])])


def roll_out(env):
    """Return the observations `(roll-outs, STEPS + 1, 60)`, and when the robot touched something."""
    seen, touched = [], []
    for layout, driving in zip(arenas(), actions(), strict=True):
        observation, _ = env.reset(options={"layout": layout})
        observations, touches = [observation], [False]
        for action in driving:
            observations.append(env.step(action)[0])
            touches.append(getattr(env, "touching", False))
        seen.append(observations)
        touched.append(touches)
    return np.array(seen), np.array(touched)


if __name__ == "__main__":
    from skm_sim.safety.gymnasium_backend import SafetyGymnasiumEnv

    observations, touched = roll_out(SafetyGymnasiumEnv())
    np.savez_compressed(RECORD, observations=observations, touched=touched)
    print(f"{RECORD}: {observations.shape}, touching in {int(touched.sum())} states")
