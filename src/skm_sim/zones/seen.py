"""What bodies make of the zones that a robot sees: how their features are made up, as data."""

from __future__ import annotations

from typing import Final

from skm_sim.pseudo_lidar import BINS
from skm_sim.things import Things
from skm_sim.zones.layout import EACH, Arena

OWN: Final = 11
"""Features of the robot itself: speeds, heading, place in its own frame, the wall sensor."""
ZONE_FEATURES: Final = 7
NEARNESS: Final = 3
"""Of these the one that falls with distance."""
KEPT_OFF: Final = 6
"""Zones to keep off that are looked at, the nearest: with four colours, all there can be."""
RAW_THINGS: Final = Things(OWN, Arena().names, each=1, features=BINS + 1, nearness=BINS, kept_off=3)
"""Those of `RawZonesBody`."""


def things(colours: int) -> Things:
    """Return those of `ZonesBody`."""
    return Things(OWN, Arena(colours).names, EACH, ZONE_FEATURES, NEARNESS, KEPT_OFF)
