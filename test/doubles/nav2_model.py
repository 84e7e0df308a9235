"""A robot, AMCL and Nav2 as their documentation describes them, in plain Python without ROS.

`Nav2Model` is a simulated differential-drive robot on an occupancy grid together with the parts of
ROS 2 Jazzy that a client of Nav2 meets: a localisation that speaks only when the robot has moved,
and a navigator that plans, drives, recovers, gives up, and at times misbehaves (`Faults`). Time
passes only in `Nav2Model.step`. The nodes in `nav2.py` put the same model behind topics and
actions. README.md says which behaviour follows which page or file.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

LETHAL, INSCRIBED, NO_INFORMATION = 254, 253, 255
"""Costs of Nav2's costmaps: an obstacle, the robot's centre too near to one, unknown."""

TO_POSE, THROUGH_POSES = "navigate_to_pose", "navigate_through_poses"


# --- geometry ------------------------------------------------------------------------------------


def wrap(angle: float) -> float:
    """Return the angle in (−π, π]."""
    return math.pi - (math.pi - angle) % (2 * math.pi)


@dataclass(frozen=True)
class Pose:
    """A pose in the plane; also the transform that takes points of its frame to its parent."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0

    def __matmul__(self, other: Pose) -> Pose:
        """Return `other`, given in this pose's frame, in the parent's frame."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return Pose(
            self.x + cos * other.x - sin * other.y,
            self.y + sin * other.x + cos * other.y,
            wrap(self.yaw + other.yaw),
        )

    def inverse(self) -> Pose:
        """Return the transform back."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return Pose(-cos * self.x - sin * self.y, sin * self.x - cos * self.y, wrap(-self.yaw))

    def distance(self, other: Pose) -> float:
        """Return the distance between the two positions."""
        return math.hypot(self.x - other.x, self.y - other.y)


@dataclass(frozen=True)
class Grid:
    """An occupancy grid as in nav_msgs/OccupancyGrid: row 0 at the bottom, 100 occupied, −1 unknown."""

    data: NDArray[np.int8]
    resolution: float = 0.05
    origin_x: float = 0.0
    origin_y: float = 0.0

    @classmethod
    def from_text(
        cls, text: str, resolution: float = 0.1, origin: tuple[float, float] = (0.0, 0.0)
    ) -> Grid:
        """Return the grid of a drawing: `#` occupied, `?` unknown, the rest free; top row first."""
        rows = [line for line in text.splitlines() if line.strip()]
        width = max(map(len, rows))
        values = {"#": 100, "?": -1}
        data = [[values.get(char, 0) for char in row.ljust(width)] for row in reversed(rows)]
        return cls(np.array(data, dtype=np.int8), resolution, *origin)

    @classmethod
    def room(cls, width: float, height: float, resolution: float = 0.1) -> Grid:
        """Return an empty room of these metres with walls of one cell, its corner at the origin."""
        data = np.zeros((round(height / resolution), round(width / resolution)), dtype=np.int8)
        data[[0, -1], :] = 100
        data[:, [0, -1]] = 100
        return cls(data, resolution)

    def filled(self, x0: float, y0: float, x1: float, y1: float, value: int = 100) -> Grid:
        """Return this grid with the cells whose centres lie in the rectangle set to `value`."""
        rows, columns = self.data.shape
        xs = self.origin_x + (np.arange(columns) + 0.5) * self.resolution
        ys = self.origin_y + (np.arange(rows) + 0.5) * self.resolution
        data = self.data.copy()
        data[np.ix_((ys >= y0) & (ys <= y1), (xs >= x0) & (xs <= x1))] = value
        return replace(self, data=data)

    def blank(self) -> Grid:
        """Return a free grid of the same size and place, to draw a mask on."""
        return replace(self, data=np.zeros_like(self.data))

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """Return row and column of a point, or None outside the grid."""
        column = math.floor((x - self.origin_x) / self.resolution)
        row = math.floor((y - self.origin_y) / self.resolution)
        rows, columns = self.data.shape
        return (row, column) if 0 <= row < rows and 0 <= column < columns else None

    def centre(self, row: int, column: int) -> tuple[float, float]:
        """Return the middle of a cell."""
        return (
            self.origin_x + (column + 0.5) * self.resolution,
            self.origin_y + (row + 0.5) * self.resolution,
        )

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Which cells the static layer takes as obstacles (lethal_cost_threshold 100, trinary)."""
        return self.data >= 100


def distance_to(occupied: NDArray[np.bool_], limit: int) -> NDArray[np.float64]:
    """Return each cell's distance to the nearest occupied one, in cells, exact below `limit`."""
    rows, columns = occupied.shape
    far = float(limit + 1)
    vertical = np.where(occupied, 0.0, far)
    for row in range(1, rows):
        np.minimum(vertical[row], vertical[row - 1] + 1.0, out=vertical[row])
    for row in range(rows - 2, -1, -1):
        np.minimum(vertical[row], vertical[row + 1] + 1.0, out=vertical[row])
    squared = vertical**2
    result = squared.copy()
    for shift in range(1, min(limit, columns - 1) + 1):
        np.minimum(result[:, shift:], squared[:, :-shift] + shift**2, out=result[:, shift:])
        np.minimum(result[:, :-shift], squared[:, shift:] + shift**2, out=result[:, :-shift])
    return np.sqrt(result)


# --- parameters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameters:
    """What one would set in nav2_params.yaml; names and defaults are Jazzy's where it has them."""

    tick: float = 0.05
    """The model's step in seconds: controller_frequency 20 Hz, and the behaviour tree's here."""

    # robot
    robot_radius: float = 0.22
    max_speed: float = 0.5
    max_rotation: float = 1.9
    acceleration: float = 3.0
    rotational_acceleration: float = 3.5
    command_timeout: float = 0.5
    """The robot stops when the last velocity command is older than this."""
    odom_scale: float = 1.0
    """Distance that odometry reports for a metre driven."""
    odom_drift: float = 0.0
    """Radians that odometry turns away, for each metre driven."""
    odom_noise: float = 0.0
    """Standard deviation after a metre driven (m), or a radian turned (rad)."""
    scan_rate: float = 10.0
    scan_rays: int = 180
    scan_range: float = 12.0

    # AMCL
    update_min_d: float = 0.25
    update_min_a: float = 0.2
    transform_tolerance: float = 1.0
    """AMCL dates the transform map → odom this far into the future."""
    set_initial_pose: bool = True
    """Off, as AMCL has it by default: no pose and no transform before one is sent."""
    initial_pose: Pose | None = None
    """None for where the robot is."""
    amcl_noise: float = 0.01
    """Standard deviation of an estimate (m; rad)."""
    amcl_basin: float = 0.8
    """How far off (m; rad) an initial pose may be for the filter to converge on the true one."""
    amcl_frame_id: str = "map"
    """The frame_id in amcl_pose; another one is a fault."""
    amcl_lag: float = 0.0
    """Seconds by which poses and transforms come late, with the stamps of their scans."""

    # costmaps
    inflation_radius: float = 0.70
    cost_scaling_factor: float = 3.0
    obstacle_max_range: float = 2.5
    raytrace_max_range: float = 3.0
    costmap_update_period: float = 0.2
    costmap_transform_tolerance: float = 0.3
    """How old the transform to `map` may be for planner and controller."""
    override_lethal_cost: bool = False
    lethal_override_cost: int = 252

    # planner (NavFn) and behaviour tree
    planner_tolerance: float = 0.5
    """A path may end this far beside a goal that cannot be reached."""
    replan_period: float = 1.0
    replan_period_through_poses: float = 3.0
    passed_goal_radius: float = 0.7
    number_of_retries: int = 6
    behavior_trees: tuple[str, ...] = ()
    """Files that the server has, besides its default."""
    error_messages: bool = False
    """Fill error_msg, as later releases do; Jazzy's navigators leave it empty."""

    # controller
    xy_goal_tolerance: float = 0.25
    yaw_goal_tolerance: float = 0.25
    required_movement_radius: float = 0.5
    movement_time_allowance: float = 10.0
    failure_tolerance: float = 0.3
    lookahead: float = 0.6


