"""Fixtures of the ROS tests: domain ids of their own, and one system that many tests share."""

import os
import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of a parser that comes with ROS
    import rosidl_generator_py  # noqa: F401

from harness import System, end_systems

from skm_ros.client.private_domain import private_domain_id
from skm_ros.client.ros_client import RosClient
from skm_ros.middleware import set_up_middleware


@pytest.fixture(scope="session", autouse=True)
def this_machine_only():
    """Keep the tests' own nodes off the network, as their children are."""
    before = dict(os.environ)
    os.environ.pop("ROS_AUTOMATIC_DISCOVERY_RANGE", None)
    set_up_middleware(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def domain_id():
    """A domain id for one test."""
    with private_domain_id() as number:
        yield number


@pytest.fixture
def client(domain_id):
    """A client on the test's own domain id."""
    with RosClient(domain_id=domain_id) as made:
        yield made


@pytest.fixture
def processes():
    """A list to put started processes in; whatever a failed test leaves running is ended."""
    started = []
    yield started
    for process in started:
        process.stop()


@pytest.fixture
def systems(domain_id):
    """Make systems on the test's domain id; they are ended cleanly after it."""
    made = []

    def make(**options):
        made.append(System(domain_id, **options))
        return made[-1]

    yield make
    end_systems(made)


@pytest.fixture(scope="session")
def shared_office():
    """The office on the three nodes, up for as long as the tests are."""
    with private_domain_id() as number:
        system = System(number)
        try:
            system.wait_ready()
            yield system
        finally:
            end_systems([system])


@pytest.fixture
def office(shared_office):
    """The shared office, ready; what a test has subscribed to, or left running, ends with it."""
    shared_office.wait_ready()
    yield shared_office
    shared_office.tidy()
