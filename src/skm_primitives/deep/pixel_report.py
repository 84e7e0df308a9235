"""How well the primitives of Moving Targets do single skills, from pixels, on unseen boards.

    python -m skm_primitives.deep.pixel_report CHECKPOINT --boards 500 --seed 12345

Everything goes through the pictures, as served: boards are drawn, networks see 84 × 84 × 3 bytes.
`greedy` is the network alone, `executed` with the memory against circles (`skm_primitives.revisits`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_primitives import checkpoint
from skm_primitives.deep.pixel_serving import PixelPrimitives
from skm_primitives.deep.pixel_validation import group_scores, skill_tests, success
from skm_sim.moving_targets_board import States
from skm_sim.moving_targets_view import render

REPORT_SEED = 12_345
"""Boards that neither training nor validation draws from."""
_CHUNK = 256
"""Frames that go through the network at a time."""


def skill_report(primitives: PixelPrimitives, boards: int, seed: int) -> dict[str, Any]:
    """Return the success of every single skill, the means of groups, and the CPU time of a step."""

    def judge(states: States) -> NDArray[np.float32]:
        pieces = np.split(states, range(_CHUNK, len(states), _CHUNK))
        return np.concatenate([primitives.logits(render(piece)) for piece in pieces])

    tests = skill_tests()
    goals = primitives.goal_space
    discounts = {"greedy": None, "executed": primitives.learning_gamma}
    rates = {
        name: success(judge, goals, tests, boards, seed, repeats=discount)
        for name, discount in discounts.items()
    }
    return {
        "boards": boards,
        "seed": seed,
        "checkpoint": primitives.digest,
        "groups": {name: group_scores(tests, found) for name, found in rates.items()},
        "skills": rates,
        "milliseconds_per_step": _milliseconds(primitives),
    }


def _milliseconds(primitives: PixelPrimitives, rounds: int = 10, repeats: int = 20) -> float:
    """Return the CPU time from a picture to the values of all goals: the best of a few rounds."""
    frame = render(np.array([[0, 1, 2, 3, 4, 5, 6, 6]], np.uint8))[0]
    primitives.values(frame)
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(repeats):
            primitives.values(frame)
        seconds.append((time.process_time() - started) / repeats)
    return round(min(seconds) * 1e3, 3)


def main() -> int:
    """Print the report on a checkpoint as JSON."""
    parser = argparse.ArgumentParser(description="Success of single skills from pixels.")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--boards", type=int, default=500, help="boards of each skill")
    parser.add_argument("--seed", type=int, default=REPORT_SEED, help="seed of the boards")
    args = parser.parse_args()
    try:
        primitives = PixelPrimitives(*checkpoint.load(args.checkpoint, "moving_targets"))
    except SkmError as error:
        print(f"skm: {error}", file=sys.stderr)
        return 2
    print(json.dumps(skill_report(primitives, args.boards, args.seed), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
