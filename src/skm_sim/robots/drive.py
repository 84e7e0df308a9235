"""A robot driven through a map: poses and scans come in, states are entered, velocities go out.

This is all of the bridge but its messages: the node calls it once a control period, and so do
simulations that run faster than real time. Whether the robot may move at all is not decided here but by
the command gate; here is what it does if it may. Times are of a steady clock, in seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.maps.building import Building
from skm_sim.maps.floor import NO_CELL, Floor
from skm_sim.maps.places import Places
from skm_sim.robots.localisation import Localisation
from skm_sim.robots.motion import MotionWatch
from skm_sim.robots.obstacles import ObstacleMonitor, grown
from skm_sim.robots.path_follower import (
    END,
    Chassis,
    ClearancePlanner,
    Point,
    ahead,
    follow,
    project,
    remaining,
    turn_towards,
)
from skm_sim.robots.pose import POSE_ERROR, REST, Limits, PoseTracker, Velocity
from skm_sim.robots.walls import Pose, Walls, walls_of

# What every way to drive a robot has in common: its pose, its laser, its limits.


STILL: Final = Velocity(0.02, 0.1)
"""A robot that is slower than this stands."""


@dataclass(frozen=True)
class Entered:
    """A state that has been entered."""

    value: Any
    """What is observed: the index of a cell, or numbers."""
    labels: frozenset[str]


@dataclass(frozen=True)
class DriveConfig:
    """How to drive: all that is not the robot's own."""

    period: float = 0.05
    """Seconds between two velocities."""
    lookahead_distance: float = 0.15
    """How far ahead on the path to aim, in metres."""
    filter_gain: float = 0.3
    """The part of a difference by which a reading of the pose counts."""
    latency: float = 0.0
    """How old readings of the pose are when they arrive, in seconds."""
    clearance: float = 0.1
    """Metres to keep from what is not on the map."""
    horizon: float = 0.5
    """Metres ahead of the robot at which a cell may count as reached: see `cell_walk`."""
    exact: bool = False
    """Whether a cell counts as reached only when the robot is there, also where a place is entered: what
    robots of a team have to know of each other. With no horizon."""
    margin: float = 0.1
    """Metres to keep from constraints: see `clear_ways`."""
    step: float = 0.4
    """Seconds that a step of a domain's own robot takes this one: see `role_drive`."""


class Driving(Protocol):
    """What the bridge asks of a drive: poses and scans in, states entered, velocities out."""

    tracker: PoseTracker
    obstacles: ObstacleMonitor
    localisation: Localisation
    motion: MotionWatch

    def read(self, pose: Pose, velocity: Velocity, now: float) -> float:
        """Take a reading of the pose; return how far off it is, 0 if no more than noise."""
        ...

    def scan(
        self, distances: FloatArray, angles: FloatArray, now: float, mount: Pose, limit: float
    ) -> None:
        """Take a scan of a laser that is mounted there and sees so far."""
        ...

    def adjust(self, limits: Limits, config: DriveConfig, radius: float) -> None:
        """Take other limits, another configuration or another size of the robot, while it drives."""
        ...

    def obstructed(self, now: float) -> bool:
        """Tell whether what stands ahead keeps the robot from going where it is to go."""
        ...

    @property
    def trouble(self) -> str:
        """What keeps the robot from getting on although it may move; empty if nothing is known."""
        ...

    @property
    def located(self) -> bool:
        """Whether it is known where the robot is. No state is entered where it is not."""
        ...

    @property
    def stands(self) -> bool:
        """Whether the robot does not move, as far as its readings can tell."""
        ...

    def begin(self, now: float) -> Entered:
        """Begin anew where the robot is."""
        ...

    def take(self, action: Any, now: float) -> None:  # noqa: ANN401 - of the domain
        """Take the action to the present state."""
        ...

    def states(self, now: float, *, resting: bool) -> list[Entered]:
        """Return the states that were entered since the last call; `resting`: it is not driven."""
        ...

    def velocity(self, now: float) -> Velocity:
        """Return the command for the next period of a robot that may move."""
        ...

    def halt(self) -> Velocity:
        """Return the command that stops the robot."""
        ...


