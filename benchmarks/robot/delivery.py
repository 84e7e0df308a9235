#!/usr/bin/env python3
"""Deliveries by a robot with an arm: servers that fail every third time, a battery, a door that closes.

Everything of the bridge and of the machine but messages runs, by a fast clock: the drive by velocities
on an exact unicycle, declared actions with attempts and checks, events, the product planner. The door
closes by itself at random times, but not on a robot that is in the office; the battery gets low once,
until the robot was in the dock. Each run is judged by the true pose, gripper and door.

    python benchmarks/robot/delivery.py --runs 100 --seed 1
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from skm_machine.mission import compile_mission
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.replanning import plan_from, without_actions
from skm_primitives.planning.map_domains import make_map_domain
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import RemoteSkills
from skm_sim.maps.actions import ActionSpec
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES, load_building
from skm_sim.registry import get_domain
from skm_sim.robots.action_skills import ActionSkills, SkilledDrive
from skm_sim.robots.drive import DriveConfig, drive_in
from skm_sim.robots.path_follower import Chassis
from skm_sim.robots.pose import Limits, Velocity

ACTIONS = Path(__file__).resolve().parents[2] / "examples" / "delivery" / "delivery.yaml"
DELIVERY = "F(kitchen & X F(holding_cup & X F(office & !holding_cup)))"
MISSION = f"{DELIVERY} & G(office -> door_open) & G !wet_floor & G(low_battery -> F dock)"
SERVERS = ("pick", "place", "open_door")
PERIOD = 0.05
MOST_SECONDS = 900.0


class Arm:
    """The servers, the gripper and the door: each third goal of each server aborts, some take long."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        # Each server has served others before: the third goal is this robot's first, second or third.
        self._tried = Counter({name: int(random.integers(3)) for name in SERVERS})
        self._under_way: tuple[int, ActionSpec, float, bool] | None = None
        self.holding_cup = self.door_open = False
        self.skills: ActionSkills | None = None
        self.now = 0.0

    def send(self, number: int, spec: ActionSpec) -> bool:
        """Take a goal."""
        self._tried[spec.name] += 1
        fails = self._tried[spec.name] % 3 == 0
        self._under_way = number, spec, self.now + float(self._random.uniform(0.5, 8.0)), fails
        assert self.skills is not None
        self.skills.on_answer(number, True, self.now)
        return True

    def cancel(self, number: int) -> None:
        """Break a goal off: nothing of it is done."""
        if self._under_way is not None and self._under_way[0] == number:
            self._under_way = None

    def step(self, now: float, *, in_office: bool) -> None:
        """Let time pass."""
        self.now = now
        assert self.skills is not None
        if not in_office and self._random.random() < PERIOD / 20:
            self.door_open = False
        if self._under_way is not None and now >= self._under_way[2]:
            number, spec, _, fails = self._under_way
            self._under_way = None
            if not fails:
                self.holding_cup = {"pick": True, "place": False}.get(spec.name, self.holding_cup)
                self.door_open = self.door_open or spec.name == "open_door"
            self._show()
            self.skills.on_result(number, "it was aborted" if fails else "", now)
        self._show()

    def _show(self) -> None:
        assert self.skills is not None
        self.skills.sense("holding_cup", self.holding_cup)
        self.skills.sense("door_open", self.door_open)


