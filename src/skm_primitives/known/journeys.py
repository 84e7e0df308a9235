"""How far a mission takes a robot in its building, in metres and seconds, before anything moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from skm_primitives.planning.known_policy import KnownWorldPolicy
from skm_primitives.planning.policy import Policy
from skm_sim.domain import DomainSpec
from skm_sim.maps.building import Building

STARTS: Final = 60
"""From how many cells the ways are followed."""
FEW_STARTS: Final = 20
"""From how many of them it is found out whether deadlines can be met."""
SEED: Final = 0


@dataclass(frozen=True)
class Journeys:
    """The ways that the planner takes, from cells all over the building."""

    possible: float
    """The share of cells from which the mission can be done."""
    metres: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Least, mean and most, to the end of the mission or of its first round."""
    legs: tuple[tuple[int, float], ...] = ()
    """For each machine state, the mean metres until the machine moves on."""
    speed: float = 1.0
    in_time: float | None = None
    """The share of some starts from which no deadline passes, at that speed; None: it has none."""

    def document(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return it as JSON."""
        least, mean, most = self.metres
        return {
            "possible": self.possible,
            "metres": {"least": least, "mean": mean, "most": most},
            "seconds": {
                key: value / self.speed
                for key, value in zip(("least", "mean", "most"), self.metres, strict=True)
            },
            "speed": self.speed,
            **({} if self.in_time is None else {"in_time": self.in_time}),
            "legs": [
                {"state": names[state], "metres": metres, "seconds": metres / self.speed}
                for state, metres in self.legs
            ],
        }


def building_of(spec: DomainSpec) -> Building | None:
    """Return the building of a domain on a map; None of other domains."""
    env = spec.make()
    building = getattr(env.unwrapped, "building", None)
    env.close()
    return building if isinstance(building, Building) else None


def on_building(spec: DomainSpec, policy: Policy | None) -> Journeys | None:
    """Return how far a mission is in its building, by the policy that would carry it out.

    None in other domains, and where the way depends on events or promises.
    """
    if not isinstance(policy, KnownWorldPolicy):
        return None
    building = building_of(spec)
    return None if building is None else journeys(building, policy)


def journeys(building: Building, policy: KnownWorldPolicy) -> Journeys:
    """Follow the ways of a plan from cells that are drawn at random, the same each time."""
    lengths = np.array([policy.steps_from(cell) for cell in range(building.floor.num_cells)])
    possible = np.flatnonzero(np.isfinite(lengths))
    rng = np.random.default_rng(SEED)
    starts = rng.choice(possible, min(STARTS, len(possible)), replace=False)
    totals, legs = [], []
    for start in starts.tolist():
        way = policy.way_from(start)
        metres = building.floor.step_lengths[[action for _, _, action in way]]
        totals.append(float(metres.sum()))
        legs.append((np.array([state for state, _, _ in way]), metres))
    states = dict.fromkeys(int(state) for found, _ in legs for state in found)
    means = tuple(
        (state, float(np.mean([m[s == state].sum() for s, m in legs if (s == state).any()])))
        for state in states
    )
    least, mean, most = min(totals), float(np.mean(totals)), max(totals)
    share = len(possible) / building.floor.num_cells
    speed = building.file.robot_speed
    in_time = policy.share_in_time(starts[:FEW_STARTS].tolist(), building.floor.cell / speed)
    return Journeys(share, (least, mean, most), means, speed, in_time)
