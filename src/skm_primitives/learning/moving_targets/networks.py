"""Networks from pictures of Moving Targets to the values of all goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from skm_primitives.skills.moving_targets import PATCH_INPUTS, PATCHES, patches
from skm_sim.arrays import Float32Array, IntArray
from skm_sim.moving_targets.env import (
    AGENT,
    FLOOR,
    KINDS,
    NUM_CELLS,
    OBJECTS,
    PIXELS,
    SIZE,
    Frames,
    States,
    picture_tables,
    render,
)

# Frames as sums of parts, so that a linear layer can be applied to the parts once and for all.
#
# A frame of Moving Targets is the view of the empty board from the agent's cell, plus a change
# for each object that depends on its kind and on the tile of the view alone: one of 58 parts and
# six of 600. A linear layer of a sum is the sum of the linear layer, so its output on any frame
# is a sum of seven rows of a table with 658 rows, and the table costs as much as a few hundred
# frames. Values and gradients are those of the network on the frames (`test_deep_pixel.py`
# compares them); drawing is what is saved.


@cache
def dictionary() -> tuple[Float32Array, Float32Array]:
    """Return what views are added up from.

    Views of the empty board `(58, PATCHES, PATCH_INPUTS)`, and what an object adds to the patch
    that it is in, `(PATCHES, kinds, PATCH_INPUTS)`.
    """
    tables = picture_tables()
    floor = np.tile(np.array(FLOOR, np.uint8), (SIZE * SIZE, PIXELS * PIXELS))
    plain = patches(floor[:1].reshape(1, PIXELS, PIXELS, 3))[0]
    tile = np.arange(SIZE * SIZE)
    changes = np.empty((SIZE * SIZE, len(KINDS), PATCH_INPUTS), np.float32)
    for kind in range(len(KINDS)):
        frames = floor.copy()
        np.put_along_axis(frames, tables.pixels, tables.block[kind], axis=1)
        seen = patches(frames.reshape(-1, PIXELS, PIXELS, 3))
        changes[:, kind] = seen[tile, tile] - plain
    return patches(tables.empty), changes


def parts(states: States) -> IntArray:
    """Return which parts make up the frames of states: `(n, 7)` rows of the table of parts."""
    index = np.empty((len(states), 1 + len(KINDS)), np.int64)
    index[:, 0] = states[:, AGENT]
    tile = picture_tables().tile[states[:, :1], states[:, OBJECTS]]
    index[:, 1:] = NUM_CELLS + len(KINDS) * tile.astype(np.int64) + np.arange(len(KINDS))
    return index


# Networks from frames to the values of all goals, now and after each label set, as logits.
#
# The value of a goal and the shares of it that the actions have are outputs of their own (as in
# Wang et al., 2016): how far a goal is, and which way to go, are learned side by side.
#
# `TileNetwork` (preset `cpu`): a linear layer shared by all 3 × 3 patches of the frame averaged
# to 30 × 30, then a perceptron. It knows nothing of the board, of the torus, or of where the
# agent is. The patches do coincide with the tiles of the board. `NatureNetwork` (preset `paper`):
# the convolutions of Mnih et al. (2015) on the whole frame, then the paper's 3 × 1024.


class Outputs(NamedTuple):
    """What a network says of n frames, as logits."""

    values: Tensor
    """`(n, goals)`: the value of each goal, by its best action."""
    shares: Tensor
    """`(n, goals, actions)`: the share of that which each action has; the greatest counts as 1."""
    continuation: Tensor
    """`(n, label sets, goals)`: the value that each goal will have where that label set is shown
    next."""

    def action_values(self) -> Tensor:
        """Return `(n, goals, actions)`: the value of each goal by each action, from 0 to 1."""
        shares = torch.sigmoid(self.shares)
        return torch.sigmoid(self.values)[:, :, None] * shares / shares.amax(dim=2, keepdim=True)


OnStates: TypeAlias = Callable[[States], Outputs]
"""The network on states: their frames are drawn, or put together inside the first layer."""

FIRST_LOGIT = -2.0
"""Where all values begin: near 0.1, since most goals are many steps away."""


class Heads(NamedTuple):
    """How many outputs a network has of each kind."""

    label_sets: int
    goals: int
    actions: int

    @property
    def size(self) -> int:
        """All outputs in a row: values, shares, continuation."""
        return self.goals * (1 + self.actions + self.label_sets)

    def split(self, outputs: Tensor) -> Outputs:
        """Return a network's last layer `(n, size)` as what it stands for."""
        sizes = [self.goals * rows for rows in (1, self.actions, self.label_sets)]
        values, shares, continuation = torch.split(outputs, sizes, dim=1)
        return Outputs(
            values,
            shares.view(-1, self.goals, self.actions),
            continuation.view(-1, self.label_sets, self.goals),
        )


