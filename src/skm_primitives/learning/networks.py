"""Networks that are trained: perceptrons, several at once as one batched product, and image networks."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from skm_machine.errors import SkmError
from skm_primitives.learning.settings import DeepSettings
from skm_primitives.skills.encoders import ImageEncoder, ObservationEncoder
from skm_primitives.skills.goal_encoding import GoalEncoding, ReachAvoidInput
from skm_sim.arrays import Float32Array


class EnsembleMLP(nn.Module):
    """`members` networks with layer normalisation and ReLU, evaluated together.

    Input `(n, inputs)` for all members, or `(members, n, inputs)` for one each; output
    `(members, n, outputs)`.
    """

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        outputs: int,
        members: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        sizes = [inputs, *hidden, outputs]
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        self.scales = nn.ParameterList()
        self.shifts = nn.ParameterList()
        for size, following in itertools.pairwise(sizes):
            bound = 1 / math.sqrt(size)
            weight = torch.empty(members, size, following).uniform_(
                -bound, bound, generator=generator
            )
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(torch.zeros(members, 1, following)))
        for size in hidden:
            self.scales.append(nn.Parameter(torch.ones(members, 1, size)))
            self.shifts.append(nn.Parameter(torch.zeros(members, 1, size)))
        self.members = members
        self.coarse = False
        """Whether hidden layers are multiplied in half precision (bfloat16)."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs of every member."""
        return self.outputs(self.hidden(inputs))

    def outputs(self, hidden: Tensor) -> Tensor:
        """Return the outputs from the last hidden layer."""
        return torch.baddbmm(self.biases[-1], hidden, self.weights[-1])

    def hidden(self, inputs: Tensor) -> Tensor:
        """Return the last hidden layer of every member."""
        hidden = inputs if inputs.ndim == 3 else inputs.expand(self.members, *inputs.shape)
        for index, (scale, shift) in enumerate(zip(self.scales, self.shifts, strict=True)):
            hidden = self._product(index, hidden)
            hidden = functional.layer_norm(hidden, hidden.shape[-1:])
            hidden = torch.relu(torch.addcmul(shift, hidden, scale))
        return hidden

    def _product(self, index: int, hidden: Tensor) -> Tensor:
        """Return what a layer makes of the one before it."""
        if not self.coarse:
            return torch.baddbmm(self.biases[index], hidden, self.weights[index])
        weights, inputs = self.weights[index].bfloat16(), hidden.bfloat16()
        if self.members == 1:  # Plain products are faster than batches of one.
            product = torch.mm(inputs[0], weights[0])[None]
        else:
            product = torch.bmm(inputs, weights)
        outputs: Tensor = product.float() + self.biases[index]
        return outputs


def chosen_device(name: str) -> torch.device:
    """Return the device of that name; `auto` is a GPU where there is one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        text = " ".join(str(error).split())[:120]
        raise SkmError(
            f"--device: there is no '{name}' here ({text}); auto, cpu, cuda …"
        ) from error
    return device


def to_arrays(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Float32Array]:
    """Return a module's state as arrays for a checkpoint, under names that begin with `prefix`."""
    return {
        f"{prefix}.{name}": value.detach().cpu().numpy().copy() for name, value in state.items()
    }


def from_arrays(prefix: str, arrays: Mapping[str, Float32Array]) -> dict[str, Tensor]:
    """Return what `to_arrays` stored under `prefix`, as a module's state."""
    start = f"{prefix}."
    return {
        _RENAMED.get(part := name.removeprefix(start), part): torch.from_numpy(np.array(value))
        for name, value in arrays.items()
        if name.startswith(start)
    }


_RENAMED: Final = {"onward": "continuation", "onward_bias": "continuation_bias"}
"""Parameters that have another name in files of 0.1."""


Network = TypeVar("Network", bound=nn.Module)
"""The type of a network that is trained."""


