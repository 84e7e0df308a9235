"""Robots of Safety Gym in MuJoCo, as batches of arrays."""

from __future__ import annotations

from typing import Final

import mujoco
import numpy as np
from gymnasium.spaces import Box
from mujoco.rollout import Rollout
from numpy.typing import ArrayLike

from skm_sim.arrays import FloatArray, IntArray
from skm_sim.spec import DomainError

# A batch of robots of Safety Gym in MuJoCo, as arrays: one model, and a native call for all of
# them.


SUBSTEPS: Final = 10
"""Physics steps in one step of an environment."""
SENSORS: Final = 12
"""Accelerometer, velocimeter, gyro, magnetometer: three numbers each."""
CONTROLS: Final = 2
"""Of the point robot the force along the heading and the wanted turning speed; of the Car two wheels."""
CONTROL: Final = int(mujoco.mjtState.mjSTATE_CTRL)


class RobotBatch:
    """`state` holds the robots, as MuJoCo does, `sensors` what they feel after the last step.

    One call of `step` takes `steps` physics steps. `width` is how many numbers the control of one
    physics step has: the robot's two, then what else is said to MuJoCo by `control_spec`. The model's
    sensors are the twelve, from `first_sensor` on.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        count: int,
        steps: int = SUBSTEPS,
        *,
        width: int = CONTROLS,
        control_spec: int = CONTROL,
        first_sensor: int = 0,
    ) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        self._rollout = Rollout(nthread=0)
        self._control_spec = control_spec
        self._steps = steps
        self._felt = slice(first_sensor, first_sensor + SENSORS)
        size = mujoco.mj_stateSize(model, int(mujoco.mjtState.mjSTATE_FULLPHYSICS))
        self.state: FloatArray = np.zeros((count, size))
        """`(count, size)`: time, positions, velocities."""
        self.sensors: FloatArray = np.zeros((count, SENSORS))
        self._models = [model] * count
        # The last of the steps is there to read the sensors where the robot arrives.
        self._states: FloatArray = np.empty((count, steps + 1, size))
        self._readings: FloatArray = np.empty((count, steps + 1, model.nsensordata))
        self._control: FloatArray = np.zeros((count, steps + 1, width))

    @property
    def states_on_the_way(self) -> FloatArray:
        """`(count, …, size)`: the states after every `SUBSTEPS` physics steps of the last step."""
        return self._states[:, SUBSTEPS - 1 : self._steps : SUBSTEPS]

    def step(self, actions: FloatArray) -> None:
        """Hold the actions for all physics steps; those beyond ±1 are clipped."""
        self._control[:, :, :CONTROLS] = np.clip(actions, -1.0, 1.0)[:, None]
        self._run(self._models, self.state, self._control, self._states, self._readings)
        self.state = self._states[:, self._steps - 1].copy()
        self.sensors = self._readings[:, self._steps, self._felt].copy()

    def _feel(self, rows: IntArray) -> None:
        """Let some robots feel the state that they were put into."""
        self._control[rows, :, :CONTROLS] = 0.0
        states, readings = self._states[: len(rows), :1], self._readings[: len(rows), :1]
        states, readings = np.ascontiguousarray(states), np.ascontiguousarray(readings)
        control = np.ascontiguousarray(self._control[rows, :1])
        self._run(self._models[: len(rows)], self.state[rows], control, states, readings)
        self.sensors[rows] = readings[:, 0, self._felt]

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
            control_spec=self._control_spec,
            skip_checks=True,
            nstep=control.shape[1],
            state=states,
            sensordata=readings,
        )


# Safety Gym's point robot in MuJoCo, as a batch of arrays: what the domains that use it share.
#
# There is one compiled model for all. What differs between robots (pose, velocity, where objects
# are) is state or control, not model, so a reset is a few assignments. All robots advance in one
# call to MuJoCo's native `rollout`.


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
    {objects}
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
    """A batch of point robots; `objects` is what else is in the model, as MuJoCo's XML."""

    def __init__(
        self,
        name: str,
        count: int,
        timestep: float,
        *,
        steps: int = SUBSTEPS,
        objects: str = "",
        width: int = CONTROLS,
        control_spec: int = CONTROL,
    ) -> None:
        self.timestep = timestep
        text = _MODEL.format(name=name, timestep=timestep, objects=objects)
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
