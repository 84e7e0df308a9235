"""Missions on the robot in real time, through real nodes, judged on its true pose."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from skm_bench.processes import RobotSystem
from skm_machine.mission import Mission, compile_mission
from skm_primitives.evaluation.robot_trials import (
    LEAST_SECONDS,
    MAX_STEPS,
    SECONDS_A_METRE,
    EmbodimentTrial,
    RobotRun,
    TrueJudge,
    embodiment_trials,
    planned_metres,
)
from skm_primitives.planning.policy import Policy
from skm_primitives.skills.values import Primitives
from skm_ros.conversions import OUTCOMES
from skm_ros.graph import Value
from skm_sim.maps.building import Building
from skm_sim.robots.simulated import chassis_of
from skm_sim.spec import DomainSpec


def real_time_trials(
    spec: DomainSpec,
    building: Building,
    primitives: Primitives,
    missions: Sequence[tuple[Mission, Policy, Sequence[int]]],
    *,
    folder: str,
    rate: float,
    robot: str,
    say: Callable[[RobotRun], None],
) -> list[RobotRun]:
    """Run each mission once from where the one before has left the robot."""
    runs = []
    given: dict[str, dict[str, Value]] = {
        "car": {"robot": robot},
        "bridge": {"axle": chassis_of(robot).axle},
    }
    with RobotSystem(folder, rate, parameters=given) as system:
        system.until(lambda: system.pose is not None, LEAST_SECONDS, "the robot's pose")
        for mission, policy, _ in missions:
            assert system.pose is not None
            cell = building.floor.nearest_cell(*system.pose[:2])[0]
            planned = planned_metres(spec, primitives, policy, cell)
            judge = TrueJudge(mission, building.places, building.file.constraints, system.pose)
            system.watch = judge.watch
            limit = LEAST_SECONDS + SECONDS_A_METRE * planned
            run = _judged_run(system, mission.text, judge, limit, MAX_STEPS, planned)
            say(run)
            runs.append(run)
    return runs


def _judged_run(
    system: RobotSystem,
    mission: str,
    judge: TrueJudge,
    limit: float,
    max_steps: int,
    planned: float = 0.0,
) -> RobotRun:
    """Run a mission to its end, and say what came of it."""
    began = time.monotonic()
    result = system.run(mission, limit, max_steps)
    seconds = time.monotonic() - began
    truth, outcome = str(judge.tracker.status.value), OUTCOMES[result.outcome]
    return RobotRun(mission, outcome, truth, seconds, judge.way, planned, wall=False)


def real_time_embodiments(
    spec: DomainSpec,
    tasks: list[str],
    runs: int,
    *,
    seed: int,
    rate: float,
    say: Callable[[RobotRun], None],
) -> list[RobotRun]:
    """Run tasks of a domain whose robot the real one plays, each with nodes of its own."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, trial in enumerate(embodiment_trials(spec, tasks, runs, seed, Path(folder))):
            run = _run_embodiment(spec, trial, rate, seed + number)
            say(run)
            found.append(run)
    return found


def _run_embodiment(spec: DomainSpec, trial: EmbodimentTrial, rate: float, seed: int) -> RobotRun:
    mission = compile_mission(trial.task.formula, propositions=spec.propositions)
    places = spec.part("embodiment")(trial.objects).places
    parameters: dict[str, dict[str, Value]] = {
        "car": {"start": " ".join(map(str, trial.start))},
        "bridge": {"objects": str(trial.objects)},
    }
    with RobotSystem(spec.name, rate, seed, parameters) as system:
        system.until(lambda: system.pose is not None, LEAST_SECONDS, "the robot's pose")
        assert system.pose is not None
        judge = TrueJudge(mission, places, spec.constraints, system.pose)
        system.watch = judge.watch
        limit = LEAST_SECONDS + trial.seconds
        return _judged_run(system, mission.text, judge, limit, trial.task.max_steps)
