"""Whether two processes of this machine reach each other over DDS, and who else is on the domain.

python -m skm_ros.client.reachability      the other end: publishes until its standard input closes
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Final

TOPIC: Final = "doctor"
NAMESPACE: Final = "/skm_doctor"
PERIOD: Final = 0.1


@dataclass(frozen=True)
class Reached:
    """What was heard: after how long, and which nodes of others are on the domain."""

    seconds: float | None
    """Until the first message; None if none came in time."""
    nodes: tuple[str, ...]


def reach_other_process(timeout: float) -> Reached:
    """Start a process that publishes, and wait for its first message."""
    from std_msgs.msg import String  # noqa: PLC0415

    from skm_ros.client.ros_client import RosClient  # noqa: PLC0415

    heard: list[str] = []
    began = time.monotonic()
    with (
        RosClient(NAMESPACE) as client,
        subprocess.Popen(
            [sys.executable, "-m", "skm_ros.client.reachability"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as other,
    ):
        client.node.create_subscription(String, TOPIC, lambda said: heard.append(said.data), 1)
        expected = str(other.pid)
        there = client.spin_until(lambda: expected in heard or other.poll() is not None, timeout)
        seconds = time.monotonic() - began if there and expected in heard else None
        found = client.node.get_node_names_and_namespaces()
        nodes = {f"{space.rstrip('/')}/{name}" for name, space in found if space != NAMESPACE}
        if other.stdin is not None:
            other.stdin.close()
    return Reached(seconds, tuple(sorted(nodes)))


def publish_until_closed() -> None:
    """Publish this process's id ten times a second, until its parent closes its input."""
    import threading  # noqa: PLC0415

    from std_msgs.msg import String  # noqa: PLC0415

    from skm_ros.client.ros_client import RosClient  # noqa: PLC0415

    closed = threading.Event()

    def watch() -> None:
        sys.stdin.read()
        closed.set()

    threading.Thread(target=watch, daemon=True).start()
    with RosClient(NAMESPACE) as client:
        publisher = client.node.create_publisher(String, TOPIC, 1)
        while not closed.wait(PERIOD):
            publisher.publish(String(data=str(os.getpid())))


if __name__ == "__main__":
    publish_until_closed()
