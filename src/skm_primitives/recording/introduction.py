"""What primitives and observations are to others, as the fields of their messages: no ROS is needed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import UNKNOWN, GoalToGoal, Primitives

VECTOR, DISCRETE, IMAGE = 0, 1, 2
"""Forms of observations: the constants of Observation."""
ENCODINGS: Final = {1: "mono8", 3: "rgb8"}
NO_PLACE: Final = -1


def observation_kind(space: Space[Any]) -> int | None:
    """Return the form of the observations from a space; None where no message holds them."""
    if isinstance(space, Discrete):
        return DISCRETE
    if not isinstance(space, Box):
        return None
    picture = space.dtype == np.uint8 and len(space.shape) == 3 and space.shape[2] in ENCODINGS
    return IMAGE if picture else VECTOR


def observation_fields(kind: int | None, value: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the fields of Observation that hold an observation; none if no message can."""
    if kind == DISCRETE:
        return {"kind": DISCRETE, "discrete": int(value)}
    if kind == VECTOR:
        return {"kind": VECTOR, "data": np.asarray(value, np.float32).ravel()}
    if kind is None:
        return {}
    height, width, channels = value.shape
    image = {
        "height": height,
        "width": width,
        "encoding": ENCODINGS[channels],
        "step": width * channels,
        "data": np.ascontiguousarray(value).tobytes(),
    }
    return {"kind": IMAGE, "image": image}


def goal_fields(goal: Goal) -> dict[str, Any]:
    """Return a goal as the fields of Goal."""
    place = NO_PLACE if goal.place is None else goal.place
    return {"labels": sorted(goal.labels), "violated": sorted(goal.violated), "place": place}


def introduction(
    primitives: Primitives, checkpoint: str, observation_space: Space[Any]
) -> dict[str, Any]:
    """Return everything that the skill machine needs to know: the fields of PrimitivesInfo."""
    discrete = isinstance(observation_space, Discrete)
    shape = [int(observation_space.n)] if discrete else list(observation_space.shape or ())  # type: ignore[attr-defined]
    return {
        "domain": primitives.domain,
        "checkpoint": checkpoint,
        "digest": primitives.digest,
        "propositions": list(primitives.propositions),
        "constraints": list(primitives.constraints),
        "goals": [goal_fields(goal) for goal in primitives.goals],
        "gamma": float(primitives.gamma),
        "observation_kind": observation_kind(observation_space) or VECTOR,
        "observation_shape": np.array(shape, np.uint32),
        **_world_model(primitives),
        **_actions(primitives.action_space),
    }


def _actions(space: Space[Any]) -> dict[str, Any]:
    if isinstance(space, Discrete):
        return {"action_kind": 1, "action_count": int(space.n)}
    if isinstance(space, Box):
        low, high = space.low.astype(np.float32).ravel(), space.high.astype(np.float32).ravel()
        count = int(np.prod(space.shape))
        return {"action_kind": 2, "action_count": count, "action_low": low, "action_high": high}
    return {}


def _world_model(primitives: Primitives) -> dict[str, Any]:
    behind, goals = primitives.world_model, primitives.goals
    if isinstance(behind, GoalToGoal):
        found = {"goal_to_goal": behind.table.astype(np.float32).ravel()}
        if behind.avoiding is not None:
            found["avoiding"] = behind.avoiding.astype(np.float32).ravel()
        return found
    leads = behind.successors
    if behind.tried is not None:
        leads = np.where(behind.tried, leads, UNKNOWN)
    if behind.goal_probability is None:  # Goals are label sets, and places are what cells show.
        first = {goal.labels: index for index, goal in reversed(list(enumerate(goals)))}
        number = np.array([first[labels] for labels in behind.label_sets], np.uint32)
        near = () if behind.near is None else behind.near.astype(np.uint32)
        return {
            "state_successors": leads.astype(np.int32).ravel(),
            "state_goals": number[behind.label_ids],
            "state_near": np.asarray(near, np.uint32),
        }
    chances = {}
    if behind.chances is not None:
        chances = {"place_chances": behind.chances.table(*behind.successors.shape).ravel()}
    return {
        "goal_probability": behind.goal_probability.astype(np.float32).ravel(),
        "place_successors": leads.astype(np.int32).ravel(),
        "place_labels": [
            {"place": place, "visit": visit, "labels": sorted(labels)}
            for place, visits in behind.visit_labels.items()
            for visit, labels in enumerate(visits, start=1)
        ],
        **chances,
    }
