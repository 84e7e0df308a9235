"""Missions of teams through real nodes, on robots with noise, judged on where they really are.

    python benchmarks/team_trials.py --count 100 --out runs/team_trials.jsonl [--speed-up 20]
    python benchmarks/team_trials.py --count 10 --out runs/real_teams.jsonl --real

Each mission has 2 to 4 robots in the hall: safety-gymnasium's Cars in MuJoCo with noise, delays and
losses as in docs/how-to/robots.md. All are processes of their own and talk over DDS: the team's node,
and for each robot one of `skm_bench.team_robot` in the namespace of its name, at so many times the speed
of life, each of a speed of its own. With `--real` it is the nodes `bridge` and `car` of `skm up team
--robot car` instead, at the speed of life.

In every second mission one robot is killed on its way, by SIGKILL to its process (with `--real` to its
bridge); in every fourth it is one that no clause names, if there is one.

Judged at 50 Hz on the true poses, which are brought together by the machine's steady clock: whether the
mission is fulfilled, whether a robot is in a forbidden place, and how close two robots come, which must
not be closer than their radii. What is in the output already is not run again: a run that was broken
off goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from geometry_msgs.msg import PoseStamped
from skm.action import ExecuteMission
from skm.msg import Action, Observation
from skm.srv import Reset

import skm_sim.maps
from skm_bench.captured_process import CapturedProcess
from skm_bench.team_robot import Look, read_track
from skm_machine.errors import SkmError
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.execution.team_run import team_mission, team_of
from skm_primitives.planning.map_domains import building_of, make_map_domain
from skm_primitives.planning.place_graph import cells_of
from skm_primitives.planning.teams import Team
from skm_primitives.skills.loading import load_primitives
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.private_domain import private_domain_id, private_environment
from skm_ros.client.ros_client import RosClient
from skm_ros.conversions import OUTCOMES
from skm_ros.graph import get_system, robot_names
from skm_ros.processes import node_command, node_environment
from skm_sim.registry import get_domain
from skm_sim.robots.walls import Pose

HALL: Final = Path(skm_sim.maps.__file__).parent / "hall"
COASTING: Final = 0.5
"""Simulated seconds for which robots are looked at after the end: they come to rest."""
MOST_SECONDS: Final = 900.0
"""Simulated seconds that a mission may take."""
GONE: Final = 3.0
"""Real seconds of silence after which the team's node takes a robot to be gone."""
MARGIN: Final = 0.1
PATIENCE: Final = 10
"""Requests to begin a new episode, of 5 seconds each."""
CLAUSES: Final = (
    *["F {p}"] * 4, *["F({p} & X F {q})"] * 2, "F {r}.{p}", "F({r}.{p} & {s}.{q})",
    "!{r}.{p} U {s}.{q}", "G !({r}.{p} & {s}.{p})",
)  # fmt: skip


