"""`skm up`: start a system of nodes, with no launch tool needed."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from skm_cli.options import add_web_options, keep_token
from skm_cli.output import print_json
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_ros.graph import Argument, System


NONE: Final = "none"
DEFAULT: Final = "demo"
EPILOG: Final = """\
examples:
  skm up demo
  skm up demo --domain office --mission "F(coffee & X F office) & G !decoration"
  skm up office --mode lockstep --single-process
  skm up robot --domain hall --mission "F(coffee & X F office) & G !wet_floor"
  skm up robot --robot none --domain hall --odom /odom --scan /scan --cmd-vel /cmd_vel
  skm up team --robots 3 --domain hall --mission "F r1.coffee & F lab & F store & G !wet_floor"
  skm up office --web
  skm up robot --list

`ros2 launch skm SYSTEM.launch.py` starts the same systems. Press Ctrl-C to stop the nodes.
"""
GROUPS: Final = {
    "the mission": ("mission", "planner", "shield", "events", "labels", "resume", "monitor"),
    "the world": ("domain", "mode", "rate", "seed", "checkpoint", "use_sim_time", "resume_after"),
    "a robot": (
        *("robot", "robots", "start", "objects", "odom", "scan", "cmd_vel", "stamped"),
        *("pose_source", "pose", "map_frame", "base_frame", "speed", "turn", "axle", "drive"),
        *("stuck_after", "deadman"),
    ),
    "what is said, shown and kept": (
        *("language", "render", "render_rate", "marker_rate", "picture", "record", "keep"),
        "foxglove",
    ),
    "the nodes": ("params_file", "lifecycle", "respawn", "state_folder"),
}
WEB: Final = (
    *("web", "web_host", "web_port", "web_read_only", "web_public_url"),
    *("web_deadman", "web_assistant"),
)
ARGUMENTS: Final = (*(name for names in GROUPS.values() for name in names), *WEB)
"""The arguments of config/graph.yaml; a test sees to it that none is missing."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm up` to the command."""
    parser = subparsers.add_parser(
        "up",
        usage="skm up [SYSTEM] [--argument VALUE …]",
        help="start the ROS 2 nodes of a system",
        description="Start the ROS 2 nodes of a system. They run until Ctrl-C.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("system", nargs="?", help="the system to start, see below (default: demo)")
    for title, names in GROUPS.items():
        group = parser.add_argument_group(title)
        for name in names:
            group.add_argument(f"--{name.replace('_', '-')}", metavar="VALUE")
    add_web_options(parser.add_argument_group("the page"))
    parser.before_help = lambda: _describe(parser)  # type: ignore[attr-defined]
    parser.add_argument("--namespace", help="namespace of all nodes (default: /skm)")
    parser.add_argument(
        "--single-process", action="store_true", help="run all nodes in one process"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the systems, or the arguments of one system with their defaults",
    )
    parser.add_argument("--json", action="store_true", help="with --list: print one JSON document")
    parser.set_defaults(run=run)


def _describe(parser: argparse.ArgumentParser) -> None:
    """Take systems and arguments from config/graph.yaml, the one place that describes them."""
    try:
        systems = _systems()
    except SkmError:
        return  # no PyYAML: the help says less
    general = next(iter(systems.values())).arguments
    for action in parser._actions:
        if action.dest in general and not action.dest.startswith("web"):
            argument = general[action.dest]
            given = str(argument.general)
            given = given.lower() if isinstance(argument.general, bool) else given
            default = "" if given in ("", NONE) else f" (default: {given})"
            action.help = f"{argument.description}{default}".replace("%", "%%")
    shown = "\n".join(f"  {name:<16}{system.description}" for name, system in systems.items())
    own = "`skm up SYSTEM --list` lists the arguments of a system with its defaults."
    parser.epilog = f"systems:\n{shown}\n\n{own}\n\n{EPILOG}"


def _systems() -> dict[str, System]:
    try:
        from skm_ros.graph import load_systems  # noqa: PLC0415
    except ImportError as error:
        raise SkmError(f"{error}; `make demo` installs what the nodes need") from error
    return dict(load_systems())


def run(args: argparse.Namespace) -> int:
    """Start the system and keep it up."""
    if args.list:
        return _list(args.system, as_json=args.json)
    from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

    require_ros()
    from skm_ros.graph import get_system  # noqa: PLC0415
    from skm_ros.processes import mission_command, run_here, run_processes  # noqa: PLC0415

    system = get_system(args.system or DEFAULT)
    given = {name: value for name in ARGUMENTS if (value := getattr(args, name)) is not None}
    keep_token(given)
    nodes = system.nodes(given, args.namespace)
    mission = mission_command(system, given, system.space(args.namespace))
    if args.single_process:
        return run_here(nodes, mission)
    return run_processes(nodes, mission, respawn=bool(system.values(given)["respawn"]))


def _list(name: str | None, *, as_json: bool) -> int:
    """Show all systems, or one with its arguments; no argument is described twice."""
    systems = _systems()
    if name is not None:
        from skm_ros.graph import get_system  # noqa: PLC0415

        systems = {name: get_system(name)}
    if as_json:
        print_json({name: _document(system) for name, system in systems.items()})
        return 0
    for system in systems.values():
        print(f"{system.name}: {system.description}")
        if name is None and (own := system.own_defaults()):
            print(f"  {' '.join(_given(argument) for argument in own)}")
        if name is not None:
            print(f"  nodes: {', '.join(system.members)}")
    if name is None:
        print("\narguments, with their defaults (above: defaults of single systems):")
    system = next(iter(systems.values()))
    for argument in system.arguments.values() if name is None else system.used():
        default = argument.general if name is None else argument.default
        print(f"  {_given(replace(argument, default=default)):<32}  {argument.description}")
    return 0


def _given(argument: Argument) -> str:
    """Return an argument with its default, as it would be typed."""
    value = argument.default
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"--{argument.name.replace('_', '-')} {shlex.quote(text)}"


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
