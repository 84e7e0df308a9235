"""A scene of shapes as markers for RViz, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker, MarkerArray

from skm_primitives.recording.episode_recorder import KINDS, shape_of
from skm_sim.scene import Shape


def marker_array(scene: Sequence[Shape], frame: str, stamp: Time) -> MarkerArray:
    """Return the scene as a complete set: whatever was shown before is deleted first."""
    clear = Marker(action=Marker.DELETEALL)
    clear.header.frame_id, clear.header.stamp = frame, stamp
    numbered = enumerate(scene)
    return MarkerArray(markers=[clear, *(_marker(s, n, frame, stamp) for n, s in numbered)])


def move_robot(markers: MarkerArray, place: tuple[float, float], stamp: Time) -> None:
    """Put the robot of a scene elsewhere; the rest stays as it is, which saves making it anew."""
    for marker in markers.markers:
        if marker.ns == "robot":
            marker.pose.position.x, marker.pose.position.y = place
            marker.header.stamp = stamp


def scene_of(markers: MarkerArray) -> list[Shape]:
    """Return the scene that markers show; kinds of markers that no scene has are left out."""
    shapes = (shape_of(marker) for marker in markers.markers)
    return [shape for shape in shapes if shape is not None]


def _marker(shape: Shape, number: int, frame: str, stamp: Time) -> Marker:
    marker = Marker(ns=shape.group, id=number, type=KINDS[shape.kind], text=shape.text)
    marker.header.frame_id, marker.header.stamp = frame, stamp
    position, scale, colour = marker.pose.position, marker.scale, marker.color
    position.x, position.y, position.z = map(float, shape.position)
    marker.pose.orientation.z = math.sin(shape.heading / 2)
    marker.pose.orientation.w = math.cos(shape.heading / 2)
    scale.x, scale.y, scale.z = map(float, shape.size)
    colour.r, colour.g, colour.b, colour.a = shape.colour
    return marker
