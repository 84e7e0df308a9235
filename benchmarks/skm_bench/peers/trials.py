"""`skm bench peers`: learn in the peers' worlds with default settings, and run their missions.

Nothing here is tuned to a world. Several training seeds; each task from the same starts. Rates of single
tasks are means; over all tasks of a world there is the interquartile mean with a stratified bootstrap
interval, as rliable has it (Agarwal et al., 2021).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from skm_bench.peers.flat_world import FLAT_WORLD
from skm_bench.peers.letter_world import LETTER_WORLD, LetterEnv, fewest_steps
from skm_bench.peers.missions import PUBLISHED, RECURRING, drawn_formulas
from skm_machine import Mission, compile_mission
from skm_machine.errors import SkmError
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.evaluation.statistics import interquartile_mean, stratified_interval
from skm_primitives.learning.training import make_learner, train
from skm_primitives.skills.checkpoint import checkpoint_path, load
from skm_primitives.skills.values import Primitives
from skm_sim import get_domain
from skm_sim.arrays import FloatArray
from skm_sim.spec import DomainSpec, Task

WORLDS: Final = ("letter_world", "flat_world", "zones")
EVALUATION_SEED: Final = 2029
"""Episodes begin from this; nothing was tuned on it."""
STARTS_OF_A_FORMULA: Final = 5
"""Of the formulas, which are many."""


def peers_world(name: str) -> DomainSpec:
    """Return a world, known to Gymnasium."""
    own = {"letter_world": LETTER_WORLD, "flat_world": FLAT_WORLD}
    if name not in own:
        return get_domain(name)
    own[name].register()
    return own[name]


@dataclass(frozen=True)
class Learned:
    """The skills of one training seed."""

    seed: int
    path: Path | None
    """None: those that the domain comes with."""
    steps: int
    cpu_seconds: float | None


def learned(
    spec: DomainSpec, seed: int, out: Path, steps: int | None, say: Callable[[str], None]
) -> Learned:
    """Train a seed with default settings; what is there goes on, so that nothing is learned twice."""
    if spec.checkpoint and seed == 0:
        return Learned(seed, None, 0, None)
    path = checkpoint_path(out / f"{spec.name}_seed{seed}")
    path.parent.mkdir(parents=True, exist_ok=True)
    began, resume = time.process_time(), path.exists()
    options: dict[str, Any] = {} if resume else {"seed": seed}
    if steps and not resume:
        options["horizon"] = steps
    learner = make_learner(spec, options, path, resume=resume, overwrite=False)
    if learner.steps < (steps or learner.default_steps):
        if train(learner, steps, path, f"skm bench peers --worlds {spec.name}").interrupted:
            raise KeyboardInterrupt  # What is half learned is not measured; the next call goes on.
        say(f"{spec.name}, seed {seed}: {time.process_time() - began:.0f} CPU s of learning")
    _, card = load(path, spec.name)
    return Learned(seed, path, card.steps, card.details.get("cpu_seconds"))


@dataclass
class Runs:
    """How the runs of one mission went."""

    episodes: int = 0
    accepted: int = 0
    violated: int = 0
    """Runs in which the mission failed, or the world ended first."""
    steps: int = 0
    """Of those that were accepted."""
    fewest: int = 0
    """The fewest steps that these can be done in; 0: nobody knows."""
    rounds: int = 0

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        count, done = max(1, self.episodes), self.accepted
        return {
            "success": done / count,
            "violations": self.violated / count,
            "steps": round(self.steps / done, 2) if done else None,
            **({"over_optimum": round(self.steps / self.fewest, 3)} if self.fewest else {}),
            "episodes": self.episodes,
        }


def run_mission(
    spec: DomainSpec, skills: Primitives, mission: Mission, episodes: int, max_steps: int
) -> Runs:
    """Run a mission from many starts, beside the fewest steps where these are known."""
    env, policy, runs = spec.make(), make_policy(mission, skills), Runs()
    for number in range(episodes):
        seed = EVALUATION_SEED + 1000 * number
        episode = run_episode(env, skills, policy, max_steps=max_steps, seed=seed)
        runs.episodes += 1
        runs.rounds += episode.accepting_visits
        runs.violated += episode.outcome in ("failed", "world ended")
        if episode.outcome == "accepted":
            runs.accepted += 1
            runs.steps += episode.steps
            if isinstance(env.unwrapped, LetterEnv):
                best = fewest_steps(mission.machine, env.unwrapped.batch.maps[0])
                assert best is not None, "what was done can be done"
                runs.fewest += best
    env.close()
    return runs


def measure_world(
    name: str,
    seeds: Sequence[int],
    starts: int,
    formulas: int | Sequence[str],
    out: Path,
    steps: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Learn and run everything in one world; return what was found."""
    spec = peers_world(name)
    by_seed = []
    for seed in seeds:
        some = learned(spec, seed, out, steps, say)
        by_seed.append(_measured_seed(spec, some, starts, formulas, say))
    return summary(name, starts, by_seed)


