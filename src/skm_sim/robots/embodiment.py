"""A robot in place of a domain's own, and where a robot is driven."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from gymnasium.spaces import Discrete, Space

from skm_machine.errors import SkmError
from skm_sim.arrays import FloatArray
from skm_sim.maps.building import Building
from skm_sim.maps.places import Places
from skm_sim.maps.scene import building_scene
from skm_sim.maps.spec import is_map_folder, load_building
from skm_sim.registry import get_domain
from skm_sim.robots.drive import (
    DriveConfig,
    Driving,
    Entered,
    GoalDrive,
    RobotDrive,
    drive_in,
    known_walls,
)
from skm_sim.robots.path_follower import Chassis
from skm_sim.robots.pose import REST, Limits, Velocity
from skm_sim.robots.walls import Pose
from skm_sim.scene import Shape

# A robot that stands in for a domain's own: learned skills for continuous control, driven.
#
# The skills were learned with another body. A *role* knows that body: what it would sense where
# the real robot is, and where it would be a step later if it took an action there. Once a step
# the drive asks for both, and then drives the real robot there by velocities, closed on its pose.
# The real robot is slower: a step of the domain takes it `DriveConfig.step` seconds, and its
# velocities count as so much faster ones.
#
# Labels are judged on the pose between steps, too: where they change, a new state is entered at
# once.


LEAP: Final = 0.5
"""Metres from one pose to the next that no robot drives: it was found, or put, elsewhere."""
TURN_GAIN: Final = 2.0
"""How much faster than needed to ask for a turn: wheels slip in turns."""
LEAST_LOOK: Final = 0.1
"""Seconds ahead, at least, at which the robot aims."""
STIRRED: Final = (0.05, 0.1)
"""Metres and radians from where it was last shown at which a robot that is not driven is shown anew."""


class Embodiment(Protocol):
    """What a domain knows of its own robot, for one that plays its part."""

    step_seconds: float
    """How long a step takes the domain's robot."""
    places: Places
    """Where each proposition holds."""
    observation_space: Space[Any]
    action_space: Space[Any]

    @staticmethod
    def trial(options: Mapping[str, Any]) -> tuple[str, Pose]:
        """Return the file of objects, and the robot's start, of options to reset the domain with."""
        ...

    def restart(self) -> None:
        """Forget what was felt: the robot stands."""
        ...

    def observe(self, pose: Pose, velocity: Velocity) -> FloatArray:
        """Return what the domain's robot would observe there, moving like this."""
        ...

    def ahead(self, pose: Pose, velocity: Velocity, action: FloatArray) -> Pose:
        """Return where the domain's robot would be a step later."""
        ...

    def scene(self) -> list[Shape]:
        """Return shapes for views, the robot anywhere."""
        ...


class EmbodimentDrive(RobotDrive):
    """Drives one robot as an embodiment has it; see the module."""

    def __init__(
        self, embodiment: Embodiment, chassis: Chassis, limits: Limits, config: DriveConfig
    ) -> None:
        super().__init__(chassis, limits, config, None)
        self._embodiment = embodiment
        self._pace = config.step / embodiment.step_seconds
        """How many times slower the real robot is."""
        self.labels: frozenset[str] = frozenset()
        self._shown: Pose = (0.0, 0.0, 0.0)
        self._place = (0.0, 0.0)
        self._start: Pose = (0.0, 0.0, 0.0)
        self._aim: Pose | None = None
        self._since = 0.0
        self._acted = False

    def _moving(self) -> Velocity:
        """Return the robot's velocity as that of the domain's robot."""
        speed, turn = self.tracker.velocity
        return Velocity(speed * self._pace, turn * self._pace)

    def begin(self, now: float) -> Entered:
        """Begin anew where the robot is."""
        self._begun = True
        self._embodiment.restart()
        pose = self.tracker.at(now)
        self._place = pose[:2]
        self.labels = self._embodiment.places.labels_at(*self._place)
        self._aim = None
        return self._enter(pose, [self.labels])[-1]

    def _enter(self, pose: Pose, label_sets: list[frozenset[str]]) -> list[Entered]:
        observed = self._embodiment.observe(pose, self._moving())
        self._shown, self._acted = pose, False
        return [Entered(observed, labels) for labels in label_sets]

    def states(self, now: float, *, resting: bool) -> list[Entered]:
        """Return the states that were entered since the last call; `resting`: it is not driven."""
        if not self.located:
            return []
        pose = self.tracker.at(now)
        if not self._begun or math.dist(pose[:2], self._place) > LEAP:
            return [self.begin(now)]
        changes = []
        for labels in self._embodiment.places.label_sets_along(*self._place, *pose[:2]):
            if labels != self.labels:
                self.labels = labels
                changes.append(labels)
        self._place = pose[:2]
        if resting:
            due = self._is_stirred(pose)
        else:
            due = self._acted and now - self._since >= self._config.step - self._config.period / 2
        if not changes and not due:
            return []
        return self._enter(pose, changes or [self.labels])

    def _is_stirred(self, pose: Pose) -> bool:
        metres, radians = STIRRED
        turned = math.remainder(pose[2] - self._shown[2], math.tau)
        return math.dist(pose[:2], self._shown[:2]) > metres or abs(turned) > radians

    def take(self, action: Any, now: float) -> None:  # noqa: ANN401 - of the domain
        """Take the action to the present state: aim at where the domain's robot would go."""
        if self._acted and self._aim is not None:
            return
        self._start = self.tracker.at(now)
        self._aim = self._embodiment.ahead(self._start, self._moving(), action)
        self._since, self._acted = now, True

    def halt(self) -> Velocity:
        """Return the command that stops the robot."""
        self._aim = None
        return super().halt()

    def velocity(self, now: float) -> Velocity:
        """Return the command for the next period.

        To be where the embodiment has it, when it has it there.
        """
        if self._aim is None:
            return self._commanded(REST)
        x, y, heading = self.tracker.at(now)
        elapsed, step = now - self._since, self._config.step
        look = max(step - elapsed, LEAST_LOOK)
        part = min((elapsed + look) / step, 1.5)  # goes on while the next action is on its way
        ahead_x = self._start[0] + part * (self._aim[0] - self._start[0]) - x
        ahead_y = self._start[1] + part * (self._aim[1] - self._start[1]) - y
        turn = part * math.remainder(self._aim[2] - self._start[2], math.tau)
        turn += math.remainder(self._start[2] - heading, math.tau)
        speed = (ahead_x * math.cos(heading) + ahead_y * math.sin(heading)) / look
        return self._commanded(Velocity(speed, TURN_GAIN * turn / look))


