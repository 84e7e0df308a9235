"""Random missions in random finite worlds: does the planner refuse what cannot be done, and only that?

    python benchmarks/feasibility.py --missions 1000 --worlds 20

Every answer of the planner is compared with a search on the product of machine and world that shares
nothing with it (`test/helpers/feasibility_oracle.py`): whether the mission is refused as a whole, and
from each place. In deterministic worlds what is not refused is also carried out from one place: in the
fewest steps, or without end. In stochastic ones a mission counts as possible if some run is accepted
with a positive probability, and the plan must have such a run. The exit code is 1 if an answer is
wrong.

    python benchmarks/feasibility.py --far

runs missions that take long, `F[5000,] a` and sequences of 790 targets, in the office, on the example
map and in a gridworld of 1,024 cells that was explored, and prints the CPU seconds of planning them.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from skm_cli.main import main as skm
from skm_cli.output import console, plain_table, print_json, track
from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.learning.training import make_learner, train
from skm_primitives.skills.values import Primitives
from skm_sim import DomainSpec, get_domain

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "helpers"))


def measure(missions: int, worlds: int, seed: int) -> dict[str, Any]:
    """Compare all answers; return how many there were of each kind, and what was wrong."""
    import feasibility_oracle as oracle  # type: ignore[import-not-found]  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    made = [oracle.random_world(rng, number) for number in range(worlds)]
    skills = [oracle.skills_of(world) for world in made]
    answers: dict[str, Counter[str]] = {world.kind: Counter() for world in made}
    wrong: list[str] = []
    began = time.process_time()
    for _ in track(range(missions), "missions"):
        text = oracle.random_mission(rng)
        for number, world in enumerate(made):
            found, answer = oracle.check(world, skills[number], text, rng)
            answers[world.kind][answer] += 1
            wrong += [f"{world.kind} {number}: {text}: {problem}" for problem in found]
    return {
        "answers": {kind: dict(count) for kind, count in answers.items()},
        "compared": missions * worlds,
        "wrong": wrong,
        "cpu_s": round(time.process_time() - began, 1),
    }


def sequence(names: Sequence[str], length: int) -> str:
    """Return the mission to visit places one after the other, over and over."""
    text = f"F {names[(length - 1) % len(names)]}"
    for index in reversed(range(length - 1)):
        text = f"F({names[index % len(names)]} & X {text})"
    return text


def far_worlds(folder: Path) -> Iterator[tuple[str, DomainSpec, Primitives, tuple[str, ...]]]:
    """Yield worlds with their skills and places: learned, on a map, and explored."""
    from large_grid import grid_spec  # type: ignore[import-not-found]  # noqa: PLC0415

    office = get_domain("office")
    stops = ("coffee", "A", "B", "C", "D", "mail", "office")
    yield "office", office, load_primitives(office), stops
    with redirect_stdout(io.StringIO()):
        skm(["map", "--example", "--out", str(folder / "hall")])
    hall = get_domain(str(folder / "hall"))
    stops = ("coffee", "dock", "lab", "lobby", "office", "store")
    yield "hall", hall, load_primitives(hall), stops
    grid, out = grid_spec(32), folder / "grid.safetensors"
    learner = make_learner(grid, {}, out, resume=False, overwrite=False)
    if train(learner, learner.default_steps, out, "benchmarks/feasibility.py").interrupted:
        raise KeyboardInterrupt
    yield "grid", grid, load_primitives(grid, out), tuple("abcdefgh")


def measure_far() -> list[dict[str, Any]]:
    """Plan and run missions that take long; return what came of each."""
    found = []
    with TemporaryDirectory() as folder:
        for name, spec, skills, stops in far_worlds(Path(folder)):
            texts = {f"F[{steps},] {stops[0]}": "" for steps in (264, 1000, 5000)}
            texts |= {sequence(stops, n): f"sequence of {n}" for n in (28, 790)}
            for text, short in texts.items():
                mission = compile_mission(text, propositions=spec.propositions)
                began = time.process_time()
                policy = make_policy(mission, skills)
                planned = time.process_time() - began
                episode = run_episode(spec.make(), skills, policy, max_steps=100_000, seed=0)
                done = {"world": name, "mission": short or text, "outcome": episode.outcome}
                states = mission.machine.num_states
                found.append(
                    {**done, "steps": episode.steps, "states": states, "cpu_s": round(planned, 2)}
                )
    return found


def main() -> int:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--missions", type=int, default=1000)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--far", action="store_true", help="run missions that take long instead")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.far:
        return report_far(args.json)
    found = measure(args.missions, args.worlds, args.seed)
    if args.json:
        print_json(found)
    else:
        kinds = sorted({answer for count in found["answers"].values() for answer in count})
        title = f"{args.missions} missions in {args.worlds} worlds"
        table = plain_table(title, ("worlds", *kinds))
        for world, count in found["answers"].items():
            table.add_row(world, *(str(count.get(kind, 0)) for kind in kinds))
        console().print(table)
        print(f"{found['compared']} answers, {len(found['wrong'])} wrong, {found['cpu_s']} CPU s")
        for problem in found["wrong"][:20]:
            print(f"  {problem}")
    return 1 if found["wrong"] else 0


def report_far(as_json: bool) -> int:
    """Run what takes long, and print a table."""
    results = measure_far()
    if as_json:
        print_json(results)
    else:
        table = plain_table("planned and run", tuple(results[0]))
        for row in results:
            table.add_row(*map(str, row.values()))
        console().print(table)
    return int(any(row["outcome"] != "accepted" for row in results))


if __name__ == "__main__":
    sys.exit(main())
