"""A robot of a team on a fast clock, as a node and a process of its own: `team_trials.py` starts it.

Relative to its namespace (/r1):
    publishes   observation (skm/Observation): the cell that it is in, as the bridge says it
    subscribes  action (skm/Action)
    offers      reset (skm/Reset): options `pose` (x, y, heading) and `speed` (metres per second)

It is what a bridge and the Car of `car` are together, on one clock that runs `speed_up` times as fast as
life: safety-gymnasium's Car in MuJoCo among the walls of the map, readings and commands with noise,
delays and losses, and the bridge's own `Drive` with `exact`. Only the messages between the two are left
out. Where it really is goes to the file `track`, for judges only: what a process has written stays when
it is killed.
"""

from __future__ import annotations

import json
import os
import secrets
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from skm.msg import Action, Observation
from skm.srv import Reset

from skm_machine.errors import SkmError
from skm_primitives.planning.map_domains import building_of
from skm_ros import qos
from skm_ros.conversions import fill_observation
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.skm_node import OK, Setting, SkmNode
from skm_sim.registry import get_domain
from skm_sim.robots.drive import DriveConfig, Entered, drive_in
from skm_sim.robots.pose import Limits
from skm_sim.robots.simulated import Car, SensorModel, SimulatedRobot, chassis_of
from skm_sim.robots.walls import Pose, walls_of

PERIOD: Final = 0.05
ALIVE_SECONDS: Final = 0.25
"""Real seconds between two signs of life of a robot that enters no state."""
RECORD: Final = struct.Struct("<dddd")
"""Time of the machine's steady clock, simulated time, x and y."""
SETTINGS: Final = (
    Setting("domain", "", "folder of a domain on a map", fixed=True),
    Setting("track", "", "file for where the robot really is", fixed=True),
    Setting("speed_up", 20.0, "how many times as fast as life", low=0.1, high=100.0, fixed=True),
)


@dataclass(frozen=True)
class Look:
    """Where a robot really was."""

    time: float
    """Of the machine's steady clock, which all processes share."""
    simulated: float
    x: float
    y: float


def read_track(path: Path, offset: int = 0) -> Iterator[Look]:
    """Yield what a robot has written, from a byte on; a record that was broken off is left out."""
    content = path.read_bytes()[offset:]
    whole = len(content) - len(content) % RECORD.size
    for numbers in RECORD.iter_unpack(content[:whole]):
        yield Look(*numbers)


class TeamRobotNode(SkmNode):
    """One robot; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("team_robot", SETTINGS, **options)
        building = building_of(get_domain(self.setting("domain")))
        if building is None:
            raise SkmError("a robot of a team needs a domain on a map")
        self._building = building
        self._walls = walls_of(building.occupancy)
        self._fast = self.setting("speed_up")
        self._track = os.open(self.setting("track"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._rig: SimulatedRobot | None = None
        self._go = False
        """Whether there is an action to the present state."""
        self._began = self._began_simulated = self._said_at = 0.0
        self._shown = Observation(kind=Observation.DISCRETE, session=secrets.randbits(62) + 1)
        self._shown.period = PERIOD
        self._observations = self.create_publisher(Observation, "observation", qos.STATE)
        self.create_subscription(Action, "action", self._on_action, qos.COMMAND)
        self.create_service(Reset, "reset", self._on_reset)
        self.create_timer(PERIOD / self._fast, self._tick, clock=self.steady_clock)

    def _on_reset(self, request: Reset.Request, response: Reset.Response) -> Reset.Response:
        """Put the robot somewhere."""
        given = json.loads(request.options)
        pose: Pose = tuple(given["pose"])
        self._drive = drive_in(
            self._building,
            chassis_of("car"),
            Limits(speed=given["speed"], turn=3.0),
            DriveConfig(period=PERIOD, latency=0.02, horizon=0.0, exact=True),
        )
        car = Car(self._walls, pose)
        self._rig = SimulatedRobot(
            car, self._drive, SensorModel(), max(0, request.seed), self._watch
        )
        self._go = False
        self._shown.episode += 1
        self._shown.step = 0
        response.success = True
        response.session, response.episode = self._shown.session, self._shown.episode
        return response

    def _on_action(self, action: Action) -> None:
        shown = self._shown
        if self._rig is None or (action.session, action.episode) != (shown.session, shown.episode):
            return
        if action.kind == Action.STOP:
            self._go = False
        elif action.step == shown.step:
            self._drive.take(action.discrete, self._rig.now)
            self._go = True

    def _tick(self) -> None:
        """Let a period pass. A process that is held up makes time pass slower, not in leaps."""
        if self._rig is None:
            return
        self._began, self._began_simulated = time.monotonic(), self._rig.now
        for state in self._rig.period(PERIOD, go=self._go):
            self._show(state)
        if self._shown.header.frame_id and self._began - self._said_at > ALIVE_SECONDS:
            self._say()

    def _watch(self, pose: Pose) -> None:
        assert self._rig is not None
        passed = (self._rig.now - self._began_simulated) / self._fast
        os.write(self._track, RECORD.pack(self._began + passed, self._rig.now, *pose[:2]))

    def _show(self, state: Entered) -> None:
        if self._shown.header.frame_id:
            self._shown.step += 1
        self._shown.header.frame_id = self.frame("base_link")
        fill_observation(self._shown, state.value)
        self._go = False
        self._say()

    def _say(self) -> None:
        self._said_at = time.monotonic()
        self._shown.header.stamp = self.get_clock().now().to_msg()
        self._observations.publish(self._shown)

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        return OK, "drives" if self._go else "stands", {}


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(TeamRobotNode)


if __name__ == "__main__":
    sys.exit(main())
