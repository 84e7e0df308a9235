"""What the peers are asked for: tasks, recurring tasks, formulas; and published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from skm_sim.spec import DomainSpec


class Published(NamedTuple):
    """What is published of a task: DeepLTL's share of successes and mean steps, of five seeds."""

    success: float
    steps: float


PUBLISHED: Final[Mapping[str, Mapping[str, Published]]] = {
    "letter_world": {
        "1": Published(0.999, 9.7),
        "2": Published(0.982, 7.3),
        "3": Published(1.000, 12.2),
        "4": Published(0.969, 12.1),
        "5": Published(0.997, 9.5),
    },
    "flat_world": {
        "1": Published(1.000, 79.7),
        "2": Published(0.999, 52.8),
        "3": Published(0.978, 71.8),
        "4": Published(0.860, 43.9),
        "5": Published(0.996, 37.0),
    },
}
"""From the result files of DeepLTL (Jackermeier and Abate, 2025): 15 million steps of training."""
RECURRING: Final[Mapping[str, Sequence[str]]] = {
    "letter_world": (
        "G F (e & (!a U f))",
        "G F a & G F b & G F c & G F d & G (!e & !f)",
        "G F (e & (!a U f)) & G !(c | d)",
        "G F a & G F b & G F c & G !(e | f | i)",
    ),
    "flat_world": (
        "G F (blue & green) & G F (red & magenta)",
        "G F (aqua & blue) & G F red & G F yellow & G !green",
    ),
}
"""The first two of each world are DeepLTL's, the others GenZ-LTL's."""
FORMULAS_SEED: Final = 4057


def drawn_formulas(spec: DomainSpec, shown: Sequence[frozenset[str]], count: int) -> list[str]:
    """Draw formulas of the two families that DeepLTL's agents are evaluated on, half of each.

    Three things to reach one after the other, `F(x & F(y & F z))`; and two to reach, each with one to
    avoid on the way, `!p U (x & (!q U y))`. Things are single propositions and what label sets show
    together (`shown`). What is reached shows nothing of what is avoided next: it would be impossible.
    """
    random = np.random.default_rng(FORMULAS_SEED)
    single = [frozenset([name]) for name in spec.propositions]
    things = list(dict.fromkeys([*single, *(some for some in shown if len(some) > 1)]))
    texts: dict[str, None] = {}
    while len(texts) < count:
        picked = [things[i] for i in random.permutation(len(things))[:4]]
        first, avoided, then, later = (_together(some) for some in picked)
        if len(texts) % 2:
            texts[f"F ({first} & F ({then} & F {later}))"] = None
        elif not picked[2] <= picked[0]:
            texts[f"!{avoided} U ({first} & (!{then} U {later}))"] = None
    return list(texts)


def _together(some: frozenset[str]) -> str:
    names = sorted(some)
    return names[0] if len(names) == 1 else f"({' & '.join(names)})"
