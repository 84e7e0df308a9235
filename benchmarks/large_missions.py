"""Measure plans of missions in parts: against the exact product, and with many places on a large map.

    python benchmarks/large_missions.py random --count 500 [--first 120] [--maps A.yaml B.yaml]
    python benchmarks/large_missions.py places --count 50 --seconds 10 --long 600
    python benchmarks/large_missions.py nodes --count 20

`random` draws conjunctions of 3 to 12 clauses on three maps (of map_server; those that are not given are
the hall, with other places and cells) and compares each plan with the shortest way in machine × cells,
where that product fits; each mission has its own seed, so that a run that was broken off goes on with
`--first`. `places` visits many places on the hall in cells of 0.1 m (about 11,000), and
compares a plan with the best that a long search finds. `nodes` runs twelve stations and back through
the nodes, in lock-step, in turn with three stations, which are one machine: how long it takes from the
goal's being sent to the first action, and how long a step takes.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np

import skm_sim.maps
from skm_machine import SkmError, compile_mission, holds, parse
from skm_machine.errors import UnachievableMissionError
from skm_machine.factored import in_parts
from skm_primitives.planning.large_missions import LargeMissionPlanner, NoPlanFoundError
from skm_primitives.planning.place_graph import Cells
from skm_primitives.planning.product import mission_product
from skm_primitives.planning.solvers import Lengths
from skm_sim.finite_world import FiniteWorld
from skm_sim.maps.building import Building, make_building
from skm_sim.maps.occupancy import read_map
from skm_sim.maps.places import Circle, Places, PlacesFile

if TYPE_CHECKING:
    from skm_ros.client.mission_goal import MissionGoal
    from skm_ros.client.ros_client import RosClient

HALL = Path(skm_sim.maps.__file__).parent / "hall" / "hall.yaml"
CLAUSES = (
    "F {a}",
    "F {a}",
    "F({a} & X F {b})",
    "!{a} U {b}",
    "!{a} W {b}",
    "G({a} -> F {b})",
    "F({a} | {b})",
    "G !{c}",
    "F({a} & X F {a})",
    "F({a} & X(!{c} U {b}))",
    "F[0,120] {a}",
    "G({a} -> X G !{a})",
)
MOST_STATES = 600
"""Of a machine whose product with the cells is solved for comparison."""


def random_building(
    rng: Random, count: int, cell: float, radius: float, size: tuple[float, ...], map_file: Path
) -> Building:
    """Return a map with places drawn at random, where a robot can be."""
    occupancy = read_map(map_file)
    row, column = np.nonzero(occupancy.free)
    inner = (np.stack([column, row], axis=1) + 0.5) * occupancy.resolution
    free = occupancy.frame.to_frame(inner).tolist()
    shapes = {}
    for i in range(count):
        x, y = rng.choice(free)
        shapes[f"p{i}"] = (Circle(x, y, rng.choice(size)),)
    file = PlacesFile(Places(shapes), cell=cell, robot_radius=radius, neighbours=8)
    return make_building(map_file, file)


def cells_of_building(building: Building) -> Cells:
    """Return a building as the planner takes it."""
    names = np.array(building.places.names)
    labels = tuple(frozenset(names[row].tolist()) for row in building.labels)
    return Cells(building.floor.moves, labels)


@dataclass
class Tally:
    """What came of random conjunctions."""

    missions: int = 0
    compared: int = 0
    worst: float = 1.0
    worse: int = 0
    impossible: int = 0
    wrong: int = 0
    unproved: int = 0
    refused: int = 0

    def __str__(self) -> str:
        return (
            f"{self.missions} missions: {self.compared} compared with the product, worst ratio"
            f" {self.worst:.3f}, {self.worse} above 1.02; {self.impossible} impossible,"
            f" {self.wrong} of them wrongly; {self.unproved} not found though there is a plan;"
            f" {self.refused} plans that do not satisfy the formula"
        )


def random_conjunctions(first: int, count: int, seconds: float, files: list[Path]) -> None:
    """Compare plans with the exact product."""
    rng = Random(29)
    files = [*files, *[HALL] * 3][:3]
    maps = [
        random_building(rng, 10, 0.25, 0.22, (0.3,), files[0]),
        random_building(rng, 10, 0.5, 0.15, (0.3, 0.6, 1.2), files[1]),
        random_building(rng, 12, 0.4, 0.2, (0.5, 0.9), files[2]),
    ]
    tally = Tally()
    for number in range(first, count):
        rng = Random(f"conjunction {number}")
        building = maps[number % 3]
        cells = cells_of_building(building)
        names = [name for name in building.places.names if name not in building.unreachable]
        clauses = []
        for _ in range(rng.randint(3, 12)):
            a, b, c = rng.sample(names, 3)
            clauses.append(f"({rng.choice(CLAUSES).format(a=a, b=b, c=c)})")
        compare(" & ".join(clauses), cells, rng.randrange(len(cells.labels)), seconds, tally)
        if (number + 1) % 25 == 0:
            print(tally, flush=True)
    print(tally)


def compare(text: str, cells: Cells, start: int, seconds: float, tally: Tally) -> None:
    """Plan one mission, and compare the plan with the exact product, where that fits."""
    tally.missions += 1
    exact = exact_steps(text, cells, start)
    possible = exact is not None and np.isfinite(exact)
    try:
        plan = LargeMissionPlanner(in_parts(parse(text)), cells).plan(start, seconds=seconds)
    except NoPlanFoundError:
        tally.unproved += possible
        if possible:
            print(f"no plan found, though {exact:.0f} steps do: {text} from {start}", flush=True)
        return
    except UnachievableMissionError:
        tally.impossible += 1
        tally.wrong += possible
        if possible:
            print("wrong 'impossible':", text, start, flush=True)
        return
    tally.refused += not holds(parse(text), [cells.labels[cell] for cell in plan.cells])
    if exact is not None:
        tally.compared += 1
        ratio = plan.steps / exact
        tally.worst = max(tally.worst, ratio)
        if ratio > 1.02:
            tally.worse += 1
            print(f"{plan.steps} steps instead of {exact:.0f}: {text} from {start}", flush=True)


def exact_steps(text: str, cells: Cells, start: int) -> float | None:
    """Return the fewest steps, by machine × cells; None where that is too large."""
    try:
        machine = compile_mission(
            text, horizon="finite", max_states=20_000, max_seconds=2.0
        ).machine
    except SkmError:
        return None
    if machine.num_states > MOST_STATES:
        return None
    if not machine.satisfiable:
        return np.inf
    sets = tuple(dict.fromkeys(cells.labels))
    ids = np.array([sets.index(labels) for labels in cells.labels])
    product = mission_product(machine, FiniteWorld(cells.successors, sets, ids))
    return float(Lengths(product, 0.99).being[product.reading(machine.initial, start, 0)] + 1)


def many_places(count: int, seconds: float, long: float) -> None:
    """Visit many places on a large map, with little and with much time."""
    building = random_building(Random(50), count, 0.1, 0.15, (0.3,), HALL)
    cells = cells_of_building(building)
    names = [name for name in building.places.names if name not in building.unreachable]
    machine = in_parts(parse(" & ".join(f"F {name}" for name in names)))
    for given in (seconds, long):
        plan = LargeMissionPlanner(machine, cells).plan(0, seconds=given)
        print(
            f"{len(names)} places on {len(cells.labels)} cells, {given:g} s: {plan}; the first"
            f" after {plan.first_seconds:.1f} s"
        )


STATIONS = (
    (-7, -4), (-5, -3), (-2, -3), (0, -4), (2, -3), (5, -2),
    (6, 2), (4, 3), (1, 3), (-1, 2), (-5, 3), (-7, 2),
)  # fmt: skip
ROUNDS = {
    "twelve stations and back": " & ".join(f"F(s{i} & X F s0)" for i in range(1, 12)),
    "three stations and back": " & ".join(f"F(s{i} & X F s0)" for i in (1, 4, 7)),
}


def through_nodes(count: int) -> None:
    """Run missions through the nodes; ROS is imported here only."""
    from skm.action import ExecuteMission  # noqa: PLC0415
    from skm.msg import Action  # noqa: PLC0415

    from skm_bench.captured_process import CapturedProcess  # noqa: PLC0415
    from skm_primitives.planning.map_domains import make_map_domain  # noqa: PLC0415
    from skm_ros import qos  # noqa: PLC0415
    from skm_ros.client.mission_goal import MissionGoal  # noqa: PLC0415
    from skm_ros.client.private_domain import (  # noqa: PLC0415
        private_domain_id,
        private_environment,
    )
    from skm_ros.client.ros_client import RosClient  # noqa: PLC0415

    first: list[float] = []
    seen: dict[str, list[tuple[float, float, int]]] = {name: [] for name in ROUNDS}
    with (
        tempfile.TemporaryDirectory() as folder,
        private_domain_id() as domain_id,
        RosClient(domain_id=domain_id) as client,
    ):
        places = [f"  s{i}: [{{circle: [{x}, {y}, 0.4]}}]" for i, (x, y) in enumerate(STATIONS)]
        file = Path(folder) / "places.yaml"
        file.write_text("\n".join(["places:", *places, "cell: 0.25", "neighbours: 8"]))
        make_map_domain(HALL, file, Path(folder) / "stations", picture=False)
        up = [sys.executable, "-m", "skm_cli.main", "up", "demo", "--domain", f"{folder}/stations"]
        quiet = ["--mission", "none", "--render", "none", "--mode", "lockstep"]
        process = CapturedProcess([*up, *quiet], private_environment(domain_id))
        client.node.create_subscription(
            Action, "action", lambda action: _note(first, action.kind), qos.COMMAND
        )
        try:
            for number in range(2 * (count + 1)):
                name = list(ROUNDS)[number % 2]
                request = ExecuteMission.Goal(mission=ROUNDS[name], reset=True, seed=number)
                goal = MissionGoal(client, request)
                goal.wait_ready(180.0)
                first.clear()
                sent = time.monotonic()
                goal.send(60.0)
                _wait_for_end(client, goal)
                result = goal.result
                goal.close()
                if result.outcome != result.ACCEPTED:
                    raise SystemExit(f"{name}: {result.reason}")
                if number >= 2:  # the first of each warms up
                    row = first[0] - sent, 1000 * result.seconds / result.steps, result.steps
                    seen[name].append(row)
        finally:
            process.stop()
    for name, rows in seen.items():
        waits, steps, lengths = np.array(rows).T
        print(
            f"{name}: {len(rows)} runs of {lengths.mean():.0f} steps; first action after"
            f" {np.median(waits):.2f} s (worst {waits.max():.2f}); a step takes"
            f" {np.median(steps):.2f} ms (fastest run {steps.min():.2f})"
        )


def _wait_for_end(client: "RosClient", goal: "MissionGoal") -> None:
    client.spin_until(lambda: goal.done, 120.0)


def _note(first: list[float], kind: int) -> None:
    if kind == 1:  # a discrete action, not a stop
        first.append(time.monotonic())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("random", "places", "nodes"))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first of the random missions")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--long", type=float, default=600.0)
    parser.add_argument("--maps", type=Path, nargs="+", default=[], help="up to three")
    args = parser.parse_args()
    if args.what == "random":
        random_conjunctions(args.first, args.count, args.seconds, args.maps)
    elif args.what == "nodes":
        through_nodes(args.count)
    else:
        many_places(args.count, args.seconds, args.long)
