#!/usr/bin/env python3
"""Missions on a map with `drive:=velocities`, on the Nav2 double's robot and AMCL by a fast clock.

Everything of the bridge and of the machine but the transport runs: poses from odometry and AMCL's
messages, the laser, stops, blocked ways, other ways, the end with a reason. On a part of the legs
something goes wrong: commands are refused, a disc stands in the way, AMCL's pose jumps, odometry is
frozen or silent; mostly for a while, else for ever. After a jump a person may give an initial pose.
Each mission is judged on the true pose, until the robot stands; a mission that ends otherwise must
give a reason that names what went wrong.

    skm map --example --out hall
    python benchmarks/robot/velocity_missions.py --domain hall --missions 100 --seed 1 --out hall.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test"))

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav2_missions import MOST_SECONDS, STUCK_SECONDS, as_remote, read_rows
from nav_msgs.msg import Odometry

from doubles.nav2_model import Grid, Nav2Model, Parameters
from doubles.nav2_model import Pose as StackPose
from skm_machine.errors import UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.tracker import Status
from skm_primitives.evaluation.robot_trials import TrueJudge, draw_trials, tell_avoided
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.replanning import plan_from, without_cells
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import RemoteSkills
from skm_ros.nodes.pose_sources import OdometrySource
from skm_ros.robot_messages import fill_pose
from skm_sim.maps.building import Building
from skm_sim.maps.spec import load_building
from skm_sim.registry import get_domain
from skm_sim.robots.blockages import Blockages
from skm_sim.robots.command_gate import CommandGate
from skm_sim.robots.drive import DriveConfig, Entered, drive_in
from skm_sim.robots.path_follower import Chassis
from skm_sim.robots.pose import REST, Limits, Velocity

PERIOD = 0.05
"""Of the bridge, and the double's step."""
SCAN_PERIODS = 2
BLOCKED_AFTER, BLOCKED_FOR, SEEN_AGAIN = 3.0, 60.0, 1.0
RESUME_SECONDS = 2.0
"""The bridge's and the machine's parameters, by their defaults."""
SPREAD = 0.5
BESIDE = 0.15
AHEAD, DISC, DRIVES = 1.3, 0.25, 0.2
"""Where a disc appears before a robot that drives so fast, and its radius: m, m and m/s."""
FOR_EVER = 0.25
"""Part of the faults that do not end by themselves."""
KINDS = {
    "refused": "does not move",
    "obstacle": "stands in the way",
    "jump": "has jumped|does not fit|off the floor",
    "frozen": "does not move|has jumped|does not fit|off the floor",
    "silent": "nothing is heard",
}
"""What goes wrong, and what a reason that names it says."""


class Messages:
    """What a source of poses asks of its node: messages come by hand."""

    def create_subscription(self, *_: object) -> None:
        """Listen to nobody."""

    def drop(self, kind: str, reason: object = "") -> None:
        """Drop a message."""


