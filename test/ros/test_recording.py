"""What a recording of a run is made from: markers that say again what the scene was."""

import pytest
from builtin_interfaces.msg import Time
from skm.action import ExecuteMission
from skm.msg import MachineState, Observation, PrimitivesInfo
from visualization_msgs.msg import MarkerArray

from skm_ros import qos
from skm_ros.client.recording import Recording
from skm_ros.markers import marker_array, scene_of
from skm_sim.registry import get_domain
from skm_sim.world import World


@pytest.mark.parametrize("domain", ["safety", "office", "moving_targets"])
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


def test_a_recording_tells_the_path_and_where_things_were_that_moved(client):
    """Two steps up, the second onto the blue square; the first onto nothing."""
    world = World(get_domain("moving_targets"), seed=0)
    env = world._env.unwrapped
    env.set_state(
        bytes([16, 40, 41, 0, 42, 43, 44, 6])
    )  # the agent two cells below the blue square
    node = client.node
    observations = node.create_publisher(Observation, "observation", qos.STATE)
    markers = node.create_publisher(MarkerArray, "markers", qos.MARKERS)
    primitives = node.create_publisher(PrimitivesInfo, "primitives_info", qos.LATCHED)
    recording = Recording(client)
    primitives.publish(PrimitivesInfo(propositions=world.spec.propositions, gamma=0.99))
    before = world.scene()
    for step in range(3):
        if step:
            world.step(0)
        observation = Observation(session=1, episode=1, step=step)
        observation.header.stamp = stamp = Time(sec=step)
        observations.publish(observation)
        markers.publish(marker_array(world.scene(), "map", stamp))
    recording.note(MachineState(phase=MachineState.RUNNING, session=1, episode=1))
    result = ExecuteMission.Result(outcome=ExecuteMission.Result.ACCEPTED, steps=2)
    run = recording.run(ExecuteMission.Goal(mission="F blue"), result)
    assert [(place.step, place.x, place.y) for place in run.path] == [
        (0, 1, 6),
        (1, 1, 7),
        (2, 1, 8),
    ]
    assert [shape.group for shape in run.gone] == ["blue square"]
    was = next(shape for shape in before if shape.group == "blue square")
    assert run.gone[0].position == pytest.approx(was.position)
    now = next(shape for shape in run.scene if shape.group == "blue square")
    assert now.position != pytest.approx(was.position)
