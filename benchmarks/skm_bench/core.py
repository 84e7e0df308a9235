"""How fast the core is on this machine: translation, worlds, and a composed step of each domain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from skm_machine import compile_mission
from skm_primitives.execution.episodes import run_episode
from skm_primitives.planning.planners import PLANNERS, make_policy
from skm_primitives.skills.loading import load_primitives
from skm_sim.spec import DomainSpec

BATCH = 256
REPEATS = 5


@dataclass(frozen=True)
class Timing:
    """The CPU time of one thing, the best of a few tries."""

    domain: str
    what: str
    milliseconds: float

    def document(self) -> dict[str, str | float]:
        """Return it as JSON."""
        return {"domain": self.domain, "what": self.what, "milliseconds": self.milliseconds}


def measure_speed(specs: Iterable[DomainSpec]) -> list[Timing]:
    """Return timings of each domain: its longest mission, its worlds, and steps zero-shot."""
    return [
        timing for spec in specs for timing in (*_missions(spec), *_worlds(spec), *_steps(spec))
    ]


def _missions(spec: DomainSpec) -> list[Timing]:
    task = max(spec.tasks.values(), key=lambda task: len(task.formula))
    seconds = best_of(lambda: compile_mission(task.formula, propositions=spec.propositions))
    return [Timing(spec.name, f"compile task {task.name}", 1e3 * seconds)]


def _worlds(spec: DomainSpec) -> list[Timing]:
    env, batch = spec.make(), spec.make_batch(BATCH)
    env.reset(seed=0)
    batch.reset(seed=0)
    action, actions = env.action_space.sample(), batch.action_space.sample()
    timings = [
        Timing(spec.name, "reset", 1e3 * best_of(env.reset)),
        Timing(spec.name, "step", 1e3 * best_of(lambda: env.step(action))),
        Timing(
            spec.name,
            f"step of a batch, a world of {BATCH}",
            1e3 * _step(batch, actions) / spec.hold,
        ),
    ]
    env.close()
    batch.close()
    return timings


def _step(batch: object, actions: object) -> float:
    return best_of(lambda: batch.step(actions)) / BATCH  # type: ignore[attr-defined]


def _steps(spec: DomainSpec, steps: int = 40) -> list[Timing]:
    """Return the time from an observation to an action and the next, of a mission that goes on."""
    primitives, timings = load_primitives(spec), []
    task = spec.demo_task
    mission = compile_mission(task.formula, propositions=spec.propositions, repeat=True)
    for planner in PLANNERS:
        policy, env, seconds = make_policy(mission, primitives, planner), spec.make(), []
        for seed in range(REPEATS):
            started = time.process_time()
            episode = run_episode(env, primitives, policy, max_steps=steps, seed=seed)
            seconds.append((time.process_time() - started) / max(1, episode.steps))
        env.close()
        timings.append(Timing(spec.name, f"zero-shot step, planner {planner}", 1e3 * min(seconds)))
    return timings


def best_of(work: Callable[[], object], repeats: int = REPEATS, times: int = 20) -> float:
    """Return the CPU seconds of some work: the best mean of a few tries."""
    tries = []
    for _ in range(repeats):
        started = time.process_time()
        for _ in range(times):
            work()
        tries.append((time.process_time() - started) / times)
    return float(np.min(tries))
