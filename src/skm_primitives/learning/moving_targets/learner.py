"""Algorithm 1 with deep Q-learning, from pixels: the learner of Moving Targets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.learning.dqn import TINY, Arrays
from skm_primitives.learning.graph_backup import KEPT, ExperienceGraph, backed_up, widened
from skm_primitives.learning.moving_targets.networks import (
    Heads,
    OnStates,
    Outputs,
    make_network,
)
from skm_primitives.learning.moving_targets.sweeps import (
    SWEEP_STEPS,
    BoardSteps,
    StateReplay,
    sweep,
)
from skm_primitives.learning.moving_targets.validation import (
    VALIDATION_SEED,
    LogValues,
    group_scores,
    success,
)
from skm_primitives.learning.networks import TrainedNetwork, to_arrays
from skm_primitives.learning.trainer import DeepLearner, ScoreCurve, TrainerSettings
from skm_primitives.skills.checkpoint import Card
from skm_primitives.skills.moving_targets import PixelGoals, goal_to_goal
from skm_sim.arrays import BoolArray, IntArray
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import COLLECTED, KINDS, MOVES, NOTHING, States
from skm_sim.moving_targets.trials import skill_tests
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


# What is learned towards: the targets of all goals.
#
# A sweep is an experience graph: values are backed up through it until nothing changes, as through whole
# episodes (`graph_backup`), and the target network is asked only where something is collected: there the
# board becomes another one. A transition of a replay is backed up one step, as in deep Q-learning.
#
# Both learn besides the values *continuation* values: the value that each goal will have where a label
# set is shown next. It is learned once, for all missions, and lets a planner see which of two goals
# leaves the one after it nearer.


class Targets(NamedTuple):
    """What to learn towards in n states."""

    actions: Tensor
    """`(n, k, goals)`: the values of the actions taken, the gap to the best one widened."""
    best: Tensor | None
    """`(n, goals)`: the values of the states, where all their actions are known."""
    continuation: Tensor
    """`(n, label sets, goals)`."""


class PixelTargets:
    """Targets with a discount, and with the gap between actions widened (advantage learning)."""

    def __init__(self, goals: PixelGoals, gamma: float, action_gap: float) -> None:
        self._achieved = torch.from_numpy(goals.achieved).float()
        self._alive = torch.from_numpy(goals.alive).float() * gamma
        self._gamma = gamma
        self._gap = action_gap

    @torch.no_grad()
    def of_sweep(self, graph: ExperienceGraph, target: OnStates) -> Targets:
        """Return the targets of the states that are left, with a target network for the others."""
        kinds = graph.states[:, COLLECTED]
        ends = np.flatnonzero(kinds != NOTHING)
        after = torch.sigmoid(target(graph.states[ends]).values)
        values = torch.zeros(len(kinds), len(MOVES), after.shape[1])
        values[torch.from_numpy(ends)] = after[:, None]
        values = backed_up(graph, values, self._gamma, enough=0.0)
        best, own = values.amax(dim=1), torch.from_numpy(left(graph))
        there = torch.from_numpy(graph.shown[:, 2].reshape(len(own), -1))
        actions = widened(values[own], best[own][:, None], self._gap)
        return Targets(actions, best[own], best[there])

    @torch.no_grad()
    def of_steps(self, batch: BoardSteps, target: OnStates) -> Targets:
        """Return the targets of single transitions, with a target network for what follows."""
        following = target(batch.next_states)
        after = torch.sigmoid(following.values)
        touched = torch.from_numpy(batch.touched)
        values = (self._achieved[touched] + self._alive[touched] * after)[:, None]
        if self._gap > 0:
            here = target(batch.states).action_values().transpose(1, 2)
            lost = here.amax(dim=1, keepdim=True) - taken(here, batch.actions)
            values = torch.maximum(values - self._gap * lost, KEPT * values)
        continuation = torch.sigmoid(following.continuation)
        rows = torch.nonzero(touched != NOTHING).squeeze(1)
        continuation[rows, touched[rows]] = after[rows]
        return Targets(values, None, continuation)


def left(graph: ExperienceGraph) -> IntArray:
    """Return the states of a sweep that steps leave, in their order."""
    own: IntArray = graph.source[:: len(MOVES)]
    return own


def loss(outputs: Outputs, targets: Targets, actions: IntArray | None = None) -> Tensor:
    """Return how far a network's outputs are from the targets: the cross-entropy.

    With all actions of a state known, its values and the actions' shares are learned each by
    themselves: not to be sure of the way must not make a goal look farther away.
    """
    continuation = functional.binary_cross_entropy_with_logits(
        outputs.continuation, targets.continuation
    )
    if targets.best is None:
        assert actions is not None
        values = taken(outputs.action_values().transpose(1, 2), actions).clamp(TINY, 1 - TINY)
        return continuation + functional.binary_cross_entropy(values, targets.actions)
    best = targets.best[:, None]
    return (
        continuation
        + functional.binary_cross_entropy_with_logits(outputs.values, targets.best)
        + functional.binary_cross_entropy_with_logits(
            outputs.shares.transpose(1, 2),
            targets.actions / best.clamp(min=TINY),
            weight=(best > 0).float(),  # where no way leads there, all actions are alike
        )
    )


def taken(values: Tensor, actions: IntArray) -> Tensor:
    """Return values `(n, actions, goals)` of the actions that were taken, `(n, 1, goals)`."""
    index = torch.from_numpy(actions)[:, None, None].expand(-1, 1, values.shape[2])
    return values.gather(1, index)


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
# - **Continuation values** are learned besides.
# - **Sweeps** (preset `cpu`) instead of one agent's life (preset `paper`): see
#   `sweeps`.


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
        self._trained = TrainedNetwork(self.network, ("network", "target", "adam"), fused=True)
        self._on_target: OnStates = self._trained.average.on_states()
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
                graph = sweep(random, settings.boards, self.goals)
                targets = self._targets.of_sweep(graph, self._on_target)
                self._descend(loss(self._now(graph.states[left(graph)]), targets), graph.achieved)
            return
        # Rounding as a function of the steps so far, so that no remainder has to be remembered.
        due = (self.steps + self.round_steps) // settings.update_every
        for _ in range(due - self.steps // settings.update_every):
            batch = self.replay.sample(random, settings.batch)
            targets = self._targets.of_steps(batch, self._on_target)
            error = loss(self._now(batch.states), targets, batch.actions)
            self._descend(error, self.goals.achieved[batch.touched])

    def _now(self, states: States) -> Outputs:
        """Return what the network says of states."""
        return self.network.on_states()(states)

    def _descend(self, error: Tensor, achieved: BoolArray) -> None:
        """Take one step downhill, and count the goals that the steps learned from achieved."""
        # The mean over goals is scaled up: with it, step sizes fit any number of goals.
        scaled = error * math.sqrt(len(self.goals))
        self._trained.descend(scaled, self._learning_rate(), most_norm=CLIP)
        self.updates += 1
        self.goal_seen += achieved.sum(axis=0)
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
        self._trained.follow(1.0)
        self._on_target = self._trained.average.on_states()

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
        trained = to_arrays("network", self.network.state_dict())
        half = {name: value.astype(np.float16) for name, value in trained.items()}
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
        return {**arrays, "goal_to_goal": goal_to_goal(arrays, card.details, self.goals)}

    def save(self, path: str | Path, command: str) -> Card:
        """Write the checkpoints, and the learning curve beside them as `NAME.curve.csv`."""
        card = super().save(path, command)
        self.curve.write(path)
        return card

    def training_arrays(self) -> Arrays:
        """Return both networks, the optimiser, the replay memory and the counts."""
        return {
            **self._trained.arrays(),
            **self.replay.arrays(),
            "seen": self.goal_seen,
        }

    def restore(self, arrays: Arrays, details: Mapping[str, Any]) -> None:
        """Take back what was saved."""
        self._trained.restore(arrays)
        self._on_target = self._trained.average.on_states()
        self.replay.restore(arrays)
        self.goal_seen = np.array(arrays["seen"])
        self.updates = details["updates"]
        self.curve.restore(details)
