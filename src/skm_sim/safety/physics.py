"""The physics of the Safety domain: a batch of Safety Gym's point robots in MuJoCo, as arrays.

There is one compiled model for all. What differs between robots (pose, velocity, where the buttons
are) is state, not model, so a reset is a few assignments. All robots advance in one call to
MuJoCo's native `rollout`.

Two things are left out of the model since they change nothing, which `test_safety_oracle.py`
checks against safety-gymnasium: regions and cylinder (nothing collides with them), and contacts with
the floor (the robot has no vertical joint, so the floor cannot push it, and nothing rubs).
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.safety.layout import BUTTONS, Layout

SUBSTEPS = 10
"""Physics steps in one action."""
TIMESTEP = 0.01
"""Seconds of one physics step."""
SENSORS = 12
"""Accelerometer, velocimeter, gyro, magnetometer: three numbers each."""
_BUTTON_RADIUS = 0.1
_OUT_OF_REACH = 10.0
_CONTROL = int(mujoco.mjtState.mjSTATE_CTRL | mujoco.mjtState.mjSTATE_MOCAP_POS)

MODEL = f"""
<mujoco model="skm safety">
  <compiler angle="radian"/>
  <option timestep="{{timestep}}"/>
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
    {
    "".join(
        f'<body name="button{i}" mocap="true"><geom type="sphere" size="{_BUTTON_RADIUS}"/></body>'
        for i in range(BUTTONS)
    )
}
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


class SafetyPhysics:
    """A batch of robots: `state` holds them, `sensors` what they feel after the last step."""

    def __init__(self, count: int, timestep: float = TIMESTEP) -> None:
        self.timestep = timestep
        self._model = mujoco.MjModel.from_xml_string(MODEL.format(timestep=timestep))
        self._data = mujoco.MjData(self._model)
        self._rollout = Rollout(nthread=0)
        steps = SUBSTEPS + 1  # The last one is there to read the sensors where the robot arrives.
        self.state: FloatArray = np.zeros((count, 7))
        """`(count, 7)`: time; x, y, heading; and their velocities."""
        self.sensors: FloatArray = np.zeros((count, SENSORS))
        self._models = [self._model] * count
        self._states: FloatArray = np.empty((count, steps, 7))
        self._readings: FloatArray = np.empty((count, steps, SENSORS))
        self._control: FloatArray = np.zeros((count, steps, 2 + 3 * BUTTONS))
        self._buttons = self._control[:, :, 2:].reshape(count, steps, BUTTONS, 3)

    @property
    def pose(self) -> FloatArray:
        """`(count, 3)`: x, y and heading of each robot."""
        return self.state[:, 1:4]

    def reset(self, mask: BoolArray, layout: Layout) -> None:
        """Put the robots in `mask` at rest where the layouts of these robots have them."""
        rows = np.flatnonzero(mask)
        self.state[rows] = 0.0
        self.state[rows, 1:4] = layout.robot
        self._buttons[rows, :, :, :2] = layout.buttons[:, None]
        self._buttons[rows, :, :, 2] = _BUTTON_RADIUS
        self._control[rows, :, :2] = 0.0
        states, readings = self._states[: len(rows), :1], self._readings[: len(rows), :1]
        states, readings = np.ascontiguousarray(states), np.ascontiguousarray(readings)
        control = np.ascontiguousarray(self._control[rows, :1])
        self._run(self._models[: len(rows)], self.state[rows], control, states, readings)
        self.sensors[rows] = readings[:, 0]

    def lift_buttons(self) -> None:
        """Take the buttons out of the robots' way, until the next reset."""
        self._buttons[..., 2] = _OUT_OF_REACH

    def step(self, actions: FloatArray) -> None:
        """Hold the actions for `SUBSTEPS` physics steps; those beyond ±1 are clipped."""
        self._control[:, :, :2] = np.clip(actions, -1.0, 1.0)[:, None]
        self._run(self._models, self.state, self._control, self._states, self._readings)
        self.state = self._states[:, SUBSTEPS - 1].copy()
        self.sensors = self._readings[:, SUBSTEPS].copy()

    def _run(
        self,
        models: list[mujoco.MjModel],
        start: FloatArray,
        control: FloatArray,
        states: FloatArray,
        readings: FloatArray,
    ) -> None:
        self._rollout.rollout(
            models,
            [self._data],
            start,
            control,
            control_spec=_CONTROL,
            skip_checks=True,
            nstep=control.shape[1],
            state=states,
            sensordata=readings,
        )
