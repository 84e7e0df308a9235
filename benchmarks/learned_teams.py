"""Teams of learned skills in Zones: success, collisions, and steps against one robot that does all.

    python benchmarks/learned_teams.py --episodes 100 --out runs/learned_teams.jsonl

Two and three point robots in arenas drawn as those of Zones, each by the skills that come with it; a
collision is an episode in which two centres come nearer than two radii. Every run is judged again by
`semantics.holds` on the labels of all steps. One robot runs the missions that name no robot, in the same
arenas from where r1 begins, by the product planner. `--blind`: robots are neither shown to each other
nor yield. What is in the output already is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from skm_machine import compile_mission, holds
from skm_machine.factored import FactoredMachine
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.execution.learned_team_run import (
    LearnedTeamRun,
    TeamSkills,
    learned_team_mission,
)
from skm_sim import get_domain
from skm_sim.spec import DomainSpec

MISSIONS: Final = {
    "any_four": "F blue & F green & F magenta & F yellow",
    "two_orders": "F(blue & X F green) & F(yellow & X F magenta)",
    "avoiding": "F green & F blue & F yellow & G !magenta",
    "named": "F r1.green & F r2.blue & F yellow",
    "together": "F(r1.green & r2.blue)",
    "same_place": "F(r1.green & r2.green)",
    "not_before": "(!r1.green U r2.blue) & F r1.green",
    "not_both": "F r1.green & F r2.green & G !(r1.green & r2.green)",
    "in_turn": "F(r1.blue & X F(r2.green & X F r1.yellow)) & G !magenta",
}
MOST_STEPS: Final = 1000


def run_one(
    name: str, robots: int, seed: int, domain: DomainSpec, skills: TeamSkills, *, blind: bool
) -> dict[str, Any]:
    """Run one mission in one arena."""
    names = tuple(f"r{number + 1}" for number in range(max(2, robots)))
    world = domain.part("team")(names)
    world.reset(seed, {})
    began = time.process_time()
    if robots == 1:
        arena = world.as_dict()
        layout = {"zones": arena["zones"], "robot": arena["robots"][0]}
        mission = compile_mission(
            MISSIONS[name], propositions=domain.propositions, horizon="finite"
        )
        policy = make_policy(mission, skills, planner="product")
        env = domain.make()
        single = run_episode(
            env, skills, policy, max_steps=MOST_STEPS, options={"layout": layout}, seed=seed
        )
        env.close()
        found = {"outcome": single.outcome, "steps": single.steps, "collisions": 0, "closest": None}
    else:
        team_mission = learned_team_mission(MISSIONS[name], names, domain.propositions)
        machine, formula = team_mission.machine, team_mission.formula
        assert isinstance(machine, FactoredMachine)
        assert formula is not None
        run = LearnedTeamRun(machine, world, skills, shown=not blind, yields=not blind)
        episode = run.run(MOST_STEPS)
        if (episode.outcome == "accepted") != holds(formula, episode.labels):
            raise AssertionError(f"{name}, arena {seed}: the labels do not say {episode.outcome}")
        found = {
            "outcome": episode.outcome,
            "steps": episode.steps,
            "collisions": episode.collisions,
            "closest": episode.closest,
        }
    seconds = time.process_time() - began
    return {
        "mission": name,
        "robots": robots,
        "seed": seed,
        "blind": blind,
        **found,
        "cpu": seconds,
    }


def main() -> None:
    """Run what is missing, and say what came of all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--robots", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    domain = get_domain("zones")
    skills: Any = load_primitives(domain)
    rows = []
    if args.out.exists():
        rows = [json.loads(line) for line in args.out.read_text().splitlines()]
    done = {(row["mission"], row["robots"], row["seed"], row["blind"]) for row in rows}
    with args.out.open("a") as file:
        for seed in range(args.episodes):
            for name, text in MISSIONS.items():
                for robots in args.robots:
                    if (name, robots, seed, args.blind) in done or (robots == 1 and "r1." in text):
                        continue
                    rows.append(run_one(name, robots, seed, domain, skills, blind=args.blind))
                    file.write(json.dumps(rows[-1]) + "\n")
                    file.flush()
    groups: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["blind"] == args.blind and row["seed"] < args.episodes:
            groups[row["mission"], row["robots"]].append(row)
    print("mission      robots  episodes  success  with a collision  closest  steps  CPU s")
    for (name, robots), some in groups.items():
        steps = [row["steps"] for row in some if row["outcome"] == "accepted"]
        closest = min((row["closest"] for row in some if row["closest"]), default=float("nan"))
        print(
            f"{name:12} {robots:6} {len(some):9} {len(steps) / len(some):8.3f}"
            f" {sum(row['collisions'] > 0 for row in some):17} {closest:8.2f}"
            f" {np.mean(steps) if steps else float('nan'):6.1f}"
            f" {np.mean([row['cpu'] for row in some]):6.2f}"
        )
    for row in rows:
        if row["blind"] == args.blind and row["outcome"] != "accepted":
            print("  ", row["mission"], row["robots"], "robots, arena", row["seed"], row["outcome"])


if __name__ == "__main__":
    main()
