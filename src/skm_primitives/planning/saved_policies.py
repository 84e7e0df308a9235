"""Policies that were learned on top of skills and saved: who loads each kind, named in its card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.planning.policy import Policy
from skm_primitives.skills import checkpoint as checkpoints
from skm_primitives.skills.values import Skills
from skm_sim.locations import load_attribute
from skm_sim.spec import DomainSpec

POLICIES: Final = {
    "finetune": "skm_primitives.few_shot.tabular:from_checkpoint",
    "task": "skm_primitives.few_shot.networks:from_checkpoint",
}
"""Who makes a policy of what each learner writes: a function of (arrays, card, spec, skills)."""


def load_finetuned(path: str | Path, spec: DomainSpec, skills: Skills) -> Policy:
    """Return the policy that `skm finetune` has saved; it belongs to the primitives it began with."""
    arrays, card = checkpoints.load(path, spec.name)
    check_finetuned(card, path)
    check_primitives(card.details, skills, path)
    with checkpoints.understood(path):
        policy: Policy = load_attribute(POLICIES[card.learner])(arrays, card, spec, skills)
    return policy


def check_finetuned(card: checkpoints.Card, path: str | Path) -> None:
    """Refuse a checkpoint of another learner."""
    if card.learner not in POLICIES:
        raise SkmError(
            f"{path} was written by the learner '{card.learner}', not by `skm finetune`; give a"
            " checkpoint that `skm finetune` has written."
        )


def check_primitives(
    details: Mapping[str, Any], skills: Skills, path: str | Path = "the policy"
) -> None:
    """Refuse primitives other than those that a fine-tuned policy was learned on top of."""
    if details["primitives"] != skills.digest:
        raise SkmError(
            f"{path} was learned on top of other primitives (digest {details['primitives'][:12]}…,"
            f" these are {skills.digest[:12]}…); give those, or learn it anew."
        )
