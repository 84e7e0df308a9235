"""Missions on the robot in real time, through real nodes, judged on its true pose."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from skm_machine.mission import Mission
from skm_primitives.evaluation.robot_trials import (
    LEAST_SECONDS,
    SECONDS_A_METRE,
    RobotRun,
    TrueJudge,
    planned_metres,
)
from skm_primitives.planning.policy import Policy
from skm_primitives.primitives import Primitives
from skm_ros.bench.robot_system import RobotSystem
from skm_ros.conversions import OUTCOMES
from skm_sim.domain import DomainSpec
from skm_sim.maps.building import Building


def real_time_trials(
    spec: DomainSpec,
    building: Building,
    primitives: Primitives,
    missions: Sequence[tuple[Mission, Policy, Sequence[int]]],
    *,
    folder: str,
    rate: float,
    say: Callable[[RobotRun], None],
) -> list[RobotRun]:
    """Run each mission once from where the one before has left the robot."""
    runs = []
    with RobotSystem(folder, rate) as system:
        system.until(lambda: system.pose is not None, LEAST_SECONDS, "the robot's pose")
        for mission, policy, _ in missions:
            assert system.pose is not None
            cell = building.floor.nearest_cell(*system.pose[:2])[0]
            planned = planned_metres(spec, primitives, policy, cell)
            judge = TrueJudge(mission, building, system.pose)
            system.watch = judge.watch
            began = time.monotonic()
            result = system.run(mission.text, LEAST_SECONDS + SECONDS_A_METRE * planned)
            seconds = time.monotonic() - began
            truth, outcome = str(judge.tracker.status.value), OUTCOMES[result.outcome]
            run = RobotRun(mission.text, outcome, truth, seconds, judge.way, planned, wall=False)
            say(run)
            runs.append(run)
    return runs
