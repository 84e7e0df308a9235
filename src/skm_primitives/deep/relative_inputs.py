"""What a network relative to a goal sees: the robot, the things to reach, those to keep off.

The values of reaching one kind are those of any other with the kinds renamed. So the network is shown
own motion, the things of the kind to reach, and the things of the kinds to keep off, nearest first,
whatever kinds these are; what may be touched it does not see at all.
"""

from __future__ import annotations

import numpy as np

from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.things import Kinds, Things


def relative_inputs(
    things: Things, features: Float32Array, kind: IntArray, kept_off: BoolArray
) -> Float32Array:
    """Return `(n, relative_inputs)` for features `(n, inputs)`, the kind to reach, and `(n, kinds)`."""
    count, kinds = kept_off.shape
    rows = np.arange(count)
    seen = features[:, things.own :].reshape(count, kinds, things.each, things.features)
    # All sizes are given: where no goal is asked about there are no rows to tell them from.
    wanted = seen[rows, kind].reshape(count, things.each * things.features)
    others = (seen * kept_off[..., None, None]).reshape(count, kinds * things.each, things.features)
    order = np.argsort(-others[..., things.nearness], axis=1, kind="stable")[:, : things.kept_off]
    nearest = np.take_along_axis(others, order[..., None], axis=1)
    nearest = nearest.reshape(count, order.shape[1] * things.features)
    return np.concatenate([features[:, : things.own], wanted, nearest], axis=1)


def kept_off_inputs(kinds: Kinds, features: Float32Array, kept_off: BoolArray) -> Float32Array:
    """Return `(n, relative_inputs)` for features `(n, inputs)` and the kinds to keep off, `(n, kinds)`.

    All features, then the things of those kinds once more, then which kinds these are.
    """
    gate = kept_off.astype(np.float32)
    things = features[:, kinds.own :] * np.repeat(gate, widths(kinds), axis=1)
    return np.concatenate([features, things, gate], axis=1)


def widths(kinds: Kinds) -> list[int]:
    """Return how many features the things of each kind have."""
    return [each * kinds.features for each in kinds.each]


def kinds_kept_off(kinds: Kinds, propositions: tuple[str, ...], allowed: IntArray) -> BoolArray:
    """Return `(n, kinds)`: which kinds are to be kept off where these bits `(n,)` may be touched."""
    bits = np.array([1 << propositions.index(kind) for kind in kinds.kinds])
    kept_off: BoolArray = (allowed[:, None] & bits) == 0
    return kept_off