class Robot:
    """A robot's processes, and what is known of it here."""

    def __init__(
        self,
        name: str,
        client: RosClient,
        commands: Sequence[Sequence[str]],
        environment: Mapping[str, str],
        track: Path | None,
    ) -> None:
        self.name, self._client, self._commands, self._track = name, client, commands, track
        self._environment = environment
        self._processes: list[CapturedProcess] = []
        self._looks: list[Look] = []
        self._offset = 0
        self.seen: Observation | None = None
        self._heard = 0
        node = client.node
        node.create_subscription(
            Observation, f"/{name}/observation", self._on_observation, qos.STATE
        )
        if track is None:
            node.create_subscription(
                PoseStamped, f"/{name}/true_pose", self._on_true_pose, qos.COMMAND
            )
        self.start()

    def start(self) -> None:
        """Start what is missing."""
        running = [process for process in self._processes if process.returncode is None]
        for command in self._commands:
            if all(process.command != tuple(command) for process in running):
                running.append(CapturedProcess(command, self._environment))
        self._processes = running

    def kill(self) -> None:
        """Kill what drives the robot, with no last word."""
        process = next(p for p in self._processes if p.command == tuple(self._commands[-1]))
        os.kill(process.pid, signal.SIGKILL)
        process.stop()

    def stop(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.stop()

    def check_running(self) -> None:
        """Raise an error if a process has ended."""
        for process in self._processes:
            process.check_running()

    def _on_observation(self, message: Observation) -> None:
        self.seen = message
        self._heard += 1

    def _on_true_pose(self, message: PoseStamped) -> None:
        place = message.pose.position
        now = time.monotonic()
        self._looks.append(Look(now, now, place.x, place.y))

    def put(self, pose: Pose, speed: float, seed: int) -> None:
        """Begin a new episode there."""
        request = Reset.Request(seed=seed)
        request.options = json.dumps({"pose": pose, "speed": speed})
        answer: Any = None
        for _ in range(PATIENCE):
            try:
                answer = self._client.call(Reset, f"/{self.name}/reset", request, 5.0)
                break
            except SkmError:  # the service of one that was killed may still seem to be there
                self.check_running()
        if answer is None or not answer.success:
            raise SkmError(f"{self.name} is not reset: {answer}")
        self._client.spin_until(
            lambda: self.seen is not None and self.seen.episode == answer.episode, 30.0
        )

    def is_there(self) -> bool:
        """Tell whether it is heard of; ask often, until it is."""
        return self._heard > 1

    def begin(self) -> None:
        """Forget what was heard and seen of it."""
        self._looks.clear()
        self._heard = 0
        self._offset = self._track.stat().st_size if self._track and self._track.exists() else 0

    def looks(self) -> list[Look]:
        """Return where it really was since it began."""
        return self._looks if self._track is None else list(read_track(self._track, self._offset))


@dataclass
class Trial:
    """A mission that is drawn, and what came of it."""

    number: int
    robots: int
    mission: str
    killed: str = ""
    killed_at: float = 0.0
    """Simulated seconds after the first robot was sent on."""
    was_killed: bool = False
    """Whether that was before the mission was over."""
    outcome: str = ""
    reason: str = ""
    true_outcome: str = ""
    steps: int = 0
    seconds: float = 0.0
    """Simulated, from the first step on."""
    planning_seconds: float = 0.0
    """Real, until the first robot was sent on."""
    again_seconds: list[float] = field(default_factory=list)
    """Real, for each plan that was made after a robot was found missing."""
    again_cpu: list[float] = field(default_factory=list)
    """The CPU time of the same."""
    again_waits: list[float] = field(default_factory=list)
    """For how long the same waited for a CPU: the machine had other things to do."""
    closest: float = math.inf
    """Metres between the centres of two robots."""
    forbidden: int = 0
    """Looks at which a robot was in a forbidden place."""

    @property
    def fulfilled(self) -> bool:
        """Whether the mission was done in truth."""
        return self.outcome == "accepted" and self.true_outcome == "accepted"

    @property
    def explained(self) -> bool:
        """Whether a mission that lost a robot ended since that is needed, or stands in the only way."""
        said = (f"{self.killed} is gone", f"{self.killed} stands in the way", "where it is")
        ended = self.was_killed and self.outcome == "failed"
        return ended and any(words in self.reason for words in said)


class TrialSystem:
    """The team's node and the robots', each a process."""

    def __init__(
        self, folder: str, robots: int, *, real: bool, speed_up: float, scratch: Path
    ) -> None:
        self._stack = ExitStack()
        domain_id = self._stack.enter_context(private_domain_id())
        self._client = self._stack.enter_context(RosClient(domain_id=domain_id))
        self.real, self._speed_up = real, 1.0 if real else speed_up
        given = {"domain": folder, "robots": str(robots), "mission": "none"}
        given["robot"] = "car" if real else "none"
        nodes = get_system("team").nodes(given)
        (node,) = (node for node in nodes if node.name == "team")
        extra = ["-p", f"margin:={MARGIN}", "-p", f"gone_after:={GONE}", "-p", "stuck_after:=10.0"]
        environment = {**node_environment(), **private_environment(domain_id)}
        self._process = CapturedProcess([*node_command(node), *extra], environment)
        self._stack.callback(self._process.stop)
        spec = get_domain(folder)
        building, cells = building_of(spec), cells_of(load_primitives(spec))
        assert building is not None
        assert cells is not None
        self.building = building
        names = robot_names(str(robots))
        self.team: Team = team_of(names, cells, building, margin=MARGIN, asynchronous=True)
        self.robots = []
        for number, name in enumerate(names):
            track = None if real else scratch / f"{name}_of_{robots}"
            own = [n for n in nodes if n.namespace == f"/{name}"]
            commands = [node_command(n) for n in sorted(own, key=lambda n: n.name != "car")]
            if real:
                start = self._start_of(number, names)
                commands[0] += ["-p", f'start:="{start}"', "-p", f"seed:={number}"]
                commands[-1] += ["-p", f"speed:={0.5 - 0.07 * number}"]
            else:
                module = [sys.executable, "-m", "skm_bench.team_robot"]
                options = {"domain": folder, "track": str(track), "speed_up": float(speed_up)}
                given_to = [f"{key}:={json.dumps(value)}" for key, value in options.items()]
                commands = [[*module, "--ros-args", "-r", f"__ns:=/{name}"]]
                commands[0] += [part for one in given_to for part in ("-p", one)]
            robot = Robot(name, self._client, commands, environment, track)
            self._stack.callback(robot.stop)
            self.robots.append(robot)
        self._sent: list[float] = []
        for name in names:
            self._client.node.create_subscription(
                Action, f"/{name}/action", self._on_action, qos.COMMAND
            )

    def _start_of(self, number: int, names: Sequence[str]) -> str:
        """Return where a real robot begins: far from the others, in no place."""
        plain = np.flatnonzero(~self.building.labels.any(axis=1))
        x, y = self.building.floor.centres[plain[len(plain) * (2 * number + 1) // (2 * len(names))]]
        return f"{x} {y} 0.0"

    def _on_action(self, action: Action) -> None:
        if action.kind == Action.DISCRETE:
            self._sent.append(time.monotonic())

    def close(self) -> None:
        """End all nodes."""
        self._stack.close()

    def draw(self, number: int) -> tuple[Trial, list[Pose], Random]:
        """Draw a mission, and where the robots begin."""
        rng = Random(f"team trial {number}")
        building, names = self.building, self.team.names
        forbidden = building.file.constraints
        places = [name for name in building.places.names if name not in forbidden]
        centres, labels = building.floor.centres, building.labels
        plain = np.flatnonzero(~labels.any(axis=1)).tolist()
        cells: list[int] = []
        while len(cells) < len(names):
            cell = rng.choice(plain)
            gaps = np.hypot(*(centres[cells] - centres[cell]).T)
            if gaps.min(initial=math.inf) > 2 * (building.file.robot_radius + MARGIN):
                cells.append(cell)
        clauses = [f"G !{name}" for name in forbidden]
        for _ in range(rng.randint(3, 6)):
            r, s = rng.sample(names, 2)
            p, q = rng.sample(places, 2)
            clauses.append(rng.choice(CLAUSES).format(p=p, q=q, r=r, s=s))
        trial = Trial(number, len(names), " & ".join(f"({clause})" for clause in clauses))
        if number % 2:
            spare = [name for name in names if f"{name}." not in trial.mission]
            trial.killed = rng.choice(spare if spare and number % 4 == 1 else names)
            trial.killed_at = rng.uniform(2.0, 25.0)
        poses = [
            (float(centres[cell][0]), float(centres[cell][1]), rng.uniform(-math.pi, math.pi))
            for cell in cells
        ]
        return trial, poses, rng

    def run(self, number: int) -> Trial:
        """Run one mission."""
        trial, poses, rng = self.draw(number)
        for robot in self.robots:
            robot.start()
        for index, (robot, pose) in enumerate(zip(self.robots, poses, strict=True)):
            speed = rng.uniform(0.25, 0.5)
            if not self.real:
                robot.put(pose, speed, 1000 * number + index)
        for robot in self.robots:
            robot.begin()
        goal = MissionGoal(self._client, ExecuteMission.Goal(mission=trial.mission))
        self._wait_for(lambda: all(robot.is_there() for robot in self.robots), "the robots")
        self._wait_for(lambda: goal.machine_is_ready, "the team's node")
        said = len(self._process.output)
        self._sent.clear()
        sent = time.monotonic()
        goal.send(60.0)
        limit = sent + 30.0 + 3 * MOST_SECONDS / self._speed_up
        while not goal.done and time.monotonic() < limit:
            self._client.spin_until(lambda: goal.done, 0.05)
            due = self._sent and time.monotonic() > self._sent[0] + trial.killed_at / self._speed_up
            if trial.killed and due and not trial.was_killed and not goal.done:
                next(robot for robot in self.robots if robot.name == trial.killed).kill()
                trial.was_killed = True
            if not trial.was_killed:
                for robot in self.robots:
                    robot.check_running()
            self._process.check_running()
        ended = time.monotonic()
        self._client.spin_until(lambda: False, max(0.1, COASTING / self._speed_up))
        if self._sent:
            trial.planning_seconds = self._sent[0] - sent
            trial.seconds = self._simulated(self._sent[0], ended)
        self._judge(trial, sent)
        self._note_plans(trial, self._process.output[said:])
        if goal.done:
            result = goal.result
            trial.outcome, trial.reason = OUTCOMES[result.outcome], result.reason
            trial.steps = result.steps
        else:
            goal.cancel()
            self._client.spin_until(lambda: goal.done, 10.0)
            trial.outcome, trial.reason = "timed out", "\n".join(self._process.output[-3:])
        goal.close()
        return trial

    @staticmethod
    def _note_plans(trial: Trial, said: Sequence[str]) -> None:
        """Take what the team's node has said of planning again."""
        number = "([0-9.]+) s"
        pattern = re.compile(
            f"planned again in {number} \\({number} of CPU, {number} waiting for one"
        )
        for line in said:
            if (found := pattern.search(line)) is not None:
                trial.again_seconds.append(float(found[1]))
                trial.again_cpu.append(float(found[2]))
                trial.again_waits.append(float(found[3]))

    def _simulated(self, since: float, until: float) -> float:
        """Return the simulated seconds between two times, by the robot for which most passed."""
        passed = []
        for robot in self.robots:
            looks = robot.looks()
            real, simulated = [look.time for look in looks], [look.simulated for look in looks]
            begin, end = np.interp([since, until], real, simulated).tolist()
            passed.append(end - begin)
        return float(max(passed))

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        if not self._client.spin_until(condition, 60.0):
            last = "\n".join(self._process.output[-5:])
            raise SkmError(f"nothing is heard of {what}:\n{last}")

    def _judge(self, trial: Trial, since: float) -> None:
        """Look at where the robots really were, all at the same times."""
        places, forbidden = self.building.places, set(self.building.file.constraints)
        looks = [[(look.time, look.x, look.y) for look in robot.looks()] for robot in self.robots]
        tracks = [np.array(found).T for found in looks]
        times = np.unique(np.concatenate([track[0] for track in tracks]))
        first = max(track[0][0] for track in tracks)
        times = times[times >= max(first, since)]
        where = [
            np.stack([np.interp(times, track[0], track[axis]) for axis in (1, 2)], axis=1)
            for track in tracks
        ]
        for one, other in combinations(where, 2):
            trial.closest = min(trial.closest, float(np.hypot(*(one - other).T).min()))
        tracker = MissionTracker(team_mission(trial.mission, self.team).machine, ())
        for points in zip(*[points.tolist() for points in where], strict=True):
            shown: set[str] = set()
            for robot, (x, y) in zip(self.robots, points, strict=True):
                labels = places.labels_at(x, y)
                trial.forbidden += bool(labels & forbidden)
                shown |= labels | {f"{robot.name}.{name}" for name in labels}
            if tracker.status is Status.RUNNING:
                tracker.update(frozenset(shown))
        trial.true_outcome = str(tracker.status.value)


def summary(trials: Sequence[Trial], diameter: float) -> str:
    """Return what came of trials, in a few lines."""
    lines = []
    for name, some in (
        ("all robots well", [t for t in trials if not t.was_killed]),
        ("one robot killed", [t for t in trials if t.was_killed]),
    ):
        lines.append(
            f"{name}: {len(some)} missions, {sum(t.fulfilled for t in some)} fulfilled in truth,"
            f" {sum(t.explained for t in some)} ended since the killed robot is needed or in the way,"
            f" {sum(not t.fulfilled and not t.explained for t in some)} otherwise"
        )
    close = [t for t in trials if t.closest < diameter]
    lines.append(
        f"a robot in a forbidden place: {sum(t.forbidden > 0 for t in trials)} missions; two closer than"
        f" {diameter:.2f} m: {len(close)}; closest {min(t.closest for t in trials):.3f} m"
    )
    planned = [t.planning_seconds for t in trials if t.planning_seconds]
    lines.append(
        f"until the first robot moved: mean {np.mean(planned):.2f} s, worst {max(planned):.2f} s"
    )
    again = [seconds for t in trials for seconds in t.again_seconds]
    if again:
        lines.append(
            f"{len(again)} plans made again: mean {np.mean(again):.2f} s, worst {max(again):.2f} s"
        )
    if cpu := [seconds for t in trials for seconds in t.again_cpu]:
        rows = [(t.again_seconds, t.again_cpu, t.again_waits) for t in trials]
        own = [all_ - wait for row in rows for all_, _, wait in zip(*row, strict=True)]
        lines.append(
            f"of CPU time: mean {np.mean(cpu):.2f} s, worst {max(cpu):.2f} s; without the wait for a"
            f" CPU: mean {np.mean(own):.2f} s, worst {max(own):.2f} s"
        )
    for t in trials:
        if not (t.fulfilled or t.explained) or t.forbidden or t.closest < diameter:
            lines.append(
                f"  {t.number}: {t.outcome} ({t.reason}), in truth {t.true_outcome}, closest"
                f" {t.closest:.3f}, forbidden {t.forbidden}, killed '{t.killed}': {t.mission}"
            )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and say what came of all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--robots", type=int, nargs="+", default=[2, 3, 4], choices=(2, 3, 4))
    parser.add_argument("--speed-up", type=float, default=20.0)
    parser.add_argument("--real", action="store_true", help="bridges, at the speed of life")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    done: dict[int, dict[str, Any]] = {}
    if args.out.exists():
        for line in args.out.read_text().splitlines():
            found = json.loads(line)
            done[found["number"]] = found
    with tempfile.TemporaryDirectory() as folder:
        hall = Path(folder) / "hall"
        make_map_domain(HALL / "hall.yaml", HALL / "places.yaml", hall, picture=False)
        wanted = range(args.first, args.first + args.count)
        for robots in args.robots:
            numbers = [n for n in wanted if n % 3 + 2 == robots and n not in done]
            if not numbers:
                continue
            system = TrialSystem(
                str(hall), robots, real=args.real, speed_up=args.speed_up, scratch=Path(folder)
            )
            try:
                for number in numbers:
                    trial = system.run(number)
                    done[number] = asdict(trial)
                    with args.out.open("a") as file:
                        file.write(json.dumps(done[number]) + "\n")
                    word = "fulfilled" if trial.fulfilled else f"{trial.outcome} {trial.reason}"
                    print(f"{number}: {robots} robots, {trial.seconds:.0f} s, {word}", flush=True)
            finally:
                system.close()
    trials = [Trial(**done[number]) for number in sorted(done) if number in wanted]
    print(summary(trials, 2 * 0.22))


if __name__ == "__main__":
    main()
