"""Messages and core values turn into each other without loss, and wrong messages are refused."""

import array
from dataclasses import replace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from gymnasium.spaces import Box, Discrete, Text
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from skm.msg import Action, Labels, Observation, PrimitivesInfo
from skm.srv import QueryValues

from skm_machine.tracker import Transition
from skm_primitives.planning.map_domains import make_map_domain
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.known_skills import cells_of
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import UNKNOWN, ContinuousGoalValues, GoalValues
from skm_ros import conversions as convert
from skm_ros.nodes.sim_node import transform
from skm_ros.skills_conversion import primitives_info, remote_skills
from skm_sim.finite_world import Chances
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES

SPACES = [
    Discrete(120),
    Box(-np.inf, np.inf, (60,), np.float32),
    Box(-1, 1, (3, 4), np.float64),
    Box(0, 255, (8, 6, 3), np.uint8),
    Box(0, 255, (8, 6, 1), np.uint8),
]


def test_how_long_a_decision_is_held_is_what_the_domain_of_that_name_says():
    space = Box(-np.inf, np.inf, (80,), np.float32)
    assert remote_skills(primitives_info(load_primitives("zones"), "zones", space)).hold == 5
    info = primitives_info(load_primitives("office"), "office", Discrete(120))
    assert remote_skills(info).hold == 1
    info.domain = "somebody.spec:ELSES"  # named by a message: nothing is imported for it
    assert remote_skills(info).hold == 1


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_observations_come_out_as_they_went_in(space):
    space.seed(3)
    value = space.sample()
    message = Observation(kind=convert.observation_kind(space))
    convert.fill_observation(message, value)
    read = convert.observation_reader(space)(message)
    np.testing.assert_array_equal(read, np.float32(value) if space.dtype.kind == "f" else value)
    assert isinstance(space, Discrete) or read.dtype == space.dtype


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_observations_that_are_no_numbers_are_refused(number):
    message = Observation(kind=Observation.VECTOR, data=[0.0, number])
    with pytest.raises(convert.ConversionError, match="finite"):
        convert.observation_reader(Box(-1, 1, (2,)))(message)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Discrete(4), Observation(kind=Observation.DISCRETE, discrete=4)),
        (Discrete(4), Observation(kind=Observation.DISCRETE, discrete=-1)),
        (Discrete(4), Observation(kind=Observation.VECTOR)),
        (Box(0, 1, (2,)), Observation(kind=Observation.VECTOR, data=[1.0])),
        (Box(0, 1, (2,)), Observation(kind=Observation.VECTOR)),
        (Box(0, 1, (2,)), Observation(kind=Observation.DISCRETE)),
        (Box(0, 255, (2, 2, 3), np.uint8), Observation(kind=Observation.IMAGE)),
    ],
)
def test_observations_of_another_kind_or_size_are_refused(space, message):
    with pytest.raises(convert.ConversionError):
        convert.observation_reader(space)(message)


def test_a_space_without_a_message_is_refused():
    with pytest.raises(convert.ConversionError, match="Discrete or Box"):
        convert.observation_kind(Text(3))


@given(st.frozensets(st.sampled_from("abcd")))
def test_labels_come_out_as_they_went_in(labels):
    message = Labels(names=list("abcd"), values=convert.label_values("abcd")(labels))
    assert convert.labels_reader("dcba")(message) == labels


@pytest.mark.parametrize(
    ("names", "values"), [("ab", [True]), ("abc", [True] * 3), ("", []), ("aa", [True] * 2)]
)
def test_labels_about_something_else_are_refused(names, values):
    with pytest.raises(convert.ConversionError):
        convert.labels_reader("ab")(Labels(names=list(names), values=values))


