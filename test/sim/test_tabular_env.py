"""Tabular worlds of one's own: a corridor in a few lines, and arrays that do not fit together."""

import gymnasium
import numpy as np
import pytest

from skm_sim import DomainError
from skm_sim.tabular import TabularEnv, TabularModel, TabularVectorEnv

CELLS = np.arange(4)


def corridor(**changes):
    """Return a corridor of four cells, left and right, with a goal at the right end."""
    moves = np.stack([np.maximum(CELLS - 1, 0), np.minimum(CELLS + 1, 3)], axis=1)
    fields = {
        "propositions": ("goal",),
        "constraints": (),
        "transitions": moves,
        "cells": CELLS.copy(),
        "labels": (CELLS == 3)[:, None],
        "start_states": CELLS.copy(),
    }
    return TabularModel(**fields | changes)


def test_a_corridor_is_an_environment_and_a_batch():
    env = TabularEnv(corridor())
    assert env.observation_space == gymnasium.spaces.Discrete(4)
    assert env.reset(options={"cell": 2}) == (2, {"labels": frozenset()})
    assert env.step(1) == (3, 0.0, False, False, {"labels": frozenset({"goal"})})
    batch = TabularVectorEnv(corridor(), num_envs=2)
    batch.reset(options={"cell": [0, 2]})
    observations, *_, info = batch.step([1, 1])
    assert observations.tolist() == [1, 3]
    assert info["labels"].tolist() == [[False], [True]]


def test_a_model_knows_its_sizes_and_label_sets():
    model = corridor()
    assert (model.num_states, model.num_actions, model.num_cells) == (4, 2, 4)
    assert [model.label_sets[i] for i in model.label_ids] == [frozenset()] * 3 + [{"goal"}]
    assert np.array_equal(model.cell_transitions, model.transitions)
    assert np.array_equal(model.cell_labels, model.labels)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"propositions": ("two words",)}, "cannot be written"),
        ({"constraints": ("fire",)}, "not among the propositions"),
        ({"transitions": CELLS.copy()}, r"\(states, actions\)"),
        ({"transitions": np.full((4, 2), 4)}, "from 0 to 3"),
        ({"labels": np.zeros((4, 2), bool)}, r"shape \(4, 1\)"),
        ({"labels": np.zeros((4, 1))}, "bools"),
        ({"cells": CELLS[:3].copy()}, "cells must have shape"),
        ({"start_states": np.array([], int)}, "one state for every cell"),
        ({"start_states": np.array([0, 1, 2, 9])}, "one state for every cell"),
        ({"start_states": CELLS[::-1].copy()}, "a state in which that cell is observed"),
        ({"start_states": CELLS[:3].copy()}, "every cell must have a state"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(changes, message):
    with pytest.raises(DomainError, match=message):
        corridor(**changes)
