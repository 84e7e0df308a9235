"""Algorithm 1 with deep Q-learning, from pixels: the learner of Moving Targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.learning.dqn import Arrays, optimiser_arrays, restore_optimiser
from skm_primitives.learning.moving_targets.networks import (
    Heads,
    OnStates,
    Outputs,
    PixelGoals,
    make_network,
    set_weights,
    weights,
)
from skm_primitives.learning.trainer import DeepLearner, ScoreCurve, TrainerSettings
from skm_primitives.planning.options import REPEAT_STEPS
from skm_primitives.skills.checkpoint import Card
from skm_primitives.skills.goals import Goal
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import (
    AGENT,
    COLLECTED,
    KINDS,
    MOVES,
    NOTHING,
    NUM_CELLS,
    OBJECTS,
    TRANSITIONS,
    States,
)
from skm_sim.moving_targets.spec import MOVING_TARGETS
from skm_sim.moving_targets.trials import SkillTest, feasible_boards, skill_tests
from skm_sim.spec import DomainSpec

# The choices of a run of the learner from pixels.


NETWORKS = ("tiles", "nature")
EXPERIENCES = ("sweep", "replay")

PAPER: dict[str, Any] = {
    "network": "nature",
    "hidden": (1024, 1024, 1024),
    "experience": "replay",
    "agents": 1,
    "batch": 32,
    "update_every": 4,
    "copy_every": 10_000,
    "replay": 1_000_000,
    "learning_rate": 2.5e-4,
    "gamma": 0.99,
    "action_gap": 0.0,
    "horizon": 1_000_000,
    "validate_rounds": 400,
}
"""The paper's network and schedule; what it leaves open is as in Mnih et al. (2015). The optimiser
(Adam) and the loss (cross-entropy) are ours."""


@dataclass(frozen=True)
class PixelSettings(TrainerSettings):
    """Everything about a run; a resumed run keeps what it was started with."""

    validate_rounds: int = 25
    network: str = "tiles"
    """`tiles`: a shared linear layer on patches, then a perceptron. `nature`: convolutions."""
    channels: int = 16
    """Outputs of the shared layer of `tiles`."""
    hidden: tuple[int, ...] = (1024, 384)
    experience: str = "sweep"
    """`sweep`: all transitions of random boards. `replay`: what agents lived through."""
    boards: int = 8
    """Sweep: boards in a batch."""
    round_updates: int = 100
    """Sweep: updates in a round."""
    agents: int = 32
    """Replay: agents that act side by side."""
    batch: int = 512
    """Replay: transitions in a batch."""
    update_every: int = 16
    """Replay: environment steps to one update."""
    replay: int = 1_000_000
    """Replay: transitions remembered."""
    epsilon: tuple[float, float] = (1.0, 0.1)
    """Replay: share of random actions, at first and after half of the run."""
    learning_rate: float = 4e-3
    """After a short warm-up; constant for the first quarter of the run, then falling in a line."""
    copy_every: int = 10
    """Updates after which the target network becomes a copy of the trained one. A value travels one
    step a copy, so rare copies make learning crawl."""
    gamma: float = 0.9
    """The discount while learning. In a deterministic world a value γ^k is turned into that of any
    other discount by a power, so it changes no preference; a smaller one is told apart better."""
    action_gap: float = 0.95
    """How much of an action's disadvantage is taken off its target once more (advantage learning);
    the gap between the best action and the others grows by 1 / (1 − action_gap)."""
    horizon: int = 33_280_000
    """Environment steps that the run is planned for; the step size falls towards its end."""
    validation_boards: int = 128
    """Boards of each skill in a validation."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"cpu": {}, "paper": PAPER}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("network", NETWORKS), ("experience", EXPERIENCES)):
            if (value := getattr(self, name)) not in choices:
                raise SkmError(f"no {name} '{value}'{did_you_mean(value, choices)}")
        for name in (
            *("channels", "boards", "round_updates", "agents", "batch", "update_every", "replay"),
            *("copy_every", "horizon", "validation_boards"),
        ):
            if getattr(self, name) < 1:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if not 0 < self.gamma < 1:
            raise SkmError(f"gamma is {self.gamma}; it must lie between 0 and 1.")
        if not 0 <= self.action_gap < 1:
            raise SkmError(f"action_gap is {self.action_gap}; it must be from 0 to below 1.")


