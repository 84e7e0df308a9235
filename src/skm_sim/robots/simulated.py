"""Robots to try the bridge on: the Car in MuJoCo, with noise, delays and losses."""

from __future__ import annotations

import importlib.util
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar
from xml.etree import ElementTree

import mujoco
import numpy as np

from skm_machine.errors import SkmError, did_you_mean
from skm_sim.arrays import FloatArray
from skm_sim.robots.drive import Driving, Entered
from skm_sim.robots.path_follower import Chassis
from skm_sim.robots.pose import Velocity
from skm_sim.robots.walls import Pose, Walls
from skm_sim.spec import DomainError

# Messages as robots send them: with noise, late, and some of them never.


Message = TypeVar("Message")


@dataclass(frozen=True)
class Noise:
    """Standard deviations of what is added to readings; each reading has its own draw."""

    place: float = 0.0
    """Metres, in x and y each."""
    heading: float = 0.0
    """Radians."""
    speed: float = 0.0
    """m/s and rad/s."""
    distance: float = 0.0
    """Metres, for each ray of a laser."""

    def of_pose(self, pose: Pose, random: np.random.Generator) -> Pose:
        """Return a pose as it is read."""
        x, y, heading = pose
        dx, dy, turned = random.normal(size=3) * (self.place, self.place, self.heading)
        return x + dx, y + dy, heading + turned

    def of_speeds(
        self, speeds: tuple[float, float], random: np.random.Generator
    ) -> tuple[float, float]:
        """Return speeds as they are read."""
        ahead, turn = random.normal(0.0, self.speed, 2)
        return speeds[0] + ahead, speeds[1] + turn

    def of_distances(self, distances: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return distances as a laser reads them, never below 0."""
        read = distances + random.normal(0.0, self.distance, len(distances))
        return np.maximum(read, 0.0)


class Channel(Generic[Message]):
    """A way on which messages take a while, keep their order, and get lost."""

    def __init__(self, delay: float, loss: float, random: np.random.Generator) -> None:
        self._delay = delay
        self._loss = loss
        self._random = random
        self._under_way: deque[tuple[float, Message]] = deque()

    def send(self, message: Message, now: float) -> None:
        """Take a message, or lose it."""
        if self._random.random() >= self._loss:
            self._under_way.append((now + self._delay, message))

    def arrived(self, now: float) -> list[Message]:
        """Return what has arrived by now, in order."""
        found = []
        while self._under_way and self._under_way[0][0] <= now:
            found.append(self._under_way.popleft()[1])
        return found


# Robots to try the bridge on, by name: what each is commanded with, and what it tells.


RANGE: Final = 6.0
"""How far a laser sees, in metres."""
RAYS: Final = 180
"""How many rays it has, all around."""
ROBOTS: Final = ("car", "irsim")


class RobotModel(Protocol):
    """A robot in a simulator of somebody else's; time passes in `advance` only."""

    def command(self, speed: float, turn: float) -> None:
        """Ask for a speed in m/s, and for a rate of turning in rad/s, from now on."""
        ...

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        ...

    def scan(self) -> tuple[FloatArray, FloatArray]:
        """Return what a laser in its middle sees, metres and angles; infinite: nothing in range."""
        ...

    @property
    def pose(self) -> Pose:
        """Where the robot's centre is, and its heading."""
        ...

    @property
    def speeds(self) -> tuple[float, float]:
        """How fast the robot goes ahead, in m/s, and turns, in rad/s."""
        ...

    @property
    def touches_wall(self) -> bool:
        """Whether the robot touches a wall now."""
        ...


def make_robot_model(name: str, walls: Walls | None, pose: Pose) -> RobotModel:
    """Return a robot among walls; its simulator is imported only now."""
    if name == "car":
        return Car(walls, pose)
    if name == "irsim":
        from skm_sim.robots.irsim import IrSimRobot  # noqa: PLC0415 - an extra

        return IrSimRobot(walls, pose)
    raise SkmError(f"no robot '{name}'{did_you_mean(name, ROBOTS)}")


def chassis_of(name: str) -> Chassis:
    """Return what a robot measures."""
    if name == "car":
        return Chassis(AXLE, RADIUS)
    from skm_sim.robots import irsim as irsim_robot  # noqa: PLC0415 - an extra

    return Chassis(0.0, irsim_robot.RADIUS)


# safety-gymnasium's Car in MuJoCo, driven by velocities: wheels with contact, and with slip.
#
# The body is the package's own file (`assets/xmls/car.xml`), read where pip has put it; nothing
# of the package is run. Around it stand the walls of a map. The driver is what such a robot would
# have: speeds asked for become speeds of the two wheels, and a controller turns the wheels. What
# the robot then does is another matter: the wheels slip; it goes nine tenths of the way straight
# on, and turns half as far as asked or less. Its driver must use its measured pose.


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
        self._elapsed = 0.0
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
        self._elapsed += seconds
        steps = round(self._elapsed / step)
        self._elapsed -= steps * step
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


# A robot with imperfect sensors, driven by the bridge's own `Drive`, faster than life.
#
# Time passes in `period` only: the same readings with the same noise, delays and losses as those
# of the robot's node, and the same driving as that of the bridge's, without messages and without
# waiting.


READING: Final = 0.02
"""Seconds between two readings of the pose, and between two looks at the true one."""


USUAL: Final = Noise(place=0.02, heading=0.02, speed=0.02, distance=0.01)


@dataclass(frozen=True)
class SensorModel:
    """How well a robot knows where it is, and how well it hears."""

    noise: Noise = USUAL
    delay: float = 0.02
    """Seconds that readings and commands take, each."""
    loss: float = 0.02
    """Part of the readings, and of the commands, that get lost."""


class SimulatedRobot:
    """A robot and its driver in simulated time; `watch` is shown the true pose at 50 Hz."""

    def __init__(
        self,
        car: RobotModel,
        drive: Driving,
        sensors: SensorModel,
        seed: int,
        watch: Callable[[Pose], None],
    ) -> None:
        self._car, self._drive, self._watch = car, drive, watch
        self._noise = sensors.noise
        self._random = np.random.default_rng(seed)
        self._readings: Channel[tuple[Pose, Velocity]] = Channel(
            sensors.delay, sensors.loss, self._random
        )
        self._commands: Channel[Velocity] = Channel(sensors.delay, sensors.loss, self._random)
        self.now = self._due = 0.0

    def period(self, seconds: float, *, go: bool) -> list[Entered]:
        """Let a control period pass; return the states that were entered in it."""
        command = self._drive.velocity(self.now) if go else self._drive.halt()
        self._commands.send(command, self.now)
        self._due += seconds  # readings need not fit into a period: some have one more than others
        while self.now < self._due - READING / 2:
            for arrived in self._commands.arrived(self.now):
                self._car.command(*arrived)
            self._car.advance(READING)
            self.now += READING
            self._sense()
        return self._drive.states(self.now, resting=not go)

    def _sense(self) -> None:
        pose = self._car.pose
        self._watch(pose)
        speeds = self._noise.of_speeds(self._car.speeds, self._random)
        reading = self._noise.of_pose(pose, self._random), Velocity(*speeds)
        self._readings.send(reading, self.now)
        for seen, velocity in self._readings.arrived(self.now):
            self._drive.tracker.read(seen, velocity, self.now)
