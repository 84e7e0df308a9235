"""Primitives from checkpoints: those that come with a domain, or one's own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills import checkpoint as checkpoints
from skm_primitives.skills.values import Primitives
from skm_sim.locations import load_attribute
from skm_sim.registry import domain_names, get_domain
from skm_sim.spec import DomainSpec

SERVERS: Final = {
    "tabular": "skm_primitives.skills.tabular_skills:load",
    "known": "skm_primitives.skills.known_skills:load",
    "box": "skm_primitives.skills.network_skills:load",
}
"""Who serves what each generic learner writes: a function of (arrays, card, spec), imported on use.
A domain with a learner of its own says in its spec who serves that (`DomainSpec.server`)."""


def load_primitives(domain: DomainSpec | str, checkpoint: str | Path | None = None) -> Primitives:
    """Return the skill primitives of a domain: from a checkpoint, or those that come with it.

    A checkpoint of another domain, or of another version of this one, is refused.
    """
    spec = get_domain(domain) if isinstance(domain, str) else domain
    path = Path(checkpoint) if checkpoint else default_checkpoint(spec)
    arrays, card = checkpoints.load(path, spec.name)
    location = SERVERS.get(card.learner) or spec.server
    if not location:
        known = did_you_mean(card.learner, SERVERS)
        raise SkmError(f"{path} was written by the learner '{card.learner}'{known}")
    with checkpoints.understood(path):
        primitives: Primitives = load_attribute(location)(arrays, card, spec)
    return primitives


def default_checkpoint(spec: DomainSpec) -> Path:
    """Return the path of the checkpoint that comes with a domain."""
    if Path(spec.checkpoint).is_absolute() and Path(spec.checkpoint).exists():
        return Path(spec.checkpoint)
    package, _, inside = spec.checkpoint.partition(":")
    path = Path(str(files(package))) / f"{inside}{checkpoints.SUFFIX}" if package else None
    if path is None or not path.exists():
        name = spec.name if spec.name in domain_names() else "DOMAIN"  # Else found by its place.
        raise checkpoints.MissingCheckpointError(
            f"no checkpoint comes with the domain '{spec.name}';"
            f" `skm train {name} --out FILE{checkpoints.SUFFIX}` makes one, and"
            f" `--checkpoint FILE{checkpoints.SUFFIX}` names it."
        )
    return path
