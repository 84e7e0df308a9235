"""Success of single skills on worlds that are the same at every validation."""

from __future__ import annotations

import numpy as np

from skm_primitives.composition import goal_mask
from skm_primitives.deep.algorithm import Algorithm
from skm_primitives.deep.bodies import Body
from skm_primitives.deep.goal_space import GoalSpace
from skm_sim.domain import DomainSpec
from skm_sim.trials import skill_trials

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

    def scores(self, algorithm: Algorithm, body: Body, space: GoalSpace) -> dict[str, float]:
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
            action = algorithm.choose(body.features(observation), masks)
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
