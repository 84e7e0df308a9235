#!/usr/bin/env python3
"""Missions in real time with `drive:=nav2`: the nodes of skm against those of the Nav2 double.

A part of the goals is rejected, aborts, hangs or lies. Missions are drawn at random and follow each
other; each is judged on the true pose, from its first state until the robot stands. Prints a line each.
`--starve 3` holds the bridge up (SIGSTOP) for up to 3 s, again and again, as a busy computer would.

    skm map --example --out hall
    python benchmarks/robot/nav2_realtime.py --domain hall --missions 50 --seed 1
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test"))

import numpy as np
import yaml
from geometry_msgs.msg import PoseStamped
from skm.action import ExecuteMission

from doubles.interfaces import ensure_interfaces, interface_environment
from skm_bench.captured_process import CapturedProcess
from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_machine.tracker import Status
from skm_primitives.evaluation.robot_trials import TrueJudge, draw_trials
from skm_primitives.skills.loading import load_primitives
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.private_domain import private_domain_id, private_environment
from skm_ros.client.ros_client import RosClient
from skm_sim.maps.building import Building
from skm_sim.maps.spec import load_building
from skm_sim.registry import get_domain

PATIENCE_SECONDS = 120.0
MOST_SECONDS = 900.0
REST_SECONDS = 1.0
"""After a mission's end in which the robot stops: that counts, too."""
AT_REST = 1e-4
"""Metres from one true pose to the next that are no motion."""
MOST_GAP = 0.15
"""Metres between two poses that were heard beyond which nobody saw where the robot was in truth."""
KINDS = ("reject", "abort", "hang", "lie_success")
Result = ExecuteMission.Result
OUTCOMES = {
    Result.ACCEPTED: "accepted",
    Result.FAILED: "failed",
    Result.NO_PROGRESS: "no progress",
    Result.REJECTED: "rejected",
    Result.TIMED_OUT: "timed out",
}


class World:
    """Where the robot is in truth, and what that means for a mission."""

    def __init__(self, client: RosClient, building: Building) -> None:
        self._building = building
        self.judge: TrueJudge | None = None
        self.pose: tuple[float, float, float] | None = None
        self.moved_at = time.monotonic()
        self.unseen = 0
        """How often more than `MOST_GAP` lay between two poses, in the present mission."""
        client.node.create_subscription(PoseStamped, "/ground_truth/pose", self._on_pose, 100)

    def _on_pose(self, message: PoseStamped) -> None:
        before = self.pose
        self.pose = message.pose.position.x, message.pose.position.y, 0.0
        if before is None or math.dist(before, self.pose) > AT_REST:
            self.moved_at = time.monotonic()
        self.unseen += before is not None and math.dist(before, self.pose) > MOST_GAP
        if self.judge is not None:
            self.judge.watch(self.pose)

    @property
    def rests(self) -> bool:
        """Whether the robot has stood for a while: what is left of the last mission counts for none."""
        return self.pose is not None and time.monotonic() - self.moved_at > REST_SECONDS

    def begin(self, mission: Mission) -> bool:
        """Judge a mission from here on; tell whether it is not lost already where the robot stands."""
        assert self.pose is not None
        building, self.unseen = self._building, 0
        self.judge = TrueJudge(mission, building.places, building.file.constraints, self.pose)
        self.judge.watch(self.pose)  # it may stand in what the mission must avoid
        return self.judge.tracker.status is Status.RUNNING


def start(folder: Path, args: argparse.Namespace, domain_id: int) -> list[CapturedProcess]:
    """Start the double and the nodes; nobody knows of the faults but the double."""
    building = load_building(Path(args.domain))
    x, y = building.floor.centres[0].tolist()
    map_file = (Path(args.domain) / "map.yaml").resolve()
    config = {
        "grid": {"map": str(map_file)},
        "start": [x, y, 0.0],
        "parameters": {"robot_radius": building.file.robot_radius},
        "faults": {"seed": args.seed, **dict.fromkeys(KINDS, args.faults / len(KINDS))},
    }
    (folder / "double.yaml").write_text(yaml.safe_dump(config))
    prefix = ensure_interfaces(
        Path(tempfile.gettempdir()) / f"nav2-double-{os.getuid()}-{sys.version_info[1]}"
    )
    environment = interface_environment(prefix, private_environment(domain_id))
    doubles = str(Path(__file__).resolve().parents[2] / "test")
    environment["PYTHONPATH"] = f"{doubles}{os.pathsep}{environment.get('PYTHONPATH', '')}"
    parameters: dict[str, dict[str, object]] = {
        "primitives": {"domain": args.domain},
        "machine": {"state_folder": folder / "state"},
        "bridge": {
            "domain": args.domain,
            "drive": "nav2",
            "pose_source": "pose",
            "pose": "/amcl_pose",
            "odom": "/odom",
            "scan": "/scan",
            "navigate": "/navigate_to_pose",
            "navigate_through": "/navigate_through_poses",
        },
    }
    commands = [
        [sys.executable, "-m", "doubles.nav2", "--config", str(folder / "double.yaml")],
        *(
            [
                *(sys.executable, "-m", f"skm_ros.nodes.{node}_node"),
                *("--ros-args", "-r", "__ns:=/skm"),
                *(part for key, value in given.items() for part in ("-p", f"{key}:={value}")),
            ]
            for node, given in parameters.items()
        ),
    ]
    return [CapturedProcess(command, environment) for command in commands]