class Robot:
    """The double's robot with AMCL, its driver, and what goes wrong with them."""

    def __init__(self, building: Building, start: StackPose, seed: int, faults: float) -> None:
        occupancy = building.occupancy
        values = np.where(occupancy.free, 0, 100).astype(np.int8)
        frame = occupancy.frame
        grid = Grid(values, occupancy.resolution, frame.x, frame.y)
        parameters = Parameters(
            robot_radius=building.file.robot_radius,
            scan_rays=120,
            odom_noise=0.01,
            odom_drift=0.01,
        )
        self.model = Nav2Model(grid, start, parameters)
        self.model.robot._random.seed(seed)
        self.model.amcl._random.seed(seed + 1)
        self._random = np.random.default_rng(seed)
        self._share = faults
        self._faults = dict.fromkeys(KINDS, (math.inf, math.inf))
        """From when until when each goes wrong."""
        self._helped_at = math.inf
        self._measured = REST
        self.befell: list[str] = []
        """What went wrong, in order."""

    def begin_leg(self) -> None:
        """Let something go wrong on a leg, now and then."""
        if self._random.random() >= self._share:
            return
        kind = str(self._random.choice(list(KINDS)))
        model, now = self.model, self.model.time
        seconds = float(self._random.uniform(5.0, 15.0))
        if kind == "silent":
            seconds = float(self._random.uniform(0.1, 3.0))
        if self._random.random() < FOR_EVER:
            seconds = math.inf
        at = now + float(self._random.uniform(0.0, 5.0))
        self.befell.append(f"{kind} {seconds:.1f} s")
        self._faults[kind] = at, at + seconds
        if kind == "jump":
            size = float(np.exp(self._random.uniform(math.log(0.5), math.log(5.0))))
            angle = float(self._random.uniform(0, math.tau))
            model.jump(StackPose(size * math.cos(angle), size * math.sin(angle), 0.0))
            self._helped_at = at + seconds

    def _happens(self, kind: str) -> bool:
        begin, end = self._faults[kind]
        return begin <= self.model.time < end

    def step(self, command: Velocity) -> None:
        """Let a period pass with a command."""
        model = self.model
        before = model.robot.odom_pose
        model.robot.command(*(REST if self._happens("refused") else command))
        if self._happens("obstacle") and model.robot.speed > DRIVES:
            begin, end = self._faults["obstacle"]
            self._faults["obstacle"] = math.inf, math.inf
            true = model.robot.true_pose
            x, y = true.x + AHEAD * math.cos(true.yaw), true.y + AHEAD * math.sin(true.yaw)
            model.add_obstacle(x, y, DISC, end - begin)
        if model.time >= self._helped_at:
            self._helped_at = math.inf
            model.amcl.initial_pose(model.robot.true_pose)
        model.step(PERIOD)
        if self._happens("frozen"):
            model.robot.odom_pose = before  # AMCL goes by the same odometry

    def odometry(self) -> Odometry | None:
        """Return what the driver says in this period."""
        robot = self.model.robot
        if self._happens("silent"):
            return None
        if not self._happens("frozen"):
            self._measured = Velocity(robot.speed, robot.rotation)
        pose, velocity = robot.odom_pose, self._measured
        message = Odometry()
        message.header.frame_id = "odom"
        _stamp(message, self.model.time)
        fill_pose(message.pose.pose, (pose.x, pose.y, pose.yaw))
        message.twist.twist.linear.x, message.twist.twist.angular.z = velocity
        return message

    def localised(self) -> list[PoseWithCovarianceStamped]:
        """Return what AMCL says in this period."""
        said = []
        while self.model.amcl.poses:
            estimate = self.model.amcl.poses.popleft()
            message = PoseWithCovarianceStamped()
            message.header.frame_id = estimate.frame_id
            _stamp(message, estimate.stamp)
            pose = estimate.pose
            fill_pose(message.pose.pose, (pose.x, pose.y, pose.yaw))
            message.pose.covariance[0], message.pose.covariance[7] = estimate.variances[:2]
            said.append(message)
        return said


def _stamp(message: Any, seconds: float) -> None:  # noqa: ANN401
    message.header.stamp.sec = int(seconds)
    message.header.stamp.nanosec = int((seconds - int(seconds)) * 1e9)


