"""The Office Gridworld: its map, labels, counters, resets, saved states and its API."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from skm_sim import Domain, DomainError, get_domain
from skm_sim.office.env import (
    ACTIONS,
    MOVES,
    OFFICE_MAP,
    GridMap,
    OfficeEnv,
    OfficeState,
    office_model,
)

UP, RIGHT, DOWN, LEFT = range(4)
PLACES = {
    "A": {(2, 2)},
    "B": {(2, 14)},
    "C": {(10, 14)},
    "D": {(10, 2)},
    "coffee": {(3, 5), (9, 11)},
    "mail": {(6, 10)},
    "office": {(6, 6)},
    "decoration": {(6, 2), (6, 14), (2, 6), (2, 10), (10, 6), (10, 10)},
}
DOORS = {(row, column) for row in (2, 10) for column in (4, 8, 12)}
DOORS |= {(4, column) for column in (2, 6, 10, 14)} | {(8, column) for column in (2, 14)}
ROOMS = {
    (row + down, column + right)
    for row in (1, 5, 9)
    for column in (1, 5, 9, 13)
    for down in range(3)
    for right in range(3)
}


def office(**options):
    return gymnasium.make("skm/Office-v0", **options).unwrapped


def test_the_map_is_that_of_the_paper_cell_by_cell():
    assert OFFICE_MAP.shape == (13, 17)
    assert set(OFFICE_MAP.positions) == ROOMS | DOORS
    assert OFFICE_MAP.num_cells == 120
    assert {name: set(OFFICE_MAP.places(name)) for name in PLACES} == PLACES


def test_cells_are_numbered_row_by_row():
    assert list(OFFICE_MAP.positions) == sorted(OFFICE_MAP.positions)
    assert [OFFICE_MAP.cell_at(position) for position in OFFICE_MAP.positions] == list(range(120))
    assert OFFICE_MAP.cell_at((1, 1)) == 0
    assert OFFICE_MAP.cell_at((11, 15)) == 119


def test_moves_go_one_step_in_their_direction_or_stay_at_a_wall():
    assert ACTIONS == ("up", "right", "down", "left")
    free = ROOMS | DOORS
    for cell, (row, column) in enumerate(OFFICE_MAP.positions):
        for action, (down, right) in enumerate(MOVES):
            ahead = (row + down, column + right)
            wanted = ahead if ahead in free else (row, column)
            assert OFFICE_MAP.positions[OFFICE_MAP.transitions[cell, action]] == wanted
    assert MOVES[UP] == (-1, 0)
    assert MOVES[RIGHT] == (0, 1)


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        ("###\n# #\n####", "same length"),
        ("###\n#  \n###", "closed"),
        ("####\n#?##\n####", "unknown letters"),
        ("###\n###\n###", "a free cell"),
    ],
)
def test_a_drawing_that_is_no_map_is_refused(drawing, message):
    with pytest.raises(DomainError, match=message):
        GridMap(drawing)


@pytest.mark.parametrize("env_id", ["skm/Office-v0", "skm/OfficeAbsorbing-v0"])
def test_gymnasium_finds_nothing_to_say_about_it(env_id):
    env = gymnasium.make(env_id)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    assert env.spec.max_episode_steps == 1000
    assert env.observation_space == gymnasium.spaces.Discrete(120)
    assert env.action_space == gymnasium.spaces.Discrete(4)


@pytest.mark.parametrize("name", ["office", "office_absorbing"])
def test_the_environment_names_what_its_spec_names(name):
    spec = get_domain(name)
    env = gymnasium.make(spec.env_id).unwrapped
    assert isinstance(env, Domain)
    assert (env.propositions, env.constraints) == (spec.propositions, spec.constraints)


def test_labels_hold_in_their_cells_and_nowhere_else():
    env = office()
    present = {"mail": "mail_present", "office": "people_present"}
    for cell, position in enumerate(OFFICE_MAP.positions):
        observation, info = env.reset(options={"cell": cell})
        names = {name for name, places in PLACES.items() if position in places}
        names |= {present[name] for name in names & present.keys()}
        assert observation == cell
        assert info["labels"] == env.labels() == names


@pytest.mark.parametrize(
    ("place", "proposition", "times"), [((6, 10), "mail_present", 2), ((6, 6), "people_present", 4)]
)
def test_mail_and_people_are_there_on_the_first_visits_of_every_episode(place, proposition, times):
    env = office()
    beside = (place[0] - 1, place[1])
    for _ in range(2):  # counters do not leak into the next episode
        env.reset(options={"start": beside})
        seen = []
        for _ in range(times + 3):
            labels = env.step(DOWN)[4]["labels"]
            seen.append(proposition in labels)
            assert ("mail" if proposition == "mail_present" else "office") in labels
            assert proposition not in env.step(UP)[4]["labels"]
        assert seen == [True] * times + [False] * 3


def test_the_start_is_no_visit():
    env = office()
    _, info = env.reset(options={"start": (6, 10)})
    assert info["labels"] == {"mail", "mail_present"}
    assert env.state().mail_visits == 0
    seen = []
    for _ in range(4):
        env.step(UP)
        seen.append("mail_present" in env.step(DOWN)[4]["labels"])
    assert seen == [True, True, False, False]


def test_a_step_that_stays_in_the_cell_is_a_visit():
    env = OfficeEnv(absorbing=[(6, 10)])
    env.reset(options={"start": (5, 10)})
    seen = [env.step(DOWN)[4]["labels"] for _ in range(4)]
    assert seen == [{"mail", "mail_present"}] * 2 + [{"mail"}] * 2


@pytest.mark.parametrize("visits", [0, 1, 7])
def test_how_much_mail_and_how_many_people_is_an_option(visits):
    env = office(mail_visits=visits, people_visits=visits)
    for start, proposition in (((6, 10), "mail_present"), ((6, 6), "people_present")):
        _, info = env.reset(options={"start": start})
        assert (proposition in info["labels"]) == (visits > 0)
        seen = 0
        for _ in range(visits + 2):
            env.step(UP)
            seen += proposition in env.step(DOWN)[4]["labels"]
        assert seen == visits


@pytest.mark.parametrize("visits", [-1, 101])
def test_impossible_counts_are_refused(visits):
    with pytest.raises(DomainError, match="mail_visits"):
        OfficeEnv(mail_visits=visits)
    with pytest.raises(DomainError, match="people_visits"):
        OfficeEnv(people_visits=visits)


def test_starts_are_uniform_over_all_cells():
    env = office()
    env.reset(seed=0)
    counts = np.bincount([env.reset()[0] for _ in range(12_000)], minlength=120)
    assert counts.min() > 60
    assert counts.max() < 150


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": (0, 0)}, "is a wall"),
        ({"start": (4, 1)}, "is a wall"),
        ({"start": (13, 2)}, "outside the map of 13 rows and 17 columns"),
        ({"start": (-1, 2)}, "outside"),
        ({"start": 7}, "must be \\(row, column\\)"),
        ({"start": (1.5, 2)}, "must be \\(row, column\\)"),
        ({"cell": 120}, "from 0 to 119"),
        ({"cell": -1}, "from 0 to 119"),
        ({"cell": "A"}, "must be a cell index"),
        ({"cell": [1, 2]}, "must be a cell index"),
        ({"cell": 0, "start": (1, 1)}, "give one"),
        ({"cel": 0}, "unknown reset option 'cel'; did you mean 'cell'"),
    ],
)
def test_a_start_that_is_no_free_cell_is_refused(options, message):
    with pytest.raises(DomainError, match=message):
        office().reset(options=options)


@pytest.mark.parametrize("action", [-1, 4])
def test_unknown_actions_are_refused(action):
    env = office()
    env.reset(seed=0)
    with pytest.raises(DomainError, match="from 0 to 3"):
        env.step(action)


def test_the_absorbing_coffee_keeps_the_agent_and_nothing_else_does():
    env = gymnasium.make("skm/OfficeAbsorbing-v0").unwrapped
    kept = OFFICE_MAP.cell_at((9, 11))
    changed = np.flatnonzero((env.transitions != OFFICE_MAP.transitions).any(axis=1))
    assert changed.tolist() == [kept]
    env.reset(options={"start": (9, 10)})
    for action in (RIGHT, UP, RIGHT, DOWN, LEFT):
        observation, reward, terminated, truncated, info = env.step(action)
        assert (observation, reward, terminated, truncated) == (kept, 0.0, False, False)
        assert info["labels"] == {"coffee"}


def test_the_reward_is_zero_and_only_the_time_limit_ends_an_episode():
    env = gymnasium.make("skm/Office-v0", max_episode_steps=50)
    env.reset(seed=0)
    steps = [env.step(env.action_space.sample())[1:4] for _ in range(50)]
    assert steps == [(0.0, False, False)] * 49 + [(0.0, False, True)]


@given(st.lists(st.integers(0, 3), max_size=60), st.lists(st.integers(0, 3), max_size=20))
def test_a_saved_state_brings_back_the_same_future(before, after):
    env = OfficeEnv()
    env.reset(options={"start": (6, 9)})
    for action in before:
        env.step(action)
    saved, labels = env.state(), env.labels()
    first = [env.step(action) for action in after]
    env.set_state(saved)
    assert (env.state(), env.labels()) == (saved, labels)
    assert [env.step(action) for action in after] == first


def test_states_and_indices_are_two_names_of_the_same_thing():
    model = office_model()
    assert model.num_states == 120 * 4 * 6
    for index in range(model.num_states):
        assert model.index_of(model.state_of(index)) == index
    assert all(model.state_of(index)[1:] == (0, 0) for index in model.start_states)
    for state in (OfficeState(120), OfficeState(0, 4), OfficeState(0, 0, 6), OfficeState(-1)):
        with pytest.raises(DomainError, match="not a state"):
            model.index_of(state)
    with pytest.raises(DomainError, match="2880"):
        model.state_of(2880)
    with pytest.raises(DomainError, match="from 0 to 2879"):
        OfficeEnv().state_index = 2880


def test_the_arrays_say_what_the_environment_does():
    env = OfficeEnv()
    model = env.model
    for index in range(0, model.num_states, 7):
        env.state_index = index
        assert env.labels() == model.label_set(model.labels[index])
        assert env.labels() == model.label_sets[model.label_ids[index]]
        for action in range(4):
            env.state_index = index
            observation, *_ = env.step(action)
            assert env.state_index == model.transitions[index, action]
            assert observation == env.state().cell == model.cells[model.transitions[index, action]]


def test_planners_see_cells_and_their_fresh_labels_as_arrays():
    env = OfficeEnv()
    assert env.transitions.shape == (120, 4)
    assert np.array_equal(env.transitions, OFFICE_MAP.transitions)
    assert env.model.cell_labels.shape == (120, 10)
    assert len(env.model.label_sets) == 11
    with pytest.raises(ValueError, match="read-only"):
        env.model.transitions[0, 0] = 1
    assert office_model() is env.model
