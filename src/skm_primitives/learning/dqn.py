"""Goal-conditioned double DQN: one learner, whichever part of the goal is an input or an output.

What is learned is the logit of Q(s, a | reach, avoid) for each of the encoder's actions. Values are in
[0, 1] (γ to the number of steps to go), so they are fitted by cross-entropy, which tells small values
apart as well as large ones. The networks come as an ensemble; the least value of their averaged copies
(the target network) bootstraps. `skills.goal_encoding` says what the networks are asked and what they
answer; `learning.networks` has the networks themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from skm_primitives.learning.clearance import ClearanceEncoder, ClearancePenalty
from skm_primitives.learning.exploration import HeldExploration
from skm_primitives.learning.graph_backup import KEPT, backed_up, episode_graph, widened
from skm_primitives.learning.networks import (
    EnsembleMLP,
    GatedImageNetwork,
    ImageNetwork,
    TrainedNetwork,
    chosen_device,
    make_network,
    to_arrays,
)
from skm_primitives.learning.replay import Batch, Episodes
from skm_primitives.learning.settings import DeepSettings
from skm_primitives.skills.encoders import ObservationEncoder
from skm_primitives.skills.goal_encoding import GoalEncoding, Questions, questions_for
from skm_primitives.skills.goal_space import AnyAvoidGoals, GoalSpace, ObjectGoals
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.object_centric import ObjectKinds

Arrays = dict[str, NDArray[Any]]

TINY: Final = 1e-6


class Algorithm(Protocol):
    """One way to learn the values of all goals, and the actions that achieve them."""

    action_example: NDArray[Any]
    """An action as it is remembered, for its shape and type."""

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return the best actions for the goals in the masks `(n, slots, heads)`, as remembered."""
        ...

    def explore(
        self,
        chosen: NDArray[Any],
        random: np.random.Generator,
        step: int,
        shares: FloatArray | None = None,
    ) -> NDArray[Any]:
        """Return the actions with exploration added; `shares` as in `HeldExploration.mix`."""
        ...

    def to_environment(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return remembered actions as the environment takes them."""
        ...

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:
        """Learn from a batch, for all goals."""
        ...

    def served_arrays(self) -> Arrays:
        """Return the averaged networks."""
        ...

    def training_arrays(self) -> Arrays:
        """Return networks and optimisers."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `training_arrays` gave."""
        ...


class Asked(NamedTuple):
    """The goals that a batch is learned for, `(n, k)` each."""

    slots: IntArray
    """The label sets to reach."""
    allowed: IntArray
    """The constraints that may be shown on the way, as bits."""
    goals: IntArray | None
    """Their indices slot · heads + head, if they are goals of the space's list."""


def goal_targets(
    space: GoalSpace,
    batch: Batch,
    asked: Asked,
    next_values: Tensor,
    gamma: float,
    clearance: ClearancePenalty | None = None,
    second: NDArray[np.float32] | None = None,
) -> Tensor:
    """Return the targets of goals `(n, k)`, from the next state's values.

    See `goal_space` for the three cases. The steps in which a goal was really achieved later in the
    episode give a lower bound, and no value is outside of [0, 1]. Near what is to be avoided, a step
    counts as several (`clearance`). Where there is a second leg, `second` `(n,)` is what it is worth
    once the goal is achieved, else not a number.
    """
    slots, allowed, goals = asked
    changed = space.changed(batch.slot, batch.next_slot)[:, None]
    alive = ((changed & ~allowed) == 0) & ~batch.ended[:, None]
    steps = _steps_to(space, batch, asked)
    bound = np.where(steps > 0, np.power(gamma, steps - 1), 0).astype(np.float32)
    achieved = batch.next_slot[:, None] == slots
    lasts: NDArray[np.float32] | np.float32 = np.float32(1)
    if clearance is not None:
        assert goals is not None
        more = clearance.steps(batch.next_state, batch.next_slot, goals)
        lasts = np.power(np.float32(gamma), more.astype(np.float32))
    bound = np.where(achieved, lasts, bound)
    goes_on = (np.float32(gamma) * alive) * lasts
    device = next_values.device
    target = next_values * torch.from_numpy(goes_on).to(device)
    if second is not None:
        follows = ~np.isnan(second)[:, None]
        there = np.where(follows & achieved, second[:, None], np.float32(0))
        first = torch.from_numpy(follows & achieved).to(device)
        target = torch.where(first, torch.from_numpy(there).to(device), target)
        bound = np.where(follows, np.float32(0), bound).astype(np.float32)
    return torch.maximum(target.clamp(0, 1), torch.from_numpy(bound).to(device))


def _steps_to(space: GoalSpace, batch: Batch, asked: Asked) -> NDArray[np.floating[Any]]:
    """Return in how many steps each goal was achieved; 0: it was not."""
    past = batch.past
    if past is not None and isinstance(space, AnyAvoidGoals):
        later = space.steps_later(asked.allowed[:, 0], past.slots, past.between, past.step)
        return np.take_along_axis(later, asked.slots, axis=1).astype(np.float32)
    assert asked.goals is not None
    if past is not None and isinstance(space, ObjectGoals):
        found = space.steps_to(asked.goals[:, 0], past.slots, past.between, past.step)
        return found[:, None].astype(np.float64)
    return np.take_along_axis(batch.steps_to_goals, asked.goals, axis=1).astype(np.float32)


def grown(old: Algorithm, new: Algorithm) -> Algorithm:
    """Return `new`, which has more goals, with what `old` knows; its optimisers begin anew."""
    arrays = new.training_arrays()
    for name, value in old.training_arrays().items():
        if name in arrays:
            arrays[name][tuple(slice(length) for length in value.shape)] = value
    new.restore(arrays)
    return new


class GoalConditionedDQN:
    """Networks, their averaged copies and the optimiser; see `Algorithm`."""

    def __init__(
        self,
        encoder: ObservationEncoder,
        goals: GoalEncoding,
        settings: DeepSettings,
        kinds: ObjectKinds | None = None,
    ) -> None:
        self._encoder = encoder
        self.goals = goals
        """Which part of a goal is an input; with more label sets, its list of questions is longer."""
        self._space = goals.space
        self._settings = settings
        self._choices = encoder.actions
        few = len(encoder.actions) <= 256
        self.action_example: NDArray[Any] = np.zeros((), np.uint8 if few else np.int64)
        self._shape = (goals.outputs, len(encoder.actions))
        generator = torch.Generator().manual_seed(settings.seed)
        self.network = make_network(encoder, goals, settings, generator)
        with torch.no_grad():
            self.network.biases[-1].fill_(settings.first_logit)
        self._device = chosen_device(settings.device)
        self.network.to(self._device)
        self._trained = TrainedNetwork(self.network, lr=settings.learning_rate, fused=True)
        self.average = self._trained.average
        self._exploration = HeldExploration(settings.agents, self.action_example, settings.explore)
        self.clearance: ClearancePenalty | None = None
        """What counts as more than a step, where the encoder tells."""
        if kinds is not None and kinds.shown and settings.clearance_penalty:
            self.clearance = ClearancePenalty(cast("ClearanceEncoder", encoder), self._space, kinds)

    # Acting ---------------------------------------------------------------------------------------

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def logits(self, features: NDArray[Any], questions: Questions | None = None) -> Float32Array:
        """Return what the averaged networks say on the mean, `(n, outputs, actions)`.

        For a question each; where none is given, the first.
        """
        if questions is None:
            questions = self.goals.listed[np.zeros(len(features), np.int64)]
        with torch.no_grad():
            outputs = self.average(self._tensor(self.goals.shown(features, questions)))
            if self._settings.backup == "episode" and isinstance(self.average, ImageNetwork):
                mean = torch.logit(self._action_values(outputs).mean(0), TINY)
            else:
                mean = outputs.mean(0)
        found: Float32Array = mean.reshape(len(features), *self._shape).cpu().numpy()
        return found

    def choose(self, features: Float32Array, masks: BoolArray) -> NDArray[Any]:
        """Return the action with the best value of any goal in the mask."""
        wanted = masks.reshape(len(features), -1)
        row, question = questions_for(wanted, self.goals.goals)
        best = np.full((len(features), len(self._choices)), -np.inf, np.float32)
        if len(row):
            among = np.take_along_axis(wanted[row], self.goals.goals[question], axis=1)
            logits = self.logits(features[row], self.goals.listed[question])
            np.maximum.at(best, row, np.where(among[..., None], logits, -np.inf).max(1))
        chosen: NDArray[Any] = best.argmax(1)
        return chosen

    def shows(self, features: Float32Array) -> BoolArray:
        """Return which actions are thought to show a label in the very next state, `(n, actions)`."""
        labelled = np.repeat(np.array(self._space.label_bits) != 0, self._space.heads)
        near = np.float32(np.log((1 + self._settings.gamma) / (1 - self._settings.gamma)))
        some = self.logits(features)[:, : len(labelled)][:, labelled]
        shown: BoolArray = some.max(1, initial=-np.inf) > near
        return shown

    def explore(
        self,
        chosen: NDArray[Any],
        random: np.random.Generator,
        step: int,
        shares: FloatArray | None = None,
    ) -> NDArray[Any]:
        """Let agents take random actions now and then, each held for a few steps."""
        candidates = random.integers(len(self._choices), size=len(chosen))
        return self._exploration.mix(chosen, candidates, random, step, shares)

    def to_environment(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return the encoder's actions of these indices."""
        return self._encoder.commands(self._choices[actions])

    # Learning -------------------------------------------------------------------------------------

    def update(self, batch: Batch, random: np.random.Generator, learning_rate: float) -> None:
        """Take one step of Adam on the cross-entropy of values and targets.

        Each transition teaches the goals of one question, drawn at random; or, where tasks are drawn
        anew for every update, of `goals_each`.
        """
        settings = self._settings
        if isinstance(self._space, AnyAvoidGoals) and settings.goals_each > 1:
            batch = batch[np.repeat(np.arange(len(batch.slot)), settings.goals_each)]
        count = len(batch.slot)
        questions = self.goals.draw(random, batch.next_slot)
        states = self._tensor(self.goals.shown(batch.state, questions))
        following = self._tensor(self.goals.shown(batch.next_state, questions))
        known = None if questions.number is None else self.goals.goals[questions.number]
        asked = Asked(*self.goals.answered(questions), known)
        rows, taken = torch.arange(count), self._tensor(batch.action.astype(np.int64))
        with torch.no_grad():
            said, beyond = self._asked(self.average, following)
            low = self._next_values(said.amin(0).reshape(count, *self._shape), following)
            arrived = self._second_legs(batch, questions)
            target = goal_targets(
                self._space, batch, asked, low, settings.gamma, self.clearance, arrived
            )
        outputs, continuation = self._asked(self.network, states)
        logits = outputs.reshape(-1, count, *self._shape)
        if settings.action_gap:
            target = self._widened(target, states, logits, taken)
        loss = self._loss(logits[:, rows, :, taken].transpose(0, 1), target)
        if continuation is not None and beyond is not None:
            shown = self._continuation_targets(batch, low, beyond.sigmoid())
            loss = loss + self._loss(continuation[None], shown)
        self._descend(loss, learning_rate)

    def _second_legs(self, batch: Batch, questions: Questions) -> NDArray[np.float32] | None:
        """Return `(n,)`, what arriving at the goal asked for is worth: 1, or what follows of two legs.

        The second leg begins where the first ends, with nothing to avoid.
        """
        if questions.then is None:
            return None
        worth = np.zeros(len(batch.slot), np.float32)
        second = questions.then >= 0
        matters = second & ~batch.ended
        if self.goals.outputs == 1:
            matters &= batch.next_slot == questions.reach
        rows = np.flatnonzero(matters)
        every = np.full(len(rows), self._space.violations.max())
        follows = Questions(questions.then[rows], every)
        seen = self._tensor(self.goals.shown(batch.next_state[rows], follows))
        said = self.average(seen).amin(0).reshape(len(rows), *self._shape)
        values = self._next_values(said, seen)
        output = questions.then[rows] if self.goals.outputs > 1 else np.zeros(len(rows), np.int64)
        chosen = values[torch.arange(len(rows)), self._tensor(output)]
        worth[rows] = np.float32(self._settings.gamma) * chosen.cpu().numpy()
        worth[~second] = np.nan
        return worth

    def _next_values(self, logits: Tensor, following: Tensor) -> Tensor:
        """Return what the next states are worth, `(n, outputs)`, by the averaged networks' logits.

        With several networks the least of their values bootstraps (clipped double Q-learning). One
        alone is asked for the value of the action that the trained network would take (double DQN):
        a maximum over its own errors would inflate values.
        """
        if not self._settings.double:
            return logits.amax(-1).sigmoid()
        chosen = self.network(following).mean(0).reshape(logits.shape).argmax(-1, keepdim=True)
        return logits.gather(-1, chosen)[..., 0].sigmoid()

    def _widened(self, target: Tensor, states: Tensor, logits: Tensor, taken: Tensor) -> Tensor:
        """Return targets with a wider gap between the best action and the others.

        With steps of 0.1 s one action more or less hardly matters, so small errors decide, and a
        robot dithers. Advantage learning (Bellemare et al., 2016) takes a share of V(s) − Q(s, a) off
        the target of every action: it leaves the best action's value and so the optimal policy as
        they are, and drives the others down. What achieves the goal is known to be best.
        """
        with torch.no_grad():
            image = not isinstance(self.network, EnsembleMLP)
            # Networks of images are dear, so that the averaged ones are not asked once more.
            current = logits.detach() if image else self.average(states)
            current = current.mean(0).sigmoid().reshape(len(states), *self._shape)
            gap = current.amax(-1) - current[torch.arange(len(states)), :, taken]
            return _lowered(target, self._settings.action_gap * gap, KEPT if image else 0.0)

    def learn_episodes(self, episodes: Episodes, learning_rate: float) -> None:
        """Learn from all steps of whole episodes, values being backed up through them.

        What an action is worth and its *share* of what the best one is worth are outputs of their
        own, and the gap is widened in the shares alone: with one output for both, not to be sure of
        the way makes a goal look farther away.
        """
        settings, graph = self._settings, episode_graph(self._space, episodes)
        states = self._tensor(graph.states)
        source, action = self._tensor(graph.source), self._tensor(graph.action)
        with torch.no_grad():
            said = self._split(self.average(states))[0].sigmoid().amin(0)
            values = backed_up(graph, said.transpose(1, 2), settings.gamma)
            best, taken = values.amax(1), values[source, action]
            wide = widened(taken, best[source], settings.action_gap)
            share = wide / best[source].clamp(min=TINY)
        outputs, continuation = self._asked(self.network, states)
        worth, shares = (
            part[:, source, :, action].transpose(0, 1) for part in self._split(outputs)
        )
        # Where no way leads to a goal, all actions are alike.
        loss = self._loss(worth, taken) + self._loss(shares, share, best[source] > 0)
        if continuation is not None:
            state, slot, there = self._tensor(graph.shown.T)
            loss = loss + self._loss(continuation[state, slot][None], best[there])
        self._descend(loss, learning_rate)

    def _descend(self, loss: Tensor, learning_rate: float) -> None:
        """Take one step downhill, and let the averaged networks follow."""
        self._trained.descend(loss, learning_rate)
        self._trained.follow(self._settings.average_rate)

    def _loss(self, logits: Tensor, target: Tensor, counts: Tensor | None = None) -> Tensor:
        """Return the cross-entropy of `(members, n, goals)` and targets, of goals that there are.

        Where something does not count, it is left out.
        """
        used = self.goals.used
        said, meant = logits[..., :used], target[None, ..., :used]
        weight = None if counts is None else counts[None, ..., :used].float()
        total = functional.binary_cross_entropy_with_logits(
            said, meant.expand_as(said), weight, reduction="sum"
        )
        return total / meant.numel()

    # Outputs besides the values of actions: shares of them, and continuation values -----------

    def _split(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of actions' values and shares, `(members, n, goals, actions)` each."""
        apart = outputs.reshape(*outputs.shape[:2], self._shape[0], 2, self._shape[1])
        return apart[..., 0, :], apart[..., 1, :]

    def _action_values(self, outputs: Tensor) -> Tensor:
        """Return what every goal is worth by each action, `(members, n, goals, actions)`."""
        worth, shares = (part.sigmoid() for part in self._split(outputs))
        return worth.amax(-1, keepdim=True) * shares / shares.amax(-1, keepdim=True)

    def _asked(
        self, network: EnsembleMLP | ImageNetwork | GatedImageNetwork, inputs: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return what a network says: outputs, and continuation logits if it has them.

        *Continuation* values are what every goal will be worth where each label set is shown next, for
        planners that look ahead (`planning.lookahead`). No mission is mentioned in them either.
        """
        if self._settings.continuation and isinstance(network, ImageNetwork):
            return network.both(inputs)
        return network(inputs), None

    def _continuation_targets(self, batch: Batch, values: Tensor, beyond: Tensor) -> Tensor:
        """Return what each goal is worth where each label set is shown next, `(n, sets, goals)`.

        The values of the next state if the set is shown there, else its continuation values there.
        """
        targets = beyond.clone()
        targets[torch.arange(len(values)), self._tensor(batch.next_slot)] = values
        targets[self._tensor(batch.ended)] = 0
        return targets

    # Checkpoints ----------------------------------------------------------------------------------

    def served_arrays(self) -> Arrays:
        """Return the averaged networks and the actions that they choose among."""
        return {**to_arrays("network", self.average.state_dict()), "actions": self._choices.copy()}

    def training_arrays(self) -> Arrays:
        """Return networks, averaged networks and the optimiser's moments."""
        return self._trained.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `training_arrays` gave."""
        self._trained.restore(arrays)


def _lowered(target: Tensor, lost: Tensor, kept: float) -> Tensor:
    """Return the targets of actions less what they lose, but for a share that is kept."""
    return torch.where(target == 1, target, torch.maximum(target - lost, kept * target))
