"""A ROS node for the length of a command: what `skm mission`, `skm status` and `skm bench` share.

ROS is imported when a client is made, not before, so that the rest of `skm` runs without it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, Self

from skm_machine.errors import SkmError
from skm_ros.middleware import set_up_middleware

NAMESPACE: Final = "/skm"
POLL_SECONDS: Final = 0.05
WAITING_MESSAGES: Final = 50


class NoRosError(SkmError):
    """ROS 2, or skm's own interfaces, cannot be imported."""


def require_ros() -> None:
    """Raise an error that says how to get ROS 2 where this Python has none."""
    try:
        import rclpy  # noqa: F401, PLC0415
    except ImportError as error:
        raise NoRosError(
            f"ROS 2 cannot be imported ({error}). Run `make demo` in skm's folder and use "
            ".venv/bin/skm; or source your own ROS 2 and the workspace that skm was built in."
        ) from error
    try:
        import skm.msg  # noqa: F401, PLC0415
    except ImportError as error:
        raise NoRosError(
            f"skm's ROS interfaces cannot be imported ({error}). Build them with "
            "`python tools/build_interfaces.py` in skm's folder (`make demo` does), or with "
            "`colcon build` under your own ROS 2, and source the workspace."
        ) from error


class Interrupts:
    """Counts Ctrl-C instead of raising `KeyboardInterrupt` in the middle of a ROS call."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Note one interrupt; this is the signal handler."""
        self.count += 1


@contextmanager
def counted_interrupts() -> Iterator[Interrupts]:
    """Count the interrupts of this process inside of the block."""
    interrupts = Interrupts()
    before = signal.signal(signal.SIGINT, interrupts)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


class RosClient:
    """A node with a context and an executor of its own; use it in a `with` statement."""

    def __init__(self, namespace: str = NAMESPACE, domain_id: int | None = None) -> None:
        require_ros()
        set_up_middleware(os.environ)
        import rclpy  # noqa: PLC0415
        from rclpy.exceptions import InvalidNamespaceException  # noqa: PLC0415
        from rclpy.signals import SignalHandlerOptions  # noqa: PLC0415

        from skm_ros.executor import LeanExecutor  # noqa: PLC0415

        self._context = rclpy.Context()
        rclpy.init(
            args=[],
            context=self._context,
            domain_id=domain_id,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        try:
            self.node = rclpy.create_node(
                f"skm_client_{os.getpid()}",
                namespace=namespace,
                context=self._context,
                start_parameter_services=False,
                enable_rosout=False,
            )
        except InvalidNamespaceException as error:
            self._context.try_shutdown()
            reason = str(error).split("\n", maxsplit=1)[0]
            raise SkmError(f"--namespace '{namespace}' is not a ROS namespace: {reason}") from None
        self._executor = LeanExecutor(context=self._context)
        self._executor.add_node(self.node)

    @property
    def namespace(self) -> str:
        """The namespace of the system that this client talks to."""
        return str(self.node.get_namespace())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def spin_until(self, condition: Callable[[], bool], timeout: float | None = None) -> bool:
        """Take messages until the condition holds; return whether it did before the time was up."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not condition():
            left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return False
            self._executor.spin_once(timeout_sec=min(left, POLL_SECONDS))
        return True

    def take_what_is_there(self) -> None:
        """Take messages that have come in already, such as the last feedback beside a result."""
        for _ in range(WAITING_MESSAGES):
            self._executor.spin_once(timeout_sec=0)

    def call(self, service_type: Any, name: str, request: Any, timeout: float) -> Any:  # noqa: ANN401
        """Return the answer of a service, which must be there and answer within the time."""
        client = self.node.create_client(service_type, name)
        deadline = time.monotonic() + timeout
        try:
            if not self.spin_until(client.service_is_ready, timeout):
                raise SkmError(f"there is no service {client.srv_name}; {self.how_to_start()}")
            future = client.call_async(request)
            if not self.spin_until(future.done, deadline - time.monotonic()):
                raise SkmError(f"the service {client.srv_name} did not answer in {timeout:g} s")
            return future.result()
        finally:
            self.node.destroy_client(client)

    def how_to_start(self) -> str:
        """Return what to try when nothing answers, for the end of an error message."""
        domain = self._context.get_domain_id()
        return (
            f"is a system running in namespace {self.namespace} on ROS_DOMAIN_ID {domain}? "
            "Start one with `skm up demo`, or name another with --namespace."
        )