# Where the learner from pixels gets its transitions: sweeps of boards, or a replay memory.
#
# Both keep states, eight bytes each; frames are made only when a batch is learned from.
#
# - A *sweep* uses the simulator's ability to be set to any state: random boards, the agent on
#   each of their free cells in turn, all four actions. It is experience that no agent could
#   gather in one life, and it is counted as what it is: every action is one environment step.
# - A *replay memory* holds what agents lived through, as in the paper.


ExperienceArrays = dict[str, NDArray[Any]]

SWEEP_CELLS = NUM_CELLS - len(KINDS)
"""Cells of a board on which the agent can be: those without an object."""
SWEEP_STEPS = SWEEP_CELLS * len(MOVES)
"""Environment steps in the sweep of one board."""


@dataclass(frozen=True)
class BoardSteps:
    """A batch: from each of n states, k actions."""

    states: States
    """`(n, 8)`."""
    actions: IntArray
    """`(n, k)`."""
    next_states: States
    """`(m, 8)`: all the states arrived at; several transitions may share one."""
    arrival: IntArray
    """`(n, k)`: which of them each action led to."""
    own: IntArray | None = None
    """`(n,)`: where the states themselves are among `next_states`, if they all are: the batch is
    then closed but for what objects that were collected lead to."""
    collecting: IntArray | None = None
    """`(n, kinds)`: of each state, where the one is that collecting each kind next leads to."""

    @property
    def closed(self) -> bool:
        """Whether all that can follow is in the batch, until something is collected."""
        return self.own is not None

    @property
    def touched(self) -> IntArray:
        """`(n, k)`: the kind that each action collected, or `NOTHING`."""
        kinds: IntArray = self.next_states[self.arrival, COLLECTED].astype(np.int64)
        return kinds


def sweep(random: np.random.Generator, boards: int) -> BoardSteps:
    """Draw boards; return all transitions from all cells of each."""
    base = np.repeat(board.sample(random, boards)[:, None], NUM_CELLS, axis=1)
    base[:, :, AGENT] = np.arange(NUM_CELLS)
    states = base.reshape(-1, base.shape[-1])
    # A state with the agent on an object stands for having just collected it: it respawns.
    after = board.collect(states, random)
    free = np.flatnonzero(after[:, COLLECTED] == NOTHING)
    first_row = (free - states[free, AGENT])[:, None]
    actions = np.broadcast_to(np.arange(len(MOVES)), (len(free), len(MOVES)))
    arrival = first_row + TRANSITIONS[states[free, AGENT]]
    return BoardSteps(
        states[free], actions, after, arrival, free, first_row + states[free, OBJECTS]
    )


class StateReplay:
    """A ring of the latest transitions: state, action, next state."""

    def __init__(self, capacity: int) -> None:
        self._states = np.zeros((capacity, board.STATE_BYTES), np.uint8)
        self._actions = np.zeros(capacity, np.uint8)
        self._next = np.zeros((capacity, board.STATE_BYTES), np.uint8)
        self.stored = 0

    @property
    def filled(self) -> int:
        """How many transitions there are to draw from."""
        return min(self.stored, len(self._actions))

    def add(self, states: States, actions: IntArray, next_states: States) -> None:
        """Put transitions in, in place of the oldest if there is no more room."""
        rows = (self.stored + np.arange(len(states))) % len(self._actions)
        self._states[rows], self._actions[rows], self._next[rows] = states, actions, next_states
        self.stored += len(states)

    def sample(self, random: np.random.Generator, count: int) -> BoardSteps:
        """Draw transitions uniformly."""
        rows = random.integers(self.filled, size=count)
        return BoardSteps(
            self._states[rows],
            self._actions[rows].astype(np.int64)[:, None],
            self._next[rows],
            np.arange(count)[:, None],
        )

    def arrays(self) -> ExperienceArrays:
        """Return what is stored, for a checkpoint."""
        return {
            "replay/states": self._states[: self.filled],
            "replay/actions": self._actions[: self.filled],
            "replay/next": self._next[: self.filled],
            "replay/stored": np.array(self.stored),
        }

    def restore(self, arrays: ExperienceArrays) -> None:
        """Take back what `arrays` gave."""
        self.stored = int(arrays["replay/stored"])
        for name in ("states", "actions", "next"):
            getattr(self, f"_{name}")[: self.filled] = arrays[f"replay/{name}"]


