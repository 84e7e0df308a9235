"""The Zones domain: ZoneEnv's sampler, sensors, labels and walls; batches, options, errors."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skm_machine import compile_mission
from skm_sim.checker import check_domain
from skm_sim.registry import get_domain
from skm_sim.spec import DomainError
from skm_sim.zones.encoder import ZonesEncoder, decode
from skm_sim.zones.env import ZonesEnv, ZonesVectorEnv, zone_lidar
from skm_sim.zones.layout import Arena, ZoneLayout, read_layout, sample_layouts
from skm_sim.zones.spec import objects
from skm_sim.zones.trials import SKILL_TRIALS, TRIALS

SPEC = get_domain("skm_sim.zones.spec:ZONES")


def an_arena(**changes):
    """Return an arena as plain lists, the robot heading for a blue zone, with something changed."""
    zones = [
        [[1.0, 0.0], [1.9, 1.9]],
        [[-1.0, 1.5], [1.9, -1.9]],
        [[-1.9, -1.9], [0.0, -1.9]],
        [[-1.9, 0.0], [0.5, 1.9]],
    ]
    return {"robot": [0.0, 0.0, 0.0], "zones": zones} | changes


def drive(env, action, steps):
    """Hold an action until the world ends, at most for so many steps; return all steps."""
    taken = []
    for _ in range(steps):
        taken.append(env.step(np.array(action)))
        if taken[-1][2]:
            break
    return taken


def test_the_domain_passes_the_checker():
    assert check_domain(SPEC) == []


def test_the_tasks_are_the_eight_and_three_of_the_benchmark():
    names = [task.name for task in TRIALS.tasks(SPEC, "all")]
    assert names == [*(f"phi{n}" for n in range(9, 17)), "psi4", "psi5", "psi6"]
    assert [t.name for t in TRIALS.tasks(SPEC, "finite")] == names[:8]
    assert [t.name for t in TRIALS.tasks(SPEC, "infinite")] == names[8:]
    assert [t.name for t in TRIALS.tasks(SPEC, "phi12")] == ["phi12"]
    hard = TRIALS.tasks(SPEC, "hard")
    assert not {t.name for t in hard} & set(names)
    states = [compile_mission(t.formula, propositions=SPEC.propositions).machine for t in hard]
    assert min(machine.num_states for machine in states) >= 7
    for task in SPEC.tasks.values():
        assert task.max_steps == 1000
        mission = compile_mission(task.formula, propositions=SPEC.propositions)
        assert mission.machine.endless == task.name.startswith("psi")


def test_a_step_is_ten_physics_steps_of_two_milliseconds():
    env = ZonesEnv()
    env.reset(seed=0)
    env.step(np.zeros(2))
    assert env.world.physics.state[0, 0] == pytest.approx(0.02)
    assert SPEC.step_seconds == 0.02


@pytest.mark.parametrize(
    ("colours", "limits"),
    [
        (4, (1.95, 1.1, 0.95, 0.4)),
        (6, (1.95, 1.1, 0.95, 0.4)),
        (8, (2.05, 0.9, 0.85, 0.4)),
        (10, (2.1, 0.8, 0.8, 0.35)),
    ],
)
def test_drawn_layouts_keep_the_limits_of_the_sampler(colours, limits):
    layout, arena = sample_layouts(np.random.default_rng(4), 60, colours), Arena(colours)
    centres = layout.zones.reshape(60, -1, 2)
    assert centres.shape[1] == 2 * colours
    assert np.abs(centres).max() <= arena.zones
    assert np.abs(layout.robot[:, :2]).max() <= arena.robot
    to_robot = np.linalg.norm(centres - layout.robot[:, None, :2], axis=-1)
    assert to_robot.min() >= arena.clearance
    between = np.linalg.norm(centres[:, :, None] - centres[:, None], axis=-1)
    between[:, np.arange(2 * colours), np.arange(2 * colours)] = np.inf
    assert between.min() >= arena.apart
    assert np.abs(centres).max() > arena.zones - 0.05  # and they use all of it
    assert (arena.zones, arena.apart, arena.clearance, arena.radius) == pytest.approx(limits)
    assert (arena.robot, arena.wall) == pytest.approx((2.1, 3.3))


def test_overlapping_zones_overlap_and_show_both_colours():
    layout = sample_layouts(np.random.default_rng(0), 200, overlap=True)
    centres = layout.zones.reshape(200, -1, 2)
    gaps = np.linalg.norm(centres[:, :, None] - centres[:, None], axis=-1)
    assert (gaps < 0.8).sum() > 8 * 200
    env = ZonesEnv(overlap=True)
    zones = an_arena()["zones"]
    zones[1][0] = [1.3, 0.0]
    _, info = env.reset(options={"layout": an_arena(robot=[1.2, 0.0, 0.0], zones=zones)})
    assert info["labels"] == {"blue", "green"}


def lidar_by_definition(pose, centres):
    """One colour's lidar, zone by zone, straight from Safety Gym's description."""
    reading = np.zeros(16)
    for x, y in centres:
        dx, dy = x - pose[0], y - pose[1]
        place = ((np.arctan2(dy, dx) - pose[2]) / (2 * np.pi) * 16) % 16
        index, share = int(place) % 16, place - int(place)
        light = np.exp(-np.hypot(dx, dy) / 2)
        for neighbour, part in ((0, 1.0), (1, share), (-1, 1 - share)):
            at = (index + neighbour) % 16
            reading[at] = max(reading[at], part * light)
    return reading


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_lidars_show_the_brightest_zone_of_each_bin_with_aliasing(seed):
    layout = sample_layouts(np.random.default_rng(seed), 3)
    shown = zone_lidar(layout.robot, layout.zones)
    for i in range(3):
        expected = [lidar_by_definition(layout.robot[i], pair) for pair in layout.zones[i]]
        np.testing.assert_allclose(shown[i], np.concatenate(expected), atol=1e-12)


def test_an_observation_is_motion_walls_and_lidars():
    env = ZonesEnv()
    seen, _ = env.reset(options={"layout": an_arena(robot=[0.3, -0.2, 0.0])})
    assert seen.shape == (80,)
    assert seen[12:16].tolist() == [0, 0, 0, 0]  # nothing before the first step
    seen, *_ = env.step(np.zeros(2))
    x, y, heading = env.pose
    expected = np.exp(-np.array([3.3 - x, y + 3.3, x + 3.3, 3.3 - y]))
    np.testing.assert_allclose(seen[12:16], expected, atol=1e-12)
    np.testing.assert_allclose(seen[9:11], [-0.5 * np.sin(heading), -0.5 * np.cos(heading)])
    np.testing.assert_allclose(seen[16:32], lidar_by_definition(env.pose, env.layout.zones[0]))


def test_a_colour_is_true_inside_of_its_zones_and_nowhere_else():
    env = ZonesEnv()
    env.reset(options={"layout": an_arena()})
    inside = {"blue": [], "": []}
    for _ in range(100):
        *_, info = env.step(np.array([0.05, 0.0]))
        assert len(info["labels"]) <= 1
        gap = np.hypot(env.pose[0] - 1.0, env.pose[1])
        inside[next(iter(info["labels"]), "")].append(gap)
    assert max(inside["blue"]) <= 0.4 < min(inside[""])


def test_a_wall_ends_the_world():
    env = ZonesEnv()
    env.reset(options={"layout": an_arena(robot=[0.0, 0.5, np.pi])})
    taken = drive(env, [0.05, 0.0], 1000)
    assert taken[-1][2]
    assert not taken[-1][3]
    assert env.pose[0] <= -3.3
    assert all(not over for _, _, over, *_ in taken[:-1])


def test_a_batch_goes_through_the_same_steps_as_single_robots():
    layout = sample_layouts(np.random.default_rng(1), 4)
    batch = ZonesVectorEnv(4)
    batch.reset(options={"layout": layout})
    actions = np.random.default_rng(2).uniform(-1, 1, (30, 4, 2))
    for step in actions:
        seen, *_, info = batch.step(step)
    for i in range(4):
        env = ZonesEnv()
        env.reset(options={"layout": layout[i]})
        for step in actions:
            alone, *_, its = env.step(step[i])
        np.testing.assert_allclose(alone, seen[i], atol=1e-9)
        assert its["labels"] == {
            name for name, true in zip(env.propositions, info["labels"][i], strict=True) if true
        }


def test_a_batch_starts_anew_after_a_wall():
    batch = ZonesVectorEnv(2)
    batch.reset(seed=0, options={"layout": an_arena(robot=[0.0, 0.5, np.pi])})
    for _ in range(1000):
        _, _, over, cut, _ = batch.step(np.full((2, 2), [0.05, 0.0]))
        if over.any():
            break
    assert over.all()
    assert not cut.any()
    _, _, over, _, _ = batch.step(np.zeros((2, 2)))
    assert not over.any()
    assert np.abs(batch.pose[:, :2]).max() <= 2.1


def told_by_hand(before, shown):
    """What the labels of a decision are, from those of its steps."""
    others = [labels for labels in shown if labels != before]
    return others[0] if others and shown[-1] == before else shown[-1]


def test_a_step_of_a_holding_batch_is_so_many_steps_and_what_is_grazed_is_told():
    layout = sample_layouts(np.random.default_rng(3), 40)
    held, plain = ZonesVectorEnv(40, hold=5), ZonesVectorEnv(40)
    _, info = held.reset(options={"layout": layout})
    plain.reset(options={"layout": layout})
    before, random = info["labels"].tolist(), np.random.default_rng(5)
    changes = 0
    for _ in range(25):
        action = np.stack([np.full(40, 0.05), random.uniform(-1, 1, 40)], axis=1)
        seen, _, over, _, info = held.step(action)
        steps = [plain.step(action) for _ in range(5)]
        going = ~(over | np.any([taken[2] for taken in steps], axis=0))
        np.testing.assert_allclose(seen[going], steps[-1][0][going], atol=1e-9)
        shown = [taken[4]["labels"].tolist() for taken in steps]
        for i in np.flatnonzero(going):
            expected = told_by_hand(before[i], [labels[i] for labels in shown])
            assert info["labels"][i].tolist() == expected
            changes += expected != before[i]
        if not going.all():
            break
        before = info["labels"].tolist()
    assert changes > 10


def test_zones_move_straight_on_and_back_at_the_edge():
    env = ZonesEnv(moving=0.5)
    env.reset(seed=1)
    start = env.world.zones.copy()
    env.step(np.zeros(2))
    moved = np.linalg.norm(env.world.zones - start, axis=-1)
    np.testing.assert_allclose(moved, 0.5 * 0.02, atol=1e-9)
    for _ in range(400):
        env.step(np.zeros(2))
    assert np.abs(env.world.zones).max() <= 1.95 + 0.5 * 0.02
    again = ZonesEnv(moving=0.5)
    again.reset(seed=1)
    again.step(np.zeros(2))
    assert not np.array_equal(env.world.zones, start)
    np.testing.assert_array_equal(again.layout.zones, start[0])


def test_zones_are_decoded_from_the_lidar_unless_one_hides_behind_the_other():
    """To a hundredth of a metre: two zones of a colour show if two bins of 22.5° are between them."""
    layout = sample_layouts(np.random.default_rng(8), 500)
    lidars = zone_lidar(layout.robot, layout.zones).reshape(500, 4, 16).astype(np.float32)
    zones = decode(lidars, 0.4).reshape(500, 4, 2, 7)
    gap = layout.zones - layout.robot[:, None, None, :2]
    bearing = np.arctan2(gap[..., 1], gap[..., 0]) - layout.robot[:, None, None, 2]
    distance = np.hypot(gap[..., 0], gap[..., 1])
    order = distance.argsort(-1)
    bearing, distance = (np.take_along_axis(part, order, -1) for part in (bearing, distance))
    ahead, aside = distance * np.cos(bearing), distance * np.sin(bearing)
    right = np.hypot(3 * zones[..., 1] - ahead, 3 * zones[..., 2] - aside) < 0.01
    between = np.abs((bearing[..., 0] - bearing[..., 1] + np.pi) % (2 * np.pi) - np.pi)
    apart = between > 2 * 2 * np.pi / 16
    assert apart.mean() > 0.6
    assert right[apart].all()
    assert right[..., 0].mean() > 0.97  # the nearer one


def test_features_tell_where_the_robot_is_once_it_has_moved():
    body, env = ZonesEncoder(), ZonesEnv()
    first, _ = env.reset(options={"layout": an_arena(robot=[1.2, -0.7, 0.4])})
    assert body.features(first[None])[0, 5:7].tolist() == [0, 0]
    seen, *_ = env.step(np.zeros(2))
    x, y, heading = env.pose
    towards = [
        -x * np.cos(heading) - y * np.sin(heading),
        x * np.sin(heading) - y * np.cos(heading),
    ]
    np.testing.assert_allclose(body.features(seen[None])[0, 5:7] * 3, towards, atol=1e-4)


def test_the_hint_of_the_spec_is_the_body_s_own():
    assert SPEC.objects == objects(4)
    assert SPEC.objects.inputs == ZonesEncoder().inputs
    assert ZonesEncoder(10).inputs == objects(10).inputs


def test_skills_are_judged_by_how_many_colours_are_avoided():
    colours = frozenset(SPEC.propositions)
    for count, skill in enumerate(SKILL_TRIALS.skills.values()):
        avoided = frozenset(("green", "magenta", "yellow")[:count])
        assert skill.satisfied_by(frozenset({"blue"}), colours - avoided)
        assert not skill.satisfied_by(frozenset({"green"}), colours - avoided)


def test_scene_and_picture_show_zones_walls_and_robot():
    env = gymnasium.make("skm/Zones-v0", render_mode="rgb_array")
    env.reset(seed=0)
    groups = [shape.group for shape in env.unwrapped.scene()]
    assert [groups.count(name) for name in ("blue", "wall", "robot")] == [2, 4, 2]
    before = env.render()
    drive(env, [0.05, 0.0], 40)
    assert before.shape == (480, 480, 3)
    assert (before != env.render()).any()


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (an_arena(robot=[0.0, 0.1]), "shape"),
        (an_arena(robot=[np.nan, 0.1, 0.0]), "finite"),
        (an_arena(robot=[3.4, 0.1, 0.0]), "within the walls"),
        (an_arena(zones=[[[3.0, 0.0], [0.0, 0.0]]] * 4), "over the walls"),
        (an_arena(zones=[[[1.0, 0.0], [0.0, 0.0]]] * 6), "6 colours, wanted 4"),
        (an_arena(zones=[[[1.0, 0.0], [0.0, 0.0]]] * 5), "shape"),
        (an_arena(zones="here"), "numbers"),
        (an_arena(zone=1), "did you mean 'zones'"),
        ({"robot": [0, 0, 0]}, "missing"),
        (7, "mapping"),
    ],
)
def test_layouts_that_cannot_be_placed_are_refused(layout, message):
    with pytest.raises(DomainError, match=message):
        ZonesEnv().reset(options={"layout": layout})


@pytest.mark.parametrize(
    "make",
    [
        lambda: ZonesEnv(render_mode="human"),
        lambda: ZonesEnv(colours=5),
        lambda: ZonesEnv(moving=-1.0),
        lambda: ZonesVectorEnv(2, hold=0),
        lambda: ZonesVectorEnv(0),
        lambda: ZonesEnv().reset(options={"layuot": an_arena()}),
        lambda: ZonesVectorEnv(3).reset(
            options={"layout": sample_layouts(np.random.default_rng(0), 2)}
        ),
    ],
)
def test_bad_options_are_refused(make):
    with pytest.raises(DomainError):
        make()


def test_layouts_survive_json_and_one_can_serve_a_batch():
    layout = sample_layouts(np.random.default_rng(3), 1)[0]
    again = read_layout(layout.as_dict(), (3,), 4)
    assert isinstance(again, ZoneLayout)
    assert again.shape == (3,)
    np.testing.assert_array_equal(again.zones[2], layout.zones)
