"""SM, skills composed zero-shot, and QL-SM, Q-learning that begins there (the paper's Algorithm 3).

QL-SM acts by argmax_a max{γ Q(s,u,a), (1−γ) δ_Q(u)(⟨s,c⟩,a)}, while it learns and when it is
evaluated, as printed. (`skm finetune` returns another policy, which never ends below zero-shot: see
`skm_primitives.few_shot.tabular`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skm_machine.mission import Mission
from skm_primitives.baselines.problem import (
    Numbers,
    below,
    compiled,
    greedy,
    highest,
    stream,
    uniform,
)
from skm_primitives.few_shot.tabular import tabular_mission, tabulate
from skm_primitives.planning.planners import make_policy
from skm_primitives.skills.values import Primitives
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.tabular import TabularModel


class Skilled(NamedTuple):
    """The missions with their zero-shot policies, over situations ⟨u, c, state⟩; for compiled loops."""

    following: IntArray
    """`[situation, action]`: what follows."""
    reward: FloatArray
    """`[situation, action]`."""
    over: BoolArray
    """`[situation, action]`."""
    seen: IntArray
    """`[situation]`: the row of Q, ⟨cell, u⟩."""
    starts: IntArray
    """`[mission, cell]`."""
    composed: FloatArray
    """`[situation, action]`: δ_Q(u)(⟨s,c⟩,a)."""
    action: IntArray
    """`[situation]`: what the zero-shot policy does."""


def compose(
    mission: Mission, model: TabularModel, primitives: Primitives, planner: str, slip: float
) -> Skilled:
    """Return one mission with the zero-shot policy of a planner.

    `slip` is the share of random actions that the product planner expects. Commitments, where a mission
    has them, are made and given up by the zero-shot policy; QL-SM learns the moves.
    """
    policy = make_policy(mission, primitives, planner, slip=slip)
    world = tabular_mission(mission, model, policy)
    found = tabulate(world, policy, primitives)
    return Skilled(
        world.following,
        world.reward,
        world.ended,
        world.seen,
        world.starts[None],
        found.composed,
        found.action,
    )


def joined(parts: Sequence[Skilled]) -> Skilled:
    """Return several missions as one: situations and rows of Q are numbered on."""
    shifted = []
    situations = rows = 0
    for part in parts:
        shifted.append(
            part._replace(
                following=part.following + situations,
                seen=part.seen + rows,
                starts=part.starts + situations,
            )
        )
        situations += len(part.seen)
        rows += int(part.seen.max()) + 1
    return Skilled(
        *(np.ascontiguousarray(np.concatenate(field)) for field in zip(*shifted, strict=True))
    )


def seeing_all(skilled: Skilled) -> Skilled:
    """Return the same for an agent that sees all of a situation, hidden counters included."""
    return skilled._replace(seen=np.arange(len(skilled.seen)))


@compiled
def learn(skilled: Skilled, numbers: Numbers, seed: int) -> FloatArray:
    """Learn few-shot; return the mean return of each evaluation."""
    actions = skilled.composed.shape[1]
    q = np.full((skilled.seen.max() + 1, actions), numbers.initial)
    values = np.empty(actions)
    random = stream(seed, 0)
    scores = np.zeros(numbers.steps // numbers.every + 1)
    scores[0] = evaluate(skilled, q, numbers, seed, 1)
    here, elapsed = 0, numbers.episode_steps
    for step in range(1, numbers.steps + 1):
        if elapsed >= numbers.episode_steps:
            mission = below(random, skilled.starts.shape[0])
            here = skilled.starts[mission, below(random, skilled.starts.shape[1])]
            elapsed = 0
        row = skilled.seen[here]
        if uniform(random) < numbers.epsilon:
            action = below(random, actions)
        else:
            printed_rule(skilled.composed[here], q[row], numbers.gamma, values)
            action = greedy(values, random)
        after, over = skilled.following[here, action], skilled.over[here, action]
        target = skilled.reward[here, action]
        if not over:
            target += numbers.gamma * highest(q[skilled.seen[after]])
        q[row, action] += numbers.alpha * (target - q[row, action])
        here = after
        elapsed = numbers.episode_steps if over else elapsed + 1
        if step % numbers.every == 0:
            number = step // numbers.every
            scores[number] = evaluate(skilled, q, numbers, seed, number + 1)
    return scores


@compiled
def printed_rule(composed: FloatArray, q: FloatArray, gamma: float, values: FloatArray) -> None:
    """Write max{γ Q, (1−γ) δ_Q} of each action into `values`."""
    for action in range(len(values)):
        values[action] = max(gamma * q[action], (1 - gamma) * composed[action])


@compiled
def evaluate(skilled: Skilled, q: FloatArray, numbers: Numbers, seed: int, number: int) -> float:
    """Return the mean return of episodes, ε-greedy on the printed rule."""
    actions = skilled.composed.shape[1]
    values = np.empty(actions)
    random = stream(seed, number)
    total = 0.0
    for _ in range(numbers.evaluations):
        mission = below(random, skilled.starts.shape[0])
        here = skilled.starts[mission, below(random, skilled.starts.shape[1])]
        for _ in range(numbers.episode_steps):
            if uniform(random) < numbers.test_epsilon:
                action = below(random, actions)
            else:
                printed_rule(skilled.composed[here], q[skilled.seen[here]], numbers.gamma, values)
                action = greedy(values, random)
            total += skilled.reward[here, action]
            if skilled.over[here, action]:
                break
            here = skilled.following[here, action]
    return total / numbers.evaluations


@compiled
def zero_shot(skilled: Skilled, numbers: Numbers, seed: int) -> FloatArray:
    """Evaluate the zero-shot policy as often as a learner is, ε-greedily; nothing is learned."""
    actions = skilled.composed.shape[1]
    scores = np.zeros(numbers.steps // numbers.every + 1)
    for number in range(len(scores)):
        random = stream(seed, number + 1)
        for _ in range(numbers.evaluations):
            mission = below(random, skilled.starts.shape[0])
            here = skilled.starts[mission, below(random, skilled.starts.shape[1])]
            for _ in range(numbers.episode_steps):
                if uniform(random) < numbers.test_epsilon:
                    action = below(random, actions)
                else:
                    action = skilled.action[here]
                scores[number] += skilled.reward[here, action]
                if skilled.over[here, action]:
                    break
                here = skilled.following[here, action]
    return scores / numbers.evaluations