# What the learner from pixels learns towards: the targets of all goals, for a batch of
# transitions.
#
# What a step gives is known for every goal at once (`pixel_goals`); what comes after it is not:
#
# - **Replay**: after one step the target network says what the rest is worth, as in deep
#   Q-learning.
# - **Sweep**: a batch holds all transitions of whole boards, so values are backed up through it
#   until nothing changes, as in value iteration. The target network is asked only where something
#   is collected: there the board becomes another one.
#
# Both learn besides the values *continuation* values: the value that each goal will have where a label
# set is shown next. It is learned once, for all missions, and lets a planner see which of two goals
# leaves the one after it nearer.


KEPT = 0.1
"""What is left at least of an action's value when its disadvantage is taken off: an action that is
slower than the best still stands out from one that rules the goal out."""


TINY = 1e-6


class Targets(NamedTuple):
    """What to learn towards in n states."""

    actions: Tensor
    """`(n, k, goals)`: the values of the actions taken, the gap to the best one widened."""
    best: Tensor | None
    """`(n, goals)`: the values of the states, where all their actions are in the batch."""
    onward: Tensor
    """`(n, label sets, goals)`."""


class PixelTargets:
    """Targets with a discount, and with the gap between actions widened (advantage learning)."""

    def __init__(self, goals: PixelGoals, gamma: float, action_gap: float) -> None:
        self._achieved = torch.from_numpy(goals.achieved).float()
        self._alive = torch.from_numpy(goals.alive).float() * gamma
        self._gamma = gamma
        self._gap = action_gap

    def of(self, batch: BoardSteps, target: OnStates) -> Targets:
        """Return the targets for a batch, with a target network to say what comes after it."""
        with torch.no_grad():
            return self._of_boards(batch, target) if batch.closed else self._one_step(batch, target)

    def _arriving(self, kinds: Tensor, values: Tensor) -> Tensor:
        """Return what arriving with these kinds collected gives, the states there having values."""
        return self._achieved[kinds] + self._alive[kinds] * values

    def _of_boards(self, batch: BoardSteps, target: OnStates) -> Targets:
        assert batch.own is not None
        assert batch.collecting is not None
        kinds = torch.from_numpy(batch.next_states[:, COLLECTED].astype("int64"))
        ends = torch.nonzero(kinds != NOTHING).squeeze(1)
        after = torch.sigmoid(target(batch.next_states[ends.numpy()]).values)
        known = torch.zeros(len(kinds), after.shape[1])
        known[ends] = after
        onward = known[torch.from_numpy(batch.collecting)]
        arriving = torch.zeros_like(known)
        arriving[ends] = self._arriving(kinds[ends], after)
        own, arrival = torch.from_numpy(batch.own), torch.from_numpy(batch.arrival)
        for _ in range(NUM_CELLS):
            values = arriving[arrival]
            best = values.amax(dim=1)
            backed_up = self._gamma * best
            if torch.equal(backed_up, arriving[own]):
                break
            arriving[own] = backed_up
        # The fixed point of advantage learning: every disadvantage, over 1 - gap.
        lost = best[:, None] - values
        actions = torch.maximum(best[:, None] - lost / (1 - self._gap), KEPT * values)
        return Targets(actions, best, onward)

    def _one_step(self, batch: BoardSteps, target: OnStates) -> Targets:
        following = target(batch.next_states)
        after = torch.sigmoid(following.values)
        arrival, touched = torch.from_numpy(batch.arrival), torch.from_numpy(batch.touched)
        values = self._arriving(touched, after[arrival])
        if self._gap > 0:
            here = target(batch.states).action_values().transpose(1, 2)
            lost = here.amax(dim=1, keepdim=True) - taken(here, batch)
            values = torch.maximum(values - self._gap * lost, KEPT * values)
        onward = torch.sigmoid(following.onward)[arrival[:, 0]]
        rows = torch.nonzero(touched[:, 0] != NOTHING).squeeze(1)
        onward[rows, touched[rows, 0]] = after[arrival[rows, 0]]
        return Targets(values, None, onward)


