"""Skills in tables: what is stored, how labels change with visits, and how values are served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills import checkpoint
from skm_primitives.skills.checkpoint import Card, expect_shape
from skm_primitives.skills.goals import Goal, GoalBuffer, Histories
from skm_primitives.skills.model_confidence import ModelConfidence
from skm_primitives.skills.values import GoalToGoal, GoalValues
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.finite_world import Chances, FiniteWorld
from skm_sim.spec import DomainSpec

# The tables of the tabular learner: Q_MAX for all goals at once, and its updates.
#
# Q_MAX(⟨s,c⟩, g, ⟨a,a_τ⟩) is kept in a compact form that loses nothing.
#
# - A goal is a *target* (a place; or a label set, if places are not told apart) with a wanted
#   history v, and the agent has a history c. What c is never changes how the world moves, so one
#   transition teaches every pair (c, v) at once, as Algorithm 1 already does for every goal.
# - Stopping (a_τ = 1) ends at the target of s' with history c as it was *before* the step
#   (Definition 3.1). Its value is the chance of that target, for all goals with v = c, and 0 for
#   all others. It does not bootstrap, so the mean over the visits is the right estimate.
# - Moving (a_τ = 0) is worth γ max Q_MAX(⟨s',c'⟩, g, ·), c' = c ∪ ((l̂ ⊕ l̂') ∩ C).
#
# Q_MIN, the same table for r_max = r_min, is not kept: with r_min = 0 each of its targets is `0`
# or `0 + γ·0`, so it is 0 everywhere.


MEMORY_LIMIT = 4 << 30
"""Bytes that the tables may take."""


class StepBatch(NamedTuple):
    """One transition of each agent of a batch."""

    state: IntArray
    action: IntArray
    target: IntArray
    """What was achieved by arriving."""
    next_state: IntArray
    """The state arrived at; the number of states, if the world ended there."""
    changed: IntArray
    """The constraints that changed on the way, as bits: (l̂ ⊕ l̂') ∩ C."""


class Tables:
    """Q_MAX over states, actions, history pairs and targets, and the latest transitions."""

    def __init__(
        self, states: int, actions: int, histories: Histories, targets: int, gamma: float
    ) -> None:
        self.histories = histories
        self.discount = gamma
        self._gamma = np.float32(gamma)
        pairs = histories.lost
        _check_memory(states, actions, pairs, targets)
        self.move: Float32Array = np.zeros((states, actions, pairs, targets), np.float32)
        """Value of ⟨a, 0⟩, for each pair and target."""
        self.arrivals = np.zeros((states, actions, targets), np.int32)
        """How often each action led to each target."""
        self.stop: Float32Array = np.zeros((states, actions, targets), np.float32)
        """Value of ⟨a, 1⟩ where the history is fulfilled: the mean of the arrivals."""
        self.best: Float32Array = np.zeros((states + 1, pairs + 1, targets), np.float32)
        """Value of the best ⟨a, a_τ⟩. The last state and the last pair are 0 forever: a state after
        the end, and a history that is lost."""
        self.next_state: IntArray = np.full((states, actions), states)
        """Where each action led the last time; `states` if it was never tried or if it ends."""
        self.changed: IntArray = np.zeros((states, actions), np.int64)
        """Which constraints changed then."""
        self.ended: IntArray = np.zeros(states, np.int64)
        """How often the world ended on arriving in each state."""
        self.slipped = False
        """Whether some action led to more than one target."""

    def ends(self) -> BoolArray:
        """Return in which states the world ended at every arrival, where targets are places."""
        ends: BoolArray = np.logical_and(
            self.ended > 0, self.ended == self.arrivals.sum(axis=(0, 1), dtype=np.int64)
        )
        return ends

    def update(self, batch: StepBatch, alpha: float) -> None:
        """Learn from a batch of transitions, for all goals and histories (Algorithm 1)."""
        state, action, target, next_state, changed = batch
        np.add.at(self.arrivals, (state, action, target), 1)
        seen = self.arrivals[state, action]
        total = seen.sum(axis=1, keepdims=True, dtype=np.float32)
        self.slipped = self.slipped or bool(
            (seen[np.arange(len(state)), target] < total[:, 0]).any()
        )
        self.stop[state, action] = seen / total
        goal = self.best[next_state[:, None], self.histories.successor[changed]]
        goal *= self._gamma
        if alpha != 1:
            old = self.move[state, action]
            goal = old + np.float32(alpha) * (goal - old)
        self.move[state, action] = goal
        self.next_state[state, action] = next_state
        self.changed[state, action] = changed
        self.refresh(state)

    def replay(self) -> None:
        """Repeat the full backup of the latest transition of every state and action."""
        self.move = self.replayed()
        self.refresh(slice(len(self.move)))

    def replayed(self) -> Float32Array:
        """Return what `move` is after one full backup of every remembered transition."""
        rows = self.next_state[:, :, None], self.histories.successor[self.changed]
        replayed: Float32Array = self.best[rows]
        replayed *= self._gamma
        return replayed

    def refresh(self, state: IntArray | slice) -> None:
        """Bring the best values of these states in line with `move` and `stop`."""
        best = self.move[state].max(axis=1)
        stop = self.stop[state].max(axis=1)
        fulfilled = self.histories.fulfilled
        best[:, fulfilled] = np.maximum(best[:, fulfilled], stop[:, None])
        self.best[state, :-1] = best

    def action_values(
        self, state: IntArray, violated: IntArray, wanted: IntArray, target: IntArray
    ) -> Float32Array:
        """Return max over a_τ of Q_MAX(⟨s,c⟩, g, ⟨a,a_τ⟩) for a batch: `(batch, actions)`.

        The wanted history must include the violated set.
        """
        values: Float32Array = self.move[state, :, self.histories.pair[violated, wanted], target]
        stop = self.stop[state, :, target]
        return np.where((violated == wanted)[:, None], np.maximum(values, stop), values)

    def grow(self, targets: int) -> None:
        """Make room for more targets."""
        more = targets - self.move.shape[-1]
        if more > 0:
            states, actions, pairs, _ = self.move.shape
            _check_memory(states, actions, pairs, targets)
            for name in ("move", "arrivals", "stop", "best"):
                array = getattr(self, name)
                setattr(self, name, np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, more)]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what must be stored to restore these tables bit for bit."""
        where = np.nonzero(self.arrivals)
        return {
            "move": self.move,
            "arrivals": np.stack([*where, self.arrivals[where]], axis=1).astype(np.int32),
            "next_state": self.next_state.astype(np.int32),
            "changed": self.changed.astype(np.int32),
            **({"ended": self.ended.astype(np.int32)} if self.ended.any() else {}),
        }

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]], histories: Histories, gamma: float) -> Tables:
        """Return the tables that were stored."""
        expect_shape("move", arrays["move"], (None, None, histories.lost, None))
        states, actions, _, targets = arrays["move"].shape
        for name in ("next_state", "changed"):
            expect_shape(name, arrays[name], (states, actions))
        expect_shape("arrivals", arrays["arrivals"], (None, 4))
        tables = cls(states, actions, histories, targets, gamma)
        tables.move[:] = arrays["move"]
        state, action, target, count = arrays["arrivals"].T
        tables.arrivals[state, action, target] = count
        total = tables.arrivals.sum(axis=2, keepdims=True, dtype=np.float32)
        np.divide(tables.arrivals, total, out=tables.stop, where=total > 0, casting="same_kind")
        tables.slipped = bool(((tables.arrivals > 0).sum(axis=2) > 1).any())
        tables.next_state[:] = arrays["next_state"]
        tables.changed[:] = arrays["changed"]
        if "ended" in arrays:  # not in checkpoints of worlds without an end, nor in old ones
            expect_shape("ended", arrays["ended"], (states,))
            tables.ended[:] = arrays["ended"]
        tables.refresh(np.arange(states))
        return tables


def _check_memory(states: int, actions: int, pairs: int, targets: int) -> None:
    """Refuse tables that do not fit, before the machine does."""
    needed = 4 * states * actions * pairs * targets
    if needed > MEMORY_LIMIT:
        raise SkmError(
            f"the table of {states} states x {actions} actions x {pairs} constraint histories x"
            f" {targets} targets takes {needed / 2**30:.1f} GiB, above the limit of"
            f" {MEMORY_LIMIT >> 30} GiB; use fewer constraints, or leave out places (--no-places)."
        )


# What the labels of a place are, and how they change with the visits of an episode.
#
# Some worlds count behind the agent's back: the mail is fetched, the people leave. The labels of
# a place then depend on how often it was entered since the episode began. This model counts what
# was seen, place by place and visit by visit, so that a planner can know what the next visit
# brings.


COUNTED_VISITS = 32
"""Visits told apart; later ones are counted with the last."""


class VisitModel:
    """Counts of each *variant*, a label set seen at a place, by visit of the episode.

    A visit is a step that ends in the place; bumping into a wall there is one, starting is not.
    """

    def __init__(self, propositions: Sequence[str]) -> None:
        if len(propositions) > 40:
            raise SkmError(
                f"tabular domains have at most 40 propositions, not {len(propositions)}."
            )
        self.propositions = tuple(propositions)
        self.keys: IntArray = np.zeros(0, np.int64)
        """Each variant as `place << |P| | label bits`, in the order of discovery."""
        self.counts = np.zeros((0, COUNTED_VISITS), np.int32)
        """`counts[variant, visit]`."""

    @property
    def places(self) -> IntArray:
        """The place of each variant."""
        return self.keys >> len(self.propositions)

    @property
    def label_bits(self) -> IntArray:
        """The label set of each variant, as bits over the propositions."""
        return self.keys & ((1 << len(self.propositions)) - 1)

    @property
    def label_sets(self) -> list[frozenset[str]]:
        """The label set of each variant, as names."""
        return [
            frozenset(name for i, name in enumerate(self.propositions) if bits >> i & 1)
            for bits in self.label_bits.tolist()
        ]

    def record(self, places: IntArray, label_bits: IntArray, visits: IntArray) -> None:
        """Count arrivals, given in the order in which they happened; `visits` starts at 0."""
        keys = (places << len(self.propositions)) | label_bits
        seen, first = np.unique(keys, return_index=True)
        fresh = seen[np.argsort(first)]
        fresh = fresh[~np.isin(fresh, self.keys)]
        self.keys = np.concatenate([self.keys, fresh])
        self.counts = np.pad(self.counts, ((0, len(fresh)), (0, 0)))
        order = np.argsort(self.keys)
        variants = order[np.searchsorted(self.keys, keys, sorter=order)]
        np.add.at(self.counts, (variants, np.minimum(visits, COUNTED_VISITS - 1)), 1)

    def probability(self) -> Float32Array:
        """Return, for each variant, how often its place showed these labels: a sample mean."""
        if not len(self.keys):
            return np.zeros(0, np.float32)
        totals = self.counts.sum(axis=1, dtype=np.int64)
        of_place = np.bincount(self.places, weights=totals)[self.places]
        probability: Float32Array = (totals / of_place).astype(np.float32)
        return probability

    def visit_labels(self) -> dict[int, tuple[frozenset[str], ...]]:
        """Return, for each place, the labels to expect at the first visit, the second, and so on.

        Each is the majority of what was seen at that visit; the last one holds from then on.
        """
        places, label_sets = self.places, self.label_sets
        expected = {}
        for place in dict.fromkeys(places.tolist()):
            variants = np.flatnonzero(places == place)
            counts = self.counts[variants]
            seen = np.flatnonzero(counts.sum(axis=0))
            majority = [label_sets[variants[i]] for i in counts[:, seen].argmax(axis=0)]
            while len(majority) > 1 and majority[-1] == majority[-2]:
                majority.pop()
            expected[place] = tuple(majority)
        return expected


# All that a tabular learner knows, as one value that can be stored, resumed from and served.


LEARNER = "tabular"


@dataclass(frozen=True)
class TabularSettings:
    """The choices of a run; a resumed run keeps those that it was started with."""

    seed: int = 0
    alpha: float = 1.0
    """Step size of moves: 1 is a full backup, with replay; the paper has 0.1, and no replay."""
    epsilon: float = 0.5
    """How often an action is random."""
    places: bool = True
    """Whether goals are told apart by place, beyond the paper's 2^(P∪C)."""
    agents: int = 20
    """Agents that act side by side."""
    replays: int = 8
    """Replays of all remembered transitions after each round."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            raise SkmError(f"alpha is {self.alpha}; it must be above 0 and at most 1.")
        if not 0 <= self.epsilon <= 1:
            raise SkmError(f"epsilon is {self.epsilon}; it must be from 0 to 1.")
        for name, least in (("seed", 0), ("agents", 1), ("replays", 0)):
            if getattr(self, name) < least:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least {least}.")


@dataclass
class TabularState:
    """Tables, labels seen, and the number of rounds, with the settings that they came from."""

    domain: str
    propositions: tuple[str, ...]
    constraints: tuple[str, ...]
    settings: TabularSettings
    tables: Tables
    visits: VisitModel
    label_targets: dict[int, int] = field(default_factory=dict)
    """The target of each label set (as bits), where places are not told apart."""
    rounds: int = 0

    @classmethod
    def blank(
        cls, spec: DomainSpec, settings: TabularSettings, states: int, actions: int
    ) -> TabularState:
        """Return what is known before the first step: nothing."""
        targets = states if settings.places else 1
        return cls(
            domain=spec.name,
            propositions=spec.propositions,
            constraints=spec.constraints,
            settings=settings,
            tables=Tables(states, actions, Histories(spec.constraints), targets, spec.gamma),
            visits=VisitModel(spec.propositions),
        )

    def goal_buffer(self) -> GoalBuffer:
        """Return every goal achieved: each label set seen (at each place), with each history.

        Any history can be drawn at the start of an episode, so whatever was achieved with one was
        achievable with all.
        """
        histories = self.tables.histories
        variants = zip(self.visits.label_sets, self.visits.places.tolist(), strict=True)
        return GoalBuffer(
            Goal(labels, histories.names(violated), place if self.settings.places else None)
            for labels, place in variants
            for violated in range(histories.sets)
        )

    def variant_targets(self) -> IntArray:
        """Return the target in the tables that each variant of the visit model belongs to."""
        if self.settings.places:
            return self.visits.places
        bits = self.visits.label_bits.tolist()
        return np.array([self.label_targets[labels] for labels in bits], np.int64)

    def confidence(self) -> ModelConfidence | None:
        """Return how well it is known where actions lead; None where goals are no places."""
        if not self.settings.places:
            return None
        return ModelConfidence(self.tables.arrivals.astype(np.int64), self.tables.ends())

    def scores(self) -> dict[str, float]:
        """Return how far learning is: goals, pairs (s, a) tried, and what replay would change.

        `stochastic` are the pairs that led to more than one place, where there are any; `uncertain`
        those that were not tried often enough.
        """
        residual = np.abs(self.tables.replayed() - self.tables.move).max()
        tried = int(self.tables.arrivals.any(axis=2).sum())
        found = {"goals": len(self.goal_buffer()), "tried": tried, "residual": float(residual)}
        astray = int(((self.tables.arrivals > 0).sum(axis=2) > 1).sum())
        confidence = self.confidence()
        if confidence is None:
            return found
        if astray:
            found["stochastic"] = astray
        if astray or confidence.uncertain:
            found["uncertain"] = confidence.uncertain
        return found

    def save(self, path: str | Path, command: str, steps: int) -> checkpoint.Card:
        """Write all of it as a checkpoint; return its card."""
        arrays: dict[str, NDArray[Any]] = {
            **self.tables.arrays(),
            "variants": self.visits.keys,
            "visits": self.visits.counts,
            "label_targets": np.array(list(self.label_targets), np.int64),
        }
        details: dict[str, Any] = {
            "settings": asdict(self.settings),
            "rounds": self.rounds,
            "gamma": self.tables.discount,
            "propositions": list(self.propositions),
            "constraints": list(self.constraints),
        }
        confidence = self.confidence()
        if confidence is not None and confidence.uncertain:
            details |= {"uncertain": confidence.document(), "warnings": [confidence.sentence()]}
        card = checkpoint.Card(
            domain=self.domain,
            learner=LEARNER,
            command=command,
            seed=self.settings.seed,
            steps=steps,
            scores=self.scores(),
            details=details,
        )
        return checkpoint.save(path, arrays, card)

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]], card: checkpoint.Card) -> TabularState:
        """Return what a checkpoint holds."""
        details = card.details
        propositions, constraints = tuple(details["propositions"]), tuple(details["constraints"])
        visits = VisitModel(propositions)
        checkpoint.expect_shape("variants", arrays["variants"], (None,))
        seen = len(arrays["variants"]), COUNTED_VISITS
        checkpoint.expect_shape("visits", arrays["visits"], seen)
        visits.keys, visits.counts = arrays["variants"], arrays["visits"]
        label_targets = {bits: i for i, bits in enumerate(arrays["label_targets"].tolist())}
        return cls(
            domain=card.domain,
            propositions=propositions,
            constraints=constraints,
            settings=TabularSettings(**details["settings"]),
            tables=Tables.restore(arrays, Histories(constraints), details["gamma"]),
            visits=visits,
            label_targets=label_targets,
            rounds=details["rounds"],
        )


def check_names(state: TabularState, spec: DomainSpec) -> None:
    """Refuse a checkpoint whose propositions, constraints or discount are not the domain's."""
    there = state.propositions, state.constraints, state.tables.discount
    here = spec.propositions, spec.constraints, spec.gamma
    if there != here:
        raise checkpoint.WrongDomainError(
            f"the checkpoint is of another version of the domain '{spec.name}': its propositions,"
            f" constraints and discount are {there}, those of the domain {here}; train anew."
        )


