"""Reactive missions on the office under random scripts of events.

    python benchmarks/event_scripts.py --scripts 1000

Each script sets each event at random for stretches of the first 200 steps; then all is quiet, until the
run goes in a circle. The run, as prefix and loop, is judged by the definition of the operators. A run is
lost if the mission is not satisfied though the game against events says that it could be kept from the
start; a reaction is late if the first step after an event that left something pending does not lead
there.
"""

from __future__ import annotations

import argparse
from random import Random
from typing import Any, Final

from skm_cli.output import console, plain_table, track
from skm_machine import compile_mission, parse
from skm_machine.logic.semantics import holds_forever
from skm_primitives import MissionRun, load_primitives, make_policy
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.planning.solvers import FAR
from skm_sim import get_domain

MISSIONS: Final = (
    ("G(battery_low -> F office) & G F A & G F B", ("battery_low",)),
    ("G(battery_low -> F office) & G F A & G F B & G !decoration", ("battery_low",)),
    ("G(call -> F mail) & G(battery_low -> F office) & G F A", ("call", "battery_low")),
    ("G(call -> F(mail & X F office)) & G F C & G !decoration", ("call",)),
    ("G(person_near -> X !coffee) & G F coffee & G F A", ("person_near",)),
    ("(!A U door_open | G !A) & G F B & G F C", ("door_open",)),
    ("G(alarm -> F G coffee) & (F alarm | G F A)", ("alarm",)),
    ("(G F call -> G F office) & G F D & G !decoration", ("call",)),
    ("G(call -> X(!coffee U office)) & G F coffee", ("call",)),
    ("G(battery_low -> F office) & G(call -> F A) & G F mail & G !decoration", ("battery_low", "call")),
)  # fmt: skip
BUSY: Final = 200
MOST: Final = 3000


class Scripted:
    """Events that are on and off for stretches of random length, and off after `BUSY` steps."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        rng = Random(seed)
        self.spans: list[tuple[str, int, int]] = []
        for name in names:
            step = rng.randint(1, 40)
            while step < BUSY:
                last = min(step + rng.choice((0, 0, 1, 3, 10)), BUSY)
                self.spans.append((name, step, last))
                step = last + rng.randint(2, 60)

    def at(self, step: int) -> frozenset[str]:
        """Return the events that are true in a step."""
        return frozenset(name for name, first, last in self.spans if first <= step <= last)


def play(policy: ProductPolicy, skills: Any, env: Any, script: Scripted, cell: int) -> Any:  # noqa: ANN401
    """Run until the robot goes in a circle; return the trace, where that begins, late reactions."""
    observation, info = env.reset(options={"cell": cell})
    run = MissionRun(policy, skills, MOST)
    run.begin(observation, info["labels"])
    trace: list[frozenset[str]] = []
    seen: dict[Any, int] = {}
    late = 0
    while not run.over:
        pending = policy.pending_steps(run.tracker.state)
        happened = bool(trace) and bool(script.at(len(trace)))
        action = run.decide(skills.values(observation, run.history)).action
        observation, _, _, _, info = env.step(action)
        labels = info["labels"] | script.at(len(trace) + 1)
        run.enter(observation, labels)
        trace.append(labels)
        if happened and 0 < pending < FAR and not script.at(len(trace)):
            late += policy.pending_steps(run.tracker.state) >= pending
        if len(trace) > BUSY:
            here = run.tracker.state, int(observation), env.unwrapped.state_index
            if here in seen:
                return trace, seen[here], late
            seen[here] = len(trace)
    return trace, None, late


def measure(text: str, events: tuple[str, ...], scripts: int) -> dict[str, Any]:
    """Play one mission under many scripts, from a start of each script's own."""
    spec = get_domain("office")
    skills, env = load_primitives(spec), spec.make()
    mission = compile_mission(text, propositions=spec.propositions, events=events)
    policy = make_policy(mission, skills)
    assert isinstance(policy, ProductPolicy)
    assert policy.game is not None
    formula = parse(text)
    keepable = policy.game.kept[mission.machine.initial, :, 0]
    lost = unsatisfied = late = 0
    for seed in range(scripts):
        script = Scripted(events, seed)
        cell = Random(-seed).randrange(len(keepable))
        trace, begins, slow = play(policy, skills, env, script, cell)
        satisfied = begins is not None and holds_forever(formula, trace[:begins], trace[begins:])
        place = policy.place_of(cell)
        unsatisfied += not satisfied
        lost += not satisfied and bool(keepable[place])
        late += slow
    share = float(keepable.mean())
    return {"keepable": share, "lost": lost, "unsatisfied": unsatisfied, "late": late}


def main() -> int:
    """Measure all missions; the exit code is 1 if one was lost, or a reaction late."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scripts", type=int, default=1000)
    args = parser.parse_args()
    columns = ("keepable", "lost", "unsatisfied", "late")
    table = plain_table(f"office, {args.scripts} scripts each", ("mission", *columns))
    bad = 0
    for text, events in track(MISSIONS, "missions"):
        found = measure(text, events, args.scripts)
        bad += found["lost"] + found["late"]
        table.add_row(text, *(f"{found[name]:g}" for name in columns))
    console().print(table)
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
