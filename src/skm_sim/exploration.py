"""The world of a plain environment as arrays: found out by trying every action in every cell."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from skm_sim.spec import DomainError, DomainSpec
from skm_sim.tabular import TabularModel

NEW_STARTS: Final = 100
"""Episodes in a row that may show nothing new before exploring is given up."""
SURE_STEPS: Final = 2000
"""Random steps after that, none of which may contradict what was found."""


def explored_model(spec: DomainSpec, seed: int = 0) -> TabularModel:
    """Return the world of an environment with `Discrete` observations and actions.

    It must be determined by what is observed: no chance, no hidden counters. Where the environment ends
    an episode, the model stays forever. Every cell counts as a start.
    """
    env = spec.make()
    spaces = env.observation_space, env.action_space
    if not all(isinstance(space, Discrete) and space.start == 0 for space in spaces):
        env.close()
        raise DomainError(
            f"'{spec.name}' has no world of finitely many states: its observations and actions must be"
            " Discrete."
        )
    explorer = _Explorer(spec, env, seed)
    explorer.explore()
    explorer.check()
    env.close()
    cells = np.arange(len(explorer.transitions))
    labels = np.array(
        [[name in (shown or ()) for name in spec.propositions] for shown in explorer.labels],
        np.bool_,
    )
    transitions = explorer.transitions
    return TabularModel(
        spec.propositions, spec.constraints, transitions, cells, labels, cells.copy()
    )


class _Explorer:
    """Goes to the nearest action that was never tried, until there is none."""

    def __init__(self, spec: DomainSpec, env: gymnasium.Env[Any, Any], seed: int) -> None:
        self._name, self._env = spec.name, env
        self._random = np.random.default_rng(seed)
        shape = env.observation_space.n, env.action_space.n  # type: ignore[attr-defined]
        self.transitions = np.full(shape, -1)
        self.labels: list[frozenset[str] | None] = [None] * shape[0]
        self._cell = self._begin()

    def explore(self) -> None:
        """Try every action in every cell."""
        fruitless = 0
        while fruitless <= NEW_STARTS:
            way = self._way()
            fruitless = 0 if way else fruitless + 1
            for action in way:
                if self._step(action):
                    break
            if not way:
                if (self.transitions >= 0).all():
                    return
                self._cell = self._begin()
        missed = [cell for cell, shown in enumerate(self.labels) if shown is None]
        what = f"observations that never come, such as {missed[0]}" if missed else "cells to try"
        raise DomainError(
            f"'{self._name}' was explored, and there are {what}, after {NEW_STARTS} episodes with"
            ' nothing new; give it as arrays (docs/how-to/domains.md, "A world as arrays").'
        )

    def check(self) -> None:
        """Go on at random: every step must do what it did before."""
        for _ in range(SURE_STEPS):
            self._step(int(self._random.integers(self.transitions.shape[1])))

    def _begin(self) -> int:
        cell, _ = self._env.reset(seed=int(self._random.integers(2**31)))
        self._look(int(cell))
        return int(cell)

    def _way(self) -> list[int]:
        """Return actions to the nearest cell with one that was not tried, that one being the last."""
        queue: deque[tuple[int, list[int]]] = deque([(self._cell, [])])
        met = {self._cell}
        while queue:
            cell, way = queue.popleft()
            for action, after in enumerate(self.transitions[cell].tolist()):
                if after < 0:
                    return [*way, action]
                if after not in met:
                    met.add(after)
                    queue.append((after, [*way, action]))
        return []

    def _step(self, action: int) -> bool:
        """Take an action and note what it does; tell whether the episode is over."""
        found, _, ended, cut, _ = self._env.step(action)
        cell = int(found)
        known = self.transitions[self._cell, action]
        if known not in (-1, cell):
            raise self._unsure(
                f"action {action} in cell {self._cell} led to {known}, then to {cell}"
            )
        self.transitions[self._cell, action] = cell
        self._look(cell)
        if ended:
            self.transitions[cell] = cell
        self._cell = self._begin() if ended or cut else cell
        return bool(ended or cut)

    def _look(self, cell: int) -> None:
        shown = self._env.unwrapped.labels()  # type: ignore[attr-defined]
        if self.labels[cell] not in (None, shown):
            raise self._unsure(
                f"cell {cell} showed {set(self.labels[cell] or ())}, then {set(shown)}"
            )
        self.labels[cell] = shown

    def _unsure(self, what: str) -> DomainError:
        return DomainError(
            f"'{self._name}' is not determined by what is observed ({what}); give it as arrays"
            ' (docs/how-to/domains.md, "A world as arrays").'
        )
