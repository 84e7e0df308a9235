"""`skm up`: start a system of nodes, with no launch tool needed."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from skm_cli.output import print_json
from skm_machine.errors import SkmError
from skm_ros.client.ros_client import require_ros

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skm_ros.graph import NodeDescription, System, Value

EPILOG = """\
examples:
  skm up demo
  skm up demo --domain office --mission "F(coffee & X F office) & G !decoration"
  skm up office --mode lockstep --single-process
  skm up demo --list --json

The same systems as those of `ros2 launch skm SYSTEM.launch.py`, from the same description,
config/graph.yaml. Ctrl-C ends it.

exit codes:
  0  ended by Ctrl-C or SIGTERM
  1  a node died (its last lines are shown; the others are shut down)
  2  the system cannot be started as asked
"""
ARGUMENTS = (
    *("mission", "domain", "mode", "seed", "checkpoint", "planner", "rate"),
    *("render", "render_rate", "picture"),
)
"""The arguments of config/graph.yaml; a test sees to it that none is missing."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm up` to the command."""
    parser = subparsers.add_parser(
        "up",
        help="start a system of ROS nodes",
        description="Start a system of ROS nodes and keep it up until Ctrl-C.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("system", nargs="?", default="demo", help="such as demo (the default)")
    for name in ARGUMENTS:
        parser.add_argument(f"--{name.replace('_', '-')}", help="see --list")
    parser.add_argument("--namespace", help="of all nodes (default: /skm)")
    parser.add_argument(
        "--single-process", action="store_true", help="all nodes in this process, not one each"
    )
    parser.add_argument(
        "--list", action="store_true", help="show the systems and their arguments, start nothing"
    )
    parser.add_argument("--json", action="store_true", help="with --list: as a JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Start the system and keep it up."""
    if args.list:
        return _list(as_json=args.json)
    require_ros()
    from skm_ros.graph import get_system  # noqa: PLC0415

    system = get_system(args.system)
    given = {name: value for name in ARGUMENTS if (value := getattr(args, name)) is not None}
    nodes = system.nodes(given, args.namespace)
    mission = mission_command(system, given, nodes[0].namespace)
    if args.single_process:
        return _run_here(nodes, mission)
    return _run_processes(nodes, mission)


def node_command(node: NodeDescription) -> list[str]:
    """Return the command that starts a node in a process of its own."""
    return [sys.executable, "-m", node.module, *node.ros_arguments()]


def mission_command(system: System, given: Mapping[str, Value], namespace: str) -> list[str]:
    """Return the command that sends the system its mission; nothing if it has none."""
    mission, picture = system.mission(given), str(system.values(given)["picture"])
    if not mission:
        return []
    client = [sys.executable, "-m", "skm_cli.main", "mission", mission, "--when-ready"]
    drawn = ["--picture", picture] if picture else []
    return [*client, "--namespace", namespace, "--timeout", "60", *drawn]


def node_environment() -> dict[str, str]:
    """Return the environment for nodes: under the wheels of PyPI, ROS finds its packages by it."""
    return {"AMENT_PREFIX_PATH": sys.prefix, **os.environ}


def _run_processes(nodes: list[NodeDescription], mission: list[str]) -> int:
    from skm_ros.processes import Processes, say  # noqa: PLC0415

    with Processes(node_environment()) as processes:
        servers = [processes.start(node.name, node_command(node)) for node in nodes]
        if mission:
            processes.start("mission", mission)
        processes.wait(lambda: any(child.exit_code is not None for child in servers))
        dead = [child for child in servers if child.exit_code is not None]
        if processes.interrupted.is_set():
            dead = []
        for child in dead:
            say("skm", child.describe_end())
        say("skm", "shutting down")
    return 1 if dead else 0


def _run_here(nodes: list[NodeDescription], mission: list[str]) -> int:
    """Run all nodes in this process; a mission is sent by a child, as a user would."""
    from skm_ros.nodes.node_process import run as run_nodes  # noqa: PLC0415
    from skm_ros.processes import Child  # noqa: PLC0415

    makers = []
    for node in nodes:
        maker = getattr(importlib.import_module(node.module), node.class_name)
        options: dict[str, Any] = {"cli_args": node.ros_arguments(), "use_global_arguments": False}
        makers.append((maker, options))
    client = None
    if mission:
        client = Child("mission", mission, node_environment())
    try:
        return run_nodes(makers, [])
    finally:
        if client is not None and client.exit_code is None:
            client.process.terminate()
            client.process.wait()


def _list(*, as_json: bool) -> int:
    try:
        from skm_ros.graph import load_systems  # noqa: PLC0415
    except ImportError as error:
        raise SkmError(f"{error}; `make setup` installs what the nodes need") from error
    systems = load_systems()
    if as_json:
        print_json({name: _document(system) for name, system in systems.items()})
        return 0
    for system in systems.values():
        print(f"{system.name}: {system.description}")
        for argument in system.arguments.values():
            option = argument.name.replace("_", "-")
            print(f"  --{option:<11} {argument.description} (default: {argument.default!r})")
    return 0


def _document(system: System) -> dict[str, Any]:
    return {
        "description": system.description,
        "namespace": system.namespace,
        "nodes": list(system.members),
        "arguments": {
            argument.name: {"default": argument.default, "description": argument.description}
            for argument in system.arguments.values()
        },
    }
