"""Tasks of a domain on a robot that plays the part of the domain's own, in simulated time.

Arenas are those of `skm eval`: drawn by chance, the task possible in each. The Car starts where the
domain's robot would, objects are read from a file as the bridge reads them, and success is judged on the
Car's true pose. A task has the domain's limit of steps.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skm_machine.errors import SkmError
from skm_machine.mission import compile_mission
from skm_primitives.evaluation.robot_runs import LIMITS, MANNER, RobotRun, TrueJudge, run_on_robot
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.shield import make_shield
from skm_primitives.primitives import Primitives
from skm_sim.domain import DomainSpec, Task
from skm_sim.driving.path_following import Chassis
from skm_sim.driving.role_drive import RoleDrive
from skm_sim.robots.car import AXLE, RADIUS, Car
from skm_sim.robots.rig import Senses
from skm_sim.robots.walls import Pose

VARIANT: Final = "random"
SECONDS_A_STEP: Final = 1.25
"""Of the time that a step should take: labels that change on the way make more steps, not fewer."""


@dataclass(frozen=True)
class RoleTrial:
    """A task, the file that says where things are, and where the robot starts."""

    task: Task
    objects: Path
    start: Pose

    @property
    def seconds(self) -> float:
        """How long the robot may take."""
        return SECONDS_A_STEP * MANNER.step * self.task.max_steps


def role_trials(
    spec: DomainSpec, tasks: list[str], runs: int, seed: int, folder: Path
) -> Iterator[RoleTrial]:
    """Draw arenas for each task; their files go into a folder."""
    trials, role = spec.part("trials"), spec.part("role")
    if trials is None or role is None:
        raise SkmError(
            f"the domain '{spec.name}' cannot be tried on a robot: it is on no map, and its spec"
            " names no role and trials"
        )
    for name in tasks:
        task = spec.task(name)
        for number, options in enumerate(trials.draw(task, runs, seed, VARIANT).options):
            text, start = role.trial(options)
            path = folder / f"{name}-{number}.yaml"
            path.write_text(text, "utf-8")
            yield RoleTrial(task, path, start)


def run_roles(
    spec: DomainSpec,
    primitives: Primitives,
    tasks: list[str],
    runs: int,
    *,
    seed: int,
    senses: Senses,
    say: Callable[[RobotRun], None],
) -> list[RobotRun]:
    """Run tasks on the Car, each in arenas of its own."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, trial in enumerate(role_trials(spec, tasks, runs, seed, Path(folder))):
            mission = compile_mission(trial.task.formula, propositions=spec.propositions)
            role = spec.part("role")(trial.objects)
            run = run_on_robot(
                make_policy(mission, primitives),
                primitives,
                Car(None, trial.start),
                RoleDrive(role, Chassis(AXLE, RADIUS), LIMITS, MANNER),
                TrueJudge(mission, role.places, spec.constraints, trial.start),
                seconds=trial.seconds,
                max_steps=trial.task.max_steps,
                senses=senses,
                seed=seed + number,
                shield=make_shield(mission, primitives),
            )
            say(run)
            found.append(run)
    return found