def loss(outputs: Outputs, targets: Targets, batch: BoardSteps) -> Tensor:
    """Return how far a network's outputs for a batch are from the targets: the cross-entropy.

    With all actions of a state in the batch, its values and the actions' shares are learned each by
    themselves: not to be sure of the way must not make a goal look farther away.
    """
    onward = functional.binary_cross_entropy_with_logits(outputs.onward, targets.onward)
    if targets.best is None:
        values = taken(outputs.action_values().transpose(1, 2), batch).clamp(TINY, 1 - TINY)
        return onward + functional.binary_cross_entropy(values, targets.actions)
    best = targets.best[:, None]
    return (
        onward
        + functional.binary_cross_entropy_with_logits(outputs.values, targets.best)
        + functional.binary_cross_entropy_with_logits(
            outputs.shares.transpose(1, 2),
            targets.actions / best.clamp(min=TINY),
            weight=(best > 0).float(),  # where no way leads there, all actions are alike
        )
    )


def taken(values: Tensor, batch: BoardSteps) -> Tensor:
    """Return values `(n, actions, goals)` of the actions that were taken, `(n, k, goals)`."""
    if batch.actions.shape[1] == len(MOVES):
        return values
    actions = torch.from_numpy(batch.actions)[:, :, None].expand(-1, -1, values.shape[2])
    return values.gather(1, actions)


# Success of single skills from pixels, on boards that no training saw.
#
# Each skill is tried on boards on which it can be done (`skm_sim.moving_targets.trials`),
# within the 50 steps of a primitive's episode, greedily.


LogValues: TypeAlias = Callable[[States], Float32Array]
"""Logarithms of the action values `(n, goals, actions)` of states."""

VALIDATION_SEED = 90_001
"""Validation boards are drawn from here; reports use other seeds."""


def success(
    log_values: LogValues,
    goals: Sequence[Goal],
    tests: Sequence[SkillTest],
    count: int,
    seed: int,
    steps: int = MOVING_TARGETS.primitive_steps,
    repeats: float | None = None,
) -> dict[str, float]:
    """Return the share of `count` feasible boards on which each skill succeeds.

    Greedily by the network alone; or, with `repeats` the discount of the values, with the memory of an
    executor (`skm_primitives.planning.options`).
    """
    random = np.random.default_rng(seed)
    states = np.concatenate([feasible_boards(test, count, random) for test in tests])
    masks = np.repeat(np.stack([_mask(test, goals) for test in tests]), count, axis=0)
    wanted = _kinds([test.wanted for test in tests], count)
    forbidden = _kinds([test.forbidden for test in tests], count)
    done = np.zeros(len(states), np.bool_)
    going = np.arange(len(states))
    tries = np.zeros((len(states), NUM_CELLS, len(MOVES)), np.int64)
    for _ in range(steps):
        worth = np.where(masks[going][:, :, None], log_values(states[going]), -np.inf).max(axis=1)
        cells = states[going, AGENT]
        if repeats is not None:
            worth = worth + REPEAT_STEPS * np.log(repeats) * tries[going, cells]
        actions = worth.argmax(axis=1)
        tries[going, cells, actions] += 1
        after = board.step(states[going], actions, random)
        kind = after[:, COLLECTED]
        states[going] = after
        tries[going[kind != NOTHING]] = 0  # the board is another one now
        done[going] = wanted[going, kind]
        going = going[~wanted[going, kind] & ~forbidden[going, kind]]
        if not len(going):
            break
    rates = done.reshape(len(tests), count).mean(axis=1).tolist()
    return {test.name: float(rate) for test, rate in zip(tests, rates, strict=True)}