# Primitives from a tabular learner: everything is in a table, and values are a look-up.


class TabularPrimitives:
    """Primitives from a tabular learner: everything is in a table, `values` is a lookup."""

    def __init__(self, state: TabularState, digest: str = "") -> None:
        tables, histories = state.tables, state.tables.histories
        self.domain = state.domain
        self.propositions = state.propositions
        self.constraints = state.constraints
        self.gamma = tables.discount
        self.digest = digest
        self.goals: tuple[Goal, ...] = tuple(state.goal_buffer())
        self.action_space: Space[Any] = Discrete(tables.next_state.shape[1])
        self._visits = state.visits
        slips = state.settings.places and tables.slipped
        self._arrivals = tables.arrivals if slips else None
        """How often each action led to each place, where that is more than one."""
        self._ends = _ends(tables) if state.settings.places else set()
        """Places on arriving at which the world has ended each time."""
        target, probability = _targets_of_goals(state, self.goals)
        self._goal_probability: Float32Array = probability
        wanted = np.array([histories.bits(goal.violated) for goal in self.goals], np.int64)
        # Both tables as (states, histories, goals, actions).
        states, actions = tables.next_state.shape
        shape = (states, histories.sets, len(self.goals), actions)
        self._move: Float32Array = np.zeros(shape, np.float32)
        self._stop: Float32Array = np.zeros(shape, np.float32)
        for violated in range(histories.sets):
            pair = histories.pair[violated, wanted]
            near = np.flatnonzero(pair != histories.lost)
            moves = tables.move[:, :, pair[near], target[near]] * probability[near]
            self._move[:, violated, near] = moves.transpose(0, 2, 1)
            here = np.flatnonzero(wanted == violated)
            stops = tables.stop[:, :, target[here]] * probability[here]
            self._stop[:, violated, here] = stops.transpose(0, 2, 1)
        for array in (self._move, self._stop, self._goal_probability):
            array.setflags(write=False)
        self._rows = {histories.names(bits): bits for bits in range(histories.sets)}

    @cached_property
    def world_model(self) -> FiniteWorld | GoalToGoal:
        """What lies behind the goals, read off the learned values."""
        if self.goals and self.goals[0].place is None:
            return GoalToGoal(self._goal_to_goal(), approximate=False)
        return self._place_world()

    def _place_world(self) -> FiniteWorld:
        """Return the world that place goals imply: ⟨a, 1⟩ has a value for where a leads, only."""
        unviolated = [
            (index, goal.place)
            for index, goal in enumerate(self.goals)
            if goal.place is not None and not goal.violated
        ]
        places = tuple(sorted({place for _, place in unviolated}))
        number = {place: index for index, place in enumerate(places)}
        goals = np.array([index for index, _ in unviolated], np.int64)
        goal_place = np.array([number[place] for _, place in unviolated], np.int64)
        rows, known = [], []
        for place in places:
            stop = self._stop[place, 0, goals]
            reached = goal_place[stop.argmax(axis=0)]
            known.append(stop.max(axis=0) > 0)
            rows.append(np.where(known[-1], reached, number[place]))
        successors = np.array(rows, np.int64)
        chances = None
        if self._arrivals is not None:
            counts = self._arrivals[np.ix_(places, range(len(rows[0])), places)]
            chances = Chances.counted(counts.astype(np.int64))
        best = np.maximum(self._move[:, 0], self._stop[:, 0]).max(axis=2)
        at_goals: Float32Array = best[[goal.place for goal in self.goals]]
        tried = np.array(known, np.bool_)
        ended = np.isin(places, sorted(self._ends))
        return FiniteWorld.showing(
            places,
            successors,
            self._visits.visit_labels(),
            chances=chances,
            tried=None if tried.all() else tried,
            ended=ended if ended.any() else None,
            goal_probability=self._goal_probability,
            goal_values=at_goals,
        )

    def _goal_to_goal(self) -> Float32Array:
        """Return the mean best values of all goals over the places that show a goal's labels."""
        best = np.maximum(self._move[:, 0], self._stop[:, 0]).max(axis=2)
        places, shown = self._visits.places, self._visits.label_sets
        at = {
            labels: best[
                [place for place, found in zip(places, shown, strict=True) if found == labels]
            ]
            for labels in set(shown)
        }
        mean: Float32Array = np.array([at[goal.labels].mean(axis=0) for goal in self.goals])
        return mean

    def values(self, observation: int, violated: frozenset[str] = frozenset()) -> GoalValues:
        """Return views of the values of every goal in that cell, with that history."""
        try:
            row = self._rows[violated]
        except KeyError:
            strange = sorted(violated.difference(self.constraints))
            raise SkmError(
                f"'{strange[0]}' is not a constraint of '{self.domain}'"
                f"{did_you_mean(strange[0], self.constraints)}"
            ) from None
        return GoalValues(self._move[observation, row], self._stop[observation, row])


