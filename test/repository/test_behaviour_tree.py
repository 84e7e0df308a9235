"""The model of the behaviour tree's leaf, against the action that it is about."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from skm.action import ExecuteMission

ROOT = Path(__file__).parents[2]
OTHER = {"server_name", "server_timeout", "error_code_id"}
"""Ports that nav2_behavior_tree's action nodes have, whatever their action."""


@pytest.fixture(scope="module")
def leaf():
    tree = ElementTree.parse(ROOT / "config" / "skm_nodes.xml").getroot()
    assert (tree.tag, tree.get("BTCPP_format")) == ("root", "4")
    return tree.find("TreeNodesModel/Action[@ID='ExecuteMission']")


CPP_TYPES = {
    "string": "std::string",
    "bool": "bool",
    "uint8": "unsigned char",
    "int32": "int",
    "uint32": "unsigned int",
    "float64": "double",
}


def fields(part):
    """Return the fields of goal (0) or result (1) with their types, in C++ where that is known."""
    text = (ROOT / "action" / "ExecuteMission.action").read_text("utf-8").split("\n---\n")[part]
    words = (line.split("#")[0].split() for line in text.splitlines())
    found = (word for word in words if len(word) > 1 and "=" not in word[1])
    return {word[1]: CPP_TYPES.get(word[0], word[0]) for word in found}


@pytest.mark.parametrize(("kind", "part"), [("input_port", 0), ("output_port", 1)])
def test_ports_are_fields_of_the_action(leaf, kind, part):
    ports = {port.get("name"): port.get("type") for port in leaf.findall(kind)}
    assert ports.keys() - OTHER
    assert ports.keys() - OTHER <= fields(part).keys()
    for name in ports.keys() - OTHER:
        assert ports[name] == fields(part)[name], name


def test_error_codes_are_those_left_to_others(leaf):
    """Nav2 leaves codes from 100,000 to others; the port must hold them."""
    port = leaf.find("output_port[@name='error_code_id']")
    assert port.get("type") == fields(1)["error_code"] == "unsigned int"
    result = ExecuteMission.Result
    codes = [result.ERROR_OFFSET + outcome for outcome in (result.FAILED, result.NO_PROGRESS)]
    assert codes == [100_002, 100_008]
    assert [result(error_code=code).error_code for code in codes] == codes
