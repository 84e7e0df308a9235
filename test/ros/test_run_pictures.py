"""What the picture of a run over ROS takes for things that moved."""

from builtin_interfaces.msg import Time

from skm_ros.client.recording import Recording
from skm_ros.markers import marker_array
from skm_sim.scene import WAY, Shape

BOX = (0.2, 0.2, 0.2)
INK = (0.0, 0.0, 0.0, 1.0)


def test_the_planned_way_is_no_thing_that_moved(monkeypatch):
    monkeypatch.setattr(Recording, "__init__", lambda self: None)
    recording = Recording()
    recording._objects, recording._gone = {}, {}
    for number in range(3):
        scene = [
            Shape("robot", "cylinder", (number, 0.0, 0.0), BOX, INK),
            Shape(WAY, "sphere", (number + 1.0, 0.0, 0.0), BOX, INK),
            Shape("ball", "sphere", (float(number > 1), 5.0, 0.0), BOX, INK),
        ]
        recording._compare(marker_array(scene, "map", Time()), number)
    assert {stamp: [m.ns for m in gone] for stamp, gone in recording._gone.items()} == {2: ["ball"]}
