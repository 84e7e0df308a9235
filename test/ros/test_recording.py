"""What a recording of a run is made from: markers that say again what the scene was."""

import pytest
from builtin_interfaces.msg import Time

from skm_sim.domain import get_domain
from skm_sim.ros_markers import marker_array, scene_of
from skm_sim.world import World


@pytest.mark.parametrize("domain", ["safety", "office"])
def test_markers_give_the_scene_back(domain):
    scene = World(get_domain(domain), seed=3).scene()
    again = scene_of(marker_array(scene, "map", Time()))
    assert [(shape.group, shape.kind, shape.text) for shape in again] == [
        (shape.group, shape.kind, shape.text) for shape in scene
    ]
    for one, other in zip(again, scene, strict=True):
        assert one.position == pytest.approx(other.position)
        assert one.size == pytest.approx(other.size)
        assert one.colour == pytest.approx(other.colour)
        turned = (one.heading - other.heading + 3.14159) % 6.28319 - 3.14159
        assert turned == pytest.approx(0, abs=1e-4)


def test_the_robot_is_marked_first_in_its_group():
    """A recording takes the robot's place from the first marker called `robot`."""
    world = World(get_domain("safety"), seed=3)
    robot = next(shape for shape in world.scene() if shape.group == "robot")
    assert robot.position[:2] == pytest.approx(tuple(world._env.unwrapped.pose[:2]))
