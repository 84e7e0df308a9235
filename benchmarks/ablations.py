"""What each parameter of a mechanism buys: the same runs with it and without it.

    python benchmarks/ablations.py --domain safety --tasks 3 5 --runs 1000 --seed 3031
    python benchmarks/ablations.py --domain safety --tasks 5 --runs 1000 --without late penalty
    python benchmarks/ablations.py --domain moving_targets --runs 250 --without memory
    python benchmarks/ablations.py --domain safety --set skm_primitives.planning.options:SLACK=16

`--without` names what is switched off, `--set` gives a constant another value. Each is a variant;
all variants have the same layouts, drawn from `--seed`; `--together` makes one variant of them all.
Tasks are those of the domain, or missions that are none of them (`--mission TEXT`, which are run on the
layouts of the first task). `--shield` vets actions, as the nodes do. With `--out FILE`
every run is a line there, and what it has is not done again. On one core, 1,000 runs of Safety take
about a minute.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box

from skm_cli.output import console, plain_table
from skm_machine import Mission, compile_mission
from skm_machine.tracker import BuchiVisits
from skm_primitives import load_primitives, make_policy
from skm_primitives.evaluation.statistics import proportion_interval
from skm_primitives.execution.episodes import Episode
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning import options as options_module
from skm_primitives.planning.shield import make_shield
from skm_primitives.skills.network_skills import NetworkSkills
from skm_primitives.skills.values import AnyGoalValues, ContinuousGoalValues, Primitives
from skm_sim import get_domain
from skm_sim.spec import DomainSpec, Task
from skm_sim.trials import SeededTrials, TrialSet

Change = tuple[str, Any]
"""Where something is (`module:name` or `module:Class.name`), and what takes its place."""
_OPTIONS: Final = "skm_primitives.planning.options"


def _best(self: Any, score: Any, spread: Any, best: Any) -> Any:  # noqa: ANN401, ARG001
    """Pursue the best goal of this step, whatever was pursued before."""
    return best


def _choose_held(hold: bool) -> Callable[..., Any]:
    """Return `Options.choose` with its `hold` settled."""
    choose = options_module.Options.choose

    def held(self: Any, values: Any, mask: Any, worth: Any = None, **_: Any) -> Any:  # noqa: ANN401
        return choose(self, values, mask, worth, hold=hold)

    return held


def _no_turns(self: Any, state: int, worth: Any) -> Any:  # noqa: ANN401, ARG001
    """Return what goals are worth, in whatever order."""
    return worth


SWITCHES: Final[Mapping[str, tuple[Change, ...]]] = {
    "commitment": ((f"{_OPTIONS}:Options._committed", _best),),
    "penalty": ((f"{_OPTIONS}:PENALTY", 0.0),),
    "late": ((f"{_OPTIONS}:LATE", 0),),
    "hold": ((f"{_OPTIONS}:Options.choose", _choose_held(False)),),
    "free hold": ((f"{_OPTIONS}:Options.choose", _choose_held(True)),),
    "attempts": ((f"{_OPTIONS}:ATTEMPTS", math.inf),),
    "exhausted": (("skm_primitives.execution.mission_run:EXHAUSTED", math.inf),),
    "memory": ((f"{_OPTIONS}:REPEAT_STEPS", 0),),
    "turns": ((f"{_OPTIONS}:Turns.in_turn", _no_turns),),
    "safety of actions": (("skm_primitives.skills.networks:CAUTION", 0.0),),
    "safety of goals": (("skm_primitives.planning.safety:CAUTION", 0.0),),
    "safety": (
        ("skm_primitives.skills.networks:CAUTION", 0.0),
        ("skm_primitives.planning.safety:CAUTION", 0.0),
    ),
    "veto": (("skm_primitives.planning.safety:LEAST_SAFETY", 0.0),),
    "careless steps": (("skm_primitives.planning.lookahead:CARELESS_STEPS", 0.0),),
}
"""What `--without` can name."""


@contextmanager
def changed(change: Change) -> Iterator[None]:
    """Put something else in the place of a name for a while."""
    place, value = change
    module, name = place.split(":")
    owner: Any = importlib.import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    before = getattr(owner, last)
    setattr(owner, last, value)
    try:
        yield
    finally:
        setattr(owner, last, before)


@dataclass(frozen=True)
class Trials:
    """A mission with the layouts that it is run on."""

    name: str
    mission: Mission
    drawn: TrialSet
    max_steps: int


def trials_of(spec: DomainSpec, args: argparse.Namespace) -> list[Trials]:
    """Return the missions that were asked for, with their layouts."""
    source = spec.part("trials") or SeededTrials()
    tasks: list[Task] = []
    for name in args.tasks:
        tasks += source.tasks(spec, name)
    found = []
    for task in tasks:
        drawn = source.draw(task, args.runs, args.seed, source.variants[0])
        mission = compile_mission(task.formula, propositions=spec.propositions, repeat=task.repeat)
        found.append(Trials(task.name, mission, drawn, task.max_steps))
    if not args.mission:
        return found
    layouts = found[0]
    return [
        Trials(
            text, compile_mission(text, propositions=spec.propositions), layouts.drawn, args.steps
        )
        for text in args.mission
    ]


SLOTS: Final = 48
"""Runs that are under way together, where the skills answer many questions at once."""


class Slot:
    """A run under way, with a policy and an environment of its own."""

    def __init__(
        self, spec: DomainSpec, skills: Primitives, trials: Trials, *, vetted: bool
    ) -> None:
        self.env, self.trials, self.skills = spec.make(), trials, skills
        self.policy = make_policy(trials.mission, skills)
        self.shield = make_shield(trials.mission, skills) if vetted else None
        self.ended = True

    def begin(self, index: int) -> None:
        """Begin on a layout."""
        drawn, self.index = self.trials.drawn, index
        self.run = MissionRun(self.policy, self.skills, self.trials.max_steps, self.shield)
        formula = self.trials.mission.formula
        assert formula is not None, "tasks are formulas"
        self.visits = BuchiVisits(formula)
        self.seen, info = self.env.reset(seed=drawn.seeds[index], options=drawn.options[index])
        self.run.begin(self.seen, info["labels"])
        self.world_ended, self.ended = False, self.run.over

    def step(self, values: AnyGoalValues) -> None:
        """Take a step by the values of the present state."""
        decision = self.run.decide(values)
        if not self.run.blocked:
            self.seen, _, self.world_ended, cut, info = self.env.step(decision.action)
            self.run.enter(self.seen, info["labels"])
            self.visits.step(info["labels"])
            self.ended = self.run.over or self.world_ended or cut
        else:
            self.ended = True

    @property
    def line(self) -> dict[str, Any]:
        """How the run ended, as `Episode.outcome` has it."""
        run, tracker = self.run, self.run.tracker
        episode = Episode(
            tracker.status,
            tracker.steps,
            tracker.total_reward,
            0.0,
            tracker.accepting_visits,
            (),
            (),
            (),
            run.stalled or run.blocked,
            bool(self.world_ended),
            run.machine.endless,
        )
        rounds = tracker.accepting_visits
        steps, visits = tracker.steps, self.visits.count
        return {"outcome": episode.outcome, "steps": steps, "rounds": rounds, "visits": visits}


def runs(
    spec: DomainSpec, skills: Primitives, trials: Trials, todo: Iterable[int], *, vetted: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Run a mission on some of the layouts, several at a time, and yield how each went."""
    together = isinstance(skills, NetworkSkills) and isinstance(skills.action_space, Box)
    slots = [Slot(spec, skills, trials, vetted=vetted) for _ in range(SLOTS if together else 1)]
    left = iter(todo)
    while slots:
        for slot in [slot for slot in slots if slot.ended]:
            while slot.ended:
                index = next(left, None)
                if index is None:
                    slots.remove(slot)
                    break
                slot.begin(index)
                if slot.ended:
                    yield index, slot.line
        if together and isinstance(skills, NetworkSkills) and slots:
            found = batched([slot.run for slot in slots], skills, [slot.seen for slot in slots])
        else:
            found = [skills.values(slot.seen, slot.run.history) for slot in slots]
        for slot, values in zip(slots, found, strict=True):
            slot.step(values)
            if slot.ended:
                yield slot.index, slot.line


