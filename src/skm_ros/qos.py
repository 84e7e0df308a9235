"""Quality of service of every topic, chosen on purpose and in this one place.

Publisher and subscriber of a topic take the same profile from here, so that they always match. Nothing
is best effort but the clock: a lost label could hide a violation, a lost action would stall lock-step.
"""

from __future__ import annotations

from typing import Final

from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)

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
knows where the robot is. Every publisher for the machine must offer the same."""

LABELS: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL, 4000)
"""`labels`, from any publisher: small, and the evidence of recordings. A recorder that gets no
turn for some seconds on a busy machine still hears all of a mission in lock-step."""

COMMAND: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE, 10)
"""`action`. Reliable, since lock-step waits for it and a stop must arrive; volatile, since an old
command must never reach a robot that joins late."""

EVENT: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE, 100)
"""`event/NAME`, as any sensor publishes it. Deep: that an event was true must not be missed."""

LATCHED_EVENT: Final = _profile(
    ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL, EVENT.depth
)
"""`event/NAME` again, for what sensors that latch have said before the machine was there."""

LATCHED: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL, 1)
"""`image`, `decision`: only the last one counts, also for late joiners."""

LOG: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL, 200)
"""`mission_log`: none may be missing; a late subscriber hears how the mission came where it is."""

ALIVE_SECONDS: Final = 1.0
ALIVE: Final = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    liveliness=LivelinessPolicy.AUTOMATIC,
    liveliness_lease_duration=Duration(seconds=ALIVE_SECONDS),
)
"""`primitives_info`, `machine_state`: latched, and with a sign of life by the middleware, so that the
death of a node, or its freezing, is known in little more than a second. Any subscriber matches."""

REQUESTS: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE, 2000)
"""Requests of `execute_mission` and `set_event`: deep, since each must be answered, however many come at
once. A client that asks many at once takes it, too: so many answers come at once."""

MARKERS: Final = STATE
"""`markers`. RViz needs the last one only, but a recording of the path (`skm mission --picture`) wants
the robot in every state."""

FRAMES: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE, 100)
"""`/tf`: as listeners of tf subscribe to it."""

CLOCK: Final = _profile(ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE, 1)
"""`/clock`: as ROS clients subscribe to it; a lost tick is made up for by the next."""

DIAGNOSTICS_TOPIC: Final = "/diagnostics"
"""Where ROS people look for them; a node's status carries its full name."""
DIAGNOSTICS: Final = _profile(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE, 10)
"""`diagnostics`: what the diagnostic tools expect."""
