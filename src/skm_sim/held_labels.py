"""What is told of the labels on the way of an action that is held for several steps."""

from __future__ import annotations

import numpy as np

from skm_sim.arrays import BoolArray


def told_labels(before: BoolArray, shown: BoolArray) -> BoolArray:
    """Return what to tell, `(n, propositions)`, after steps `(n, steps, propositions)`: the last labels;

    but where these are as before the first step, and others were shown between, the first of those.
    So what is only grazed is told.
    """
    last: BoolArray = shown[:, -1].copy()
    other = (shown != before[:, None]).any(-1)
    undone = np.flatnonzero(other.any(1) & ~other[:, -1])
    last[undone] = shown[undone, other[undone].argmax(1)]
    return last
