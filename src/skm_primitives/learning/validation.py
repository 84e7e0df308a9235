"""Success of single skills on worlds that are the same at every validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_primitives.learning.dqn import Algorithm
from skm_primitives.planning.options import Options
from skm_primitives.skills.composition import goal_mask
from skm_primitives.skills.encoders import ObservationEncoder
from skm_primitives.skills.goal_space import (
    FREE,
    MANY_GOALS,
    STRICT,
    AnyAvoidGoals,
    GoalSpace,
)
from skm_primitives.skills.network_skills import NetworkSkills
from skm_sim.arrays import BoolArray, Float32Array
from skm_sim.faults import check_finite
from skm_sim.spec import DomainSpec
from skm_sim.trials import skill_trials

# How good served primitives are: success of single skills, calibration, what lies behind goals.


GOAL_TO_GOAL_SEED = 70_001
AVOIDING_STATES = 32
"""States of each label set in which it is measured what it costs to avoid each constraint."""


def goal_to_goal(
    primitives: NetworkSkills, spec: DomainSpec, worlds: int = 256, seed: int = GOAL_TO_GOAL_SEED
) -> tuple[Float32Array, BoolArray, Float32Array | None]:
    """Return `[g1, g2]`: the mean value of reaching g2 from states in which g1 was just achieved.

    No constraint counts as violated there, as at the start of a machine's state. Measured in worlds
    as they come, one episode each in pursuit of random sets of goals; 0 for what did not come up. It
    is the same for all g1 of the same labels: beyond `MANY_GOALS` there is one row for each label set.
    Also return `[label set]`: whether the world ended each time that it was shown; and, where any avoid
    set can be asked for, `GoalToGoal.avoiding`.
    """
    env = spec.make_batch(worlds)
    random = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    space, count = primitives.space.copy(), len(primitives.goals)
    used, served = len(space), space.served()
    total, arrivals, last = np.zeros((used, count)), np.zeros(used), np.zeros(used)
    over = np.zeros(worlds, np.bool_)
    pursuit = Options(primitives.gamma, worlds)
    slots = space.discover(info["labels"])
    unharmed = np.zeros(worlds, np.int64)
    masks = _served_masks(space, random, worlds)
    seen: list[list[NDArray[Any]]] = [[] for _ in range(used)]
    for _ in range(spec.primitive_steps):
        wanted = masks.reshape(worlds, -1)[:, served]
        values = primitives.batch_values(observation, unharmed, wanted)
        chosen = pursuit.choose(values, wanted)
        observation, _, ended, cut, info = env.step(primitives.commands(chosen.action))
        check_finite(observation, spec.name, "step()")
        following = space.discover(info["labels"])
        achieved, alive = space.outcomes(slots, following)
        masks = space.fit(masks)
        moved = (slots != following) & ~over & (following < used)
        over = ended | cut
        if moved.any():
            there = primitives.batch_values(observation[moved], unharmed[moved]).value
            there[ended[moved]] = 0
            np.add.at(total, following[moved], there)
            np.add.at(arrivals, following[moved], 1)
            np.add.at(last, following[moved], ended[moved])
            for state, slot in zip(
                observation[moved & ~ended], following[moved & ~ended], strict=True
            ):
                if len(seen[slot]) < AVOIDING_STATES:
                    seen[slot].append(state)
        done: BoolArray = np.any(masks & achieved, axis=(1, 2)) | ~np.any(
            masks & alive, axis=(1, 2)
        )
        done |= over
        fresh = _served_masks(space, random, worlds)
        masks = np.where(done[:, None, None], fresh, masks & alive)
        pursuit.restart(done)
        slots = following
    env.close()
    mean = total / np.maximum(arrivals, 1)[:, None]
    ends: BoolArray = (arrivals > 0) & (last == arrivals)
    avoiding = _avoiding(primitives, seen) if isinstance(space, AnyAvoidGoals) else None
    if count > MANY_GOALS:
        return mean.astype(np.float32), ends, avoiding
    rows = np.repeat(mean, space.heads, axis=0)[served]
    return rows.astype(np.float32), ends, avoiding


def _served_masks(space: GoalSpace, random: np.random.Generator, count: int) -> BoolArray:
    """Draw sets of goals to pursue, of those that are served."""
    masks = space.random_masks(random, count)
    if space.served_heads < space.heads:  # What others may not show, the freest goals may.
        free = np.zeros_like(masks)
        free[..., FREE] = masks.any(-1)
        return free
    return masks


def _avoiding(primitives: NetworkSkills, seen: list[list[NDArray[Any]]]) -> Float32Array:
    """Return `GoalToGoal.avoiding`, `[constraint, l, h]`, from states of each label set."""
    space, used = primitives.space, len(seen)
    every = int(space.constraint_masks.sum())
    found: Float32Array = np.zeros((len(space.constraints), used, used), np.float32)
    for slot, states in enumerate(seen):
        if not states:
            continue
        batch = np.stack(states)
        for number, bit in enumerate(space.constraint_masks.tolist()):
            values = primitives.batch_values(batch, np.full(len(batch), every - bit)).value
            found[number, slot] = values.reshape(len(batch), used, -1)[..., STRICT].mean(0)
    return found


VALIDATION_SEED = 90_001
"""Validation worlds are drawn from here; reports use other seeds."""


class Validator:
    """A batch of worlds for every skill of a domain, pursued by the averaged networks.

    The skills are those that the domain's primitives are judged by, in worlds in which they are
    possible; where a domain names none, each proposition on its own, in worlds as they come.
    """

    def __init__(self, spec: DomainSpec, worlds: int) -> None:
        self._spec = spec
        self._worlds = worlds
        trials = skill_trials(spec)
        self._skills = dict(trials.skills)
        random = np.random.default_rng(VALIDATION_SEED)
        self._options = trials.joined(
            [trials.worlds(skill, random, worlds)[0] for skill in self._skills.values()]
        )
        self._env = spec.make_batch(worlds * len(self._skills))

    def scores(
        self, algorithm: Algorithm, encoder: ObservationEncoder, space: GoalSpace
    ) -> dict[str, float]:
        """Return the success of each skill, and as `validation` their mean."""
        goals = space.goals()
        observation, info = self._env.reset(seed=VALIDATION_SEED, options=self._options or None)
        count = len(self._skills) * self._worlds
        flat = np.zeros((count, space.capacity * space.heads), np.bool_)
        for index, skill in enumerate(self._skills.values()):
            rows = slice(index * self._worlds, (index + 1) * self._worlds)
            flat[rows, space.served()] = goal_mask(skill, goals)
        masks = flat.reshape(count, space.capacity, space.heads)
        known = space.copy()
        slots = known.discover(info["labels"])
        succeeded = np.zeros(count, np.bool_)
        for _ in range(self._spec.primitive_steps):
            action = algorithm.choose(encoder.features(observation), masks)
            observation, _, ended, cut, info = self._env.step(algorithm.to_environment(action))
            next_slots = known.discover(info["labels"])
            achieved, alive = (
                part[:, : space.capacity] for part in known.outcomes(slots, next_slots)
            )
            succeeded |= (masks & achieved).any((1, 2))
            masks &= alive & ~(ended | cut)[:, None, None]  # What follows is another world.
            slots = next_slots
            if (succeeded | ~masks.any((1, 2))).all():
                break  # Nothing can change any more.
        rates = succeeded.reshape(len(self._skills), -1).mean(1).tolist()
        scores = dict(zip(self._skills, map(float, rates), strict=True))
        return {"validation": float(np.mean(rates)), **scores}
