"""How well the primitives of Moving Targets do single skills, from pixels, on unseen boards.

Everything goes through the pictures, as served: boards are drawn, networks see 84 × 84 × 3 bytes.
`greedy` is the network alone, `executed` with the memory against circles
(`skm_primitives.planning.options`).
"""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable

import numpy as np

from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives.evaluation.options import EvaluationOptions
from skm_primitives.evaluation.skill_trials import SkillReport
from skm_primitives.evaluation.task_trials import chosen_primitives
from skm_primitives.learning.moving_targets.validation import group_scores, success
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Policy
from skm_primitives.skills.values import Primitives
from skm_sim.arrays import Float32Array
from skm_sim.moving_targets.env import Frames, States, render
from skm_sim.moving_targets.trials import skill_tests
from skm_sim.spec import DomainSpec

REPORT_SEED = 12_345
"""With another one added: boards that neither training nor validation draws from."""
DEFAULT_BOARDS = 500
_CHUNK = 256
"""Frames that go through the network at a time."""


@runtime_checkable
class PictureSkills(Primitives, Protocol):
    """Primitives that see many pictures at once: those of the sweeps, or of the generic learner."""

    learning_gamma: float

    def action_values(self, frames: Frames) -> Float32Array:
        """Return the values of every goal and action, `(n, goals, actions)`, as they were learned."""
        ...


def evaluate_skills(spec: DomainSpec, options: EvaluationOptions) -> SkillReport:
    """Evaluate single skills, and the time that a composed step takes."""
    primitives = chosen_primitives(spec, options)
    if not isinstance(primitives, PictureSkills):
        raise SkmError(f"these primitives of '{spec.name}' were not learned from pixels")
    boards = options.episodes or DEFAULT_BOARDS
    tests = skill_tests()
    rates = skill_rates(primitives, boards, options.seed)
    task = list(spec.tasks.values())[1]
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
    policy = make_policy(mission, primitives, options.planner)
    return SkillReport(
        spec.name,
        options.seed,
        primitives.digest,
        boards,
        spec.primitive_steps,
        rates,
        {name: group_scores(tests, found) for name, found in rates.items()},
        milliseconds_per_step(primitives, policy),
    )


def skill_rates(
    primitives: PictureSkills, boards: int, seed: int = 0
) -> dict[str, dict[str, float]]:
    """Return the success of every single skill, by the network alone and as executed."""

    def log_values(states: States) -> Float32Array:
        pieces = np.split(states, range(_CHUNK, len(states), _CHUNK))
        values = [primitives.action_values(render(piece)) for piece in pieces]
        return np.log(np.concatenate(values))

    goals, tests = primitives.goals, skill_tests()
    discounts = {"greedy": None, "executed": primitives.learning_gamma}
    return {
        name: success(log_values, goals, tests, boards, REPORT_SEED + seed, repeats=discount)
        for name, discount in discounts.items()
    }


def milliseconds_per_step(
    primitives: PictureSkills, policy: Policy, rounds: int = 10, repeats: int = 20
) -> float:
    """Return the CPU time from a picture to a composed action: the best of a few rounds."""
    frame: Frames = render(np.array([[0, 1, 2, 3, 4, 5, 6, 6]], np.uint8))[0]
    state = policy.mission.machine.initial
    policy.start(frame)
    policy.choose(state, primitives.values(frame, frozenset()))
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(repeats):
            policy.choose(state, primitives.values(frame, frozenset()))
        seconds.append((time.process_time() - started) / repeats)
    return round(min(seconds) * 1e3, 3)
