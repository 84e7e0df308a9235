"""Networks that see pictures: filters, then the perceptrons of `networks`.

The filters are convolutions that halve the sides until they are small; or, where a picture is made of
tiles, one layer that all its patches share. Besides the values of goals they may have outputs for what
every goal will be worth where each label set is shown next (*onward* values).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from skm_machine.errors import SkmError
from skm_primitives.deep.bodies import Body
from skm_primitives.deep.box_settings import DeepSettings
from skm_primitives.deep.image_body import ImageBody
from skm_primitives.deep.networks import EnsembleMLP

LEAST_SIDE: Final = 7
"""Sides from which no further convolution halves the picture."""


class Sizes(NamedTuple):
    """How large a network is."""

    channels: int
    """Planes of each layer of filters."""
    hidden: tuple[int, ...]
    outputs: int
    members: int
    patch: int = 0
    """Pixels a side of the patches that share one layer; 0: convolutions."""
    onward: tuple[int, int] | None = None
    """Label sets and goals, where onward values are learned."""
    half: bool = False
    """Whether the perceptrons' hidden layers are multiplied in half precision."""


class ImageNetwork(nn.Module):
    """Filters that all members share, and an `EnsembleMLP` on what they see.

    Input `(n, pixels · channels)` of bytes, output `(members, n, outputs)`.
    """

    def __init__(self, body: ImageBody, sizes: Sizes, generator: torch.Generator) -> None:
        super().__init__()
        self._shape = body.seen
        self._codes = None if body.codes is None else torch.from_numpy(body.codes)
        self._planes = body.planes
        self._shift = torch.from_numpy(body.shift)[:, None, None]
        self._scale = torch.from_numpy(body.scale)[:, None, None]
        self.filters, self.offsets = nn.ParameterList(), nn.ParameterList()
        self.patch = sizes.patch
        if sizes.patch:  # So that whoever serves the network knows.
            self.register_buffer("side", torch.tensor(sizes.patch))
        add = self._add_patches if sizes.patch else self._add_convolutions
        seen = add(sizes.channels, generator)
        self.head = EnsembleMLP(seen, sizes.hidden, sizes.outputs, sizes.members, generator)
        self.head.coarse = sizes.half
        if sizes.onward:
            width, members = sizes.hidden[-1], sizes.members
            onward = torch.empty(members, width, *sizes.onward)
            bound = width**-0.5
            self.onward = nn.Parameter(onward.uniform_(-bound, bound, generator=generator))
            self.onward_bias = nn.Parameter(torch.full(sizes.onward, -2.0))

    def _add_convolutions(self, channels: int, generator: torch.Generator) -> int:
        """Add filters of 3 × 3 that halve the sides, until these are small."""
        planes, (height, width) = self._planes, self._shape[:2]
        while not self.filters or max(height, width) > LEAST_SIDE:
            self._add(channels, planes, 3, generator)
            planes, height, width = channels, (height + 1) // 2, (width + 1) // 2
        return planes * height * width

    def _add_patches(self, channels: int, generator: torch.Generator) -> int:
        """Add one layer of filters, which see patches that lie side by side."""
        height, width = self._shape[:2]
        if height % self.patch or width % self.patch:
            raise SkmError(
                f"pictures of {height} × {width} pixels have no patches of {self.patch} a side; set"
                " patch to what divides both, or pixels to another size."
            )
        self._add(channels, self._planes, self.patch, generator)
        return channels * (height // self.patch) * (width // self.patch)

    def _add(self, channels: int, planes: int, side: int, generator: torch.Generator) -> None:
        bound = (side * side * planes) ** -0.5
        filters = torch.empty(channels, planes, side, side)
        self.filters.append(nn.Parameter(filters.uniform_(-bound, bound, generator=generator)))
        self.offsets.append(nn.Parameter(torch.zeros(channels)))

    @property
    def biases(self) -> nn.ParameterList:
        """Those of the perceptrons; the last are the outputs'."""
        return self.head.biases

    def forward(self, pixels: Tensor) -> Tensor:
        """Return the outputs of every member."""
        return self.head.outputs(self.hidden(pixels))

    def both(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs of every member, and the onward logits `(n, label sets, goals)`."""
        hidden = self.hidden(pixels)
        flat = hidden.transpose(0, 1).flatten(1) / len(hidden)
        onward = flat @ self.onward.flatten(0, 1).flatten(1)
        return self.head.outputs(hidden), onward.view(
            -1, *self.onward_bias.shape
        ) + self.onward_bias

    def hidden(self, pixels: Tensor) -> Tensor:
        """Return the last hidden layer of every member."""
        seen = self._seen(pixels)
        stride, padding = (self.patch, 0) if self.patch else (2, 1)
        for filters, offsets in zip(self.filters, self.offsets, strict=True):
            seen = torch.relu(torch.conv2d(seen, filters, offsets, stride, padding))
        return self.head.hidden(seen.flatten(1))

    def _seen(self, pixels: Tensor) -> Tensor:
        """Return the planes `(n, planes, height, width)` of bytes."""
        picture = pixels.reshape(-1, *self._shape).permute(0, 3, 1, 2)
        if self._codes is None:
            device = pixels.device
            return (picture.float() - self._shift.to(device)) * self._scale.to(device)
        table = self._codes.to(pixels.device)
        index = torch.stack([table[c][picture[:, c].long()] for c in range(len(table))], dim=1)
        shape = len(picture), self._planes, *self._shape[:2]
        return torch.zeros(shape, device=pixels.device).scatter_(1, index, 1.0)


def make_network(
    body: Body,
    settings: DeepSettings,
    goals: int,
    slots: int,
    generator: torch.Generator,
) -> EnsembleMLP | ImageNetwork:
    """Return the network for what a body sees, with an output for each goal and action.

    Where values are backed up through episodes, there are two: see `image_dqn`.
    """
    whole = isinstance(body, ImageBody) and settings.backup == "episode"
    outputs, members = goals * len(body.actions) * (1 + whole), settings.members
    if isinstance(body, ImageBody):
        onward = (slots, goals) if settings.onward else None
        sizes = Sizes(
            settings.channels,
            settings.hidden,
            outputs,
            members,
            settings.patch,
            onward,
            settings.half,
        )
        return ImageNetwork(body, sizes, generator)
    return EnsembleMLP(body.inputs, settings.hidden, outputs, members, generator)