def _ends(tables: Tables) -> set[int]:
    """Return the places that end the world.

    In checkpoints that do not say so, as far as actions that lead to one place only can tell.
    """
    if tables.ended.any():
        return set(np.flatnonzero(tables.ends()).tolist())
    led = tables.arrivals > 0
    state, action = np.nonzero(led.sum(axis=2) == 1)
    place = led[state, action].argmax(axis=1)
    ended = tables.next_state[state, action] == len(tables.next_state)
    return set(place[ended].tolist()) - set(place[~ended].tolist())


def _targets_of_goals(
    state: TabularState, goals: tuple[Goal, ...]
) -> tuple[IntArray, Float32Array]:
    """Return each goal's target in the tables, and the chance of its labels there.

    Without places, that chance is already in the table, so it is 1 here.
    """
    places = [None if not state.settings.places else p for p in state.visits.places.tolist()]
    variant = {both: i for i, both in enumerate(zip(state.visits.label_sets, places, strict=True))}
    index = np.array([variant[goal.labels, goal.place] for goal in goals], np.int64)
    probability = state.visits.probability()[index]
    if not state.settings.places:
        probability = np.ones_like(probability)
    return state.variant_targets()[index], probability


def load(arrays: dict[str, NDArray[Any]], card: Card, spec: DomainSpec | None) -> TabularPrimitives:
    """Return the primitives in a checkpoint of the tabular learner."""
    state = TabularState.restore(arrays, card)
    if spec is not None:
        check_names(state, spec)
    return TabularPrimitives(state, card.digest)
