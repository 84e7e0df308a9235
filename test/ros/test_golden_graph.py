"""The names that users write down have not changed: topics, services, actions, parameters, arguments.

python test/ros/test_golden_graph.py     # record anew (say in the commit what changed, and why)
"""

import json
import tempfile
import time
from pathlib import Path

from harness import skm_process
from rcl_interfaces.srv import ListParameters

from skm_cli.main import main
from skm_ros.client.private_domain import private_domain_id
from skm_ros.client.ros_client import RosClient
from skm_ros.graph import load_systems

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "graph.json"
SYSTEMS = {
    "office": ("--web", "--web-port", "0", "--monitor", "G !decoration", "--events", "call"),
    "robot": (),
}
NODES = {
    "office": {"sim", "primitives", "machine", "recorder", "monitor", "web"},
    "robot": {"car", "bridge", "primitives", "machine"},
}

LOOK_SECONDS = 1.0
"""Between two looks at the graph: listeners of all topics look as often for new ones."""
WHOLE_SECONDS = 60.0
"""How long the graph may take to be as it was recorded, on a busy machine."""


def graph_of(name, domain_id, folder, wanted):
    """Start a system and return what each of its nodes offers, once it stands still and is `wanted`."""
    hall = Path(folder) / "hall"
    if not hall.exists():
        assert main(["map", "--example", "--no-picture", "--out", str(hall)]) == 0
    more = ("--record", folder) if name == "office" else ("--domain", hall)
    process = skm_process(domain_id, "up", name, *SYSTEMS[name], *more)
    try:
        with RosClient(domain_id=domain_id) as client:
            assert client.spin_until(lambda: there(client) >= NODES[name], 120), there(client)
            parameters = {node: parameters_of(client, node) for node in sorted(NODES[name])}

            def look():
                client.spin_until(lambda: False, LOOK_SECONDS)
                return {
                    node: {**offers(client, node), "parameters": names}
                    for node, names in parameters.items()
                }

            # Discovery comes in pieces, and who listens to all topics looks now and then for new ones.
            before, found = None, look()
            deadline = time.monotonic() + WHOLE_SECONDS
            while before != found or wanted not in (None, found):
                if time.monotonic() > deadline:
                    break
                before, found = found, look()
    finally:
        process.stop_cleanly()
    return found


def parameters_of(client, node):
    """Return the parameters of a node: once it answers it has made all that it offers from its start."""
    request = ListParameters.Request()
    answer = client.call(ListParameters, f"{node}/list_parameters", request, 60)
    return sorted(answer.result.names)


def there(client):
    """Return the nodes that are there."""
    return set(client.node.get_node_names())


def offers(client, node):
    """Return topics, services and actions of a node, by type."""
    ask = client.node
    found = {
        "publishes": ask.get_publisher_names_and_types_by_node(node, "/skm"),
        "subscribes": ask.get_subscriber_names_and_types_by_node(node, "/skm"),
        "serves": ask.get_service_names_and_types_by_node(node, "/skm"),
    }
    return {
        kind: {topic: types[0] for topic, types in sorted(names)} for kind, names in found.items()
    }


def arguments():
    """Return the arguments of every system, with their defaults."""
    return {
        name: {key: argument.default for key, argument in system.arguments.items()}
        for name, system in load_systems().items()
    }


def everything(folder, wanted):
    """Return all names that users write down; `wanted` is what they are to be."""
    found = {"arguments": arguments()}
    for name in SYSTEMS:
        with private_domain_id() as domain_id:
            found[name] = graph_of(name, domain_id, folder, wanted.get(name))
    return json.loads(json.dumps(found))


def test_names_of_the_ros_graph_are_as_recorded(tmp_path):
    wanted = json.loads(GOLDEN.read_text())
    assert everything(tmp_path, wanted) == wanted


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        GOLDEN.write_text(json.dumps(everything(scratch, {}), indent=1, sort_keys=True) + "\n")
