"""Recurring missions on Safety and Moving Targets, zero-shot, on random layouts.

    python benchmarks/recurring_layouts.py --domain safety --layouts 100 --steps 500
    python benchmarks/recurring_layouts.py --domain moving_targets --layouts 100 --steps 100

For each order: the rounds completed on all layouts together, beside those of the reference on the true
state where the domain has one; how many runs violated it (with the share, as evaluations of finite
missions give it), got nowhere, or completed no round. Actions are vetted by the shield, as in the nodes.
The layouts of Safety are those on which the order is possible, by the rule that evaluations use. With
`--out FILE` every run is a line there, and runs that it has already are not done again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from skm_cli.output import console, plain_table, track
from skm_machine import Mission, compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.planning.feasibility_report import unlearned
from skm_primitives.planning.shield import make_shield
from skm_primitives.skills.values import Primitives
from skm_sim import get_domain
from skm_sim.safety.layout import SKILLS, sample_feasible
from skm_sim.spec import DomainSpec, Task
from skm_sim.trials import TrialSet

SAFETY_ORDERS: Final = {
    "G F button & G F region & G F cylinder": ("button", "region", "cylinder"),
    "G(button -> F region) & G F button": ("button", "region", "button"),
    "G F button & G F cylinder & G !region": ("button, no region", "cylinder, no region"),
    "G F(button & X F cylinder)": ("button", "cylinder"),
    "G F button | G F region": ("button",),
    "F G region": ("region",),
    "F G !region & G F button": ("button, no region",),
    "G(button -> X(!region U cylinder)) & G F button": (
        "button",
        "cylinder, no region",
        "button, no region",
    ),
    "G F cylinder & G(cylinder -> F button) & G !region": (
        "cylinder, no region",
        "button, no region",
    ),
    "F region & G F button & G F cylinder": ("region", "button", "cylinder"),
}
"""Each order, with the skills that a round of it asks for."""

MOVING_TARGETS_ORDERS: Final = (
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
)


def trials_of(spec: DomainSpec, number: int, text: str, count: int, seed: int) -> TrialSet:
    """Return the layouts of an order."""
    if spec.name == "safety":
        stages = [SKILLS[skill] for skill in SAFETY_ORDERS[text]]
        layouts, share = sample_feasible(np.random.default_rng([seed, number]), count, stages)
        options = [{"layout": layouts[index]} for index in range(count)]
        return TrialSet(options, [None] * count, share)
    drawn: TrialSet = spec.part("trials").draw(
        Task(text, text, repeat=False, max_steps=1), count, seed, "random"
    )
    return drawn


def runs(
    spec: DomainSpec,
    skills: Primitives,
    mission: Mission,
    trials: TrialSet,
    todo: Iterable[int],
    steps: int,
) -> Iterator[dict[str, Any]]:
    """Yield how the order fared on each layout of `todo`."""
    policy, env = make_policy(mission, skills), spec.make()
    shield = make_shield(mission, skills)
    for index in todo:
        episode = run_episode(
            env,
            skills,
            policy,
            max_steps=steps,
            seed=trials.seeds[index],
            options=trials.options[index],
            shield=shield,
        )
        line = {
            "order": mission.text,
            "layout": index,
            "outcome": episode.outcome,
            "steps": episode.steps,
            "rounds": episode.accepting_visits,
        }
        if trials.reference is not None:
            line["reference"] = trials.reference(index, mission.machine, steps)
        yield line
    env.close()


def main() -> int:
    """Run all orders and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    orders = {"safety": tuple(SAFETY_ORDERS), "moving_targets": MOVING_TARGETS_ORDERS}
    parser.add_argument("--domain", choices=orders, default="safety")
    parser.add_argument("--layouts", type=int, default=100)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="only the orders with this in their text")
    parser.add_argument("--out", type=Path, help="a file of JSON lines, continued if it exists")
    args = parser.parse_args()
    spec = get_domain(args.domain)
    skills = load_primitives(spec)
    known = [] if args.out is None or not args.out.exists() else args.out.read_text().splitlines()
    done = {(line["order"], line["layout"]): line for line in map(json.loads, known)}
    columns = ("rounds", "reference", "violations", "no progress", "no round", "unlearned")
    title = f"{spec.name}, {args.layouts} layouts, {args.steps} steps, seed {args.seed}"
    table = plain_table(title, ("order", *columns))
    chosen = [o for o in enumerate(orders[spec.name]) if args.only is None or args.only in o[1]]
    for number, text in track(chosen, "orders"):
        mission = compile_mission(text, propositions=spec.propositions)
        trials = trials_of(spec, number, text, args.layouts, args.seed)
        todo = [index for index in range(args.layouts) if (text, index) not in done]
        for line in runs(spec, skills, mission, trials, todo, args.steps):
            done[text, line["layout"]] = line
            if args.out is not None:
                with args.out.open("a") as file:
                    file.write(json.dumps(line) + "\n")
        lines = [done[text, index] for index in range(args.layouts)]
        ends = [line["outcome"] for line in lines]
        reference = sum(line.get("reference", 0) for line in lines)
        failed = ends.count("failed")
        table.add_row(
            text,
            str(sum(line["rounds"] for line in lines)),
            str(reference) if trials.reference is not None else "–",
            f"{failed} ({failed / len(lines):.3f})",
            str(ends.count("no progress")),
            str(sum(not line["rounds"] for line in lines)),
            ", ".join(unlearned(mission, skills)),
        )
    console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
