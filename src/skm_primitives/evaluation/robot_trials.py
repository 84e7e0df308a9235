"""Missions on a robot in simulated time: the Car, its noise, and the bridge's own driving.

What the robot did is judged on where it really was, at 50 Hz, and not on what the bridge believed: a
second tracker follows the labels of the true pose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from skm_machine.mission import Mission
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.episodes import run_episode
from skm_primitives.evaluation.product_optimum import IMPOSSIBLE, fewest_steps
from skm_primitives.evaluation.random_missions import random_missions
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Policy
from skm_primitives.primitives import Primitives
from skm_sim.domain import DomainSpec
from skm_sim.driving.cell_walk import Entered
from skm_sim.driving.drive import Manner, drive_in
from skm_sim.driving.path_following import Chassis
from skm_sim.driving.velocities import Limits
from skm_sim.maps.building import Building
from skm_sim.robots.car import AXLE, RADIUS, Car
from skm_sim.robots.rig import Rig, Senses
from skm_sim.robots.walls import Pose, walls_of
from skm_sim.tabular import tabular_model

LIMITS: Final = Limits(speed=0.4, turn=3.0)
"""What the Car is asked for; the same as in config/graph.yaml."""
MANNER: Final = Manner(late=0.02)
SECONDS_A_METRE: Final = 10.0
LEAST_SECONDS: Final = 60.0
"""How long a run may take: so many seconds, and for each planned metre."""
MAX_STEPS: Final = 100_000
COMING_TO_REST: Final = 10
"""Control periods after the end of a mission in which the robot stops; they count, too."""
LEAST_STARTS: Final = 0.1
"""The part of all cells from which a mission that is drawn must be possible."""


@dataclass(frozen=True)
class RobotRun:
    """One run of a mission on a robot."""

    mission: str
    outcome: str
    """As the bridge's labels have it: `accepted`, `failed`, `no progress` or `timed out`."""
    true_outcome: str
    """As the labels of the true pose have it, until the robot stands."""
    seconds: float
    way: float
    """Metres that the robot went."""
    planned: float
    """Metres of the cells' way in the simulated domain."""
    wall: bool
    """Whether it touched a wall."""

    @property
    def succeeded(self) -> bool:
        """Whether the mission was done, and nothing forbidden was touched in truth."""
        return self.outcome == "accepted" and self.true_outcome != "failed"


class TrueJudge:
    """Follows a mission on the labels of the true pose; its way, too."""

    def __init__(self, mission: Mission, building: Building, pose: Pose) -> None:
        self._places = building.places
        self.tracker = MissionTracker(mission.machine, building.file.constraints)
        self.tracker.start(self._places.labels_at(*pose[:2]))
        self._place = pose[:2]
        self.way = 0.0

    def watch(self, pose: Pose) -> None:
        """Take the true pose of a moment."""
        place = pose[:2]
        self.way += math.dist(place, self._place)
        sets = self._places.label_sets_along(*self._place, *place)
        for labels in sets[1:] or sets:
            if self.tracker.status is Status.RUNNING:
                self.tracker.update(labels)
        self._place = place


def run_on_car(
    mission: Mission,
    building: Building,
    primitives: Primitives,
    policy: Policy,
    cell: int,
    planned: float,
    seed: int,
    senses: Senses,
) -> RobotRun:
    """Run a mission on the Car from a cell, with a heading by chance."""
    random = np.random.default_rng(seed)
    x, y = building.floor.centres[cell].tolist()
    start = x, y, float(random.uniform(-math.pi, math.pi))
    car = Car(walls_of(building.occupancy), start)
    drive = drive_in(building, Chassis(AXLE, RADIUS), LIMITS, MANNER)
    judge = TrueJudge(mission, building, start)
    touched = False

    def watch(pose: Pose) -> None:
        nonlocal touched
        touched = touched or car.touches_wall
        judge.watch(pose)

    rig = Rig(car, drive, senses, seed, watch)
    entered: list[Entered] = []
    while not entered:
        entered = rig.period(MANNER.period, go=False)
    run = MissionRun(policy, primitives, MAX_STEPS)
    run.begin(entered[-1].cell, entered[-1].labels)
    limit = rig.now + LEAST_SECONDS + SECONDS_A_METRE * planned
    while not run.over and rig.now < limit:
        decision = run.decide(primitives.values(drive.walk.cell, run.history))
        drive.walk.take(int(decision.action))
        entered = rig.period(MANNER.period, go=True)
        while not entered and rig.now < limit:
            entered = rig.period(MANNER.period, go=True)
        for state in entered:
            if not run.over:
                run.enter(state.cell, state.labels)
    for _ in range(COMING_TO_REST):
        rig.period(MANNER.period, go=False)
    status = run.tracker.status
    outcome = str(status.value)
    if status is Status.RUNNING:
        outcome = "no progress" if run.stalled else "timed out"
    truth = str(judge.tracker.status.value)
    return RobotRun(mission.text, outcome, truth, rig.now, judge.way, planned, touched)


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
        return bool((fewest_steps(model, mission.machine) != IMPOSSIBLE).mean() > LEAST_STARTS)

    names = spec.propositions, spec.constraints
    drawn = random_missions(model.label_sets, *names, missions, seed, feasible)
    return [
        (
            mission,
            make_policy(mission, primitives),
            random.choice(
                np.flatnonzero(fewest_steps(model, mission.machine) > 0), starts
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
    say: Callable[[RobotRun], None],
) -> list[RobotRun]:
    """Run missions, each from cells of its own."""
    runs = []
    for number, (mission, policy, cells) in enumerate(missions):
        for index, cell in enumerate(cells):
            planned = planned_metres(spec, primitives, policy, cell)
            draw = seed + 1000 * number + index
            run = run_on_car(mission, building, primitives, policy, cell, planned, draw, senses)
            say(run)
            runs.append(run)
    return runs


def trials_document(runs: Sequence[RobotRun]) -> dict[str, Any]:
    """Return runs on a robot as figures."""
    done = [run for run in runs if run.succeeded and run.planned > 0]
    return {
        "runs": len(runs),
        "success": sum(run.succeeded for run in runs) / len(runs),
        "forbidden_touched": sum(run.true_outcome == "failed" for run in runs),
        "true_success": sum(run.true_outcome == "accepted" for run in runs) / len(runs),
        "walls_touched": sum(run.wall for run in runs),
        "path_over_planned": sum(run.way for run in done) / sum(run.planned for run in done),
        "worst_path_over_planned": max(run.way / run.planned for run in done),
        "hours": sum(run.seconds for run in runs) / 3600,
        "kilometres": sum(run.way for run in runs) / 1000,
        "mean_speed": sum(run.way for run in runs) / sum(run.seconds for run in runs),
    }