class RobotDrive:
    """Where the robot is, what stands in its way, and how its velocity may change."""

    def __init__(
        self,
        chassis: Chassis,
        limits: Limits,
        config: DriveConfig,
        known: Walls | None,
        localisation: Localisation | None = None,
    ) -> None:
        self.tracker = PoseTracker(config.filter_gain, config.latency)
        self.obstacles = ObstacleMonitor(known, chassis.radius, config.clearance)
        self.localisation = localisation or Localisation(None, None, chassis.radius)
        self.motion = MotionWatch()
        self._chassis, self._limits, self._config = chassis, limits, config
        self._velocity = REST
        self._begun = False

    def read(self, pose: Pose, velocity: Velocity, now: float) -> float:
        """Take a reading of the pose; return how far off it is, 0 if no more than noise."""
        jump = self.tracker.read(pose, velocity, now)
        self.localisation.read(self.tracker.at(now), jump)
        return jump

    def scan(
        self,
        distances: FloatArray,
        angles: FloatArray,
        now: float,
        mount: Pose = (0.0, 0.0, 0.0),
        limit: float = math.inf,
    ) -> None:
        """Take a scan of a laser that is mounted there and sees so far."""
        if not self.tracker.known:
            return
        pose = self.tracker.at(now)
        self.obstacles.look(pose, distances, angles, mount)
        if math.isfinite(limit):
            self.localisation.look(pose, distances, angles, limit, mount)

    def adjust(self, limits: Limits, config: DriveConfig, radius: float) -> None:
        """Take other limits, another configuration or another size of the robot, while it drives."""
        self._limits, self._config = limits, config
        self._chassis = replace(self._chassis, radius=radius)
        self.tracker.filter_gain, self.tracker.latency = config.filter_gain, config.latency
        self.obstacles.radius, self.obstacles.margin = radius, config.clearance

    def obstructed(self, now: float) -> bool:  # noqa: ARG002 - by where it is to go, if that is known
        """Tell whether what stands ahead keeps the robot from going where it is to go."""
        return self.obstacles.blocked

    @property
    def trouble(self) -> str:
        """What keeps the robot from getting on although it may move; empty if nothing is known."""
        if self.obstacles.touching:
            return (
                "a wall is closer ahead than the map says: is the robot where it is believed to be?"
            )
        return self.motion.trouble

    @property
    def stands(self) -> bool:
        """Whether the robot does not move, as far as its readings can tell."""
        speed, turn = self.tracker.velocity
        return abs(speed) < STILL.speed and abs(turn) < STILL.turn

    @property
    def located(self) -> bool:
        """Whether it is known where the robot is. No state is entered where it is not.

        A pose that cannot be right would show labels of a place where the robot never was: they would
        fulfil a mission, or fail it. What happened meanwhile is judged by the first pose that can be.
        """
        return self.tracker.known and not self.localisation.problem

    def halt(self) -> Velocity:
        """Return the command that stops the robot."""
        self._velocity = REST
        return REST

    @property
    def _allowed(self) -> Limits:
        """The limits, with no more speed than what stands ahead leaves room for."""
        limits = self.motion.limited(self._limits)
        return replace(limits, speed=max(1e-6, self.obstacles.speed(limits)))

    def _commanded(self, wanted: Velocity) -> Velocity:
        """Return what can be asked for on the way to what is wanted."""
        if self.obstacles.blocked:  # it may still turn away, and go back
            wanted = Velocity(min(0.0, wanted.speed), wanted.turn)
        self._velocity = self._limits.approach(self._velocity, wanted, self._config.period)
        allowed = self._allowed
        speed, turn = self._velocity
        turn = max(-allowed.turn, min(allowed.turn, turn))
        self._velocity = Velocity(min(speed, allowed.speed), turn)
        return self._velocity


# Which labels count where a robot is believed to be. A pose errs by centimetres, so an edge that is
# grazed may be none in truth: a mission must not be said to be done for that. What is to be avoided
# is another matter: it counts as soon as the pose says so.


