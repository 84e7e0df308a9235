"""Networks from frames to the values of all goals and actions, as logits.

`TileNetwork` (preset `cpu`): a linear layer shared by all 3 × 3 patches of the frame averaged to
30 × 30, then a perceptron. It knows nothing of the board, of the torus, or of where the agent is.
The patches do coincide with the tiles of the board. `NatureNetwork` (preset `paper`): the convolutions
of Mnih et al. (2015) on the whole frame, then the paper's 3 × 1024.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from skm_primitives.deep.pixel_parts import PATCH_INPUTS, PATCHES, dictionary, parts, patches
from skm_sim.moving_targets_board import States
from skm_sim.moving_targets_view import Frames, render

OnStates: TypeAlias = Callable[[States], Tensor]
"""The network on states: their frames are drawn, or put together inside the first layer."""

FIRST_LOGIT = -2.0
"""Where all values begin: near 0.1, since most goals are many steps away."""


class PixelNetwork(nn.Module):
    """A network from frames to logits `(n, goals, actions)`."""

    def __init__(self, goals: int, actions: int) -> None:
        super().__init__()
        self.goals, self.actions = goals, actions

    def forward(self, frames: Frames) -> Tensor:
        """Return the logits of frames `(n, 84, 84, 3)`."""
        raise NotImplementedError

    def on_states(self) -> OnStates:
        """Return the network, with its weights as they are now, as a function of states."""
        return lambda states: self(render(states))

    def _heads(self, outputs: Tensor) -> Tensor:
        return outputs.view(-1, self.goals, self.actions)


class TileNetwork(PixelNetwork):
    """See the module. All up to the first ReLU is linear, so states need not be drawn to train."""

    def __init__(self, goals: int, actions: int, channels: int, hidden: Sequence[int]) -> None:
        super().__init__(goals, actions)
        self.patch = nn.Linear(PATCH_INPUTS, channels)
        self.layers = _perceptron(PATCHES * channels, hidden, goals * actions)
        empty, changes = dictionary()
        self.register_buffer("_empty", torch.from_numpy(empty), persistent=False)
        self.register_buffer("_changes", torch.from_numpy(changes), persistent=False)

    def forward(self, frames: Frames) -> Tensor:
        """Return the logits of frames."""
        inputs = torch.from_numpy(patches(frames))
        return self._rest(self.layers[0](self.patch(inputs).flatten(1)))

    def on_states(self) -> OnStates:
        """Return the network on states, from the table of what their parts add to the first layer."""
        table = self._table()

        def logits(states: States) -> Tensor:
            index = torch.from_numpy(parts(states))
            return self._rest(functional.embedding_bag(index, table, mode="sum"))

        return logits

    def _table(self) -> Tensor:
        """Return what each part adds to the first hidden layer, `(parts, hidden)`."""
        first = self.layers[0]
        assert isinstance(first, nn.Linear)
        empty = first(self.patch(self.get_buffer("_empty")).flatten(1))
        changes = functional.linear(self.get_buffer("_changes"), self.patch.weight)
        weights = first.weight.view(len(first.weight), PATCHES, -1)
        added = torch.bmm(changes.transpose(0, 1), weights.permute(1, 2, 0)).transpose(0, 1)
        return torch.cat([empty, added.reshape(-1, added.shape[-1])])

    def _rest(self, first: Tensor) -> Tensor:
        hidden = first
        for layer in list(self.layers)[1:]:
            hidden = layer(torch.relu(hidden))
        return self._heads(hidden)


class NatureNetwork(PixelNetwork):
    """The convolutions of Mnih et al. (2015), and a perceptron."""

    def __init__(self, goals: int, actions: int, hidden: Sequence[int]) -> None:
        super().__init__(goals, actions)
        self.convolutions = nn.Sequential(
            nn.Conv2d(3, 32, 8, 4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1),
            nn.ReLU(),
        )
        self.layers = _perceptron(64 * 7 * 7, hidden, goals * actions)

    def forward(self, frames: Frames) -> Tensor:
        """Return the logits of frames."""
        inputs = torch.from_numpy(frames).permute(0, 3, 1, 2).float() * (4 / 255) - 1
        hidden = self.layers[0](self.convolutions(inputs).flatten(1))
        for layer in list(self.layers)[1:]:
            hidden = layer(torch.relu(hidden))
        return self._heads(hidden)


def _perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> nn.ModuleList:
    sizes = [inputs, *hidden, outputs]
    layers = nn.ModuleList(nn.Linear(size, following) for size, following in pairwise(sizes))
    with torch.no_grad():
        last = layers[-1]
        assert isinstance(last, nn.Linear)
        last.bias.fill_(FIRST_LOGIT)
    return layers


def make_network(details: Mapping[str, Any], goals: int, actions: int) -> PixelNetwork:
    """Return a network of the kind, channels and hidden sizes in `details`, freshly initialised."""
    hidden = tuple(details["hidden"])
    if details["network"] == "nature":
        return NatureNetwork(goals, actions, hidden)
    return TileNetwork(goals, actions, details["channels"], hidden)


def weights(network: PixelNetwork) -> dict[str, NDArray[np.float32]]:
    """Return the weights of a network by name, in copies."""
    return {name: value.numpy().copy() for name, value in network.state_dict().items()}


def set_weights(network: PixelNetwork, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give a network the weights that `weights` gave, in any precision."""
    network.load_state_dict(
        {name: torch.from_numpy(value.astype(np.float32)) for name, value in arrays.items()}
    )
