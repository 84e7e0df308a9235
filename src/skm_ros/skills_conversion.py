"""What is known of primitives ⇄ the message that introduces them, checked so that none can harm."""

from __future__ import annotations

import array
import math
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from skm.msg import Goal as GoalMessage
from skm.msg import Observation, PlaceLabels, PrimitivesInfo

from skm_primitives.recording.introduction import introduction
from skm_primitives.skills.goals import Goal, label_sets_of
from skm_primitives.skills.known_skills import cells_of
from skm_primitives.skills.values import UNKNOWN, GoalToGoal, Primitives, RemoteSkills, WorldModel
from skm_ros.conversions import ConversionError, goal_value, observation_kind, table
from skm_ros.step_time import decision_steps
from skm_sim.arrays import BoolArray, IntArray
from skm_sim.finite_world import Chances, FiniteWorld

MOST_NUMBERS: Final = 100_000_000
"""The largest observation that anyone could mean."""


def primitives_info(
    primitives: Primitives, checkpoint: str, observation_space: Space[Any]
) -> PrimitivesInfo:
    """Return everything that the skill machine needs to know about the primitives."""
    observation_kind(observation_space)  # or say that no message holds them
    fields = introduction(primitives, checkpoint, observation_space)
    goals = [GoalMessage(**goal) for goal in fields.pop("goals")]
    places = [PlaceLabels(**place) for place in fields.pop("place_labels", ())]
    plain = {
        name: array.array(value.dtype.char, value.tobytes())
        if isinstance(value, np.ndarray)
        else value
        for name, value in fields.items()
    }
    return PrimitivesInfo(goals=goals, place_labels=places, **plain)


def remote_skills(info: PrimitivesInfo) -> RemoteSkills:
    """Return what a node says about the primitives that it serves, or say what is wrong with it."""
    try:
        skills = _remote_skills(info)
    except (ValueError, TypeError, IndexError, AssertionError, OverflowError, MemoryError) as error:
        raise ConversionError(f"primitives_info makes no sense: {str(error)[:200]}") from error
    strange = {name for goal in skills.goals for name in goal.labels}.difference(
        skills.propositions
    )
    strange |= {name for goal in skills.goals for name in goal.violated} - set(skills.constraints)
    if not skills.goals or strange or not 0 < skills.gamma < 1:
        raise ConversionError("primitives_info has goals, names and a discount that do not fit")
    return skills


def _remote_skills(info: PrimitivesInfo) -> RemoteSkills:
    goals = tuple(goal_value(goal) for goal in info.goals)
    return RemoteSkills(
        domain=info.domain,
        checkpoint=info.checkpoint,
        digest=info.digest,
        propositions=tuple(info.propositions),
        constraints=tuple(info.constraints),
        goals=goals,
        world_model=_world_model(info, goals),
        gamma=info.gamma,
        observation_space=_observation_space(info),
        action_space=_action_space(info),
        hold=decision_steps(info.domain),
    )


def _known_world(info: PrimitivesInfo, goals: tuple[Goal, ...]) -> FiniteWorld:
    """Return the world that is known as a whole, checked: nothing in it leads out of it."""
    cells = int(info.observation_shape[0]) if len(info.observation_shape) == 1 else 0
    successors = np.array(info.state_successors, np.int64)
    shown, near = np.array(info.state_goals, np.int64), np.array(info.state_near, np.int64)
    if not cells or successors.size != cells * int(info.action_count) or shown.size != cells:
        raise ConversionError(f"primitives_info has {successors.size} successors of {cells} states")
    leads = successors.reshape(cells, -1)
    ends: BoolArray = np.all(leads == -1, axis=1)
    inside = (leads[~ends] >= 0).all() and (leads < cells).all() and (shown < len(goals)).all()
    if not inside or near.size not in (0, cells):
        raise ConversionError(
            "primitives_info has successors or labels of states that are not there"
        )
    label_sets = label_sets_of(goals)
    label_ids = np.array([label_sets.index(goal.labels) for goal in goals])[shown]
    return cells_of(
        leads, label_ids, label_sets, tuple(info.constraints), near if near.size else None
    )


