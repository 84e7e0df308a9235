"""What the verification of a recorded mission comes to, as values and as a document for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from skm_machine.recent_transitions import Transition

SATISFIED, VIOLATED, POSSIBLE, UNKNOWN = "satisfied", "violated", "possible", "unknown"
"""Verdicts: by the labels alone. `possible`: neither; `unknown`: labels are missing."""

EXIT_CODES: Final = {"agrees": 0, "not satisfied": 1, "disagrees": 3, "incomplete": 4}
"""What `skm verify` ends with, besides 2 for what cannot be read."""


@dataclass(frozen=True)
class Disagreement:
    """Something that was recorded and cannot be so."""

    kind: str
    """Such as `wrong transition`: see docs/recording.md."""
    step: int | None
    """Of the mission; None if it is about the whole."""
    text: str


@dataclass(frozen=True)
class Closest:
    """How close the robot came to what was forbidden there and then."""

    distance: float
    step: int
    """Of the mission."""
    what: str
    """What was so close."""


@dataclass
class Verification:
    """What a replay of one recorded mission found."""

    mission: str
    domain: str
    verdict: str = UNKNOWN
    recorded: str = "unknown"
    """The outcome as it was recorded."""
    other: bool = False
    """Whether another mission was judged than the one that was run."""
    endless: bool = False
    """Whether it is a standing order, or a mission that starts over."""
    steps: int = 0
    rounds: int = 0
    seconds: float = 0.0
    """From the first state to the last."""
    transitions: list[tuple[Transition, float]] = field(default_factory=list)
    """The machine's moves by the replay, with the seconds since the first state."""
    names: tuple[str, ...] = ()
    """The names of the machine's states."""
    violations: list[tuple[int, frozenset[str]]] = field(default_factory=list)
    """The steps in which the mission failed, with what held."""
    nearest_steps: Closest | None = None
    nearest_metres: Closest | None = None
    stop_seconds: float | None = None
    """From the mission's last state to the stop."""
    disagreements: list[Disagreement] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """What is not in the recording, in sentences."""

    def disagree(self, kind: str, step: int | None, text: str) -> None:
        """Note a disagreement."""
        self.disagreements.append(Disagreement(kind, step, text))

    @property
    def satisfied(self) -> bool:
        """Whether it is: for good, or so far if it has no end, with rounds and nothing lost."""
        so_far = self.endless and self.verdict == POSSIBLE and self.rounds > 0
        return self.verdict == SATISFIED or so_far

    @property
    def result(self) -> str:
        """`agrees`, `not satisfied` (and agrees), `disagrees` or `incomplete`."""
        if self.disagreements:
            return "disagrees"
        if self.missing:
            return "incomplete"
        return "agrees" if self.satisfied else "not satisfied"

    def document(self) -> dict[str, Any]:
        """Return all of it for programs."""
        return {
            "mission": self.mission,
            "domain": self.domain,
            "result": self.result,
            "verdict": self.verdict,
            "satisfied": self.satisfied,
            "recorded_outcome": None if self.other else self.recorded,
            "steps": self.steps,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "transitions": [
                {
                    "step": move.step,
                    "seconds": seconds,
                    "source": self.names[move.source],
                    "target": self.names[move.target],
                    "labels": sorted(move.labels),
                    "reward": move.reward,
                }
                for move, seconds in self.transitions
            ],
            "violations": [
                {"step": step, "labels": sorted(labels)} for step, labels in self.violations
            ],
            "nearest_steps": _closest(self.nearest_steps),
            "nearest_metres": _closest(self.nearest_metres),
            "stop_seconds": self.stop_seconds,
            "disagreements": [
                {"kind": found.kind, "step": found.step, "text": found.text}
                for found in self.disagreements
            ],
            "missing": self.missing,
        }


def _closest(closest: Closest | None) -> dict[str, Any] | None:
    if closest is None:
        return None
    return {"distance": closest.distance, "step": closest.step, "what": closest.what}
