"""How well a learned table knows where actions lead: what stops a run, and where agents go until then.

One rule for all tables. Every action in every state that was reached (and is not an end of the world)
is to be tried often enough: once in a world in which every action always led to one place, else until
the bound on the L1 error of its transition probabilities is at most `TARGET_ERROR`
(`skm_sim.true_world`; k is the largest number of outcomes that any action of the world
showed). Until then, agents of a world that slips, or whose usual steps are over, go to the nearest
such action (`Survey`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.true_world import ERROR_PROBABILITY, error_bound, tries_needed

TARGET_ERROR: Final = 0.2
"""The L1 error of transition probabilities below which they are known well enough."""
LISTED: Final = 50
"""Actions that a card lists, those that were tried least."""
NAMED: Final = 3
"""Actions that a sentence names."""
WHAT_HELPS: Final = (
    "What helps: more steps (--resume, without --steps as many as it takes), longer episodes"
    " (primitive_steps of the spec), or starts nearer to them."
)
FARTHEST: Final = 0.95
"""The discount with which the nearest action that wants trying is found."""


@dataclass(frozen=True, eq=False)
class ModelConfidence:
    """What counts of arrivals say about the transition probabilities of a world."""

    arrivals: IntArray
    """`(states, actions, states)`: how often each action led to each state."""
    ends: BoolArray
    """`(states,)`: where the world ends."""

    @cached_property
    def tries(self) -> IntArray:
        """`(states, actions)`: how often each action was tried."""
        tries: IntArray = self.arrivals.sum(axis=2, dtype=np.int64)
        return tries

    @cached_property
    def outcomes(self) -> int:
        """The largest number of different outcomes that any action showed."""
        return int(np.count_nonzero(self.arrivals, axis=2).max(initial=1))

    @cached_property
    def needed(self) -> int:
        """How often every action is to be tried."""
        return tries_needed(self.outcomes, TARGET_ERROR)

    @cached_property
    def relevant(self) -> BoolArray:
        """`(states,)`: the states that were reached or acted in, and that are no end."""
        reached: BoolArray = np.any(self.arrivals, axis=(0, 1))
        return (reached | self.tries.any(axis=1)) & ~self.ends

    @cached_property
    def missing(self) -> IntArray:
        """`(states, actions)`: how many more tries each action wants."""
        short = np.maximum(self.needed - self.tries, 0)
        return np.where(self.relevant[:, None], short, 0)

    @property
    def uncertain(self) -> int:
        """How many actions were not tried often enough."""
        return int(np.count_nonzero(self.missing))

    @property
    def relevant_pairs(self) -> int:
        """How many actions there are to be tried."""
        return int(np.count_nonzero(self.relevant)) * int(self.tries.shape[1])

    def document(self) -> dict[str, Any]:
        """Return what is uncertain as JSON: the actions that were tried least, with their bounds."""
        state, action = np.nonzero(self.missing)
        order = np.argsort(self.tries[state, action], kind="stable")[:LISTED]
        tries = self.tries[state[order], action[order]]
        bounds = error_bound(tries, self.outcomes)
        return {
            "target_error": TARGET_ERROR,
            "confidence": 1 - ERROR_PROBABILITY,
            "tries_needed": self.needed,
            "actions": [
                {"state": s, "action": a, "tries": n, "error": round(bound, 3)}
                for s, a, n, bound in zip(
                    state[order].tolist(),
                    action[order].tolist(),
                    tries.tolist(),
                    bounds.tolist(),
                    strict=True,
                )
            ],
        }

    def sentence(self) -> str:
        """Return, as a sentence, what is uncertain."""
        listed = self.document()["actions"][:NAMED]
        named = ", ".join(
            f"action {found['action']} in state {found['state']} ({_times(found['tries'])})"
            for found in listed
        )
        more = " and others" if self.uncertain > NAMED else ""
        count = f"{self.uncertain} of {self.relevant_pairs} actions were tried"
        if self.needed == 1:
            return f"{count} never: {named}{more}. What they lead to is not known. {WHAT_HELPS}"
        return (
            f"{count} fewer than {self.needed} times: {named}{more}. So the bound on the L1 error of"
            f" their transition probabilities is above {TARGET_ERROR:g} (at"
            f" {1 - ERROR_PROBABILITY:.0%} confidence), and plans that count on them may fail more"
            f" often than they should. {WHAT_HELPS}"
        )


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


class Survey:
    """Where agents go to try what was not tried often enough."""

    def __init__(self, confidence: ModelConfidence) -> None:
        self._missing = confidence.missing.astype(np.float64)
        self._wanting: BoolArray = np.any(confidence.missing, axis=1)
        self._toward = self._values(confidence)

    def _values(self, confidence: ModelConfidence) -> FloatArray:
        """Return `(states, actions)`: how near each action is expected to bring one to such a state."""
        states, actions = confidence.tries.shape
        state, action, following = np.nonzero(confidence.arrivals)
        pair = state * actions + action
        chance = confidence.arrivals[state, action, following] / confidence.tries[state, action]
        near = np.where(self._wanting, 1.0, 0.0)
        options: FloatArray = np.zeros((states, actions))
        for _ in range(states):
            mean = np.bincount(pair, chance * near[following], states * actions)
            options = FARTHEST * mean.reshape(states, actions).astype(np.float64)
            nearer = np.where(self._wanting, 1.0, options.max(axis=1))
            if np.abs(nearer - near).max() < 1e-6:
                break
            near = nearer
        return options

    def act(self, state: IntArray, draws: FloatArray) -> IntArray:
        """Return the actions of agents in these states; `draws`, from 0 to 1, decide between equals."""
        here = self._missing[state] * draws
        continuation = self._toward[state] + 1e-6 * draws
        chosen: IntArray = np.where(
            self._wanting[state], here.argmax(axis=1), continuation.argmax(axis=1)
        )
        return chosen
