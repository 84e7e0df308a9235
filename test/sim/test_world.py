"""A domain's environment as the simulator node runs it."""

import numpy as np
import pytest

from skm_sim.registry import get_domain
from skm_sim.scene import Shape
from skm_sim.spec import DomainError
from skm_sim.world import World

OFFICE = get_domain("office")


def test_episodes_and_steps_are_counted():
    world = World(OFFICE, seed=3)
    assert (world.episode, world.step_number, world.ended) == (1, 0, False)
    world.step(1)
    world.step(2)
    assert (world.episode, world.step_number) == (1, 2)
    world.reset()
    assert (world.episode, world.step_number) == (2, 0)


def test_the_same_seed_gives_the_same_start_and_labels():
    world, again = World(OFFICE, seed=5), World(OFFICE, seed=8)
    again.reset(5)
    assert (world.observation, world.labels) == (again.observation, again.labels)


def test_options_are_json_of_the_domain():
    world = World(OFFICE, seed=0)
    world.reset(options='{"start": [3, 5]}')
    assert world.labels == {"coffee"}


@pytest.mark.parametrize("options", ["{", "[1]", '{"cell": 500}', '{"cel": 5}', '{"start": 3}'])
def test_a_refused_reset_leaves_the_world_where_it_is(options):
    world = World(OFFICE, seed=0)
    world.step(1)
    before = world.observation, world.labels, world.episode, world.step_number
    with pytest.raises(DomainError):
        world.reset(options=options)
    assert (world.observation, world.labels, world.episode, world.step_number) == before


def test_a_grid_world_waits_where_it_is_and_a_robot_stands_still():
    assert World(OFFICE, seed=0).brake() is None
    np.testing.assert_array_equal(World(get_domain("safety"), seed=0).brake(), [0, 0])


def test_pictures_are_drawn_only_if_asked_for():
    assert World(OFFICE, seed=0).picture() is None
    picture = World(OFFICE, seed=0, pictures=True).picture()
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3


def test_the_scene_shows_the_floor_the_objects_and_the_robot():
    world = World(OFFICE, seed=0)
    world.reset(options='{"start": [2, 2]}')
    scene = world.scene()
    groups = [shape.group for shape in scene]
    assert groups.count("floor") == 120
    assert groups.count("coffee") == 2
    robot = next(shape for shape in scene if shape.group == "robot")
    room = next(shape for shape in scene if shape.group == "A")
    assert isinstance(robot, Shape)
    assert robot.position[:2] == room.position[:2] == (2.0, 10.0)
