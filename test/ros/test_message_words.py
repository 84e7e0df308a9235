"""The words that are read without ROS are those of the messages."""

from diagnostic_msgs.msg import DiagnosticStatus
from skm.action import ExecuteMission
from skm.msg import Action, MachineState, MissionLog
from visualization_msgs.msg import Marker

from skm_primitives.recording.cdr import (
    ADD,
    BEGAN,
    CONTINUOUS,
    DELETE_ALL,
    DISCRETE,
    ENDED,
    LEVELS,
    OUTCOMES,
    PHASES,
    SHAPES,
    STOP,
    WENT_ON,
    word,
)
from skm_ros.conversions import OUTCOMES as BY_NUMBER
from skm_ros.markers import KINDS


def test_numbers_mean_the_same_with_and_without_ros():
    for name in PHASES:
        assert PHASES[getattr(MachineState, name.upper())] == name
    assert dict(enumerate(OUTCOMES)) == {ExecuteMission.Result.UNKNOWN: "unknown", **BY_NUMBER}
    for level, name in (("OK", "ok"), ("WARN", "warning"), ("ERROR", "error"), ("STALE", "stale")):
        assert LEVELS[getattr(DiagnosticStatus, level)[0]] == name
    assert {number: kind for kind, number in KINDS.items()} == SHAPES
    assert (ADD, DELETE_ALL) == (Marker.ADD, Marker.DELETEALL)
    assert (BEGAN, WENT_ON, ENDED) == (MissionLog.BEGAN, MissionLog.WENT_ON, MissionLog.ENDED)
    assert (STOP, DISCRETE, CONTINUOUS) == (Action.STOP, Action.DISCRETE, Action.CONTINUOUS)
    assert word(PHASES, 3) == "running"
    assert word(PHASES, 99) == "99"
