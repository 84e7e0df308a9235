"""The Safety domain: physics, sensors, labels, layouts, batches, errors."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skm_sim.checker import check_domain
from skm_sim.registry import get_domain
from skm_sim.safety.env import SafetyEnv, SafetyVectorEnv, object_positions, pseudo_lidar
from skm_sim.safety.layout import (
    SKILLS,
    STAGES,
    Layout,
    authors_layouts,
    feasible,
    read_layout,
    sample_layouts,
)
from skm_sim.spec import DomainError


def an_arena(**changes):
    """Return an arena as plain lists, with something changed."""
    arena = {
        "robot": [-1.0, 0.0, 0.0],
        "buttons": [[0.0, 0.0], [1.5, 1.5], [-1.5, 1.5], [1.5, -1.5]],
        "regions": [[0.0, 1.0], [-1.0, -1.0]],
        "cylinder": 0,
    }
    return arena | changes


def drive(env, action, steps):
    """Hold an action; return the last step."""
    for _ in range(steps):
        result = env.step(np.array(action))
    return result


def test_the_domain_passes_the_checker():
    assert check_domain("safety") == check_domain("safety_region") == []


def test_spec_has_six_tasks_with_the_papers_limits():
    spec = get_domain("safety")
    assert [task.max_steps for task in spec.tasks.values()] == [200, 200, 500, 500, 500, 500]
    assert (spec.gamma, spec.primitive_steps) == (0.99, 100)
    assert spec.constraints == spec.propositions == ("button", "cylinder", "region")
    assert get_domain("safety_region").constraints == ("region",)  # As in the paper.
    assert set(STAGES) == set(spec.tasks)


def lidar_by_definition(pose, positions):
    """One lidar for one robot, object by object, straight from Safety Gym's description."""
    reading = np.zeros(16)
    for x, y in positions:
        dx, dy = x - pose[0], y - pose[1]
        turn = np.arctan2(dy, dx) - pose[2]
        place = (turn / (2 * np.pi) * 16) % 16
        index, share = int(place) % 16, place - int(place)
        close = max(0.0, 1 - np.hypot(dx, dy) / 3)
        for neighbour, part in ((0, 1.0), (1, share), (-1, 1 - share)):
            at = (index + neighbour) % 16
            reading[at] = max(reading[at], part * close)
    return reading


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_lidars_show_the_closest_object_of_each_bin_with_aliasing(seed):
    layout = sample_layouts(np.random.default_rng(seed), 3)
    shown = pseudo_lidar(layout.robot, object_positions(layout))
    for i in range(3):
        one = layout[i]
        kinds = [one.cylinder_position[None], one.buttons, one.regions]
        expected = np.concatenate([lidar_by_definition(one.robot, kind) for kind in kinds])
        np.testing.assert_allclose(shown[i], expected, atol=1e-12)


def test_the_robot_drives_along_its_heading_and_turns():
    env = SafetyEnv()
    env.reset(options={"layout": an_arena(robot=[-1.0, -0.6, np.pi / 2])})
    drive(env, [0.05, 0.0], 5)
    x, y, heading = env.pose
    assert abs(x + 1) < 0.01  # the turning actuator chatters a little
    assert y > -0.5
    assert abs(heading - np.pi / 2) < 0.05
    drive(env, [0.0, 1.0], 3)
    assert env.pose[2] > np.pi / 2 + 0.5


def test_force_saturates_and_actions_beyond_one_are_clipped():
    poses = []
    for force in (0.05, 1.0, 7.0):
        env = SafetyEnv()
        env.reset(options={"layout": an_arena()})
        drive(env, [force, 0.0], 6)
        poses.append(env.pose)
    np.testing.assert_allclose(poses[0], poses[1])
    np.testing.assert_array_equal(poses[1], poses[2])


def test_buttons_are_solid_and_regions_are_not():
    env = SafetyEnv()
    env.reset(options={"layout": an_arena()})
    *_, info = drive(env, [0.05, 0.0], 30)
    assert env.pose[0] < -0.19  # a button stands at 0; both have radius 0.1
    assert info["labels"] == {"button", "cylinder"}
    env.reset(options={"layout": an_arena(robot=[-1.0, -1.6, np.pi / 2])})
    seen = [env.step(np.array([0.05, 0.0]))[4]["labels"] for _ in range(12)]
    assert frozenset({"region"}) in seen
    assert env.pose[1] > -0.9


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_a_label_is_true_within_its_radius_and_cylinder_implies_button(seed):
    random = np.random.default_rng(seed)
    layout = sample_layouts(random, 4)
    positions = random.uniform(-2, 2, (4, 2))
    button, cylinder, region = layout.labels(positions).T
    assert (button | ~cylinder).all()
    gaps = np.linalg.norm(layout.regions - positions[:, None], axis=-1)
    assert ((gaps <= 0.3).any(1) == region).all()


def test_label_radius_is_an_option():
    wide = SafetyEnv(label_radius=1.0)
    wide.reset(options={"layout": an_arena()})
    assert wide.labels() == {"button", "cylinder", "region"}