class Bridge:
    """What the bridge's node does once a period, without its topics."""

    def __init__(self, building: Building, robot: Robot) -> None:
        self.now = 0.0
        self.robot = robot
        radius = building.file.robot_radius
        self.drive = drive_in(
            building, Chassis(radius=radius), Limits(), DriveConfig(PERIOD, latency=0.02)
        )
        self.blockages = Blockages(building.floor, radius + BESIDE, BLOCKED_FOR)
        node: Any = Messages()
        self.source = OdometrySource(
            node, self._on_pose, "odom", "amcl_pose", spread=SPREAD, frames=["map"]
        )
        self._limit = CommandGate(PERIOD, 2 * PERIOD).limit
        self._obstructed_since = self._blocked_at = -math.inf
        self._periods = 0
        self.stopped = ""
        """What keeps the robot from moving."""
        self.blind = True

    def _on_pose(self, pose: Any, velocity: Velocity, _: float, stamp: object) -> None:  # noqa: ANN401, ARG002
        self.drive.read(pose, velocity, self.now)

    def period(self, *, wanted: bool) -> list[Entered]:
        """Let a period pass, as commanded if the robot may move; return the states entered."""
        robot, drive = self.robot, self.drive
        go = wanted and not self.stopped
        command = drive.velocity(self.now) if go else drive.halt()
        if not go:
            drive.motion.rest()
        elif not drive.motion.obeys(drive.tracker, command, self.now):
            command = drive.halt()
        robot.step(command)
        self.now = robot.model.time
        if (odometry := robot.odometry()) is not None:
            self.source._on_odometry(odometry)
        for message in robot.localised():
            self.source._on_pose(message)
        self._periods += 1
        if self._periods % SCAN_PERIODS == 0 and drive.tracker.known:
            model = robot.model
            limit = model.parameters.scan_range
            drive.scan(model.scan(), model.scan_angles(), self.now, (0.0, 0.0, 0.0), limit)
        self._watch()
        if self.blind:
            return []
        return drive.states(self.now, resting=not go)

    def _watch(self) -> None:
        """Look whether anything keeps the robot from moving."""
        drive, now = self.drive, self.now
        self.blind = now - drive.tracker.read_at > self._limit
        pose = "nothing is heard of the robot's pose" if self.blind else ""
        stops = pose, drive.localisation.problem, self._obstacle(), drive.motion.problem(now)
        self.stopped = "; ".join(filter(None, stops))

    def _obstacle(self) -> str:
        drive, now = self.drive, self.now
        if not drive.tracker.known or not drive.obstructed(now):
            self._obstructed_since = -math.inf
            return ""
        if self._obstructed_since == -math.inf:
            self._obstructed_since = now
        patience = SEEN_AGAIN if self.blockages.cells(now) else BLOCKED_AFTER
        if now - self._obstructed_since < patience:
            return "something stands in the way"
        if now - self._blocked_at > SEEN_AGAIN:
            self._blocked_at = now
            place = drive.tracker.at(now)[:2]
            self.blockages.block_around(drive.obstacles.unknown, place, now)
        return ""


def run_mission(  # noqa: PLR0912, PLR0915 - one loop, as the nodes have it
    mission: Mission,
    skills: RemoteSkills,
    building: Building,
    robot: Robot,
    values: Any,  # noqa: ANN401
) -> tuple[str, str, str]:
    """Run one mission; return outcome, reason and outcome by the true pose."""
    model, bridge = robot.model, Bridge(building, robot)
    judge = TrueJudge(
        mission,
        building.places,
        building.file.constraints,
        (model.robot.true_pose.x, model.robot.true_pose.y, 0.0),
    )

    def watch() -> None:
        true = model.robot.true_pose
        judge.watch((true.x, true.y, true.yaw))

    run: MissionRun | None = None
    visited, moves, got_on, heard = set[int](), 0, 0.0, 0.0
    blocked, present = frozenset[int](), -1
    outcome = reason = ""
    said: object = None
    while not outcome and model.time < MOST_SECONDS:
        entered = bridge.period(wanted=run is not None)
        watch()
        now = model.time
        for state in entered:
            present = state.value
            if run is None:
                start = mission.machine.initial
                try:
                    plan = plan_from(mission, skills, "product", start, present, shield=False)
                except UnachievableMissionError as error:
                    return "rejected", str(error), "running"
                run = MissionRun(plan.policy, skills, 100_000)
                run.begin(present, state.labels, 0)
                tell_avoided(bridge.drive, run)
                robot.begin_leg()
            elif not run.over:
                run.enter(present, state.labels, round(now * 1e9))
            if run.tracker.moves != moves:
                moves = run.tracker.moves
                visited.clear()
                got_on = now
                tell_avoided(bridge.drive, run)
                robot.begin_leg()
            if present not in visited:
                visited.add(present)
                got_on = now
        if run is None:
            got_on = heard = now
            continue
        if run.tracker.status is not Status.RUNNING:
            outcome = str(run.tracker.status.value)
            break
        heard = heard if bridge.blind else now
        if now - heard > RESUME_SECONDS:
            outcome, reason = "error", f"nothing is heard from the robot: {bridge.stopped}"
            break
        if now - got_on > STUCK_SECONDS:
            why = bridge.stopped or bridge.blockages.reason or bridge.drive.trouble
            outcome, reason = "no progress", f"not got on for {now - got_on:.0f} s: {why}"
            break
        if bridge.blind:
            continue
        if (cells := bridge.blockages.cells(now)) != blocked:
            blocked = cells
            try:
                state_of_machine = run.tracker.state
                plan = plan_from(
                    mission,
                    without_cells(skills, cells),
                    "product",
                    state_of_machine,
                    present,
                    shield=False,
                )
                run.replan(plan.policy, None, present)
                visited.clear()
                got_on = now
            except UnachievableMissionError:
                pass  # the machine goes on by its plan: what stands there may go away
        key = id(run.policy), run.tracker.state, present
        if key != said or run.decision is None:
            said = key
            run.decide(values(present, run.history))
        assert run.decision is not None
        if run.over:
            outcome, reason = "no progress", "the robot gets nowhere, whichever way it tries"
            break
        bridge.drive.take(run.decision.action, now)
    for _ in range(20):  # until it stands: that counts, too
        bridge.period(wanted=False)
        watch()
    return outcome or "running", reason, str(judge.tracker.status.value)


