"""Message ⇄ core values: pure functions, and readers that check a message against what is expected.

Nothing here talks to the network or keeps a clock. Arrays go in as `array.array` of raw bytes and come
out with `numpy.frombuffer`: lists are many times slower. Fillers reuse the message that they are given.
"""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray
from sensor_msgs.msg import Image
from skm.action import ExecuteMission
from skm.msg import Action, Labels, Observation
from skm.msg import Goal as GoalMessage
from skm.msg import Transition as TransitionMessage
from skm.srv import QueryValues

from skm_machine.errors import SkmError
from skm_machine.tracker import Transition
from skm_primitives.recording.introduction import ENCODINGS, goal_fields
from skm_primitives.recording.introduction import observation_kind as plain_kind
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import AnyGoalValues, ContinuousGoalValues, GoalValues
from skm_sim.arrays import ByteArray, Float32Array

ALL_PARTS: Final = (
    QueryValues.Request.MOVE
    | QueryValues.Request.STOP
    | QueryValues.Request.BEST
    | QueryValues.Request.CONTINUATION
)


INTEGERS: Final = (int, np.integer)
A_NUMBER: Final = Observation.DISCRETE
A_CHOICE: Final = Action.DISCRETE
FLOAT32: Final = np.dtype(np.float32)
OUTCOMES: Final = {
    ExecuteMission.Result.ACCEPTED: "accepted",
    ExecuteMission.Result.FAILED: "failed",
    ExecuteMission.Result.CANCELLED: "cancelled",
    ExecuteMission.Result.PREEMPTED: "preempted",
    ExecuteMission.Result.TIMED_OUT: "timed out",
    ExecuteMission.Result.REJECTED: "rejected",
    ExecuteMission.Result.ERROR: "error",
    ExecuteMission.Result.NO_PROGRESS: "no progress",
    ExecuteMission.Result.SATISFIED_SO_FAR: "satisfied so far",
}
"""Outcomes of missions, in words."""


class ConversionError(SkmError):
    """A message that does not say what it should; the text says what would be right."""


def observation_kind(space: Space[Any]) -> int:
    """Return the form of an observation from this space: a constant of Observation."""
    kind = plain_kind(space)
    if kind is None:
        raise ConversionError(f"observations from {space} have no message; use Discrete or Box.")
    return kind


def fill_observation(message: Observation, value: Any) -> None:  # noqa: ANN401
    """Put an observation into a message whose `kind` is set."""
    if message.kind == A_NUMBER:
        message.discrete = int(value)
    elif message.kind == Observation.VECTOR:
        message.data = float_array(value)
    else:
        fill_image(message.image, value)


def fill_image(message: Image, pixels: ByteArray) -> None:
    """Put a picture `(height, width, channels)` of bytes into a message."""
    message.height, message.width, channels = pixels.shape
    message.encoding = ENCODINGS[channels]
    message.step = message.width * channels
    message.data = array.array("B", pixels.tobytes())


def float_array(values: Any) -> array.array[float]:  # noqa: ANN401 - anything that is an array
    """Return numbers as the field of a `float32[]`."""
    return array.array("f", np.asarray(values, np.float32).tobytes())


def observation_reader(space: Space[Any]) -> Callable[[Observation], Any]:
    """Return a function that reads observations of a space, and refuses all others."""
    kind = observation_kind(space)
    if isinstance(space, Discrete):
        states = int(space.n)

        def read_discrete(message: Observation) -> int:
            _check_kind(message, kind)
            index = int(message.discrete)
            if not 0 <= index < states:
                raise ConversionError(f"observation {index} is not from 0 to {states - 1}")
            return index

        return read_discrete
    shape, dtype = tuple(space.shape or ()), space.dtype
    size = int(np.prod(shape))

    def read_vector(message: Observation) -> NDArray[Any]:
        _check_kind(message, kind)
        if len(message.data) != size:
            raise ConversionError(f"an observation has {len(message.data)} numbers, not {size}")
        data = np.frombuffer(message.data, np.float32)
        if not np.isfinite(data).all():
            raise ConversionError("an observation holds a value that is not a finite number")
        return data.reshape(shape).astype(dtype)

    def read_image(message: Observation) -> NDArray[Any]:
        _check_kind(message, kind)
        image = message.image
        wanted = (shape[0], shape[1], ENCODINGS[shape[2]])
        if (image.height, image.width, image.encoding) != wanted or len(image.data) != size:
            raise ConversionError(
                f"an observation is a {image.width} x {image.height} {image.encoding} image of "
                f"{len(image.data)} bytes, not {wanted[1]} x {wanted[0]} {wanted[2]}"
            )
        return np.frombuffer(image.data, np.uint8).reshape(shape)

    return read_image if kind == Observation.IMAGE else read_vector