@pytest.mark.parametrize(
    ("space", "action"), [(Discrete(4), 3), (Box(-1, 1, (2,)), np.array([0.5, -1], np.float32))]
)
def test_actions_come_out_as_they_went_in(space, action):
    message = Action()
    convert.fill_action(message, action)
    np.testing.assert_array_equal(convert.action_reader(space)(message), action)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Discrete(4), Action()),
        (Discrete(4), Action(kind=Action.DISCRETE, discrete=4)),
        (Discrete(4), Action(kind=Action.DISCRETE, discrete=-1)),
        (Box(-1, 1, (2,)), Action(kind=Action.DISCRETE)),
        (Box(-1, 1, (2,)), Action(kind=Action.CONTINUOUS, continuous=[0.0])),
        (Box(-1, 1, (2,)), Action(kind=Action.CONTINUOUS, continuous=[0.0, np.nan])),
    ],
)
def test_actions_that_cannot_be_taken_are_refused(space, message):
    with pytest.raises(convert.ConversionError):
        convert.action_reader(space)(message)


def test_actions_out_of_bounds_are_clipped_to_them():
    message = Action(kind=Action.CONTINUOUS, continuous=[5.0, -5.0])
    assert convert.action_reader(Box(-1, 1, (2,)))(message).tolist() == [1.0, -1.0]


@given(
    st.frozensets(st.sampled_from("abc")),
    st.frozensets(st.sampled_from("abc")),
    st.none() | st.integers(0, 2**31 - 1),
)
def test_goals_come_out_as_they_went_in(labels, violated, place):
    goal = Goal(labels, violated, place)
    assert convert.goal_value(convert.goal_message(goal)) == goal


FLOATS = st.floats(0, 1, width=32)


@given(arrays(np.float32, (5, 3), elements=FLOATS), arrays(np.float32, (5, 3), elements=FLOATS))
def test_values_of_discrete_actions_come_out_as_they_went_in(move, stop):
    space, response = Discrete(3), QueryValues.Response()
    convert.fill_values(response, GoalValues(move, stop), convert.needed_parts(space))
    read = convert.values_reader(5, 2, space)(response)
    np.testing.assert_array_equal(read.move, move)
    np.testing.assert_array_equal(read.stop, stop)
    assert read.continuation is None
    assert not response.best_value


def test_continuation_values_come_out_as_they_went_in():
    rng = np.random.default_rng(2)
    values = GoalValues(*(rng.random(shape, np.float32) for shape in ((5, 3), (5, 3), (2, 5))))
    space, response = Discrete(3), QueryValues.Response()
    convert.fill_values(response, values, convert.needed_parts(space))
    np.testing.assert_array_equal(
        convert.values_reader(5, 2, space)(response).continuation, values.continuation
    )
    with pytest.raises(convert.ConversionError, match="10 values, not 3 x 5"):
        convert.values_reader(5, 3, space)(response)


def test_values_of_two_legs_come_out_as_they_went_in():
    rng = np.random.default_rng(3)
    move, stop, legs = (rng.random(shape, np.float32) for shape in ((4, 3), (4, 3), (4, 2, 3)))
    response = QueryValues.Response()
    convert.fill_values(response, GoalValues(move, stop, legs=legs), QueryValues.Request.ALL)
    read = convert.values_reader(4, 2, Discrete(3))(response)
    assert read.continuation is None
    np.testing.assert_array_equal(read.legs, legs)


@given(arrays(np.float32, (4, 3), elements=FLOATS), arrays(np.float32, (4, 3), elements=FLOATS))
def test_the_best_of_the_values_is_what_the_interface_says(move, stop):
    response = QueryValues.Response()
    convert.fill_values(response, GoalValues(move, stop), QueryValues.Request.ALL)
    both = np.maximum(move, stop)
    assert list(response.best_value) == both.max(axis=1).tolist()
    assert list(response.best_action) == both.argmax(axis=1).tolist()
    assert list(response.best_stops) == (stop.max(axis=1) > move.max(axis=1)).tolist()
    assert (response.goals, response.actions) == (4, 3)


def test_values_of_continuous_actions_come_out_as_they_went_in():
    rng = np.random.default_rng(1)
    shapes = ((6, 2), 6, 6, (6, 2))
    values = ContinuousGoalValues(*(rng.random(shape, np.float32) for shape in shapes))
    space, response = Box(-1, 1, (2,)), QueryValues.Response()
    convert.fill_values(response, values, convert.needed_parts(space))
    read = convert.values_reader(6, 6, space)(response)
    for name in ("action", "value", "spread", "near_best"):
        np.testing.assert_array_equal(getattr(read, name), getattr(values, name))


