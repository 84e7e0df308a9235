"""Standing orders on Safety and Moving Targets, zero-shot, on random layouts.

    python tools/standing_layouts.py --domain safety --layouts 100 --steps 500

For each order: the rounds completed on all layouts together, how many runs violated it, got nowhere, or
completed no round. Layouts are drawn by the domain, so on some an order may be impossible.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Final

from skm_cli.output import console, plain_table, track
from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.planning.keeping import unlearned
from skm_sim import get_domain

ORDERS: Final = {
    "safety": (
        "G F button & G F region & G F cylinder",
        "G(button -> F region) & G F button",
        "G F button & G F cylinder & G !region",
        "G F(button & X F cylinder)",
        "G F button | G F region",
        "F G region",
        "F G !region & G F button",
        "G(button -> X(!region U cylinder)) & G F button",
        "G F cylinder & G(cylinder -> F button) & G !region",
        "F region & G F button & G F cylinder",
    ),
    "moving_targets": (
        "G F blue & G F square",
        "G(blue -> F square) & G F blue",
        "G F blue & G F purple & G F beige",
        "G F(square & X F circle)",
        "G F blue | G F purple",
        "G F(beige & circle) & G F(blue & square)",
        "F G !blue & G F square",
        "G(square -> X(!square U circle)) & G F square",
        "G F circle & G F purple & G(purple -> F blue)",
        "F beige & G F circle",
    ),
}


def main() -> int:
    """Run all orders and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--domain", choices=ORDERS, default="safety")
    parser.add_argument("--layouts", type=int, default=100)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    spec = get_domain(args.domain)
    skills, env = load_primitives(spec), spec.make()
    columns = ("rounds", "violations", "no progress", "no round", "unlearned")
    title = f"{spec.name}, {args.layouts} layouts, {args.steps} steps"
    table = plain_table(title, ("order", *columns))
    for text in track(ORDERS[args.domain], "orders"):
        mission = compile_mission(text, propositions=spec.propositions)
        policy, rounds, ends = make_policy(mission, skills), 0, Counter[str]()
        for seed in range(args.layouts):
            episode = run_episode(env, skills, policy, max_steps=args.steps, seed=seed)
            rounds += episode.accepting_visits
            ends[episode.outcome] += 1
            ends["no round"] += not episode.accepting_visits
        counts = rounds, ends["failed"], ends["no progress"], ends["no round"]
        table.add_row(text, *map(str, counts), ", ".join(unlearned(mission, skills)))
    console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
