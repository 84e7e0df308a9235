"""Whether a running node does what config/sros2_policy.xml allows it, and nothing else."""

from xml.etree import ElementTree

from skm_ros.graph import find_config

BY_NODE = {
    ("topics", "publish"): "get_publisher_names_and_types_by_node",
    ("topics", "subscribe"): "get_subscriber_names_and_types_by_node",
    ("services", "reply"): "get_service_names_and_types_by_node",
    ("services", "request"): "get_client_names_and_types_by_node",
}
ONLY_IF_ASKED = {
    "/skm/image",
    "/skm/markers",
    "/skm/verdict",
    "/skm/robot_status",
    "/skm/event/*",
    "/skm/bridge/list_parameters",
    "/skm/bridge/get_parameters",
    "/clock",
    "/tf",
    "/tf_static",
    "/skm/amcl_pose",
    "/skm/assistant",
    "/skm/leg",
}
"""Published or subscribed to only with parameters or packages that the tests do not have."""


def allowed(node, kind, right):
    """Return the full names that the policy allows a node."""
    root = ElementTree.parse(find_config("sros2_policy.xml")).getroot()
    profile = root.find(f".//profile[@node='{node}']")
    names = [entry.text for group in profile.findall(kind) if group.get(right) for entry in group]
    spaces = {"~": f"/skm/{node}", "/": ""}
    return {
        name.replace("~", spaces["~"])
        if name[0] == "~"
        else name
        if name[0] == "/"
        else f"/skm/{name}"
        for name in names
    }


def check_policy(client, until, node, kind, right):
    """Wait until a node does all that it is allowed; fail if it does more."""
    until(lambda: (node, "/skm") in client.get_node_names_and_namespaces(), f"the node {node}")

    def used():
        found = getattr(client, BY_NODE[kind, right])(node, "/skm")
        return {name for name, _ in found if "/_action/" not in name}

    policy = allowed(node, kind, right)
    until(lambda: policy - used() <= ONLY_IF_ASKED, f"{right} of {node}: {policy}")
    more = used() - policy
    assert not more, f"{node} does more than it is allowed: {sorted(more)}"