def is_true(reason: str, befell: list[str]) -> bool:
    """Tell whether a reason names something that went wrong."""
    words = [word for kind in befell for word in KINDS[kind.split()[0]].split("|")]
    return any(word in reason for word in words)


def main() -> int:
    """Run missions and print figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--domain", required=True, help="folder of skm map")
    parser.add_argument("--missions", type=int, default=100)
    parser.add_argument(
        "--most", type=int, help="run up to this number only; the next call goes on"
    )
    parser.add_argument("--faults", type=float, default=0.2, help="part of legs with a fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON lines, a mission each; goes on after them")
    args = parser.parse_args()
    spec, building = get_domain(args.domain), load_building(Path(args.domain))
    primitives = load_primitives(spec)
    skills = as_remote(primitives)
    trials = draw_trials(spec, primitives, max(1, args.missions // 5), 5, args.seed)
    cases = [(mission, int(cell)) for mission, _, cells in trials for cell in cells]
    done, began = read_rows(args.out), time.process_time()
    for number, (mission, cell) in enumerate(cases[: args.most or args.missions]):
        if number in done:
            continue
        seed = args.seed * 100_000 + number
        x, y = building.floor.centres[cell].tolist()
        start = StackPose(x, y, float(np.random.default_rng(seed).uniform(-3, 3)))
        robot = Robot(building, start, seed, args.faults)
        outcome, reason, truth = run_mission(mission, skills, building, robot, primitives.values)
        row = {
            "number": number,
            "mission": mission.text,
            "cell": cell,
            "outcome": outcome,
            "truth": truth,
            "reason": reason,
            "befell": robot.befell,
            "collisions": robot.model.robot.collisions,
            "seconds": round(robot.model.time, 1),
        }
        done[number] = row
        if args.out is not None:
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        if outcome != truth or row["collisions"]:
            print(
                f"{number} {mission.text} from {cell}: {outcome} ({truth}) {reason};"
                f" {', '.join(robot.befell)}; {row['collisions']} collisions",
                flush=True,
            )
    rows = list(done.values())
    outcomes = dict(Counter(row["outcome"] for row in rows))
    befell = Counter(kind.split()[0] for row in rows for kind in row["befell"])
    print(f"missions {len(rows)}: {outcomes}; faults {dict(befell)}")
    touched = sum(row["truth"] == "failed" for row in rows)
    disagree = sum(row["outcome"] == "accepted" != row["truth"] for row in rows)
    untrue = [
        row["number"]
        for row in rows
        if row["outcome"] != "accepted" and not is_true(row["reason"], row["befell"])
    ]
    print(f"forbidden touched in truth {touched}; accepted, not by the true pose {disagree}")
    print(f"ended without the true reason: {untrue or 'none'}")
    hours = sum(row["seconds"] for row in rows) / 3600
    print(f"collisions {sum(row['collisions'] for row in rows)}; {hours:.1f} h simulated")
    print(f"{time.process_time() - began:.0f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
