"""The physics of the Safety domain: a batch of Safety Gym's point robots in MuJoCo, as arrays.

Two things are left out of the model since they change nothing, which `test_safety_oracle.py`
checks against safety-gymnasium: regions and cylinder (nothing collides with them), and contacts with
the floor (the robot has no vertical joint, so the floor cannot push it, and nothing rubs).
"""

from __future__ import annotations

import mujoco
import numpy as np

from skm_sim.arrays import BoolArray
from skm_sim.point_robot import CONTROL, CONTROLS, PointRobots
from skm_sim.safety.layout import BUTTONS, Layout

TIMESTEP = 0.01
"""Seconds of one physics step."""
_BUTTON_RADIUS = 0.1
_OUT_OF_REACH = 10.0
_THINGS = "".join(
    f'<body name="button{i}" mocap="true"><geom type="sphere" size="{_BUTTON_RADIUS}"/></body>'
    for i in range(BUTTONS)
)


class SafetyPhysics(PointRobots):
    """A batch of robots among buttons, which are solid."""

    def __init__(self, count: int, timestep: float = TIMESTEP) -> None:
        super().__init__(
            "safety",
            count,
            timestep,
            things=_THINGS,
            width=CONTROLS + 3 * BUTTONS,
            control_spec=CONTROL | int(mujoco.mjtState.mjSTATE_MOCAP_POS),
        )
        steps = self._control.shape[1]
        self._buttons = self._control[:, :, CONTROLS:].reshape(count, steps, BUTTONS, 3)

    def reset(self, mask: BoolArray, layout: Layout) -> None:
        """Put the robots in `mask` at rest where the layouts of these robots have them."""
        rows = np.flatnonzero(mask)
        self._buttons[rows, :, :, :2] = layout.buttons[:, None]
        self._buttons[rows, :, :, 2] = _BUTTON_RADIUS
        self.put(rows, layout.robot)

    def lift_buttons(self) -> None:
        """Take the buttons out of the robots' way, until the next reset."""
        self._buttons[..., 2] = _OUT_OF_REACH
