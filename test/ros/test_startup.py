"""Starting and ending: any order, side by side, killed and started again."""

import itertools
from pathlib import Path

import pytest
from harness import NODES, PATROL, Topic
from skm.action import ExecuteMission
from skm.msg import MachineState, PrimitivesInfo

from skm_ros import qos
from skm_ros.middleware import set_up_listening, set_up_middleware

RESULT = ExecuteMission.Result
LOOPBACK, EVERYWHERE = "0100007F", "00000000"
"""Addresses of sockets, as Linux shows them."""
ENDLESS = {"mission": "F A & F C", "repeat": True, "max_steps": 1_000_000}
IMPATIENT = {"machine": {"peer_timeout": 2.0}}


@pytest.mark.parametrize("order", list(itertools.permutations(NODES)), ids="-".join)
def test_start_in_any_order(systems, order):
    """Each node is seen to be up before the next is started; nothing acts before all are there."""
    system = systems(order=order[:1])
    traffic = system.traffic
    for name in order[1:]:
        last = system.processes[order[order.index(name) - 1]]
        system.wait_until(lambda up=last: _is_up(system, up), "the node before")
        assert not traffic.actions.messages
        assert all(state.phase == MachineState.WAITING for state in system.states.messages)
        system.start(name)
    system.wait_ready()
    assert system.run("F coffee").outcome == RESULT.ACCEPTED
    ready = next(i for i, s in enumerate(system.states.messages) if s.phase == MachineState.IDLE)
    assert all(s.phase == MachineState.WAITING for s in system.states.messages[:ready])


def _is_up(system, process):
    name = next(key for key, value in system.processes.items() if value is process)
    there = system.client.node.get_node_names_and_namespaces()
    return (name, system.namespace) in there


def test_two_systems_side_by_side(systems):
    """Two namespaces on one domain id: each mission moves its own robot, and only that one."""
    one, two = systems(namespace="/one"), systems(namespace="/two")
    first, second = one.traffic, two.traffic
    one.wait_ready()
    two.wait_ready()
    quiet = two.states.last
    assert one.run("F A").outcome == RESULT.ACCEPTED
    two.wait_until(lambda: second.observations.messages, "an observation")
    one.wait_until(lambda: first.observations.messages, "an observation")
    assert two.states.last == quiet
    assert not second.actions.messages
    assert {message.step for message in second.observations.messages} == {0}

    start = {"reset": True, "seed": 1}
    patrol, coffee = one.send(PATROL, **start), two.send("F coffee", **start)
    results = one.finish(patrol), two.finish(coffee)
    assert [result.outcome for result in results] == [RESULT.ACCEPTED, RESULT.ACCEPTED]
    assert [len(result.transitions) for result in results] == [4, 1]
    sessions = [
        {message.session for message in [*traffic.observations.messages, *traffic.actions.messages]}
        for traffic in (first, second)
    ]
    assert all(len(each) == 1 for each in sessions)
    assert sessions[0] != sessions[1]
    frames = [traffic.observations.last.header.frame_id for traffic in (first, second)]
    assert frames == ["one/base_link", "two/base_link"]


def test_sim_killed_in_a_mission_and_started_again(systems):
    """The mission ends with an error that names the peer; once it is back, missions run again."""
    system = systems(parameters=IMPATIENT)
    system.wait_ready()
    goal = system.send(**ENDLESS)
    system.wait_running(ENDLESS["mission"])
    system.kill("sim")
    result = system.finish(goal)
    assert result.outcome == RESULT.ERROR
    assert "robot" in result.reason
    system.wait_until(lambda: system.states.last.phase == MachineState.WAITING, "the loss")
    assert system.states.last.waiting_for == "robot"
    system.start("sim")
    system.wait_ready()
    assert system.run("F coffee").outcome == RESULT.ACCEPTED
    actions = system.traffic.actions.messages
    system.wait_until(
        lambda: len({action.session for action in actions}) == 2, "actions in both sessions"
    )


def test_primitives_killed_in_a_mission_and_started_again(systems):
    """Likewise; the new ones serve the same skills, and are used as soon as they say so."""
    system = systems(parameters=IMPATIENT)
    infos = Topic(system.client, PrimitivesInfo, "primitives_info", qos.LATCHED)
    system.wait_ready()
    system.wait_until(lambda: infos.messages, "the primitives")
    goal = system.send(**ENDLESS)
    system.wait_running(ENDLESS["mission"])
    system.kill("primitives")
    result = system.finish(goal)
    assert result.outcome == RESULT.ERROR
    assert "primitives" in result.reason
    infos.messages.clear()
    system.start("primitives")
    system.wait_until(lambda: infos.messages, "the new primitives")
    system.wait_ready()
    assert system.run("F coffee").outcome == RESULT.ACCEPTED


def test_machine_killed_in_a_mission_and_started_again(systems):
    """The robot stands still meanwhile; the new machine knows no mission, and the client is told."""
    system = systems()
    traffic = system.traffic
    system.wait_ready()
    goal = system.send(**ENDLESS)
    system.wait_running(ENDLESS["mission"])
    system.kill("machine")
    system.states.messages.clear()
    system.start("machine")
    system.wait_until(
        lambda: system.states.last is not None and system.states.last.phase == MachineState.IDLE,
        "the new machine",
    )
    assert system.states.last.mission == ""
    system.wait_until(lambda: goal.done, "the client to notice")
    assert goal.result.outcome == RESULT.ERROR
    goal.close()
    again = system.send("F coffee")
    assert system.finish(again).outcome == RESULT.ACCEPTED
    system.actions_of(again)
    steps = [action.step for action in traffic.actions.messages]
    assert steps == sorted(steps)
    assert len({action.session for action in traffic.actions.messages}) == 1


def test_the_middleware_keeps_to_this_machine_unless_the_user_says_otherwise():
    environ = {}
    set_up_middleware(environ)
    assert environ["FASTDDS_DEFAULT_PROFILES_FILE"].endswith("config/dds_local.xml")
    again = dict(environ)
    set_up_middleware(again)
    assert again == {**environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT"}
    opened = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    set_up_middleware(opened)
    assert opened["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"
    assert opened["FASTDDS_DEFAULT_PROFILES_FILE"].endswith("config/dds_open.xml")
    for before in (environ, opened):  # a process that only listens is told so, whoever started it
        listening = dict(before)
        set_up_listening(listening)
        said = before["FASTDDS_DEFAULT_PROFILES_FILE"].replace(".xml", "_listening.xml")
        assert listening["FASTDDS_DEFAULT_PROFILES_FILE"] == said
        assert Path(said).is_file()
    own = {"FASTRTPS_DEFAULT_PROFILES_FILE": "mine.xml"}
    set_up_middleware(own)
    set_up_listening(own)
    assert own == {
        "FASTRTPS_DEFAULT_PROFILES_FILE": "mine.xml",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }


def test_no_node_uses_shared_memory_or_listens_beyond_this_machine(systems):
    """A process that dies with a lock of it holds up the others for a second."""
    system = systems()
    system.wait_ready()
    for process in system.processes.values():
        opened = [str(entry.readlink()) for entry in Path(f"/proc/{process.pid}/fd").iterdir()]
        assert not [name for name in opened if "/dev/shm/fast" in name]
        sockets = Path(f"/proc/{process.pid}/net/udp").read_text().splitlines()[1:]
        owned = [line.split() for line in sockets if f"socket:[{line.split()[9]}]" in opened]
        addresses = {fields[1].split(":")[0] for fields in owned}
        assert LOOPBACK in addresses
        assert EVERYWHERE not in addresses
