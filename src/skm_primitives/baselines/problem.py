"""What a method has to learn: one or more missions in a tabular world, as arrays.

Machine states of all missions are numbered together. The agent sees ⟨cell, u⟩; hidden counters of the
world it does not. In machines with commitments (recurring missions such as `F G a`) the agent also
chooses whether to make one: an *action* is then a move of the world together with a choice, 0 for none.
A broken commitment is the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_machine.reward_machine import RewardMachine
from skm_machine.skill_machine import optimal_values
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.tabular import TabularModel

# Compiled loops: numba where it is there, a sentence where it is not; and what every loop draws
# from.
#
# Random numbers are SplitMix64 (Steele, Lea & Flood 2014), kept in an array of one number: the
# same on every machine, and a stream of its own for each run and each evaluation.


try:
    from numba import njit
except ImportError:  # the extra `baselines` is not installed: said on use
    njit = None

Function = TypeVar("Function", bound=Callable[..., Any])

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def compiled(function: Function) -> Function:
    """Compile a loop when it is first called, and keep what was compiled on disk."""
    if njit is None:

        def missing(*_: object) -> None:
            raise SkmError(
                "the baselines are compiled by numba; install it with `pip install"
                " 'skm[baselines]'`."
            )

        return cast(Function, missing)
    return cast(Function, njit(cache=True, nogil=True)(function))


@compiled
def stream(seed: int, number: int) -> NDArray[np.uint64]:
    """Return the random stream `number` of a run."""
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed) * _MIX_1 + np.uint64(number) * _MIX_2 + _GOLDEN
    for _ in range(3):
        uniform(state)
    return state


@compiled
def uniform(state: NDArray[np.uint64]) -> float:
    """Draw from [0, 1)."""
    state[0] += _GOLDEN
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    mixed = mixed ^ (mixed >> np.uint64(31))
    return np.float64(mixed >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def below(state: NDArray[np.uint64], count: int) -> int:
    """Draw a whole number from 0 to `count` − 1."""
    return int(uniform(state) * count)


@compiled
def soft(values: NDArray[np.float64], epsilon: float, state: NDArray[np.uint64]) -> int:
    """Return a random index with probability `epsilon`, else that of the greatest value."""
    if uniform(state) < epsilon:
        return below(state, len(values))
    return greedy(values, state)


@compiled
def greedy(values: NDArray[np.float64], state: NDArray[np.uint64]) -> int:
    """Return the index of the greatest value; ties are drawn."""
    best, ties, chosen = values[0], 1, 0
    for index in range(1, len(values)):
        value = values[index]
        if value > best:
            best, ties, chosen = value, 1, index
        elif value == best:
            ties += 1
            if uniform(state) * ties < 1.0:
                chosen = index
    return chosen


@compiled
def highest(values: NDArray[np.float64]) -> float:
    """Return the greatest value."""
    best = values[0]
    for index in range(1, len(values)):
        best = max(best, values[index])
    return float(best)


# The settings of a learner: what was in effect in the paper's comparison, and all that can be
# set.


class Numbers(NamedTuple):
    """The same for compiled loops."""

    steps: int
    every: int
    alpha: float
    gamma: float
    epsilon: float
    test_epsilon: float
    initial: float
    episode_steps: int
    evaluations: int


@dataclass(frozen=True)
class LearningSettings:
    """How a method learns and is evaluated."""

    steps: int = 400_000
    every: int = 1000
    """Steps between two evaluations, of which there is one before the first step, too."""
    alpha: float = 0.1
    gamma: float = 0.9
    epsilon: float = 0.5
    """The share of random actions while learning."""
    test_epsilon: float = 0.1
    """The share of random actions in evaluations."""
    initial: float = 2.0
    """What Q begins at."""
    episode_steps: int = 1000
    """An episode that is not over by then is cut off: no end of the mission, only a new start."""
    evaluations: int = 10
    """Episodes of each evaluation; the paper has one."""

    def __post_init__(self) -> None:
        shares = ("alpha", "gamma", "epsilon", "test_epsilon")
        for name in shares:
            if not 0 <= getattr(self, name) <= 1:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be from 0 to 1.")
        for name in ("steps", "every", "episode_steps", "evaluations"):
            if getattr(self, name) < 1:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.steps % self.every:
            raise SkmError(
                f"{self.steps} steps are not a multiple of {self.every}, between evaluations."
            )

    @property
    def numbers(self) -> Numbers:
        """The settings for compiled loops."""
        return Numbers(
            self.steps,
            self.every,
            self.alpha,
            self.gamma,
            self.epsilon,
            self.test_epsilon,
            self.initial,
            self.episode_steps,
            self.evaluations,
        )


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
        1 + len(machine.commitments(u)) for machine in machines for u in range(machine.num_states)
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
    rows = machine.table(model.label_sets)
    for u in range(machine.num_states):
        ways = (u, *machine.commitments(u))
        for choice in range(choices):
            way = ways[choice] if choice < len(ways) else u
            for labels, outcome in enumerate(rows[way]):
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
        continuation = reward + np.where(over, 0.0, value[target, after])
        promised = continuation.max(axis=1)  # [u, state, move]
        best = (1 - epsilon) * promised.max(axis=2) + epsilon * promised.mean(axis=2)
        spreads = bool(((best > 0) & (value == 0)).any())  # a far start is not reached yet
        settled = np.abs(best - value).max() < 1e-9
        value = best
        if settled and not spreads:
            break
    return float(value[np.ix_(machines.initial, world.starts)].mean())


# Learning curves of a method: what each evaluation of each run returned.


WINDOW = 40
"""Consecutive evaluations that a figure's point is the mean of, as in the paper."""
LATEST = 5
"""Of a table's figure: a window of 40 would lag 20,000 steps behind a learner that still improves."""


@dataclass(frozen=True, eq=False)
class Curves:
    """The mean return of each evaluation of each run, `[run, evaluation]`.

    The first evaluation is before any learning.
    """

    method: str
    scores: FloatArray
    settings: LearningSettings
    seeds: tuple[int, ...]

    @property
    def steps(self) -> IntArray:
        """`[evaluation]`: after how many steps."""
        return np.arange(self.scores.shape[1]) * self.settings.every

    def smoothed(self, window: int = WINDOW) -> FloatArray:
        """Return for each evaluation the mean of the last `window`; of fewer at the beginning."""
        total = np.cumsum(np.pad(self.scores, ((0, 0), (1, 0))), axis=1)
        end = np.arange(1, total.shape[1])
        begin = np.maximum(end - window, 0)
        smooth: FloatArray = (total[:, end] - total[:, begin]) / (end - begin)
        return smooth

    def at(self, steps: int) -> tuple[float, float]:
        """Return mean and standard deviation over the runs, of the last evaluations up to there."""
        found = self.smoothed(LATEST)[
            :, min(steps // self.settings.every, self.scores.shape[1] - 1)
        ]
        return float(found.mean()), float(found.std())

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        smooth = self.smoothed()
        mean, deviation = self.at(self.settings.steps)
        return {
            "method": self.method,
            "settings": asdict(self.settings),
            "seeds": list(self.seeds),
            "final": mean,
            "final_deviation": deviation,
            "first": float(self.scores[:, 0].mean()),
            "steps": self.steps.tolist(),
            "mean": smooth.mean(axis=0).round(6).tolist(),
            "deviation": smooth.std(axis=0).round(6).tolist(),
        }