class SureLabels:
    """Tells of labels whether they count at a pose: wherever else the robot may be, they hold, too."""

    def __init__(self, building: Building, distance: float = POSE_ERROR) -> None:
        """`distance` is how far off a pose may be, in metres."""
        self._places, self._has_room = building.places, building.has_room
        self._constraints = frozenset(building.file.constraints)
        angles = np.arange(8) * math.tau / 8
        self._around = distance * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        self._distance = distance
        self.avoid: frozenset[frozenset[str]] | None = None
        """Label sets that would fail the mission; None if not given: all with a constraint."""

    def count(self, x: float, y: float, labels: frozenset[str], held: frozenset[str]) -> bool:
        """Tell whether the labels of a pose count where others have held."""
        if labels == held or self._is_avoided(labels, held):
            return True
        ring = self._around + np.array([x, y])
        ring = ring[self._has_room(ring)]
        return all(self._places.labels_at(*point) == labels for point in ring.tolist())

    def count_between(
        self, before: Point, after: Point, labels: frozenset[str], held: frozenset[str]
    ) -> bool:
        """Tell whether labels count that have held somewhere on the straight way between two poses."""
        if labels == held or self._is_avoided(labels, held):
            return True
        parts = np.linspace(0.0, 1.0, 2 + math.ceil(math.dist(before, after) / self._distance))
        points = np.array(before) + parts[1:-1, None] * np.subtract(after, before)
        return any(
            self._places.labels_at(x, y) == labels and self.count(x, y, labels, held)
            for x, y in points.tolist()
        )

    def _is_avoided(self, labels: frozenset[str], held: frozenset[str]) -> bool:
        if self.avoid is None:
            return not self._constraints.isdisjoint(labels - held)
        return labels in self.avoid


# A robot's way through the cells of a map, as the states that a mission is judged on.
#
# A state is a cell and the labels that hold, and a new one is entered in two cases. First, the
# labels of the pose change: exactly there, on the straight way between one pose and the next, so
# that a place which is crossed between two cells is not missed, and a forbidden one not excused.
# Second, the next cell is reached. That is said a little ahead of the robot, by `horizon` metres
# at most: the next action comes before the robot is there, and it need not slow down. It is said
# ahead only where nothing changes on the way: all of it has the labels that hold already. Into or
# out of a place, the robot goes first.


LEAP: Final = 0.5
"""Metres from one pose to the next that no robot drives: it was found, or put, elsewhere."""