def _measured_seed(
    spec: DomainSpec,
    some: Learned,
    starts: int,
    formulas: int | Sequence[str],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Run everything with the skills of one training seed."""
    tasks = finite_tasks(spec)
    limit = max(task.max_steps for task in tasks)
    skills = load_primitives(spec, some.path)
    found = {}
    for task in tasks:
        mission = compile_mission(task.formula, propositions=spec.propositions)
        found[task.name] = run_mission(spec, skills, mission, starts, task.max_steps).document()
        say(f"{spec.name}, seed {some.seed}, task {task.name}: {found[task.name]}")
    recurring = []
    for text in RECURRING.get(spec.name, ()):
        mission = compile_mission(text, propositions=spec.propositions)
        runs = run_mission(spec, skills, mission, starts, limit)
        mean = round(runs.rounds / starts, 2)
        row = {"seed": some.seed, "mission": text, "rounds": mean, "violated": runs.violated}
        recurring.append({**row, "episodes": starts})
        say(f"{spec.name}: {recurring[-1]}")
    drawn = _run_formulas(spec, skills, formulas, limit) if spec.name in PUBLISHED else []
    return {
        "seed": some.seed,
        "steps": some.steps,
        "cpu_seconds": some.cpu_seconds,
        "tasks": found,
        "recurring": recurring,
        "formulas": drawn,
    }


def finite_tasks(spec: DomainSpec) -> list[Task]:
    """Return the tasks that are done at some time."""
    return [task for task in spec.tasks.values() if not task.formula.startswith(("G", "F G"))]


def combined(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what several measurements found, such as of a training seed each, world by world."""
    found = []
    for name in dict.fromkeys(document["world"] for document in documents):
        some = [document for document in documents if document["world"] == name]
        by_seed = {row["seed"]: row for document in some for row in document["by_seed"]}
        starts = sorted({document["starts"] for document in some})
        if len(starts) > 1:
            raise SkmError(f"{name}: measured from {starts} starts; measure all from as many.")
        found.append(summary(name, starts[0], [by_seed[seed] for seed in sorted(by_seed)]))
    return found


def summary(name: str, starts: int, by_seed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return means, intervals and what is published, beside what was found for each training seed."""
    tasks = finite_tasks(peers_world(name))
    rows = []
    for task in tasks:
        known = PUBLISHED.get(name, {}).get(task.name)
        found = [row["tasks"][task.name] for row in by_seed]
        taken = [row["steps"] for row in found if row["steps"] is not None]
        over = [row["over_optimum"] for row in found if "over_optimum" in row]
        rows.append(
            {
                "task": task.name,
                "mission": task.formula,
                "success": float(np.mean([row["success"] for row in found])),
                "worst_seed": min(row["success"] for row in found),
                "violations": float(np.mean([row["violations"] for row in found])),
                "steps": round(float(np.mean(taken)), 2) if taken else None,
                **({"over_optimum": round(float(np.mean(over)), 3)} if over else {}),
                **({"worst_over_optimum": max(over)} if over else {}),
                **({"published": known._asdict()} if known else {}),
            }
        )
    scores = _scores(by_seed, tasks, "success")
    over_optimum = _scores(by_seed, tasks, "over_optimum")
    drawn = [formula for row in by_seed for formula in row["formulas"]]
    return {
        "world": name,
        "seeds": [row["seed"] for row in by_seed],
        "starts": starts,
        "training": [
            {key: row[key] for key in ("seed", "steps", "cpu_seconds")} for row in by_seed
        ],
        "interquartile_mean": interquartile_mean(scores),
        "interval": stratified_interval(scores),
        **(
            {
                "over_optimum": interquartile_mean(over_optimum),
                "over_optimum_interval": stratified_interval(over_optimum),
            }
            if over_optimum.size
            else {}
        ),
        "tasks": rows,
        "recurring": [found for row in by_seed for found in row["recurring"]],
        **({"formulas": _formulas_document(drawn)} if drawn else {}),
        "by_seed": list(by_seed),
    }


def _scores(by_seed: Sequence[dict[str, Any]], tasks: Sequence[Task], key: str) -> FloatArray:
    """Return `(seeds, tasks)`; nothing where a run has no such score."""
    found = [[row["tasks"][task.name].get(key) for task in tasks] for row in by_seed]
    if any(score is None for row in found for score in row):
        return np.zeros((0, 0))
    return np.array(found, np.float64)


def _run_formulas(
    spec: DomainSpec, skills: Primitives, formulas: int | Sequence[str], limit: int
) -> list[dict[str, Any]]:
    """Run drawn formulas, or those given."""
    shown = [goal.labels for goal in skills.goals]
    texts = drawn_formulas(spec, shown, formulas) if isinstance(formulas, int) else formulas
    rows = []
    for text in texts:
        mission = compile_mission(text, propositions=spec.propositions)
        runs = run_mission(spec, skills, mission, STARTS_OF_A_FORMULA, limit)
        rows.append({"mission": text, **runs.document()})
    return rows


def _formulas_document(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    worst = [row["mission"] for row in rows if row["success"] < 1]
    return {
        "runs": sum(row["episodes"] for row in rows),
        "success": float(np.mean([row["success"] for row in rows])),
        "violations": float(np.mean([row["violations"] for row in rows])),
        "not_always": worst[:20],
    }
