"""The recorder on real nodes: what it leaves verifies, also when it is killed; the monitor beside it."""

import io
import json
from contextlib import contextmanager

import pytest
from harness import Topic, node_process, skm_process
from PIL import Image as PIL
from policy_check import BY_NODE, check_policy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import CompressedImage, Image
from skm.action import ExecuteMission
from skm.msg import (
    Action,
    Labels,
    MachineState,
    MissionLog,
    Observation,
    PrimitivesInfo,
    Transition,
    Verdict,
)
from visualization_msgs.msg import Marker, MarkerArray
from websockets.sync.client import connect
from websockets.typing import Origin

from skm_cli.commands.verify import verify_file
from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import STANDARD_TYPES, codec_of, read_definition
from skm_primitives.recording.files import read_recording, recorded_missions, summary
from skm_ros import qos
from skm_ros.graph import find_config
from skm_web.player import time_line

ASKED = ("check", "run", "fly")
COFFEE = "F(coffee & X F office) & G !decoration"


def filled():
    """Messages with something in every kind of field."""
    labels = Labels(session=2**63 + 5, episode=3, step=7, names=["a", "bcd"], values=[True, False])
    labels.header.frame_id, labels.header.stamp.sec = "base", 5
    moves = [Transition(step=2, from_state=0, to_state=1, labels=["a", "b"], reward=1.0)]
    log = MissionLog(mission="F a", states=3, transitions=moves, events=["x"], reason="ä")
    log.goal_id.uuid[3] = 17
    marker = Marker(ns="robot", id=3, type=Marker.CUBE, text="R")
    marker.pose.position.x, marker.color.a = 1.5, 0.5
    seen = Observation(session=1, kind=Observation.VECTOR, data=[0.5, 1.5, -2.0])
    return [labels, log, MarkerArray(markers=[marker, Marker()]), seen, Action(continuous=[1.0])]


@pytest.mark.parametrize("message", filled(), ids=lambda message: type(message).__name__)
def test_messages_are_encoded_as_ros_does_it(message):
    """Byte for byte but for padding, which ROS leaves as it was: so each reads the other's."""
    package = type(message).__module__.split(".")[0]
    codec = codec_of(f"{package}/{type(message).__name__}")
    theirs = serialize_message(message)
    ours = codec.encode(_plain(codec.decode(theirs)))
    assert len(ours) == len(theirs)
    assert deserialize_message(ours, type(message)) == message