class CellWalk:
    """The cell that counts as reached, the labels that hold, and the known path ahead."""

    def __init__(
        self,
        floor: Floor,
        places: Places,
        ways: ClearancePlanner,
        *,
        horizon: float,
        arrival: float = 0.05,
        exact: bool = False,
        sure: SureLabels | None = None,
    ) -> None:
        """`arrival` is how near to a cell's point the robot has reached it, if its labels hold.

        `exact`: a cell does not count as reached before that where its place is entered.
        `sure` tells which labels count at a pose; None: those of the pose, as if it never erred.
        """
        self._floor = floor
        self._places = places
        self._ways = ways
        self._horizon = horizon
        self._arrival, self._exact = arrival, exact
        self.sure = sure
        self._target = NO_CELL
        self.cell = NO_CELL
        self.labels: frozenset[str] = frozenset()
        self.path: list[Point] = []
        """What is left to follow, from the robot's recent position to its goal."""
        self._place: Point = (0.0, 0.0)

    def begin(self, x: float, y: float) -> Entered:
        """Begin, or begin anew, where the robot is, with nothing to follow."""
        cell = self._floor.cell_at(x, y)
        self.cell = self._floor.nearest_cell(x, y)[0] if cell == NO_CELL else cell
        self.labels = self._places.labels_at(x, y)
        self._target = NO_CELL
        self._place = x, y
        self.path = [self._place]
        return Entered(self.cell, self.labels)

    def adjust(self, horizon: float, margin: float) -> None:
        """Take another horizon, and another margin for ways from now on."""
        self._horizon = horizon
        self._ways.adjust(margin)

    def take(self, action: int) -> None:
        """Take the action to the present state: the path goes on with it."""
        target = int(self._floor.moves[self.cell, action])
        if target == self._target:
            return
        here, there = self._point(self.cell), self._point(target)
        if self._target != NO_CELL:
            self._change_course(here)
        self._target = target
        if len(self.path) == 1 and self._is_good(self.path[0], there, target):
            self.path.append(there)
            return
        if math.dist(self.path[-1], here) > 1e-9:
            self.path.append(here)
        if target != self.cell:
            self.path += self._ways.way(self.cell, target)

    def _change_course(self, here: Point) -> None:
        """Leave what was to be done in this state: by the cell's point to somewhere else."""
        if here in self.path:
            del self.path[self.path.index(here) + 1 :]
        else:
            self.path = [self._place]

    def _is_good(self, start: Point, end: Point, target: int) -> bool:
        """Tell whether a way that no move takes shows only labels of its ends, and keeps clear."""
        known = {self.labels, self._labels_of(target)}
        plain = known.issuperset(self._places.label_sets_along(*start, *end))
        return plain and self._ways.is_clear(start, end)

    def pass_to(self, x: float, y: float) -> list[Entered]:
        """Take the robot's place a moment later; return the states that were entered, in order."""
        if math.dist(self._place, (x, y)) > LEAP:
            return [self.begin(x, y)]
        sets = self._places.label_sets_along(*self._place, x, y)
        before, self._place = self._place, (x, y)
        self.path = remaining(self._place, self.path)
        entered = []
        for labels in sets[:-1]:
            if labels == self.labels:
                continue
            if self.sure is None or self.sure.count_between(before, (x, y), labels, self.labels):
                self.labels = labels
                entered.append(Entered(self.cell, labels))
        changed = sets[-1] != self.labels and self._counts(x, y, sets[-1])
        if changed:
            self.labels = sets[-1]
        soon = changed and not self._exact
        if self._advance(x, y, math.inf if soon else self._horizon) or changed:
            entered.append(Entered(self.cell, self.labels))
        return entered

    def _counts(self, x: float, y: float, labels: frozenset[str]) -> bool:
        """Tell whether the labels of the robot's place count: where its cell's point is, they do."""
        if self.sure is None or self.sure.count(x, y, labels, self.labels):
            return True
        if self._target == NO_CELL:
            return False
        there = math.dist((x, y), self._point(self._target)) <= END
        return there and labels == self._labels_of(self._target)

    @property
    def away(self) -> float:
        """Metres from the robot to the path that it is to follow."""
        return project(self._place, self.path).away

    def _advance(self, x: float, y: float, horizon: float) -> bool:
        """Let the next cell count as reached, if it does: with it come the labels of its place."""
        if self._target == NO_CELL:
            return False
        on_path = project((x, y), self.path)
        gap = math.dist((x, y), self._point(self._target))
        arrived = gap <= END or (
            gap <= self._arrival and self.labels == self._labels_of(self._target)
        )
        if not arrived and (on_path.left > horizon or not self._stays_same(on_path.nearest)):
            return False
        self.cell, self._target = self._target, NO_CELL
        return True

    def _stays_same(self, start: Point) -> bool:
        """Tell whether the labels that hold now are those of all the path ahead."""
        ways = zip([start, *self.path[1:]], self.path[1:], strict=False)
        return all(self._places.label_sets_along(*a, *b) == (self.labels,) for a, b in ways)

    def _point(self, cell: int) -> Point:
        return self._ways.through(cell)

    def _labels_of(self, cell: int) -> frozenset[str]:
        return self._places.labels_at(*self._point(cell))


FACING: Final = 0.05
"""Radians off where its path leads at which a robot looks that way."""
PAST: Final = 0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.4, -0.4, 0.5, -0.5, 0.6, -0.6
"""Radians from where its path leads: headings that a robot beside a wall tries, to graze nothing."""
KNOWN_WIDTH: Final = 0.15
"""Metres around the map's walls in which a laser sees nothing but them."""


