"""Success of single skills on worlds that are the same at every validation."""

from __future__ import annotations

import gymnasium
import numpy as np

from skm_primitives.composition import GoalPredicate, goal_mask
from skm_primitives.deep.algorithm import Algorithm
from skm_primitives.deep.body import Body
from skm_primitives.deep.goal_space import HEADS, GoalSpace
from skm_sim.domain import DomainSpec

VALIDATION_SEED = 90_001
"""Validation worlds are drawn from here; reports use other seeds."""


class Literal:
    """The skill of making one proposition true, with or without touching any constraint."""

    def __init__(self, name: str) -> None:
        self._name = name

    def satisfied_by(self, labels: frozenset[str], violated: frozenset[str]) -> bool:  # noqa: ARG002
        """Tell whether the proposition holds."""
        return self._name in labels


class Validator:
    """A batch of worlds for every skill of a domain, pursued by the averaged networks.

    In the Safety domain the skills are those that the primitives are judged by, on feasible
    layouts; elsewhere, each proposition on its own, in worlds as they come.
    """

    def __init__(self, spec: DomainSpec, worlds: int) -> None:
        self._spec = spec
        self._worlds = worlds
        self._layouts: list[object] = []
        self._skills: dict[str, GoalPredicate] = {name: Literal(name) for name in spec.propositions}
        if spec.name == "safety":
            from skm_sim.safety.feasibility import SKILLS, sample_feasible  # noqa: PLC0415

            self._skills = dict(SKILLS)
            random = np.random.default_rng(VALIDATION_SEED)
            self._layouts = [sample_feasible(random, worlds, [s])[0] for s in SKILLS.values()]
        self._env = gymnasium.make_vec(spec.env_id, num_envs=worlds * len(self._skills))

    def scores(self, algorithm: Algorithm, body: Body, space: GoalSpace) -> dict[str, float]:
        """Return the success of each skill, and as `validation` their mean."""
        goals = space.goals()
        options = {}
        if self._layouts:
            from skm_sim.safety.layout import Layout, concatenate  # noqa: PLC0415

            options["layout"] = concatenate([x for x in self._layouts if isinstance(x, Layout)])
        observation, info = self._env.reset(seed=VALIDATION_SEED, options=options)
        count = len(self._skills) * self._worlds
        masks = np.zeros((count, space.capacity, HEADS), np.bool_)
        for index, skill in enumerate(self._skills.values()):
            rows = slice(index * self._worlds, (index + 1) * self._worlds)
            masks[rows, : len(space)] = goal_mask(skill, goals).reshape(-1, HEADS)
        slots = space.discover(info["labels"])
        succeeded = np.zeros(count, np.bool_)
        for _ in range(self._spec.primitive_steps):
            action = algorithm.choose(body.features(observation), masks)
            observation, _, _, _, info = self._env.step(algorithm.to_environment(action))
            next_slots = space.discover(info["labels"])
            achieved, alive = space.outcomes(slots, next_slots)
            succeeded |= (masks & achieved).any((1, 2))
            masks &= alive
            slots = next_slots
        rates = succeeded.reshape(len(self._skills), -1).mean(1).tolist()
        scores = dict(zip(self._skills, map(float, rates), strict=True))
        return {"validation": float(np.mean(rates)), **scores}
