"""A monitor for the length of a command: what `skm monitor` listens with, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from skm.msg import Labels, MachineState, PrimitivesInfo, Verdict

from skm_machine.errors import SkmError
from skm_ros import qos
from skm_ros.client.ros_client import RosClient
from skm_ros.conversions import OUTCOMES
from skm_ros.label_monitor import WORDS, LabelMonitor
from skm_ros.qos import DIAGNOSTICS_TOPIC as DIAGNOSTICS


class Listener:
    """Judges the labels that a client hears; an error of the mission is raised where it is spun."""

    def __init__(
        self,
        client: RosClient,
        mission: str,
        tell: Callable[[Verdict], None],
        **options: Any,  # noqa: ANN401
    ) -> None:
        self.heard = False
        self._monitor = LabelMonitor(mission, tell, **options)
        self._error: SkmError | None = None
        client.node.create_subscription(Labels, "labels", self._on_labels, qos.STATE)

    def _on_labels(self, message: Labels) -> None:
        self.heard = True
        try:
            self._monitor.on_labels(message)
        except SkmError as error:
            self._error = error

    @property
    def decided(self) -> bool:
        """Whether the mission is satisfied or violated."""
        if self._error is not None:
            raise self._error
        return self._monitor.last.verdict in (Verdict.SATISFIED, Verdict.VIOLATED)

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return {Verdict.VIOLATED: 1, Verdict.UNKNOWN: 4}.get(self._monitor.last.verdict, 0)


def verdict_document(verdict: Any) -> dict[str, Any]:  # noqa: ANN401 - made by rosidl
    """Return a verdict for programs."""
    return {
        "verdict": WORDS[verdict.verdict],
        "reason": verdict.reason,
        "episode": verdict.episode,
        "step": verdict.step,
        "labels": list(verdict.labels),
        "steps": verdict.steps,
        "state": verdict.state,
        "rounds": verdict.rounds,
        "way_to_violate": list(verdict.way_to_violate),
        "way_to_satisfy": list(verdict.way_to_satisfy),
    }


def verdict_line(verdict: Any) -> str:  # noqa: ANN401 - made by rosidl
    """Return a verdict as a sentence."""
    line = f"episode {verdict.episode}, step {verdict.step}: {WORDS[verdict.verdict]}"
    if verdict.rounds:
        line += f", {verdict.rounds} rounds"
    if verdict.verdict == Verdict.POSSIBLE:
        ways = verdict.way_to_violate
        line += f"; violated by {' ; '.join(ways)}" if ways else "; nothing can violate it any more"
    if verdict.reason:
        line += f": {verdict.reason}"
    return line


# What a running system is doing, from what its nodes latch and report.


WORLDS = ("sim", "bridge")
"""What shows the states of the world: a simulator, or the bridge of a robot."""
NODES = ("primitives", "machine")
TEAM = ("team",)
"""All that there is of a team in its own namespace: each robot has another."""
PHASES = ("waiting", "idle", "preparing", "running", "stopped")
LEVELS = ("ok", "warning", "error", "stale")


class Heard:
    """What the nodes of one system have said, and which of them are there."""

    def __init__(self, client: RosClient) -> None:
        self._client = client
        self.machine: Any = None
        self.primitives: Any = None
        self.diagnostics: dict[str, Any] = {}
        node = client.node
        node.create_subscription(MachineState, "machine_state", self._on_machine, qos.ALIVE)
        node.create_subscription(
            PrimitivesInfo, "primitives_info", self._on_primitives, qos.LATCHED
        )
        node.create_subscription(
            DiagnosticArray, DIAGNOSTICS, self._on_diagnostics, qos.DIAGNOSTICS
        )

    def _on_machine(self, state: Any) -> None:  # noqa: ANN401 - made by rosidl
        self.machine = state

    def _on_primitives(self, info: Any) -> None:  # noqa: ANN401
        self.primitives = info

    def _on_diagnostics(self, report: Any) -> None:  # noqa: ANN401
        for status in report.status:
            node = status.name.split(":", maxsplit=1)[0].strip()
            space, _, name = node.rpartition("/")
            if space == self._client.namespace.rstrip("/"):
                self.diagnostics[name] = status

    @property
    def all(self) -> bool:
        """Whether every part of the system has been heard."""
        return (
            self.machine is not None
            and (self.primitives is not None or self._expected == TEAM)
            and all(name in self.diagnostics for name in self._expected)
        )

    @property
    def _expected(self) -> tuple[str, ...]:
        """The nodes that a system consists of: a team, or one robot's."""
        return TEAM if TEAM[0] in self._there else (*self._worlds, *NODES)

    @property
    def _worlds(self) -> tuple[str, ...]:
        """The simulator or the bridge, whichever is there; the simulator where neither is."""
        there = tuple(name for name in WORLDS if name in self._there)
        return there or WORLDS[:1]

    @property
    def _there(self) -> set[str]:
        """The nodes of the namespace that are in the graph, or were heard."""
        return {
            name
            for name, namespace in self._client.node.get_node_names_and_namespaces()
            if namespace == self._client.namespace
        } | set(self.diagnostics)

    def document(self) -> dict[str, Any]:
        """Return what was heard, for programs."""
        there = self._there
        machine = None if self.machine is None else _machine_document(self.machine)
        return {
            "namespace": self._client.namespace,
            "ready": machine is not None and machine["phase"] != "waiting",
            "nodes": {
                name: {
                    "running": name in there,
                    "health": _health_document(self.diagnostics.get(name)),
                }
                for name in self._expected
            },
            "machine": machine,
            "primitives": None
            if self.primitives is None
            else _primitives_document(self.primitives),
        }


def _health_document(status: Any) -> dict[str, Any] | None:  # noqa: ANN401
    if status is None:
        return None
    return {
        "level": LEVELS[int.from_bytes(status.level, "little")],
        "message": status.message,
        "values": {pair.key: pair.value for pair in status.values},
    }


def _machine_document(state: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "phase": PHASES[state.phase],
        "waiting_for": state.waiting_for,
        "mission": state.mission,
        "planner": state.planner,
        "outcome": OUTCOMES.get(state.outcome),
        "reason": state.reason,
        "state": state.state,
        "states": state.states,
        "words": state.words,
        "target": state.target,
        "active_constraints": list(state.active_constraints),
        "violated_constraints": list(state.violated_constraints),
        "goal_labels": list(state.goal.labels),
        "goal_value": state.goal_value,
        "steps": state.mission_steps,
        "accepted": state.accepted,
        "events": list(state.events),
        "true_events": list(state.true_events),
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
