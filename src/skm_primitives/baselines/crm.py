"""CRM: Q-learning with counterfactual experiences (Icarte et al., section 4.1), and CRM-RS.

Each step of the world is learned from in every machine state ū, of every mission, that the machine could
have been in: Q(s,ū,a) moves towards δ_r(ū,L(s')) + γ max_a' Q(s', δ_u(ū,L(s')), a'). States that
no state leads to under the labels last shown are left out, as in the authors' code.
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
from skm_primitives.baselines.q_learning import evaluate
from skm_sim.arrays import FloatArray


@compiled
def learn(
    world: World, machines: Machines, potential: FloatArray, numbers: Numbers, seed: int
) -> FloatArray:
    """Learn; return the mean return of each evaluation."""
    states, choices = machines.target.shape[0], machines.target.shape[1]
    actions = world.transitions.shape[1] * choices
    q = np.full((len(world.starts) * states, actions), numbers.initial)
    random = stream(seed, 0)
    scores = np.zeros(numbers.steps // numbers.every + 1)
    scores[0] = evaluate(world, machines, q, numbers, seed, 1)
    state, u, elapsed = 0, 0, numbers.episode_steps
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
        for other in machines.running:
            if elapsed and not machines.possible[shown, other]:
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
