"""The one description of the ROS graph: what it says, and that mistakes in it are found."""

import argparse

import pytest

from skm_cli.commands import up as up_command
from skm_cli.main import main
from skm_ros.graph import GraphError, find_config, get_system, load_systems
from skm_ros.processes import mission_command

NODES = ["sim", "primitives", "machine"]


def test_the_demo_has_the_three_nodes_in_skms_namespace():
    nodes = get_system("demo").nodes({})
    assert [node.name for node in nodes] == NODES
    assert {node.namespace for node in nodes} == {"/skm"}
    assert nodes[0].parameters["domain"] == nodes[1].parameters["domain"] == "safety"


def test_a_recorder_and_a_monitor_join_any_system_that_asks_for_them():
    for system in load_systems().values():
        plain = [node.name for node in system.nodes({})]
        more = system.nodes({"record": "runs", "monitor": "G !a"})
        assert [node.name for node in more] == [*plain, "recorder", "monitor"]
        assert more[-2].parameters["folder"] == "runs"
        assert more[-1].parameters["mission"] == "G !a"


def test_arguments_fill_in_parameters_with_their_types():
    nodes = get_system("demo").nodes({"seed": "7", "rate": "2", "domain": "office"})
    parameters = nodes[0].parameters
    assert (parameters["seed"], parameters["rate"]) == (7, 2.0)
    assert isinstance(parameters["rate"], float)
    assert [node.parameters.get("domain") for node in nodes] == ["office", "office", None]


def test_every_system_has_a_launch_file_and_starts_from_its_own_defaults():
    for name, system in load_systems().items():
        assert system.values({}).keys() == system.arguments.keys(), name
        assert system.nodes({}), name
        assert (find_config("graph.yaml").parents[1] / "launch" / f"{name}.launch.py").is_file()
    assert get_system("office").nodes({})[0].parameters["mode"] == "realtime"


def test_every_argument_is_an_option_of_skm_up():
    parser = argparse.ArgumentParser()
    up_command.add_parser(parser.add_subparsers())
    for system in load_systems().values():
        assert set(system.arguments) == set(up_command.ARGUMENTS)
    args = parser.parse_args(["up", "demo", "--seed", "7", "--mission", "F a"])
    assert (args.system, args.seed, args.mission) == ("demo", "7", "F a")


def test_the_list_of_systems_describes_each_argument_once(capsys):
    assert main(["up", "--list"]) == 0
    shown = capsys.readouterr().out
    for argument in get_system("demo").arguments.values():
        assert shown.count(argument.description) == 1
    assert "robot: a robot on a map" in shown
    assert main(["up", "robot", "--list"]) == 0
    of_robot = capsys.readouterr().out
    assert "--rate 20.0 " in of_robot
    assert "the point robot" not in of_robot
    assert "--robots" not in of_robot  # for teams
    assert "--mission" in of_robot
    assert main(["up", "office", "--list"]) == 0
    assert "--odom" not in capsys.readouterr().out


def test_the_demo_says_its_own_default_seed(capsys):
    with pytest.raises(SystemExit):
        main(["demo", "--help"])
    seed = get_system("demo").arguments["seed"].default
    assert f"seed of the world (default: {seed})" in capsys.readouterr().out


def test_a_picture_without_a_mission_says_that_there_will_be_none(capsys):
    given = {"picture": "runs/x.svg"}
    assert mission_command(get_system("robot"), given, "/skm") == []
    assert "no picture: --picture runs/x.svg shows the run of --mission" in capsys.readouterr().err
    assert mission_command(get_system("robot"), {}, "/skm") == []
    assert capsys.readouterr().err == ""


def test_in_another_namespace_the_clock_moves_along():
    node = get_system("demo").nodes({}, "robot1")[0]
    assert node.namespace == "/robot1"
    assert node.remappings == (("/clock", "/robot1/clock"),)
    assert get_system("demo").nodes({})[0].remappings == ()


def test_ros_arguments_keep_text_text():
    node = get_system("demo").nodes({"domain": "off", "checkpoint": "1"})[1]
    arguments = node.ros_arguments()
    assert arguments[:3] == ["--ros-args", "-r", "__ns:=/skm"]
    assert 'domain:="off"' in arguments
    assert 'checkpoint:="1"' in arguments


@pytest.mark.parametrize("given", [{"seed": "x"}, {"rate": "fast"}, {"sed": "1"}])
def test_bad_arguments_are_refused(given):
    with pytest.raises(GraphError, match="argument"):
        get_system("demo").nodes(given)


def test_an_unknown_system_is_refused_with_the_nearest_name():
    with pytest.raises(GraphError, match="did you mean 'demo'"):
        get_system("demoo")


@pytest.mark.parametrize(
    ("right", "wrong"), [("seed: $seed", "seed: $sed"), ("      machine:\n", "      machin:\n")]
)
def test_a_description_that_names_what_is_not_there_is_refused(tmp_path, right, wrong):
    text = find_config("graph.yaml").read_text()
    assert right in text
    path = tmp_path / "graph.yaml"
    path.write_text(text.replace(right, wrong))
    with pytest.raises(GraphError, match="system 'demo'"):
        load_systems(path)


def test_a_team_has_one_dead_man_topic_whatever_the_namespaces_of_its_robots():
    nodes = get_system("team").nodes({"web": "true", "web_deadman": "held"}, "/here")
    topics = {
        f"{node.namespace}/{topic}" if not topic.startswith("/") else topic
        for node in nodes
        if (topic := str(node.parameters.get("deadman", "")))
    }
    assert topics == {"/here/held"}
    assert {node.namespace for node in nodes} == {"/here", "/r1", "/r2"}
    silent = get_system("team").nodes({})
    assert not any(node.parameters.get("deadman") for node in silent)
