"""Recurring missions on the office, from every start, against the most that any policy can do.

    python benchmarks/recurring_missions.py --steps 1000

For each order: the rounds completed from all starts together, the most that could be, how many runs
violated it, and how many do not satisfy it if they go on as they ended (the lasso of the run, judged by
the automaton of the formula). The exit code is 1 if a run was lost, or an order has less than 0.99.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, Final

from skm_cli.output import console, plain_table, print_json, track
from skm_machine import Status, compile_mission, translate_omega
from skm_primitives import MissionRun, load_primitives, make_policy
from skm_primitives.evaluation.exact import most_rounds
from skm_sim import get_domain

ORDERS: Final = {
    "patrol": (
        "G F A & G F B",
        "G F A & G F C & G !decoration",
        "G F A & G F B & G F C & G F D & G !decoration",
        "G F(coffee & X F office)",
        "G F(mail & X F(coffee & X F office)) & G !decoration",
        "G F(A & X(!C U B)) & G F C",
    ),
    "response": (
        "G(coffee -> F office) & G F coffee",
        "G(coffee -> F office) & G F coffee & G !decoration",
        "G(mail -> F office) & G F mail & G F A",
        "G(coffee -> X(!A U office)) & G F coffee & G F A & G !decoration",
        "G(mail -> F office) & G(coffee -> F office) & G F mail & G F coffee",
        "G(mail -> F office)",
    ),
    "persistence": (
        "F G coffee",
        "F G !decoration & G F A & G F coffee",
        "F G(!mail & !coffee) & G F A & G F D",
        "F(mail & X F office) & F G(coffee | !coffee & !A & !B)",
        "F G(!office & !A) & G F mail & G !decoration",
        "F(office & F G coffee) & G !decoration",
    ),
    "disjunction": (
        "G F A | F G coffee",
        "G F(A & X F B) | G F(C & X F D)",
        "(G F A & G F B | G F C & G F D) & G !decoration",
        "(G F mail -> G F A) & G F coffee & G !decoration",
        "G F office | G F mail",
        "(G F A | F G !B) & G F(coffee & X F office)",
    ),
    "mixed": (
        "F mail & G F A & G F C & G !decoration",
        "G F A & G(coffee -> F office) & F G !B",
        "!office U mail & G F office & G F coffee & G !decoration",
        "G(A -> X F C) & G(C -> X F A) & G F A",
        "G F(A | B) & G F(C | D) & G(mail -> F office) & G !decoration",
        "G !decoration & G F(office & X X X X coffee)",
    ),
}


def measure(text: str, steps: int) -> dict[str, Any]:
    """Run one order from every start; return what came of it."""
    spec = get_domain("office")
    skills = load_primitives(spec)
    mission = compile_mission(text, propositions=spec.propositions)
    began = time.process_time()
    policy = make_policy(mission, skills)
    planned = time.process_time() - began
    automaton = translate_omega(text)
    env = spec.make()
    optimum = most_rounds(mission.machine, env.unwrapped.model, steps)  # type: ignore[attr-defined]
    found: dict[str, Any] = {"states": mission.machine.num_states, "planning_s": round(planned, 2)}
    rounds, violations, unsatisfied, least = 0, 0, 0, 1.0
    for cell, best in enumerate(optimum.tolist()):
        observation, info = env.reset(options={"cell": cell})
        run = MissionRun(policy, skills, steps)
        run.begin(observation, info["labels"])
        trace, places = [], []
        while not run.over:
            places.append((run.tracker.state, run.tracker.accepting_visits, int(observation)))
            action = run.decide(skills.values(observation, run.history)).action
            observation, _, _, _, info = env.step(action)
            run.enter(observation, info["labels"])
            trace.append(info["labels"])
        rounds += run.tracker.accepting_visits
        least = min(least, run.tracker.accepting_visits / best) if best else least
        violations += run.tracker.status is Status.FAILED
        unsatisfied += not automaton.accepts(*lasso(trace, places))
    total = int(optimum.sum())
    return {
        **found,
        "starts": len(optimum),
        "rounds": rounds,
        "optimum": total,
        "ratio": round(rounds / total, 4),
        "worst_start": round(least, 4),
        "violations": violations,
        "unsatisfied": unsatisfied,
    }


def lasso(trace: list[Any], places: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return a run as prefix and loop: the last step, and the latest earlier one of its kind."""
    last = len(trace) - 1
    here = places[last][0], places[last][2]
    earlier = range(last - 1, -1, -1)
    rounds = places[last][1]
    same = next(
        i for i in earlier if (places[i][0], places[i][2]) == here and places[i][1] < rounds
    )
    return trace[:same], trace[same:last]


def main() -> int:
    """Measure all orders and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--only", help="one kind of orders", choices=ORDERS)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    orders = [(kind, text) for kind in ORDERS for text in ORDERS[kind] if args.only in (None, kind)]
    results = [
        {"kind": kind, "order": text, **measure(text, args.steps)}
        for kind, text in track(orders, "orders")
    ]
    if args.json:
        print_json(results)
    else:
        columns = ("order", "states", "rounds", "optimum", "ratio", "worst_start", "violations")
        table = plain_table(f"office, all starts, {args.steps} steps", (*columns, "unsatisfied"))
        for found in results:
            table.add_row(*(str(found[name]) for name in (*columns, "unsatisfied")))
        console().print(table)
    lost = any(found["violations"] or found["unsatisfied"] for found in results)
    return int(lost or any(found["ratio"] < 0.99 for found in results))


if __name__ == "__main__":
    raise SystemExit(main())
