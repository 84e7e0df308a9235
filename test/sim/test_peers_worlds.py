"""The worlds of the peers' benchmarks: maps, moves, labels, ends; and a search for the fewest steps."""

import numpy as np
import pytest

from skm_bench.peers import flat_world, letter_world
from skm_machine import compile_mission
from skm_sim.spec import DomainError


def test_every_cell_of_a_map_is_reached_over_cells_without_letters():
    maps = letter_world.draw_maps(np.random.default_rng(0), 2000)
    assert 5 < len(maps) < 200
    for letters in maps:
        assert letters[0, 0] == letter_world.NOTHING
        found, counts = np.unique(letters, return_counts=True)
        assert found.tolist() == list(range(-1, 12))
        assert counts.tolist() == [25, *[2] * 12]
        reached, queue = {(0, 0)}, [(0, 0)]
        for row, column in queue:
            if letters[row, column] == letter_world.NOTHING:
                for down, right in letter_world.MOVES.tolist():
                    cell = (row + down) % 7, (column + right) % 7
                    if cell not in reached:
                        reached.add(cell)
                        queue.append(cell)
        assert len(reached) == 49


def test_the_agent_sees_the_torus_around_it():
    env = letter_world.LetterEnv()
    letters = np.full((7, 7), letter_world.NOTHING)
    letters[6, 0], letters[0, 2] = 3, 5
    seen, info = env.reset(options={"map": letters})
    assert info["labels"] == frozenset()
    assert seen[2, 3, 3] == seen[3, 5, 5] == seen[3, 3, 12] == 1
    assert seen.sum() == 3
    seen, _, ended, _, info = env.step(0)  # Up, over the edge.
    assert info["labels"] == {"d"}
    assert seen[3, 3, 3] == seen[4, 5, 5] == 1
    assert not ended
    with pytest.raises(DomainError, match="unknown reset option 'maps'"):
        env.reset(options={"maps": letters})


def test_the_fewest_steps_are_found_on_the_map_and_the_machine_together():
    letters = np.full((7, 7), letter_world.NOTHING)
    letters[0, 2], letters[0, 1] = 1, 0  # b behind a
    names = letter_world.LETTERS
    assert (
        letter_world.fewest_steps(compile_mission("F b", propositions=names).machine, letters) == 2
    )
    around = compile_mission("!a U b", propositions=names).machine
    assert letter_world.fewest_steps(around, letters) == 4
    nowhere = compile_mission("F c", propositions=names).machine
    assert letter_world.fewest_steps(nowhere, letters) is None


def test_a_batch_repeats_itself_from_a_seed():
    batch = letter_world.LetterVectorEnv(4, 5)
    first = batch.reset(seed=3)[0].copy()
    batch.reset()
    assert (batch.reset(seed=3)[0] == first).all()


def test_discs_overlap_and_who_leaves_the_square_has_lost():
    env = flat_world.FlatEnv()
    _, info = env.reset(options={"place": [0.6, 0.4]})
    assert info["labels"] == {"blue", "green", "aqua"}
    seen, _, ended, _, info = env.step(1)
    assert seen.tolist() == pytest.approx([0.68, 0.4])
    _, info = env.reset(options={"place": [1.95, 1.9]})
    assert not ended
    assert env.step(1)[2]


def test_an_action_is_held_until_labels_change_or_the_square_is_left():
    batch = flat_world.FlatVectorEnv(3, hold=4)
    batch.reset(options={"place": [[-1.3, -1.05], [1.9, 1.9], [-1.9, 1.9]]})
    assert not batch.labels().any()
    place, _, ended, _, info = batch.step([1, 1, 2])
    assert place[0].tolist() == pytest.approx([-1.22, -1.05])
    assert info["labels"][0].tolist() == [name == "yellow" for name in flat_world.COLOURS]
    assert ended.tolist() == [False, True, False]
    assert place[1, 0] == pytest.approx(2.06), "it stays where it left"
    assert place[2].tolist() == pytest.approx([-1.9, 1.58]), "all four steps"
