"""Small multi-layer perceptrons, several at once as one batched product."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from skm_machine.errors import SkmError
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


@torch.no_grad()
def blend(average: nn.Module, model: nn.Module, rate: float) -> None:
    """Move the averaged network towards the trained one: average += rate · (model − average)."""
    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), rate)


def to_arrays(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Float32Array]:
    """Return a module's state as arrays for a checkpoint, under names that begin with `prefix`."""
    return {
        f"{prefix}.{name}": value.detach().cpu().numpy().copy() for name, value in state.items()
    }


def from_arrays(prefix: str, arrays: Mapping[str, Float32Array]) -> dict[str, Tensor]:
    """Return what `to_arrays` stored under `prefix`, as a module's state."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): torch.from_numpy(np.array(value))
        for name, value in arrays.items()
        if name.startswith(start)
    }