class Drive(RobotDrive):
    """Drives one robot; `walk` knows the cells, `tracker` the pose."""

    def __init__(
        self,
        walk: CellWalk,
        chassis: Chassis,
        limits: Limits,
        config: DriveConfig,
        known: Walls | None,
        localisation: Localisation | None = None,
    ) -> None:
        super().__init__(chassis, limits, config, known, localisation)
        self.walk = walk

    def adjust(self, limits: Limits, config: DriveConfig, radius: float) -> None:
        """Take other limits, another configuration or another size of the robot, while it drives."""
        super().adjust(limits, config, radius)
        self.walk.adjust(config.horizon, config.margin)

    def obstructed(self, now: float) -> bool:
        """Tell whether what stands ahead is where the path leads; else the robot may turn away."""
        if not self.obstacles.blocked:
            return False
        if len(self.walk.path) < 2:
            return True
        x, y, heading = self.tracker.at(now)
        off = self._off_aim((x, y, heading))
        # Elsewhere it may turn to, even by a little: what is ahead keeps it from going on until then.
        return off is not None and self.obstacles.stands_in_way((x, y, heading + off))

    def _off_aim(self, pose: Pose) -> float | None:
        """Return by how much the robot has to turn towards where its path leads; None at its end."""
        x, y, heading = pose
        path, reach = self.walk.path, self._config.lookahead_distance + self._chassis.radius
        aim_x, aim_y = ahead(project((x, y), path), path, reach)
        if math.dist((x, y), (aim_x, aim_y)) < END:
            return None
        return math.remainder(math.atan2(aim_y - y, aim_x - x) - heading, math.tau)

    def _room_needed(self, pose: Pose) -> float:
        """Return how far the robot should be able to go straight ahead without grazing anything."""
        left = project(pose[:2], self.walk.path).left
        # By as much a path may end too close to a wall: that is nothing to turn away from.
        return min(self._config.lookahead_distance, left - POSE_ERROR)

    def _is_tight(self, pose: Pose) -> bool:
        """Tell whether the robot would soon graze what it sees, if it went straight ahead."""
        return self.obstacles.touching or self.obstacles.way(pose) < self._room_needed(pose)

    def _clear_heading(self, pose: Pose, off: float) -> float:
        """Return by how much to turn: to where the path leads, or past what would be grazed there."""
        x, y, heading = pose
        needed = self._room_needed(pose)
        for aside in PAST:
            if self.obstacles.way((x, y, heading + off + aside)) >= needed:
                return off + aside
        return off

    def take(self, action: int, now: float) -> None:  # noqa: ARG002 - as other drives
        """Take the action to the present state: the path goes on with it."""
        self.walk.take(int(action))

    def states(self, now: float, *, resting: bool) -> list[Entered]:
        """Return the states that were entered since the last call; `resting`: it is not driven.

        A robot that was brought to rest, or is far from its path, begins anew where it is.
        """
        if not self.located:
            return []
        x, y, _ = self.tracker.at(now)
        if not self._begun:
            self._begun = True
            return [self.walk.begin(x, y)]
        entered = self.walk.pass_to(x, y)
        lost = self.walk.away > self._config.lookahead_distance + self._chassis.radius
        if lost or (resting and self.stands and len(self.walk.path) > 1):
            before = entered[-1] if entered else Entered(self.walk.cell, self.walk.labels)
            anew = self.walk.begin(x, y)
            if anew != before:
                entered.append(anew)
        return entered

    def begin(self, now: float) -> Entered:
        """Begin anew where the robot is."""
        self._begun = True
        return self.walk.begin(*self.tracker.at(now)[:2])

    def velocity(self, now: float) -> Velocity:
        """Return the command for the next period of a robot that may move."""
        pose = self.tracker.at(now)
        off = self._off_aim(pose) if self.obstacles.blocked else None
        if off is not None and not self.obstacles.stands_in_way((*pose[:2], pose[2] + off)):
            # What is ahead is not where the path leads. Following it would turn only as it drives, and
            # it may not drive: so it turns first, and goes on once it looks that way.
            if abs(off) > FACING:
                return self._commanded(turn_towards(off, self._limits))
            self.obstacles.blocked = False
        if (off := self._off_aim(pose)) is not None and self._is_tight(pose):
            # A curve needs room ahead and beside, and there is none: it turns where it stands.
            off = self._clear_heading(pose, off)
            if abs(off) > FACING:
                return self._commanded(turn_towards(off, self._limits))
        wanted = follow(
            pose, self.walk.path, self._chassis, self._allowed, self._config.lookahead_distance
        )
        return self._commanded(wanted)