class TrainedNetwork(Generic[Network]):
    """A network under training, its averaged copy (the target network), and the Adam optimiser.

    `names` are those of the three in a checkpoint; `options` are Adam's.
    """

    def __init__(
        self,
        network: Network,
        names: tuple[str, str, str] = ("trained", "average", "adam"),
        **options: Any,  # noqa: ANN401
    ) -> None:
        self.network = network
        self.average: Network = copy.deepcopy(network).requires_grad_(False)
        self._optimiser = torch.optim.Adam(network.parameters(), **options)
        self._names = names

    def descend(
        self, loss: Tensor, learning_rate: float | None = None, most_norm: float | None = None
    ) -> None:
        """Take one step of Adam, the gradient being clipped to a norm where one is given."""
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if most_norm is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), most_norm)
        if learning_rate is not None:
            for group in self._optimiser.param_groups:
                group["lr"] = learning_rate
        self._optimiser.step()

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """Move the averaged copy: average += rate · (network − average); 1 makes it equal."""
        torch._foreach_lerp_(list(self.average.parameters()), list(self.network.parameters()), rate)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return network, copy and the optimiser's moments for a checkpoint."""
        trained, average, adam = self._names
        return {
            **to_arrays(trained, self.network.state_dict()),
            **to_arrays(average, self.average.state_dict()),
            **_optimiser_arrays(adam, self._optimiser),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `arrays` gave."""
        trained, average, adam = self._names
        self.network.load_state_dict(from_arrays(trained, arrays))
        self.average.load_state_dict(from_arrays(average, arrays))
        _restore_optimiser(adam, self._optimiser, arrays)


def _optimiser_arrays(prefix: str, optimiser: torch.optim.Optimizer) -> dict[str, NDArray[Any]]:
    """Return the state of an Adam optimiser as arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    for index, state in optimiser.state_dict()["state"].items():
        for name, value in state.items():
            arrays[f"{prefix}.{index}.{name}"] = value.cpu().numpy().copy()
    return arrays


def _restore_optimiser(
    prefix: str, optimiser: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Take back what `_optimiser_arrays` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in arrays.items():
        if name.startswith(f"{prefix}."):
            index, _, entry = name.removeprefix(f"{prefix}.").partition(".")
            state.setdefault(int(index), {})[entry] = torch.from_numpy(np.array(value))
    if state:
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": state, "param_groups": groups})


# Networks that see pictures: filters, then the perceptrons of `networks`.
#
# The filters are convolutions that halve the sides until they are small; or, where a picture is
# made of tiles, one layer that all its patches share. Besides the values of goals they may have
# outputs for what every goal will be worth where each label set is shown next (*continuation* values).


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
    continuation: tuple[int, int] | None = None
    """Label sets and goals, where continuation values are learned."""
    half: bool = False
    """Whether the perceptrons' hidden layers are multiplied in half precision."""


class ImagePlanes:
    """From the bytes of images to planes `(n, planes, height, width)`: codes or intensities."""

    def __init__(self, encoder: ImageEncoder) -> None:
        self._shape = encoder.seen
        self._codes = None if encoder.codes is None else torch.from_numpy(encoder.codes)
        self._planes = encoder.planes
        self._shift = torch.from_numpy(encoder.shift)[:, None, None]
        self._scale = torch.from_numpy(encoder.scale)[:, None, None]

    def __call__(self, pixels: Tensor) -> Tensor:
        """Return the planes of images `(n, pixels · channels)`."""
        picture = pixels.reshape(-1, *self._shape).permute(0, 3, 1, 2)
        if self._codes is None:
            device = pixels.device
            return (picture.float() - self._shift.to(device)) * self._scale.to(device)
        table = self._codes.to(pixels.device)
        index = torch.stack([table[c][picture[:, c].long()] for c in range(len(table))], dim=1)
        shape = len(picture), self._planes, *self._shape[:2]
        return torch.zeros(shape, device=pixels.device).scatter_(1, index, 1.0)


class ImageNetwork(nn.Module):
    """Filters that all members share, and an `EnsembleMLP` on what they see.

    Input `(n, pixels · channels)` of bytes, output `(members, n, outputs)`.
    """

    def __init__(self, encoder: ImageEncoder, sizes: Sizes, generator: torch.Generator) -> None:
        super().__init__()
        self._shape = encoder.seen
        self._planes = encoder.planes
        self._seen = ImagePlanes(encoder)
        self.filters, self.offsets = nn.ParameterList(), nn.ParameterList()
        self.patch = sizes.patch
        if sizes.patch:  # Serving needs to know.
            self.register_buffer("side", torch.tensor(sizes.patch))
        add = self._add_patches if sizes.patch else self._add_convolutions
        seen = add(sizes.channels, generator)
        self.head = EnsembleMLP(seen, sizes.hidden, sizes.outputs, sizes.members, generator)
        self.head.coarse = sizes.half
        if sizes.continuation:
            width, members = sizes.hidden[-1], sizes.members
            continuation = torch.empty(members, width, *sizes.continuation)
            bound = width**-0.5
            self.continuation = nn.Parameter(
                continuation.uniform_(-bound, bound, generator=generator)
            )
            self.continuation_bias = nn.Parameter(torch.full(sizes.continuation, -2.0))

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
        """Return the outputs of every member, and the continuation logits `(n, label sets, goals)`."""
        hidden = self.hidden(pixels)
        flat = hidden.transpose(0, 1).flatten(1) / len(hidden)
        continuation = flat @ self.continuation.flatten(0, 1).flatten(1)
        return self.head.outputs(hidden), continuation.view(
            -1, *self.continuation_bias.shape
        ) + self.continuation_bias

    def hidden(self, pixels: Tensor) -> Tensor:
        """Return the last hidden layer of every member."""
        seen = self._seen(pixels)
        stride, padding = (self.patch, 0) if self.patch else (2, 1)
        for filters, offsets in zip(self.filters, self.offsets, strict=True):
            seen = torch.relu(torch.conv2d(seen, filters, offsets, stride, padding))
        return self.head.hidden(seen.flatten(1))


GATED_PLANES: Final = 8
"""Planes that a task picks out of what an image shows."""


class GatedImageNetwork(nn.Module):
    """An image network whose task selects: planes are weighted sums of channels, by weights of the task.

    Input `(n, pixels · channels + task)` of bytes, output `(members, n, outputs)`. Large images are
    halved by convolutions first. Nothing says which channel shows which proposition: that is learned.
    """

    def __init__(
        self, encoder: ImageEncoder, task: int, sizes: Sizes, generator: torch.Generator
    ) -> None:
        super().__init__()
        self._task = task
        self.see = ImageFilters(encoder, sizes.channels, generator)
        planes, height, width = self.see.shape
        bound = task**-0.5
        gates = torch.empty(task, GATED_PLANES * planes).uniform_(
            -bound, bound, generator=generator
        )
        self.gates = nn.Parameter(gates)
        self.gate_bias = nn.Parameter(torch.zeros(GATED_PLANES * planes))
        inputs = GATED_PLANES * height * width + task
        self.head = EnsembleMLP(inputs, sizes.hidden, sizes.outputs, sizes.members, generator)

    @property
    def biases(self) -> nn.ParameterList:
        """Those of the perceptrons; the last are the outputs'."""
        return self.head.biases

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs of every member."""
        task = inputs[:, -self._task :].float()
        seen = self.see(inputs[:, : -self._task]).flatten(2)
        gates = (task @ self.gates + self.gate_bias).view(len(seen), GATED_PLANES, -1)
        picked = torch.bmm(gates, seen).flatten(1)
        outputs: Tensor = self.head(torch.cat([picked, task], dim=1))
        return outputs


class ImageFilters(nn.Module):
    """The planes of an image, halved by convolutions where it is large."""

    def __init__(self, encoder: ImageEncoder, channels: int, generator: torch.Generator) -> None:
        super().__init__()
        self._planes = ImagePlanes(encoder)
        self.filters, self.offsets = nn.ParameterList(), nn.ParameterList()
        planes, (height, width) = encoder.planes, encoder.seen[:2]
        while max(height, width) > LEAST_SIDE:
            bound = (9 * planes) ** -0.5
            filters = torch.empty(channels, planes, 3, 3)
            self.filters.append(nn.Parameter(filters.uniform_(-bound, bound, generator=generator)))
            self.offsets.append(nn.Parameter(torch.zeros(channels)))
            planes, height, width = channels, (height + 1) // 2, (width + 1) // 2
        self.shape = planes, height, width

    def forward(self, pixels: Tensor) -> Tensor:
        """Return `(n, planes, height, width)`."""
        seen = self._planes(pixels)
        for filters, offsets in zip(self.filters, self.offsets, strict=True):
            seen = torch.relu(torch.conv2d(seen, filters, offsets, 2, 1))
        return seen


def make_network(
    encoder: ObservationEncoder,
    goals: GoalEncoding,
    settings: DeepSettings,
    generator: torch.Generator,
) -> EnsembleMLP | ImageNetwork | GatedImageNetwork:
    """Return the network for what an encoder sees, with an output for each goal answered and action.

    Where values are backed up through episodes, there are two: see `GoalConditionedDQN`.
    """
    whole = isinstance(encoder, ImageEncoder) and settings.backup == "episode"
    outputs, members = goals.outputs * len(encoder.actions) * (1 + whole), settings.members
    if isinstance(encoder, ImageEncoder):
        continuation = (goals.space.capacity, goals.outputs) if settings.continuation else None
        sizes = Sizes(
            settings.channels,
            settings.hidden,
            outputs,
            members,
            settings.patch,
            continuation,
            settings.half,
        )
        if isinstance(goals, ReachAvoidInput):
            return GatedImageNetwork(encoder, goals.task_inputs, sizes, generator)
        return ImageNetwork(encoder, sizes, generator)
    return EnsembleMLP(goals.inputs, settings.hidden, outputs, members, generator)
