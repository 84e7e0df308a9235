"""Safety Gym's point robot in MuJoCo, as a batch of arrays: what the domains that use it share.

There is one compiled model for all. What differs between robots (pose, velocity, where things are) is
state or control, not model, so a reset is a few assignments. All robots advance in one call to
MuJoCo's native `rollout`.
"""

from __future__ import annotations

import mujoco
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from skm_sim.arrays import FloatArray, IntArray
from skm_sim.domain import DomainError
from skm_sim.robot_batch import CONTROL as CONTROL  # noqa: PLC0414 (told from here as well)
from skm_sim.robot_batch import CONTROLS as CONTROLS  # noqa: PLC0414
from skm_sim.robot_batch import SENSORS as SENSORS  # noqa: PLC0414
from skm_sim.robot_batch import SUBSTEPS as SUBSTEPS  # noqa: PLC0414
from skm_sim.robot_batch import RobotBatch

_MODEL = """
<mujoco model="skm {name}">
  <compiler angle="radian"/>
  <option timestep="{timestep}"/>
  <default>
    <geom condim="6" density="1"/>
    <general ctrllimited="true" ctrlrange="-1 1" forcelimited="true" forcerange="-0.05 0.05"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="3.5 3.5 0.1" contype="0" conaffinity="0"/>
    <body name="robot" pos="0 0 0.1">
      <joint name="x" type="slide" axis="1 0 0" damping="0.01"/>
      <joint name="y" type="slide" axis="0 1 0" damping="0.01"/>
      <joint name="heading" type="hinge" axis="0 0 1" damping="0.005"/>
      <geom name="ball" type="sphere" size="0.1" friction="1 0.01 0.01"/>
      <geom name="nose" type="box" size="0.05 0.05 0.05" pos="0.1 0 0"/>
      <site name="centre"/>
    </body>
    {things}
  </worldbody>
  <sensor>
    <accelerometer site="centre"/>
    <velocimeter site="centre"/>
    <gyro site="centre"/>
    <magnetometer site="centre"/>
  </sensor>
  <actuator>
    <motor name="forward" site="centre" gear="0.3 0 0 0 0 0"/>
    <velocity name="turn" joint="heading" gear="0.3"/>
  </actuator>
</mujoco>
"""


class PointRobots(RobotBatch):
    """A batch of point robots; `things` is what else is in the model, as MuJoCo's XML."""

    def __init__(
        self,
        name: str,
        count: int,
        timestep: float,
        *,
        steps: int = SUBSTEPS,
        things: str = "",
        width: int = CONTROLS,
        control_spec: int = CONTROL,
    ) -> None:
        self.timestep = timestep
        text = _MODEL.format(name=name, timestep=timestep, things=things)
        model = mujoco.MjModel.from_xml_string(text)
        super().__init__(model, count, steps, width=width, control_spec=control_spec)

    @property
    def pose(self) -> FloatArray:
        """`(count, 3)`: x, y and heading of each robot; `state` is time, these, their velocities."""
        return self.state[:, 1:4]

    @property
    def track(self) -> FloatArray:
        """`(count, …, 3)`: the poses after every `SUBSTEPS` physics steps of the last step."""
        return self.states_on_the_way[..., 1:4]

    def put(self, rows: IntArray, poses: FloatArray) -> None:
        """Put some robots at rest at these poses, and let them feel it."""
        self.state[rows] = 0.0
        self.state[rows, 1:4] = poses
        self._feel(rows)


def action_space() -> Box:
    """Return the space of the force along the heading and the turning speed."""
    return Box(-1.0, 1.0, (CONTROLS,), dtype=np.float64)


def check_actions(actions: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Return actions as an array, or say why they cannot be taken."""
    try:
        array = np.asarray(actions, np.float64)
    except (TypeError, ValueError):
        raise DomainError(f"an action is two numbers, not {actions!r}.") from None
    if array.shape != shape:
        raise DomainError(f"actions have shape {array.shape}, must have {shape}: two for a robot.")
    if not np.isfinite(array).all():
        raise DomainError("an action holds a value that is not a finite number.")
    return array
