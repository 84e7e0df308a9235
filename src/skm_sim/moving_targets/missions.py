"""Random missions over the propositions of Moving Targets, drawn by a seed before any training.

They show that missions which nobody thought of while training are solved too. A mission is a
sequence of two or three targets, `F(t1 & X F(t2 & …))`; with probability ½ something is forbidden
from start to end, `& G !(…)`: a colour, a shape, or one kind of object. A target is a proposition, a
kind of object, a colour without a shape or the other way round, or one of two propositions. Each
target has a kind that meets it and is not forbidden, so every mission can be solved on (nearly) every
board: exceptions are the rare boards on which forbidden objects wall the agent or a target in.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from skm_machine import holds, parse
from skm_sim.domain import Task
from skm_sim.moving_targets.board import KINDS
from skm_sim.moving_targets.spec import COLOURS, PROPOSITIONS, SHAPES, TASK_STEPS

MISSION_SEED = 2024
MISSION_COUNT = 20


def random_missions(count: int = MISSION_COUNT, seed: int = MISSION_SEED) -> tuple[Task, ...]:
    """Return that many different missions, named `random-1` and so on; the seed decides which."""
    rng = np.random.default_rng(seed)
    formulas: dict[str, None] = {}
    while len(formulas) < count:
        formulas[_mission(rng)] = None
    return tuple(
        Task(f"random-{number}", formula, repeat=True, max_steps=TASK_STEPS)
        for number, formula in enumerate(formulas, start=1)
    )


def _mission(rng: np.random.Generator) -> str:
    """Draw one mission."""
    forbidden = _forbidden(rng) if rng.random() < 0.5 else ""
    allowed = [kind for kind in KINDS if not (forbidden and _holds(forbidden, kind))]
    text = ""
    for _ in range(rng.integers(2, 4)):
        target = _target(rng)
        while not any(_holds(target, kind) for kind in allowed):
            target = _target(rng)
        text = f"F({target} & X {text})" if text else f"F({target})"
    return f"{text} & G !({forbidden})" if forbidden else text


def _target(rng: np.random.Generator) -> str:
    """Draw a condition on the object to collect."""
    colour, shape = rng.choice(COLOURS), rng.choice(SHAPES)
    one, other = rng.choice(PROPOSITIONS, size=2, replace=False)
    choices = (
        f"{rng.choice(PROPOSITIONS)}",
        f"{colour} & {shape}",
        f"{colour} & !{shape}",
        f"!{colour} & {shape}",
        f"({one} | {other})",
    )
    return choices[rng.integers(len(choices))]


def _forbidden(rng: np.random.Generator) -> str:
    """Draw a condition on the objects to keep away from."""
    colour, shape = rng.choice(COLOURS), rng.choice(SHAPES)
    return (f"{colour}", f"{shape}", f"{colour} & {shape}")[rng.integers(3)]


def _holds(condition: str, kind: Iterable[str]) -> bool:
    return holds(parse(condition, PROPOSITIONS), [frozenset(kind)])
