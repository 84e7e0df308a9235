"""QL: Q-learning on the product, Q(s, u, a) (Icarte et al., section 3.2), and QL-RS, with shaping.

    Q(s,u,a) ← Q(s,u,a) + α [ r + γ max_a' Q(s',u',a') − Q(s,u,a) ]

With shaping, r is r + γΦ(u') − Φ(u), Φ = −V(u) (section 5.3); without, Φ is 0.
"""

from __future__ import annotations

import numpy as np

from skm_primitives.baselines.problem import (
    Machines,
    Numbers,
    World,
    below,
    compiled,
    highest,
    soft,
    stream,
)
from skm_sim.arrays import FloatArray


@compiled
def learn(
    world: World, machines: Machines, potential: FloatArray, numbers: Numbers, seed: int
) -> FloatArray:
    """Learn; return the mean return of each evaluation."""
    return learn_product(world, machines, potential, numbers, seed, False)


@compiled
def learn_product(
    world: World,
    machines: Machines,
    potential: FloatArray,
    numbers: Numbers,
    seed: int,
    counterfactual: bool,
) -> FloatArray:
    """Learn from each step in the machine's state; or in all that it could have been in (CRM)."""
    states, choices = machines.target.shape[0], machines.target.shape[1]
    actions = world.transitions.shape[1] * choices
    q = np.full((len(world.starts) * states, actions), numbers.initial)
    random = stream(seed, 0)
    scores = np.zeros(numbers.steps // numbers.every + 1)
    scores[0] = evaluate(world, machines, q, numbers, seed, 1)
    state, u, elapsed = 0, 0, numbers.episode_steps
    alone = machines.running[:1].copy()
    for step in range(1, numbers.steps + 1):
        if elapsed >= numbers.episode_steps:
            state = world.starts[below(random, len(world.starts))]
            u = machines.initial[below(random, len(machines.initial))]
            elapsed = 0
        here = world.cells[state] * states
        action = soft(q[here + u], numbers.epsilon, random)
        after = world.transitions[state, action // choices]
        labels, choice = world.labels[after], action % choices
        there, shown = world.cells[after] * states, world.labels[state]
        alone[0] = u
        for other in machines.running if counterfactual else alone:
            if counterfactual and elapsed and not machines.possible[shown, other]:
                continue
            then = machines.target[other, choice, labels]
            target = machines.reward[other, choice, labels] - potential[other]
            if not machines.over[other, choice, labels]:
                target += numbers.gamma * (potential[then] + highest(q[there + then]))
            q[here + other, action] += numbers.alpha * (target - q[here + other, action])
        over = machines.over[u, choice, labels]
        state, u = after, machines.target[u, choice, labels]
        elapsed = numbers.episode_steps if over else elapsed + 1
        if step % numbers.every == 0:
            number = step // numbers.every
            scores[number] = evaluate(world, machines, q, numbers, seed, number + 1)
    return scores


@compiled
def evaluate(
    world: World, machines: Machines, q: FloatArray, numbers: Numbers, seed: int, number: int
) -> float:
    """Return the mean return of ε-greedy episodes, from starts and missions drawn."""
    states, choices = machines.target.shape[0], machines.target.shape[1]
    random = stream(seed, number)
    total = 0.0
    for _ in range(numbers.evaluations):
        state = world.starts[below(random, len(world.starts))]
        u = machines.initial[below(random, len(machines.initial))]
        for _ in range(numbers.episode_steps):
            row = q[world.cells[state] * states + u]
            action = soft(row, numbers.test_epsilon, random)
            state = world.transitions[state, action // choices]
            labels = world.labels[state]
            total += machines.reward[u, action % choices, labels]
            if machines.over[u, action % choices, labels]:
                break
            u = machines.target[u, action % choices, labels]
    return total / numbers.evaluations