# Where a robot is driven: through a map, or in the part of a domain's own robot.


USUAL_RADIUS: Final = 0.22


@dataclass(frozen=True)
class DriveContext:
    """What a bridge needs to know of a domain, and the drive through it."""

    places: Places
    """Where each proposition holds."""
    observation_space: Space[Any]
    action_space: Space[Any]
    scene: list[Shape]
    """For views; its robot is to be moved."""
    drive: Driving
    radius: float
    """Of the robot, in metres."""
    building: Building | None = None
    """The map's, for a domain on one."""

    @property
    def propositions(self) -> tuple[str, ...]:
        """Places, and facts that actions change."""
        return (*self.places.names, *(() if self.building is None else self.building.facts))


def make_drive_context(
    domain: str,
    objects: str,
    axle: float,
    radius: float,
    limits: Limits,
    config: DriveConfig,
    *,
    goals: bool = False,
) -> DriveContext:
    """Return the stage of a domain: a folder of `skm map`, or one whose robot can be played.

    `objects` is a file that says where objects are, for the latter; `radius` 0 is the domain's own.
    `goals`: the robot is not driven by velocities but by goals, on a map.
    """
    if not domain:
        raise SkmError("the bridge needs a domain on a map; `skm map` makes one")
    if is_on_map(domain):
        building = load_building(domain)
        chassis = Chassis(axle, radius or building.file.robot_radius)
        states, actions = building.world.moves.shape
        return DriveContext(
            building.places,
            Discrete(states),
            Discrete(actions),
            building_scene(building, (0.0, 0.0)),
            GoalDrive(building, chassis, limits, config, known_walls(building))
            if goals
            else drive_in(building, chassis, limits, config),
            chassis.radius,
            building,
        )
    if goals:
        raise SkmError("drive nav2 goes from place to place: it needs a domain on a map")
    if not objects:
        raise SkmError(
            f"on a robot, the domain '{domain}' needs the parameter objects: a file that says where"
            " objects are; docs/how-to/robots.md shows one"
        )
    embodiment: Embodiment = get_domain(domain).part("embodiment")(Path(objects))
    drive = EmbodimentDrive(embodiment, Chassis(axle, radius or USUAL_RADIUS), limits, config)
    spaces = embodiment.observation_space, embodiment.action_space
    return DriveContext(
        embodiment.places, *spaces, embodiment.scene(), drive, radius or USUAL_RADIUS
    )


def is_on_map(domain: str) -> bool:
    """Tell whether a domain is a folder of `skm map`; else it must say how a robot plays its part."""
    if is_map_folder(Path(domain)):
        return True
    try:
        found = get_domain(domain)
    except SkmError:
        return True  # then there is no such folder, which is what will be said
    if not found.embodiment:
        raise SkmError(
            f"the domain '{domain}' is on no map, and says nothing of how a real robot could play"
            " its part: the bridge drives in domains of `skm map`, and in those with an `embodiment`"
        )
    return False
