"""What the skills see of an observation: a part of it, as a vector, an image or a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space, Tuple, flatten, flatten_space

from skm_machine.errors import did_you_mean
from skm_sim.faults import DomainError

Key: TypeAlias = str | int | Sequence[str] | Sequence[int]
"""A part of a Dict or Tuple, or several, one after the other."""


class Parts:
    """Picks parts of observations, and flattens what is no vector, image or number."""

    def __init__(self, whole: Space[Any], key: Key | None) -> None:
        keys = None if key is None else [key] if isinstance(key, str | int) else list(key)
        self._keys = keys
        self._single = isinstance(key, str | int)
        part = whole if keys is None else self._part_space(whole, keys)
        self._part = part
        self._plain = isinstance(part, Discrete) or is_vector(part) or is_image(part)
        self.space: Space[Any] = part if self._plain else _flat(part)

    def pick(self, observation: Any) -> Any:  # noqa: ANN401 - an observation of any kind
        """Return what is seen of an observation."""
        if self._keys is not None:
            parts = [observation[key] for key in self._keys]
            observation = parts[0] if self._single else tuple(parts)
        return observation if self._plain else flatten(self._part, observation)

    def _part_space(self, whole: Space[Any], keys: list[Any]) -> Space[Any]:
        if not isinstance(whole, Dict | Tuple):
            raise DomainError(f"observation_key is for Dict and Tuple observations, not {whole}.")
        known = list(whole.spaces) if isinstance(whole, Dict) else list(range(len(whole.spaces)))
        for key in keys:
            if key not in known:
                hint = did_you_mean(str(key), map(str, known))
                raise DomainError(f"the observation has no part '{key}'{hint}")
        parts = [whole.spaces[key] for key in keys]
        return parts[0] if self._single else Tuple(parts)


def is_vector(space: Space[Any]) -> bool:
    """Tell whether a space is a flat box of numbers."""
    return isinstance(space, Box) and len(space.shape) == 1


def is_image(space: Space[Any]) -> bool:
    """Tell whether a space is that of pictures: bytes in three dimensions."""
    return isinstance(space, Box) and len(space.shape) == 3 and space.dtype == np.uint8


def _flat(space: Space[Any]) -> Space[Any]:
    flat: Space[Any]
    try:
        flat = flatten_space(space)
    except NotImplementedError:
        flat = space
    if not isinstance(flat, Box):
        raise DomainError(f"observations of {space} have no fixed length: pick a part of them.")
    return flat


def space_problems(env: gymnasium.Env[Any, Any]) -> list[str]:
    """Return why no generic learner fits an environment's spaces: a sentence each, none if one does."""
    seen, acted = env.observation_space, env.action_space
    problems = []
    if is_image(seen):
        if isinstance(acted, Box):
            problems.append(
                f"Pictures ({seen}) are learned from with a choice of actions (Discrete), not with"
                f" {acted}; observe a vector, or name a learner of the domain's own (`learner`)."
            )
    elif not isinstance(seen, Discrete) and not is_vector(seen):
        problems.append(
            f"Observe one number of a few (Discrete) or a flat box of numbers, not {seen};"
            " skm_sim.label_env picks a part (observation_key) or flattens it."
        )
    if isinstance(seen, Discrete) and not isinstance(acted, Discrete):
        problems.append(f"Observe a box of numbers where actions are {acted}: tables need choices.")
    elif isinstance(acted, Box):
        if len(acted.shape) != 1 or not acted.is_bounded():
            problems.append(f"Make the box of actions flat and bounded, not {acted}.")
    elif not isinstance(acted, Discrete):
        problems.append(f"Act by a choice (Discrete) or by a flat, bounded Box, not {acted}.")
    for space, what in ((seen, "observations"), (acted, "actions")):
        if isinstance(space, Discrete) and space.start != 0:
            problems.append(f"Count {what} from 0, not from {space.start}.")
    return problems
