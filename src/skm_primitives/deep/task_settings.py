"""The choices of a few-shot run with networks."""

from __future__ import annotations

from dataclasses import dataclass

from skm_machine.errors import SkmError
from skm_primitives.deep.trainer import TrainerSettings
from skm_primitives.planning.planners import EVERY_PLANNER


@dataclass(frozen=True)
class TaskSettings(TrainerSettings):
    """Everything about a run; a resumed run keeps what it was started with."""

    validate_rounds: int = 20
    """Rounds between two validations."""
    task: str = ""
    """A task of the domain; or none, and a `mission`."""
    mission: str = ""
    repeat: bool = False
    """Whether the mission starts over at success."""
    planner: str = "grounded"
    """Of the skill machine that it begins as."""
    checkpoint: str | None = None
    """The primitives to begin with; None: those that come with skm."""
    epsilon: float = 0.3
    """How often a choice is random while learning."""
    gamma: float = 0.0
    """The discount while learning; 0: such that what the skill machine takes counts for a fifth."""
    first_rounds: int = 10
    """Rounds in which the skill machine is watched, before anything else is tried."""
    hold: int = 8
    """Steps for which a choice is kept, unless the machine moves."""
    margin: float = 0.02
    """How much better than the skill machine a choice must be to be taken, as a share."""
    hidden: tuple[int, ...] = (128, 128)
    batch: int = 256
    update_every: int = 4
    """Environment steps to one update of the networks."""
    learning_rate: float = 5e-4
    average_rate: float = 0.01
    memory: int = 60_000
    """Steps remembered."""
    episodes: int = 20
    """Episodes of a round."""
    validation_worlds: int = 200
    proof_worlds: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.task) == bool(self.mission):
            raise SkmError("few-shot learning is for one task or one mission; name one of them.")
        if self.repeat and self.task:
            raise SkmError("repeat goes with a mission; a task says itself whether it repeats.")
        if self.planner not in EVERY_PLANNER:
            raise SkmError(
                f"unknown planner '{self.planner}'; there are {', '.join(EVERY_PLANNER)}."
            )
        if not 0 <= self.epsilon <= 1:
            raise SkmError(f"epsilon is {self.epsilon}; it must be from 0 to 1.")
        if not 0 <= self.gamma < 1:
            raise SkmError(f"gamma is {self.gamma}; it must be below 1, and at least 0.")
        for name in ("first_rounds", "hold", "batch", "update_every", "memory", "episodes"):
            if getattr(self, name) < 1:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        for name in ("validation_worlds", "proof_worlds"):
            if getattr(self, name) < 2:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 2.")
