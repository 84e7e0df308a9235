"""Plans for the missions of `test/data`, against the lengths that are known for them.

    python benchmarks/plan_oracles.py [--seconds 10] [--only hall-visits]

`large_missions.jsonl` has missions for one robot in the hall, `teams.jsonl` missions for two to four, on
small grids and in the hall. They were made by others than these planners: by searches over all joint
states, by dynamic programming or by a long search, as each line says. One row is printed for each, and
the exit code is 1 if one misses what is asked of it:

    one robot       as short as the optimum where that is known, else at most 1.02 times the best known;
                    the first plan within 2 s of CPU time (with the translation of the mission), the
                    best within 10 s of search
    small grids     as short as the optimum
    the hall        visits at most 1.05 times the best known; all at most 1.1 times what the same robots
                    would take if they passed through each other
    all             the formula holds at the last step and at no earlier one; every move is one of the
                    map's, and no two robots meet, swap cells or come closer than their radii

The missions with orders and meetings have a best known length, too, but it was found without regard for
collisions: it is printed, and nothing is asked. Takes about 4 minutes of CPU time.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from large_missions import HALL, cells_of_building
from skm_machine import holds, parse
from skm_machine.factored import in_parts
from skm_primitives.execution.team_run import team_of
from skm_primitives.planning.large_missions import LargeMissionPlanner
from skm_primitives.planning.place_graph import Cells
from skm_primitives.planning.teams import Team, TeamPlanner
from skm_sim.maps.building import Building, make_building
from skm_sim.maps.places import Circle, Places, PlacesFile

DATA = Path(__file__).parents[1] / "test" / "data"
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


@dataclass(frozen=True)
class Row:
    """What came of one mission."""

    name: str
    robots: int
    steps: int
    known: int
    """The optimum, or the best known length."""
    is_optimum: bool
    first: float
    """CPU seconds until there was a plan."""
    seconds: float
    """CPU seconds of the search."""
    notes: str
    misses: tuple[str, ...]

    def __str__(self) -> str:
        sort = "optimum" if self.is_optimum else "best known"
        first = f"{self.first:.1f} s" if self.robots == 1 else "–"
        verdict = "; ".join(self.misses) or "ok"
        known, ratio = f"{self.known} ({sort})", f"{self.steps / self.known:.3f}"
        fields = (self.name, self.robots, self.steps, known, ratio, first, f"{self.seconds:.1f} s")
        return f"| {' | '.join(map(str, (*fields, self.notes, verdict)))} |"


def building_of_row(row: dict[str, Any]) -> Building:
    """Return the hall with the places of a mission."""
    shapes = {
        name: tuple(Circle(*shape["circle"]) for shape in shapes)
        for name, shapes in row["places"].items()
    }
    cell, radius = row["cell"], row["robot_radius"]
    return make_building(
        HALL, PlacesFile(Places(shapes), cell=cell, robot_radius=radius, neighbours=8)
    )


def grid_cells(text: str) -> tuple[dict[tuple[int, int], int], Cells]:
    """Return a grid of text as cells: `#` is a wall, letters are places."""
    rows = text.split("\n")
    free = [(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark != "#"]
    number = {cell: index for index, cell in enumerate(free)}
    labels = tuple(frozenset(rows[r][c].replace(".", "")) for r, c in free)
    moves = [[number.get((r + a, c + b), number[r, c]) for a, b in MOVES] for r, c in free]
    return number, Cells(np.array(moves), labels)


def judge(text: str, trace: Sequence[frozenset[str]]) -> Iterator[str]:
    """Yield what the definition of the logic has against a trace."""
    formula = parse(text)
    if not holds(formula, trace):
        yield "the formula does not hold"
    if any(holds(formula, trace[:step]) for step in range(1, len(trace))):
        yield "it holds earlier"


def judge_moves(cells: Cells, path: Sequence[int]) -> Iterator[str]:
    """Yield whether a path has a move that no action of the map is; a robot may also stay."""
    if any(b != a and b not in cells.successors[a] for a, b in pairwise(path)):
        yield "a move that there is not"


def judge_apart(team: Team, one: Sequence[int], other: Sequence[int]) -> Iterator[str]:
    """Yield whether two robots meet or come too close, by points along each move."""
    pairs = list(zip(one, other, strict=True))
    if any(a == b for a, b in pairs[1:]):
        yield "two robots in one cell"
    if any(before == after[::-1] for before, after in pairwise(pairs)):
        yield "two robots swap cells"
    if team.positions is not None:
        where = team.positions[list(one)] - team.positions[list(other)]
        share = np.linspace(0, 1, 33)[:, None, None]
        between = where[None, :-1] * (1 - share) + where[None, 1:] * share
        if np.hypot(between[..., 0], between[..., 1]).min() < 2 * team.radius - 1e-9:
            yield "two robots closer than their radii"


def one_robot(row: dict[str, Any], seconds: float) -> Row:
    """Plan a mission for one robot."""
    building = building_of_row(row)
    cells = cells_of_building(building)
    start = building.floor.cell_at(*row["start"])
    assert start is not None
    began = time.process_time()
    machine = in_parts(parse(row["formula"]))
    translated = time.process_time() - began
    plan = LargeMissionPlanner(machine, cells).plan(start, seconds=seconds)
    exact, best = row["exact_steps"], row["best_known_steps"]
    first = translated + plan.first_seconds
    misses = [*judge(row["formula"], [cells.labels[cell] for cell in plan.cells])]
    misses += judge_moves(cells, [start, *plan.cells])
    if plan.steps > (exact or 1.02 * best):
        misses.append("too long")
    if plan.at_least > best:
        misses.append(f"the bound, {plan.at_least}, is wrong")
    if first > 2.0:
        misses.append("the first plan is late")
    if plan.seconds > seconds + 1.0:
        misses.append("the search takes too long")
    notes = f"at least {plan.at_least}"
    return Row(
        row["name"], 1, plan.steps, exact or best, exact is not None, first, plan.seconds, notes,
        tuple(misses),
    )  # fmt: skip


def many_robots(row: dict[str, Any], seconds: float) -> Row:
    """Plan a mission for a team."""
    names = tuple(f"r{i + 1}" for i in range(row["robots"]))
    if "grid" in row:
        number, cells = grid_cells(row["grid"])
        team = Team(names, cells)
        starts = [number[tuple(start)] for start in row["starts"]]
    else:
        building = building_of_row(row)
        cells = cells_of_building(building)
        team = team_of(names, cells, building)
        found = [building.floor.cell_at(*start) for start in row["starts"]]
        starts = [cell for cell in found if cell is not None]
    text = " & ".join(f"({clause})" for clause in row["clauses"])
    plan = TeamPlanner(in_parts(parse(text)), team).plan(starts, seconds=seconds)
    trace = [team.labels(cells) for cells in zip(*plan.paths, strict=True)][1:]
    misses = list(judge(text, trace))
    for path, start in zip(plan.paths, starts, strict=True):
        misses += judge_moves(cells, path) if path[0] == start else ["another start"]
    for one, other in combinations(plan.paths, 2):
        misses += judge_apart(team, one, other)
    optimum = row.get("optimum")
    known = optimum or row["best_known"]
    notes = "all joint states"
    if not plan.optimal:
        free = row["optimum_if_robots_pass_through_each_other"] or plan.free_steps
        notes = f"{free} if they passed through each other"
        if plan.steps > 1.1 * free:
            misses.append("robots that keep apart take too long")
    if plan.steps > (optimum or 1.05 * known) and (optimum or "visits" in row["name"]):
        misses.append("too long")
    if plan.seconds > seconds + 1.0:
        misses.append("the search takes too long")
    return Row(
        row["name"], len(names), plan.steps, known, optimum is not None, 0.0, plan.seconds, notes,
        tuple(misses),
    )  # fmt: skip


def main() -> None:
    """Plan all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of CPU time, for each search")
    parser.add_argument("--only", default="", help="missions whose names begin like this")
    args = parser.parse_args()
    print("| mission | robots | steps | known | ratio | first plan | search | | |")
    print("|---|---|---|---|---|---|---|---|---|")
    missed, count = 0, 0
    for file, plan in (("large_missions.jsonl", one_robot), ("teams.jsonl", many_robots)):
        for line in (DATA / file).read_text().splitlines():
            row = json.loads(line)
            if row["name"].startswith(args.only):
                found = plan(row, args.seconds)
                print(found, flush=True)
                count += 1
                missed += bool(found.misses)
    print(f"\n{count} missions, {missed} of which miss what is asked")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
