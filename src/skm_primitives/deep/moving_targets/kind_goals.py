"""Goals of the learner from pixels: every kind of object, with what may be touched on the way.

`Goal(labels=l, violated=V)` means: collect an object with exactly the labels l, with *at most* the
constraints V violated before. Skills only ever ask that constraints be *not* violated, so a mask that
admits V admits every smaller set. A few sets V will therefore do: all constraints (don't care), none
(touch nothing else), and all but one. A mission that forbids more than one proposition at a time is
served by "none", more careful than need be, and sound. Sets of all but two would more than double the
heads; the one run that had them did worse, but it differed in other settings too, so what they cost is
not known.

What stopping would have given is known at every transition, for every goal at once:

    target = 1                            if the object collected has the labels of the goal
           = 0                            if it has a label that V does not allow
           = γ · value of the next state  otherwise
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skm_primitives.goals import Goal
from skm_sim.arrays import BoolArray


class PixelGoals:
    """All goals, in the order of the networks' heads, and what each thing touched means for them.

    `label_sets` are those of the objects, one each; one more index stands for touching nothing.
    """

    def __init__(self, constraints: tuple[str, ...], label_sets: Sequence[frozenset[str]]) -> None:
        self.label_sets = tuple(label_sets)
        self.allowances = _allowances(constraints)
        """The sets V."""
        self.goals = tuple(
            Goal(labels, violated) for labels in self.label_sets for violated in self.allowances
        )
        touched = [*self.label_sets, frozenset[str]()]
        self.achieved: BoolArray = np.array(
            [[bool(labels) and goal.labels == labels for goal in self.goals] for labels in touched]
        )
        """`achieved[touched, goal]`: touching that achieves the goal."""
        self.alive: BoolArray = ~self.achieved & np.array(
            [
                [labels & set(constraints) <= goal.violated for goal in self.goals]
                for labels in touched
            ]
        )
        """`alive[touched, goal]`: after touching that, the goal can still be achieved."""

    def __len__(self) -> int:
        return len(self.goals)

    def masked(self, violated: frozenset[str]) -> BoolArray:
        """Return which goals are still possible with these constraints violated."""
        return np.array([violated <= goal.violated for goal in self.goals])


def _allowances(constraints: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    everything = frozenset(constraints)
    candidates = [everything, frozenset[str](), *(everything - {name} for name in constraints)]
    return tuple(dict.fromkeys(candidates))
