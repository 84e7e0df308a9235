"""The process around nodes: start, spin, and a clean end on SIGINT or SIGTERM.

A terminal's Ctrl-C reaches a node twice when a launcher passes it on. So signals only ask the process to
stop, as often as they come; the nodes then have their last word (the machine stops the robot) and go.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from skm_machine.errors import SkmError
from skm_machine.ros_node import SkmNode

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
BAD_INPUT: Final = 2

NodeMaker = Callable[..., SkmNode]


class StopRequest:
    """Set by the first signal; wakes an executor that waits in C, where Python's handlers do not run."""

    def __init__(self) -> None:
        self.made = False
        self._wake: Callable[[], Any] = lambda: None
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, name="signals", daemon=True).start()

    def wakes(self, wake: Callable[[], Any]) -> None:
        """Call `wake` when the request is made, at once if it has been."""
        self._wake = wake
        if self.made:
            wake()

    def _wait(self) -> None:
        os.read(self._reader, 1)
        self.made = True
        self._wake()


def run(
    makers: Sequence[tuple[NodeMaker, dict[str, Any]]], arguments: Sequence[str] | None = None
) -> int:
    """Run nodes in this process until a signal ends it; return the exit code.

    `makers` are node classes with their options. Bad parameters, and whatever else a node refuses to
    start with, are printed and give exit code 2.
    """
    stop = StopRequest()
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    executor = SingleThreadedExecutor()
    stop.wakes(executor.wake)
    nodes: list[SkmNode] = []
    try:
        for maker, options in makers:
            nodes.append(maker(**options))
            executor.add_node(nodes[-1])
        while not stop.made:
            executor.spin_once()
        for node in nodes:
            node.close()
    except (SkmError, ParameterException) as error:
        print(f"skm: {error}", file=sys.stderr)
        return BAD_INPUT
    finally:
        executor.shutdown(timeout_sec=0)
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()
        for number in SIGNALS:  # Python's own end would restore their deadly defaults
            signal.signal(number, signal.SIG_IGN)
    return 0


def run_node(maker: NodeMaker) -> int:
    """Run a node alone, with the process's ROS arguments: the `main` of each node."""
    return run([(maker, {})])
