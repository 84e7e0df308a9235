"""What the learner from pixels learns towards: the targets of all goals, for a batch of transitions.

What a step gives is known for every goal at once (`pixel_goals`); what comes after it is not:

- **Replay**: after one step the target network says what the rest is worth, as in deep Q-learning.
- **Sweep**: a batch holds all transitions of whole boards, so values are backed up through it until
  nothing changes, as in value iteration. The target network is asked only where something is
  collected: there the board becomes another one.

Both learn besides the values *onward*: the value that each goal will have where a label set is shown
next. It is learned once, for all missions, and lets a planner see which of two goals leaves the one
after it nearer.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from skm_primitives.deep.moving_targets.experience import BoardSteps
from skm_primitives.deep.moving_targets.kind_goals import PixelGoals
from skm_primitives.deep.moving_targets.pixel_networks import OnStates, Outputs
from skm_sim.moving_targets.board import COLLECTED, MOVES, NOTHING, NUM_CELLS

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
