"""`skm status`: what a running system is doing, from what its nodes latch and report."""

from __future__ import annotations

import argparse
from typing import Any

from skm_cli.output import console, print_json
from skm_machine.errors import SkmError
from skm_ros.client.ros_client import NAMESPACE, RosClient, require_ros

EPILOG = """\
examples:
  skm status
  skm status --namespace /robot1 --json

exit codes:
  0  ready for a mission, or running one
  1  not ready: a node is missing, or waits for another
  2  nothing runs in the namespace
"""
NODES = ("sim", "primitives", "machine")
PHASES = ("waiting", "idle", "preparing", "running")
LEVELS = ("ok", "warning", "error", "stale")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm status` to the command."""
    parser = subparsers.add_parser(
        "status",
        help="show the state of a running system",
        description="Show what a running system (see `skm up`) is doing.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--namespace", default=NAMESPACE, help="of the system to talk to (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout", type=float, default=5.0, help="seconds to wait for answers (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Listen until every part has been heard or the time is up, and show what was heard."""
    require_ros()
    with RosClient(args.namespace) as client:
        heard = Heard(client)
        client.spin_until(lambda: heard.all, args.timeout)
        document = heard.document()
        if not any(part["running"] for part in document["nodes"].values()):
            raise SkmError(f"nothing answered within {args.timeout:g} s; {client.how_to_start()}")
    if args.json:
        print_json(document)
    else:
        _print(document)
    return 0 if document["ready"] else 1


class Heard:
    """What the nodes of one system have said, and which of them are there."""

    def __init__(self, client: RosClient) -> None:
        from diagnostic_msgs.msg import DiagnosticArray  # noqa: PLC0415
        from skm.msg import MachineState, PrimitivesInfo  # noqa: PLC0415

        from skm_ros import qos  # noqa: PLC0415

        self._client = client
        self.machine: Any = None
        self.primitives: Any = None
        self.diagnostics: dict[str, Any] = {}
        node = client.node
        node.create_subscription(MachineState, "machine_state", self._on_machine, qos.LATCHED)
        node.create_subscription(
            PrimitivesInfo, "primitives_info", self._on_primitives, qos.LATCHED
        )
        node.create_subscription(
            DiagnosticArray, "diagnostics", self._on_diagnostics, qos.DIAGNOSTICS
        )

    def _on_machine(self, state: Any) -> None:  # noqa: ANN401 - made by rosidl
        self.machine = state

    def _on_primitives(self, info: Any) -> None:  # noqa: ANN401
        self.primitives = info

    def _on_diagnostics(self, report: Any) -> None:  # noqa: ANN401
        for status in report.status:
            self.diagnostics[_node_name(status.name)] = status

    @property
    def all(self) -> bool:
        """Whether every part of the system has been heard."""
        return (
            self.machine is not None
            and self.primitives is not None
            and all(name in self.diagnostics for name in NODES)
        )

    def document(self) -> dict[str, Any]:
        """Return what was heard, for programs."""
        there = {
            name
            for name, namespace in self._client.node.get_node_names_and_namespaces()
            if namespace == self._client.namespace
        }
        machine = None if self.machine is None else _machine_document(self.machine)
        return {
            "namespace": self._client.namespace,
            "ready": machine is not None and machine["phase"] != "waiting",
            "nodes": {
                name: {
                    "running": name in there or name in self.diagnostics,
                    "health": _health_document(self.diagnostics.get(name)),
                }
                for name in NODES
            },
            "machine": machine,
            "primitives": None
            if self.primitives is None
            else _primitives_document(self.primitives),
        }


def _node_name(status_name: str) -> str:
    """Return the node of a diagnostic status, whose name begins with the node's: `/skm/sim: loop`."""
    return status_name.split(":", maxsplit=1)[0].strip().rsplit("/", maxsplit=1)[-1]


def _health_document(status: Any) -> dict[str, Any] | None:  # noqa: ANN401
    if status is None:
        return None
    return {
        "level": LEVELS[int.from_bytes(status.level, "little")],
        "message": status.message,
        "values": {pair.key: pair.value for pair in status.values},
    }


def _machine_document(state: Any) -> dict[str, Any]:  # noqa: ANN401
    from skm_ros.client.mission_goal import OUTCOMES  # noqa: PLC0415

    return {
        "phase": PHASES[state.phase],
        "waiting_for": state.waiting_for,
        "mission": state.mission,
        "planner": state.planner,
        "outcome": OUTCOMES.get(state.outcome),
        "reason": state.reason,
        "state": state.state,
        "states": state.states,
        "target": state.target,
        "active_constraints": list(state.active_constraints),
        "violated_constraints": list(state.violated_constraints),
        "goal_labels": list(state.goal.labels),
        "goal_value": state.goal_value,
        "steps": state.mission_steps,
        "accepted": state.accepted,
    }


def _primitives_document(info: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "domain": info.domain,
        "checkpoint": info.checkpoint,
        "digest": info.digest,
        "propositions": list(info.propositions),
        "constraints": list(info.constraints),
        "goals": len(info.goals),
    }


def _print(document: dict[str, Any]) -> None:
    from rich.markup import escape  # noqa: PLC0415

    out = console()
    for name, part in document["nodes"].items():
        health = part["health"]
        level = health["level"] if health else "silent" if part["running"] else "not running"
        message = f"  {escape(health['message'])}" if health else ""
        out.print(f"{name:<11} {level}{message}", soft_wrap=True)
    if document["primitives"]:
        skills = document["primitives"]
        out.print(
            f"skills      {skills['domain']}, {skills['goals']} goals, "
            f"checkpoint {escape(skills['checkpoint'])} ({skills['digest'][:12]})",
            soft_wrap=True,
        )
    if document["machine"]:
        out.print(f"phase       {document['machine']['phase']}", end="")
        out.print(escape(_phase_details(document["machine"])), soft_wrap=True)


def _phase_details(machine: dict[str, Any]) -> str:
    if machine["phase"] == "waiting":
        return f" for {machine['waiting_for']}"
    if not machine["mission"]:
        return "; no mission yet"
    if machine["outcome"]:
        reason = f": {machine['reason']}" if machine["reason"] else ""
        return (
            f"; the last mission, {machine['mission']}, {machine['outcome']} "
            f"after {machine['steps']} steps{reason}"
        )
    return (
        f" {machine['mission']}\n            step {machine['steps']}, state {machine['state']} of "
        f"{machine['states']}, target {machine['target']}, value {machine['goal_value']:.3f}"
    )