def _check_kind(message: Observation, kind: int) -> None:
    if message.kind != kind:
        raise ConversionError(f"an observation is of kind {message.kind}, not {kind}")


def label_values(propositions: Sequence[str]) -> Callable[[frozenset[str]], list[bool]]:
    """Return a function from label sets to the field `values` of Labels."""
    known: dict[frozenset[str], list[bool]] = {}

    def values(labels: frozenset[str]) -> list[bool]:
        if labels not in known:
            known[labels] = [name in labels for name in propositions]
        return known[labels]

    return values


def labels_reader(propositions: Collection[str]) -> Callable[[Labels], frozenset[str]]:
    """Return a function that reads the labels over these propositions, and refuses all others."""
    expected = sorted(propositions)
    names: list[str] = [""]  # as in no message
    known: dict[tuple[bool, ...], frozenset[str]] = {}

    def read(message: Labels) -> frozenset[str]:
        if message.names != names:
            if sorted(message.names) != expected:
                raise ConversionError(
                    f"labels are about {', '.join(message.names) or 'nothing'}, "
                    f"not about {', '.join(expected)}"
                )
            names[:] = message.names
            known.clear()
        values = tuple(message.values)
        if values not in known:
            if len(values) != len(names):
                raise ConversionError(f"labels hold {len(values)} values for {len(names)} names")
            known[values] = frozenset(n for n, true in zip(names, values, strict=True) if true)
        return known[values]

    return read


def fill_action(message: Action, action: Any) -> None:  # noqa: ANN401 - a number, or an array
    """Put an action into a message."""
    if isinstance(action, INTEGERS):
        message.kind = A_CHOICE
        message.discrete = int(action)
    else:
        message.kind = Action.CONTINUOUS
        message.continuous = float_array(action)


def fill_stop(message: Action) -> None:
    """Make a message a stop, with nothing left in it of the action before."""
    message.kind = Action.STOP
    message.discrete = 0
    message.continuous = array.array("f")


def action_reader(space: Space[Any]) -> Callable[[Action], Any]:
    """Return a function that reads actions (not stops) of a space, and refuses all others."""
    if isinstance(space, Discrete):
        count = int(space.n)

        def read_discrete(message: Action) -> int:
            if message.kind != A_CHOICE or not 0 <= message.discrete < count:
                raise ConversionError(f"an action is not a number from 0 to {count - 1}")
            return int(message.discrete)

        return read_discrete
    if not isinstance(space, Box):
        raise ConversionError(f"actions from {space} have no message; use Discrete or Box.")
    low, high, size = space.low, space.high, int(np.prod(space.shape))

    def read_continuous(message: Action) -> NDArray[Any]:
        data = np.array(message.continuous, np.float32)
        if message.kind != Action.CONTINUOUS or data.size != size or not np.isfinite(data).all():
            raise ConversionError(f"an action is not {size} finite numbers")
        clipped: NDArray[Any] = np.clip(data.reshape(space.shape).astype(space.dtype), low, high)
        return clipped

    return read_continuous


def goal_message(goal: Goal) -> GoalMessage:
    """Return a goal as a message."""
    return GoalMessage(**goal_fields(goal))


def goal_value(message: GoalMessage) -> Goal:
    """Return the goal that a message says."""
    place = None if message.place == GoalMessage.NO_PLACE else int(message.place)
    return Goal(frozenset(message.labels), frozenset(message.violated), place)


