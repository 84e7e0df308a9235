"""Skills learned among some kinds of objects, for a domain with other kinds or more of them.

Where all kinds are alike (`ObjectSets`), the network is shown what is to be reached and what is to be
avoided, and nothing of how many kinds there are. So it serves any number of them. What a checkpoint has
besides, a number for each goal, is by symmetry the same for goals that differ only in their kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_primitives.skills.checkpoint import Card, WrongDomainError
from skm_primitives.skills.goal_space import MANY_GOALS, ObjectGoals
from skm_sim.arrays import BoolArray, Float32Array, IntArray
from skm_sim.object_centric import ObjectSets
from skm_sim.registry import get_domain
from skm_sim.spec import DomainSpec

Arrays = Mapping[str, NDArray[Any]]


def other_kinds(
    arrays: Arrays, card: Card, spec: DomainSpec
) -> tuple[dict[str, NDArray[Any]], Card]:
    """Return a checkpoint of `spec.skills_of` as one of `spec`."""
    if card.domain != spec.skills_of:
        raise WrongDomainError(
            f"the checkpoint was trained in the domain '{card.domain}', not in '{spec.name}' or"
            f" '{spec.skills_of}'; give a checkpoint of one of these."
        )
    learned = get_domain(card.domain)
    before, after = learned.objects, spec.objects
    if (
        not isinstance(before, ObjectSets)
        or not isinstance(after, ObjectSets)
        or replace(before, kinds=()) != replace(after, kinds=())
    ):
        raise WrongDomainError(
            f"the skills of '{card.domain}' see other objects than '{spec.name}' has; its"
            " ObjectSets may differ in their kinds only."
        )
    known, wanted = _goals(learned), _goals(spec)
    count = len(wanted.served())
    values = {
        "goal_to_goal": _behind_goals(arrays["goal_to_goal"], known, wanted),
        "goal_seen": np.full(count, arrays["goal_seen"].min()),
    }
    details = {
        **card.details,
        "propositions": list(spec.propositions),
        "constraints": list(spec.constraints),
        "label_bits": wanted.label_bits,
        "slots": wanted.capacity,
    }
    return {**arrays, **values}, replace(card, domain=spec.name, details=details)


def _goals(spec: DomainSpec) -> ObjectGoals:
    """Return the goals of a domain that are known beforehand."""
    assert isinstance(spec.objects, ObjectSets), "it was looked at"
    slots = 1 + len(spec.objects.kinds)
    return ObjectGoals(spec.propositions, spec.constraints, spec.objects, slots)


def _behind_goals(table: NDArray[Any], known: ObjectGoals, wanted: ObjectGoals) -> Float32Array:
    """Return what lies behind the goals wanted, from what lies behind those known.

    How far it is from a kind of object to a goal depends on three things: whether it is of the same
    kind, whether it forbids the kind that one is at, and how many kinds it forbids. Of each such class
    the mean is taken; where more kinds are forbidden than ever were, it is that of the most.
    """
    rows = _kinds_of_rows(known)
    same, lost, forbidden = _classes(rows, known)
    values = table[rows >= 0]
    wanted_rows = _kinds_of_rows(wanted)
    there_same, there_lost, more = _classes(wanted_rows, wanted)
    behind: Float32Array = np.zeros(more.shape, np.float32)
    for is_same, is_lost in ((True, False), (False, False), (False, True)):
        here = (same == is_same) & (lost == is_lost)
        there = (there_same == is_same) & (there_lost == is_lost)
        counts = forbidden[here]
        mean = np.bincount(counts, values[here]) / np.maximum(np.bincount(counts), 1)
        behind[there] = mean[np.clip(more[there], counts.min(), counts.max())]
    every: Float32Array = np.zeros((len(wanted_rows), behind.shape[1]), np.float32)
    every[wanted_rows >= 0] = behind
    return every


def _kinds_of_rows(space: ObjectGoals) -> IntArray:
    """Return the kind of object that each row of `goal_to_goal` is about; -1: none, or several."""
    if len(space.learned) <= MANY_GOALS:
        return space.learned[:, 0]
    kinds: IntArray = np.arange(len(space)) - 1
    return kinds


def _classes(rows: IntArray, space: ObjectGoals) -> tuple[BoolArray, BoolArray, IntArray]:
    """Return `(rows, goals)` each: is it the same kind, is that kind forbidden, how many are."""
    at = rows[rows >= 0]
    avoided = space.avoided(space.learned[:, 2])
    same = at[:, None] == space.learned[:, 0]
    lost = avoided[:, at].T
    return same, lost, np.broadcast_to(avoided.sum(1), same.shape)
