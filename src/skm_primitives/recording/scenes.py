"""Scenes ⇄ markers: what a 3D view shows of the world, as a recording has it.

Works on markers as they are recorded and as ROS delivers them: both have the same fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from skm_primitives.recording.files import RunFile
from skm_primitives.recording.missions import stamp_of
from skm_sim.shapes import Shape

KINDS: Final = {"arrow": 0, "cube": 1, "sphere": 2, "cylinder": 3, "text": 9}
"""Constants of visualization_msgs/Marker."""
_KIND_OF: Final = {number: kind for kind, number in KINDS.items()}
ADD, DELETE, DELETEALL = 0, 2, 3


def shape_of(marker: Any) -> Shape | None:  # noqa: ANN401 - a marker, from wherever
    """Return the shape that a marker shows; None for kinds that no scene has."""
    if marker.action != ADD or marker.type not in _KIND_OF:
        return None
    pose, scale, colour = marker.pose, marker.scale, marker.color
    return Shape(
        group=marker.ns,
        kind=_KIND_OF[marker.type],  # type: ignore[arg-type]
        position=(pose.position.x, pose.position.y, pose.position.z),
        size=(scale.x, scale.y, scale.z),
        colour=(colour.r, colour.g, colour.b, colour.a),
        heading=2 * math.atan2(pose.orientation.z, pose.orientation.w),
        text=marker.text,
    )


def marker_fields(shape: Shape, number: int, header: dict[str, Any]) -> dict[str, Any]:
    """Return a shape as the fields of a marker."""
    half = shape.heading / 2
    return {
        "header": header,
        "ns": shape.group,
        "id": number,
        "type": KINDS[shape.kind],
        "pose": {
            "position": dict(zip("xyz", map(float, shape.position), strict=True)),
            "orientation": {"z": math.sin(half), "w": math.cos(half)},
        },
        "scale": dict(zip("xyz", map(float, shape.size), strict=True)),
        "color": dict(zip("rgba", map(float, shape.colour), strict=True)),
        "text": shape.text,
    }


def changed_markers(
    before: Sequence[Shape] | None, now: Sequence[Shape], header: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the markers that lead from one scene to the next; a first scene is complete."""
    if before is None:
        clear = {"header": header, "action": DELETEALL}
        return [clear, *(marker_fields(shape, n, header) for n, shape in enumerate(now))]
    changed: list[dict[str, Any]] = []
    for number, old in enumerate(before):
        if number >= len(now) or now[number].group != old.group:
            changed.append({"header": header, "ns": old.group, "id": number, "action": DELETE})
    for number, shape in enumerate(now):
        if number >= len(before) or before[number] != shape:
            changed.append(marker_fields(shape, number, header))
    return changed


class SceneReader:
    """The scene as it stands after all sets of markers so far."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[str, int], Shape] = {}

    def take(self, markers: Sequence[Any]) -> list[Shape]:
        """Take a set of markers; return the scene."""
        for marker in markers:
            name = str(marker.ns), int(marker.id)
            if marker.action == DELETEALL:
                self._shapes.clear()
            elif marker.action == DELETE:
                self._shapes.pop(name, None)
            elif (shape := shape_of(marker)) is not None:
                self._shapes[name] = shape
        return [self._shapes[name] for name in sorted(self._shapes, key=lambda entry: entry[1])]


def recorded_scenes(file: RunFile) -> Iterator[tuple[int, list[Shape]]]:
    """Yield the scenes of a recording in order, each with the stamp that its markers carry, in ns."""
    reader = SceneReader()
    for message in sorted(file.messages("markers"), key=lambda message: message.publish_time):
        markers = message.value.markers
        scene = reader.take(markers)
        if markers:
            # The robot is the last to get a new stamp: a bridge moves it and leaves the rest as it is.
            yield max(stamp_of(marker.header) for marker in markers), scene