def _world_model(info: PrimitivesInfo, goals: tuple[Goal, ...]) -> WorldModel:
    if len(info.state_successors):
        return _known_world(info, goals)
    places = tuple(sorted({goal.place for goal in goals if goal.place is not None}))
    if not places:
        values = table(info.goal_to_goal, (len(goals), len(goals)))
        sets = len(label_sets_of(goals))
        avoiding = (
            table(info.avoiding, (len(info.constraints), sets, sets))
            if len(info.avoiding)
            else None
        )
        if not np.isfinite(values).all() or (
            avoiding is not None and not np.isfinite(avoiding).all()
        ):
            raise ConversionError("primitives_info has values that are not finite numbers")
        approximate = info.observation_kind != Observation.DISCRETE
        return GoalToGoal(
            values, approximate, avoiding=None if avoiding is None else avoiding.astype(np.float64)
        )
    visit_labels: dict[int, tuple[frozenset[str], ...]] = {}
    for entry in info.place_labels:
        visits = visit_labels.get(int(entry.place), ())
        visit_labels[int(entry.place)] = (*visits, frozenset(entry.labels))
    successors = np.array(info.place_successors, np.int64)
    if successors.size != len(places) * int(info.action_count):
        raise ConversionError(f"primitives_info has {successors.size} successors of places")
    inside = (successors >= UNKNOWN) & (successors < len(places))
    known = (successors != UNKNOWN).any()
    if not (known and inside.all()) or set(visit_labels) != set(places):
        raise ConversionError(
            "primitives_info has successors or labels of places that are not there"
        )
    probability = table(info.goal_probability, (len(goals),))
    if not ((probability > 0) & (probability <= 1)).all():
        raise ConversionError("primitives_info has chances that are not between 0 and 1")
    leads = successors.reshape(len(places), -1)
    tried = leads != UNKNOWN
    leads = np.where(tried, leads, np.arange(len(places))[:, None])
    return FiniteWorld.showing(
        places,
        leads,
        visit_labels,
        chances=_chances(info, leads),
        tried=None if tried.all() else tried,
        goal_probability=probability,
    )


def _chances(info: PrimitivesInfo, successors: IntArray) -> Chances | None:
    """Return where actions lead at random, checked: every one leads somewhere, surely."""
    if not len(info.place_chances):
        return None
    chances = table(info.place_chances, (*successors.shape, len(successors)))
    sure = np.isfinite(chances).all() and (chances >= 0).all()
    if not sure or np.abs(chances.sum(axis=2) - 1).max() > 1e-4:
        raise ConversionError("primitives_info has chances of places that do not add up to 1")
    return Chances.of_table(chances)


def _observation_space(info: PrimitivesInfo) -> Space[Any]:
    shape = tuple(int(length) for length in info.observation_shape)
    if not shape or not 0 < math.prod(shape) <= MOST_NUMBERS:
        raise ConversionError(f"primitives_info has observations of the shape {shape}")
    if info.observation_kind == Observation.DISCRETE:
        return Discrete(shape[0])
    if info.observation_kind == Observation.IMAGE:
        return Box(0, 255, shape, np.uint8)
    return Box(-np.inf, np.inf, shape, np.float32)


def _action_space(info: PrimitivesInfo) -> Space[Any]:
    if info.action_kind == PrimitivesInfo.DISCRETE and info.action_count > 0:
        return Discrete(int(info.action_count))
    low, high = (np.array(ends, np.float32) for ends in (info.action_low, info.action_high))
    if not 0 < len(low) == len(high) == info.action_count or not (low <= high).all():
        raise ConversionError("primitives_info has no actions, or bounds that do not fit")
    return Box(low, high)
