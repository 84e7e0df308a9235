"""How long a step takes, for missions that name seconds."""

from __future__ import annotations

from skm_machine.errors import SkmError
from skm_sim.registry import get_domain


def step_seconds(period: float, domain: str) -> float | None:
    """Return the seconds of a step: the period in real time, else what the domain's world says.

    The domain is named by a message, so only domains that are known by name are looked up, no paths.
    """
    if period > 0:
        return period
    try:
        return None if {":", "/"} & set(domain) else get_domain(domain).step_seconds
    except SkmError:
        return None
