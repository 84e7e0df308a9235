"""One skill by itself, pursued in many worlds at once: how often it succeeds, and how soon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skm_primitives.planning.options import Options
from skm_primitives.skills.composition import goal_mask
from skm_primitives.skills.network_skills import NetworkSkills
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.spec import DomainSpec
from skm_sim.trials import GoalPredicate


@dataclass(frozen=True)
class SkillRuns:
    """What came of pursuing a skill, an entry for every world."""

    succeeded: BoolArray
    steps: IntArray
    """Steps to success; the limit where there was none."""
    predicted: Float32Array
    """The value at the start: γ to the steps that it was thought to take, less one."""
    poses: FloatArray
    """`(steps + 1, worlds, …)`: where the robots were, if the environment tells."""


def run_skill(
    primitives: NetworkSkills,
    spec: DomainSpec,
    skill: GoalPredicate,
    options: dict[str, Any],
    worlds: int,
    steps: int,
    seed: int = 0,
) -> SkillRuns:
    """Pursue a skill in a batch of worlds, reset with these options, for some steps."""
    env = spec.make_batch(worlds)
    observation, info = env.reset(seed=seed, options=options or None)
    space, wanted = primitives.space.copy(), goal_mask(skill, primitives.goals)
    pursuit, served = Options(primitives.gamma, worlds), space.served()
    slots = space.discover(info["labels"])
    violated, succeeded = np.zeros(worlds, np.int64), np.zeros(worlds, np.bool_)
    taken = np.full(worlds, steps)
    predicted: Float32Array = np.zeros(worlds, np.float32)
    over = np.zeros(worlds, np.bool_)
    poses = [getattr(env, "pose", np.zeros((worlds, 0)))]
    for step in range(steps):
        asked = np.broadcast_to(wanted, (worlds, len(wanted)))
        values = primitives.batch_values(observation, violated, asked)
        chosen = pursuit.choose(values, wanted)
        if step == 0:
            predicted = chosen.value
        observation, _, ended, cut, info = env.step(primitives.commands(chosen.action))
        following = space.discover(info["labels"])
        achieved = space.outcomes(slots, following)[0].reshape(worlds, -1)[:, served]
        possible = wanted & primitives.possible(violated) & ~over[:, None]
        over |= ended | cut  # What follows is another world.
        arrived = (achieved & possible).any(1) & ~succeeded
        taken[arrived] = step + 1
        succeeded |= arrived
        violated |= space.changed(slots, following)
        slots = following
        poses.append(getattr(env, "pose", poses[0]))
    env.close()
    return SkillRuns(succeeded, taken, predicted, np.stack(poses))
