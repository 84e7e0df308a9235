"""The world for the page: its shapes, the robot, the path so far, and where it is going."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection
from typing import Any, Final

from skm_primitives.recording.message_words import ADD, DELETE_ALL, SHAPES
from skm_web.hub import Hub

LEAST_WAY: Final = 1e-3
"""Metres by which the robot must have moved to be in another place."""
MOST_SHAPES: Final = 3000
MOST_PIXELS: Final = 4_000_000
CHANNELS: Final = {"rgb8": 3, "mono8": 1}


class WorldView:
    """Puts `scene`, `robot`, `going` and the stream `path` into a hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._shapes: dict[tuple[str, int], Any] = {}
        self._place: tuple[float, float] | None = None
        self._wanted: frozenset[str] = frozenset()
        self._unwanted: frozenset[str] = frozenset()

    def on_markers(self, message: Any) -> None:  # noqa: ANN401 - a MarkerArray, or one that was recorded
        """Take the world as it is now."""
        for marker in message.markers:
            if marker.action == DELETE_ALL:
                self._shapes.clear()
            elif marker.action == ADD and marker.type in SHAPES and len(self._shapes) < MOST_SHAPES:
                self._shapes[marker.ns, marker.id] = _shape(marker)
            else:
                self._shapes.pop((marker.ns, marker.id), None)
        robot = [shape for shape in self._shapes.values() if shape["group"] == "robot"]
        things = [shape for shape in self._shapes.values() if shape["group"] != "robot"]
        self._hub.put("scene", {"shapes": things})
        self._hub.put("robot", {"shapes": robot})
        self._place = (robot[0]["x"], robot[0]["y"]) if robot else None
        self._show_destinations()

    @property
    def place(self) -> tuple[float, float] | None:
        """Where the robot is."""
        return self._place

    def on_wanted(self, labels: Collection[str], propositions: Collection[str]) -> None:
        """Take the labels of the goal in pursuit, of all propositions."""
        self._wanted = frozenset(labels)
        self._unwanted = frozenset(propositions) - self._wanted
        self._show_destinations()

    def _show_destinations(self) -> None:
        """Put the things that the goal in pursuit is about, nearest first."""
        others = {(s["x"], s["y"]) for s in self._shapes.values() if s["group"] in self._unwanted}
        found = [s for s in self._shapes.values() if self._is_wanted(s)]
        found = [s for s in found if (s["x"], s["y"]) not in others]
        if self._place is not None:
            x, y = self._place
            found.sort(key=lambda shape: math.hypot(shape["x"] - x, shape["y"] - y))
        outlines = ("kind", "x", "y", "width", "height", "heading")
        places = [{name: shape[name] for name in outlines} for shape in found[:50]]
        self._hub.put("going", {"labels": sorted(self._wanted), "places": places})

    def _is_wanted(self, shape: dict[str, Any]) -> bool:
        """Tell whether a thing shows what is wanted: a group is named by one proposition or several."""
        if not self._wanted or shape["kind"] == "text" or shape["group"] == "robot":
            return False
        words = frozenset(shape["group"].split())
        named = {shape["group"]} & self._wanted or (words if words <= self._wanted else set())
        # Of {button, cylinder}, the thing that shows both is the cylinder: the rarer name.
        return bool(named) and self._rarest() in named | words

    def _rarest(self) -> str:
        """Return the wanted proposition that the fewest things are named by."""
        counts = dict.fromkeys(sorted(self._wanted), 0)
        for shape in self._shapes.values():
            for name in {shape["group"], *shape["group"].split()} & counts.keys():
                counts[name] += 1
        shown = {name: count for name, count in counts.items() if count}
        return min(shown, key=lambda name: shown[name], default="")


def robot_place(message: Any) -> tuple[float, float] | None:  # noqa: ANN401 - a MarkerArray
    """Return where the robot is; None if no marker shows it."""
    for marker in message.markers:
        if marker.ns == "robot" and marker.action == ADD:
            return float(marker.pose.position.x), float(marker.pose.position.y)
    return None


def _shape(marker: Any) -> dict[str, Any]:  # noqa: ANN401 - a Marker
    position, size, colour = marker.pose.position, marker.scale, marker.color
    turned = marker.pose.orientation
    heading = math.atan2(
        2 * (turned.w * turned.z + turned.x * turned.y), 1 - 2 * (turned.y**2 + turned.z**2)
    )
    return {
        "group": marker.ns,
        "kind": SHAPES[marker.type],
        "x": _number(position.x),
        "y": _number(position.y),
        "top": _number(position.z + size.z / 2),
        "width": _number(size.x),
        "height": _number(size.y),
        "letter": _number(size.z),
        "heading": _number(heading),
        "colour": [_number(part) for part in (colour.r, colour.g, colour.b, colour.a)],
        "text": marker.text,
    }


def _number(value: float) -> float:
    return round(float(value), 4) if math.isfinite(value) else 0.0


def png(message: Any) -> bytes | None:  # noqa: ANN401 - a sensor_msgs/Image
    """Return an image message as a PNG file; None if it is of a kind that pages do not show."""
    channels = CHANNELS.get(message.encoding)
    width, height, data = int(message.width), int(message.height), bytes(message.data)
    if channels is None or not 0 < width * height <= MOST_PIXELS:
        return None
    row = width * channels
    if len(data) != row * height:
        return None
    rows = b"".join(b"\0" + data[start : start + row] for start in range(0, len(data), row))
    colour_type = 2 if channels == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )
