"""The true world of a domain, found out without anything that was learned there.

It is read from a `TabularModel`; from the table `P[state][action] = [(probability, next, reward, ended),
…]` that Gymnasium's toy-text environments have, checked against what the environment does; or by trying
every action in every state that the starts lead to (once in a deterministic world, else until the
transition probabilities are known well enough).
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.faults import environment_faults
from skm_sim.finite_world import Chances, FiniteWorld
from skm_sim.spec import DomainError, DomainSpec
from skm_sim.tabular import TabularModel

# How well transition probabilities are known from counts: Weissman's bound, and what it asks for.
#
# After n tries of an action that has k possible outcomes, the estimated distribution is, with
# probability 1 − δ, within √(2 ln((2^k − 2)/δ) / n) of the true one in the L1 norm (Weissman et
# al., 2003). An action with one outcome needs one try.


ERROR_PROBABILITY: Final = 0.05
"""δ: the probability, for each action in each state, that the bound does not hold."""


def _spread(outcomes: int) -> float:
    """Return 2 ln((2^k − 2)/δ), without the overflow of 2^k."""
    choices = math.log(2**outcomes - 2) if outcomes < 60 else outcomes * math.log(2)
    return 2 * (choices - math.log(ERROR_PROBABILITY))


def tries_needed(outcomes: int, error: float) -> int:
    """Return how many tries bring the bound on the L1 error down to `error`; 1 for one outcome."""
    return 1 if outcomes < 2 else math.ceil(_spread(outcomes) / error**2)


def error_bound(tries: IntArray, outcomes: int) -> FloatArray:
    """Return the bound on the L1 error after so many tries; never more than 2, the largest there is."""
    if outcomes < 2:
        return np.where(tries > 0, 0.0, 2.0)
    bound: FloatArray = np.sqrt(_spread(outcomes) / np.maximum(tries, 1))
    return np.where(tries > 0, np.minimum(bound, 2.0), 2.0)


MOST_STATES: Final = 100_000
"""Observation spaces of more values are not explored."""
MOST_STEPS: Final = 2_000_000
"""Steps after which exploring is given up."""
FRUITLESS_STARTS: Final = 1000
"""Episodes in a row that may bring nothing before exploring is given up."""
SURE_STEPS: Final = 2000
"""Random steps in a world that looks deterministic, to see whether it is."""
TARGET_ERROR: Final = 0.1
"""The L1 error of transition probabilities that are estimated here."""


def finite_world(spec: DomainSpec, seeds: Iterable[int]) -> FiniteWorld | None:
    """Return the part of a domain's world that its starts with these seeds lead to; None: not finite.

    None, too, where what is observed does not determine the labels, or where exploring does not come to
    an end: then the optimum is unknown.
    """
    env = spec.make()
    try:
        model = getattr(env.unwrapped, "model", None)
        if isinstance(model, TabularModel):
            return model.world
        spaces = env.observation_space, env.action_space
        if not all(isinstance(space, Discrete) and space.start == 0 for space in spaces):
            return None
        if env.observation_space.n > MOST_STATES:  # type: ignore[attr-defined]
            return None
        table = transition_table(env)
        for known in (table, None) if table is not None else (None,):
            try:
                return _Explorer(spec.name, env, known).world(list(seeds))
            except _WrongTableError:
                continue
            except _UnknownError:
                return None
        return None
    finally:
        env.close()


Table = Mapping[tuple[int, int], Mapping[tuple[int, bool], float]]
"""`[state, action][next, ended]`: the probability."""


class _WrongTableError(Exception):
    """The environment did what its table rules out."""


class _UnknownError(Exception):
    """The world cannot be found out."""


def transition_table(env: gymnasium.Env[Any, Any]) -> Table | None:
    """Return the table `P` of an environment, or of the one that it labels; None: it has none."""
    inner: Any = env.unwrapped
    while not hasattr(inner, "P") and isinstance(getattr(inner, "env", None), gymnasium.Env):
        inner = inner.env.unwrapped
    rows = getattr(inner, "P", None)
    if not isinstance(rows, Mapping):
        return None
    table: dict[tuple[int, int], Counter[tuple[int, bool]]] = {}
    try:
        for state, actions in rows.items():
            for action, outcomes in actions.items():
                chances: Counter[tuple[int, bool]] = Counter()
                for probability, following, _, ended in outcomes:
                    if probability > 0:
                        chances[int(following), bool(ended)] += probability
                if abs(sum(chances.values()) - 1) > 1e-6:
                    return None
                table[int(state), int(action)] = chances
    except (TypeError, ValueError, AttributeError):
        return None  # something else that is called P
    return table


class _Explorer:
    """Goes to the nearest thing that is not known well enough, until there is none."""

    def __init__(self, name: str, env: gymnasium.Env[Any, Any], table: Table | None) -> None:
        self._name, self._env, self._table = name, env, table
        self._actions = range(int(env.action_space.n))  # type: ignore[attr-defined]
        self._random = np.random.default_rng(0)
        self._labels: dict[int, frozenset[str]] = {}
        self._counts: dict[tuple[int, int], Counter[tuple[int, bool]]] = {}
        self._starts: set[int] = set()
        self._begun: set[int] = set()
        self._tries: dict[int, list[int]] = {}
        self._most_outcomes = self._need = 1
        self._gained = self._steps = 0
        self._cell = 0

    def world(self, seeds: Sequence[int]) -> FiniteWorld:
        """Explore all that the starts lead to, and return it."""
        for seed in seeds:
            self._begin(seed)
            self._starts.add(self._cell)
        fruitless = 0
        while True:
            gained = self._gained
            self._begin(int(self._random.integers(2**31)))
            self._episode()
            fruitless = 0 if self._gained > gained else fruitless + 1
            if fruitless and self._complete():
                break  # which takes a while to find out, so only where there may be nothing more
            if fruitless > FRUITLESS_STARTS:
                raise _UnknownError
        return self._arrays()

    def _episode(self) -> None:
        """Explore until the episode ends or there is nothing more to do."""
        going = True
        while going and (way := self._way()):
            for action, expected in way:
                going = self._step(action)
                if not going or self._cell != expected:
                    break
        if self._table is None and self._most_outcomes == 1:
            for _ in range(SURE_STEPS if going else 0):
                if not self._step(int(self._random.integers(len(self._actions)))):
                    break

    def _outcomes(self, cell: int, action: int) -> Mapping[tuple[int, bool], float]:
        if self._table is not None:
            return self._table.get((cell, action), {})
        return self._counts.get((cell, action), {})

    def _wanting(self, cell: int) -> int | None:
        """Return the action of a cell that was tried least, if that is not often enough."""
        tries = self._tries.setdefault(cell, [0] * len(self._actions))
        fewest = min(tries)
        return tries.index(fewest) if fewest < self._need else None

    def _complete(self) -> bool:
        """Tell whether all that the starts lead to is known."""
        queue, met = deque(self._starts), set(self._starts)
        while queue:
            cell = queue.popleft()
            if cell not in self._labels or (
                self._table is None and self._wanting(cell) is not None
            ):
                return False
            for action in self._actions:
                for following, ended in self._outcomes(cell, action):
                    if ended and following not in self._labels:
                        return False
                    if not ended and following not in met:
                        met.add(following)
                        queue.append(following)
        return True

    def _way(self) -> list[tuple[int, int]]:
        """Return the actions to the nearest thing that is not known, with where each should lead."""
        queue: deque[tuple[int, list[tuple[int, int]]]] = deque([(self._cell, [])])
        met = {self._cell}
        while queue:
            cell, way = queue.popleft()
            if self._table is None and (action := self._wanting(cell)) is not None:
                return [*way, (action, -1)]
            for action in self._actions:
                for following, ended in self._outcomes(cell, action):
                    if following not in self._labels:
                        return [*way, (action, following)]
                    if not ended and following not in met:
                        met.add(following)
                        queue.append((following, [*way, (action, following)]))
        return []

    def _begin(self, seed: int) -> None:
        with environment_faults(self._name, "reset()"):
            cell, info = self._env.reset(seed=seed)
        self._cell = int(cell)
        self._begun.add(self._cell)
        self._look(info)

    def _step(self, action: int) -> bool:
        """Take an action and note what it does; tell whether the episode goes on."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise _UnknownError
        with environment_faults(self._name, "step()"):
            found, _, ended, cut, info = self._env.step(action)
        outcome = int(found), bool(ended)
        if self._table is not None and outcome not in self._outcomes(self._cell, action):
            raise _WrongTableError
        counts = self._counts.setdefault((self._cell, action), Counter())
        counts[outcome] += 1
        tries = self._tries.setdefault(self._cell, [0] * len(self._actions))
        tries[action] += 1
        self._gained += tries[action] <= self._need
        if len(counts) > self._most_outcomes:
            self._most_outcomes = len(counts)
            self._need = tries_needed(self._most_outcomes, TARGET_ERROR)
        self._cell = outcome[0]
        self._look(info)
        return not (ended or cut)

    def _look(self, info: Mapping[str, Any]) -> None:
        shown = frozenset(info["labels"])
        self._gained += self._cell not in self._labels
        if self._labels.setdefault(self._cell, shown) != shown:
            raise _UnknownError

    def _arrays(self) -> FiniteWorld:
        """Return what was found, with the states numbered as they were met.

        To arrive somewhere at the end of an episode is another state than to go on from there.
        """
        actions = len(self._actions)
        number = {cell: index for index, cell in enumerate(self._labels)}
        outcomes: list[tuple[int, int, bool, float]] = []
        queue, going_on = deque(self._begun), set(self._begun)
        while queue:
            cell = queue.popleft()
            for action in self._actions:
                found = self._outcomes(cell, action)
                for (reached, ended), often in sorted(found.items()):
                    if reached not in number:
                        continue  # The table may have states that no start leads to.
                    pair = number[cell] * actions + action
                    outcomes.append((pair, reached, ended, often / sum(found.values())))
                    if not ended and reached not in going_on:
                        going_on.add(reached)
                        queue.append(reached)
        outcomes.sort()
        ends = {cell: number[cell] for _, cell, ended, _ in outcomes if ended}
        shown = list(self._labels.values())
        for cell in sorted(going_on.intersection(ends)):
            ends[cell] = len(shown)
            shown.append(self._labels[cell])
        chances = Chances(
            np.array([pair for pair, *_ in outcomes], np.int64),
            np.array([(ends if end else number)[cell] for _, cell, end, _ in outcomes], np.int64),
            np.array([chance for *_, chance in outcomes], np.float64),
        )
        successors = np.repeat(np.arange(len(shown)), actions)
        rising = np.argsort(chances.chance, kind="stable")  # The likeliest is written last.
        successors[chances.pair[rising]] = chances.place[rising]
        tried: BoolArray = np.isin(np.arange(len(successors)), chances.pair)
        label_sets = tuple(sorted(set(shown), key=sorted))
        return FiniteWorld(
            successors.reshape(-1, actions),
            label_sets,
            np.array([label_sets.index(labels) for labels in shown]),
            state_of=number,
            chances=chances,
            tried=tried.reshape(-1, actions),
            ended=np.isin(np.arange(len(shown)), list(ends.values())),
            exact=self._table is not None or self._most_outcomes == 1,
        )


def known_start(world: FiniteWorld, observation: int) -> int:
    """Return the state of a start; one that was never met is an error of the environment's."""
    state = world.state(observation)
    if state < 0:
        raise DomainError(
            f"an episode started in {observation} where it did not before with the same seed."
        )
    return state