EDGE: Final = 0.05
"""Metres beyond a cell's edge at which a robot has left it: noise must not make it go to and fro."""


class GoalDrive(RobotDrive):
    """A robot that others drive, such as a navigation stack: its states are where it is.

    Actions are only a sign that it may move; where to is said by legs (`skm_sim.robots.navigation`).
    """

    def __init__(
        self,
        building: Building,
        chassis: Chassis,
        limits: Limits,
        config: DriveConfig,
        known: Walls | None,
    ) -> None:
        super().__init__(chassis, limits, config, known, localisation_in(building, chassis))
        self._floor, self._places = building.floor, building.places
        self.sure = SureLabels(building)
        self._place: Point = (0.0, 0.0)
        self._stays = False
        """Whether the mission asks for another state where the robot is."""
        self.cell = NO_CELL
        self.labels: frozenset[str] = frozenset()

    def begin(self, now: float) -> Entered:
        """Begin anew where the robot is."""
        self._begun = True
        x, y, _ = self.tracker.at(now)
        self._place, self.cell = (x, y), self._floor.nearest_cell(x, y)[0]
        self.labels = self._places.labels_at(x, y)
        return Entered(self.cell, self.labels)

    def take(self, action: int, now: float) -> None:  # noqa: ARG002 - as other drives
        """Take the action to the present state: where to go is said by the leg, but not to stay."""
        self._stays = int(self._floor.moves[self.cell, int(action)]) == self.cell

    def states(self, now: float, *, resting: bool) -> list[Entered]:  # noqa: ARG002 - as other drives
        """Return the states that were entered since the last call: exact in labels, by cells else."""
        if not self.located:
            return []
        x, y, _ = self.tracker.at(now)
        if not self._begun or math.dist(self._place, (x, y)) > LEAP:
            return [self.begin(now)]
        before, self._place = self._place, (x, y)
        sets = self._places.label_sets_along(*before, x, y)
        entered = []
        for labels in sets[:-1]:
            if labels == self.labels:
                continue
            if self.sure.count_between(before, (x, y), labels, self.labels):
                self.labels = labels
                entered.append(Entered(self.cell, labels))
        cell = self._cell(x, y)
        known = sets[-1] if self.sure.count(x, y, sets[-1], self.labels) else self.labels
        if known != self.labels or cell != self.cell or self._stays:
            self._stays = False
            self.cell, self.labels = cell, known
            entered.append(Entered(self.cell, self.labels))
        return entered

    def _cell(self, x: float, y: float) -> int:
        inside = self._floor.frame.to_inner(np.array([[x, y], self._floor.centres[self.cell]]))
        if np.abs(inside[0] - inside[1]).max() <= self._floor.cell / 2 + EDGE:
            return self.cell
        cell = self._floor.cell_at(x, y)
        return self._floor.nearest_cell(x, y)[0] if cell == NO_CELL else cell

    def velocity(self, now: float) -> Velocity:  # noqa: ARG002
        """Return no command: others drive."""
        return REST


def drive_in(building: Building, chassis: Chassis, limits: Limits, config: DriveConfig) -> Drive:
    """Return the drive by velocities for a robot in a building."""
    floor, places = building.floor, building.places
    ways = ClearancePlanner(
        floor,
        places,
        building.file.constraints,
        margin=config.margin,
        walls=(building.occupancy, chassis.radius),
    )
    sure = SureLabels(building)
    walk = CellWalk(floor, places, ways, horizon=config.horizon, exact=config.exact, sure=sure)
    known = known_walls(building)
    return Drive(walk, chassis, limits, config, known, localisation_in(building, chassis))


def known_walls(building: Building) -> Walls:
    """Return the walls of a map as wide as a laser may see them."""
    return grown(walls_of(building.occupancy, unknown=True), KNOWN_WIDTH)


def localisation_in(building: Building, chassis: Chassis) -> Localisation:
    """Return what tells whether a robot is where it is believed to be in a building."""
    return Localisation(building.floor, walls_of(building.occupancy), chassis.radius)