def test_answers_of_another_size_are_refused():
    response = QueryValues.Response(goals=2, actions=2, move=array.array("f", [0.0] * 4))
    with pytest.raises(convert.ConversionError, match="0 values, not 2 x 2"):
        convert.values_reader(2, 2, Discrete(2))(response)


def test_what_is_known_of_primitives_comes_out_as_it_went_in():
    primitives = load_primitives("office")
    info = primitives_info(primitives, "office", Discrete(120))
    remote = remote_skills(info)
    for name in (
        "domain",
        "propositions",
        "constraints",
        "goals",
        "gamma",
        "action_space",
        "digest",
    ):
        assert getattr(remote, name) == getattr(primitives, name), name
    here, there = primitives.world_model, remote.world_model
    assert (there.state_of, there.visit_labels) == (here.state_of, here.visit_labels)
    np.testing.assert_array_equal(there.successors, here.successors)
    np.testing.assert_array_equal(there.goal_probability, here.goal_probability)
    assert remote.observation_space == Discrete(120)


def test_what_lies_behind_label_sets_comes_out_as_it_went_in():
    primitives = load_primitives("moving_targets")
    space = Box(0, 255, (84, 84, 3), np.uint8)
    remote = remote_skills(primitives_info(primitives, "m", space))
    np.testing.assert_array_equal(remote.world_model.values, primitives.world_model.values)


def test_transitions_say_what_happened():
    message = convert.transition_message(Transition(3, 0, 1, frozenset({"b", "a"}), 1.0))
    assert (message.step, message.from_state, message.to_state) == (3, 0, 1)
    assert (message.labels, message.reward) == (["a", "b"], 1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"goal_to_goal": [0.5] * 7},
        {"goal_to_goal": [float("nan")] * 42 * 42},
        {"goals": []},
        {"gamma": 1.5},
        {"gamma": float("nan")},
        {"observation_shape": []},
        {"observation_shape": [2**32 - 1] * 3},
        {"action_count": 0},
        {"action_kind": 2, "action_low": [0.0], "action_high": [1.0, 1.0]},
        {"action_kind": 2, "action_low": [], "action_high": []},
        {"propositions": ["blue"]},
        {"constraints": []},
    ],
    ids=str,
)
def test_introductions_that_make_no_sense_are_refused(change):
    info = primitives_info(
        load_primitives("moving_targets"), "m", Box(0, 255, (84, 84, 3), np.uint8)
    )
    for name, value in change.items():
        setattr(info, name, value)
    with pytest.raises(convert.ConversionError):
        remote_skills(info)


@pytest.mark.parametrize(
    "change",
    [
        {"place_successors": [0] * 3},
        {"place_successors": [120] * 480},
        {"place_successors": [-1] * 480},
        {"place_labels": []},
        {"goal_probability": [0.0] * 244},
        {"goal_probability": [1.0] * 3},
    ],
    ids=lambda change: f"{next(iter(change))} {len(next(iter(change.values())))}",
)
def test_worlds_of_places_that_make_no_sense_are_refused(change):
    info = primitives_info(load_primitives("office"), "office", Discrete(120))
    for name, value in change.items():
        setattr(info, name, value)
    with pytest.raises(convert.ConversionError):
        remote_skills(info)


def slippery_office():
    """The office's skills, as if each first action slipped into the place of the second."""
    skills = load_primitives("office")
    world = skills.world_model
    places, actions = world.successors.shape
    counts = np.zeros((places, actions, places), np.int64)
    for action, times in ((0, 4), (1, 1)):
        np.add.at(counts, (np.arange(places), 0, world.successors[:, action]), times)
    for action in range(1, actions):
        counts[np.arange(places), action, world.successors[:, action]] = 1
    skills.__dict__["world_model"] = replace(world, chances=Chances.counted(counts))
    return skills