def group_scores(tests: Sequence[SkillTest], rates: dict[str, float]) -> dict[str, float]:
    """Return the mean of each group of skills and the least of all, and their mean: `validation`."""
    groups = dict.fromkeys(test.group for test in tests)
    means = {
        group: float(np.mean([rates[test.name] for test in tests if test.group == group]))
        for group in groups
    }
    return {
        "validation": float(np.mean(list(rates.values()))),
        **means,
        "least": min(rates.values()),
    }


def _kinds(sets: Sequence[tuple[int, ...]], count: int) -> BoolArray:
    """Return which kinds are in each set (`NOTHING` never is), each row repeated."""
    rows = np.array([[kind in wanted for kind in range(NOTHING + 1)] for wanted in sets])
    return np.repeat(rows, count, axis=0)


def _mask(test: SkillTest, goals: Sequence[Goal]) -> BoolArray:
    wanted = {frozenset(KINDS[kind]) for kind in test.wanted}
    return np.array([goal.labels in wanted and goal.violated == test.violated for goal in goals])


# What the scores along the learning curve of Moving Targets are, and what random actions reach.


GROUPS: Final = {
    "kind": ("a kind, such as blue & square", "#3b6fb6", "o"),
    "colour": ("a colour", "#7a5195", "s"),
    "shape": ("a shape", "#2a9d8f", "^"),
    "without": ("a colour, never touching a shape", "#e08e1b", "D"),
    "only": ("a kind before any other object", "#d1345b", "v"),
}
"""Groups of `skill_tests`: what they are, and how they are drawn."""


class LearningCurve:
    """The groups of skills, and the success of random actions on validation boards."""

    groups = GROUPS

    def row(self, scores: Mapping[str, float]) -> Mapping[str, float]:
        """Return the scores of a validation with the mean of each group of skills."""
        if all(group in scores for group in GROUPS):
            return scores
        tests = skill_tests()
        means = group_scores(tests, {test.name: scores[test.name] for test in tests})
        return {"steps": scores["steps"], "cpu_minutes": scores["cpu_minutes"], **means}

    def chance(
        self, spec: DomainSpec, boards: int, seed: int = VALIDATION_SEED
    ) -> dict[str, float]:
        """Return the success of random actions on validation boards, by group of skills."""
        goals = PixelGoals(spec.constraints, [frozenset(kind) for kind in KINDS])
        random = np.random.default_rng(0)

        def log_values(states: States) -> Float32Array:
            # One draw for all goals: the best action is then uniform, whatever goals are asked for.
            draws = random.random((len(states), 1, len(MOVES)), np.float32)
            return np.broadcast_to(draws, (len(states), len(goals), len(MOVES)))

        tests = skill_tests()
        scores = group_scores(tests, success(log_values, goals.goals, tests, boards, seed))
        return {group: scores[group] for group in GROUPS}


CURVE = LearningCurve()


# Algorithm 1 with deep Q-learning, from pixels: the learner of Moving Targets.
#
# What is as in the paper: goals are label sets with constraints, every goal is learned from every
# transition, constraints that were violated rule goals out, and what is learned is a network on
# 84 × 84 × 3 pictures. What differs, and why it is sound:
#
# - **The terminate action is not learned**: what it gives is known (`pixel_goals`). Q_MIN is 0
#   with r_min = 0, so it is not learned either.
# - **No constraint history in the input.** What a violated constraint changes is which goals are
#   still possible, and that is known: they are masked when acting.
# - **Cross-entropy** on values in [0, 1] instead of squares, and γ = 0.9 while learning.
# - **A wider gap** between the best action and the others (advantage learning: what an action
#   loses against the best is taken off its target many times over), which leaves the values of
#   the best actions as they are. The value and the actions' shares of it are outputs of their
#   own: were they one, not to be sure of the way would make a goal look farther away.
# - **Onward values** are learned besides: see `pixel_targets`.
# - **Sweeps** (preset `cpu`) instead of one agent's life (preset `paper`): see
#   `pixel_experience`.