def _plain(value):
    if hasattr(value, "__dict__"):
        return {name: _plain(part) for name, part in vars(value).items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", [MachineState, PrimitivesInfo, Verdict])
def test_defaults_are_those_of_ros(kind):
    ours = codec_of(f"skm/{kind.__name__}").encode({})
    assert deserialize_message(ours, kind) == kind()


def test_standard_types_are_those_that_are_installed():
    share = find_config("graph.yaml").parents[1] / ".venv" / "share"
    for name, text in STANDARD_TYPES.items():
        package, _, kind = name.partition("/")
        path = share / package / "msg" / f"{kind}.msg"
        if share.is_dir():
            assert read_definition(name, path.read_text()) == read_definition(name, text)


@pytest.fixture
def recorded(systems, tmp_path):
    """An office that is recorded and monitored."""
    system = systems(
        order=("recorder", "monitor", "sim", "primitives", "machine"),
        parameters={
            "recorder": {"folder": tmp_path / "runs"},
            "monitor": {"mission": '"G !decoration"'},
            "sim": {"render": "markers", "render_rate": 0.0},
        },
    )
    system.wait_ready()
    return system, tmp_path / "runs"


def one_duration(path, found, result):
    """The nodes were up for a while before: the file is as long as the mission, by whoever tells."""
    file = read_recording(path)
    times = [message.log_time / 1e9 for message in file.recorded]
    (began,) = [m.log_time / 1e9 for m in file.messages("mission_log") if m.value.kind == 0]
    assert min(times) == began
    assert min(message.publish_time / 1e9 for message in file.recorded) < began - 1
    assert max(times) - began < result.seconds + 1.5  # what comes after is evidence, too
    assert summary(file)["seconds"] == pytest.approx(result.seconds, abs=1e-3)
    assert found.seconds == pytest.approx(result.seconds, abs=0.5)
    assert time_line(sorted(file.recorded, key=lambda message: message.log_time)) == (
        pytest.approx(began),
        pytest.approx(result.seconds),
    )


def published_pictures(node):
    """A picture for people, and one of depths, from somebody's cameras."""
    pictures = (
        Image(width=40, height=30, encoding="rgb8", step=120, data=bytes(range(200)) * 18),
        Image(width=1, height=1, encoding="32FC1", step=4, data=b"1234"),
    )
    for name, picture in zip(("camera", "depth"), pictures, strict=True):
        node.create_publisher(Image, name, qos.LATCHED).publish(picture)
    return pictures


@contextmanager
def asked_by_an_assistant(system):
    """Ask the web node what a mission means, and for one, the way that `skm mcp` does."""
    web = node_process("web", system.domain_id, port=0)
    try:
        address = web.told(r"the page is at (\S+)", "the page's address").rstrip("/")
        socket = address.replace("http", "ws", 1) + "/assistant/socket"
        with connect(socket, origin=Origin(address)) as assistant:
            for number, kind in enumerate(ASKED):
                assistant.send(json.dumps({"type": kind, "mission": "F mail", "id": number}))
            answered = (text for text in assistant if "id" in json.loads(text))
            assert len([next(answered) for _ in ASKED]) == len(ASKED)
        node = system.client.node
        heard = lambda: node.count_subscribers(node.resolve_topic_name("assistant"))  # noqa: E731
        system.wait_until(heard, "the recorder to listen to the assistant's calls")
        yield
        web.stop_cleanly()
    finally:
        web.stop()


def packed_pictures(file, camera, depth):
    """Pixels are kept as PNG files, under the topic's name; what is no picture for people, as it is."""
    (picture,) = {bytes(message.data) for message in file.messages("camera")}
    whole = deserialize_message(picture, CompressedImage)
    assert whole.format == "png"
    with PIL.open(io.BytesIO(bytes(whole.data))) as shown:
        assert shown.tobytes() == bytes(camera.data)
    (raw,) = {bytes(message.data) for message in file.messages("raw")}
    assert deserialize_message(raw, Image) == depth
    assert file.topics()["/skm/depth/raw"] == "sensor_msgs/Image"


def recorded_by_command(domain_id, folder):
    """`skm mission --record` leaves a file of its own."""
    command = skm_process(domain_id, "mission", "F mail", "--record", folder, "--json")
    command.wait_for(lambda: command.returncode is not None, "the mission's end", timeout=60)
    assert command.stop() == 0, command.transcript()
    (own,) = folder.glob("*.mcap")
    assert verify_file(own, None, recover=False).result == "agrees"
    assert verify_file(own, "G !mail", recover=False).verdict == "violated"
    (mission,) = recorded_missions(read_recording(own))
    assert mission.text == "F mail"


def test_a_mission_is_recorded_verified_and_survives_the_recorders_death(recorded, tmp_path):
    system, folder = recorded
    for node in ("recorder", "monitor"):
        for kind, right in BY_NODE:
            check_policy(system.client.node, system.wait_until, node, kind, right)
    verdicts = Topic(system.client, Verdict, "verdict", qos.LATCHED)
    pictures = published_pictures(system.client.node)
    with asked_by_an_assistant(system):
        result = system.run(COFFEE, reset=True, seed=3)
    assert result.outcome == ExecuteMission.Result.ACCEPTED

    def closed():
        try:
            return [read_recording(path) for path in folder.glob("*.mcap")]
        except SkmError:
            return []

    system.wait_until(closed, "a closed recording")
    (path,) = folder.glob("*.mcap")
    found = verify_file(path, None, recover=False)
    assert (found.result, found.disagreements, found.missing) == ("agrees", [], [])
    assert found.steps == result.steps
    assert [move.labels for move, _ in found.transitions] == [
        frozenset(move.labels) for move in result.transitions
    ]
    one_duration(path, found, result)
    packed_pictures(read_recording(path), *pictures)
    calls = [json.loads(m.value.data) for m in read_recording(path).messages("assistant")]
    assert sorted(call["call"] for call in calls) == sorted(ASKED)  # answered side by side
    assert found.nearest_steps is not None
    assert found.nearest_metres is not None
    about = read_recording(path).metadata
    assert about["skm.parameters"]["machine.planner"] == "product"
    assert about["skm.outcome"]["outcome"] == "accepted"
    system.wait_until(lambda: verdicts.last and verdicts.last.steps > 0, "a verdict")
    assert verdicts.last.verdict == Verdict.POSSIBLE
    assert verdicts.last.way_to_violate == ["{decoration}"]

    patrol = system.send("G F A & G F B", reset=True)  # killed while it runs
    system.wait_running("G F A & G F B", steps=20)

    def states_written():
        files = [one for one in folder.glob("*.mcap") if one != path]
        written = [read_recording(one, recover=True).messages("labels") for one in files]
        return len({(m.value.episode, m.value.step) for labels in written for m in labels})

    system.wait_until(lambda: states_written() >= 20, "20 states in the file")
    system.kill("recorder")
    heard = len(system.traffic.labels.messages)
    assert heard
    patrol.cancel()
    system.finish(patrol)
    (killed,) = [one for one in folder.glob("*.mcap") if one != path]
    with pytest.raises(SkmError, match="--recover"):
        verify_file(killed, None, recover=False)
    found = verify_file(killed, None, recover=True)
    assert found.result == "incomplete"
    assert found.disagreements == []
    assert found.steps >= 15
    assert read_recording(killed).complete

    recorded_by_command(system.domain_id, tmp_path / "one")


def test_a_monitor_judges_labels_of_whoever_publishes_them(systems, domain_id):
    """No simulator, no machine: only labels."""
    system = systems(order=("monitor",), parameters={"monitor": {"mission": '"F a & G !b"'}})
    labels = system.client.node.create_publisher(Labels, "labels", qos.STATE)
    verdicts = Topic(system.client, Verdict, "verdict", qos.LATCHED)
    elsewhere = ("--namespace", "/nobody", "--max-seconds", "0.5")
    unheard = skm_process(domain_id, "monitor", "G !b", *elsewhere)

    def say(step, *true, episode=1):
        values = [name in true for name in ("a", "b")]
        labels.publish(
            Labels(session=5, episode=episode, step=step, names=["a", "b"], values=values)
        )

    def judged(verdict, episode):
        last = verdicts.last
        return last is not None and (last.verdict, last.episode) == (verdict, episode)

    say(0)
    system.wait_until(lambda: judged(Verdict.POSSIBLE, 1), "a verdict")
    assert verdicts.last.way_to_satisfy == ["{a}"]
    say(1)
    say(2, "a")
    system.wait_until(lambda: judged(Verdict.SATISFIED, 1), "its success")
    say(0, "b", episode=2)
    say(1, "b", episode=2)
    system.wait_until(lambda: judged(Verdict.VIOLATED, 2), "its violation")
    say(0, episode=3)
    say(2, episode=3)
    system.wait_until(lambda: judged(Verdict.UNKNOWN, 3), "that a step is missing")
    command = skm_process(domain_id, "monitor", "G !b", "--json", "--max-seconds", "20")
    command.wait_for(lambda: command.answers or command.output, "its first line")
    say(3, "b", episode=3)
    say(4, "b", episode=3)
    command.wait_for(lambda: command.returncode is not None, "its end", timeout=60)
    assert command.stop() in (1, 4), command.transcript()
    unheard.wait_for(lambda: unheard.returncode is not None, "its end", timeout=60)
    assert unheard.stop() == 2, unheard.transcript()  # who has heard nothing has judged nothing
