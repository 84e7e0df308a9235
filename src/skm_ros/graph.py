"""Reads `config/graph.yaml`, the one description of the ROS graph, for `skm up` and the launch files.

No ROS is imported: what comes out is plain data on which nodes to start, and how.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from skm_machine.errors import SkmError, did_you_mean

Value = str | int | float | bool
AUTO: Final = "auto"
NONE: Final = "none"
"""No mission; launch files cannot take an empty argument."""


class GraphError(SkmError):
    """A system or argument that the description does not have, or a description that is wrong."""


@dataclass(frozen=True)
class Argument:
    """Something that can be said when a system is started; the default says its type."""

    name: str
    default: Value
    description: str
    general: Value = ""
    """The default of systems that have none of their own."""

    def read(self, text: Value) -> Value:
        """Return a value of the argument's type from what was given on a command line."""
        if isinstance(text, type(self.default)) or text is None:
            return text
        try:
            if isinstance(self.default, bool):
                return {"true": True, "on": True, "false": False, "off": False}[str(text).lower()]
            return type(self.default)(text)
        except (KeyError, ValueError):
            kind = type(self.default).__name__
            raise GraphError(f"argument {self.name} is of type {kind}, not '{text}'") from None


@dataclass(frozen=True)
class NodeDescription:
    """One node to start."""

    name: str
    executable: str
    """For `ros2 run skm` and launch files."""
    module: str
    """For `python -m`."""
    class_name: str
    """In that module, for one process for all nodes."""
    namespace: str
    parameters: Mapping[str, Value]
    remappings: tuple[tuple[str, str], ...]
    file: str = ""
    """Of parameters (`ros2 run … --params-file`): it goes before defaults, and after what was given."""
    given: frozenset[str] = frozenset()
    """The parameters that somebody has asked for: the others are defaults."""

    def ros_arguments(self) -> list[str]:
        """Return namespace, parameters and remappings as ROS arguments of a command line."""
        arguments = ["--ros-args", "-r", f"__ns:={self.namespace}"]
        for source, target in self.remappings:
            arguments += ["-r", f"{source}:={target}"]
        defaults = [name for name in self.parameters if name not in self.given]
        arguments += self._as_options(defaults)
        if self.file:
            arguments += ["--params-file", self.file]
        return arguments + self._as_options(name for name in self.parameters if name in self.given)

    def _as_options(self, names: Iterable[str]) -> list[str]:
        # As JSON, since ROS reads values as YAML, in which a bare `off` or `1` is no text.
        values = {name: json.dumps(self.parameters[name], ensure_ascii=False) for name in names}
        return [part for name, value in values.items() for part in ("-p", f"{name}:={value}")]


OF_EVERY_SYSTEM: Final = ("mission", "picture", "params_file", "respawn")
"""Arguments that are not for a node: what starts the nodes reads them."""


