"""The choices of a run of the learner from pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.deep.trainer import TrainerSettings

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
