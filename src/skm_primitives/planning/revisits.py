"""A memory against going in circles, for executors of learned skills with discrete actions.

In a deterministic world, to see the very same observation again while still after the same thing shows
that what was done there led nowhere, whatever an approximate network says. Each earlier try of an
action at an observation therefore counts as if its goal were `REPEAT_STEPS` steps further away:

    worth(a) · γ^(REPEAT_STEPS · tries of a here)

so that the second best action takes over soon, and an action that a constraint forbids (worth next to
nothing) practically never. Exact values never go in circles, and nothing changes for them.

Where not the action but the goal is wrong, `doubt` makes the goal that was pursued longest worth half.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from skm_primitives.planning.trust import Trust
from skm_sim.arrays import FloatArray, IntArray

REPEAT_STEPS = 10
"""How many steps further away a goal counts for each time that the action was tried here before."""
KEPT_OBSERVATIONS: Final = 1000
"""How many observations are remembered: those that were seen last."""


class Revisits:
    """Counts what was tried at each observation since the executor last got what it was after."""

    def __init__(self, actions: int, gamma: float) -> None:
        self._actions = actions
        self._factor = gamma**REPEAT_STEPS
        self._tries: OrderedDict[bytes, IntArray] = OrderedDict()
        self._here = self._blank()
        self._trust = Trust()

    def __len__(self) -> int:
        """Return how many observations are remembered."""
        return len(self._tries)

    def clear(self) -> None:
        """Forget everything: the machine moved on, so what led nowhere before may lead somewhere."""
        self._tries.clear()
        self._here = self._blank()
        self._trust.restart()

    def enter(self, observation: NDArray[Any]) -> None:
        """Note where the agent is now."""
        key = np.asarray(observation).tobytes()
        self._here = self._tries.setdefault(key, self._blank())
        self._tries.move_to_end(key)
        if len(self._tries) > KEPT_OBSERVATIONS:
            self._tries.popitem(last=False)

    def arrive(self, observation: NDArray[Any], moved: bool) -> None:
        """Note where a step has ended; if it moved the machine, forget what came before."""
        if moved:
            self.clear()
        self.enter(observation)

    def choose(self, worth: NDArray[Any]) -> tuple[int, int]:
        """Return the goal and the action of the greatest worth `[goal, action]`, and remember it."""
        trust = np.exp(self._trust.logarithm(len(worth))[0], dtype=np.float64)
        believed = worth * trust[:, None]
        action = int((believed.max(axis=0) * self.factors()).argmax())
        goal = int(believed[:, action].argmax())
        self.took(action)
        self._trust.pursue(_FIRST, np.array([goal]))
        return goal, action

    def doubt(self) -> None:
        """Try another way: nothing came of what was pursued since the machine moved."""
        self._trust.doubt()

    def factors(self) -> FloatArray:
        """Return by what the worth of each action is to be multiplied here, `(actions,)`."""
        return np.power(self._factor, self._here.astype(np.float64))

    def took(self, action: int) -> None:
        """Note what was done here."""
        self._here[action] += 1

    def _blank(self) -> IntArray:
        return np.zeros(self._actions, np.int64)


_FIRST: Final[IntArray] = np.zeros(1, np.int64)
