"""The bond of a managed node with its lifecycle manager: formed by activate, broken by deactivate."""

import sys
from types import ModuleType
from typing import ClassVar

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.context import Context
from rclpy.parameter import Parameter

from skm_ros.nodes.skm_node import OK, SkmNode


class Managed(SkmNode):
    """A node that does nothing."""

    def health(self):
        return OK, "", {}


class Bond:
    """bondpy's, with the arguments that its release for ROS 2 takes: what is done with it."""

    made: ClassVar = []

    def __init__(self, node, topic, bond_id):
        self.node, self.about, self.started, self.ended = node, (topic, bond_id), False, False
        Bond.made.append(self)

    def start(self):
        self.started = True

    def shutdown(self):
        self.ended = True


@pytest.fixture
def managed():
    context = Context()
    rclpy.init(context=context, domain_id=0)
    nodes = []

    def make(**parameters):
        given = [Parameter(name, value=value) for name, value in parameters.items()]
        nodes.append(Managed("machine", (), context=context, parameter_overrides=given))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    context.shutdown()


@pytest.fixture
def bondpy(monkeypatch):
    Bond.made = []
    module = ModuleType("bondpy.bondpy")
    module.Bond = Bond
    monkeypatch.setitem(sys.modules, "bondpy", ModuleType("bondpy"))
    monkeypatch.setitem(sys.modules, "bondpy.bondpy", module)
    return Bond


def test_a_managed_node_keeps_a_bond_while_it_is_active(managed, bondpy):
    node = managed(lifecycle=True)
    node.trigger_configure()
    assert not bondpy.made
    node.trigger_activate()
    (bond,) = bondpy.made
    assert (bond.node, bond.about) == (node, ("bond", "machine"))
    assert (bond.started, bond.ended, bond.heartbeat_period) == (True, False, 0.1)
    node.trigger_deactivate()
    assert bond.ended
    node.trigger_activate()
    assert len(bondpy.made) == 2
    node.destroy_node()
    assert bondpy.made[1].ended


def test_no_bond_is_kept_where_none_is_wanted_or_bondpy_is_missing(managed, bondpy, monkeypatch):
    node = managed(lifecycle=True, bond_heartbeat_period=0.0)
    node.trigger_configure()
    node.trigger_activate()
    monkeypatch.setitem(sys.modules, "bondpy.bondpy", None)
    other = managed(lifecycle=True)
    other.trigger_configure()
    other.trigger_activate()
    assert other.active
    assert not bondpy.made


def test_a_transition_that_is_not_there_now_is_refused_and_ends_nothing(managed):
    """A manager that was started again configures nodes that are active."""
    node = managed(lifecycle=True)
    request = ChangeState.Request()
    request.transition.id = Transition.TRANSITION_CONFIGURE
    answers = [
        node._service_change_state.callback(request, ChangeState.Response()).success
        for _ in range(2)
    ]
    assert answers == [True, False]
    assert any(kind.startswith("dropped: change_state") for kind in node.counts)
