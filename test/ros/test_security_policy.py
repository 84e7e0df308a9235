"""The access policy in config/ allows what the nodes do, and nothing that they do not."""

from xml.etree import ElementTree

import pytest
from harness import node_process
from policy_check import BY_NODE, check_policy

from skm_ros.graph import find_config


@pytest.mark.parametrize("node", ["sim", "primitives", "machine"])
@pytest.mark.parametrize(("kind", "right"), BY_NODE)
def test_the_policy_fits_the_running_node(office, node, kind, right):
    check_policy(office.client.node, office.wait_until, node, kind, right)


@pytest.fixture(scope="module")
def web(shared_office):
    """The web node beside the shared office."""
    process = node_process("web", shared_office.domain_id, port=0)
    yield process
    process.stop_cleanly()


@pytest.mark.parametrize(("kind", "right"), BY_NODE)
def test_the_policy_fits_the_web_node(office, web, kind, right):
    web.check_running()
    check_policy(office.client.node, office.wait_until, "web", kind, right)


def test_the_machine_s_action_is_in_it():
    root = ElementTree.parse(find_config("sros2_policy.xml")).getroot()
    assert (
        root.find(".//profile[@node='machine']/actions[@execute]/action").text == "execute_mission"
    )
