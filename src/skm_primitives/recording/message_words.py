"""The words for numbers in skm's messages, for those who read them without ROS.

A test compares them with the constants of the messages.
"""

from __future__ import annotations

from typing import Final

PHASES: Final = ("waiting", "idle", "preparing", "running", "stopped")
"""`MachineState.phase`."""
OUTCOMES: Final = (
    "unknown",
    "accepted",
    "failed",
    "cancelled",
    "preempted",
    "timed out",
    "rejected",
    "error",
    "no progress",
    "satisfied so far",
)
"""`outcome` of `ExecuteMission`'s result."""
LEVELS: Final = ("ok", "warning", "error", "stale")
"""`level` of `diagnostic_msgs/DiagnosticStatus`."""
SHAPES: Final = {0: "arrow", 1: "cube", 2: "sphere", 3: "cylinder", 9: "text"}
"""`type` of `visualization_msgs/Marker`, as far as scenes have them."""
ADD, DELETE_ALL = 0, 3
"""`action` of `visualization_msgs/Marker`."""
STOP, DISCRETE, CONTINUOUS = 0, 1, 2
"""`kind` of `Action`."""
BEGAN, WENT_ON, ENDED = 0, 1, 2
"""`kind` of `MissionLog`."""


def word(words: tuple[str, ...], number: int) -> str:
    """Return the word for a number; the number itself if there is none."""
    return words[number] if 0 <= number < len(words) else str(number)
