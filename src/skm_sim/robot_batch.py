"""A batch of robots of Safety Gym in MuJoCo, as arrays: one model, and a native call for all of them."""

from __future__ import annotations

from typing import Final

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from skm_sim.arrays import FloatArray, IntArray

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