@dataclass(frozen=True)
class Fault:
    """One kind of misbehaviour: how often, how long after the goal began, and for how long."""

    probability: float = 0.0
    after: tuple[float, float] = (1.0, 5.0)
    duration: tuple[float, float] | None = None
    """None: 5 to 15 s; forever in a hang and after a jump of AMCL."""


FAULT_KINDS = (
    "reject",
    "abort",
    "hang",
    "lie_success",
    "lie_abort",
    "slow_planning",
    "obstacle",
    "amcl_jump",
    "amcl_freeze",
)


@dataclass(frozen=True)
class Faults:
    """What goes wrong. Each kind draws from a random stream of its own, once for each goal.

    So a run with the same seed and the same goals is the same, and a changed probability of one
    kind leaves the others' draws alone.
    """

    seed: int = 0
    reject: Fault = Fault()
    """The goal is rejected."""
    abort: Fault = Fault()
    """Aborted after a time with `abort_error_code`."""
    hang: Fault = Fault()
    """The robot stops, no feedback, no result."""
    lie_success: Fault = Fault()
    """SUCCEEDED after a time, wherever the robot is."""
    lie_abort: Fault = Fault()
    """ABORTED (`abort_error_code`) at the goal."""
    slow_planning: Fault = Fault()
    """Each plan of the goal takes `duration`."""
    obstacle: Fault = Fault()
    """A disc stands on the path ahead, after a time, for a time."""
    amcl_jump: Fault = Fault()
    """The estimate jumps by `jump` and stays off, until an initial pose or for a time."""
    amcl_freeze: Fault = Fault()
    """AMCL says nothing for a time: no pose, no transform."""
    script: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Kinds that befall the n-th goal (from 0) for certain."""
    abort_error_code: int = 105
    jump: Pose = Pose(1.0, 0.0, 0.0)
    obstacle_distance: float = 1.5
    obstacle_radius: float = 0.3
    hang_blocks_server: bool = False
    """A hung goal also blocks cancelling and the goals after it."""
    freeze_keeps_transform: bool = False
    """A frozen AMCL goes on with its last transform; only amcl_pose is missing."""
    server_absent: tuple[tuple[float, float], ...] = ()
    """Times (from, until) without action servers; goals that run at `from` are lost."""
    server_absent_probability: float = 1.0
    """Drawn once for each of these times."""

    @classmethod
    def random(cls, probability: float, seed: int, **others: object) -> Faults:
        """Return faults that all have the same probability."""
        base = cls(seed=seed)
        kinds = {
            kind: replace(getattr(base, kind), probability=probability) for kind in FAULT_KINDS
        }
        return replace(base, **{**kinds, **others})


# --- robot ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Obstacle:
    """A disc that stands in the world for a time, and is on no map."""

    x: float
    y: float
    radius: float
    begin: float = 0.0
    end: float = math.inf


class World:
    """The walls and the discs that a robot can run into."""

    def __init__(self, grid: Grid, robot_radius: float) -> None:
        self.grid = grid
        self.obstacles: list[Obstacle] = []
        self.time = 0.0
        self._radius = robot_radius
        cells = math.ceil(robot_radius / grid.resolution) + 2
        self._near = distance_to(grid.occupied, cells) * grid.resolution
        self._cells = cells

    def recurring(self) -> list[Obstacle]:
        """Return the discs that are there now."""
        return [disc for disc in self.obstacles if disc.begin <= self.time < disc.end]

    def clearance(self, x: float, y: float) -> float:
        """Return the room around a robot there: negative in a collision, exact when small."""
        room = self._wall_distance(x, y)
        for disc in self.recurring():
            room = min(room, math.hypot(disc.x - x, disc.y - y) - disc.radius)
        return room - self._radius

    def _wall_distance(self, x: float, y: float) -> float:
        cell = self.grid.cell(x, y)
        if cell is None:
            return math.inf
        row, column = cell
        resolution = self.grid.resolution
        if self._near[row, column] > self._radius + 1.5 * resolution:
            return float(self._near[row, column])
        half, best = resolution / 2, math.inf
        rows = slice(max(row - self._cells, 0), row + self._cells + 1)
        columns = slice(max(column - self._cells, 0), column + self._cells + 1)
        for i, j in zip(*np.nonzero(self.grid.occupied[rows, columns]), strict=True):
            cx, cy = self.grid.centre(int(i) + rows.start, int(j) + columns.start)
            gap = math.hypot(max(abs(cx - x) - half, 0.0), max(abs(cy - y) - half, 0.0))
            best = min(best, gap)
        return best

    def scan(self, pose: Pose, angles: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
        """Return the range in each direction (robot's frame) from a pose; inf where nothing is."""
        ranges = self._wall_ranges(pose, angles, limit)
        headings = angles + pose.yaw
        for disc in self.recurring():
            dx, dy = disc.x - pose.x, disc.y - pose.y
            along = dx * np.cos(headings) + dy * np.sin(headings)
            inner = disc.radius**2 - (dx**2 + dy**2 - along**2)
            reach = along - np.sqrt(np.maximum(inner, 0.0))
            seen = (inner > 0) & (reach > 0) & (reach < limit)
            ranges = np.where(seen, np.minimum(ranges, reach), ranges)
        return ranges

    def sees(self, pose: Pose, x: float, y: float) -> bool:
        """Return whether no wall stands between the robot and a point."""
        distance = math.hypot(x - pose.x, y - pose.y)
        bearing = np.array([math.atan2(y - pose.y, x - pose.x) - pose.yaw])
        limit = distance + self.grid.resolution
        return bool(self._wall_ranges(pose, bearing, limit)[0] >= distance)

    def _wall_ranges(
        self, pose: Pose, angles: NDArray[np.float64], limit: float
    ) -> NDArray[np.float64]:
        step = self.grid.resolution / 2
        distances = np.arange(step, limit, step)
        headings = angles + pose.yaw
        cos, sin = np.cos(headings)[:, None], np.sin(headings)[:, None]
        rows, columns = self.grid.data.shape
        j = np.floor((pose.x + cos * distances - self.grid.origin_x) / self.grid.resolution)
        i = np.floor((pose.y + sin * distances - self.grid.origin_y) / self.grid.resolution)
        inside = (i >= 0) & (i < rows) & (j >= 0) & (j < columns)
        i, j = np.clip(i, 0, rows - 1).astype(int), np.clip(j, 0, columns - 1).astype(int)
        hit = self.grid.occupied[i, j] & inside
        return np.where(hit.any(axis=1), distances[hit.argmax(axis=1)], np.inf)


class Robot:
    """A differential-drive robot: where it is, and where its odometry says it is."""

    def __init__(self, world: World, start: Pose, parameters: Parameters, seed: int) -> None:
        self.world = world
        self.true_pose = start
        self.odom_pose = Pose()
        self.speed = 0.0
        self.rotation = 0.0
        self.distance_driven = 0.0
        self.collisions = 0
        self._p = parameters
        self._random = random.Random(f"{seed}:odometry")
        self._command = (0.0, 0.0)
        self._commanded_at = -math.inf
        self._touching = False

    def command(self, speed: float, rotation: float) -> None:
        """Set the velocities wanted, in m/s and rad/s; they hold for `command_timeout`."""
        self._command = (speed, rotation)
        self._commanded_at = self.world.time

    def step(self, dt: float) -> None:
        """Move for `dt` seconds; walls and discs stop the robot, turning on the spot always works."""
        p = self._p
        fresh = self.world.time - self._commanded_at <= p.command_timeout
        speed, rotation = self._command if fresh else (0.0, 0.0)
        speed = min(max(speed, -p.max_speed), p.max_speed)
        rotation = min(max(rotation, -p.max_rotation), p.max_rotation)
        self.speed += min(max(speed - self.speed, -p.acceleration * dt), p.acceleration * dt)
        most = p.rotational_acceleration * dt
        self.rotation += min(max(rotation - self.rotation, -most), most)
        turn, drive = self.rotation * dt, self.speed * dt
        if not turn and not drive:
            return
        pose = self.true_pose
        middle = pose.yaw + turn / 2
        x, y = pose.x + drive * math.cos(middle), pose.y + drive * math.sin(middle)
        room = self.world.clearance(x, y)
        moves = (x, y) != (pose.x, pose.y)  # a turn alone sweeps nothing: the robot is round
        blocked = moves and room < 0 and room <= self.world.clearance(pose.x, pose.y)
        if blocked:
            self.collisions += not self._touching
            x, y, drive, self.speed = pose.x, pose.y, 0.0, 0.0
        # Pushing on against the same wall is one collision, not many.
        self._touching = blocked or (self._touching and room < 0.05)
        self.true_pose = Pose(x, y, wrap(pose.yaw + turn))
        self.distance_driven += abs(drive)
        self._measure(drive, turn)

    def _measure(self, drive: float, turn: float) -> None:
        """Add a motion to the odometry, as its wheels see it."""
        p = self._p
        measured, turned = drive * p.odom_scale, turn + p.odom_drift * abs(drive)
        if p.odom_noise:
            measured += self._random.gauss(0.0, p.odom_noise * math.sqrt(abs(drive)))
            turned += self._random.gauss(0.0, p.odom_noise * math.sqrt(abs(turn) + abs(drive)))
        middle = self.odom_pose.yaw + turned / 2
        self.odom_pose = Pose(
            self.odom_pose.x + measured * math.cos(middle),
            self.odom_pose.y + measured * math.sin(middle),
            wrap(self.odom_pose.yaw + turned),
        )


# --- AMCL ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PoseEstimate:
    """What amcl_pose says: stamp of the scan, pose, and variances of x, y and yaw."""

    stamp: float
    frame_id: str
    pose: Pose
    variances: tuple[float, float, float]


@dataclass(frozen=True)
class MapToOdom:
    """The transform map → odom, with a stamp in the future."""

    stamp: float
    transform: Pose


class AmclModel:
    """AMCL's outside: when it publishes, and how its estimate moves between its updates.

    The particle filter is replaced by its effect. Near the true pose it converges on it; too far
    off, it keeps its error and follows the odometry.
    """

    def __init__(self, parameters: Parameters, map_size: tuple[int, int], seed: int) -> None:
        self.poses: deque[PoseEstimate] = deque()
        """Published poses, for the caller to take."""
        self.transforms: deque[MapToOdom] = deque()
        """Published transforms, for the caller to take."""
        self.map_to_odom: MapToOdom | None = None
        """What listeners of tf have."""
        self.published = 0
        self.frozen_until = -math.inf
        self.freeze_keeps_transform = False
        self._p = parameters
        self._map_size = map_size
        self._random = random.Random(f"{seed}:amcl")
        self._initial: Pose | None = None
        self._known = False
        self._started = False
        self._update_odom = Pose()
        self._latest: Pose | None = None
        self._variances = (0.0, 0.0, 0.0)
        self._offset: Pose | None = None
        self._offset_until = math.inf
        self._force_update = False
        self._due: deque[tuple[float, PoseEstimate | None, MapToOdom]] = deque()

    @property
    def localised(self) -> bool:
        """Whether AMCL has ever given a transform."""
        return self.map_to_odom is not None

    def initial_pose(
        self,
        pose: Pose,
        frame_id: str = "map",
        variances: tuple[float, float, float] = (0.25, 0.25, 0.07),
    ) -> bool:
        """Take a pose from `initialpose`; return whether it was taken. The next scan publishes it."""
        if not all(map(math.isfinite, (pose.x, pose.y, pose.yaw, *variances))):
            return False
        if frame_id.removeprefix("/") != "map":
            return False
        # AMCL compares metres with the number of cells here; a pose far outside is refused.
        if abs(pose.x) > self._map_size[0] or abs(pose.y) > self._map_size[1]:
            return False
        self._initial, self._variances = pose, variances
        self._known, self._started = True, False
        self._offset = None
        return True

    def request_nomotion_update(self) -> None:
        """Update the filter at the next scan although the robot stands (service of that name)."""
        self._force_update = True

    def jump(self, offset: Pose, until: float = math.inf) -> None:
        """Make the estimate wrong by `offset` (in the robot's frame) from the next update on.

        A robot that stands makes no update: the jump shows when it has moved.
        """
        self._offset, self._offset_until = offset, until

    def freeze(self, until: float, keep_transform: bool = False) -> None:
        """Publish nothing until then, or only the last transform again."""
        self.frozen_until, self.freeze_keeps_transform = until, keep_transform

    def scan_received(self, time: float, odom: Pose, true_pose: Pose) -> None:
        """Do what AMCL does with a laser scan taken at `time`."""
        if time < self.frozen_until:
            if self.freeze_keeps_transform and self._latest is not None:
                self._emit(time, None, self._latest)
            return
        if not self._known:
            return
        publish = not self._started or self._moved(odom) or self._force_update
        if publish:
            # Until its first update with a scan the filter is what the initial pose says.
            guess = self._initial if not self._started else self._odometry_estimate(odom)
            pose = self._filter(time, guess or true_pose, true_pose)
            self._started, self._force_update, self._update_odom = True, False, odom
            self._latest = pose @ odom.inverse()
            self.published += 1
            estimate = PoseEstimate(time, self._p.amcl_frame_id, pose, self._variances)
            self._emit(time, estimate, self._latest)
        elif self._latest is not None:
            self._emit(time, None, self._latest)

    def deliver(self, time: float) -> None:
        """Let what was published with a lag arrive."""
        while self._due and self._due[0][0] <= time + 1e-9:
            _, estimate, transform = self._due.popleft()
            if estimate is not None:
                self.poses.append(estimate)
            self.transforms.append(transform)
            self.map_to_odom = transform

    def _emit(self, time: float, estimate: PoseEstimate | None, transform: Pose) -> None:
        stamped = MapToOdom(time + self._p.transform_tolerance, transform)
        self._due.append((time + self._p.amcl_lag, estimate, stamped))

    def _moved(self, odom: Pose) -> bool:
        """Return AMCL's own condition, which looks at x and y one by one, not at the distance."""
        before = self._update_odom
        return (
            abs(odom.x - before.x) > self._p.update_min_d
            or abs(odom.y - before.y) > self._p.update_min_d
            or abs(wrap(odom.yaw - before.yaw)) > self._p.update_min_a
        )

    def _odometry_estimate(self, odom: Pose) -> Pose:
        return odom if self._latest is None else self._latest @ odom

    def _filter(self, time: float, guess: Pose, true_pose: Pose) -> Pose:
        if self._offset is not None:
            if time < self._offset_until:
                return true_pose @ self._offset
            self._offset, guess = None, true_pose
        basin = self._p.amcl_basin
        if guess.distance(true_pose) > basin or abs(wrap(guess.yaw - true_pose.yaw)) > basin:
            return guess
        shrink, noise = 0.3, self._p.amcl_noise
        self._variances = tuple(  # type: ignore[assignment]
            max(value * shrink**2, max(noise, 1e-3) ** 2) for value in self._variances
        )
        return Pose(
            true_pose.x + shrink * (guess.x - true_pose.x) + self._random.gauss(0.0, noise),
            true_pose.y + shrink * (guess.y - true_pose.y) + self._random.gauss(0.0, noise),
            wrap(
                true_pose.yaw
                + shrink * wrap(guess.yaw - true_pose.yaw)
                + self._random.gauss(0.0, noise)
            ),
        )


# --- costmap and planner -------------------------------------------------------------------------


class Costmap:
    """Static map, sensed obstacles, inflation, and the keep-out filter on top, as Nav2 layers them."""

    def __init__(self, grid: Grid, parameters: Parameters) -> None:
        self.grid = grid
        self.version = 0
        self.costs = np.zeros(grid.data.shape, dtype=np.uint8)
        self._p = parameters
        self._sensed: dict[Obstacle, tuple[float, float]] = {}
        self._mask: NDArray[np.int16] | None = None
        self._robot_in_mask = False
        self._update()

    def cost(self, x: float, y: float) -> int:
        """Return the cost at a point; lethal outside the map."""
        cell = self.grid.cell(x, y)
        return LETHAL if cell is None else int(self.costs[cell])

    def blocked(self, x: float, y: float) -> bool:
        """Return whether the robot's centre may not be there."""
        return self.cost(x, y) in (LETHAL, INSCRIBED)

    def set_keepout(self, mask: Grid | None) -> None:
        """Take a keep-out mask in the frame of the map; None for none."""
        self._mask = None if mask is None else self._resample(mask)
        self._update()

    def sense(self, world: World, true_pose: Pose, estimate: Pose) -> None:
        """Mark the discs that the laser sees, where the robot believes them; clear those gone."""
        if world.obstacles or self._sensed:
            self._replace_sensed(self._observe(self._sensed, world, true_pose, estimate))

    def clear(self, world: World, true_pose: Pose, estimate: Pose | None) -> None:
        """Forget what was sensed, as the service clear_entirely does; the map and mask stay.

        Planner and controller wait for the next update after it: what the laser sees is back.
        """
        seen = {} if estimate is None else self._observe({}, world, true_pose, estimate)
        self._replace_sensed(seen)

    def _observe(
        self, known: Mapping[Obstacle, tuple[float, float]], world: World, true: Pose, robot: Pose
    ) -> dict[Obstacle, tuple[float, float]]:
        """Return where the robot takes the discs to be after a scan."""
        p, result = self._p, dict(known)
        recurring, believed = world.recurring(), robot @ true.inverse()
        for disc in recurring:
            distance = math.hypot(disc.x - true.x, disc.y - true.y) - disc.radius
            if distance <= p.obstacle_max_range and world.sees(true, disc.x, disc.y):
                at = believed @ Pose(disc.x, disc.y)
                # A little jitter in the estimate is no reason for a new costmap.
                if disc not in known or math.dist(known[disc], (at.x, at.y)) > 0.05:
                    result[disc] = (at.x, at.y)
        for disc, (x, y) in known.items():
            near = math.hypot(x - robot.x, y - robot.y) <= p.raytrace_max_range
            if disc not in recurring and near and world.sees(true, disc.x, disc.y):
                del result[disc]
        return result

    def _replace_sensed(self, sensed: dict[Obstacle, tuple[float, float]]) -> None:
        if sensed != self._sensed:
            self._sensed = sensed
            self._update()

    def robot_at(self, pose: Pose) -> None:
        """Note where the robot is: `override_lethal_cost` lets it out of a keep-out zone."""
        if self._mask is None or not self._p.override_lethal_cost:
            return
        cell = self.grid.cell(pose.x, pose.y)
        inside = cell is not None and int(self._mask[cell]) in (LETHAL, INSCRIBED)
        if inside != self._robot_in_mask:
            self._robot_in_mask = inside
            self._update()

    def _resample(self, mask: Grid) -> NDArray[np.int16]:
        """Return the mask's cost at the middle of each cell of the costmap; −1 says nothing."""
        rows, columns = self.grid.data.shape
        xs = self.grid.origin_x + (np.arange(columns) + 0.5) * self.grid.resolution
        ys = self.grid.origin_y + (np.arange(rows) + 0.5) * self.grid.resolution
        j = np.floor((xs - mask.origin_x) / mask.resolution).astype(int)
        i = np.floor((ys - mask.origin_y) / mask.resolution).astype(int)
        in_rows, in_columns = mask.data.shape
        valid = ((i >= 0) & (i < in_rows))[:, None] & ((j >= 0) & (j < in_columns))[None, :]
        values = mask.data[np.clip(i, 0, in_rows - 1)][:, np.clip(j, 0, in_columns - 1)]
        costs = np.round(values.astype(float) * LETHAL / 100).astype(np.int16)
        return np.where(valid & (values >= 0), costs, np.int16(-1))

    def _update(self) -> None:
        p, grid = self._p, self.grid
        occupied = grid.occupied
        if self._sensed:
            occupied = occupied.copy()
            rows, columns = grid.data.shape
            xs = grid.origin_x + (np.arange(columns) + 0.5) * grid.resolution
            ys = grid.origin_y + (np.arange(rows) + 0.5) * grid.resolution
            for disc, (x, y) in self._sensed.items():
                occupied |= np.hypot(xs[None, :] - x, ys[:, None] - y) <= disc.radius
        # Distances are between middles of cells; the walls of the world fill theirs.
        inscribed = p.robot_radius + grid.resolution / 2
        reach = math.ceil(max(p.inflation_radius, inscribed) / grid.resolution)
        distance = distance_to(occupied, reach) * grid.resolution
        decay = np.exp(-p.cost_scaling_factor * (distance - inscribed))
        costs = np.where(distance <= p.inflation_radius, (INSCRIBED - 1) * decay, 0.0)
        costs = np.where(distance <= inscribed, INSCRIBED, costs)
        costs = np.where((grid.data < 0) & (costs == 0), NO_INFORMATION, costs)
        costs = np.where(occupied, LETHAL, costs).astype(np.int16)
        if self._mask is not None:  # filters come after the inflation: a mask is not inflated
            raised = (self._mask >= 0) & ((self._mask > costs) | (costs == NO_INFORMATION))
            value = p.lethal_override_cost if self._robot_in_mask else self._mask
            costs = np.where(raised, value, costs)
        self.costs = costs.astype(np.uint8)
        self.version += 1


class ErrorCode(IntEnum):
    """Error codes of Jazzy's planner and controller servers; the navigators pass them on."""

    NONE = 0
    CONTROLLER_UNKNOWN = 100
    CONTROLLER_TF_ERROR = 102
    INVALID_PATH = 103
    PATIENCE_EXCEEDED = 104
    FAILED_TO_MAKE_PROGRESS = 105
    NO_VALID_CONTROL = 106
    PLANNER_UNKNOWN = 200
    PLANNER_TF_ERROR = 202
    START_OUTSIDE_MAP = 203
    GOAL_OUTSIDE_MAP = 204
    GOAL_OCCUPIED = 206
    PLANNER_TIMEOUT = 207
    NO_VALID_PATH = 208
    NO_VIAPOINTS_GIVEN = 309


CONTROLLER_RECOVERY_HELPS = frozenset({100, 104, 105, 106})
PLANNER_RECOVERY_HELPS = frozenset({200, 207, 208, 300, 307, 308})


class PlanningError(Exception):
    """No path; `code` says why, in the numbers of ComputePathToPose."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass(frozen=True)
class Path:
    """Points from the robot to the end, and the yaw wanted there."""

    points: NDArray[np.float64]
    yaw: float

    @property
    def end(self) -> Pose:
        """The pose that the goal checker compares with."""
        return Pose(float(self.points[-1, 0]), float(self.points[-1, 1]), self.yaw)

    def closest(self, pose: Pose) -> int:
        """Return the index of the point nearest to a pose."""
        return int(np.argmin((self.points[:, 0] - pose.x) ** 2 + (self.points[:, 1] - pose.y) ** 2))

    def length_from(self, index: int) -> float:
        """Return the length of the rest of the path."""
        steps = np.diff(self.points[index:], axis=0)
        return float(np.hypot(steps[:, 0], steps[:, 1]).sum())


class _Search:
    """A* from the goal towards the robot that can go on later for another place of the robot.

    Replanning each second then costs next to nothing: with a consistent heuristic, whatever the
    search has closed keeps its best way to the goal.
    """

    def __init__(self, costs: list[float], width: int, goal: int, towards: int) -> None:
        self._costs, self._width = costs, width
        self._target = divmod(towards, width)
        self._best = {goal: 0.0}
        self._next: dict[int, int] = {goal: goal}
        self._closed: set[int] = set()
        self._open = [(self._heuristic(goal), goal)]

    def _heuristic(self, cell: int) -> float:
        row, column = divmod(cell, self._width)
        dy, dx = abs(row - self._target[0]), abs(column - self._target[1])
        return max(dx, dy) + (math.sqrt(2) - 1) * min(dx, dy)

    def way_from(self, start: int) -> list[int] | None:
        """Return the cells from `start` to the goal, or None where there is no way."""
        if not self._reach(start):
            return None
        way = [start]
        while self._next[way[-1]] != way[-1]:
            way.append(self._next[way[-1]])
        return way

    def _reach(self, start: int) -> bool:
        costs, width, best, closed = self._costs, self._width, self._best, self._closed
        straight = (1, -1, width, -width)
        diagonal = ((1, width), (1, -width), (-1, width), (-1, -width))
        while start not in closed:
            if not self._open:
                return False
            _, cell = heapq.heappop(self._open)
            if cell in closed:
                continue
            closed.add(cell)
            base, here = best[cell], costs[cell]
            moves = [(cell + step, 1.0) for step in straight]
            for across, along in diagonal:  # no squeezing between two corners
                if costs[cell + across] < math.inf and costs[cell + along] < math.inf:
                    moves.append((cell + across + along, math.sqrt(2)))
            for neighbour, length in moves:
                cost = costs[neighbour]
                if cost == math.inf or neighbour in closed:
                    continue
                total = base + length * (here + cost) / 2
                if total < best.get(neighbour, math.inf):
                    best[neighbour] = total
                    self._next[neighbour] = cell
                    entry = (total + self._heuristic(neighbour), neighbour)
                    heapq.heappush(self._open, entry)
        return True


class Planner:
    """Paths on the costmap, with the failures and the goal tolerance of NavFn."""

    def __init__(self, costmap: Costmap, tolerance: float) -> None:
        self.costmap = costmap
        self._tolerance = tolerance
        self._version = -1
        self._costs: list[float] = []
        self._searches: dict[int, _Search] = {}

    def plan(self, start: Pose, goals: Sequence[Pose]) -> Path:
        """Return a path through all goals, or raise a PlanningError."""
        if not goals:
            raise PlanningError(ErrorCode.NO_VIAPOINTS_GIVEN)
        pieces = []
        for goal in goals:
            piece = self._piece(start, goal)
            pieces.append(piece if not pieces else piece[1:])
            start = Pose(float(piece[-1, 0]), float(piece[-1, 1]), goal.yaw)
        return Path(np.concatenate(pieces), goals[-1].yaw)

    def _piece(self, start: Pose, goal: Pose) -> NDArray[np.float64]:
        grid = self.costmap.grid
        if grid.cell(start.x, start.y) is None:
            raise PlanningError(ErrorCode.START_OUTSIDE_MAP)
        goal_cell = grid.cell(goal.x, goal.y)
        if goal_cell is None:
            raise PlanningError(ErrorCode.GOAL_OUTSIDE_MAP)
        if self._tolerance == 0 and self.costmap.costs[goal_cell] == LETHAL:
            raise PlanningError(ErrorCode.GOAL_OCCUPIED)
        self._refresh()
        first = self._start_cell(start)
        if first is None:
            raise PlanningError(ErrorCode.NO_VALID_PATH)
        end, way = (goal.x, goal.y), self._way(first, self._index(*goal_cell))
        if way is None:
            beside = self._nearest_reachable(first, goal)
            if beside is None:
                raise PlanningError(ErrorCode.NO_VALID_PATH)
            end, way = self._centre(beside), self._way(first, beside)
        middle = [self._centre(cell) for cell in (way or [])[1:-1]]
        return np.array([(start.x, start.y), *middle, end], dtype=float)

    def _refresh(self) -> None:
        if self._version == self.costmap.version:
            return
        self._version = self.costmap.version
        costs = self.costmap.costs.astype(float)
        costs[costs == NO_INFORMATION] = INSCRIBED - 1  # allow_unknown: possible, but dear
        weights = np.where(costs < INSCRIBED, 1.0 + 4.0 * costs / (INSCRIBED - 1), np.inf)
        self._costs = np.pad(weights, 1, constant_values=np.inf).ravel().tolist()
        self._searches.clear()

    def _index(self, row: int, column: int) -> int:
        return (row + 1) * (self.costmap.grid.data.shape[1] + 2) + column + 1

    def _centre(self, index: int) -> tuple[float, float]:
        row, column = divmod(index, self.costmap.grid.data.shape[1] + 2)
        return self.costmap.grid.centre(row - 1, column - 1)

    def _start_cell(self, start: Pose) -> int | None:
        """Return the robot's cell, or the free one within two cells: it may stand close to a wall."""
        row, column = self.costmap.grid.cell(start.x, start.y) or (0, 0)
        rows, columns = self.costmap.grid.data.shape
        cells = [
            (i, j)
            for i in range(max(row - 2, 0), min(row + 3, rows))
            for j in range(max(column - 2, 0), min(column + 3, columns))
            if self._costs[self._index(i, j)] < math.inf
        ]
        if not cells:
            return None
        return self._index(*min(cells, key=lambda c: (c[0] - row) ** 2 + (c[1] - column) ** 2))

    def _way(self, first: int, goal: int) -> list[int] | None:
        if self._costs[goal] == math.inf:
            return None
        if goal not in self._searches:
            width = self.costmap.grid.data.shape[1] + 2
            self._searches[goal] = _Search(self._costs, width, goal, first)
        return self._searches[goal].way_from(first)

    def _nearest_reachable(self, first: int, goal: Pose) -> int | None:
        grid, tolerance = self.costmap.grid, self._tolerance
        spans = math.ceil(tolerance / grid.resolution)
        row, column = grid.cell(goal.x, goal.y) or (0, 0)
        candidates = []
        for i in range(row - spans, row + spans + 1):
            for j in range(column - spans, column + spans + 1):
                x, y = grid.centre(i, j)
                near = abs(x - goal.x) <= tolerance and abs(y - goal.y) <= tolerance
                inside = 0 <= i < grid.data.shape[0] and 0 <= j < grid.data.shape[1]
                if near and inside and self._costs[self._index(i, j)] < math.inf:
                    candidates.append((math.hypot(x - goal.x, y - goal.y), self._index(i, j)))
        reachable = self._reachable(first) if candidates else set()
        return min(((d, cell) for d, cell in candidates if cell in reachable), default=(0, None))[1]

    def _reachable(self, first: int) -> set[int]:
        width = self.costmap.grid.data.shape[1] + 2
        found, todo = {first}, [first]
        while todo:
            cell = todo.pop()
            for neighbour in (cell + 1, cell - 1, cell + width, cell - width):
                if neighbour not in found and self._costs[neighbour] < math.inf:
                    found.add(neighbour)
                    todo.append(neighbour)
        return found


# --- controller ----------------------------------------------------------------------------------


class ControlError(Exception):
    """The controller gives up; `code` says why, in the numbers of FollowPath."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class Controller:
    """Follows a path by pure pursuit, with Nav2's goal checker, progress checker and patience."""

    def __init__(self, costmap: Costmap, parameters: Parameters) -> None:
        self._costmap, self._p = costmap, parameters
        self.path: Path | None = None
        self._check_position = True
        self._baseline: tuple[Pose, float] | None = None
        self._last_valid = 0.0

    def start(self, time: float) -> None:
        """Begin a FollowPath action: progress is counted from here."""
        self._baseline, self._last_valid = None, time

    def set_path(self, path: Path) -> None:
        """Take a new path; the goal checker starts anew, the progress checker does not."""
        self.path, self._check_position = path, True

    def goal_reached(self, pose: Pose) -> bool:
        """Return whether the pose is within both tolerances; once there, only the yaw counts."""
        if self.path is None:
            return False
        end = self.path.end
        if self._check_position:
            if pose.distance(end) > self._p.xy_goal_tolerance:
                return False
            self._check_position = False
        return abs(wrap(pose.yaw - end.yaw)) <= self._p.yaw_goal_tolerance

    def velocity(self, time: float, pose: Pose, odom: Pose) -> tuple[float, float]:
        """Return speed and rotation for a pose, or raise a ControlError.

        Progress is that of the odometry: the controller server lives in the local costmap's frame.
        """
        if not self._progresses(time, odom):
            raise ControlError(ErrorCode.FAILED_TO_MAKE_PROGRESS)
        wanted = self._pursue(pose)
        if wanted is not None:
            self._last_valid = time
            return wanted
        if self._p.failure_tolerance == 0:
            raise ControlError(ErrorCode.NO_VALID_CONTROL)
        if 0 < self._p.failure_tolerance < time - self._last_valid:
            raise ControlError(ErrorCode.PATIENCE_EXCEEDED)
        return 0.0, 0.0

    def _progresses(self, time: float, pose: Pose) -> bool:
        radius, allowance = self._p.required_movement_radius, self._p.movement_time_allowance
        if self._baseline is None or pose.distance(self._baseline[0]) > radius:
            self._baseline = (pose, time)
        return time - self._baseline[1] <= allowance

    def _pursue(self, pose: Pose) -> tuple[float, float] | None:
        path = self.path
        if path is None:
            raise ControlError(ErrorCode.INVALID_PATH)
        to_end = pose.distance(path.end)
        if to_end <= self._p.xy_goal_tolerance:
            return 0.0, self._turn(wrap(path.end.yaw - pose.yaw))
        index = path.closest(pose)
        ahead = np.hypot(path.points[index:, 0] - pose.x, path.points[index:, 1] - pose.y)
        # A nearer point where a wall is between: the path itself keeps clear of walls.
        for lookahead in (self._p.lookahead, self._p.lookahead / 2, self._p.lookahead / 4):
            far = np.nonzero(ahead >= lookahead)[0]
            x, y = path.points[index + int(far[0])] if len(far) else path.points[-1]
            if self._free(pose, float(x), float(y)):
                break
        else:
            return None
        error = wrap(math.atan2(y - pose.y, x - pose.x) - pose.yaw)
        if abs(error) > 0.785:
            return 0.0, self._turn(error)
        speed = self._p.max_speed * max(math.cos(error), 0.2) * min(1.0, 0.4 + to_end)
        distance = max(math.hypot(x - pose.x, y - pose.y), 0.05)
        rotation = 2 * speed * math.sin(error) / distance
        most = min(1.5, self._p.max_rotation)
        if abs(rotation) > most:
            speed, rotation = speed * most / abs(rotation), math.copysign(most, rotation)
        return speed, rotation

    def _turn(self, error: float) -> float:
        return math.copysign(min(max(2 * abs(error), 0.2), 1.0, self._p.max_rotation), error)

    def _free(self, pose: Pose, x: float, y: float) -> bool:
        distance = math.hypot(x - pose.x, y - pose.y)
        samples = max(1, math.ceil(distance / (self._costmap.grid.resolution / 2)))
        leaving = self._costmap.blocked(pose.x, pose.y)
        for sample in range(1, samples + 1):
            part = sample / samples
            if self._costmap.blocked(pose.x + part * (x - pose.x), pose.y + part * (y - pose.y)):
                # A robot that already touches a zone's edge may drive out of it.
                if not leaving or part * distance > 2.5 * self._costmap.grid.resolution:
                    return False
            else:
                leaving = False
        return True


# --- goals ---------------------------------------------------------------------------------------


class Status(IntEnum):
    """The states of action_msgs/GoalStatus."""

    UNKNOWN = 0
    ACCEPTED = 1
    EXECUTING = 2
    CANCELING = 3
    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


TERMINAL = frozenset({Status.SUCCEEDED, Status.CANCELED, Status.ABORTED})


@dataclass(frozen=True)
class Result:
    """The result of both actions."""

    error_code: int = 0
    error_msg: str = ""


@dataclass(frozen=True)
class Feedback:
    """The feedback of both actions; `number_of_poses_remaining` is for NavigateThroughPoses."""

    current_pose: Pose
    navigation_time: float
    estimated_time_remaining: float
    number_of_recoveries: int
    distance_remaining: float
    number_of_poses_remaining: int


@dataclass(eq=False)
class Goal:
    """A goal that was sent: poll `status`, `feedback` and `result`."""

    number: int
    action: str
    poses: tuple[Pose, ...]
    frame_id: str
    behavior_tree: str
    accepted: bool = True
    status: Status = Status.UNKNOWN
    result: Result | None = None
    feedback: Feedback | None = None
    feedback_count: int = 0
    lost: bool = False
    """The server went away with the goal: no result will come."""
    ended_at: float | None = None
    faults: dict[str, tuple[float, float]] = field(default_factory=dict)
    """What befalls it: kind to (seconds after its begin, seconds long)."""
    began_at: float | None = None

    @property
    def done(self) -> bool:
        """Whether the goal has ended (a rejected one never began)."""
        return not self.accepted or self.status in TERMINAL


class ServerUnavailableError(Exception):
    """No action server is there."""


class _Tree(Enum):
    """What a tick of the behaviour tree returns."""

    RUNNING = 0
    SUCCESS = 1
    FAILURE = 2


@dataclass
class _Server:
    """Nav2's simple action server: a goal that runs and at most one that waits to preempt it."""

    current: Goal | None = None
    pending: Goal | None = None


class Nav2Model:
    """The robot, AMCL and Nav2. Send goals, call `step`, poll the goals.

    `drive` is where the controller's velocities go; by default straight to the robot.
    """

    def __init__(
        self,
        grid: Grid,
        start: Pose,
        parameters: Parameters | None = None,
        faults: Faults | None = None,
        obstacles: Sequence[Obstacle] = (),
    ) -> None:
        self.parameters = p = parameters or Parameters()
        self.faults = faults or Faults()
        self.time = 0.0
        self.world = World(grid, p.robot_radius)
        self.world.obstacles.extend(obstacles)
        self.robot = Robot(self.world, start, p, self.faults.seed)
        size = (grid.data.shape[1], grid.data.shape[0])
        self.amcl = AmclModel(p, size, self.faults.seed)
        self.costmap = Costmap(grid, p)
        self.planner = Planner(self.costmap, p.planner_tolerance)
        self.controller = Controller(self.costmap, p)
        self.drive: Callable[[float, float], None] = self.robot.command
        self.goals: list[Goal] = []
        self.on_end: Callable[[Goal], None] = lambda _goal: None
        """Called once for each goal that ends."""
        self._random = {
            kind: random.Random(f"{self.faults.seed}:{kind}")
            for kind in (*FAULT_KINDS, "server_absent")
        }
        absent, chance = self._random["server_absent"], self.faults.server_absent_probability
        self._absent = [span for span in self.faults.server_absent if absent.random() < chance]
        self._servers = {TO_POSE: _Server(), THROUGH_POSES: _Server()}
        self._navigating: str | None = None
        self._targets: tuple[Pose, ...] = ()
        self._goal_serial = 0
        self._path: dict[str, Path | None] = {TO_POSE: None, THROUGH_POSES: None}
        self._recoveries = 0
        self._next_recovery = {TO_POSE: 0, THROUGH_POSES: 0}
        self._behavior_tree = ""
        self._begun = 0.0
        self._fraction = 0.0
        self._ticks = 0
        self._next_scan = 0.0
        self._next_costmap = 0.0
        self._reset_tree()
        if p.set_initial_pose:
            self.amcl.initial_pose(p.initial_pose or start)
        self._sense()

    # what a client does

    @property
    def available(self) -> bool:
        """Whether the action servers are there."""
        return not any(begin <= self.time < end for begin, end in self._absent)

    def send_goal(
        self,
        goal: Pose | Sequence[Pose],
        *,
        frame_id: str = "map",
        behavior_tree: str = "",
        action: str | None = None,
    ) -> Goal:
        """Send one pose to navigate_to_pose, or several to navigate_through_poses."""
        if not self.available:
            raise ServerUnavailableError
        poses = (goal,) if isinstance(goal, Pose) else tuple(goal)
        action = action or (TO_POSE if isinstance(goal, Pose) else THROUGH_POSES)
        sent = Goal(len(self.goals), action, poses, frame_id, behavior_tree)
        self.goals.append(sent)
        sent.faults = self._draw(sent.number)
        if "reject" in sent.faults:
            sent.accepted = False
            return sent
        sent.status = Status.EXECUTING  # ACCEPT_AND_EXECUTE, even for a goal that has to wait
        server = self._servers[action]
        if server.current is None:
            server.current = sent
        else:
            if server.pending is not None:
                self._end(server.pending, None)
            server.pending = sent
        return sent

    def cancel(self, goal: Goal) -> bool:
        """Ask to cancel a goal; return whether the server takes the request."""
        if goal.status is not Status.EXECUTING or goal.lost or not self.available:
            return False
        goal.status = Status.CANCELING
        return True

    def estimate(self) -> Pose | None:
        """Return the pose of base_link in map as tf gives it; None before the first transform."""
        latest = self.amcl.map_to_odom
        return None if latest is None else latest.transform @ self.robot.odom_pose

    def step(self, dt: float) -> None:
        """Let time pass, in whole ticks; what is left over waits for the next call."""
        self._fraction += dt
        while self._fraction >= self.parameters.tick - 1e-9:
            self._fraction -= self.parameters.tick
            self._tick()

    def run(self, goal: Goal, timeout: float) -> bool:
        """Step until a goal has ended; return whether it did within `timeout` seconds."""
        end = self.time + timeout
        while not goal.done and self.time < end:
            self._tick()
        return goal.done

    # what tests do to the world

    def add_obstacle(
        self, x: float, y: float, radius: float = 0.3, duration: float = math.inf
    ) -> Obstacle:
        """Put a disc into the world, on no map, for a time."""
        disc = Obstacle(x, y, radius, self.time, self.time + duration)
        self.world.obstacles.append(disc)
        return disc

    def set_keepout(self, mask: Grid | None) -> None:
        """Give the costmap a keep-out mask (100 forbidden, between: dearer, −1 nothing said)."""
        self.costmap.set_keepout(mask)

    def jump(self, offset: Pose, duration: float = math.inf) -> None:
        """Delocalise AMCL by `offset` in the robot's frame."""
        self.amcl.jump(offset, self.time + duration)

    def freeze(self, duration: float, keep_transform: bool = False) -> None:
        """Silence AMCL for a time."""
        self.amcl.freeze(self.time + duration, keep_transform)

    def scan(self) -> NDArray[np.float64]:
        """Return the laser's ranges now."""
        p = self.parameters
        return self.world.scan(self.robot.true_pose, self.scan_angles(), p.scan_range)

    def scan_angles(self) -> NDArray[np.float64]:
        """Return the directions of the laser's rays in the robot's frame."""
        return np.linspace(-math.pi, math.pi, self.parameters.scan_rays, endpoint=False)

    # time

    def _tick(self) -> None:
        p = self.parameters
        available = self.available
        self._ticks += 1
        self.time = self._ticks * p.tick  # counted, as sums of 0.05 drift away
        self.world.time = self.time
        self.robot.step(p.tick)
        self._sense()
        if available and not self.available:
            self._lose_servers()
        if self.available:
            for name in self._servers:
                self._serve(name)

    def _sense(self) -> None:
        p = self.parameters
        if self.time >= self._next_scan - 1e-9:
            self._next_scan += 1.0 / p.scan_rate
            self.amcl.scan_received(self.time, self.robot.odom_pose, self.robot.true_pose)
        self.amcl.deliver(self.time)
        if self.time >= self._next_costmap - 1e-9:
            self._next_costmap += p.costmap_update_period
            estimate = self.estimate()
            if estimate is not None:
                self.costmap.sense(self.world, self.robot.true_pose, estimate)
                self.costmap.robot_at(estimate)

    def _transform_current(self) -> bool:
        latest = self.amcl.map_to_odom
        tolerance = self.parameters.costmap_transform_tolerance
        return latest is not None and self.time <= latest.stamp + tolerance

    # faults

    def _draw(self, number: int) -> dict[str, tuple[float, float]]:
        drawn = {}
        for kind in FAULT_KINDS:
            fault, stream = getattr(self.faults, kind), self._random[kind]
            # All three are drawn in any case, so that each goal takes the same from its stream.
            chance, after = stream.random(), stream.uniform(*fault.after)
            endless = kind in ("hang", "amcl_jump")
            low, high = fault.duration or ((math.inf, math.inf) if endless else (5.0, 15.0))
            part = stream.random()
            duration = high if math.isinf(high) else low + part * (high - low)
            if chance < fault.probability or kind in self.faults.script.get(number, ()):
                drawn[kind] = (after, duration)
        return drawn

    def _due(self, goal: Goal, kind: str) -> bool:
        """Return whether a fault of this goal is on now."""
        if kind not in goal.faults:
            return False
        after, duration = goal.faults[kind]
        return after <= self.time - self._begun < after + duration

    def _take(self, goal: Goal, kind: str) -> float | None:
        """Return how long a fault lasts when its moment has come, once."""
        if kind in goal.faults and self.time - self._begun >= goal.faults[kind][0]:
            return goal.faults.pop(kind)[1]
        return None

    def _disturb(self, goal: Goal) -> None:
        """Begin the faults of the world and of AMCL whose moment has come."""
        duration = self._take(goal, "amcl_jump")
        if duration is not None:
            self.jump(self.faults.jump, duration)
        duration = self._take(goal, "amcl_freeze")
        if duration is not None:
            self.freeze(duration, self.faults.freeze_keeps_transform)
        duration = self._take(goal, "obstacle")
        path = self._path[goal.action]
        if duration is None or path is None:
            return
        pose = self.robot.true_pose
        ahead = path.points[path.closest(pose) :]
        distances = np.hypot(ahead[:, 0] - pose.x, ahead[:, 1] - pose.y)
        far = np.nonzero(distances >= self.faults.obstacle_distance)[0]
        if len(far):  # else the robot is nearly there: no room for an obstacle before the goal
            x, y = ahead[int(far[0])]
            self.add_obstacle(float(x), float(y), self.faults.obstacle_radius, duration)

    def _lose_servers(self) -> None:
        for server in self._servers.values():
            for goal in (server.current, server.pending):
                if goal is not None:
                    goal.lost = True
            server.current = server.pending = None
        self._navigating = None
        self._stop()
        self._reset_tree()

    # the action servers

    def _end(self, goal: Goal, status: Status | None, code: int = 0) -> None:
        """End a goal: with `status`, or as Nav2 terminates: CANCELED if asked for, else ABORTED."""
        if status is None:
            canceling = goal.status is Status.CANCELING
            status = Status.CANCELED if canceling else Status.ABORTED
        names = {int(member): member.name for member in ErrorCode}
        told = self.parameters.error_messages and code
        goal.status, goal.ended_at = status, self.time
        goal.result = Result(code, names.get(code, str(code)) if told else "")
        self.on_end(goal)

    def _serve(self, name: str) -> None:
        """Do one loop of an action server."""
        server = self._servers[name]
        goal = server.current
        if goal is None:
            return
        if self._navigating != name:
            self._begin(name, goal)
            if server.current is None:
                server.current, server.pending = server.pending, None
            return
        hung = self._due(goal, "hang")
        if hung:
            self._stop()
            if self.faults.hang_blocks_server:
                return
        asked = server.pending or goal
        if asked.status is Status.CANCELING:
            self._stop()
            self._finish(name, None, self._error_code())
            if server.current is not None:  # a waiting goal goes down with the one it waited for
                self._end(server.current, None)
                server.current = None
            return
        if not hung:
            self._run_goal(name, goal)
        # First the tree, then the new goal: one that comes as the old one ends is a run of its own.
        if server.current is goal and server.pending is not None:
            self._preempt(name)

    def _run_goal(self, name: str, goal: Goal) -> None:
        self._disturb(goal)
        if self._take(goal, "abort") is not None:
            self._stop()
            self._finish(name, Status.ABORTED, self.faults.abort_error_code)
            return
        if self._take(goal, "lie_success") is not None:
            self._stop()
            self._finish(name, Status.SUCCEEDED)
            return
        outcome = self._tick_tree(name, goal)
        if outcome is _Tree.RUNNING:
            self._give_feedback(name, goal)
            return
        self._stop()
        code = self._error_code()
        if outcome is _Tree.FAILURE:
            self._finish(name, None, code)
        elif "lie_abort" in goal.faults:
            self._finish(name, Status.ABORTED, self.faults.abort_error_code)
        else:
            self._finish(name, Status.SUCCEEDED, code)

    def _error_code(self) -> int:
        """Return the lowest error on the blackboard: the controller's goes before the planner's."""
        return min((code for code in (self._compute_code, self._follow_code) if code), default=0)

    def _finish(self, name: str, status: Status | None, code: int = 0) -> None:
        server = self._servers[name]
        if server.current is not None:
            self._end(server.current, status, code)
        server.current, server.pending = server.pending, None
        self._navigating = None
        self._reset_tree()

    def _begin(self, name: str, goal: Goal) -> None:
        """Take a goal up, or abort it at once: Nav2 accepts first and looks at the goal after."""
        known = ("", *self.parameters.behavior_trees)
        fits = self._navigating is None and goal.behavior_tree in known
        if not fits or not self._initialise(goal):
            self._end(goal, None)
            self._servers[name].current = None
            return
        self._navigating, self._behavior_tree = name, goal.behavior_tree
        self._reset_tree()

    def _preempt(self, name: str) -> None:
        server = self._servers[name]
        old, new = server.current, server.pending
        if old is None or new is None:
            return
        server.pending = None
        if new.behavior_tree != self._behavior_tree:
            self._end(new, None)  # the old goal goes on
            return
        self._end(old, Status.ABORTED)
        server.current = new
        if not self._initialise(new) and name == THROUGH_POSES:
            self._stop()
            self._finish(name, None)
        # NavigateToPose goes on to the old pose under the new goal's name when the new pose cannot
        # be transformed: the old goal has been given up by then.

    def _initialise(self, goal: Goal) -> bool:
        """Put the goal's poses into the map's frame; return whether tf can."""
        estimate = self.estimate()
        if estimate is None and (goal.action == TO_POSE or goal.frame_id != "map"):
            return False
        latest = self.amcl.map_to_odom
        frames = {
            "map": Pose(),
            "odom": latest.transform if latest else Pose(),
            "base_link": estimate or Pose(),
        }
        if goal.frame_id not in frames:
            return False
        self._targets = tuple(frames[goal.frame_id] @ pose for pose in goal.poses)
        self._goal_serial += 1
        self._recoveries = 0
        self._begun = goal.began_at = self.time
        return True

    def _give_feedback(self, name: str, goal: Goal) -> None:
        estimate = self.estimate()
        if estimate is None:
            return
        distance = remaining = 0.0
        path = self._path[name]  # before the first plan: that of the goal before, if any
        if path is not None:
            distance = path.length_from(path.closest(estimate))
            speed = abs(self.robot.speed)
            if speed > 0.01 and distance > 0.1:
                remaining = distance / speed
        goal.feedback = Feedback(
            estimate,
            self.time - self._begun,
            remaining,
            self._recoveries,
            distance,
            len(self._targets),
        )
        goal.feedback_count += 1

    def _stop(self) -> None:
        self.drive(0.0, 0.0)

    # the default behaviour tree

    def _reset_tree(self) -> None:
        self._compute_code = self._follow_code = 0
        self._outer_retries = 0
        self._recovering = False
        self._recovery_serial = 0
        self._recovery_failures = 0
        self._recovery_state: tuple[float, Pose] | None = None
        self._recovery_turned = self._recovery_yaw = 0.0
        self._reset_pipeline()

    def _reset_pipeline(self) -> None:
        self._plan_at = self.time
        self._planning_until: float | None = None
        self._plan_retries = 0
        self._follow_retries = 0
        self._following = False

    def _tick_tree(self, name: str, goal: Goal) -> _Tree:
        if self._recovering:
            recovered = self._recover(name)
            if recovered is _Tree.SUCCESS:
                self._recovering = False
                self._outer_retries += 1
                self._reset_pipeline()
                return _Tree.RUNNING
            return recovered
        outcome = self._navigate(name, goal)
        if outcome is not _Tree.FAILURE:
            return outcome
        self._stop()
        helps = (
            self._follow_code in CONTROLLER_RECOVERY_HELPS
            or self._compute_code in PLANNER_RECOVERY_HELPS
        )
        if self._outer_retries >= self.parameters.number_of_retries or not helps:
            return _Tree.FAILURE
        self._recovering, self._recovery_serial = True, self._goal_serial
        self._recovery_state, self._recovery_failures = None, 0
        return _Tree.RUNNING

    def _navigate(self, name: str, goal: Goal) -> _Tree:
        """Replan when it is time, follow the path between."""
        if self._planning_until is None and self.time >= self._plan_at - 1e-9:
            slow = goal.faults.get("slow_planning", (0.0, 0.0))[1]
            self._planning_until = self.time + max(slow, self.parameters.tick)
        elif self._planning_until is not None and self.time >= self._planning_until - 1e-9:
            self._planning_until = None
            planned = self._plan(name)
            if planned is not _Tree.SUCCESS:
                return planned
        return self._follow(name) if self._following else _Tree.RUNNING

    def _plan(self, name: str) -> _Tree:
        p, through = self.parameters, name == THROUGH_POSES
        estimate = self.estimate()
        try:
            if estimate is None or not self._transform_current():
                raise PlanningError(ErrorCode.PLANNER_TF_ERROR)
            if through:
                while len(self._targets) > 1:
                    if self._targets[0].distance(estimate) > p.passed_goal_radius:
                        break
                    self._targets = self._targets[1:]
            path = self.planner.plan(estimate, self._targets)
        except PlanningError as error:
            through_code = through and error.code < 300
            self._compute_code = int(error.code) + (100 if through_code else 0)
            self._path[name] = None
            if self._plan_retries < 1 and self._compute_code in PLANNER_RECOVERY_HELPS:
                self._plan_retries += 1
                self._recoveries += 1
                self._clear()
                self._plan_at = self.time
                return _Tree.RUNNING
            return _Tree.FAILURE
        self._compute_code, self._plan_retries = 0, 0
        period = p.replan_period_through_poses if through else p.replan_period
        self._plan_at = self.time + period
        self._path[name] = path
        self.controller.set_path(path)
        if not self._following:
            self._following = True
            self.controller.start(self.time)
        return _Tree.SUCCESS

    def _follow(self, name: str) -> _Tree:
        estimate = self.estimate()
        try:
            if estimate is None or not self._transform_current():
                raise ControlError(ErrorCode.CONTROLLER_TF_ERROR)
            if self.controller.goal_reached(estimate):
                self._follow_code = 0
                return _Tree.SUCCESS
            odom = self.robot.odom_pose
            self.drive(*self.controller.velocity(self.time, estimate, odom))
        except ControlError as error:
            self._stop()
            self._follow_code = int(error.code)
            if self._follow_retries < 1 and self._follow_code in CONTROLLER_RECOVERY_HELPS:
                self._follow_retries += 1
                self._recoveries += 1
                self._clear()
                self.controller.start(self.time)
                path = self._path[name]
                if path is not None:
                    self.controller.set_path(path)
                return _Tree.RUNNING
            return _Tree.FAILURE
        return _Tree.RUNNING

    # recoveries: clear the costmaps, spin, wait, back up, and round again

    def _recover(self, name: str) -> _Tree:
        if self._goal_serial != self._recovery_serial:
            self._next_recovery[name] = 0
            self._stop()
            return _Tree.SUCCESS
        if self._recovery_state is None:
            self._recovery_state = (self.time, self.robot.odom_pose)
            self._recovery_turned = 0.0
            self._recovery_yaw = self.robot.odom_pose.yaw
            self._recoveries += 2 if self._next_recovery[name] == 0 else 1
        outcome = (self._clear, self._spin, self._wait, self._back_up)[self._next_recovery[name]]()
        if outcome is _Tree.RUNNING:
            return outcome
        self._stop()
        self._recovery_state = None
        self._next_recovery[name] = (self._next_recovery[name] + 1) % 4
        if outcome is _Tree.SUCCESS:
            return outcome
        self._recovery_failures += 1
        return _Tree.RUNNING if self._recovery_failures < 4 else _Tree.FAILURE

    def _clear(self) -> _Tree:
        self.costmap.clear(self.world, self.robot.true_pose, self.estimate())
        return _Tree.SUCCESS

    def _spin(self, angle: float = 1.57) -> _Tree:
        yaw = self.robot.odom_pose.yaw
        self._recovery_turned += wrap(yaw - self._recovery_yaw)
        self._recovery_yaw = yaw
        left = angle - abs(self._recovery_turned)
        if left < 1e-6:
            return _Tree.SUCCESS
        if self._recovery_time() > 10.0:  # time_allowance
            return _Tree.FAILURE
        self.drive(0.0, min(max(math.sqrt(2 * 3.2 * left), 0.4), 1.0))
        return _Tree.RUNNING

    def _wait(self, duration: float = 5.0) -> _Tree:
        return _Tree.SUCCESS if self._recovery_time() >= duration else _Tree.RUNNING

    def _back_up(self, distance: float = 0.30, speed: float = 0.15) -> _Tree:
        state = self._recovery_state
        pose = self.robot.odom_pose
        gone = pose.distance(state[1]) if state else 0.0
        if gone >= distance:
            return _Tree.SUCCESS
        if self._recovery_time() > 10.0:
            return _Tree.FAILURE
        # The local costmap is around the robot as it is, whatever AMCL believes: look at the world.
        left, true = distance - gone, self.robot.true_pose
        behind = Pose(true.x, true.y, true.yaw) @ Pose(-min(left, 2.0 * speed))
        if self.world.clearance(behind.x, behind.y) < 0:
            return _Tree.FAILURE
        self.drive(-speed, 0.0)
        return _Tree.RUNNING

    def _recovery_time(self) -> float:
        return 0.0 if self._recovery_state is None else self.time - self._recovery_state[0]
