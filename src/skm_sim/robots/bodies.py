"""Robots to try the bridge on, by name: what each is commanded with, and what it tells."""

from __future__ import annotations

from typing import Final, Protocol

from skm_machine.errors import SkmError, did_you_mean
from skm_sim.arrays import FloatArray
from skm_sim.driving.path_following import Chassis
from skm_sim.robots.walls import Pose, Walls

RANGE: Final = 6.0
"""How far a laser sees, in metres."""
RAYS: Final = 180
"""How many rays it has, all around."""
ROBOTS: Final = ("car", "irsim")


class Body(Protocol):
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


def make_body(name: str, walls: Walls | None, pose: Pose) -> Body:
    """Return a robot among walls; its simulator is imported only now."""
    if name == "car":
        from skm_sim.robots.car import Car  # noqa: PLC0415 - MuJoCo

        return Car(walls, pose)
    if name == "irsim":
        from skm_sim.robots.irsim_robot import IrSimRobot  # noqa: PLC0415 - an extra

        return IrSimRobot(walls, pose)
    raise SkmError(f"no robot '{name}'{did_you_mean(name, ROBOTS)}")


def chassis_of(name: str) -> Chassis:
    """Return what a robot measures."""
    if name == "car":
        from skm_sim.robots.car import AXLE, RADIUS  # noqa: PLC0415 - MuJoCo

        return Chassis(AXLE, RADIUS)
    from skm_sim.robots import irsim_robot  # noqa: PLC0415 - an extra

    return Chassis(0.0, irsim_robot.RADIUS)