@dataclass(frozen=True)
class System:
    """A set of nodes that work together, with the arguments that it takes."""

    name: str
    description: str
    namespace: str
    arguments: Mapping[str, Argument]
    kinds: Mapping[str, Mapping[str, str]]
    members: Mapping[str, Mapping[str, Any]]
    besides: Mapping[str, Mapping[str, Any]]
    """Nodes that are started only where the argument `when` asks for them."""
    instead: Mapping[str, Mapping[str, Mapping[str, Value]]]
    """By argument and its value: other defaults of further arguments."""

    def values(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """Return the value of every argument: what was given, else the default.

        Where that is the default of all systems, a node that is asked for besides may need another.
        """
        for name in given:
            if name not in self.arguments:
                raise GraphError(f"no argument '{name}'{did_you_mean(name, self.arguments)}")
        values = {
            name: argument.read(given.get(name, argument.default))
            for name, argument in self.arguments.items()
        }
        for name, by_value in self.instead.items():
            for other, default in by_value.get(str(values[name]), {}).items():
                if values[other] == self.arguments[other].default:
                    values[other] = default
        for member in self.besides.values():
            if _is_asked_for(values[member["when"]]):
                for name, needed in (member.get("needs") or {}).items():
                    if values[name] == self.arguments[name].general:
                        values[name] = values[needed[1:]] if _is_reference(needed) else needed
        return values

    def own_defaults(self) -> list[Argument]:
        """Return the arguments whose default is not the one of all systems."""
        return [about for about in self.arguments.values() if about.default != about.general]

    def used(self) -> list[Argument]:
        """Return the arguments that this system does something with; it takes all of them."""
        members = [*self.members.values(), *self.besides.values()]
        names = {*OF_EVERY_SYSTEM, *self.instead, *_references(members)}
        names.update(member[key] for member in members for key in ("when", "each") if key in member)
        return [about for name, about in self.arguments.items() if name in names]

    def mission(self, given: Mapping[str, Value]) -> str:
        """Return the mission to run when the nodes are ready; empty if there is none."""
        values = self.values(given)
        mission = str(values["mission"])
        if mission != AUTO:
            return "" if mission == NONE else mission
        from skm_sim.registry import get_domain  # noqa: PLC0415 - with Gymnasium, which takes a while

        return get_domain(str(values["domain"])).demo_task.formula

    def space(self, namespace: str | None) -> str:
        """Return the namespace of the system's own nodes; robots of a team have others."""
        return "/" + (namespace or self.namespace).strip("/")

    def nodes(
        self, given: Mapping[str, Value], namespace: str | None = None
    ) -> list[NodeDescription]:
        """Return the nodes to start, with the arguments filled in.

        In a namespace other than the default one, the clock is moved into it.
        """
        values = self.values(given)
        space = self.space(namespace)
        moved = [] if space == self.namespace else [("/clock", f"{space.rstrip('/')}/clock")]
        nodes = []
        everyone = {**self.members, **self.besides}
        asked = {
            name: member
            for name, member in everyone.items()
            if "when" not in member or _is_wanted(member, values)
        }
        changed = {n for n, value in values.items() if value != self.arguments[n].default}
        for name, member in asked.items():
            if "each" in member:
                nodes += self._for_each(name, member, values, changed, space)
                continue
            kind = self.kinds[name]
            remappings = [*moved, *(member.get("remappings") or {}).items()]
            nodes.append(
                NodeDescription(
                    name=name,
                    executable=kind["executable"],
                    module=kind["module"],
                    class_name=kind["class"],
                    namespace=space,
                    parameters={
                        key: values[value[1:]] if _is_reference(value) else value
                        for key, value in (member.get("parameters") or {}).items()
                    },
                    remappings=tuple(remappings),
                    file=str(values["params_file"]),
                    given=frozenset(
                        key
                        for key, value in (member.get("parameters") or {}).items()
                        if _is_reference(value) and value[1:] in changed
                    ),
                )
            )
        return nodes

    def _for_each(
        self,
        name: str,
        member: Mapping[str, Any],
        values: Mapping[str, Value],
        changed: Collection[str],
        space: str,
    ) -> list[NodeDescription]:
        """Return a node for each robot of a team, in a namespace of its own, with a seed of its own.

        Topics that are `shared` are those of the system, whatever namespace a robot has.
        """
        of_all = ("each", "when", "only", "shared")
        alone = replace(
            self,
            members={name: {k: v for k, v in member.items() if k not in of_all}},
            besides={},
        )
        topics = {key: str(values[key]) for key in member.get("shared", ()) if key in changed}
        values = {**values, **{key: _absolute(topic, space) for key, topic in topics.items()}}
        found = []
        for number, robot in enumerate(robot_names(values[member["each"]])):
            own = {key: values[key] for key in changed} | {"seed": int(values["seed"]) + number}
            (node,) = alone.nodes(own, f"/{robot}")
            found.append(replace(node, name=f"{robot}.{name}"))
        return found


def _absolute(topic: str, space: str) -> str:
    return topic if topic.startswith("/") or not _is_asked_for(topic) else f"{space}/{topic}"


def robot_names(robots: Value) -> tuple[str, ...]:
    """Return the names of a team's robots: r1, r2, … if their number is given."""
    text = str(robots).strip()
    if text.isdigit() and int(text) > 0:
        return tuple(f"r{number}" for number in range(1, int(text) + 1))
    names = tuple(part.strip() for part in text.split(","))
    if len(set(names)) < len(names) or not all(name.isidentifier() for name in names):
        raise GraphError(f"robots is '{text}'; it must be a number, or names with commas")
    return names


def _is_reference(value: object) -> bool:
    return isinstance(value, str) and value.startswith("$")


def _is_wanted(member: Mapping[str, Any], values: Mapping[str, Value]) -> bool:
    """Tell whether a node's argument `when` is set, and to one of those that it is there for."""
    value = values[member["when"]]
    return _is_asked_for(value) and ("only" not in member or value in member["only"])


def _is_asked_for(value: Value) -> bool:
    return bool(value) and value != NONE


def load_systems(path: Path | None = None) -> dict[str, System]:
    """Return the systems of a description, by default the one that comes with skm."""
    document = _read(path)
    systems, besides = {}, document["besides"]
    for name, entry in document["systems"].items():
        own = entry.get("arguments") or {}
        arguments = {
            key: Argument(
                key, own.get(key, about["default"]), about["description"], about["default"]
            )
            for key, about in document["arguments"].items()
        }
        named = [*own, *(argument for member in besides.values() for argument in _named(member))]
        _check(name, {**entry["nodes"], **besides}, named, arguments, document["nodes"])
        systems[name] = System(
            name=name,
            description=entry["description"],
            namespace=document["namespace"],
            arguments=arguments,
            kinds=document["nodes"],
            members=entry["nodes"],
            besides=besides,
            instead=entry.get("instead") or {},
        )
    return systems


def _named(member: Mapping[str, Any]) -> list[str]:
    """Return the arguments that say whether a node is started besides, or that it needs."""
    return [member["when"], *(member.get("needs") or {})]


def load_benchmarks(path: Path | None = None) -> dict[str, dict[str, Any]]:
    """Return what each benchmark measures by default: domain, mission, steps, seed."""
    benchmarks: dict[str, dict[str, Any]] = _read(path)["benchmarks"]
    return benchmarks


def _read(path: Path | None) -> Any:  # noqa: ANN401 - a YAML document
    path = path or find_config("graph.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _references(members: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the arguments that nodes' parameters refer to."""
    return [
        value[1:]
        for member in members
        for value in (member.get("parameters") or {}).values()
        if _is_reference(value)
    ]


def _check(
    system: str,
    members: Mapping[str, Any],
    own: Iterable[str],
    arguments: Mapping[str, Argument],
    kinds: Mapping[str, Any],
) -> None:
    """Raise an error where a system names what the description does not have."""
    for name in (*own, *_references(members.values())):
        if name not in arguments:
            raise GraphError(
                f"system '{system}': no argument '{name}'{did_you_mean(name, arguments)}"
            )
    for name in members:
        if name not in kinds:
            raise GraphError(f"system '{system}': no node '{name}'{did_you_mean(name, kinds)}")


def get_system(name: str, path: Path | None = None) -> System:
    """Return a system by its name; an unknown one raises an error that names the nearest."""
    systems = load_systems(path)
    if name not in systems:
        raise GraphError(f"no system '{name}'{did_you_mean(name, systems)}")
    return systems[name]


def find_config(name: str) -> Path:
    """Return the path of a file in `config/`: of the sources, or of where skm is installed."""
    roots = [Path(__file__).resolve().parents[2]]
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    roots += [Path(prefix) / "share" / "skm" for prefix in prefixes if prefix]
    for root in roots:
        if (root / "config" / name).is_file():
            return root / "config" / name
    looked = ", ".join(str(root / "config") for root in roots)
    raise GraphError(f"there is no {name} in {looked}; was skm installed with `make demo`?")
