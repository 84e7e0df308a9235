"""Missions of teams through the team's node, on robots with noise, judged on where they really are.

    python benchmarks/team_trials.py --count 100 --out runs/team_trials.jsonl [--speed-up 20]

Each mission has 2 to 4 robots, each of a speed of its own, in the hall: safety-gymnasium's Cars in
MuJoCo with noise, delays and losses as in docs/how-to/robots.md, each driven by the bridge's `Drive`, at
so many times the speed of life. The team's node is a process of its own and hears of cells over DDS, as
from bridges. In every second mission one robot is killed: nothing is heard of it any more, and it
stands; in every fourth it is one that no clause names, if there is one.

Judged at 20 Hz on the true poses: whether the mission is fulfilled, whether a robot is in a forbidden
place, and how close two robots come, which must not be closer than their radii. What is in the output
already is not run again: a run that was broken off goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from skm.action import ExecuteMission
from skm.msg import Action, Observation

import skm_sim.maps
from skm_bench.captured_process import CapturedProcess
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
from skm_ros.conversions import OUTCOMES, fill_observation
from skm_ros.graph import get_system
from skm_ros.processes import node_command, node_environment
from skm_sim.maps.building import Building
from skm_sim.registry import get_domain
from skm_sim.robots.drive import DriveConfig, Entered, drive_in
from skm_sim.robots.pose import Limits
from skm_sim.robots.simulated import Car, SensorModel, SimulatedRobot, chassis_of
from skm_sim.robots.walls import Pose, walls_of

HALL: Final = Path(skm_sim.maps.__file__).parent / "hall"
PERIOD: Final = 0.05
ALIVE: Final = 0.5
"""Simulated seconds between two signs of life of a robot that enters no state."""
MOST_SECONDS: Final = 900.0
"""Simulated seconds that a mission may take."""
MARGIN: Final = 0.1
CLAUSES: Final = (
    *["F {p}"] * 4, *["F({p} & X F {q})"] * 2, "F {r}.{p}", "F({r}.{p} & {s}.{q})",
    "!{r}.{p} U {s}.{q}", "G !({r}.{p} & {s}.{p})",
)  # fmt: skip


class Robot:
    """One Car with the bridge's driving, as the team's node sees it."""

    def __init__(self, number: int, client: RosClient) -> None:
        self.name = f"r{number + 1}"
        node = client.node
        self._publisher = node.create_publisher(Observation, f"/{self.name}/observation", qos.STATE)
        node.create_subscription(Action, f"/{self.name}/action", self._on_action, qos.COMMAND)
        self._shown = Observation(kind=Observation.DISCRETE, session=secrets.randbits(62) + 1)
        self._shown.period = PERIOD
        self.pose: Pose = (0.0, 0.0, 0.0)
        self.killed = False
        self.moves = False
        """Whether there is an action to the present state."""

    def put(self, building: Building, pose: Pose, speed: float, seed: int) -> None:
        """Begin a new episode somewhere."""
        drive = drive_in(
            building,
            chassis_of("car"),
            Limits(speed=speed, turn=3.0),
            DriveConfig(period=PERIOD, latency=0.02, horizon=0.0, exact=True),
        )
        car = Car(walls_of(building.occupancy), pose)
        self._drive, self.pose, self.killed = drive, pose, False
        self._rig = SimulatedRobot(car, drive, SensorModel(), seed, self._watch)
        self.moves, self._said_at = False, 0.0
        self._shown.episode += 1
        self._shown.step = 0
        entered: list[Entered] = []
        while not entered:
            entered = self._rig.period(PERIOD, go=False)
        self._show(entered[-1])

    def _watch(self, pose: Pose) -> None:
        self.pose = pose

    def _on_action(self, action: Action) -> None:
        shown = self._shown
        if self.killed or (action.session, action.episode) != (shown.session, shown.episode):
            return
        if action.kind == Action.STOP:
            self.moves = False
        elif action.step == shown.step:
            self._drive.take(action.discrete, self._rig.now)
            self.moves = True

    def advance(self) -> None:
        """Let a period pass."""
        if self.killed:
            self.moves = False
        for state in self._rig.period(PERIOD, go=self.moves):
            self._shown.step += 1
            self._show(state)
        if self._rig.now - self._said_at > ALIVE:
            self._say()

    def _show(self, state: Entered) -> None:
        fill_observation(self._shown, state.value)
        self.moves = False
        self._say()

    def _say(self) -> None:
        self._said_at = self._rig.now
        if not self.killed:
            self._publisher.publish(self._shown)


@dataclass
class Trial:
    """A mission that is drawn, and what came of it."""

    number: int
    robots: int
    mission: str
    killed: str = ""
    killed_at: float = 0.0
    outcome: str = ""
    reason: str = ""
    true_outcome: str = ""
    steps: int = 0
    seconds: float = 0.0
    """Simulated, from the first step on."""
    planning_seconds: float = 0.0
    """Real, until the first robot was sent on."""
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
        ended = bool(self.killed) and self.outcome == "failed"
        return ended and any(words in self.reason for words in said)


class TrialSystem:
    """The team's node, and robots that are simulated in this process."""

    def __init__(self, folder: str, robots: int, speed_up: float) -> None:
        self._stack = ExitStack()
        domain_id = self._stack.enter_context(private_domain_id())
        environment = {**node_environment(), **private_environment(domain_id)}
        given = {"domain": folder, "robots": str(robots), "robot": "none", "mission": "none"}
        (node,) = get_system("team").nodes(given)
        extra = ["-p", f"margin:={MARGIN}", "-p", "gone_after:=3.0", "-p", "stuck_after:=10.0"]
        self._process = CapturedProcess([*node_command(node), *extra], environment)
        self._client = self._stack.enter_context(RosClient(domain_id=domain_id))
        self.robots = [Robot(number, self._client) for number in range(robots)]
        spec = get_domain(folder)
        building, cells = building_of(spec), cells_of(load_primitives(spec))
        assert building is not None
        assert cells is not None
        self.building, self._speed_up = building, speed_up
        names = tuple(robot.name for robot in self.robots)
        self.team: Team = team_of(names, cells, building, margin=MARGIN, asynchronous=True)

    def close(self) -> None:
        """End the node."""
        self._process.stop()
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
            trial.killed_at = rng.uniform(2.0, 40.0)
        poses = [
            (float(centres[cell][0]), float(centres[cell][1]), rng.uniform(-math.pi, math.pi))
            for cell in cells
        ]
        return trial, poses, rng

    def run(self, number: int) -> Trial:
        """Run one mission."""
        trial, poses, rng = self.draw(number)
        for index, (robot, pose) in enumerate(zip(self.robots, poses, strict=True)):
            robot.put(self.building, pose, rng.uniform(0.25, 0.5), 1000 * number + index)
        mission = team_mission(trial.mission, self.team)
        tracker = MissionTracker(mission.machine, ())
        request = ExecuteMission.Goal(mission=trial.mission)
        goal = MissionGoal(self._client, request)
        self._wait(goal)
        goal.send(60.0)
        sent, simulated, began = time.monotonic(), 0.0, -1.0
        while not goal.done and simulated < MOST_SECONDS:
            if trial.killed and began >= 0 and simulated - began > trial.killed_at:
                self._robot(trial.killed).killed = True
            self._advance()
            simulated += PERIOD
            moving = any(robot.moves for robot in self.robots)
            if began < 0 and moving:
                began, trial.planning_seconds = simulated, time.monotonic() - sent
            self._judge(trial, tracker)
            # While the team is planned for, time is not made to pass faster than it does.
            self._client.spin_until(lambda: False, PERIOD / self._speed_up if moving else PERIOD)
            self._process.check_running()
        for _ in range(10):
            self._advance()
            self._judge(trial, tracker)
        trial.true_outcome = str(tracker.status.value)
        trial.seconds = simulated - max(0.0, began)
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

    def _wait(self, goal: MissionGoal) -> None:
        """Let the node hear of all robots."""
        until = time.monotonic() + 60
        heard: Callable[[], bool] = lambda: goal.machine_is_ready  # noqa: E731
        for _ in range(20):
            self._advance()
            self._client.spin_until(lambda: False, 0.02)
        while not heard() and time.monotonic() < until:
            self._advance()
            self._client.spin_until(heard, 0.05)

    def _robot(self, name: str) -> Robot:
        return next(robot for robot in self.robots if robot.name == name)

    def _advance(self) -> None:
        for robot in self.robots:
            robot.advance()

    def _judge(self, trial: Trial, tracker: MissionTracker) -> None:
        """Look at where the robots really are."""
        places, forbidden = self.building.places, set(self.building.file.constraints)
        shown: set[str] = set()
        for robot in self.robots:
            labels = places.labels_at(*robot.pose[:2])
            trial.forbidden += bool(labels & forbidden)
            shown |= labels | {f"{robot.name}.{name}" for name in labels}
        if tracker.status is Status.RUNNING:
            tracker.update(frozenset(shown))
        for one, other in combinations(self.robots, 2):
            trial.closest = min(trial.closest, math.dist(one.pose[:2], other.pose[:2]))


def summary(trials: Sequence[Trial], diameter: float) -> str:
    """Return what came of trials, in a few lines."""
    lines = []
    for name, some in (
        ("all robots well", [t for t in trials if not t.killed]),
        ("one robot killed", [t for t in trials if t.killed]),
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
    parser.add_argument("--speed-up", type=float, default=20.0)
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
        for robots in (2, 3, 4):
            numbers = [n for n in wanted if n % 3 + 2 == robots and n not in done]
            if not numbers:
                continue
            system = TrialSystem(str(hall), robots, args.speed_up)
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
