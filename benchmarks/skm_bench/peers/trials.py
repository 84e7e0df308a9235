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
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.evaluation.statistics import interquartile_mean, stratified_interval
from skm_primitives.learning.training import make_learner, train
from skm_primitives.skills.checkpoint import checkpoint_path, load
from skm_primitives.skills.values import Primitives
from skm_sim import get_domain
from skm_sim.spec import DomainSpec

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
        train(learner, steps, path, f"skm bench peers --worlds {spec.name}")
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
    tasks = [task for task in spec.tasks.values() if not task.formula.startswith(("G", "F G"))]
    limit = max(task.max_steps for task in tasks)
    found: dict[str, list[dict[str, Any]]] = {task.name: [] for task in tasks}
    recurring: list[dict[str, Any]] = []
    drawn: list[dict[str, Any]] = []
    trained: list[Learned] = []
    for seed in seeds:
        trained.append(some := learned(spec, seed, out, steps, say))
        skills = load_primitives(spec, some.path)
        for task in tasks:
            mission = compile_mission(task.formula, propositions=spec.propositions)
            runs = run_mission(spec, skills, mission, starts, task.max_steps)
            found[task.name].append(runs.document())
            say(f"{name}, seed {seed}, task {task.name}: {runs.document()}")
        for text in RECURRING.get(name, ()):
            mission = compile_mission(text, propositions=spec.propositions)
            runs = run_mission(spec, skills, mission, starts, limit)
            mean = round(runs.rounds / starts, 2)
            row = {"seed": seed, "mission": text, "rounds": mean, "violated": runs.violated}
            recurring.append({**row, "episodes": starts})
            say(f"{name}, seed {seed}: {recurring[-1]}")
        drawn += _run_formulas(spec, skills, formulas, limit) if name in PUBLISHED else []
    scores = np.array([[row["success"] for row in found[task.name]] for task in tasks]).T
    rows = []
    for task in tasks:
        known = PUBLISHED.get(name, {}).get(task.name)
        steps_taken = [row["steps"] for row in found[task.name] if row["steps"] is not None]
        over = [row["over_optimum"] for row in found[task.name] if "over_optimum" in row]
        rows.append(
            {
                "task": task.name,
                "mission": task.formula,
                "success": float(np.mean([row["success"] for row in found[task.name]])),
                "worst_seed": min(row["success"] for row in found[task.name]),
                "violations": float(np.mean([row["violations"] for row in found[task.name]])),
                "steps": round(float(np.mean(steps_taken)), 2) if steps_taken else None,
                **({"over_optimum": round(float(np.mean(over)), 3)} if over else {}),
                **({"published": known._asdict()} if known else {}),
            }
        )
    return {
        "world": name,
        "seeds": list(seeds),
        "starts": starts,
        "training": [
            {"seed": some.seed, "steps": some.steps, "cpu_seconds": some.cpu_seconds}
            for some in trained
        ],
        "interquartile_mean": interquartile_mean(scores),
        "interval": stratified_interval(scores),
        "tasks": rows,
        "recurring": recurring,
        **({"formulas": _formulas_document(drawn)} if drawn else {}),
    }


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
