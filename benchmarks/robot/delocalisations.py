#!/usr/bin/env python3
"""What becomes of a robot whose pose is suddenly wrong, in simulated time: the Car in the hall.

At a random moment of a mission its odometry jumps by 0.5 to 50 m, freezes, or comes in another frame;
from then on the bridge's own logic decides, messages included. Judged on the true pose: seconds from
the first inconsistent message until it stands, and walls touched from then on.

    python benchmarks/robot/delocalisations.py --domain hall --runs 100
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry

from skm_machine.mission import compile_mission
from skm_primitives.evaluation.robot_trials import DRIVE_CONFIG, LIMITS
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Policy
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import Primitives
from skm_ros.nodes.pose_sources import OdometrySource
from skm_ros.robot_messages import fill_pose
from skm_sim.maps.building import Building
from skm_sim.maps.spec import load_building
from skm_sim.registry import get_domain
from skm_sim.robots.command_gate import CommandGate
from skm_sim.robots.drive import Driving, drive_in
from skm_sim.robots.pose import Velocity
from skm_sim.robots.simulated import (
    RANGE,
    READING,
    RobotModel,
    SensorModel,
    SimulatedRobot,
    chassis_of,
    make_robot_model,
)
from skm_sim.robots.walls import Pose, walls_of

STANDS = 0.03
"""m/s below which the robot stands: noise of the simulation is less."""
AFTER = 20.0
"""Seconds for which it is watched after the fault."""
MISSION = "G F kitchen & G F lobby & G F office & G !wet_floor"


class Messages:
    """What a source of poses asks of its node: messages come by hand."""

    def create_subscription(self, *_: object) -> None:
        """Listen to nobody."""

    def drop(self, kind: str, reason: object = "") -> None:
        """Drop a message."""


class FaultyRobot(SimulatedRobot):
    """A simulated whose odometry goes wrong at a moment, and that has a laser."""

    fault = ""
    size = 0.0
    _shift: Pose = (0.0, 0.0, 0.0)
    _last: tuple[Pose, Velocity] | None = None
    faulty_since = math.inf
    _scanned = 0.0

    def __init__(
        self, car: RobotModel, drive: Driving, seed: int, watch: Callable[[Pose], None]
    ) -> None:
        super().__init__(car, drive, SensorModel(), seed, watch)
        node: Any = Messages()
        self.source = OdometrySource(node, self._on_pose, "odom", frames=["map"])
        self.lost_after = CommandGate(DRIVE_CONFIG.period, 2 * DRIVE_CONFIG.period).limit

    def _on_pose(self, pose: Pose, velocity: Velocity, _: float, stamp: object) -> None:  # noqa: ARG002
        self._drive.read(pose, velocity, self.now)

    @property
    def problem(self) -> str:
        """Why nobody knows the pose, as the bridge sees it; empty where there is one."""
        late = self.now - self._drive.tracker.read_at > self.lost_after
        return f"nothing is heard of the pose: {self.source.problem}" if late else ""

    def begin(self, fault: str, shift: Pose) -> None:
        """Let a fault begin with the next reading."""
        self.fault, self._shift, self.faulty_since = fault, shift, self.now + READING

    def _sense(self) -> None:
        pose = self._car.pose
        self._watch(pose)
        speeds = self._noise.of_speeds(self._car.speeds, self._random)
        x, y, heading = self._noise.of_pose(pose, self._random)
        reading = (x, y, heading), Velocity(*speeds)
        if self.fault == "jump":
            dx, dy, turned = self._shift
            reading = (x + dx, y + dy, heading + turned), reading[1]
        elif self.fault == "freeze" and self._last is not None:
            reading = self._last
        self._last = reading
        self._readings.send(reading, self.now)
        for seen, velocity in self._readings.arrived(self.now):
            message = Odometry()
            message.header.frame_id = "odom" if self.fault == "frame" else "map"
            fill_pose(message.pose.pose, seen)
            message.twist.twist.linear.x, message.twist.twist.angular.z = velocity
            self.source._on_odometry(message)
        if self.now - self._scanned >= 0.1:
            self._scanned = self.now
            distances, angles = self._car.scan()
            distances = self._noise.of_distances(distances, self._random)
            self._drive.scan(distances, angles, self.now, (0.0, 0.0, 0.0), RANGE)


def run_once(
    building: Building, primitives: Primitives, policy: Policy, seed: int, fault: str, size: float
) -> tuple[float, bool, list[tuple[str, int]]] | None:
    """Return seconds until the robot stood, whether a wall was touched, and why it stopped.

    None where the mission ended before the fault.
    """
    random = np.random.default_rng(seed)
    cells = building.floor.num_cells
    x, y = building.floor.centres[int(random.integers(cells))].tolist()
    start = x, y, float(random.uniform(-math.pi, math.pi))
    car = make_robot_model("car", walls_of(building.occupancy), start)
    drive = drive_in(building, chassis_of("car"), LIMITS, DRIVE_CONFIG)
    touched, stood_at = False, math.nan

    def watch(pose: Pose) -> None:  # noqa: ARG001 - where it is, is in the car
        nonlocal touched, stood_at
        if simulated.now >= simulated.faulty_since:
            touched = touched or car.touches_wall
            if math.isnan(stood_at) and abs(car.speeds[0]) < STANDS:
                stood_at = simulated.now

    simulated = FaultyRobot(car, drive, seed, watch)
    entered = []
    while not entered:
        entered = simulated.period(DRIVE_CONFIG.period, go=False)
    state = entered[-1]
    run = MissionRun(policy, primitives, 100_000)
    run.begin(state.value, state.labels, 0)
    moment, reasons = float(random.uniform(5.0, 40.0)), Counter[str]()
    while simulated.now < simulated.faulty_since + AFTER and simulated.now < 120:
        moving = car.speeds[0] > 0.25
        if not simulated.fault and simulated.now > moment and moving:
            angle = float(random.uniform(0, math.tau))
            simulated.begin(fault, (size * math.cos(angle), size * math.sin(angle), 0.0))
        problem = (
            simulated.problem or drive.localisation.problem or drive.motion.problem(simulated.now)
        )
        if problem:
            reasons[problem.split(":")[0].split("(")[0]] += 1
            drive.motion.rest()
        go = not problem and not drive.obstructed(simulated.now)
        if go:
            drive.take(
                run.decide(primitives.values(state.value, run.history)).action, simulated.now
            )
            go = drive.motion.obeys(drive.tracker, drive._velocity, simulated.now)
        for state in simulated.period(DRIVE_CONFIG.period, go=go):
            if not run.over:
                run.enter(state.value, state.labels, round(simulated.now * 1e9))
        if run.over:
            return None
    return stood_at - simulated.faulty_since, touched, reasons.most_common(1)


def main() -> int:
    """Run all and print figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--domain", required=True, help="folder of skm map")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    spec, building = get_domain(args.domain), load_building(Path(args.domain))
    primitives = load_primitives(spec)
    policy = make_policy(compile_mission(MISSION, propositions=spec.propositions), primitives)
    random = np.random.default_rng(args.seed)
    times, walls, late, kinds = list[float](), 0, 0, Counter[str]()
    seed = args.seed * 10_000
    while len(times) < args.runs:
        seed += 1
        fault = str(random.choice(["jump", "freeze", "frame"], p=[0.6, 0.2, 0.2]))
        size = float(np.exp(random.uniform(math.log(0.5), math.log(50.0))))
        found = run_once(building, primitives, policy, seed, fault, size)
        if found is None or math.isnan(found[0]):
            if found is not None:
                print(f"{seed} {fault} {size:.2f} m: never stood; {found[2]}", flush=True)
                late += 1
                times.append(math.inf)
            continue
        seconds, touched, reasons = found
        times.append(seconds)
        kinds[fault] += 1
        walls += touched
        late += seconds > 0.5
        if touched or seconds > 0.5:
            print(
                f"{seed} {fault} {size:.2f} m: {seconds:.2f} s, wall {touched}; {reasons}",
                flush=True,
            )
    print(
        f"{len(times)} faults: at rest after {np.median(times):.2f} s (median), {max(times):.2f} (worst)"
    )
    print(dict(kinds))
    print(f"later than 0.5 s: {late}; walls touched afterwards: {walls}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