class PixelNetwork(nn.Module, ABC):
    """A network from frames to `Outputs`."""

    def __init__(self, heads: Heads) -> None:
        super().__init__()
        self.heads = heads

    @abstractmethod
    def forward(self, frames: Frames) -> Outputs:
        """Return the logits of frames `(n, 84, 84, 3)`."""

    def on_states(self) -> OnStates:
        """Return the network, with its weights as they are now, as a function of states."""
        return lambda states: self(render(states))


class TileNetwork(PixelNetwork):
    """See the module. All up to the first ReLU is linear, so states need not be drawn to train."""

    def __init__(self, heads: Heads, channels: int, hidden: Sequence[int]) -> None:
        super().__init__(heads)
        self.patch = nn.Linear(PATCH_INPUTS, channels)
        # Inputs come first, unlike in `nn.Linear`: the table below needs them patch by patch.
        bound = (PATCHES * channels) ** -0.5
        self.first = nn.Parameter(
            torch.empty(PATCHES * channels, hidden[0]).uniform_(-bound, bound)
        )
        self.first_bias = nn.Parameter(torch.empty(hidden[0]).uniform_(-bound, bound))
        self.layers = _perceptron(hidden, heads.size)
        empty, changes = dictionary()
        self.register_buffer("_empty", torch.from_numpy(empty), persistent=False)
        self.register_buffer("_changes", torch.from_numpy(changes), persistent=False)

    def forward(self, frames: Frames) -> Outputs:
        """Return the logits of frames."""
        return self._rest(self._first(torch.from_numpy(patches(frames))))

    def on_states(self) -> OnStates:
        """Return the network on states, from the table of what their parts add to the first layer."""
        table = self._table()

        def logits(states: States) -> Outputs:
            index = torch.from_numpy(parts(states))
            return self._rest(functional.embedding_bag(index, table, mode="sum"))

        return logits

    def _table(self) -> Tensor:
        """Return what each part adds to the first hidden layer, `(parts, hidden)`."""
        changes = functional.linear(self.get_buffer("_changes"), self.patch.weight)
        added = torch.bmm(changes, self.first.view(PATCHES, -1, self.first.shape[1]))
        return torch.cat([self._first(self.get_buffer("_empty")), added.flatten(0, 1)])

    def _first(self, inputs: Tensor) -> Tensor:
        return torch.addmm(self.first_bias, self.patch(inputs).flatten(1), self.first)

    def _rest(self, first: Tensor) -> Outputs:
        return self.heads.split(_through(self.layers, torch.relu(first)))


class NatureNetwork(PixelNetwork):
    """The convolutions of Mnih et al. (2015), and a perceptron."""

    def __init__(self, heads: Heads, hidden: Sequence[int]) -> None:
        super().__init__(heads)
        self.convolutions = nn.Sequential(
            nn.Conv2d(3, 32, 8, 4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1),
            nn.ReLU(),
        )
        self.layers = _perceptron([64 * 7 * 7, *hidden], heads.size)

    def forward(self, frames: Frames) -> Outputs:
        """Return the logits of frames."""
        inputs = torch.from_numpy(frames).permute(0, 3, 1, 2).float() * (4 / 255) - 1
        return self.heads.split(_through(self.layers, self.convolutions(inputs).flatten(1)))


def _perceptron(sizes: Sequence[int], outputs: int) -> nn.ModuleList:
    layers = nn.ModuleList(
        nn.Linear(size, following) for size, following in pairwise([*sizes, outputs])
    )
    with torch.no_grad():
        last = layers[-1]
        assert isinstance(last, nn.Linear)
        last.bias.fill_(FIRST_LOGIT)
    return layers


def _through(layers: nn.ModuleList, inputs: Tensor) -> Tensor:
    """Return the outputs of a perceptron, with a ReLU between its layers."""
    first, *others = layers
    hidden: Tensor = first(inputs)
    for layer in others:
        hidden = layer(torch.relu(hidden))
    return hidden


def make_network(details: Mapping[str, Any], heads: Heads) -> PixelNetwork:
    """Return a network of the kind, channels and hidden sizes in `details`, freshly initialised."""
    hidden = tuple(details["hidden"])
    if details["network"] == "nature":
        return NatureNetwork(heads, hidden)
    return TileNetwork(heads, details["channels"], hidden)
