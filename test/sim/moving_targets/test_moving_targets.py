"""Moving Targets: the board, its rules, its views, and the environments around them."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skm_sim  # noqa: F401 (registers the environments)
from skm_machine import compile_mission
from skm_sim.checker import check_domain
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.drawing import picture
from skm_sim.moving_targets.env import (
    AGENT,
    COLLECTED,
    KINDS,
    NOTHING,
    OBJECTS,
    PIXELS,
    board_scene,
    picture_tables,
    read_state,
    render,
)
from skm_sim.moving_targets.env import RGB as COLOURS
from skm_sim.registry import get_domain
from skm_sim.spec import DomainError

SPEC = get_domain("moving_targets")


def boards(count=1, seed=0):
    return board.sample(np.random.default_rng(seed), count)


def test_domain_checker_finds_nothing():
    assert check_domain("moving_targets") == []


def test_board_has_58_free_cells_that_hang_together_without_dead_ends():
    neighbours = [set(row) - {cell} for cell, row in enumerate(board.TRANSITIONS.tolist())]
    assert len(neighbours) == 58
    assert sorted(map(len, neighbours))[:5] == [2, 2, 2, 2, 3]
    seen, front = {0}, {0}
    while front:
        front = set().union(*(neighbours[cell] for cell in front)) - seen
        seen |= front
    assert len(seen) == 58


def test_there_are_six_kinds_and_every_proposition_is_a_constraint():
    assert len(set(KINDS)) == 6
    assert SPEC.constraints == SPEC.propositions
    assert {name for kind in KINDS for name in kind} == set(SPEC.propositions)


@pytest.mark.parametrize("task", SPEC.tasks.values(), ids=SPEC.tasks.keys())
def test_tasks_have_the_machines_of_the_task_table_and_repeat(task):
    mission = compile_mission(task.formula, propositions=SPEC.propositions, repeat=task.repeat)
    states = {"1": 2, "2": 4, "3": 3, "4": 3}[task.name]
    assert len(mission.automaton.table) == states
    assert task.repeat
    assert task.max_steps == 50
    assert mission.machine.endless


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_steps_keep_everything_on_cells_of_its_own_and_label_only_what_is_collected(seed, steps):
    random = np.random.default_rng(seed)
    states = board.sample(random, 8)
    for _ in range(steps):
        before, states = states, board.step(states, random.integers(4, size=8), random)
        cells = np.sort(states[:, :COLLECTED], axis=1)
        assert (cells[:, 1:] > cells[:, :-1]).all()
        for old, new in zip(before, states, strict=True):
            met = [k for k, cell in enumerate(old[OBJECTS]) if cell == new[AGENT]]
            assert new[COLLECTED] == (met[0] if met else NOTHING)
            unmoved = [k for k in range(6) if k not in met]
            assert (old[OBJECTS][unmoved] == new[OBJECTS][unmoved]).all()
            labels = {
                n
                for n, true in zip(SPEC.propositions, board.labels(new[None])[0], strict=True)
                if true
            }
            assert labels == (set(KINDS[met[0]]) if met else set())


def test_collected_objects_respawn_uniformly_on_the_52_empty_cells():
    state = boards()[0]
    state[AGENT] = state[1]  # on the first object
    after = board.collect(np.repeat(state[None], 52_000, axis=0), np.random.default_rng(1))
    cells, counts = np.unique(after[:, 1], return_counts=True)
    assert set(cells) == set(range(58)) - set(state[:COLLECTED].tolist())
    assert abs(counts - 1000).max() < 6 * np.sqrt(1000)


def test_a_state_is_eight_bytes_from_which_everything_goes_on_as_before():
    env = gymnasium.make("skm/MovingTargets-v0").unwrapped
    env.reset(seed=3)
    for action in (0, 1, 1, 2):
        env.step(action)
    saved = env.state()
    assert len(saved) == 8
    random = env.np_random.bit_generator.state
    first = [env.step(action)[0] for action in (3, 3, 0, 0)]
    env.set_state(saved)
    env.np_random.bit_generator.state = random
    assert all(
        (a == env.step(action)[0]).all() for a, action in zip(first, (3, 3, 0, 0), strict=True)
    )
    seen, info = env.reset(options={"state": saved})
    assert env.state() == saved
    assert info["labels"] == env.labels()
    assert (seen == render(np.frombuffer(saved, np.uint8)[None])[0]).all()


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (b"1234567", "8 bytes"),
        (bytes([0, 1, 2, 3, 4, 5, 58, 6]), "from 0 to 57"),
        (bytes([0, 1, 2, 3, 4, 5, 5, 6]), "different cells"),
        (bytes([0, 1, 2, 3, 4, 5, 6, 7]), "a kind from 0 to 6"),
    ],
)
def test_impossible_states_are_refused(state, problem):
    env = gymnasium.make("skm/MovingTargets-v0").unwrapped
    with pytest.raises(DomainError, match=problem):
        env.set_state(state)


def test_bad_actions_and_options_are_refused():
    env = gymnasium.make("skm/MovingTargets-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises(DomainError, match="action 4"):
        env.step(4)
    with pytest.raises(DomainError, match="unknown reset option 'stat'"):
        env.reset(options={"stat": b""})
    batch = gymnasium.make_vec("skm/MovingTargets-v0", num_envs=2)
    with pytest.raises(DomainError, match="actions must be"):
        batch.step(np.array([0.0, 1.0]))
    with pytest.raises(DomainError, match="reset_mask"):
        batch.reset(options={"reset_mask": [1, 0]})


def test_a_batch_resets_only_the_boards_asked_for():
    batch = gymnasium.make_vec("skm/MovingTargets-v0", num_envs=3)
    batch.reset(seed=0)
    before = batch.states
    batch.reset(options={"reset_mask": np.array([False, True, False])})
    assert (batch.states[[0, 2]] == before[[0, 2]]).all()
    assert (batch.states[1] != before[1]).any()
    batch.states = before
    assert (batch.states == before).all()


def test_the_view_is_centred_on_the_agent_and_wraps_around():
    """Five tiles are 42 whole pixels: moving the agent by five cells rolls the picture by that."""
    positions = {tuple(p): c for c, p in enumerate(board.POSITIONS.tolist())}
    base = boards(seed=5)[0]
    for row, column in ((1, 1), (2, 3), (3, 2)):
        here, there = positions[row, column], positions[row + 5, column + 5]
        objects = [c for c in range(58) if c not in (here, there)][:: 56 // 6][:6]
        states = np.stack([base, base])
        states[:, OBJECTS] = objects
        states[:, AGENT] = here, there
        first, second = render(states)
        rolled = np.roll(second, (42, 42), (0, 1))
        same = np.ones((PIXELS, PIXELS), bool)
        for tile in (0, 5):  # where the agent is drawn, in either picture
            span = slice(tile * 42 // 5, (tile + 1) * 42 // 5 + 1)
            same[span, span] = False
        assert (first == rolled)[same].all()
        assert not (first == rolled)[~same].all()


def test_every_kind_looks_different_everywhere_and_changes_only_its_tile():
    tables = picture_tables()
    for tile in range(100):
        looks = {tables.block[kind, tile].tobytes() for kind in range(6)}
        assert len(looks) == 6
    state = boards(seed=2)
    moved = state.copy()
    free = set(range(58)) - set(state[0, :COLLECTED].tolist())
    moved[0, 1] = min(free)
    changed = (render(state) != render(moved)).any(axis=(0, 3))
    assert 0 < changed.sum() <= 2 * 49


def test_a_frame_shows_the_whole_state():
    for state, frame in zip(boards(50), render(boards(50)), strict=True):
        assert read_state(frame).tolist() == state.tolist()


def test_a_picture_of_something_else_is_refused():
    frame = render(boards())[0]
    for wrong in (np.zeros_like(frame), frame[::-1], picture_tables().empty[0]):
        with pytest.raises(DomainError, match="no board"):
            read_state(wrong)


def test_the_scene_shows_walls_and_objects_in_their_colours_and_the_agent():
    state = boards(seed=4)[0]
    scene = board_scene(state)
    groups = [shape.group for shape in scene]
    assert (groups.count("floor"), groups.count("wall"), groups.count("robot")) == (58, 42, 1)
    objects = {shape.group: shape for shape in scene if shape.group not in ("floor", "wall")}
    for (colour, shape), cell in zip(KINDS, state[OBJECTS], strict=True):
        thing = objects[f"{colour} {shape}"]
        assert thing.kind == {"square": "cube", "circle": "cylinder"}[shape]
        assert np.round(np.array(thing.colour[:3]) * 255).tolist() == list(COLOURS[colour])
        row, column = board.POSITIONS[cell]
        assert thing.position[:2] == (column, 9 - row)
    row, column = board.POSITIONS[state[AGENT]]
    assert objects["robot"].position[:2] == (column, 9 - row)


def test_the_picture_shows_the_path_since_the_episode_began():
    env = gymnasium.make("skm/MovingTargets-v0", render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    start = env.state()
    first = env.render()
    for action in (0, 1, 2, 3):
        env.step(action)
    walked = env.render()
    assert first.shape == walked.shape
    assert (first != walked).any()
    env.reset(options={"state": start})
    assert (env.render() == first).all()


def test_the_picture_marks_where_an_object_was_collected():
    """Two states of a path, with the same end but for what the last step is said to have done."""
    before, after = np.repeat(boards(seed=4), 2, axis=0)
    after[COLLECTED] = 2
    marked = picture(np.stack([before, after]))
    assert (marked != picture(np.stack([before, before]))).any()
    assert (picture(after[None]) == picture(before[None])).all()