class Hold:
    """Holds a process up for a while, now and then."""

    def __init__(self, process: CapturedProcess, seconds: float, seed: int) -> None:
        self._process, self._seconds = process, seconds
        self._random = np.random.default_rng(seed)
        self._held, self._next = False, time.monotonic() + 10.0

    def look(self) -> bool:
        """Stop it, or let it go on, when it is time; False, so that it may be called while waiting."""
        if self._seconds and time.monotonic() > self._next:
            self._held = not self._held
            self._process.signal_group(signal.SIGSTOP if self._held else signal.SIGCONT)
            least, most = (0.3, self._seconds) if self._held else (2.0, 8.0)
            self._next = time.monotonic() + float(self._random.uniform(least, most))
        return False


def run(
    client: RosClient, world: World, mission: Mission, hold: Hold
) -> tuple[str, str, str, float] | None:
    """Run one mission; return outcome, outcome in truth, reason and seconds.

    None where it is over before it begins, where the last one has left the robot.
    """
    goal = MissionGoal(client, ExecuteMission.Goal(mission=mission.text, max_seconds=MOST_SECONDS))
    goal.wait_ready(PATIENCE_SECONDS)
    client.spin_until(lambda: world.rests, PATIENCE_SECONDS)
    if not world.begin(mission):
        goal.close()
        return None
    goal.send(PATIENCE_SECONDS)
    client.spin_until(lambda: hold.look() or goal.done, MOST_SECONDS + PATIENCE_SECONDS)
    client.spin_until(hold.look, REST_SECONDS)
    if not goal.done:
        raise SkmError("it did not come to its end")
    result = goal.result
    goal.close()
    assert world.judge is not None
    outcome = OUTCOMES.get(result.outcome, f"outcome {result.outcome}")
    truth = str(world.judge.tracker.status.value)
    truth += f", {world.unseen} gaps" if world.unseen else ""
    return outcome, truth, result.reason, result.seconds


def main() -> int:
    """Run missions and print figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--domain", required=True, help="folder of skm map")
    parser.add_argument("--missions", type=int, default=50)
    parser.add_argument("--faults", type=float, default=0.2, help="part of goals with a fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--starve", type=float, default=0.0, help="most seconds of a hold-up")
    args = parser.parse_args()
    spec, building = get_domain(args.domain), load_building(Path(args.domain))
    trials = draw_trials(spec, load_primitives(spec), args.missions, 1, args.seed)
    found, seconds = Counter[tuple[str, str]](), 0.0
    with tempfile.TemporaryDirectory() as folder, private_domain_id() as domain_id:
        processes = start(Path(folder), args, domain_id)
        try:
            with RosClient(domain_id=domain_id) as client:
                world = World(client, building)
                hold = Hold(processes[-1], args.starve, args.seed)
                for number, (mission, _, _) in enumerate(trials):
                    ended = run(client, world, mission, hold)
                    if ended is None:
                        print(f"{number} {mission.text}: over where the robot stands", flush=True)
                        continue
                    outcome, truth, reason, took = ended
                    found[outcome, truth] += 1
                    seconds += took
                    said = "" if outcome == truth == "accepted" else f" {reason}"
                    print(
                        f"{number} {mission.text}: {outcome} ({truth}) {took:.0f} s{said}",
                        flush=True,
                    )
        finally:
            for process in processes:
                process.signal_group(signal.SIGCONT)
                process.stop()
    for (outcome, truth), times in found.items():
        print(f"{times} of {sum(found.values())}: {outcome}, in truth {truth}")
    print(f"{seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
