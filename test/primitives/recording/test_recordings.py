"""Recordings without ROS: written, killed, repaired, read; and what they say is what happened."""

import resource

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import RecordingError, codec_of, schema_text
from skm_primitives.recording.episode_recorder import entry_head
from skm_primitives.recording.files import RunWriter, compact, read_recording, recorded_missions

COFFEE = ["run", "office", "F(coffee & X F office) & G !decoration", "--start", "2,2"]
LABELS = {"session": 7, "episode": 1, "names": ["a", "bcd"], "values": [True, False]}


@pytest.fixture(scope="module")
def coffee(tmp_path_factory):
    """A recorded run, which others must not change."""
    path = tmp_path_factory.mktemp("recordings") / "coffee.mcap"
    assert main([*COFFEE, "--record", str(path)]) == 0
    return path


def test_messages_come_back_as_they_were():
    codec = codec_of("skm/Observation")
    fields = {"session": 2**64 - 1, "step": 3, "data": [0.5, -1.0], "stopped": "by hand, ä"}
    again = codec.decode(codec.encode(fields))
    assert (again.session, again.step, again.stopped) == (2**64 - 1, 3, "by hand, ä")
    assert np.allclose(again.data, [0.5, -1.0])
    assert codec_of("skm/MachineState").decode(codec_of("skm/MachineState").encode({})).state == -1


@pytest.mark.parametrize("fields", [{"stepp": 1}, {"step": -1}, {"step": "x"}, {"names": 3}])
def test_what_is_no_message_is_refused(fields):
    with pytest.raises(RecordingError):
        codec_of("skm/Labels").encode(fields)


def test_bytes_that_are_no_message_are_refused():
    codec = codec_of("skm/Labels")
    data = codec.encode(LABELS)
    for bad in (b"", data[:20], data[:-1], b"\x00\x00" + data[2:], data[:36] + b"\xff" * 8):
        with pytest.raises(RecordingError):
            codec.decode(bad)


def test_a_run_is_recorded_state_by_state(coffee):
    (mission,) = recorded_missions(read_recording(coffee))
    assert [state.step for state in mission.states] == list(range(9))
    assert mission.states[4].labels == {"coffee"}
    assert mission.outcome == "accepted"
    assert mission.states[-1].action.value is None
    assert mission.compiled().machine.num_states == mission.began.states
    about = mission.file.metadata
    assert about["skm.mission"]["digest"] == mission.info.digest
    assert about["skm.outcome"]["steps"] == "8"
    assert about["skm.parameters"]["run.seed"] == "0"
    assert about["skm.run"]["source"] == "process"


def test_a_file_without_its_end_holds_all_that_was_written(tmp_path):
    path = tmp_path / "killed.mcap"
    writer = RunWriter(path)
    for step in range(50):
        writer.encode("/skm/labels", "skm/Labels", {**LABELS, "step": step})
        if step % 10 == 0:  # what a killed process would leave
            assert len(read_recording(path, recover=True).recorded) == step + 1
    with pytest.raises(RecordingError, match="--recover"):
        read_recording(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    cut = read_recording(path, recover=True)
    assert (len(cut.recorded), cut.complete) == (49, False)
    assert 0 < cut.lost_bytes < 200
    compact(path)
    repaired = read_recording(path)
    assert [m.value.step for m in repaired.messages("labels")] == list(range(49))
    path.write_bytes(whole)
    writer.close()
    assert len(read_recording(path).recorded) == 50
    assert path.stat().st_size < len(whole)


def test_messages_that_came_at_once_are_in_the_file_once_flushed(tmp_path):
    path, data = tmp_path / "flat.mcap", codec_of("skm/Labels").encode(LABELS)
    writer = RunWriter(path)
    writer.metadata("skm.run", {"format": 1})
    writer.channel("/skm/labels", "skm/Labels")
    for when in (30, 10, 20):
        writer.add("/skm/labels", data, when, 5)
    assert read_recording(path, recover=True).recorded == []
    writer.flush()
    assert [m.log_time for m in read_recording(path, recover=True).recorded] == [30, 10, 20]
    writer.close(compacting=False)
    with path.open("rb") as stream:  # the package's reader goes by the summary
        reader = make_reader(stream, validate_crcs=True)
        statistics = reader.get_summary().statistics
        assert (statistics.message_count, statistics.metadata_count) == (3, 1)
        assert (statistics.message_start_time, statistics.message_end_time) == (10, 30)
        assert sorted(m.log_time for _, _, m in reader.iter_messages()) == [10, 20, 30]
        assert [one.name for one in reader.iter_metadata()] == ["skm.run"]


def _write_steps(writer, count):
    for step in range(writer.count, count):
        writer.encode("/skm/labels", "skm/Labels", {**LABELS, "step": step})


def test_a_full_disk_is_said_and_nothing_is_lost_when_it_has_room_again(tmp_path):
    path, before = tmp_path / "full.mcap", resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = RunWriter(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))  # as if no more had room
    try:
        with pytest.raises(SkmError, match=r"cannot write .*full\.mcap"):
            _write_steps(writer, 500)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert writer.waiting > 0
    _write_steps(writer, 500)
    writer.close()
    steps = [message.value.step for message in read_recording(path).messages("labels")]
    assert steps == list(range(500))


@pytest.mark.parametrize("frame", ["", "a", "map", "base_link"])
def test_an_entrys_head_is_what_its_whole_says(frame):
    fields = {"goal_id": {"uuid": list(range(1, 17))}, "number": 2**32 - 2, "kind": 2}
    data = codec_of("skm/MissionLog").encode({"header": {"frame_id": frame}, **fields})
    assert entry_head(data) == (bytes(range(1, 17)).hex(), 2)
    with pytest.raises(RecordingError):
        entry_head(data[:20])


@pytest.mark.parametrize("content", [b"", b"something else", b"\x89MCAP0\r\n"])
def test_what_is_no_recording_is_refused(content, tmp_path):
    path = tmp_path / "no.mcap"
    path.write_bytes(content)
    with pytest.raises(RecordingError):
        read_recording(path)


def test_a_damaged_recording_is_refused_or_read_never_worse(coffee, tmp_path):
    path, whole, rng = tmp_path / "damaged.mcap", coffee.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), 3):
            data[place] = rng.integers(256)
        path.write_bytes(data)
        try:
            for message in read_recording(path, recover=True).messages():
                assert message.value is not None
        except RecordingError:
            pass


def test_other_readers_open_it(coffee):
    ours = read_recording(coffee)
    with coffee.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        assert reader.get_header().profile == "ros2"
        assert reader.get_summary().statistics.message_count == len(ours.recorded)
        assert sum(1 for _ in reader.iter_messages()) == len(ours.recorded)
        assert {m.name for m in reader.iter_metadata()} == set(ours.metadata)
    with AnyReader([coffee], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as bag:
        topics = {c.topic: c for c in bag.connections}
        assert set(topics) == set(ours.topics())
        steps = []
        for connection, _, raw in bag.messages(connections=[topics["/skm/labels"]]):
            steps.append(bag.deserialize(raw, connection.msgtype).step)
        assert steps == list(range(9))
        for connection, _, raw in bag.messages():
            bag.deserialize(raw, connection.msgtype)


def test_definitions_are_whole():
    text = schema_text("skm/MissionLog")
    assert "MSG: std_msgs/Header" in text
    assert "MSG: skm/Transition" in text
    with pytest.raises(RecordingError, match="no definition"):
        schema_text("nobody/Knows")
