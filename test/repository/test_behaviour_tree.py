"""The model of the behaviour tree's leaf, against the action that it is about."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
OTHER = {"server_name", "server_timeout", "error_code_id"}
"""Ports that nav2_behavior_tree's action nodes have, whatever their action."""


@pytest.fixture(scope="module")
def leaf():
    tree = ElementTree.parse(ROOT / "config" / "skm_nodes.xml").getroot()
    assert (tree.tag, tree.get("BTCPP_format")) == ("root", "4")
    return tree.find("TreeNodesModel/Action[@ID='ExecuteMission']")


def fields(part):
    text = (ROOT / "action" / "ExecuteMission.action").read_text("utf-8").split("\n---\n")[part]
    words = (line.split("#")[0].split() for line in text.splitlines())
    return {found[1] for found in words if len(found) > 1 and "=" not in found[1]}


@pytest.mark.parametrize(("kind", "part"), [("input_port", 0), ("output_port", 1)])
def test_ports_are_fields_of_the_action(leaf, kind, part):
    names = {port.get("name") for port in leaf.findall(kind)}
    assert names - OTHER
    assert names - OTHER <= fields(part)
