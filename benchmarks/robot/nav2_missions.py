#!/usr/bin/env python3
"""Missions on a map with `drive:=nav2`, against the Nav2 double's model by a fast clock.

Everything of the bridge and of the machine but messages runs: legs, goals, retries, other ways, the end
with a reason. A part of the goals is rejected, aborts, hangs or lies. Each mission is judged on the true
pose.

    skm map --example --out hall
    python benchmarks/robot/nav2_missions.py --domain hall --missions 250 --seed 1 --out hall.jsonl
    skm map MAPS/depot.yaml --places benchmarks/robot/depot.places.yaml --out depot      # and so on
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test"))

import numpy as np

from doubles.nav2_model import Fault, Faults, Grid, Nav2Model, Parameters, Status
from doubles.nav2_model import Goal as StackGoal
from doubles.nav2_model import Pose as StackPose
from skm_machine.errors import UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.tracker import Status as TrackerStatus
from skm_primitives.evaluation.robot_trials import TrueJudge, draw_trials
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.replanning import plan_from, way_ahead, without_cells
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import RemoteSkills
from skm_sim.maps.building import Building
from skm_sim.maps.spec import load_building
from skm_sim.registry import get_domain
from skm_sim.robots.blockages import Blockages
from skm_sim.robots.drive import DriveConfig, GoalDrive
from skm_sim.robots.legs import Leg, LegPlanner, Route
from skm_sim.robots.navigation import Navigation, Result
from skm_sim.robots.path_follower import Chassis, Point
from skm_sim.robots.pose import REST, Limits
from skm_sim.robots.walls import Pose

PERIOD = 0.2
MOST_SECONDS = 3600.0
STUCK_SECONDS = 60.0
MOST_RECOVERING = 5.0
MOST_REPLANNED = 5
KINDS = ("reject", "abort", "hang", "lie_success")


class ModelStack:
    """The double's model as a navigation stack: answers and results are looked for once a period."""

    goes_through = True

    def __init__(self, model: Nav2Model, *, keeps_out: bool) -> None:
        self.model, self.keeps_out, self.grid = model, keeps_out, model.world.grid
        self.navigation: Navigation | None = None
        self._goals: dict[int, StackGoal] = {}
        self._answered: set[int] = set()

    def send(self, number: int, poses: Sequence[Pose]) -> bool:
        """Send a goal."""
        given = [StackPose(*pose) for pose in poses]
        self._goals[number] = self.model.send_goal(given if len(given) > 1 else given[0])
        return True

    def forbid(self, route: Route, avoid: Collection[frozenset[str]], place: Point) -> None:
        """Give the model a keep-out mask."""
        if self.keeps_out:
            assert self.navigation is not None
            mask = self.navigation.planner.mask(route, avoid, place)
            grid = self.grid
            self.model.set_keepout(Grid(mask, grid.resolution, grid.origin_x, grid.origin_y))

    def cancel(self, number: int) -> None:
        """Take a goal back."""
        if goal := self._goals.pop(number, None):
            self.model.cancel(goal)

    def look(self, now: float) -> None:
        """Tell the supervisor what has become of its goals."""
        assert self.navigation is not None
        for number, goal in list(self._goals.items()):
            if number not in self._answered:
                self._answered.add(number)
                self.navigation.on_answer(number, goal.accepted, now)
            if goal.feedback is not None:
                distance = goal.feedback.distance_remaining
                recoveries = goal.feedback.number_of_recoveries
                self.navigation.on_feedback(number, distance, recoveries, now)
            if goal.done and goal.accepted and number in self._goals:
                del self._goals[number]
                succeeded = goal.status == Status.SUCCEEDED
                code = 0 if goal.result is None else goal.result.error_code
                result = Result(succeeded, f"status {goal.status}, error {code}")
                self.navigation.on_result(number, result, now)
            elif not goal.accepted:
                self._goals.pop(number, None)


def as_remote(primitives: object) -> RemoteSkills:
    """Return what a machine knows of primitives that are served elsewhere."""
    fields = ("domain", "propositions", "constraints", "goals", "world_model", "gamma")
    known = {name: getattr(primitives, name) for name in fields}
    spaces = {"observation_space": None, "action_space": getattr(primitives, "action_space")}  # noqa: B009
    return RemoteSkills(checkpoint="", digest="", **known, **spaces)


