"""A robot of ir-sim (`pip install '.[irsim]'`): its own kinematics, its own laser, its own collisions.

ir-sim is a simulator that others wrote (MIT licence). The map's walls become its rectangles, the robot
its `diff` one; it goes as commanded with a little lag, and slides along a wall that it has hit.
"""

from __future__ import annotations

import importlib
import math
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from skm_sim.arrays import FloatArray
from skm_sim.robots.simulated import RANGE, RAYS
from skm_sim.robots.walls import Pose, Walls
from skm_sim.spec import DomainError

STEP: Final = 0.02
"""Seconds of a step of the simulator."""
RADIUS: Final = 0.2
FASTEST: Final = (2.0, 6.0)
"""m/s and rad/s that the simulated robot can do."""
SPAN: Final = 100.0
"""Metres from its start that the world reaches at least, where there are no walls."""
INSTALL: Final = "pip install '.[irsim]'"


class IrSimRobot:
    """One robot of ir-sim among walls; see `skm_sim.robots.simulated.RobotModel`."""

    def __init__(self, walls: Walls | None = None, pose: Pose = (0.0, 0.0, 0.0)) -> None:
        try:
            irsim = importlib.import_module("irsim")
        except ImportError as error:
            raise DomainError(
                f"the robot irsim needs the package ir-sim; install it with `{INSTALL}`."
            ) from error
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "world.yaml"
            path.write_text(yaml.safe_dump(world(walls, pose)), "utf-8")
            self._env: Any = irsim.make(str(path), headless=True, log_level="WARNING")
        self._robot: Any = self._env.robot_list[0]
        # The laser takes five times what all the rest does: it looks when it is asked, not at each step.
        self._laser, self._robot.sensors = self._robot.lidar, []
        self._command = [0.0, 0.0]
        self._elapsed = 0.0

    def command(self, speed: float, turn: float) -> None:
        """Ask for a speed in m/s, and for a rate of turning in rad/s, from now on."""
        self._command = [float(speed), float(turn)]

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._elapsed += seconds
        steps = round(self._elapsed / STEP)
        self._elapsed -= steps * STEP
        for _ in range(steps):
            self._env.step(self._command)

    def scan(self) -> tuple[FloatArray, FloatArray]:
        """Return what its laser sees; infinite: nothing in range."""
        self._laser.step(self._robot.state[0:3])
        found = self._laser.get_scan()
        distances = np.asarray(found["ranges"], np.float64)
        angles = found["angle_min"] + found["angle_increment"] * np.arange(len(distances))
        return np.where(distances >= RANGE, np.inf, distances), angles

    @property
    def pose(self) -> Pose:
        """Where the robot's centre is, and its heading."""
        x, y, heading = (float(part) for part in np.ravel(self._robot.state)[:3])
        return x, y, math.remainder(heading, math.tau)

    @property
    def speeds(self) -> tuple[float, float]:
        """How fast the robot goes ahead, in m/s, and turns, in rad/s."""
        speed, turn = (float(part) for part in np.ravel(self._robot.velocity)[:2])
        return speed, turn

    @property
    def touches_wall(self) -> bool:
        """Whether the robot touches a wall now."""
        return bool(self._robot.contact.in_contact)


def world(walls: Walls | None, pose: Pose) -> dict[str, Any]:
    """Return a world of ir-sim: the walls as rectangles, and a robot with a laser all around."""
    boxes = [] if walls is None else walls.boxes()
    yaw = 0.0 if walls is None else walls.origin[2]
    reach = max([SPAN, *(2 * max(abs(box.x), abs(box.y)) for box in boxes)])
    laser = {"name": "lidar2d", "range_min": 0, "range_max": RANGE, "number": RAYS}
    robot = {
        "kinematics": {"name": "diff"},
        "shape": {"name": "circle", "radius": RADIUS},
        "state": [float(part) for part in pose],
        "vel_min": [-part for part in FASTEST],
        "vel_max": list(FASTEST),
        "behavior": None,
        "sensors": [{**laser, "angle_range": 2 * math.pi}],
    }
    obstacles = [
        {
            "shape": {"name": "rectangle", "length": 2 * box.half_x, "width": 2 * box.half_y},
            "state": [box.x, box.y, yaw],
        }
        for box in boxes
    ]
    found: dict[str, Any] = {
        "world": {
            "height": 2 * reach,
            "width": 2 * reach,
            "offset": [-reach, -reach],
            "step_time": STEP,
            "collision_mode": "contact",  # with "stop", who has touched a wall never moves again
        },
        "robot": [robot],
    }
    return {**found, "obstacle": obstacles} if obstacles else found
