"""What a method has to learn: one or more missions in a tabular world, as arrays.

Machine states of all missions are numbered together. The agent sees ⟨cell, u⟩; hidden counters of the
world it does not. In machines with promises (standing orders such as `F G a`) the agent also chooses
whether to make one: an *action* is then a move of the world together with a choice, 0 for none. A broken
promise is the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skm_machine.errors import SkmError
from skm_machine.machine_values import optimal_values
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.tabular.model import TabularModel


class World(NamedTuple):
    """The world, for compiled loops."""

    transitions: IntArray
    """`[state, move]`."""
    cells: IntArray
    """`[state]`."""
    labels: IntArray
    """`[state]`: the number of its label set."""
    starts: IntArray
    """`[cell]`: the state of a start there."""


class Machines(NamedTuple):
    """The machines of all missions, for compiled loops."""

    target: IntArray
    """`[u, choice, labels]`: δ_u."""
    reward: FloatArray
    """`[u, choice, labels]`: δ_r."""
    over: BoolArray
    """`[u, choice, labels]`: whether that ends the episode, accepted or failed."""
    possible: BoolArray
    """`[labels, u]`: whether the machine can be in u after these labels, whatever it was in before."""
    initial: IntArray
    """`[mission]`."""
    running: IntArray
    """The states in which a mission goes on."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Missions in a tabular world; each episode has one of them, drawn."""

    model: TabularModel
    missions: tuple[Mission, ...]
    world: World
    machines: Machines
    offsets: tuple[int, ...]
    """The number of each mission's first machine state."""

    @property
    def endless(self) -> bool:
        """Whether the missions have no end: then an episode's return counts rounds."""
        return self.missions[0].machine.endless

    @property
    def choices(self) -> int:
        """How many choices go with a move: 1 where nothing is ever promised."""
        return int(self.machines.target.shape[1])

    @property
    def actions(self) -> int:
        """Moves of the world × choices."""
        return self.model.num_actions * self.choices

    @property
    def states(self) -> int:
        """Machine states of all missions."""
        return len(self.machines.target)

    def potentials(self, gamma: float) -> FloatArray:
        """Return Φ(u) = −V(u), V by value iteration on the machine; 0 where a mission is over.

        Reward shaping of Icarte et al., section 5.3: r + γΦ(u') − Φ(u). Values above 1, which missions
        without end have, are scaled to 1: an option of HRM-RS would rather stay than leave for its 1.
        """
        values = [optimal_values(mission.machine, gamma) for mission in self.missions]
        potential = -np.concatenate([np.array(each, np.float64) for each in values])
        return potential / max(1.0, float(np.abs(potential).max()))


def make_problem(model: TabularModel, missions: Sequence[Mission]) -> Problem:
    """Return missions in a world as arrays for learners."""
    if not missions:
        raise SkmError("there is no mission to learn.")
    if len({mission.machine.endless for mission in missions}) > 1:
        raise SkmError("missions with an end and without cannot be learned together.")
    if any(mission.events for mission in missions):
        raise SkmError("the baselines know no events; leave them out of the mission.")
    machines = [mission.machine for mission in missions]
    choices = max(
        1 + len(machine.promises(u)) for machine in machines for u in range(machine.num_states)
    )
    tables = [_table(machine, model, choices) for machine in machines]
    sizes = [machine.num_states for machine in machines]
    offsets = tuple(np.cumsum([0, *sizes[:-1]]).tolist())
    target = np.concatenate(
        [table[0] + offset for table, offset in zip(tables, offsets, strict=True)]
    )
    reward, over = (np.concatenate([table[part] for table in tables]) for part in (1, 2))
    possible = np.zeros((len(model.label_sets), len(target)), np.bool_)
    for labels in range(len(model.label_sets)):
        possible[labels, target[:, :, labels].reshape(-1)] = True
    running = [
        offset + u
        for machine, offset in zip(machines, offsets, strict=True)
        for u in range(machine.num_states)
        if u not in machine.terminal and u not in machine.failure
    ]
    initial = [machine.initial + offset for machine, offset in zip(machines, offsets, strict=True)]
    return Problem(
        model,
        tuple(missions),
        World(
            np.ascontiguousarray(model.transitions, np.int64),
            np.ascontiguousarray(model.cells, np.int64),
            np.ascontiguousarray(model.label_ids, np.int64),
            np.ascontiguousarray(model.start_states, np.int64),
        ),
        Machines(target, reward, over, possible, np.array(initial), np.array(running)),
        offsets,
    )


def _table(
    machine: RewardMachine, model: TabularModel, choices: int
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return δ_u, δ_r and whether it is over, `[u, choice, labels]`."""
    shape = machine.num_states, choices, len(model.label_sets)
    target, reward = np.zeros(shape, np.int64), np.zeros(shape)
    over = np.ones(shape, np.bool_)
    for u in range(machine.num_states):
        ways = (u, *machine.promises(u))
        for choice in range(choices):
            way = ways[choice] if choice < len(ways) else u
            for labels, shown in enumerate(model.label_sets):
                outcome = machine.step(way, shown) if u not in machine.terminal else Outcome(u, 0)
                kept = machine.keeps(way, outcome)
                target[u, choice, labels] = outcome.target if kept else u
                reward[u, choice, labels] = outcome.reward if kept else 0.0
                over[u, choice, labels] = (
                    not kept
                    or outcome.target in machine.terminal
                    or outcome.target in machine.failure
                )
    return target, reward, over


def best_return(problem: Problem, epsilon: float, steps: int) -> float:
    """Return the greatest mean return of an episode that any policy has, if actions slip with `epsilon`.

    Backward induction on the true product, hidden counters included, over all starts and missions. Where
    missions end, the return is the chance of success (machines that pay 1). Promises are made once it is
    seen where a step has led, as skill machines do; learners choose before, and slip in that, too.
    """
    world, machines = problem.world, problem.machines
    entered = world.labels[world.transitions]  # [state, move]
    target = machines.target[:, :, entered]  # [u, choice, state, move]
    reward, over = machines.reward[:, :, entered], machines.over[:, :, entered]
    after = world.transitions[None, None]
    value = np.zeros((problem.states, problem.model.num_states))
    for _ in range(steps):
        onward = reward + np.where(over, 0.0, value[target, after])
        promised = onward.max(axis=1)  # [u, state, move]
        best = (1 - epsilon) * promised.max(axis=2) + epsilon * promised.mean(axis=2)
        spreads = bool(((best > 0) & (value == 0)).any())  # a far start is not reached yet
        settled = np.abs(best - value).max() < 1e-9
        value = best
        if settled and not spreads:
            break
    return float(value[np.ix_(machines.initial, world.starts)].mean())
