"""The executor of skm's nodes does what rclpy's does: nothing is lost, and failures are not hidden."""

import time

import pytest
import rclpy
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

from skm_bench import loop as bare_loop
from skm_ros.executor import LeanExecutor, LowPriorityGroup
from skm_ros.nodes import node_process

SECONDS = 60.0


class Bench:
    """A node in the hands of the executor."""

    def __init__(self, domain_id):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain_id)
        self.node = Node("lean", context=self.context)
        self.executor = LeanExecutor(context=self.context)
        self.executor.add_node(self.node)

    def until(self, condition):
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline
            self.executor.spin_once(timeout_sec=0.1)

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def bench(domain_id):
    made = Bench(domain_id)
    yield made
    made.close()


def test_every_message_is_taken_in_order_by_functions_and_coroutines(bench):
    plain, slow = [], []

    async def later(message):
        slow.append(message.data)

    bench.node.create_subscription(String, "words", lambda m: plain.append(m.data), 100)
    bench.node.create_subscription(String, "words", later, 100)
    publisher = bench.node.create_publisher(String, "words", 100)
    bench.until(lambda: publisher.get_subscription_count() == 2)
    said = [str(number) for number in range(50)]
    for word in said:
        publisher.publish(String(data=word))
    bench.until(lambda: len(plain) == len(slow) == 50)
    assert plain == slow == said


def test_a_service_answers_whoever_waits_for_it(bench):
    group = LowPriorityGroup()
    bench.node.create_service(
        Trigger, "ask", lambda _, answer: _filled(answer), callback_group=group
    )
    client = bench.node.create_client(Trigger, "ask")
    bench.until(client.service_is_ready)
    ticks, heard = [], []
    bench.node.create_timer(
        0.001, lambda: ticks.append(0)
    )  # busy: what comes rarely is served, too
    client.call_async(Trigger.Request()).add_done_callback(lambda f: heard.append(f.result()))
    bench.until(lambda: heard and len(ticks) > 20)
    assert heard[0].message == "here"
    given_up = client.call_async(Trigger.Request())
    client.remove_pending_request(given_up)
    last = client.call_async(Trigger.Request())
    bench.until(last.done)
    assert not given_up.done()


def test_who_was_just_asked_something_that_is_seldom_asked_listens_on(bench):
    """A client asks for the result of the goal that it was just told is taken."""
    taken = []
    bench.node.create_service(
        Trigger,
        "ask",
        lambda _, answer: taken.append(0) or _filled(answer),
        callback_group=LowPriorityGroup(),
    )
    client = bench.node.create_client(Trigger, "ask")
    bench.until(client.service_is_ready)
    answer = client.call_async(Trigger.Request())
    bench.until(lambda: taken)
    assert bench.executor._what_to_wait_for()[0] is bench.executor._all
    bench.until(answer.done)


def test_the_yardstick_of_the_loop_has_the_executor_of_the_nodes():
    """A bare loop that is slower than the nodes bounds nothing."""
    assert bare_loop.LeanExecutor is node_process.LeanExecutor is LeanExecutor


def _filled(answer):
    answer.message = "here"
    return answer


def test_what_comes_and_goes_in_a_callback_is_served_from_then_on(bench):
    first, second = [], []

    def replace():
        first.append(0)
        bench.node.destroy_timer(timer)
        bench.node.create_timer(0.01, lambda: second.append(0))

    timer = bench.node.create_timer(0.01, replace)
    bench.until(lambda: len(second) > 3)
    assert len(first) == 1


def test_a_timer_that_is_set_anew_waits_from_then_on(bench):
    late, ticks = [], []
    watch = bench.node.create_timer(30.0, lambda: late.append(0))
    bench.node.create_timer(0.01, lambda: ticks.append(0))
    bench.until(lambda: len(ticks) > 3)
    assert not late
    watch.timer_period_ns = 1_000_000
    watch.reset()
    bench.until(lambda: late)
    watch.cancel()
    late.clear()
    ticks.clear()
    bench.until(lambda: len(ticks) > 5)
    assert not late


def test_a_message_that_is_there_is_heard_before_a_timer_says_that_it_is_not(bench):
    heard = []
    watch = bench.node.create_timer(0.2, lambda: heard.append("late"))
    bench.node.create_subscription(Bool, "fact", lambda _: (heard.append("fact"), watch.reset()), 1)
    publisher = bench.node.create_publisher(Bool, "fact", 1)
    bench.until(publisher.get_subscription_count)
    bench.until(lambda: heard)
    heard.clear()
    watch.reset()
    publisher.publish(Bool())
    assert publisher.wait_for_all_acked(Duration(seconds=SECONDS))
    while not watch.is_ready():
        time.sleep(0.01)  # busy with something else: now both are ready
    bench.executor.spin_once(timeout_sec=1.0)
    assert heard == ["fact"]


def test_tasks_run_in_order_and_wait_for_what_they_await(bench):
    done, ready = [], rclpy.task.Future()

    async def waits():
        done.append(await ready)

    bench.executor.create_task(waits)
    bench.executor.create_task(done.append, "first")
    bench.until(lambda: done)
    assert done == ["first"]
    bench.executor.create_task(ready.set_result, "second")
    bench.until(lambda: len(done) == 2)
    assert done == ["first", "second"]


def test_what_a_callback_fails_with_is_raised(bench):
    def fail(*_):
        raise ValueError("here it is")

    bench.node.create_subscription(Bool, "fact", fail, 1)
    publisher = bench.node.create_publisher(Bool, "fact", 1)
    bench.until(publisher.get_subscription_count)
    publisher.publish(Bool())
    with pytest.raises(ValueError, match="here it is"):
        bench.until(lambda: False)
    bench.executor.create_task(fail)
    with pytest.raises(ValueError, match="here it is"):
        bench.until(lambda: False)


def test_the_end_of_the_context_ends_the_wait(bench):
    bench.executor.spin_once(timeout_sec=0.01)
    rclpy.shutdown(context=bench.context)
    with pytest.raises(ExternalShutdownException):
        bench.until(lambda: False)
