"""Systems of config/graph.yaml for the real `launch` and `launch_ros`."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from skm_ros.graph import NodeDescription, System, get_system
from skm_ros.processes import mission_command


def launch_system(name: str) -> LaunchDescription:
    """Return the launch description of a system, with all of its arguments and `namespace`."""
    system = get_system(name)
    declared = [
        DeclareLaunchArgument(
            argument.name, default_value=str(argument.default), description=argument.description
        )
        for argument in system.arguments.values()
    ]
    where = DeclareLaunchArgument(
        "namespace", default_value=system.namespace, description="namespace of all nodes"
    )
    return LaunchDescription([*declared, where, OpaqueFunction(function=_start, args=[system])])


def _start(context: LaunchContext, system: System) -> list[Node | ExecuteProcess]:
    given = {name: LaunchConfiguration(name).perform(context) for name in system.arguments}
    namespace = LaunchConfiguration("namespace").perform(context)
    nodes = system.nodes(given, namespace)
    actions: list[Node | ExecuteProcess] = [
        Node(
            package="skm",
            executable=node.executable,
            namespace=node.namespace,
            parameters=[
                *_values(node, given=False),
                *([node.file] if node.file else []),
                *_values(node, given=True),
            ],
            remappings=list(node.remappings),
            output="screen",
            respawn=bool(system.values(given)["respawn"]),
            respawn_delay=1.0,
        )
        for node in nodes
    ]
    command = mission_command(system, given, system.space(namespace))
    if command:
        actions.append(ExecuteProcess(cmd=command, name="mission", output="screen"))
    return actions


def _values(node: NodeDescription, *, given: bool) -> list[dict[str, ParameterValue]]:
    """Return a node's parameters: those that somebody asked for, or the others."""
    return [
        {key: ParameterValue(value, value_type=type(value))}
        for key, value in node.parameters.items()
        if (key in node.given) == given
    ]