def test_a_batch_goes_through_the_same_steps_as_single_robots():
    layout = sample_layouts(np.random.default_rng(1), 5)
    batch = SafetyVectorEnv(5)
    batch.reset(options={"layout": layout})
    actions = np.random.default_rng(2).uniform(-1, 1, (20, 5, 2))
    for step in actions:
        seen, *_, info = batch.step(step)
    for i in range(5):
        env = SafetyEnv()
        env.reset(options={"layout": layout[i]})
        for step in actions:
            alone, *_, its = env.step(step[i])
        np.testing.assert_allclose(alone, seen[i], atol=1e-9)
        assert its["labels"] == {
            name for name, true in zip(env.propositions, info["labels"][i], strict=True) if true
        }


def test_resets_never_compile_a_model():
    env = SafetyEnv()
    model = env.world.physics._model
    for seed in range(10):
        env.reset(seed=seed)
    assert env.world.physics._model is model


def test_nothing_opens_a_window_or_opengl():
    code = (
        "import gymnasium, mujoco, skm_sim\n"
        "def refuse(*_, **__): raise SystemExit('a GL context was opened')\n"
        "mujoco.GLContext = mujoco.Renderer = mujoco.MjrContext = refuse\n"
        "env = gymnasium.make('skm/Safety-v0', render_mode='rgb_array')\n"
        "env.reset(seed=0); env.step(env.action_space.sample()); env.render()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_picture_shows_where_the_robot_went():
    env = gymnasium.make("skm/Safety-v0", render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    drive(env, [0.05, 0.0], 10)
    after = env.render()
    assert before.shape == after.shape == (480, 480, 3)
    assert (before != after).any()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([0.1], "shape"),
        ([[0.1, 0.1]], "shape"),
        ([np.nan, 0.0], "finite"),
        ("go", "two numbers"),
    ],
)
def test_bad_actions_are_named(action, message):
    env = SafetyEnv()
    env.reset(seed=0)
    with pytest.raises(DomainError, match=message):
        env.step(action)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (an_arena(robot=[0.0, 0.1, 0.0]), "inside a button"),
        (an_arena(robot=[0.0, 0.1]), "shape"),
        (an_arena(robot=[np.nan, 0.1, 0.0]), "finite"),
        (an_arena(regions=[[5.0, 0.0], [0.0, 0.0]]), "outside of the arena"),
        (an_arena(cylinder=4), "index of a button"),
        (an_arena(cylinder=0.5), "index of a button"),
        (an_arena(buttons="here"), "numbers"),
        (an_arena(button=1), "did you mean 'buttons'"),
        ({"robot": [0, 0, 0]}, "missing"),
        (7, "mapping"),
    ],
)
def test_layouts_that_cannot_be_placed_are_refused(layout, message):
    with pytest.raises(DomainError, match=message):
        SafetyEnv().reset(options={"layout": layout})


@pytest.mark.parametrize(
    "make",
    [
        lambda: SafetyEnv(render_mode="human"),
        lambda: SafetyEnv(label_radius=0),
        lambda: SafetyEnv(timestep=1.0),
        lambda: SafetyVectorEnv(0),
        lambda: SafetyVectorEnv(2, max_episode_steps=0),
        lambda: SafetyEnv().reset(options={"layuot": an_arena()}),
        lambda: SafetyVectorEnv(2).reset(options={"reset_mask": [True]}),
        lambda: SafetyVectorEnv(3).reset(
            options={"layout": sample_layouts(np.random.default_rng(0), 2)}
        ),
    ],
)
def test_bad_options_are_refused(make):
    with pytest.raises(DomainError):
        make()


def test_layouts_survive_json_and_one_can_serve_a_batch():
    layout = sample_layouts(np.random.default_rng(3), 1)[0]
    again = read_layout(layout.as_dict(), (3,))
    assert again.shape == (3,)
    np.testing.assert_array_equal(again.buttons[2], layout.buttons)


def test_drawn_layouts_keep_to_their_places_and_robots_start_free():
    layout = sample_layouts(np.random.default_rng(4), 500)
    assert np.abs(layout.buttons).max() <= 1.7
    assert np.abs(layout.regions).max() <= 1.6
    assert np.abs(layout.robot[:, :2]).max() <= 1.6
    assert layout.clear().all()


def test_the_authors_layout():
    layout = authors_layouts(np.random.default_rng(0), 20)
    np.testing.assert_array_equal(layout.regions[7], [[0, 0], [0, 1.4]])
    np.testing.assert_array_equal(layout.buttons[3], [[1.4, 0], [-1.4, 0], [0, 1.4], [0, -1.4]])
    assert len(np.unique(layout.cylinder)) > 1


def test_feasibility_follows_its_rule():
    """One arena in which what is possible can be seen by eye, and changes that undo it."""
    arena = read_layout(an_arena())
    assert feasible(arena, [SKILLS["cylinder, no region"]])
    assert not feasible(arena, [SKILLS["button & region"]])
    covered = read_layout(an_arena(regions=[[0.1, 0.1], [-1.0, -1.0]]))
    assert feasible(covered, [SKILLS["button & region"]])
    assert not feasible(covered, [SKILLS["cylinder, no region"]])
    assert feasible(covered, [SKILLS["button, no region"]])
    on_a_region = read_layout(an_arena(robot=[-1.0, -1.1, 0.0]))
    assert not feasible(on_a_region, [SKILLS["button"]])
    assert feasible(arena, STAGES["2"])
    assert not feasible(arena, STAGES["4"])
    assert isinstance(arena, Layout)