WARM_UP = 100
"""Updates over which the step size rises."""
LEAST_RATE = 0.02
"""What is left of the step size at the end of the run."""
CLIP = 1.0
"""The largest norm of a gradient."""


class PixelLearner(DeepLearner):
    """Learns the skill primitives of Moving Targets from its pictures."""

    learner = "pixel"
    settings_class = PixelSettings
    settings: PixelSettings

    def __init__(self, spec: DomainSpec, settings: PixelSettings) -> None:
        super().__init__(spec, settings)
        if spec.name != "moving_targets":
            raise SkmError(
                f"the learner from pixels draws the boards of Moving Targets itself; it does not"
                f" know how to draw '{spec.name}'."
            )
        torch.set_num_threads(1)
        torch.manual_seed(settings.seed)
        self.settings = settings
        self.goals = PixelGoals(spec.constraints, [frozenset(kind) for kind in KINDS])
        heads = Heads(len(KINDS), len(self.goals), len(MOVES))
        self.network = make_network(self.options, heads)
        self.target = make_network(self.options, heads)
        self.target.load_state_dict(self.network.state_dict())
        self.target.requires_grad_(False)
        self._on_target: OnStates = self.target.on_states()
        self.optimiser = torch.optim.Adam(self.network.parameters(), fused=True)
        self.updates = 0
        self.replay = StateReplay(settings.replay if settings.experience == "replay" else 1)
        self.goal_seen = np.zeros(len(self.goals), np.int64)
        """How often each goal was achieved by a step that was learned from."""
        self.curve = ScoreCurve()
        self._targets = PixelTargets(self.goals, settings.gamma, settings.action_gap)

    @classmethod
    def start(cls, spec: DomainSpec, options: Mapping[str, Any]) -> Self:
        """Return a learner that knows nothing yet."""
        return super().start(spec, PixelSettings.with_preset(options))

    @property
    def default_steps(self) -> int:
        """Environment steps that the run is planned for."""
        return self.settings.horizon

    @property
    def round_steps(self) -> int:
        """Environment steps of one round."""
        if self.settings.experience == "sweep":
            return self.settings.round_updates * self.settings.boards * SWEEP_STEPS
        return self.settings.agents * self.spec.primitive_steps

    def collect(self, random: np.random.Generator) -> None:
        """Replay: let every agent live one episode in pursuit of goals. Sweeps need nothing."""
        if self.settings.experience == "sweep":
            return
        agents = self.settings.agents
        on_states = self.network.on_states()
        states = board.sample(random, agents)
        pursued = random.integers(len(self.goals), size=agents)
        first, last = self.settings.epsilon
        epsilon = first + (last - first) * min(1.0, 2 * self.steps / self.settings.horizon)
        for _ in range(self.spec.primitive_steps):
            with torch.no_grad():
                shares = on_states(states).shares
            actions = shares[torch.arange(agents), torch.from_numpy(pursued)].argmax(dim=1).numpy()
            chance = random.random(agents) < epsilon
            actions = np.where(chance, random.integers(len(MOVES), size=agents), actions)
            after = board.step(states, actions, random)
            self.replay.add(states, actions, after)
            over = ~self.goals.alive[after[:, COLLECTED], pursued]
            pursued = np.where(over, random.integers(len(self.goals), size=agents), pursued)
            states = after

    def improve(self, random: np.random.Generator) -> None:
        """Update the network: a fixed number of times, or as often as the steps gathered allow."""
        settings = self.settings
        if settings.experience == "sweep":
            for _ in range(settings.round_updates):
                self._update(sweep(random, settings.boards))
            return
        # Rounding as a function of the steps so far, so that no remainder has to be remembered.
        owed = (self.steps + self.round_steps) // settings.update_every
        for _ in range(owed - self.steps // settings.update_every):
            self._update(self.replay.sample(random, settings.batch))

    def _update(self, batch: BoardSteps) -> None:
        """Learn all goals from a batch."""
        targets = self._targets.of(batch, self._on_target)
        error = loss(self.network.on_states()(batch.states), targets, batch)
        self.optimiser.zero_grad()
        (error * math.sqrt(len(self.goals))).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        for group in self.optimiser.param_groups:
            group["lr"] = self._learning_rate()
        self.optimiser.step()
        self.updates += 1
        counts = np.bincount(batch.touched.ravel(), minlength=NOTHING + 1)
        self.goal_seen += counts @ self.goals.achieved
        if self.updates % self.settings.copy_every == 0:
            self._copy()

    def _learning_rate(self) -> float:
        progress = self.steps / self.settings.horizon
        warm = min(1.0, (self.updates + 1) / WARM_UP)
        return (
            self.settings.learning_rate
            * warm
            * float(np.clip((1 - progress) / 0.75, LEAST_RATE, 1))
        )

    def _copy(self) -> None:
        self.target.load_state_dict(self.network.state_dict())
        self._on_target = self.target.on_states()

    def log_values(self) -> LogValues:
        """Return the logarithms of the action values of states, by the network as it is now."""
        with torch.no_grad():
            on_states = self.network.on_states()

        def values(states: States) -> np.ndarray[Any, np.dtype[np.float32]]:
            with torch.no_grad():
                return on_states(states).action_values().log().numpy()

        return values

    def validate(self) -> dict[str, float]:
        """Return the success of single skills on validation boards."""
        tests = skill_tests()
        boards = self.settings.validation_boards
        rates = success(self.log_values(), self.goals.goals, tests, boards, VALIDATION_SEED)
        scores = group_scores(tests, rates)
        self.curve.add(self.steps, scores)
        return scores

    def served_arrays(self) -> Arrays:
        """Return the network in half precision, and how often each goal was achieved."""
        half = {f"network.{k}": v.astype(np.float16) for k, v in weights(self.network).items()}
        return {**half, "goal_seen": self.goal_seen.copy()}

    def served_details(self) -> dict[str, Any]:
        """Return sizes, both discounts, and the learning curve."""
        return {
            "network": self.settings.network,
            "channels": self.settings.channels,
            "hidden": list(self.settings.hidden),
            "gamma": self.spec.gamma,
            "learning_gamma": self.settings.gamma,
            "updates": self.updates,
            **self.curve.details(),
        }

    def finish(self, arrays: Arrays, card: Card) -> Arrays:
        """Add the mean values of every goal from where every other has just been achieved."""
        if "goal_to_goal" in arrays:
            return arrays
        from skm_primitives.learning.moving_targets.skills import goal_to_goal  # noqa: PLC0415

        return {**arrays, "goal_to_goal": goal_to_goal(arrays, card.details, self.goals)}

    def save(self, path: str | Path, command: str) -> Card:
        """Write the checkpoints, and the learning curve beside them as `NAME.curve.csv`."""
        card = super().save(path, command)
        self.curve.write(path)
        return card

    def training_arrays(self) -> Arrays:
        """Return both networks, the optimiser, the replay memory and the counts."""
        return {
            **{f"network.{name}": value for name, value in weights(self.network).items()},
            **{f"target.{name}": value for name, value in weights(self.target).items()},
            **optimiser_arrays("adam", self.optimiser),
            **self.replay.arrays(),
            "seen": self.goal_seen,
        }

    def restore(self, arrays: Arrays, details: Mapping[str, Any]) -> None:
        """Take back what was saved."""
        for prefix, network in (("network.", self.network), ("target.", self.target)):
            named = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
            set_weights(network, named)
        self._on_target = self.target.on_states()
        restore_optimiser("adam", self.optimiser, arrays)
        self.replay.restore(arrays)
        self.goal_seen = np.array(arrays["seen"])
        self.updates = details["updates"]
        self.curve.restore(details)
