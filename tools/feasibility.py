"""Random missions in random finite worlds: does the planner refuse what cannot be done, and only that?

    python tools/feasibility.py --missions 1000 --worlds 20

Every answer of the planner is compared with a search on the product of machine and world that shares
nothing with it (`test/feasibility_oracle.py`): whether the mission is refused as a whole, and from each
place. In deterministic worlds what is not refused is also carried out from one place: in the fewest
steps, or without end. In stochastic ones a mission counts as possible if some run is accepted with a
positive probability, and the plan must have such a run. The exit code is 1 if an answer is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from skm_cli.output import console, plain_table, print_json, track

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))


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


def main() -> int:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--missions", type=int, default=1000)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
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


if __name__ == "__main__":
    sys.exit(main())