def run_mission(  # noqa: PLR0912, PLR0915 - one loop, as the nodes have it
    mission: Mission,
    skills: RemoteSkills,
    building: Building,
    cell: int,
    faults: Faults,
    values: Callable[..., Any],
    *,
    keeps_out: bool,
) -> tuple[str, str, str, dict[str, int], float]:
    """Run one mission; return outcome, reason, outcome by the true pose, counts and seconds."""
    x, y = building.floor.centres[cell].tolist()
    random = np.random.default_rng(faults.seed)
    start = StackPose(x, y, float(random.uniform(-3, 3)))
    occupancy = building.occupancy
    grid = Grid(
        np.where(occupancy.free, 0, 100).astype(np.int8),
        occupancy.resolution,
        occupancy.frame.x,
        occupancy.frame.y,
    )
    parameters = Parameters(robot_radius=building.file.robot_radius)
    model = Nav2Model(grid, start, parameters, faults=faults)
    stack = ModelStack(model, keeps_out=keeps_out)
    blockages = Blockages(building.floor, 0.27, 60.0)
    stack.navigation = navigation = Navigation(
        stack, LegPlanner(building, 0.25), building.floor, blockages
    )
    drive = GoalDrive(building, Chassis(), Limits(), DriveConfig(PERIOD, filter_gain=1.0), None)
    judge = TrueJudge(mission, building.places, building.file.constraints, (x, y, 0.0))
    run: MissionRun | None = None
    said: tuple[int, int] = (-1, -1)
    ahead: frozenset[int] = frozenset()
    got_on, tried, recoveries, replanned, outcome, reason = 0.0, 0.0, 0, 0, "", ""
    while not outcome and model.time < MOST_SECONDS:
        for _ in range(round(PERIOD / 0.05)):
            model.step(0.05)
            true = model.robot.true_pose
            judge.watch((true.x, true.y, true.yaw))
        pose, now = model.estimate(), model.time
        if pose is None:
            continue
        drive.read((pose.x, pose.y, pose.yaw), REST, now)
        stack.look(now)
        for state in drive.states(now, resting=False):
            got_on = now
            if run is None:
                try:
                    plan = plan_from(
                        mission,
                        skills,
                        "product",
                        mission.machine.initial,
                        state.value,
                        shield=False,
                    )
                except UnachievableMissionError as error:
                    return "rejected", str(error), "running", navigation.counts, now
                run = MissionRun(plan.policy, skills, 100_000)
                run.begin(state.value, state.labels, 0)
            elif not run.over:
                run.enter(state.value, state.labels, round(now * 1e9))
        if run is None:
            continue
        if run.tracker.status is not TrackerStatus.RUNNING:
            outcome = str(run.tracker.status.value)
            break
        if navigation.failure:
            replanned += 1
            free = without_cells(skills, blockages.cells(now))
            try:
                plan = plan_from(
                    mission, free, "product", run.tracker.state, drive.cell, shield=False
                )
            except UnachievableMissionError:
                outcome, reason = "no progress", navigation.failure
                break
            if replanned > MOST_REPLANNED:
                outcome, reason = "no progress", navigation.failure
                break
            run.replan(plan.policy, None, drive.cell)
            said = (-1, -1)
        decision = run.decide(values(drive.cell, run.history))
        drive.take(decision.action, now)
        key = id(run.policy), run.tracker.state
        if key != said or drive.cell not in ahead:
            way = way_ahead(run, drive.cell)
            drive.sure.avoid = frozenset() if way is None else frozenset(way.avoid)
            said, ahead = key, frozenset(() if way is None else way.cells)
            if way is None or len(set(way.cells)) < 2:
                navigation.halt()
            else:
                navigation.take(Leg(way.cells, frozenset(way.avoid)))
        navigation.drive(drive.tracker.at(now), now)
        if navigation.all_recoveries > recoveries or got_on > tried:
            tried = now
        recoveries = navigation.all_recoveries
        if now - tried > STUCK_SECONDS or now - got_on > MOST_RECOVERING * STUCK_SECONDS:
            outcome, reason = (
                "no progress",
                f"no new state for {now - got_on:.0f} s: {navigation.trouble}",
            )
    navigation.halt()
    for _ in range(40):  # until it stands: that counts, too
        model.step(0.05)
        true = model.robot.true_pose
        judge.watch((true.x, true.y, true.yaw))
    return (
        outcome or "running",
        reason,
        str(judge.tracker.status.value),
        navigation.counts,
        model.time,
    )


def read_rows(path: Path | None) -> dict[int, dict[str, Any]]:
    """Return the missions that were run before, by number."""
    if path is None or not path.is_file():
        return {}
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {row["number"]: row for row in rows}


def main() -> int:
    """Run missions and print figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--domain", required=True, help="folder of skm map")
    parser.add_argument("--missions", type=int, default=100)
    parser.add_argument("--faults", type=float, default=0.2, help="part of goals with a fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON lines, a mission each; goes on after them")
    parser.add_argument("--no-mask", action="store_true", help="Nav2 has no keep-out filter")
    args = parser.parse_args()
    spec, building = get_domain(args.domain), load_building(Path(args.domain))
    primitives = load_primitives(spec)
    skills = as_remote(primitives)
    trials = draw_trials(spec, primitives, max(1, args.missions // 5), 5, args.seed)
    cases = [(mission, int(cell)) for mission, _, cells in trials for cell in cells][
        : args.missions
    ]
    done = read_rows(args.out)
    began = time.process_time()
    for number, (mission, cell) in enumerate(cases):
        if number in done:
            continue
        share = Fault(args.faults / len(KINDS))
        faults = Faults(seed=args.seed * 100_000 + number, **dict.fromkeys(KINDS, share))
        outcome, reason, truth, counts, seconds = run_mission(
            mission, skills, building, cell, faults, primitives.values, keeps_out=not args.no_mask
        )
        row = {
            "number": number,
            "mission": mission.text,
            "cell": cell,
            "outcome": outcome,
            "truth": truth,
            "reason": reason,
            "goals": counts,
            "seconds": round(seconds, 1),
        }
        done[number] = row
        if args.out is not None:
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        if outcome != truth:
            print(f"{number} {mission.text} from {cell}: {outcome} ({truth}) {reason}", flush=True)
    rows = list(done.values())
    goals = Counter[str]()
    for row in rows:
        goals.update(row["goals"])
    outcomes = dict(Counter(row["outcome"] for row in rows))
    touched = sum(row["truth"] == "failed" for row in rows)
    print(f"missions {len(rows)}: {outcomes}; forbidden touched in truth {touched}")
    disagree = sum((row["outcome"], row["truth"]) == ("accepted", "running") for row in rows)
    silent = sum(row["outcome"] not in ("accepted", "failed") and not row["reason"] for row in rows)
    print(f"accepted by labels, not by the true pose {disagree}; ended without a reason {silent}")
    print(f"goals: {dict(goals)}; {sum(row['seconds'] for row in rows) / 3600:.1f} h simulated")
    print(f"{time.process_time() - began:.0f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
