"""Quality of service of every topic, chosen on purpose and in this one place.

Publisher and subscriber of a topic take the same profile from here, so that they always match. Nothing
is best effort but the clock: a lost label could hide a violation, a lost action would stall lock-step.
"""

from __future__ import annotations

from typing import Final

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

STATE_DEPTH: Final = 50


def _profile(
    reliability: ReliabilityPolicy, durability: DurabilityPolicy, depth: int
) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, durability=durability
    )


STATE: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL, STATE_DEPTH)
"""`observation`, `labels`. Every step counts, since the mission is judged on all labels: reliable, and
deep enough for a machine that is held up for seconds. Transient local: a machine that starts late
knows where the robot is. Whoever publishes them for the machine must offer the same."""

COMMAND: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE, 10)
"""`action`. Reliable, since lock-step waits for it and a stop must arrive; volatile, since an old
command must never reach a robot that joins late."""

LATCHED: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL, 1)
"""`primitives_info`, `machine_state`, `image`: only the last one counts, also for late joiners."""

MARKERS: Final = STATE
"""`markers`. RViz needs the last one only, but a recording of the path (`skm mission --picture`) wants
the robot in every state."""

CLOCK: Final = _profile(ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE, 1)
"""`/clock`: as ROS clients subscribe to it; a lost tick is made up for by the next."""

DIAGNOSTICS: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE, 10)
"""`diagnostics`: what the diagnostic tools expect."""
