"""Domains by name: those that come with skm, those of installed packages, and any by its place.

A package of one's own says in its pyproject.toml

    [project.entry-points."skm.domains"]
    kitchen = "my_package.spec:KITCHEN"

and every command knows `kitchen` as soon as it is installed.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import entry_points
from typing import Final

import gymnasium

from skm_machine.errors import did_you_mean
from skm_sim.domain import DomainError, DomainSpec

GROUP: Final = "skm.domains"
"""The entry points under which packages name their domains."""

SHIPPED: Final = {
    "office": "skm_sim.office.spec:OFFICE",
    "office_absorbing": "skm_sim.office.spec:OFFICE_ABSORBING",
    "safety": "skm_sim.safety.spec:SAFETY",
    "moving_targets": "skm_sim.moving_targets.spec:MOVING_TARGETS",
}
"""Where each domain that comes with skm keeps its `DomainSpec`: one line a domain."""

FIRST: Final = next(iter(SHIPPED))
"""The domain that nodes have if nobody says."""


@cache
def _locations() -> dict[str, str]:
    """Return where every known domain is; nobody takes the place of a shipped one."""
    installed = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    return {**installed, **SHIPPED}


def domain_names() -> tuple[str, ...]:
    """Return the names of the domains that come with skm, then those of installed packages."""
    return tuple(dict.fromkeys([*SHIPPED, *_locations()]))


def get_domain(name: str) -> DomainSpec:
    """Return a domain by its name, or any by `package.module:ATTRIBUTE`.

    Only the module that holds the spec is imported, never the simulators of other domains.
    """
    if ":" in name:
        return _load(name)
    if name not in _locations():
        raise DomainError(
            f"unknown domain '{name}'{did_you_mean(name, domain_names())}"
            " A domain of your own is written package.module:ATTRIBUTE."
        )
    return _load(_locations()[name])


def register_environments(spec: DomainSpec) -> None:
    """Make the environments of a domain known to Gymnasium, once."""
    for entry in spec.environments:
        if entry.id not in gymnasium.registry:
            gymnasium.register(
                entry.id,
                entry_point=entry.entry_point,
                vector_entry_point=entry.vector_entry_point,
                max_episode_steps=entry.max_episode_steps,
                kwargs=dict(entry.kwargs),
            )


def _load(location: str) -> DomainSpec:
    """Import the `DomainSpec` at `package.module:ATTRIBUTE`."""
    module_name, _, attribute = location.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as error:
        raise DomainError(
            f"domain '{location}': cannot import '{module_name}' ({error}). Install its package, or"
            " put its folder on PYTHONPATH."
        ) from error
    spec = getattr(module, attribute, None)
    if isinstance(spec, DomainSpec):
        register_environments(spec)
        return spec
    known = [key for key, value in vars(module).items() if isinstance(value, DomainSpec)]
    what = f"no attribute '{attribute}'" if spec is None else f"'{attribute}' is no DomainSpec"
    hint = did_you_mean(attribute, known)
    raise DomainError(f"domain '{location}': {what} in {module_name}{hint}")
