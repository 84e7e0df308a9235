"""Starting a system of nodes: as processes, or all in this one, with its mission sent by a client."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from skm_ros.graph import NodeDescription, System, Value
from skm_ros.processes import Child, Processes, say

REFUSED: Final = 2
"""The exit code of a node that was started with what it cannot take."""
MOST_RESTARTS: Final = 5
RESTART_SECONDS: Final = 60.0
"""A system whose nodes die more often than that in so many seconds is ended."""


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


def run_processes(nodes: list[NodeDescription], mission: list[str], *, respawn: bool = True) -> int:
    """Run every node in a process of its own until an interrupt.

    A node that dies is started again, unless it was refused what it was started with, or dies again
    and again: then all end, and so with `respawn` off.
    """
    commands = {node.name: node_command(node) for node in nodes}
    restarts: list[float] = []
    with Processes(node_environment()) as processes:
        servers = {name: processes.start(name, command) for name, command in commands.items()}
        if mission:
            processes.start("mission", mission)
        while not processes.interrupted.is_set():
            processes.wait(lambda: any(child.exit_code is not None for child in servers.values()))
            if processes.interrupted.is_set():
                break
            dead = [name for name, child in servers.items() if child.exit_code is not None]
            hopeless = any(servers[name].exit_code == REFUSED for name in dead)
            recent = [when for when in restarts if time.monotonic() - when < RESTART_SECONDS]
            for name in dead:
                say("skm", servers[name].describe_end())
            if not respawn or hopeless or len(recent) + len(dead) > MOST_RESTARTS:
                say("skm", "shutting down")
                return 1
            for name in dead:
                say("skm", f"starting {name} again")
                servers[name] = processes.start(name, commands[name])
                restarts.append(time.monotonic())
        say("skm", "shutting down")
    return 0


def run_here(nodes: list[NodeDescription], mission: list[str]) -> int:
    """Run all nodes in this process; a mission is sent by a child, as a user would."""
    from skm_ros.nodes.node_process import run as run_nodes  # noqa: PLC0415 - with rclpy

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
