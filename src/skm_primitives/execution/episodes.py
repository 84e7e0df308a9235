"""Running a mission in a simulated world, in process, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import gymnasium
import numpy as np

from skm_machine.events import EventScript
from skm_machine.tracker import MissionTracker, Status, Transition
from skm_primitives.execution.explain import MissionText
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.policy import Decision, Policy
from skm_primitives.planning.shield import AnyShield
from skm_primitives.skills.values import AnyGoalValues, Primitives, SelectivePrimitives
from skm_sim.faults import environment_faults


@dataclass(frozen=True)
class Episode:
    """What happened in one run of a mission."""

    status: Status
    """`RUNNING` if the time was up first, or the mission got nowhere."""
    steps: int
    """How many steps it had."""
    total_reward: float
    """The rewards of the machine, added up."""
    discounted_return: float
    """The same, discounted from the first step on."""
    accepting_visits: int
    """How often a transition was rewarded: of a recurring mission, its rounds."""
    transitions: tuple[Transition, ...]
    """All of them, unlike a tracker's: an episode is kept whole, for it has a step limit."""
    observations: tuple[Any, ...]
    """What was observed, the start first."""
    decisions: tuple[Decision, ...]
    """What was decided in each step, if that was asked for."""
    stalled: bool = False
    """Whether it was given up: it got nowhere, or whatever was left to do would have failed."""
    world_ended: bool = False
    """Whether the world came to an end with the last step."""
    endless: bool = False
    """Whether it was a recurring mission, or a mission that starts over."""
    warnings: tuple[str, ...] = ()
    """Deadlines that were not expected to be met: the first warning in each machine state."""

    @property
    def outcome(self) -> str:
        """How it ended: `accepted`, `failed`, `world ended`, `no progress` or `timed out`.

        Or `satisfied so far`: a recurring mission whose time was up, or a mission that starts over, with
        rounds completed and nothing lost.
        """
        if self.status is Status.RUNNING and self.world_ended:
            return "world ended"
        if self.status is Status.RUNNING:
            if self.stalled:
                return "no progress"
            return "satisfied so far" if self.endless and self.accepting_visits else "timed out"
        return str(self.status.value)


class Recorder(Protocol):
    """What takes part in a run to keep it: see `skm_primitives.recording.episode_recorder`."""

    def begin(self, run: MissionRun, observation: Any, labels: frozenset[str]) -> None:  # noqa: ANN401
        """Take the first state."""
        ...

    def decided(self, run: MissionRun, action: Any) -> None:  # noqa: ANN401
        """Take what is about to be done in the present state."""
        ...

    def entered(
        self,
        run: MissionRun,
        observation: Any,  # noqa: ANN401
        labels: frozenset[str],
        *,
        moved: bool,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Take the state that a step has led to."""
        ...

    def end(self, run: MissionRun, outcome: str, reason: str = "") -> None:
        """Take how it ended."""
        ...


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
    shield: AnyShield | None = None,
    events: EventScript | None = None,
    recorder: Recorder | None = None,
) -> Episode:
    """Run a mission once, from `env.reset(seed, options)` to its end, a stall or `max_steps`.

    A `shield` replaces actions after which the mission can only fail. `events` says which events are
    true in each step, besides the labels of the world. With `epsilon`, that share of the actions is
    random, drawn from `rng`. `watch` is called after every step. A `recorder` keeps the run, also one
    that a `KeyboardInterrupt` ends: best raised by `watch`, between two steps.
    """
    rng = rng or np.random.default_rng(seed)
    with environment_faults(primitives.domain, "reset()"):
        observation, info = env.reset(seed=seed, options=options)
    run = MissionRun(policy, primitives, max_steps, shield)
    happening = EventScript("") if events is None else events
    run.begin(observation, info["labels"] | happening.at(0))
    if recorder is not None:
        recorder.begin(run, observation, info["labels"] | happening.at(0))
    observations, decisions, earned = [observation], [], [0.0]
    transitions: list[Transition] = []
    text, late = MissionText(run), dict[int, str]()
    terminated = False
    with _ended_if_interrupted(run, recorder):
        while not run.over:
            decision = run.decision
            if decision is None or not run.holding:
                decision = run.decide(_values(primitives, run, observation))
                if run.tracker.state not in late and (warning := text.late):
                    late[run.tracker.state] = warning
            if run.blocked:
                break
            action = decision.action
            if epsilon and rng.random() < epsilon:
                action = int(rng.integers(primitives.action_space.n))  # type: ignore[attr-defined]
            if recorder is not None:
                recorder.decided(run, action)
            with environment_faults(primitives.domain, "step()"):
                observation, _, terminated, truncated, info = env.step(action)
            labels = info["labels"] | happening.at(run.tracker.steps + 1)
            before = run.tracker.moves
            moved = run.enter(observation, labels)
            transitions += run.tracker.transitions_since(before)
            if recorder is not None:
                ends = {"terminated": bool(terminated), "truncated": bool(truncated)}
                recorder.entered(run, observation, labels, moved=moved, **ends)
            earned.append(run.tracker.total_reward)
            observations.append(observation)
            decisions.append(decision)
            if watch is not None:
                watch(run.tracker, decision)
            if terminated or truncated:
                break
    episode = Episode(
        run.tracker.status,
        run.tracker.steps,
        run.tracker.total_reward,
        sum(primitives.gamma**step * (b - a) for step, (a, b) in enumerate(pairwise(earned))),
        run.tracker.accepting_visits,
        tuple(transitions),
        tuple(observations),
        tuple(decisions),
        run.stalled or run.blocked,
        bool(terminated),
        policy.mission.machine.endless,
        tuple(late.values()),
    )
    if recorder is not None:
        recorder.end(run, episode.outcome)
    return episode


@contextmanager
def _ended_if_interrupted(run: MissionRun, recorder: Recorder | None) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if recorder is not None:
            recorder.end(run, "cancelled", "interrupted")
        raise


def _values(primitives: Primitives, run: MissionRun, observation: Any) -> AnyGoalValues:  # noqa: ANN401
    """Return the values to decide by: of the goals that matter, where that is quicker."""
    wanted = run.wanted
    if wanted is not None and isinstance(primitives, SelectivePrimitives):
        return primitives.wanted_values(observation, run.history, wanted)
    return primitives.values(observation, run.history)
