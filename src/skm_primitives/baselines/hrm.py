"""HRM: options for the machine's edges, learned off-policy, under a controller (Icarte et al.)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skm_machine.reward_machine import RewardMachine
from skm_primitives.baselines.problem import (
    Machines,
    Numbers,
    Problem,
    World,
    below,
    compiled,
    highest,
    soft,
    stream,
)
from skm_sim.arrays import FloatArray, IntArray

# The options of HRM: one for each edge of a machine that is no self-loop (Icarte et al., section
# 4.2).
#
# Edges into failure have none, as in the authors' code. Nor have edges that no label set of the
# world takes: an option for `coffee & mail`, which is nowhere, can only be tried without success.


class Options(NamedTuple):
    """Options by number, those of a machine state in a row; for compiled loops."""

    source: IntArray
    """`[option]`: u."""
    target: IntArray
    """`[option]`: the machine state that its edge leads to."""
    reward: FloatArray
    """`[option]`: what its edge pays."""
    first: IntArray
    """`[u]`: the number of its first option."""
    number: IntArray
    """`[u]`: how many it has."""


def make_options(problem: Problem, *, unachievable: bool = False) -> Options:
    """Return the options of all missions; with `unachievable`, also those of edges never taken."""
    found: list[tuple[int, int, float]] = []
    for mission, offset in zip(problem.missions, problem.offsets, strict=True):
        for u, target, reward in _edges(mission.machine, problem, unachievable=unachievable):
            found.append((u + offset, target + offset, reward))
    found.sort()
    source = np.array([edge[0] for edge in found], np.int64)
    states = np.arange(problem.states)
    first = np.searchsorted(source, states).astype(np.int64)
    count = np.searchsorted(source, states, side="right").astype(np.int64) - first
    return Options(
        source,
        np.array([edge[1] for edge in found], np.int64),
        np.array([edge[2] for edge in found], np.float64),
        first,
        count,
    )


def _edges(
    machine: RewardMachine, problem: Problem, *, unachievable: bool
) -> set[tuple[int, int, float]]:
    """Return (u, target, reward) of the edges that are no self-loops and do not fail."""
    edges: set[tuple[int, int, float]] = set()
    shown = machine.table(problem.model.label_sets)
    for u in range(machine.num_states):
        if u in machine.terminal or u in machine.failure:
            continue
        ways = (u, *machine.commitments(u))
        outcomes = (
            [(way, outcome) for way in ways for outcome in _all(machine, way)]
            if unachievable
            else [(way, outcome) for way in ways for outcome in shown[way]]
        )
        for way, (target, reward) in outcomes:
            kept = way not in machine.committed or target in machine.committed
            moves = target != u or reward > 0
            if kept and moves and target not in machine.failure:
                edges.add((u, target, reward))
    return edges


def _all(machine: RewardMachine, state: int) -> Sequence[tuple[int, float]]:
    return [machine.outcomes[index] for index in machine.delta.outcomes(state)]


# HRM: options for the machine's edges, learned off-policy, under a controller (Icarte et al.,
# section 4.2), and HRM-RS.
#
# An option for the edge u → u' has Q_o(s,a). Its reward is the machine's (shaped in HRM-RS), and
# 1 more where its edge is taken; it ends where the machine leaves u. Every step of the world
# updates all options of all machine states that it could have been taken in. The controller's
# Q(s,u,o) is that of a semi-Markov problem: after k steps of an option, r_1 + γ r_2 + … + γ^k
# max_o' Q(s',u',o').


@compiled
def learn(
    world: World,
    machines: Machines,
    options: Options,
    potential: FloatArray,
    numbers: Numbers,
    seed: int,
) -> FloatArray:
    """Learn; return the mean return of each evaluation."""
    states, choices = machines.target.shape[0], machines.target.shape[1]
    actions = world.transitions.shape[1] * choices
    cells = len(world.starts)
    control = np.full((cells * states, max(1, options.number.max())), numbers.initial)
    q = np.full((len(options.source), cells, actions), numbers.initial)
    random = stream(seed, 0)
    scores = np.zeros(numbers.steps // numbers.every + 1)
    scores[0] = evaluate(world, machines, options, control, q, numbers, seed, 1)
    state, u, elapsed, option = 0, 0, numbers.episode_steps, -1
    began, discount, earned = 0, 1.0, 0.0
    for step in range(1, numbers.steps + 1):
        if elapsed >= numbers.episode_steps:
            state = world.starts[below(random, len(world.starts))]
            u = machines.initial[below(random, len(machines.initial))]
            elapsed, option = 0, -1
        cell = world.cells[state]
        if option < 0 and options.number[u]:
            began, discount, earned = cell * states + u, 1.0, 0.0
            option = choose_option(control[began], options, u, numbers.epsilon, random)
        action = choose_action(q, option, cell, numbers.epsilon, random)
        after = world.transitions[state, action // choices]
        labels, choice = world.labels[after], action % choices
        there, shown = world.cells[after], world.labels[state]

        known = shown if elapsed else -1
        update_options(machines, options, q, potential, numbers, known, cell, action, there, labels)
        then = machines.target[u, choice, labels]
        over = machines.over[u, choice, labels]
        reward = machines.reward[u, choice, labels]
        shaped = reward - potential[u]
        if not over:
            shaped += numbers.gamma * potential[then]
        earned += discount * shaped
        discount *= numbers.gamma
        if over or then != u or reward > 0:
            if option >= 0:
                target = earned
                if not over and options.number[then]:
                    row = control[there * states + then, : options.number[then]]
                    target += discount * highest(row)
                slot = option - options.first[u]
                control[began, slot] += numbers.alpha * (target - control[began, slot])
            option = -1
        state, u = after, then
        elapsed = numbers.episode_steps if over else elapsed + 1
        if step % numbers.every == 0:
            number = step // numbers.every
            scores[number] = evaluate(
                world, machines, options, control, q, numbers, seed, number + 1
            )
    return scores


@compiled
def update_options(
    machines: Machines,
    options: Options,
    q: FloatArray,
    potential: FloatArray,
    numbers: Numbers,
    shown: int,
    cell: int,
    action: int,
    there: int,
    labels: int,
) -> None:
    """Learn all options from one step of the world; `shown` are the labels before it, −1 at a start."""
    choice = action % machines.target.shape[1]
    for option in range(len(options.source)):
        source = options.source[option]
        if shown >= 0 and not machines.possible[shown, source]:
            continue
        then = machines.target[source, choice, labels]
        reward = machines.reward[source, choice, labels]
        over = machines.over[source, choice, labels]
        target = reward - potential[source]
        if not over:
            target += numbers.gamma * potential[then]
        if not over and then == source and reward <= 0:
            target += numbers.gamma * highest(q[option, there])
        elif then == options.target[option] and reward == options.reward[option]:
            target += 1.0
        q[option, cell, action] += numbers.alpha * (target - q[option, cell, action])


@compiled
def choose_option(
    values: FloatArray, options: Options, u: int, epsilon: float, random: NDArray[np.uint64]
) -> int:
    """Return an option of u: a random one with probability `epsilon`, else the best."""
    return int(options.first[u]) + soft(values[: options.number[u]], epsilon, random)


@compiled
def choose_action(
    q: FloatArray, option: int, cell: int, epsilon: float, random: NDArray[np.uint64]
) -> int:
    """Return the option's action; a random one with probability `epsilon`, or without an option."""
    if option < 0:
        return below(random, q.shape[2])
    return soft(q[option, cell], epsilon, random)


@compiled
def evaluate(
    world: World,
    machines: Machines,
    options: Options,
    control: FloatArray,
    q: FloatArray,
    numbers: Numbers,
    seed: int,
    number: int,
) -> float:
    """Return the mean return of episodes in which options and actions are chosen ε-greedily."""
    states, choices = machines.target.shape[0], machines.target.shape[1]
    random = stream(seed, number)
    total = 0.0
    for _ in range(numbers.evaluations):
        state = world.starts[below(random, len(world.starts))]
        u = machines.initial[below(random, len(machines.initial))]
        option = -1
        for _ in range(numbers.episode_steps):
            cell = world.cells[state]
            if option < 0 and options.number[u]:
                row = control[cell * states + u]
                option = choose_option(row, options, u, numbers.test_epsilon, random)
            action = choose_action(q, option, cell, numbers.test_epsilon, random)
            state = world.transitions[state, action // choices]
            labels, choice = world.labels[state], action % choices
            reward, then = machines.reward[u, choice, labels], machines.target[u, choice, labels]
            total += reward
            if machines.over[u, choice, labels]:
                break
            if then != u or reward > 0:
                option = -1
            u = then
    return total / numbers.evaluations
