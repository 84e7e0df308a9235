"""Missions drawn at random on a robot in a building, in simulated time: see `robot_runs`."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.logic.timed import NANOSECONDS
from skm_machine.mission import Mission, compile_mission
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.evaluation.exact import IMPOSSIBLE, optimal_steps
from skm_primitives.evaluation.random_missions import random_missions
from skm_primitives.execution.episodes import run_episode
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.replanning import avoided_labels
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Policy
from skm_primitives.planning.shield import AnyShield, make_shield
from skm_primitives.skills.values import Primitives
from skm_sim.finite_world import FiniteWorld
from skm_sim.maps.building import Building
from skm_sim.maps.places import Places
from skm_sim.robots.drive import Drive, DriveConfig, Driving, Entered, drive_in
from skm_sim.robots.embodiment import EmbodimentDrive
from skm_sim.robots.path_follower import Chassis
from skm_sim.robots.pose import Limits
from skm_sim.robots.simulated import (
    AXLE,
    RADIUS,
    Car,
    RobotModel,
    SensorModel,
    SimulatedRobot,
    chassis_of,
    make_robot_model,
)
from skm_sim.robots.walls import Pose, walls_of
from skm_sim.spec import DomainSpec, Task
from skm_sim.tabular import tabular_model

# One mission on a robot in simulated time: its noise, and the bridge's own driving.
#
# What the robot did is judged on where it really was, at 50 Hz, and not on what the bridge
# believed: a second tracker follows the labels of the true pose.


LIMITS: Final = Limits(speed=0.4, turn=3.0)
"""What the Car is asked for; the same as in config/graph.yaml."""
DRIVE_CONFIG: Final = DriveConfig(latency=0.02)
COMING_TO_REST: Final = 10
"""Control periods after the end of a mission in which the robot stops; they count, too."""


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
    """Metres of the cells' way in the simulated domain; 0 where there are no cells."""
    wall: bool
    """Whether it touched a wall."""

    @property
    def succeeded(self) -> bool:
        """Whether the mission was done, and nothing forbidden was touched in truth."""
        return self.outcome == "accepted" and self.true_outcome != "failed"


class TrueJudge:
    """Follows a mission on the labels of the true pose; its way, too."""

    def __init__(
        self, mission: Mission, places: Places, constraints: Collection[str], pose: Pose
    ) -> None:
        self._places = places
        self.tracker = MissionTracker(mission.machine, constraints, mission.clocks)
        self.tracker.start(self._places.labels_at(*pose[:2]))
        self.clock: Callable[[], int] = lambda: 0
        """How late it is, in nanoseconds since the mission began."""
        self._place = pose[:2]
        self.way = 0.0

    def watch(self, pose: Pose) -> None:
        """Take the true pose of a moment."""
        place = pose[:2]
        self.way += math.dist(place, self._place)
        sets = self._places.label_sets_along(*self._place, *place)
        for labels in sets[1:] or sets:
            if self.tracker.status is Status.RUNNING:
                self.tracker.update(labels, time=self.clock())
        self._place = place


def run_on_robot(
    policy: Policy,
    primitives: Primitives,
    car: RobotModel,
    drive: Driving,
    judge: TrueJudge,
    *,
    seconds: float,
    max_steps: int,
    sensors: SensorModel,
    seed: int,
    planned: float = 0.0,
    shield: AnyShield | None = None,
) -> RobotRun:
    """Run a mission on a robot from where it stands, for so many seconds at most."""
    touched = False

    def watch(pose: Pose) -> None:
        nonlocal touched
        touched = touched or car.touches_wall
        judge.watch(pose)

    simulated = SimulatedRobot(car, drive, sensors, seed, watch)
    entered: list[Entered] = []
    while not entered:
        entered = simulated.period(DRIVE_CONFIG.period, go=False)
    run = MissionRun(policy, primitives, max_steps, shield)
    state = entered[-1]
    began = simulated.now

    def now() -> int:
        return round((simulated.now - began) * NANOSECONDS)

    judge.clock = now
    run.begin(state.value, state.labels, now())
    tell_avoided(drive, run)
    limit = simulated.now + seconds
    while not run.over and simulated.now < limit:
        decision = run.decide(primitives.values(state.value, run.history))
        if run.blocked:
            break
        drive.take(decision.action, simulated.now)
        entered = simulated.period(DRIVE_CONFIG.period, go=True)
        while not entered and simulated.now < limit and not run.advance(state.value, now()):
            entered = simulated.period(DRIVE_CONFIG.period, go=True)
        for state in entered:
            if not run.over and run.enter(state.value, state.labels, now()):
                tell_avoided(drive, run)
    for _ in range(COMING_TO_REST):
        simulated.period(DRIVE_CONFIG.period, go=False)
    truth, mission = str(judge.tracker.status.value), policy.mission.text
    return RobotRun(mission, _outcome(run), truth, simulated.now, judge.way, planned, touched)