def deliver(  # noqa: PLR0915 - one loop, as the nodes have it
    folder: Path, seed: int
) -> tuple[str, str, float, dict[str, int]]:
    """Run one delivery; return outcome, outcome in truth, seconds and counts."""
    random = np.random.default_rng(seed)
    building, primitives = load_building(folder), load_primitives(get_domain(str(folder)))
    fields = ("domain", "digest", "propositions", "constraints", "goals", "world_model", "gamma")
    known = {name: getattr(primitives, name) for name in fields}
    space = primitives.action_space
    skills = RemoteSkills(checkpoint="", **known, observation_space=space, action_space=space)
    names = skills.propositions
    mission = compile_mission(MISSION, propositions=names, events=["low_battery"])
    arm = Arm(random)
    acting = ActionSkills(building.actions, arm, building.facts)
    arm.skills = acting
    inner = drive_in(building, Chassis(), Limits(), DriveConfig(PERIOD))
    cells, moves = building.floor.moves.shape
    drive = SkilledDrive(inner, acting, cells, moves)
    shut = [building.places.names.index(name) for name in ("office", "wet_floor")]
    free = np.flatnonzero(~building.labels[:, shut].any(axis=1))
    x, y = building.floor.centres[int(random.choice(free))].tolist()
    heading, moving = float(random.uniform(-3, 3)), Velocity(0.0, 0.0)
    low_at, low, delivered, docked = float(random.uniform(10, 60)), False, False, True
    run: MissionRun | None = None
    judge = MissionTracker(mission.machine, skills.constraints, mission.clocks)
    truth: frozenset[str] | None = None
    given_up: tuple[int, ...] = ()
    carried, undecided, present, action = False, True, 0, 0
    for tick in range(int(MOST_SECONDS / PERIOD)):
        now = tick * PERIOD
        there = building.places.labels_at(x, y)
        arm.step(now, in_office="office" in there)
        if now >= low_at and not low and docked:
            low, docked, low_at = True, False, math.inf
        if low and "dock" in there:
            low, docked = False, True
        held = {"holding_cup"} if arm.holding_cup else set()
        held |= {"door_open"} if arm.door_open else set()
        true = frozenset({*there, *held, *({"low_battery"} if low else set())})
        if true != truth:
            (judge.start if truth is None else judge.update)(true)
            truth = true
        carried = carried or arm.holding_cup
        delivered = delivered or (carried and not arm.holding_cup and "office" in there)
        drive.read((x, y, heading), moving, now)
        for state in drive.states(now, resting=False):
            shown = state.labels | ({"low_battery"} if low else frozenset())
            if run is None:
                plan = plan_from(
                    mission, skills, "product", mission.machine.initial, state.value, shield=False
                )
                run = MissionRun(plan.policy, skills, 100_000)
                run.begin(state.value, shown, 0)
            elif not run.over:
                run.enter(state.value, shown, round(now * 1e9))
            present, undecided = state.value, True
        assert run is not None
        if run.tracker.status is Status.FAILED or judge.status is Status.FAILED:
            return str(run.tracker.status.value), str(judge.status.value), now, acting.counts
        if delivered and docked and not math.isfinite(low_at):
            return "fulfilled", str(judge.status.value), now, acting.counts
        if acting.given_up(now) != given_up:
            given_up = acting.given_up(now)
            open_ = without_actions(skills, [moves + index for index in given_up])
            plan = plan_from(mission, open_, "product", run.tracker.state, present, shield=False)
            run.replan(plan.policy, None, present)
            undecided = True
        if undecided:
            undecided = False
            action = run.decide(primitives.values(present, run.history)).action
        drive.take(action, now)
        acting.step(now, go=True, stopped=False, stands=drive.stands)
        moving = drive.velocity(now)
        heading += moving.turn * PERIOD
        x += moving.speed * PERIOD * math.cos(heading)
        y += moving.speed * PERIOD * math.sin(heading)
    return "running", str(judge.status.value), MOST_SECONDS, acting.counts


def main() -> int:
    """Run deliveries and print figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    outcomes, counts, seconds = Counter[tuple[str, str]](), Counter[str](), list[float]()
    began = time.process_time()
    with tempfile.TemporaryDirectory() as there:
        folder = Path(there) / "cafe"
        make_map_domain(EXAMPLE_MAP, EXAMPLE_PLACES, folder, actions=ACTIONS, picture=False)
        for number in range(args.runs):
            outcome, truth, took, done = deliver(folder, args.seed * 100_000 + number)
            outcomes[outcome, truth] += 1
            counts.update(done)
            seconds.append(took)
            if outcome != "fulfilled" or number % 10 == 9:
                print(f"{number}: {outcome} ({truth}) after {took:.0f} s {done}", flush=True)
    for (outcome, truth), times in outcomes.items():
        print(f"{times} of {args.runs}: {outcome}, in truth {truth}")
    print(f"{dict(counts)}; {np.median(seconds):.0f} s simulated (median), {max(seconds):.0f} most")
    print(f"{time.process_time() - began:.0f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
