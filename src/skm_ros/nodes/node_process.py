"""The process around nodes: start, spin, and a clean end on SIGINT or SIGTERM.

A terminal's Ctrl-C reaches a node twice when a launcher passes it on. So signals only ask the process to
stop, as often as they come; the nodes then have their last word (the machine stops the robot) and go.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.signals import SignalHandlerOptions

from skm_machine.errors import SkmError
from skm_ros.executor import LeanExecutor
from skm_ros.middleware import set_up_listening, set_up_middleware
from skm_ros.nodes.skm_node import SkmNode

# An end that is sure to come: the process exits in time even where the middleware hangs in C.
#
# The middleware has been seen, rarely and on a busy machine, never to return from taking its
# entities down, perhaps with Python's lock. So the one who ends the process must not need Python:
# a timer of POSIX, whose thread calls `_exit`.


CLOCK_MONOTONIC = 1
SIGEV_THREAD = 2


class _Event(ctypes.Structure):
    """`struct sigevent`, of a timer that calls a function."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_char * 32),
    )


class _Times(ctypes.Structure):
    """`struct itimerspec`: interval and first time, in seconds and nanoseconds."""

    _fields_ = (("numbers", ctypes.c_long * 4),)


def exit_after(seconds: float, code: int) -> Callable[[], object]:
    """Exit with that code when the time is up, whatever goes on; what is returned calls it off."""
    libc = ctypes.CDLL(None)
    function = ctypes.cast(libc._exit, ctypes.c_void_p)
    event = _Event(value=code, notify=SIGEV_THREAD, function=function)
    timer = ctypes.c_void_p()
    whole, rest = divmod(seconds, 1)
    times = _Times((ctypes.c_long * 4)(0, 0, int(whole), int(rest * 1e9)))
    if libc.timer_create(CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) != 0:
        return lambda: None
    libc.timer_settime(timer, 0, ctypes.byref(times), None)
    return lambda: libc.timer_delete(timer)


SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
BAD_INPUT: Final = 2

SHUTDOWN_GRACE_SECONDS: Final = 0.5
"""How long a node may go on answering once it has said its last word: its client wants the result."""
ENDING_SECONDS: Final = 8.0
"""How long the end may take once it is asked for; then the process says where it hangs, and is gone."""
TAKING_DOWN_SECONDS: Final = 5.0
"""How long the middleware may take to go when all is said; then it is left where it hangs."""

NodeMaker = Callable[..., SkmNode]


class StopRequest:
    """Made by the first signal; wakes executors that wait in C, where Python's handlers do not run."""

    def __init__(self) -> None:
        self.made = False
        self._to_wake: list[Callable[[], Any]] = []
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, name="signals", daemon=True).start()

    def wakes(self, wake: Callable[[], Any]) -> None:
        """Call `wake` when the request is made, at once if it has been."""
        self._to_wake.append(wake)
        if self.made:
            wake()

    def make(self) -> None:
        """Ask the process to stop."""
        if not self.made:
            faulthandler.dump_traceback_later(ENDING_SECONDS, exit=True)
        self.made = True
        for wake in self._to_wake:
            wake()

    def _wait(self) -> None:
        os.read(self._reader, 1)
        self.make()


def run(
    makers: Sequence[tuple[NodeMaker, dict[str, Any]]], arguments: Sequence[str] | None = None
) -> int:
    """Run nodes in this process until a signal ends it; return the exit code.

    `makers` are node classes with their options. Every node has an executor and a thread of its own:
    one executor for all would go through all that any of them waits for at every message. Bad
    parameters, and whatever else a node refuses to start with, are printed and give exit code 2.
    """
    set_up_middleware(os.environ)
    stop = StopRequest()
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    spinners: list[_Spinner] = []
    stay: Callable[[], object] = bool  # call it to live on
    try:
        for maker, options in makers:
            spinners.append(_Spinner(maker(**options), stop))
        gc.freeze()  # what is there now stays: no collection needs to go through it again
        for spinner in spinners[1:]:
            spinner.start()
        spinners[0].run()
        for spinner in spinners[1:]:
            spinner.join()
        for spinner in spinners:
            spinner.close()
        # All that anyone waits for is done: from here on a hang is nobody's failure.
        faulthandler.dump_traceback_later(TAKING_DOWN_SECONDS, exit=False)
        stay = exit_after(TAKING_DOWN_SECONDS + 1, 0)
    except (SkmError, ParameterException) as error:
        print(f"skm: {error}", file=sys.stderr)
        return BAD_INPUT
    finally:
        for number in SIGNALS:  # or one that comes while Python ends would still kill it
            signal.signal(number, signal.SIG_IGN)
        for spinner in spinners:
            spinner.executor.shutdown(timeout_sec=0)
            spinner.node.destroy_node()
        rclpy.try_shutdown()
        faulthandler.cancel_dump_traceback_later()
        stay()
    return 0


class _Spinner(threading.Thread):
    """A node with its executor; the first to fail stops all."""

    def __init__(self, node: SkmNode, stop: StopRequest) -> None:
        super().__init__(name=node.get_name(), daemon=True)
        self.node = node
        self.executor = LeanExecutor()
        self.executor.add_node(node)
        self._stop_request = stop
        self._error: BaseException | None = None
        stop.wakes(self.executor.wake)

    def run(self) -> None:
        """Take messages until asked to stop."""
        try:
            while not self._stop_request.made:
                self.executor.spin_once(timeout_sec=self.node.idle_seconds)
        except BaseException as error:  # raised again in `close`
            self._error = error
            self._stop_request.make()

    def close(self) -> None:
        """Let the node have its last word, or raise what it has failed with."""
        if self._error is not None:
            raise self._error
        self.node.close()
        deadline = time.monotonic() + SHUTDOWN_GRACE_SECONDS
        while self.node.has_shutdown_grace and (left := deadline - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=min(left, 0.05))


def run_node(maker: NodeMaker, *, listening: bool = False) -> int:
    """Run a node alone, with the process's ROS arguments: the `main` of each node.

    `listening`: it takes what others say, and nobody waits for it.
    """
    if listening:
        set_up_listening(os.environ)
    return run([(maker, {})])