def fill_values(response: QueryValues.Response, values: AnyGoalValues, parts: int) -> None:
    """Put the values of every goal into an answer, the parts that were asked for."""
    parts = parts or ALL_PARTS
    if isinstance(values, ContinuousGoalValues):
        _fill_continuous(response, values, parts)
        return
    response.goals, response.actions = values.move.shape
    if parts & QueryValues.Request.MOVE:
        response.move = float_array(values.move)
    if parts & QueryValues.Request.STOP:
        response.stop = float_array(values.stop)
    if parts & QueryValues.Request.CONTINUATION:
        continuation = values.continuation if values.legs is None else values.legs
        if continuation is not None:
            response.continuation = float_array(continuation)
    if parts & QueryValues.Request.BEST:
        either = np.maximum(values.move, values.stop)
        action = either.argmax(axis=1)
        best = either[np.arange(len(action)), action]
        stops = best > values.move.max(axis=1)
        response.best_value = float_array(best)
        response.best_action = array.array("i", action.astype(np.int32).tobytes())
        response.best_stops = array.array("B", stops.astype(np.uint8).tobytes())


def _fill_continuous(
    response: QueryValues.Response, values: ContinuousGoalValues, parts: int
) -> None:
    response.goals, response.actions = len(values.value), 1
    if parts & QueryValues.Request.MOVE:
        response.move = float_array(values.value)
    if parts & QueryValues.Request.BEST:
        response.best_value = float_array(values.value)
        response.best_continuous = float_array(values.action)
        response.best_stops = array.array("B", bytes(len(values.value)))
        response.best_spread = float_array(values.spread)
        response.near_best_continuous = float_array(values.near_best)


def needed_parts(action_space: Space[Any]) -> int:
    """Return the parts of an answer that `read_values` needs, for actions of a space."""
    if isinstance(action_space, Discrete):
        request = QueryValues.Request
        return int(request.MOVE | request.STOP | request.CONTINUATION)
    return int(QueryValues.Request.BEST)


def values_reader(
    goals: int, label_sets: int, action_space: Space[Any]
) -> Callable[[QueryValues.Response], AnyGoalValues]:
    """Return a function that reads answers with the needed parts, and refuses all others."""
    if isinstance(action_space, Discrete):
        actions = int(action_space.n)
        by_action = table_reader(goals, actions)
        by_goal = table_reader(label_sets, goals)
        by_legs = table_reader(goals, label_sets, actions)

        def read_discrete(response: QueryValues.Response) -> AnyGoalValues:
            continuation, move, stop = response.continuation, response.move, response.stop
            values = GoalValues(by_action(move), by_action(stop))
            if not continuation:
                return values
            if len(continuation) == label_sets * goals * actions > label_sets * goals:
                return replace(values, legs=by_legs(continuation))
            return replace(values, continuation=by_goal(continuation))

        return read_discrete
    boxes = table_reader(goals, int(np.prod(action_space.shape or ())))
    numbers = table_reader(goals)

    def read_continuous(response: QueryValues.Response) -> AnyGoalValues:
        return ContinuousGoalValues(
            boxes(response.best_continuous),
            numbers(response.best_value),
            numbers(response.best_spread),
            boxes(response.near_best_continuous),
        )

    return read_continuous


def table(field: Any, shape: tuple[int, ...]) -> Float32Array:  # noqa: ANN401 - an array.array
    """Return a field as a table of that shape, or say that it is none."""
    return table_reader(*shape)(field)


def table_reader(*shape: int) -> Callable[[Any], Float32Array]:
    """Return a function that reads a field as a table of that shape, or says that it is none."""
    size = math.prod(shape)

    def read(field: Any) -> Float32Array:  # noqa: ANN401 - an array.array
        if len(field) != size:
            wanted = " x ".join(map(str, shape))
            raise ConversionError(f"a message holds {len(field)} values, not {wanted}")
        return np.ndarray(shape, FLOAT32, field)

    return read


def transition_message(move: Transition) -> TransitionMessage:
    """Return a move of the machine as a message."""
    return TransitionMessage(
        step=move.step,
        from_state=move.source,
        to_state=move.target,
        labels=sorted(move.labels),
        reward=move.reward,
    )
