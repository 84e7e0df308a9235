"""What skm's nodes share: parameters that refuse bad values, diagnostics, robustness to bad messages.

Whatever a message holds, the node lives on: a callback either uses it or drops it, with a line in the
diagnostics. With the parameter `lifecycle` a node is a managed one (`ros2 lifecycle set`): it is there,
but takes no part until it is activated.
"""

from __future__ import annotations

import inspect
import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.timer import Timer

from skm_machine.errors import did_you_mean
from skm_ros import qos
from skm_ros.executor import LowPriorityGroup
from skm_ros.nodes.bonds import ManagerBond

NAMESPACE: Final = "/skm"
"""The namespace of the nodes unless remapped (`--ros-args -r __ns:=/robot1`)."""

DIAGNOSTICS_SECONDS: Final = 1.0
MOST_KINDS: Final = 100
"""Most different things that are counted: hostile input cannot fill the memory."""
WARNING_SECONDS: Final = 5.0
MOST_DETAIL: Final = 300
"""Characters of a dropped message's fault that are logged."""

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


@dataclass(frozen=True)
class Setting:
    """A parameter: its default (which is also its type), what it is for, and which values it takes."""

    name: str
    default: str | int | float | bool
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    fixed: bool = False
    """Whether it can be given at the start only."""
    former: str = ""
    """The name that it had in 0.1, under which it can still be given at the start."""

    def descriptor(self) -> ParameterDescriptor:
        """Return what `ros2 param describe` shows."""
        descriptor = ParameterDescriptor(description=self.description, read_only=self.fixed)
        if self.choices:
            descriptor.additional_constraints = f"one of {', '.join(self.choices)}"
        if self.low is not None and self.high is not None:
            if isinstance(self.default, float):
                span = FloatingPointRange(from_value=self.low, to_value=self.high)
                descriptor.floating_point_range = [span]
            else:
                whole = IntegerRange(from_value=int(self.low), to_value=int(self.high), step=1)
                descriptor.integer_range = [whole]
        return descriptor

    def problem(self, value: object) -> str:
        """Return what is wrong with a value beyond type and range, which rclpy checks; else nothing."""
        if self.choices and value not in self.choices:
            return f"{self.name}: no '{value}'{did_you_mean(str(value), self.choices)}"
        if isinstance(value, float) and not math.isfinite(value):
            return f"{self.name} must be a finite number, not {value}"
        return ""


LIFECYCLE: Final = Setting(
    "lifecycle", False, "whether the node is a managed one, which waits to be activated", fixed=True
)


BOND: Final = Setting(
    "bond_heartbeat_period",
    0.1,
    "managed nodes, where bondpy is installed: seconds between heartbeats for the lifecycle manager; 0:"
    " no bond",
    low=0.0,
    high=1.0,
    fixed=True,
)


