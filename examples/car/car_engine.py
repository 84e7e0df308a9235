"""safety-gymnasium's Car among its own buttons, as a batch: the package's engine makes the model.

The engine puts the arena together (robot, floor, buttons, hazards, goal) and writes it as MuJoCo's XML.
That XML is compiled once more without its pictures, and with buttons that can be moved: so one model
serves all arenas, and a reset compiles nothing, for which the engine takes half a second.
`test_car_example.py` compares both.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.safety.gymnasium_backend import engine_module, task_class
from skm_sim.safety.layout import BUTTONS, Layout, sample_layouts
from skm_sim.safety_gym.physics import CONTROL, CONTROLS, SUBSTEPS, RobotBatch

STEP_SECONDS = SUBSTEPS * 0.004
"""Of one step, as the package has it: ten physics steps of the Car's 0.004 s."""


@functools.cache
def car_task() -> Any:
    """Return the package's engine with the Car and the objects of the Safety domain."""
    agents = engine_module("agents")

    class Car(agents.Car):
        """The package's; it asks MuJoCo for a joint by an array, which newer versions refuse."""

        def _init_jnt_sensors(self) -> None:
            model = self.engine.model
            for sensor in (model.sensor(index) for index in range(model.nsensor)):
                self.sensor_info.sensor_dim[sensor.name] = int(sensor.dim[0])

    class CarTask(task_class()):
        """The objects of the Safety domain; skm says where they are."""

        def _build_agent(self, agent_name: str) -> None:
            self.agent = Car(random_generator=self.random_generator)

    with warnings.catch_warnings():  # Its boxes have bounds that overflow a cast.
        warnings.simplefilter("ignore", RuntimeWarning)
        task = CarTask({"agent_name": "Car", "observation_flatten": False})
        task.build_observation_space()
    task.place(sample_layouts(np.random.default_rng(0), 1)[0])
    task.reset()
    return task


@functools.cache
def car_model() -> mujoco.MjModel:
    """Return the engine's arena without its pictures, with buttons that can be moved."""
    tree = ElementTree.fromstring(car_task().world.xml_string)
    for assets in tree.findall("asset"):
        tree.remove(assets)
    for geom in tree.iter("geom"):
        geom.attrib.pop("material", None)
    for body in tree.iter("body"):
        if body.get("name", "").startswith("button"):
            body.set("mocap", "true")
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(tree, encoding="unicode"))


class Cars(RobotBatch):
    """A batch of Cars among buttons, which are solid. One `step` takes `hold` steps of 0.04 s."""

    def __init__(self, count: int, hold: int = 1) -> None:
        model = car_model()
        super().__init__(
            model,
            count,
            hold * SUBSTEPS,
            width=CONTROLS + 3 * BUTTONS,
            control_spec=CONTROL | int(mujoco.mjtState.mjSTATE_MOCAP_POS),
            first_sensor=int(model.sensor("accelerometer").adr[0]),
        )
        self._buttons = self._control[:, :, CONTROLS:].reshape(count, -1, BUTTONS, 3)
        self._buttons[..., 2] = model.body("button0").pos[2]

    def reset(self, mask: BoolArray, layout: Layout) -> None:
        """Put the Cars in `mask` at rest where the layouts of these Cars have them."""
        rows = np.flatnonzero(mask)
        self._buttons[rows, :, :, :2] = layout.buttons[:, None]
        rest = np.concatenate([[0.0], self._model.qpos0, np.zeros(self._model.nv)])
        half = layout.robot[:, 2] / 2
        self.state[rows] = rest
        self.state[rows, 1:3] = layout.robot[:, :2]
        self.state[rows, 4], self.state[rows, 7] = np.cos(half), np.sin(half)
        self.state[rows, 5:7] = 0.0
        self._feel(rows)

    @property
    def pose(self) -> FloatArray:
        """`(count, 3)`: where the middle of each Car is, and how far it is turned, as the engine has it.

        Ahead is a quarter turn to the right of that: the engine's Car drives along its −y.
        """
        return poses(self.state)

    @property
    def track(self) -> FloatArray:
        """`(count, hold, 3)`: the poses after every step of 0.04 s of the last step."""
        return poses(self.states_on_the_way)


def poses(states: FloatArray) -> FloatArray:
    """Return x, y and turn from states: time, position, orientation as a quaternion, …"""
    w, x, y, z = (states[..., 4 + part] for part in range(4))
    turn = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.stack([states[..., 1], states[..., 2], turn], axis=-1)
