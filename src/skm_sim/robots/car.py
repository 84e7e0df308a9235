"""safety-gymnasium's Car in MuJoCo, driven by velocities: wheels with contact, and with slip.

The body is the package's own file (`assets/xmls/car.xml`), read where pip has put it; nothing of the
package is run. Around it stand the walls of a map. The driver is what such a robot would have: speeds
asked for become speeds of the two wheels, and a controller turns the wheels. What the robot then does is
another matter: the wheels slip; it goes nine tenths of the way straight on, and turns half as far
as asked or less. Whoever commands it must look at where it is.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import mujoco
import numpy as np

from skm_sim.arrays import FloatArray
from skm_sim.domain import DomainError
from skm_sim.robots.bodies import RANGE, RAYS
from skm_sim.robots.walls import Pose, Walls

PACKAGE: Final = "safety_gymnasium"
INSTALL: Final = (
    "pip install --no-deps safety-gymnasium==1.0.0 xmltodict==1.0.4 imageio==2.38.1 PyYAML"
)
"""What safety-gymnasium needs beyond skm's own requirements (`requirements/safety-gymnasium.txt`)."""
RADIUS: Final = 0.22
"""Of a circle around the robot's centre that holds all of it."""
AXLE: Final = 0.1
"""Metres from the axle of the driven wheels ahead to the robot's centre."""
WHEEL_RADIUS: Final = 0.05
HALF_TRACK: Final = 0.13
"""Metres from the robot's middle line to the middle of a wheel."""
TORQUE: Final = 0.02
"""Newton metres that a wheel's motor has at most, as the package has it."""
GAIN, INTEGRAL_GAIN = 6e-4, 5e-3
"""Newton metres for a rad/s that a wheel is too slow, and per second."""
WALL_HEIGHT: Final = 0.3
FLOOR: Final = 200.0


def model_file() -> Path:
    """Return the path of the Car's model in the installed package."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise DomainError(f"the Car is part of safety-gymnasium; install it with `{INSTALL}`.")
    return Path(found.submodule_search_locations[0]) / "assets" / "xmls" / "car.xml"


class Car:
    """One Car among walls, at rest until it is commanded; time passes in `advance` only."""

    def __init__(self, walls: Walls | None = None, pose: Pose = (0.0, 0.0, 0.0)) -> None:
        self._walls = walls
        self._model = mujoco.MjModel.from_xml_string(_model(walls))
        self._data = mujoco.MjData(self._model)
        # Forward is the body's −y, hence its left is +x, where the wheel called "right" is.
        names = ("right", "left")
        self._motors = [self._model.actuator(name).id for name in names]
        self._wheels = [int(self._model.joint(name).dofadr[0]) for name in names]
        self._body = self._model.body("agent").id
        self.put(pose)

    def put(self, pose: Pose) -> None:
        """Put the robot somewhere, at rest."""
        mujoco.mj_resetData(self._model, self._data)
        x, y, heading = pose
        turned = (heading + math.pi / 2) / 2
        self._data.qpos[:2] = x, y
        self._data.qpos[3:7] = math.cos(turned), 0.0, 0.0, math.sin(turned)
        self._owed = 0.0
        """Seconds that have passed beyond the last physics step."""
        self._targets = np.zeros(2)
        self._integral = np.zeros(2)
        mujoco.mj_forward(self._model, self._data)

    def command(self, speed: float, turn: float) -> None:
        """Ask for a speed in m/s, and for a rate of turning in rad/s, from now on."""
        sides = np.array([speed - turn * HALF_TRACK, speed + turn * HALF_TRACK])
        self._targets = sides / WHEEL_RADIUS
        if not sides.any():
            self._integral[:] = 0.0  # a stop brakes; what was built up against slip would push on

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        step = self._model.opt.timestep
        data = self._data
        self._owed += seconds
        steps = round(self._owed / step)
        self._owed -= steps * step
        for _ in range(steps):
            error = self._targets - data.qvel[self._wheels]
            self._integral = np.clip(self._integral + INTEGRAL_GAIN * step * error, -TORQUE, TORQUE)
            data.ctrl[self._motors] = np.clip(GAIN * error + self._integral, -TORQUE, TORQUE)
            mujoco.mj_step(self._model, data)

    def scan(self) -> tuple[FloatArray, FloatArray]:
        """Return what a laser in its middle sees, metres and angles; infinite: nothing in range."""
        angles = np.linspace(-math.pi, math.pi, RAYS, endpoint=False)
        if self._walls is None:
            return np.full(RAYS, np.inf), angles
        return self._walls.distances(self.pose, angles, RANGE), angles

    @property
    def pose(self) -> Pose:
        """Where the robot's centre is, and its heading."""
        ahead_x, ahead_y = self._ahead
        x, y = self._data.xpos[self._body, :2]
        return float(x), float(y), math.atan2(ahead_y, ahead_x)

    @property
    def speeds(self) -> tuple[float, float]:
        """How fast the robot goes ahead, in m/s, and turns, in rad/s."""
        ahead_x, ahead_y = self._ahead
        velocity = self._data.qvel
        return float(velocity[0] * ahead_x + velocity[1] * ahead_y), float(velocity[5])

    @property
    def touches_wall(self) -> bool:
        """Whether the robot touches a wall now."""
        data, model = self._data, self._model
        pairs = data.contact.geom[: data.ncon]
        return any(model.geom(int(geom)).name.startswith("wall") for geom in pairs.flat)

    @property
    def _ahead(self) -> tuple[float, float]:
        matrix = self._data.xmat[self._body]
        return -float(matrix[1]), -float(matrix[4])


def _model(walls: Walls | None) -> str:
    """Return the package's model with a wide floor and with walls."""
    tree = ElementTree.parse(model_file()).getroot()
    world = tree.find("worldbody")
    assert world is not None
    floor = world.find("geom[@name='floor']")
    assert floor is not None
    floor.set("size", f"{FLOOR} {FLOOR} 0.1")
    if walls is None:
        return ElementTree.tostring(tree, encoding="unicode")
    turned = f"{math.cos(walls.origin[2] / 2)} 0 0 {math.sin(walls.origin[2] / 2)}"
    for number, box in enumerate(walls.boxes()):
        place = {
            "type": "box",
            "name": f"wall{number}",
            "pos": f"{box.x} {box.y} {WALL_HEIGHT / 2}",
            "size": f"{box.half_x} {box.half_y} {WALL_HEIGHT / 2}",
            "quat": turned,
        }
        ElementTree.SubElement(world, "geom", place)
    return ElementTree.tostring(tree, encoding="unicode")
