"""Missions drawn by chance on a robot in a building, in simulated time: see `robot_runs`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from skm_machine.mission import Mission
from skm_primitives.episodes import run_episode
from skm_primitives.evaluation.random_missions import random_missions
from skm_primitives.evaluation.robot_runs import LIMITS, MANNER, RobotRun, TrueJudge, run_on_robot
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Policy
from skm_primitives.primitives import Primitives
from skm_primitives.tabular.optimum import IMPOSSIBLE, optimal_steps
from skm_sim.domain import DomainSpec
from skm_sim.driving.drive import drive_in
from skm_sim.maps.building import Building
from skm_sim.robots.bodies import chassis_of, make_body
from skm_sim.robots.rig import Senses
from skm_sim.robots.walls import walls_of
from skm_sim.tabular import tabular_model

SECONDS_A_METRE: Final = 10.0
LEAST_SECONDS: Final = 60.0
"""How long a run may take: so many seconds, and for each planned metre."""
MAX_STEPS: Final = 100_000
LEAST_STARTS: Final = 0.1
"""The part of all cells from which a mission that is drawn must be possible."""


def run_in_building(
    mission: Mission,
    building: Building,
    primitives: Primitives,
    policy: Policy,
    cell: int,
    planned: float,
    seed: int,
    senses: Senses,
    robot: str,
) -> RobotRun:
    """Run a mission on a robot from a cell, with a heading by chance."""
    random = np.random.default_rng(seed)
    x, y = building.floor.centres[cell].tolist()
    start = x, y, float(random.uniform(-math.pi, math.pi))
    return run_on_robot(
        policy,
        primitives,
        make_body(robot, walls_of(building.occupancy), start),
        drive_in(building, chassis_of(robot), LIMITS, MANNER),
        TrueJudge(mission, building.places, building.file.constraints, start),
        seconds=LEAST_SECONDS + SECONDS_A_METRE * planned,
        max_steps=MAX_STEPS,
        senses=senses,
        seed=seed,
        planned=planned,
    )


def planned_metres(spec: DomainSpec, primitives: Primitives, policy: Policy, cell: int) -> float:
    """Return the length of the way that the mission takes in the simulated domain."""
    env = spec.make(disable_env_checker=True)
    episode = run_episode(
        env, primitives, policy, max_steps=MAX_STEPS, options={"cell": cell}, seed=0
    )
    lengths = env.unwrapped.building.floor.step_lengths  # type: ignore[attr-defined]
    return float(sum(lengths[decision.action] for decision in episode.decisions))


Trial: TypeAlias = tuple[Mission, Policy, Sequence[int]]
"""A mission, its policy, and the cells to start it in."""


def draw_trials(
    spec: DomainSpec, primitives: Primitives, missions: int, starts: int, seed: int
) -> list[Trial]:
    """Draw missions that can be done, as `skm eval --missions` does, and starts that allow them."""
    model = tabular_model(spec)
    random = np.random.default_rng((seed, 2))

    def feasible(mission: Mission) -> bool:
        return bool((optimal_steps(model, mission.machine) != IMPOSSIBLE).mean() > LEAST_STARTS)

    names = spec.propositions, spec.constraints
    drawn = random_missions(model.label_sets, *names, missions, seed, feasible)
    return [
        (
            mission,
            make_policy(mission, primitives),
            random.choice(
                np.flatnonzero(optimal_steps(model, mission.machine) > 0), starts
            ).tolist(),
        )
        for mission in drawn
    ]


def robot_trials(
    spec: DomainSpec,
    building: Building,
    primitives: Primitives,
    missions: Iterable[Trial],
    *,
    seed: int,
    senses: Senses,
    robot: str,
    say: Callable[[RobotRun], None],
) -> list[RobotRun]:
    """Run missions on a robot, by its name in `bodies`; each from cells of its own."""
    runs = []
    for number, (mission, policy, cells) in enumerate(missions):
        for index, cell in enumerate(cells):
            planned = planned_metres(spec, primitives, policy, cell)
            draw = seed + 1000 * number + index
            run = run_in_building(
                mission, building, primitives, policy, cell, planned, draw, senses, robot
            )
            say(run)
            runs.append(run)
    return runs


def trials_document(runs: Sequence[RobotRun]) -> dict[str, Any]:
    """Return runs on a robot as figures."""
    done = [run for run in runs if run.succeeded and run.planned > 0]
    ratios: dict[str, float] = {}
    if done:
        ratios = {
            "path_over_planned": sum(run.way for run in done) / sum(run.planned for run in done),
            "worst_path_over_planned": max(run.way / run.planned for run in done),
        }
    return {
        "runs": len(runs),
        "success": sum(run.succeeded for run in runs) / len(runs),
        "forbidden_touched": sum(run.true_outcome == "failed" for run in runs),
        "true_success": sum(run.true_outcome == "accepted" for run in runs) / len(runs),
        "walls_touched": sum(run.wall for run in runs),
        **ratios,
        "hours": sum(run.seconds for run in runs) / 3600,
        "kilometres": sum(run.way for run in runs) / 1000,
        "mean_speed": sum(run.way for run in runs) / sum(run.seconds for run in runs),
    }