def tell_avoided(drive: Driving, run: MissionRun) -> None:
    """Tell a drive through a map what would fail the mission now, as the machine does with each leg."""
    world = run.skills.world_model
    if isinstance(drive, Drive) and drive.walk.sure is not None and isinstance(world, FiniteWorld):
        drive.walk.sure.avoid = frozenset(avoided_labels(run, world))


def _outcome(run: MissionRun) -> str:
    if run.tracker.status is not Status.RUNNING:
        return str(run.tracker.status.value)
    return "no progress" if run.stalled or run.blocked else "timed out"


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
    sensors: SensorModel,
    robot: str,
) -> RobotRun:
    """Run a mission on a robot from a cell, with a heading at random."""
    random = np.random.default_rng(seed)
    x, y = building.floor.centres[cell].tolist()
    start = x, y, float(random.uniform(-math.pi, math.pi))
    return run_on_robot(
        policy,
        primitives,
        make_robot_model(robot, walls_of(building.occupancy), start),
        drive_in(building, chassis_of(robot), LIMITS, DRIVE_CONFIG),
        TrueJudge(mission, building.places, building.file.constraints, start),
        seconds=LEAST_SECONDS + SECONDS_A_METRE * planned,
        max_steps=MAX_STEPS,
        sensors=sensors,
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
    sensors: SensorModel,
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
                mission, building, primitives, policy, cell, planned, draw, sensors, robot
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


# Tasks of a domain on a robot that stands in for the domain's own, in simulated time.
#
# Arenas are those of `skm eval`: drawn at random, the task possible in each. The Car starts where
# the domain's robot would, objects are read from a file as the bridge reads them, and success is
# judged on the Car's true pose. A task has the domain's limit of steps.


VARIANT: Final = "random"
SECONDS_A_STEP: Final = 1.25
"""Of the time that a step should take: labels that change on the way make more steps, not fewer."""


@dataclass(frozen=True)
class EmbodimentTrial:
    """A task, the file that says where objects are, and where the robot starts."""

    task: Task
    objects: Path
    start: Pose

    @property
    def seconds(self) -> float:
        """How long the robot may take."""
        return SECONDS_A_STEP * DRIVE_CONFIG.step * self.task.max_steps


def embodiment_trials(
    spec: DomainSpec, tasks: list[str], runs: int, seed: int, folder: Path
) -> Iterator[EmbodimentTrial]:
    """Draw arenas for each task; their files go into a folder."""
    trials, embodiment = spec.part("trials"), spec.part("embodiment")
    if trials is None or embodiment is None:
        raise SkmError(
            f"the domain '{spec.name}' cannot be tried on a robot: it is on no map, and its spec"
            " names no embodiment and trials"
        )
    for name in tasks:
        task = spec.task(name)
        for number, options in enumerate(trials.draw(task, runs, seed, VARIANT).options):
            text, start = embodiment.trial(options)
            path = folder / f"{name}-{number}.yaml"
            path.write_text(text, "utf-8")
            yield EmbodimentTrial(task, path, start)


def run_embodiments(
    spec: DomainSpec,
    primitives: Primitives,
    tasks: list[str],
    runs: int,
    *,
    seed: int,
    sensors: SensorModel,
    say: Callable[[RobotRun], None],
) -> list[RobotRun]:
    """Run tasks on the Car, each in arenas of its own."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, trial in enumerate(embodiment_trials(spec, tasks, runs, seed, Path(folder))):
            mission = compile_mission(trial.task.formula, propositions=spec.propositions)
            embodiment = spec.part("embodiment")(trial.objects)
            run = run_on_robot(
                make_policy(mission, primitives),
                primitives,
                Car(None, trial.start),
                EmbodimentDrive(embodiment, Chassis(AXLE, RADIUS), LIMITS, DRIVE_CONFIG),
                TrueJudge(mission, embodiment.places, spec.constraints, trial.start),
                seconds=trial.seconds,
                max_steps=trial.task.max_steps,
                sensors=sensors,
                seed=seed + number,
                shield=make_shield(mission, primitives),
            )
            say(run)
            found.append(run)
    return found
