"""The time line of a recording: the mission alone, however old what was latched is."""

import json

import pytest

from skm_cli.main import main
from skm_primitives.recording.cdr import BEGAN, codec_of
from skm_primitives.recording.episode_recorder import marker_fields
from skm_primitives.recording.files import RunWriter, read_recording, summary
from skm_sim.scene import Shape
from skm_web.hub import Hub, Seen
from skm_web.player import replay_file
from skm_web.views import RunView

HOUR = 3600 * 10**9


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "office.mcap"
    assert (
        main(["run", "office", "F(coffee & X F office)", "--start", "2,2", "--record", str(path)])
        == 0
    )
    return path


def with_an_hour_before_and_ten_seconds_after(path):
    """Return the recording as a recorder used to leave it: latched messages have their old times."""
    file, made = read_recording(path), path.with_name("old.mcap")
    with RunWriter(made) as writer:
        for name, values in file.metadata.items():
            writer.metadata(name, values)
        ordered = sorted(file.recorded, key=lambda message: message.log_time)
        for message in ordered:
            writer.channel(message.topic, message.channel.type)
            early = message.name in ("primitives_info", "markers") and message is not ordered[-1]
            first = early and message is next(m for m in ordered if m.name == message.name)
            writer.write(message.topic, message.data, message.log_time - HOUR * first)
        last = ordered[-1]
        writer.write(last.topic, last.data, last.log_time + 10**10)
    return made


def test_the_slider_is_as_long_as_the_mission_after_an_hour_of_uptime(recording):
    seconds = summary(read_recording(recording))["seconds"]
    for path in (recording, with_an_hour_before_and_ten_seconds_after(recording)):
        hub = Hub()
        replay = replay_file(path, hub)
        assert hub.value("replay")["length"] == pytest.approx(seconds, abs=0.02)
        assert hub.value("scene")["shapes"]  # what was said before the mission is there at once
        assert hub.value("domain")["domain"] == "office"
        log = replay._tracks["mission_log"]
        assert log.messages[0].value.kind == BEGAN
        assert log.times[0] == 0.0
        assert max(hub.value("replay")["moves"]) <= seconds + 0.02
        replay.seek(seconds)
        assert hub.value("mission")["outcome"] == "accepted"
        replay.stop()


def test_a_live_path_has_a_gap_where_steps_were_missed():
    """No way through a wall is shown that only joins two places which the page happened to see."""
    hub = Hub()
    view = RunView(hub, live=True)
    codec, seen = codec_of("skm/Observation"), codec_of("visualization_msgs/MarkerArray")
    try:
        for step, x in ((0, 0.0), (1, 1.0), (7, 7.0), (8, 8.0)):
            state = {"session": 1, "episode": 1, "step": step, "period": 0.25}
            view.on_observation(codec.decode(codec.encode(state)))
            robot = marker_fields(
                Shape("robot", "sphere", (x, 0.0, 0.0), (1, 1, 1), (0, 0, 0, 1)), 0, {}
            )
            view.on_markers(seen.decode(seen.encode({"markers": [robot]})))
    finally:
        view.close()
    path = json.loads("{" + hub.news(Seen()) + "}")["streams"]["path"]["items"]
    assert [point[0] for point in path] == [0.0, 1.0, 7.0, 8.0]
    assert [len(point) == 4 for point in path] == [False, False, True, False]
