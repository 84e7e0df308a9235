"""Domains by name: those that come with skm, those of installed packages, and any by its place.

A package of one's own says in its pyproject.toml

    [project.entry-points."skm.domains"]
    kitchen = "my_package.spec:KITCHEN"

and every command knows `kitchen` as soon as it is installed. A folder that `skm map` made is a domain,
too: by its path, or by its name where it is in the current folder.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError, did_you_mean
from skm_sim.faults import said
from skm_sim.plugins import Plugins
from skm_sim.spec import DomainError, DomainSpec

INSTALLED: Final = Plugins("skm.domains", "domain")
"""The domains of other packages."""

SHIPPED: Final = {
    "office": "skm_sim.office.spec:OFFICE",
    "office_absorbing": "skm_sim.office.spec:OFFICE_ABSORBING",
    "safety": "skm_sim.safety.spec:SAFETY",
    "safety_region": "skm_sim.safety.spec:SAFETY_REGION",
    "zones": "skm_sim.zones.spec:ZONES",
    "zones_ten": "skm_sim.zones.variants:ZONES_TEN",
    "moving_targets": "skm_sim.moving_targets.spec:MOVING_TARGETS",
}
"""Where each domain that comes with skm keeps its `DomainSpec`: one line a domain."""

FIRST: Final = next(iter(SHIPPED))
"""The domain that nodes have by default."""


SYMBOLS: Final = "skm_sim.office.drawing:SYMBOLS"
"""Small drawings of what stands in the domains, by the names of their propositions."""


def symbols() -> dict[str, Any]:
    """Return what draws objects in pictures of a scene, by the groups of their shapes."""
    module, _, name = SYMBOLS.partition(":")
    return dict(getattr(importlib.import_module(module), name))


def domain_names() -> tuple[str, ...]:
    """Return the names of the domains that come with skm, then those of installed packages."""
    return tuple(dict.fromkeys([*SHIPPED, *INSTALLED.names()]))


def get_domain(name: str) -> DomainSpec:
    """Return a domain by its name, or any by `package.module:ATTRIBUTE` or by its folder.

    Only the module that holds the spec is imported, never the simulators of other domains.
    """
    if ":" in name or name in SHIPPED:  # nobody takes the place of a shipped one
        return _load(SHIPPED.get(name, name))
    if (location := INSTALLED.location(name)) is None:
        return _load_folder(name)
    try:
        return _load(location)
    except DomainError as error:
        raise DomainError(f"{INSTALLED.source(name)} cannot be loaded: {error}") from error


def _load_folder(name: str) -> DomainSpec:
    """Return the domain in a folder that `skm map` made; what reads maps is imported only here."""
    from skm_sim.maps.spec import (  # noqa: PLC0415
        is_map_folder,
        map_domain,
    )

    folder = Path(name).expanduser()
    if is_map_folder(folder):
        spec = map_domain(folder)
        spec.register()
        return spec
    if folder.is_dir():
        raise DomainError(f"the folder '{name}' holds no domain; `skm map` makes one of a map.")
    raise DomainError(
        f"unknown domain '{name}'{did_you_mean(name, domain_names())}"
        " A domain of your own is written package.module:ATTRIBUTE; one on a map is the folder"
        " that `skm map` made (one to try: `skm map --example --out hall`)."
    )


def _load(location: str) -> DomainSpec:
    """Import the `DomainSpec` at `package.module:ATTRIBUTE`."""
    module_name, _, attribute = location.partition(":")
    if not module_name or module_name.startswith("."):
        raise DomainError(
            f"domain '{location}': cannot import '{module_name}'; write package.module:ATTRIBUTE."
        )
    try:
        module = importlib.import_module(module_name)
    except SkmError:
        raise
    except ImportError as error:
        raise DomainError(
            f"domain '{location}': cannot import '{module_name}' ({error}). Install its package, or"
            " put its folder on PYTHONPATH."
        ) from error
    except Exception as error:
        raise DomainError(
            f"domain '{location}': the module '{module_name}' fails when it is imported"
            f" ({said(error)}); fix it first."
        ) from error
    spec = getattr(module, attribute, None)
    if isinstance(spec, DomainSpec):
        spec.register()
        return spec
    known = [key for key, value in vars(module).items() if isinstance(value, DomainSpec)]
    what = f"no attribute '{attribute}'" if spec is None else f"'{attribute}' is not a DomainSpec"
    hint = did_you_mean(attribute, known)
    raise DomainError(f"domain '{location}': {what} in {module_name}{hint}")