def batched(
    under_way: Sequence[MissionRun],
    skills: NetworkSkills,
    seen: Sequence[Any],
) -> list[AnyGoalValues]:
    """Return the values of several states, from one pass of the networks."""
    names = skills.propositions
    bits = [sum(1 << names.index(name) for name in run.history) for run in under_way]
    every = np.ones(len(skills.goals), np.bool_)
    wanted = np.array([every if run.wanted is None else run.wanted for run in under_way])
    values = skills.batch_values(np.array(seen), np.array(bits), wanted)
    rows = zip(values.action, values.value, values.spread, values.near_best, strict=True)
    return [ContinuousGoalValues(*row) for row in rows]


def variants_of(args: argparse.Namespace) -> dict[str, Sequence[Change]]:
    """Return the variants by name, first the one in which nothing is changed."""
    found: dict[str, Sequence[Change]] = {}
    for name in args.without:
        found[f"without {name}"] = SWITCHES[name]
    for text in args.set:
        place, value = text.split("=")
        found[text.split(":")[-1]] = ((place, literal_eval(value)),)
    if args.together:
        found = {", ".join(found): [change for some in found.values() for change in some]}
    return {"as it is": (), **found}


def row(name: str, task: str, lines: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return a row of the table."""
    ends = [line["outcome"] for line in lines]
    good = [line for line in lines if line["outcome"] in ("accepted", "satisfied so far")]
    low, high = proportion_interval(len(good), len(lines))
    return (
        task,
        name,
        str(len(lines)),
        str(len(lines) - len(good)),
        f"{len(good) / len(lines):.4f} [{low:.4f}, {high:.4f}]",
        str(ends.count("failed")),
        str(ends.count("no progress")),
        f"{np.mean([line['steps'] for line in good]):.2f}" if good else "–",
        f"{np.mean([line['rounds'] for line in lines]):.3f}",
        f"{np.mean([line.get('visits', math.nan) for line in lines]):.3f}",
    )


def main() -> int:
    """Run all variants and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--domain", default="safety")
    parser.add_argument("--tasks", nargs="+", default=["all"], help="tasks of the domain")
    parser.add_argument("--mission", action="append", default=[], help="instead of tasks")
    parser.add_argument("--steps", type=int, default=500, help="of each run of a --mission")
    parser.add_argument("--runs", type=int, default=1000, help="layouts of each task")
    parser.add_argument("--seed", type=int, default=3031)
    parser.add_argument("--without", nargs="+", default=[], choices=SWITCHES)
    parser.add_argument("--set", action="append", default=[], help="MODULE:NAME=VALUE")
    parser.add_argument("--together", action="store_true", help="all changes in one variant")
    parser.add_argument("--shield", action="store_true", help="vet actions, as the nodes do")
    parser.add_argument("--checkpoint", help="other skills than the shipped ones")
    parser.add_argument("--out", type=Path, help="a file of JSON lines, continued if it exists")
    args = parser.parse_args()
    spec = get_domain(args.domain)
    skills = load_primitives(spec, args.checkpoint)
    known = [] if args.out is None or not args.out.exists() else args.out.read_text().splitlines()
    done = {(*line["key"],): line for line in map(json.loads, known)}
    columns = ("lost", "done", "violated", "no progress", "steps", "rounds", "visits")
    title = f"{spec.name}, seed {args.seed}"
    table = plain_table(title, ("task", "variant", "runs", *columns))
    for trials in trials_of(spec, args):
        per_variant: dict[str, list[Mapping[str, Any]]] = {}
        for name, changes in variants_of(args).items():
            lines = per_variant[name] = []
            with ExitStack() as stack:
                for change in changes:
                    stack.enter_context(changed(change))
                keys = [(name, trials.name, args.seed, args.shield, i) for i in range(args.runs)]
                todo = [key for key in keys if key not in done]
                left = runs(spec, skills, trials, [key[-1] for key in todo], vetted=args.shield)
                for index, line in left:
                    key = keys[index]
                    done[key] = {"key": key, **line}
                    if args.out is not None:
                        with args.out.open("a") as file:
                            file.write(json.dumps(done[key]) + "\n")
                lines += [done[key] for key in keys]
            table.add_row(*row(name, trials.name, lines))
    console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
