"""What the skills see of an observation: a part of it, as a vector, an image or a number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

    def __init__(self, whole: Space[Any], key: Key | None, *, one_hot: bool = False) -> None:
        """`one_hot`: numbers of cells become vectors, for actions that tables cannot hold."""
        keys = None if key is None else [key] if isinstance(key, str | int) else list(key)
        self._keys = keys
        self._single = isinstance(key, str | int)
        part = whole if keys is None else self._part_space(whole, keys)
        self._part = part
        cells = isinstance(part, Discrete) and not one_hot
        self._plain = cells or is_vector(part) or is_image(part)
        self.space: Space[Any] = part if self._plain else _flat(part)
        if self._plain and isinstance(part, Discrete) and part.start != 0:
            self.space = Discrete(int(part.n))

    def pick(self, observation: Any) -> Any:  # noqa: ANN401 - an observation of any kind
        """Return what is seen of an observation."""
        if self._keys is not None:
            parts = [observation[key] for key in self._keys]
            observation = parts[0] if self._single else tuple(parts)
        return self._fitted(observation) if self._plain else flatten(self._part, observation)

    def _fitted(self, observation: Any) -> Any:  # noqa: ANN401
        """Return a number or an array of the declared type and shape, a copy: some reuse theirs."""
        space = self._part
        if isinstance(space, Discrete):
            return int(observation) - int(space.start)
        array = np.array(observation, space.dtype)
        if array.size != math.prod(space.shape or ()):
            raise DomainError(f"an observation has the shape {array.shape}, not {space.shape}.")
        return array.reshape(space.shape)

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
    wrapped = "; skm_sim.label_env makes it so."
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
        problems.append(
            f"Observe a box of numbers where actions are {acted}: tables need choices{wrapped}"
        )
    elif isinstance(acted, Box):
        if not acted.is_bounded():
            problems.append(f"Bound the box of actions, not {acted}: which are the least and most?")
        elif len(acted.shape) != 1:
            problems.append(f"Make the box of actions flat, not {acted}{wrapped}")
    elif not isinstance(acted, Discrete):
        problems.append(f"Act by a choice (Discrete) or a flat, bounded Box, not {acted}{wrapped}")
    for space, what in ((seen, "observations"), (acted, "actions")):
        if isinstance(space, Discrete) and space.start != 0:
            problems.append(f"Count {what} from 0, not from {space.start}{wrapped}")
    return problems


@dataclass(frozen=True)
class Misfit:
    """A part of an observation that is not in its space."""

    part: str
    """Where it is: `observation['speed']`."""
    what: str
    fatal: bool
    """Whether nothing can be made of it: a number of no cell, a part that is missing, another size."""
    form: bool = False
    """Whether it is of type or shape only, which `label_env` fixes."""


def misfits(space: Space[Any], value: Any, part: str = "observation") -> Iterator[Misfit]:  # noqa: ANN401
    """Yield what of an observation is not as its space declares it."""
    if isinstance(space, Dict | Tuple):
        named = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        for key, inner in named:
            try:
                yield from misfits(inner, value[key], f"{part}[{key!r}]")
            except (KeyError, IndexError, TypeError):
                yield Misfit(f"{part}[{key!r}]", "is missing", True)
    elif isinstance(space, Box):
        yield from _box_misfits(space, np.asarray(value), part)
    elif value not in space:
        yield Misfit(part, f"is {value!r}, which is not in {space}", True)


def _box_misfits(space: Box, array: Any, part: str) -> Iterator[Misfit]:  # noqa: ANN401
    if array.dtype.kind not in "biuf":
        yield Misfit(part, f"holds {array.dtype}, no numbers", True)
        return
    if not np.isfinite(array).all():
        # What the box itself allows, such as an infinite distance, cannot be learned from either.
        what = "not-a-number" if np.isnan(array).any() else "infinity"
        yield Misfit(part, f"holds {what}; find out where it is made", True)
    if array.shape != space.shape:
        yield Misfit(part, f"has the shape {array.shape}, not {space.shape}", True, form=True)
        return
    if array.dtype != space.dtype:
        loses = not np.can_cast(array.dtype, space.dtype, "same_kind")
        yield Misfit(part, f"has the type {array.dtype}, not {space.dtype}", loses, form=True)
    outside = np.argwhere((array < space.low) | (array > space.high))
    if len(outside):
        at = tuple(outside[0].tolist())
        low, high = space.low[at], space.high[at]
        where = ", ".join(map(str, at))
        yield Misfit(
            part, f"is outside its bounds: [{where}] is {array[at]}, not {low}..{high}", False
        )
