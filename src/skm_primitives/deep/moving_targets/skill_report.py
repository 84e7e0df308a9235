"""How well the primitives of Moving Targets do single skills, from pixels, on unseen boards.

Everything goes through the pictures, as served: boards are drawn, networks see 84 × 84 × 3 bytes.
`greedy` is the network alone, `executed` with the memory against circles (`skm_primitives.planning.revisits`).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_primitives.deep.moving_targets.pixel_primitives import PixelPrimitives
from skm_primitives.deep.moving_targets.skill_tests import group_scores, skill_tests, success
from skm_primitives.planning.policy import Policy
from skm_sim.moving_targets.board import States
from skm_sim.moving_targets.view import Frames, render

REPORT_SEED = 12_345
"""With another one added: boards that neither training nor validation draws from."""
_CHUNK = 256
"""Frames that go through the network at a time."""


def skill_report(primitives: PixelPrimitives, boards: int, seed: int = 0) -> dict[str, Any]:
    """Return the success of every single skill, and the means of groups."""

    def judge(states: States) -> NDArray[np.float32]:
        pieces = np.split(states, range(_CHUNK, len(states), _CHUNK))
        values = [primitives.action_values(render(piece)) for piece in pieces]
        return np.log(np.concatenate(values))

    tests = skill_tests()
    goals = primitives.goal_space
    discounts = {"greedy": None, "executed": primitives.learning_gamma}
    rates = {
        name: success(judge, goals, tests, boards, REPORT_SEED + seed, repeats=discount)
        for name, discount in discounts.items()
    }
    return {
        "groups": {name: group_scores(tests, found) for name, found in rates.items()},
        "skills": rates,
    }


def milliseconds_per_step(
    primitives: PixelPrimitives, policy: Policy, rounds: int = 10, repeats: int = 20
) -> float:
    """Return the CPU time from a picture to a composed action: the best of a few rounds."""
    frame: Frames = render(np.array([[0, 1, 2, 3, 4, 5, 6, 6]], np.uint8))[0]
    state = policy.mission.machine.initial
    policy.start(frame)
    policy.choose(state, primitives.values(frame))
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(repeats):
            policy.choose(state, primitives.values(frame))
        seconds.append((time.process_time() - started) / repeats)
    return round(min(seconds) * 1e3, 3)
