"""A robot to try the bridge on: the Car in MuJoCo, or one of ir-sim, behind what a real driver says.

Relative to its namespace (/skm):
    subscribes  cmd_vel (geometry_msgs/Twist, or TwistStamped if `stamped`)
    publishes   odom (nav_msgs/Odometry, in the map frame), scan (sensor_msgs/LaserScan)
                true_pose (geometry_msgs/PoseStamped): where it really is, for judges only
                /diagnostics (diagnostic_msgs/DiagnosticArray)

It knows nothing of skm: it obeys the last velocity, and stops by itself when none has come for
`command_timeout` seconds of a steady clock, as the driver of any robot should. Readings and commands are
noisy, late and lost by parameter. It runs in real time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import LaserScan

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.conversions import ConversionError
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.robot_side import StopRecord
from skm_ros.nodes.skm_node import OK, WARN, Setting, SkmNode
from skm_ros.robot_messages import fill_pose, fill_velocity, scan_message, twist_of, velocity_value
from skm_sim.maps.spec import load_building
from skm_sim.robots.embodiment import is_on_map
from skm_sim.robots.pose import REST, Velocity
from skm_sim.robots.simulated import RANGE, ROBOTS, Channel, Noise, make_robot_model
from skm_sim.robots.walls import Pose, Walls, walls_of

RATE: Final = 50.0
"""Readings of the pose per second."""
GUARD_SECONDS: Final = 0.01
"""How often it looks at its commands: a stop must not wait for the next reading."""
MOST_BEHIND: Final = 0.5
"""Seconds that are made up for after the process was held up; beyond that, time was lost."""
SETTINGS: Final = (
    Setting("robot", "car", "which one: car (MuJoCo) or irsim", choices=ROBOTS, fixed=True),
    Setting(
        "domain", "", "domain on a map whose walls stand around the robot; empty: none", fixed=True
    ),
    Setting(
        "start",
        "",
        "x, y, heading at the start; empty: a cell at random, in no constraint",
        fixed=True,
    ),
    Setting("seed", 0, "seed of noise, losses and start", low=0, high=2**63 - 1, fixed=True),
    Setting("obstacles", "", "pillars that are on no map: x y radius; x y radius; …", fixed=True),
    Setting("stamped", False, "whether commands are TwistStamped", fixed=True),
    Setting("scan_rate", 10.0, "scans per second; 0: no laser", low=0.0, high=50.0, fixed=True),
    Setting("rate", 20.0, "commands per second that it expects", low=1.0, high=200.0, fixed=True),
    Setting(
        "command_timeout",
        0.0,
        "seconds without a command after which it stops; 0: two periods of `rate`",
        low=0.0,
        high=10.0,
    ),
    Setting(
        "noise", 0.02, "standard deviation of readings, in m, rad, m/s, rad/s", low=0.0, high=1.0
    ),
    Setting(
        "delay", 0.02, "seconds that readings and commands take", low=0.0, high=5.0, fixed=True
    ),
    Setting(
        "loss", 0.02, "part of readings and commands that get lost", low=0.0, high=1.0, fixed=True
    ),
)


class CarNode(SkmNode):
    """Runs one robot; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("car", SETTINGS, **options)
        self._random = np.random.default_rng(self.setting("seed"))
        self._car = make_robot_model(self.setting("robot"), *self._place())
        late = self.setting("delay"), self.setting("loss")
        self._commands: Channel[Velocity] = Channel(*late, self._random)
        self._readings: Channel[Odometry] = Channel(*late, self._random)
        self._scans: Channel[LaserScan] = Channel(*late, self._random)
        self._stops = StopRecord()
        self._command, self._commanded_at = REST, -1e9
        self._odometry = self.create_publisher(Odometry, "odom", qos.COMMAND)
        self._truth = self.create_publisher(PoseStamped, "true_pose", qos.COMMAND)
        self._laser = self.create_publisher(LaserScan, "scan", qos_profile_sensor_data)
        kind = TwistStamped if self.setting("stamped") else Twist
        self.create_subscription(kind, "cmd_vel", self._on_command, qos.COMMAND)
        self._time = time.monotonic()
        self.create_timer(1 / RATE, self._tick, clock=self.steady_clock)
        self.create_timer(GUARD_SECONDS, self._take_commands, clock=self.steady_clock)
        if self.setting("scan_rate"):
            self.create_timer(1 / self.setting("scan_rate"), self._scan, clock=self.steady_clock)

    def _place(self) -> tuple[Walls | None, Pose]:
        """Return the walls, and where to start among them."""
        domain, start = self.setting("domain"), _numbers("start", self.setting("start"), 3)
        if not domain or not is_on_map(domain):
            return None, start[0] if start else (0.0, 0.0, 0.0)
        building = load_building(Path(domain))
        walls = walls_of(building.occupancy)
        for disc in _numbers("obstacles", self.setting("obstacles"), 3):
            walls = walls.with_disc(*disc)
        if start:
            return walls, start[0]
        columns = [building.places.names.index(name) for name in building.file.constraints]
        forbidden = building.labels[:, columns].any(axis=1)
        x, y = self._random.choice(building.floor.centres[~forbidden])
        return walls, (float(x), float(y), float(self._random.uniform(-np.pi, np.pi)))

    def _on_command(self, message: Twist | TwistStamped) -> None:
        try:
            command = velocity_value(twist_of(message))
        except ConversionError as error:
            self.drop("unusable command", error)
            return
        self._commands.send(command, time.monotonic())
        self._take_commands()

    def _take_commands(self) -> None:
        """Obey what has arrived; stop if nothing has for too long."""
        now = time.monotonic()
        for command in self._commands.arrived(now):
            self._obey(command, now)
            self._commanded_at = now
        patience = self.setting("command_timeout") or 2 / self.setting("rate")
        if self._command != REST and now - self._commanded_at > patience:
            self.counts["stops for want of a command"] += 1
            self._obey(REST, now)
        elif self._command != REST:
            self._stops.note_obeyed(now - self._commanded_at)

    def _tick(self) -> None:
        """Let the time that has passed pass for the robot, too, and read where it is."""
        now = time.monotonic()
        passed = min(now - self._time, MOST_BEHIND)
        self._time = now
        self._car.advance(passed)
        self._stops.note_place(self._car.pose[:2], now, braking=self._command == REST)
        self._send_readings(now)

    def _obey(self, command: Velocity, now: float) -> None:
        self.counts["commands"] += 1
        if command == REST and self._command != REST:
            self._stops.begin_stop(now)
        self._command = command
        self._car.command(*command)

    def _send_readings(self, now: float) -> None:
        stamp = self.get_clock().now().to_msg()
        truth = PoseStamped()
        truth.header.stamp, truth.header.frame_id = stamp, self.frame("map")
        fill_pose(truth.pose, self._car.pose)
        self._truth.publish(truth)
        noise = self._noise
        reading = Odometry(child_frame_id=self.frame("base_link"))
        reading.header = truth.header
        fill_pose(reading.pose.pose, noise.of_pose(self._car.pose, self._random))
        speeds = noise.of_speeds(self._car.speeds, self._random)
        fill_velocity(reading.twist.twist, Velocity(*speeds))
        self._readings.send(reading, now)
        for due in self._readings.arrived(now):
            self._odometry.publish(due)
        for scan in self._scans.arrived(now):
            self._laser.publish(scan)

    def _scan(self) -> None:
        distances, angles = self._car.scan()
        scan = scan_message(self._noise.of_distances(distances, self._random), angles, RANGE)
        scan.header.stamp = self.get_clock().now().to_msg()
        scan.header.frame_id = self.frame("base_link")
        self._scans.send(scan, time.monotonic())

    @property
    def _noise(self) -> Noise:
        size = self.setting("noise")
        return Noise(size, size, size, size / 2)

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        x, y, heading = self._car.pose
        values = {
            "pose": f"{x:.3f}, {y:.3f}, {heading:.3f}",
            "command": f"{self._command.speed:.3f}, {self._command.turn:.3f}",
            **self._stops.report(),
        }
        if self._car.touches_wall:
            return WARN, "touches a wall", values
        return OK, "stands" if self._command == REST else "drives", values


def _numbers(name: str, text: str, count: int) -> list[Any]:
    """Return groups of numbers, separated by semicolons, from a parameter."""
    groups = [part.replace(",", " ").split() for part in text.split(";") if part.strip()]
    try:
        found = [tuple(float(number) for number in group) for group in groups]
    except ValueError:
        raise SkmError(f"{name} is '{text}'; it must be numbers, such as 1.5 2 0.3") from None
    if any(len(group) != count or not np.isfinite(group).all() for group in found):
        raise SkmError(f"{name} is '{text}'; it must be {count} numbers, such as 1.5 2 0.3")
    return found


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(CarNode)


if __name__ == "__main__":
    sys.exit(main())
