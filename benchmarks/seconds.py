"""Do the nodes judge seconds by the clock? Missions on a robot and on a simulator in real time.

    python benchmarks/seconds.py                   # 100 missions, about 15 minutes
    python benchmarks/seconds.py --robot 4 --simulator 4

Every mission is recorded. Its outcome is compared with the definition of the formula over the stamps of
the recorded labels (`skm_primitives.recording.by_definition`), and with `skm verify`. Exits with 1 if a
single one differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np

import skm_sim.maps
from skm_bench.processes import BenchSystem, RobotSystem
from skm_bench.seconds import SecondsBench, TimedResult, arena_missions, robot_missions
from skm_machine import compile_mission
from skm_primitives import load_primitives
from skm_primitives.planning.map_domains import make_map_domain
from skm_primitives.planning.policies import ProductPolicy
from skm_sim import get_domain
from skm_sim.finite_world import FiniteWorld
from skm_sim.maps.spec import load_building

HALL = Path(skm_sim.maps.__file__).parent / "hall"
START = "-3.9 0.2 0.0"
RATE = 20.0
PACE = 0.4
"""Metres per second of the robot."""


class Ways:
    """How long the way to each place of a map is expected to take."""

    def __init__(self, folder: Path) -> None:
        spec = get_domain(str(folder))
        self._floor = load_building(folder).floor
        skills = load_primitives(spec)
        assert isinstance(skills.world_model, FiniteWorld)
        self._policies = {
            name: ProductPolicy(
                compile_mission(f"F {name}", propositions=spec.propositions),
                skills,
                skills.world_model,
            )
            for name in spec.propositions
            if name not in spec.constraints
        }

    def seconds(self, system: RobotSystem) -> dict[str, float]:
        """Return the seconds to each place from where the robot is."""
        assert system.pose is not None
        cell = self._floor.nearest_cell(*system.pose[:2])[0]
        found = {}
        for name, policy in self._policies.items():
            actions = [action for _, _, action in policy.way_from(cell)]
            metres = float(np.sum(self._floor.step_lengths[actions]))
            found[name] = metres / PACE
        return found


def on_robot(count: int, rng: random.Random) -> list[TimedResult]:
    """Run missions on the robot of the example map."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "hall"
        make_map_domain(HALL / "hall.yaml", HALL / "places.yaml", folder, picture=False)
        ways = Ways(folder)
        with RobotSystem(str(folder), RATE, parameters={"car": {"start": START}}) as system:
            system.until(lambda: system.pose is not None, 60, "a robot")
            missions = robot_missions(rng, lambda: ways.seconds(system))
            with SecondsBench(system) as bench:
                return [row_of(bench.run(mission), "robot") for mission in islice(missions, count)]


def on_simulator(count: int, rng: random.Random, domain: str) -> list[TimedResult]:
    """Run missions on a simulator in real time."""
    with BenchSystem(domain, RATE, 0) as system, SecondsBench(system) as bench:
        missions = arena_missions(rng, tuple(get_domain(domain).propositions))
        return [row_of(bench.run(mission), domain) for mission in islice(missions, count)]


def row_of(result: TimedResult, where: str) -> TimedResult:
    """Print a line."""
    mission, found = result.mission, result.comparison
    right = "–" if found is None else f"{found.right} at {found.seconds:.2f} s"
    mark = "agrees " if result.agrees else "DIFFERS"
    print(f"{mark} {where:7} {mission.text:52} {result.outcome:12} definition: {right}", flush=True)
    if not result.agrees:
        print(f"        {result.reason}; verify: {result.verified}; {found}", flush=True)
    return result


def main() -> int:
    """Run them all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--robot", type=int, default=50, help="missions on the robot")
    parser.add_argument("--simulator", type=int, default=50, help="missions on the simulator")
    parser.add_argument("--domain", default="safety", help="of the simulator")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng, began = random.Random(args.seed), time.monotonic()
    results = on_robot(args.robot, rng) if args.robot else []
    results += on_simulator(args.simulator, rng, args.domain) if args.simulator else []
    agreed = sum(result.agrees for result in results)
    failed = sum(result.outcome == "failed" for result in results)
    meant = sum(result.outcome == result.mission.meant for result in results)
    print(
        f"{agreed} of {len(results)} agree with the recorded stamps; {failed} failed,"
        f" {meant} came out as they were meant; {time.monotonic() - began:.0f} s"
    )
    return 0 if agreed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
