"""Primitives from checkpoints: those that come with a domain, or one's own."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills import checkpoint as checkpoints
from skm_primitives.skills.other_kinds import other_kinds
from skm_primitives.skills.values import Primitives, Skills
from skm_sim.locations import load_attribute
from skm_sim.plugins import PluginError, Plugins
from skm_sim.registry import domain_names, get_domain
from skm_sim.spec import DomainSpec

SERVERS: Final = {
    "tabular": "skm_primitives.skills.tabular_skills:load",
    "known": "skm_primitives.skills.known_skills:load",
    "box": "skm_primitives.skills.network_skills:load",
}
"""Who serves what each generic learner writes: a function of (arrays, card, spec), imported on use.
A domain with a learner of its own says in its spec who serves that (`DomainSpec.server`)."""


INSTALLED: Final = Plugins("skm.skills", "set of skills")
"""Skills of other packages: each a function (spec, checkpoint) that gives `Primitives`. They are named
in place of a checkpoint, NAME or NAME:FILE; or serve the checkpoints of a learner of that name."""


def load_primitives(domain: DomainSpec | str, checkpoint: str | Path | None = None) -> Primitives:
    """Return the skill primitives of a domain: from a checkpoint, or those that come with it.

    A checkpoint of another domain, or of another version of this one, is refused. `checkpoint` may also
    name skills of an installed package (`INSTALLED`); skills by the name of a domain are those that come
    with it, if no checkpoint does.
    """
    spec = get_domain(domain) if isinstance(domain, str) else domain
    if named := installed_skills(spec, checkpoint):
        return _checked(named[0], INSTALLED.call(named[0], spec, named[1]), spec)
    path = Path(checkpoint) if checkpoint else default_checkpoint(spec)
    try:
        arrays, card = checkpoints.load(path, None if spec.skills_of else spec.name)
    except checkpoints.MissingCheckpointError as error:
        if not INSTALLED.names():
            raise
        name = str(checkpoint).partition(":")[0]
        raise checkpoints.MissingCheckpointError(
            f"no installed skills are called '{name}'{did_you_mean(name, INSTALLED.names())} And {error}"
        ) from error
    location = SERVERS.get(card.learner) or spec.server
    if not location and card.learner in INSTALLED.names():
        return _checked(card.learner, INSTALLED.call(card.learner, spec, str(path)), spec)
    if not location:
        known = did_you_mean(card.learner, (*SERVERS, *INSTALLED.names()))
        raise SkmError(f"{path} was written by the learner '{card.learner}'{known}")
    if card.domain != spec.name:
        arrays, card = other_kinds(arrays, card, spec)
    with checkpoints.understood(path):
        primitives: Primitives = load_attribute(location)(arrays, card, spec)
    return primitives


def installed_skills(spec: DomainSpec, checkpoint: str | Path | None) -> tuple[str, str] | None:
    """Return name and file of the installed skills that are meant; None if a checkpoint is.

    What is a file is never taken for a name.
    """
    if checkpoint:
        name, _, file = str(checkpoint).partition(":")
        is_file = checkpoints.checkpoint_path(Path(checkpoint)).exists()
        return None if is_file or name not in INSTALLED.names() else (name, file)
    return (spec.name, "") if not spec.checkpoint and spec.name in INSTALLED.names() else None


def skills_name(spec: DomainSpec, checkpoint: str | Path | None) -> str:
    """Return what to call the skills that `load_primitives` would load: a file, or a name."""
    if installed_skills(spec, checkpoint):
        return str(checkpoint or spec.name)
    return Path(checkpoint or default_checkpoint(spec)).name


def _checked(name: str, skills: Any, spec: DomainSpec) -> Primitives:  # noqa: ANN401
    """Return the skills of an installed package, if they are what primitives of the domain are."""
    wanted = [part for part in (*vars(Skills), "values") if part[0] != "_"]
    if missing := [part for part in wanted if not hasattr(skills, part)]:
        raise PluginError(
            f"{INSTALLED.source(name)} gave a {type(skills).__name__} without {', '.join(missing)};"
            " skm_primitives.PolicySkills makes them of policies."
        )
    if unknown := sorted({*skills.propositions} ^ {*spec.propositions}):
        raise PluginError(
            f"{INSTALLED.source(name)} is not for the domain '{spec.name}': they differ in the"
            f" propositions {', '.join(unknown)}."
        )
    for note in getattr(skills, "notes", ()):
        print(f"skm: {note}", file=sys.stderr)
    return skills  # type: ignore[no-any-return]


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