def test_chances_come_over_the_wire_exactly():
    skills = slippery_office()
    info = primitives_info(skills, "office", Discrete(120))
    remote = remote_skills(deserialize_message(serialize_message(info), PrimitivesInfo))
    sent, found = skills.world_model.chances, remote.world_model.chances
    for name in ("pair", "place", "chance"):
        np.testing.assert_array_equal(getattr(found, name), getattr(sent, name))
    sure = primitives_info(load_primitives("office"), "office", Discrete(120))
    assert remote_skills(sure).world_model.chances is None


@pytest.mark.parametrize("wrong", [0.5, -0.1, float("nan"), float("inf")])
def test_chances_that_make_no_sense_are_refused(wrong):
    info = primitives_info(slippery_office(), "office", Discrete(120))
    info.place_chances = array.array("f", [wrong, *info.place_chances[1:]])
    with pytest.raises(convert.ConversionError):
        remote_skills(info)
    info.place_chances = array.array("f", [1.0] * 7)
    with pytest.raises(convert.ConversionError):
        remote_skills(info)


def known_world(tmp_path):
    made = make_map_domain(EXAMPLE_MAP, EXAMPLE_PLACES, tmp_path / "hall", cell=0.5, picture=False)
    return load_primitives(str(made.folder))


def test_a_known_world_comes_over_the_wire_whole(tmp_path):
    primitives = known_world(tmp_path)
    world = primitives.world_model
    cells, actions = world.successors.shape
    near = np.arange(cells) % 4
    primitives.world_model = replace(world, near=near)
    info = primitives_info(primitives, "skills", Discrete(cells))
    skills = remote_skills(deserialize_message(serialize_message(info), PrimitivesInfo))
    found = skills.world_model
    assert (skills.goals, found.constraints) == (primitives.goals, primitives.constraints)
    np.testing.assert_array_equal(found.successors, world.successors)
    np.testing.assert_array_equal(found.near, near)
    shown = [found.label_sets[index] for index in found.label_ids]
    assert shown == [world.label_sets[index] for index in world.label_ids]
    assert actions == skills.action_space.n


def test_a_known_world_that_ends_comes_over_the_wire_without_what_comes_after(tmp_path):
    primitives = known_world(tmp_path)
    world = primitives.world_model
    leads = world.successors.copy()
    leads[[3, 7]] = UNKNOWN
    shown = world.label_ids, world.label_sets
    primitives.world_model = world = cells_of(leads, *shown, world.constraints, None)
    info = primitives_info(primitives, "skills", Discrete(len(leads)))
    found = remote_skills(deserialize_message(serialize_message(info), PrimitivesInfo)).world_model
    assert np.flatnonzero(found.ended).tolist() == [3, 7]
    for name in ("successors", "tried", "ended"):
        np.testing.assert_array_equal(getattr(found, name), getattr(world, name))
    assert found.visit_labels == world.visit_labels


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("state_successors", lambda old: old[:-1]),
        ("state_successors", lambda old: array.array("i", [10**6, *old[1:]])),
        ("state_successors", lambda old: array.array("i", [-1, *old[1:]])),
        ("state_goals", lambda old: array.array("I", [10**6, *old[1:]])),
        ("state_goals", lambda old: old[1:]),
        ("state_near", lambda old: array.array("I", [0])),
        ("observation_shape", lambda old: array.array("I", [7])),
    ],
)
def test_a_known_world_that_makes_no_sense_is_refused(tmp_path, field, change):
    primitives = known_world(tmp_path)
    info = primitives_info(primitives, "skills", Discrete(len(primitives.world_model.successors)))
    setattr(info, field, change(getattr(info, field)))
    with pytest.raises(convert.ConversionError, match="primitives_info"):
        remote_skills(info)


def test_a_pose_as_a_transform_turns_about_the_vertical():
    message = transform((1.0, -2.0, np.pi / 2), "map", "base_link", Time(sec=3))
    assert (message.header.frame_id, message.child_frame_id) == ("map", "base_link")
    assert (message.transform.translation.x, message.transform.translation.y) == (1.0, -2.0)
    turn = message.transform.rotation
    assert (turn.x, turn.y, turn.z, turn.w) == pytest.approx((0, 0, np.sqrt(0.5), np.sqrt(0.5)))