class SkmNode(LifecycleNodeMixin, Node, ABC):  # type: ignore[misc]
    """A node in skm's namespace, with declared settings and a diagnostic status every second.

    `options` are those of `rclpy.node.Node`.
    """

    idle_seconds = 0.1
    """How long it may take to be heard where nothing else happens."""

    def __init__(self, name: str, settings: Sequence[Setting], **options: Any) -> None:  # noqa: ANN401
        self._profiles: dict[str, QoSProfile] = {}
        self._mismatched: set[str] = set()
        self.low_priority = LowPriorityGroup()
        """The group of what can wait for some hundredths of a second: see `lean_executor`."""
        self._group: CallbackGroup = self.low_priority
        Node.__init__(self, name, namespace=NAMESPACE, **options)
        self._group = ReentrantCallbackGroup()  # one thread: nothing can be entered twice
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._warned_at = -WARNING_SECONDS
        self.counts: Counter[str] = Counter()
        """What has happened so far, for the diagnostics: dropped messages by reason, and so on."""
        declared = (*settings, LIFECYCLE, BOND)
        self._settings = {setting.name: setting for setting in declared}
        self.add_on_set_parameters_callback(self._check_parameters)
        for setting in declared:
            self.declare_parameter(setting.name, self._given(setting), setting.descriptor())
        self.active = not self.setting("lifecycle")
        """Whether the node takes part; a managed one does so between activate and deactivate."""
        self._bond = ManagerBond(self, self.setting("bond_heartbeat_period"))
        if not self.active:
            LifecycleNodeMixin.__init__(self)
            self._refuse_wrong_transitions()
        self._diagnostics = self.create_publisher(
            DiagnosticArray, qos.DIAGNOSTICS_TOPIC, qos.DIAGNOSTICS
        )
        self.every(DIAGNOSTICS_SECONDS, self._report)

    def _refuse_wrong_transitions(self) -> None:
        """Answer no to a transition that the present state does not have: in rclpy that ends the node.

        A manager that was started again asks so, for nodes that have been active all the while.
        """
        service = self._service_change_state
        change = service.callback

        def guarded(request: Any, response: Any) -> Any:  # noqa: ANN401
            try:
                return change(request, response)
            except Exception as error:
                self.drop("change_state request that cannot be met now", str(error)[:200])
                response.success = False
                return response

        service.callback = guarded

    def _given(self, setting: Setting) -> str | int | float | bool:
        """Return a parameter's default, or what was given under its former name."""
        given = self._parameter_overrides.get(setting.former)
        if given is None:
            return setting.default
        self.get_logger().warning(
            f"the parameter '{setting.former}' is called '{setting.name}' now"
        )
        value: str | int | float | bool = given.value
        return value

    @property
    def default_callback_group(self) -> CallbackGroup:
        """The group of all that is called back: one that costs nothing to ask."""
        return self._group

    def every(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back every so many seconds, or some hundredths later: see `low_priority`."""
        return self.create_timer(
            seconds, callback, clock=self.steady_clock, callback_group=self.low_priority
        )

    def create_publisher(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        """Create a publisher without events: each that is waited for costs time at every message.

        Where publisher and subscriber do not match, the subscriber says so: see `_look_for_strangers`.
        """
        options.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(*arguments, **options)

    def create_subscription(
        self,
        kind: Any,  # noqa: ANN401
        topic: str,
        callback: Callable[..., None],
        profile: Any,  # noqa: ANN401
        *,
        with_info: bool = False,
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Create a subscription whose callback cannot end the node, whatever comes.

        `with_info`: it is also given what the middleware knows of the message, such as when it was sent.
        """
        heard = f"heard: {topic}"

        def guarded(message: Any) -> None:  # noqa: ANN401
            self.counts[heard] += 1
            try:
                callback(message)
            except Exception as error:
                self.drop(f"{topic} that broke its reader", repr(error)[:200])

        def guarded_with_info(message: Any, info: Any) -> None:  # noqa: ANN401
            self.counts[heard] += 1
            try:
                callback(message, info)
            except Exception as error:
                self.drop(f"{topic} that broke its reader", repr(error)[:200])

        options.setdefault(
            "event_callbacks", SubscriptionEventCallbacks(use_default_callbacks=False)
        )
        if isinstance(profile, QoSProfile):
            self.expect(topic, profile)
        called = guarded_with_info if with_info else guarded
        return super().create_subscription(kind, topic, called, profile, **options)

    def expect(self, topic: str, profile: QoSProfile) -> None:
        """Watch for publishers of a topic that this node listens to, and that never reach it."""
        self._profiles[topic] = profile

    def create_service(
        self,
        kind: Any,  # noqa: ANN401
        name: str,
        callback: Callable[[Any, Any], Any],
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Create a service that always answers, whatever it is asked: with `success` and `message`.

        A coroutine may answer later.
        """

        def broken(error: Exception) -> Any:  # noqa: ANN401
            self.drop(f"{name} request that broke its reader", repr(error)[:200])
            answer = kind.Response()
            answer.message = f"the request could not be read: {repr(error)[:200]}"
            return answer

        def guarded(request: Any, response: Any) -> Any:  # noqa: ANN401
            try:
                return callback(request, response)
            except Exception as error:
                return broken(error)

        async def guarded_later(request: Any, response: Any) -> Any:  # noqa: ANN401
            try:
                return await callback(request, response)
            except Exception as error:
                return broken(error)

        answers = guarded_later if inspect.iscoroutinefunction(callback) else guarded
        return super().create_service(kind, name, answers, **options)

    def frame(self, name: str) -> str:
        """Return a frame's name: with the namespace before it, unless that is the default one."""
        space = self.get_namespace().strip("/")
        return name if f"/{space}" == NAMESPACE or not space else f"{space}/{name}"

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to take part."""
        self.active = True
        self._bond.form()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take part no more, until activated again; what is under way ends."""
        self.active = False
        self._bond.break_()
        self.close()
        return super().on_deactivate(state)

    def setting(self, name: str) -> Any:  # noqa: ANN401 - of the type of its default
        """Return the present value of a parameter."""
        return self.get_parameter(name).value

    @abstractmethod
    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""

    @property
    def has_shutdown_grace(self) -> bool:
        """Whether something that was said at the end is still on its way."""
        return False

    def close(self) -> None:
        """Say what must be said before the node goes; the context is still up."""

    def destroy_node(self) -> None:
        """Go, the bond before the node."""
        self._bond.break_()
        super().destroy_node()

    def drop(self, kind: str, reason: object = "") -> None:
        """Count a message that is not acted on under its kind, and warn about it now and then."""
        key = f"dropped: {kind}"
        if key in self.counts or len(self.counts) < MOST_KINDS:
            self.counts[key] += 1
        now = time.monotonic()
        if now - self._warned_at < WARNING_SECONDS:
            return
        self._warned_at = now
        detail = f": {reason}" if reason else ""
        if len(detail) > MOST_DETAIL:
            detail = f"{detail[:MOST_DETAIL]} …"
        self.get_logger().warning(f"dropped: {kind}{detail}")

    def _check_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            setting = self._settings.get(parameter.name)
            problem = setting.problem(parameter.value) if setting is not None else ""
            if problem:
                return SetParametersResult(successful=False, reason=problem)
        return SetParametersResult(successful=True)

    def _look_for_strangers(self) -> None:
        """Warn of publishers that never reach this node, since their quality of service does not fit."""
        for topic, profile in self._profiles.items():
            for end in self.get_publishers_info_by_topic(self.resolve_topic_name(topic)):
                fit, reason = qos_check_compatible(end.qos_profile, profile)
                if fit != QoSCompatibility.ERROR:
                    continue
                what = f"{topic} of {end.node_namespace}/{end.node_name}"
                if what not in self._mismatched and len(self._mismatched) < MOST_KINDS:
                    self._mismatched.add(what)
                    self.counts["publishers that do not fit"] += 1
                    self.get_logger().warning(f"{what} does not reach this node: {reason.strip()}")

    def _report(self) -> None:
        self._look_for_strangers()
        level, message, values = self.health()
        status = DiagnosticStatus(
            level=level,
            name=self.get_fully_qualified_name(),
            message=message,
            hardware_id="skm",
            values=[
                KeyValue(key=key, value=str(value))
                for key, value in {**values, **self.counts}.items()
            ],
        )
        report = DiagnosticArray(status=[status])
        report.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(report)
