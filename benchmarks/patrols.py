"""Many long patrols in process, none of which may stall.

    python benchmarks/patrols.py --count 200 --steps 20000 --json

Each patrol is a mission without end in a world of its own. What came of it is a line of the file
`--results`; those that are there already are not run again, so it can be stopped and taken up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

from skm_cli.output import console, plain_table, print_json, track
from skm_machine import Status, compile_mission
from skm_primitives import MissionRun, load_primitives, make_policy
from skm_sim import get_domain
from skm_sim.world import World

MISSIONS = (
    ("safety", "G F button & G F region"),
    ("office", "G F A & G F C & G !decoration"),
    ("safety", "G F button & G F cylinder"),
    ("moving_targets", "G F blue & G F (square & !blue)"),
    ("safety", "G F region & G F (button & !region)"),
    ("office", "G F coffee & G F office & G F mail"),
    ("safety", "G F cylinder & G F region"),
    ("moving_targets", "G F (beige & circle) & G F purple"),
)
"""Taken in turn, each time in another world: a round of them for each seed."""


def patrols() -> Iterator[dict[str, Any]]:
    """Yield domain, mission and seed of one patrol after the other."""
    for seed in count():
        for domain, mission in MISSIONS:
            yield {"domain": domain, "mission": mission, "seed": seed}


def patrol(domain: str, mission: str, seed: int, steps: int) -> dict[str, Any]:
    """Run one patrol; return how it ended and its longest time without a transition."""
    began = time.process_time()
    spec = get_domain(domain)
    skills = load_primitives(spec)
    compiled = compile_mission(mission, propositions=spec.propositions)
    run, world = MissionRun(make_policy(compiled, skills), skills, steps), World(spec, seed)
    run.begin(world.observation, world.labels)
    tracker, moved_at, longest, until = run.tracker, 0, 0, 0
    while not run.over:
        world.step(run.decide(skills.values(world.observation, run.history)).action)
        moved = run.enter(world.observation, world.labels)
        if tracker.steps - moved_at > longest:
            longest, until = tracker.steps - moved_at, tracker.steps
        moved_at = tracker.steps if moved else moved_at
    world.close()
    running = "no progress" if run.stalled else "timed out"
    return {
        "outcome": running if tracker.status is Status.RUNNING else tracker.status.value,
        "steps": tracker.steps,
        "rounds": tracker.accepting_visits,
        "transitions": tracker.moves,
        "longest_gap": longest,
        "longest_gap_until": until,
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def main() -> int:
    """Run the patrols that are missing and report all; the exit code is 1 if one stalled."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20, help="how many patrols (default: 20)")
    parser.add_argument("--steps", type=int, default=20_000, help="steps of each")
    parser.add_argument("--results", type=Path, default=Path("runs/patrols.jsonl"))
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    args = parser.parse_args()
    args.results.parent.mkdir(parents=True, exist_ok=True)
    args.results.touch()
    asked = [{**each, "limit": args.steps} for each in islice(patrols(), args.count)]
    lines = map(json.loads, args.results.read_text().splitlines())
    done = [line for line in lines if {name: line[name] for name in asked[0]} in asked]
    known = [{name: line[name] for name in asked[0]} for line in done]
    for each in track([each for each in asked if each not in known], "patrols"):
        found = patrol(each["domain"], each["mission"], each["seed"], args.steps)
        done.append({**each, **found})
        with args.results.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
    stalls = sum(line["outcome"] == "no progress" for line in done)
    longest = max(line["longest_gap"] for line in done)
    if args.json:
        print_json({"stalls": stalls, "longest_gap": longest, "patrols": done})
    else:
        show(done)
        console().print(f"{stalls} of {len(done)} stalled; at most {longest} steps without a move")
    return 1 if stalls else 0


def show(done: list[dict[str, Any]]) -> None:
    """Print a line for each patrol."""
    columns = ("domain", "mission", "seed", "outcome", "steps", "rounds", "longest_gap")
    table = plain_table("patrols", columns)
    for line in done:
        table.add_row(*(str(line[name]) for name in columns))
    console().print(table)


if __name__ == "__main__":
    sys.exit(main())
