"""An executor for nodes in a hurry: rclpy's own, without what that does anew for every message.

rclpy asks everything at every message whether it may be waited for, makes a wait set, a coroutine and a
task, and wakes itself up once more. Here what is waited for is gathered once, and again when it changes;
plain callbacks are just called. What is more than that (actions, events of the middleware, coroutines)
goes rclpy's way.

Why not `rclpy.experimental.EventsExecutor` (rclpy 7.1.6)? It is as fast: in the bare loop of `skm bench
loop`, rounds in turn on a busy machine, a step took 1,022 µs of CPU (here 1,208, with rclpy's own
executor 1,966); at 50 Hz the latency was 2.8 ms (here 2.9). But it ended a client with SIGSEGV in two of
two runs of test/ros/test_trust.py, where a subscription with event callbacks is destroyed between
missions (https://github.com/ros2/rclpy/issues/1644, open).
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.task import Task
from rclpy.timer import Timer
from rclpy.waitable import NumberOfEntities

LOW_PRIORITY_SECONDS: Final = 0.02
"""How often an executor that is busy looks for what has low priority."""
LOW_PRIORITY_AT_LAST_SECONDS: Final = 0.05
"""How long one that is not busy, but has just been, may be deaf to it: unless it was just asked
something, after which more is to come."""
LONGEST_SECONDS: Final = 1.0
"""How long it waits at most in one go."""
KINDS: Final = ("subscription", "client", "service", "timer")
"""In this order they are run: what has come in counts before a timer says that it is late."""

Call = Callable[[], object]


class LowPriorityGroup(ReentrantCallbackGroup):  # type: ignore[misc]
    """What has low priority, such as the services of parameters: waited for only now and then.

    Whatever is waited for costs time at every message, whether it comes or not.
    """


class LeanExecutor(SingleThreadedExecutor):  # type: ignore[misc]
    """Runs all that is ready in the thread that spins, in one go."""

    _tasks: list[tuple[Task, Any, Any]]

    def __init__(self, *, context: Context | None = None) -> None:
        self._changed = True
        self._often: _Waiting | None = None
        self._all: _Waiting | None = None
        self._all_at = 0.0
        self._all_until = 0.0
        self._at_once = _AtOnce()
        super().__init__(context=context)

    def wake(self) -> None:
        """Gather anew what to wait for; called by any thread when a node has more of it, or less."""
        self._changed = True
        super().wake()

    def add_node(self, node: Node) -> bool:
        """Serve a node."""
        self._changed = True
        return bool(super().add_node(node))

    def remove_node(self, node: Node) -> None:
        """Serve a node no more."""
        self._changed = True
        super().remove_node(node)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop serving; what is destroyed from now on is removed at once."""
        done = bool(super().shutdown(timeout_sec))
        self._forget()
        return done

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait until something is ready, and run all that is."""
        if self._is_shutdown:
            return
        if self._tasks:
            self._run_tasks()
        if self._changed:
            self._changed = False
            self._forget()
            if not self._context.ok():
                raise ExternalShutdownException
        waiting, longest = self._what_to_wait_for()
        seconds = longest if timeout_sec is None else min(timeout_sec, longest)
        for call in waiting.ready(int(seconds * 1e9)):
            call()
            if self._changed:
                break  # some of it may be gone; what is still ready stays so
        if self._tasks:
            self._run_tasks()

    def _run_tasks(self) -> None:
        """Run what was put off, the oldest first; keep what is not done by then."""
        with self._tasks_lock:
            tasks, self._tasks = self._tasks, []
        for number, entry in enumerate(tasks):
            try:
                _finish(entry[0])
            except BaseException:
                del tasks[: number + 1]
                raise
        left = [entry for entry in tasks if not (entry[0].done() or entry[0].cancelled())]
        if left:
            with self._tasks_lock:
                self._tasks[:0] = left

    # What to wait for

    def _forget(self) -> None:
        for waiting in (self._often, self._all):
            if waiting is not None:
                waiting.close()
        self._often = self._all = None

    def _what_to_wait_for(self) -> tuple[_Waiting, float]:
        """Return it, and for how many seconds at most."""
        now = time.monotonic()
        if now - self._all_at > LOW_PRIORITY_SECONDS or now < self._all_until:
            self._all_at = now
            if self._all is None:
                self._all = self._gather(low_priority=True)
            return self._all, LONGEST_SECONDS
        if self._often is None:
            self._often = self._gather(low_priority=False)
        return self._often, LOW_PRIORITY_AT_LAST_SECONDS

    def _gather(self, *, low_priority: bool) -> _Waiting:
        found = _Waiting(self._context)
        found.add_guard(self._guard)
        found.add_guard(self._sigint_gc)

        def served(entities: Iterable[Any]) -> Iterator[Any]:
            for entity in entities:
                group = entity.callback_group
                if (low_priority or not isinstance(group, LowPriorityGroup)) and group.can_execute(
                    entity
                ):
                    yield entity

        for node in self.get_nodes():
            for timer in served(node.timers):
                found.add("timer", timer, self._call_of(timer, node, _run_timer, self._take_timer))
            for each in served(node.subscriptions):
                # Those with a coroutine, or that want to know more than the message, go rclpy's way.
                plain = each._callback_type is Subscription.CallbackType.MessageOnly
                run = _run_subscription if plain else None
                call = self._call_of(each, node, run, self._take_subscription)
                found.add("subscription", each, call)
            for each in served(node.clients):
                call = partial(_run_client, each, self._at_once)
                found.add("client", each, self._then_more(each, call))
            for each in served(node.services):
                call = self._call_of(each, node, _run_service, self._take_service)
                found.add("service", each, self._then_more(each, call))
            for guard in served(node.guards):
                found.add_guard(guard)
            for each in served(node.waitables):
                call = partial(self._run_as_task, each, node, self._take_waitable)
                found.add_waitable(each, self._then_more(each, call))
        return found

    def _then_more(self, entity: Any, call: Call) -> Call:  # noqa: ANN401 - of rclpy
        """Return a call after which more of what has low priority is expected for a moment.

        A client that was just told that its goal is taken asks for the result.
        """
        if not isinstance(entity.callback_group, LowPriorityGroup):
            return call

        def run() -> None:
            call()
            self._all_until = time.monotonic() + LOW_PRIORITY_SECONDS

        return run

    def _call_of(
        self,
        entity: Any,  # noqa: ANN401 - of rclpy
        node: Node,
        run: Callable[[Any], object] | None,
        take: Callable[[Any], Any],
    ) -> Call:
        if run is None or inspect.iscoroutinefunction(entity.callback):
            return partial(self._run_as_task, entity, node, take)
        return partial(run, entity)

    def _run_as_task(self, entity: Any, node: Node, take: Callable[[Any], Any]) -> None:  # noqa: ANN401
        """Do as rclpy does: a task that may go on later, if it has to wait."""
        _finish(self._make_handler(entity, node, take))


class _AtOnce:
    """Stands for an executor where a future is done: who waits for it is called then and there."""

    def create_task(self, callback: Callable[..., object], *arguments: object) -> None:
        callback(*arguments)


class _Waiting:
    """A wait set that is kept, with what to call when something in it is ready."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._held = ExitStack()
        """Nothing is destroyed while it is waited for."""
        self._held.enter_context(context.handle)
        self._handles: dict[str, list[Any]] = {kind: [] for kind in (*KINDS, "guard_condition")}
        self._calls: dict[int, Call] = {}
        self._waitables: list[tuple[Any, Call]] = []
        self._further = NumberOfEntities()
        self._set: Any = None

    def add(self, kind: str, entity: Timer | Subscription | Client | Service, call: Call) -> None:
        """Wait for something of rclpy's."""
        try:
            self._held.enter_context(entity.handle)
        except InvalidHandle:
            return
        self._handles[kind].append(entity.handle)
        self._calls[entity.handle.pointer] = call

    def add_guard(self, guard: Any) -> None:  # noqa: ANN401 - a guard condition
        """Wait for what only wakes."""
        try:
            self._held.enter_context(guard.handle)
        except InvalidHandle:
            return
        self._handles["guard_condition"].append(guard.handle)

    def add_waitable(self, waitable: Any, call: Call) -> None:  # noqa: ANN401
        """Wait for what is made of several: an action, an event of the middleware."""
        try:
            self._held.enter_context(waitable)
        except InvalidHandle:
            return
        self._further += waitable.get_num_entities()
        self._waitables.append((waitable, call))

    def close(self) -> None:
        """Let go of everything."""
        self._set = None
        self._held.close()

    def ready(self, nanoseconds: int) -> list[Call]:
        """Wait; return what to call."""
        handles, more = self._handles, self._further
        if self._set is None:
            self._set = _rclpy.WaitSet(
                len(handles["subscription"]) + more.num_subscriptions,
                len(handles["guard_condition"]) + more.num_guard_conditions,
                len(handles["timer"]) + more.num_timers,
                len(handles["client"]) + more.num_clients,
                len(handles["service"]) + more.num_services,
                more.num_events,
                self._context.handle,
            )
        waiting = self._set
        waiting.clear_entities()
        for handle in handles["timer"]:
            waiting.add_timer(handle)
        for handle in handles["subscription"]:
            waiting.add_subscription(handle)
        for handle in handles["client"]:
            waiting.add_client(handle)
        for handle in handles["service"]:
            waiting.add_service(handle)
        for handle in handles["guard_condition"]:
            waiting.add_guard_condition(handle)
        for waitable, _ in self._waitables:
            waitable.add_to_wait_set(waiting)
        waiting.wait(nanoseconds)
        calls = [call for waitable, call in self._waitables if waitable.is_ready(waiting)]
        known = self._calls
        for kind in KINDS:
            if handles[kind]:
                calls += [
                    known[pointer]
                    for pointer in waiting.get_ready_entities(kind)
                    if pointer in known
                ]
        return calls


def _run_timer(timer: Timer) -> None:
    if timer.handle.is_timer_ready():
        timer.handle.call_timer()
        timer.callback()


def _run_subscription(subscription: Subscription) -> None:
    found = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    if found is not None:
        subscription.callback(found[0])


def _run_client(client: Client, at_once: _AtOnce) -> None:
    header, response = client.handle.take_response(client.srv_type.Response)
    if header is None:
        return
    try:
        future = client.get_pending_request(header.request_id.sequence_number)
    except KeyError:
        return  # nobody waits for it any more
    future._set_executor(at_once)
    future.set_result(response)


def _run_service(service: Service) -> None:
    request, header = service.handle.service_take_request(service.srv_type.Request)
    if header is not None:
        answer = service.callback(request, service.srv_type.Response())
        service.send_response(answer, header)


def _finish(task: Task) -> None:
    """Run a task as far as it goes; what it fails with is raised."""
    task()
    if task.done():
        task.result()
