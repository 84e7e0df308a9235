"""Running a mission in a simulated world, in process: observe, choose, act, track (Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from skm_machine.tracker import MissionTracker, Status, Step
from skm_primitives.planning.policy import Decision, Policy
from skm_primitives.primitives import Primitives


@dataclass(frozen=True)
class Episode:
    """What happened in one run of a mission."""

    status: Status
    """`RUNNING` if the time was up first."""
    steps: int
    total_reward: float
    discounted_return: float
    accepting_visits: int
    transitions: tuple[Step, ...]
    observations: tuple[Any, ...]
    """What was observed, the start first."""
    decisions: tuple[Decision, ...]


def run_episode(
    env: gymnasium.Env[Any, Any],
    primitives: Primitives,
    policy: Policy,
    *,
    max_steps: int,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    epsilon: float = 0.0,
    rng: np.random.Generator | None = None,
    watch: Callable[[MissionTracker, Decision], None] | None = None,
) -> Episode:
    """Run a mission once, from `env.reset(seed, options)` to its end or to `max_steps`.

    With `epsilon`, that share of the actions is random, drawn from `rng`. `watch` is called after
    every step.
    """
    rng = rng or np.random.default_rng(seed)
    observation, info = env.reset(seed=seed, options=options)
    tracker = MissionTracker(policy.mission.machine, primitives.constraints)
    tracker.start(info["labels"])
    policy.start(observation)
    observations, decisions, discounted = [observation], [], 0.0
    while tracker.status is Status.RUNNING and tracker.steps < max_steps:
        values = primitives.values(observation, policy.history(tracker))
        decision = policy.choose(tracker.state, values)
        action = decision.action
        if epsilon and rng.random() < epsilon:
            action = int(rng.integers(primitives.action_space.n))  # type: ignore[attr-defined]
        observation, _, terminated, _, info = env.step(action)
        transitions = len(tracker.transitions)
        reward = tracker.update(info["labels"])
        discounted += primitives.gamma ** (tracker.steps - 1) * reward
        policy.entered(observation, len(tracker.transitions) > transitions)
        observations.append(observation)
        decisions.append(decision)
        if watch is not None:
            watch(tracker, decision)
        if terminated:
            break
    return Episode(
        tracker.status,
        tracker.steps,
        tracker.total_reward,
        discounted,
        tracker.accepting_visits,
        tuple(tracker.transitions),
        tuple(observations),
        tuple(decisions),
    )
