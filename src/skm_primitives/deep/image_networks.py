"""Networks that see pictures: convolutions that halve the sides, then the perceptrons of `networks`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn

from skm_primitives.deep.bodies import Body
from skm_primitives.deep.box_settings import DeepSettings
from skm_primitives.deep.image_body import ImageBody
from skm_primitives.deep.networks import EnsembleMLP

LEAST_SIDE: Final = 7
"""Sides from which no further convolution halves the picture."""


class ImageNetwork(nn.Module):
    """Convolutions that all members share, and an `EnsembleMLP` on what they see.

    Input `(n, pixels · channels)` of bytes, output `(members, n, outputs)`.
    """

    def __init__(
        self,
        body: ImageBody,
        channels: int,
        hidden: Sequence[int],
        outputs: int,
        members: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self._shape = body.shape
        self._codes = None if body.codes is None else torch.from_numpy(body.codes)
        self._planes = body.planes
        self._shift = torch.from_numpy(body.shift)[:, None, None]
        self._scale = torch.from_numpy(body.scale)[:, None, None]
        self.filters, self.offsets = nn.ParameterList(), nn.ParameterList()
        planes, height, width = body.planes, *body.shape[:2]
        while not self.filters or max(height, width) > LEAST_SIDE:
            bound = (9 * planes) ** -0.5
            filters = torch.empty(channels, planes, 3, 3).uniform_(
                -bound, bound, generator=generator
            )
            self.filters.append(nn.Parameter(filters))
            self.offsets.append(nn.Parameter(torch.zeros(channels)))
            planes, height, width = channels, (height + 1) // 2, (width + 1) // 2
        seen = planes * height * width
        self.head = EnsembleMLP(seen, hidden, outputs, members, generator)

    @property
    def biases(self) -> nn.ParameterList:
        """Those of the perceptrons; the last are the outputs'."""
        return self.head.biases

    def forward(self, pixels: Tensor) -> Tensor:
        """Return the outputs of every member."""
        hidden = self._seen(pixels)
        for filters, offsets in zip(self.filters, self.offsets, strict=True):
            hidden = torch.relu(torch.conv2d(hidden, filters, offsets, stride=2, padding=1))
        outputs: Tensor = self.head(hidden.flatten(1))
        return outputs

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
    body: Body, settings: DeepSettings, outputs: int, members: int, generator: torch.Generator
) -> EnsembleMLP | ImageNetwork:
    """Return the network for what a body sees."""
    if isinstance(body, ImageBody):
        sizes = settings.channels, settings.hidden, outputs
        return ImageNetwork(body, *sizes, members, generator)
    return EnsembleMLP(body.inputs, settings.hidden, outputs, members, generator)
