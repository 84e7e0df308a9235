"""One mission on a robot in simulated time: its noise, and the bridge's own driving.

What the robot did is judged on where it really was, at 50 Hz, and not on what the bridge believed: a
second tracker follows the labels of the true pose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from skm_machine.logic.timed import NANOSECONDS
from skm_machine.mission import Mission
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.policy import Policy
from skm_primitives.planning.shield import AnyShield
from skm_primitives.primitives import Primitives
from skm_sim.driving.robot_drive import Driving, Entered, Manner
from skm_sim.driving.velocities import Limits
from skm_sim.maps.places import Places
from skm_sim.robots.bodies import Body
from skm_sim.robots.rig import Rig, Senses
from skm_sim.robots.walls import Pose

LIMITS: Final = Limits(speed=0.4, turn=3.0)
"""What the Car is asked for; the same as in config/graph.yaml."""
MANNER: Final = Manner(late=0.02)
COMING_TO_REST: Final = 10
"""Control periods after the end of a mission in which the robot stops; they count, too."""


@dataclass(frozen=True)
class RobotRun:
    """One run of a mission on a robot."""

    mission: str
    outcome: str
    """As the bridge's labels have it: `accepted`, `failed`, `no progress` or `timed out`."""
    true_outcome: str
    """As the labels of the true pose have it, until the robot stands."""
    seconds: float
    way: float
    """Metres that the robot went."""
    planned: float
    """Metres of the cells' way in the simulated domain; 0 where there are no cells."""
    wall: bool
    """Whether it touched a wall."""

    @property
    def succeeded(self) -> bool:
        """Whether the mission was done, and nothing forbidden was touched in truth."""
        return self.outcome == "accepted" and self.true_outcome != "failed"


class TrueJudge:
    """Follows a mission on the labels of the true pose; its way, too."""

    def __init__(
        self, mission: Mission, places: Places, constraints: Collection[str], pose: Pose
    ) -> None:
        self._places = places
        self.tracker = MissionTracker(mission.machine, constraints, mission.clocks)
        self.tracker.start(self._places.labels_at(*pose[:2]))
        self.clock: Callable[[], int] = lambda: 0
        """How late it is, in nanoseconds since the mission began."""
        self._place = pose[:2]
        self.way = 0.0

    def watch(self, pose: Pose) -> None:
        """Take the true pose of a moment."""
        place = pose[:2]
        self.way += math.dist(place, self._place)
        sets = self._places.label_sets_along(*self._place, *place)
        for labels in sets[1:] or sets:
            if self.tracker.status is Status.RUNNING:
                self.tracker.update(labels, time=self.clock())
        self._place = place


def run_on_robot(
    policy: Policy,
    primitives: Primitives,
    car: Body,
    drive: Driving,
    judge: TrueJudge,
    *,
    seconds: float,
    max_steps: int,
    senses: Senses,
    seed: int,
    planned: float = 0.0,
    shield: AnyShield | None = None,
) -> RobotRun:
    """Run a mission on a robot from where it stands, for so many seconds at most."""
    touched = False

    def watch(pose: Pose) -> None:
        nonlocal touched
        touched = touched or car.touches_wall
        judge.watch(pose)

    rig = Rig(car, drive, senses, seed, watch)
    entered: list[Entered] = []
    while not entered:
        entered = rig.period(MANNER.period, go=False)
    run = MissionRun(policy, primitives, max_steps, shield)
    state = entered[-1]
    began = rig.now

    def now() -> int:
        return round((rig.now - began) * NANOSECONDS)

    judge.clock = now
    run.begin(state.value, state.labels, now())
    limit = rig.now + seconds
    while not run.over and rig.now < limit:
        decision = run.decide(primitives.values(state.value, run.history))
        if run.blocked:
            break
        drive.take(decision.action, rig.now)
        entered = rig.period(MANNER.period, go=True)
        while not entered and rig.now < limit and not run.advance(state.value, now()):
            entered = rig.period(MANNER.period, go=True)
        for state in entered:
            if not run.over:
                run.enter(state.value, state.labels, now())
    for _ in range(COMING_TO_REST):
        rig.period(MANNER.period, go=False)
    truth, mission = str(judge.tracker.status.value), policy.mission.text
    return RobotRun(mission, _outcome(run), truth, rig.now, judge.way, planned, touched)


def _outcome(run: MissionRun) -> str:
    if run.tracker.status is not Status.RUNNING:
        return str(run.tracker.status.value)
    return "no progress" if run.stalled or run.blocked else "timed out"
