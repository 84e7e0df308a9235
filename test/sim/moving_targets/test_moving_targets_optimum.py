"""The reference on the true state of Moving Targets, and the missions drawn before training."""

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import AGENT, KINDS, OBJECTS, TRANSITIONS
from skm_sim.moving_targets.reference import (
    MEAN_DISTANCE,
    UNREACHABLE,
    Planner,
    goal_distances,
    optimal_rounds,
    optimal_run,
)
from skm_sim.registry import get_domain

SPEC = get_domain("moving_targets")


def machine(formula, repeat=False):
    return compile_mission(formula, propositions=SPEC.propositions, repeat=repeat).machine


def boards(count, seed=0):
    return board.sample(np.random.default_rng(seed), count)


def steps_by_search(state, wanted, forbidden):
    """The least number of steps, by the plainest search there is."""
    where = {int(cell): kind for kind, cell in enumerate(state[OBJECTS])}
    front, seen, steps = {int(state[AGENT])}, {int(state[AGENT])}, 0
    while front:
        steps += 1
        front = {int(TRANSITIONS[cell, action]) for cell in front for action in range(4)} - seen
        if any(where.get(cell) in wanted for cell in front):
            return steps
        front = {cell for cell in front if where.get(cell) not in forbidden}
        seen |= front
    return UNREACHABLE


@pytest.mark.parametrize(
    ("wanted", "forbidden"), [([0], []), ([3], [0, 1, 2, 4, 5]), ([1, 2], [3, 4])]
)
def test_distances_are_those_of_a_plain_search(wanted, forbidden):
    states = boards(100)
    expected = [steps_by_search(state, wanted, forbidden) for state in states]
    assert goal_distances(states, wanted, forbidden).tolist() == expected


def test_an_object_in_a_corner_behind_two_others_cannot_be_reached_cleanly():
    corner, right, below = 0, int(TRANSITIONS[0, 1]), int(TRANSITIONS[0, 2])
    state = np.array([[30, corner, right, below, 40, 41, 42, 6]], np.uint8)
    assert goal_distances(state, [0], [1, 2, 3, 4, 5]).tolist() == [UNREACHABLE]
    assert goal_distances(state, [0]).item() < UNREACHABLE
    mission = machine("F(beige & square) & G !(circle | blue)")
    run = optimal_run(state[0], mission, 30, np.random.default_rng(0))
    assert (run.rounds, run.first_success, run.failed) == (0, None, False)


def test_for_one_object_the_reference_needs_exactly_the_distance():
    states = boards(50, seed=1)
    distance = goal_distances(states, [2])
    for state, steps in zip(states, distance, strict=True):
        run = optimal_run(state, machine("F(blue & square)"), 50, np.random.default_rng(0))
        assert (run.rounds, run.first_success) == (1, steps)


def test_paths_are_shortest_over_the_order_of_objects():
    """Both orders are allowed, so the path must have the length of the better one, by hand."""
    mission = machine("F(beige & square) & F(purple & circle)")
    planner = Planner(mission)
    for state in boards(30, seed=2):
        lengths = []
        for first, second in ((0, 5), (5, 0)):
            between = state.copy()
            between[AGENT] = state[1 + first]
            lengths.append(
                int(goal_distances(state[None], [first])[0])
                + int(goal_distances(between[None], [second])[0])
            )
        assert len(planner.path(state, mission.initial)) == min(lengths)


def test_missions_that_need_an_object_twice_are_completed():
    mission = machine("F(blue & square & X F(blue & square))", repeat=True)
    rounds = [
        optimal_rounds(s, mission, 50, np.random.default_rng(i)) for i, s in enumerate(boards(20))
    ]
    assert np.mean(rounds) == pytest.approx(50 / (2 * MEAN_DISTANCE), rel=0.2)


def test_the_reference_never_breaks_a_constraint():
    mission = machine(SPEC.tasks["3"].formula, repeat=True)
    runs = [optimal_run(s, mission, 50, np.random.default_rng(i)) for i, s in enumerate(boards(30))]
    assert not any(run.failed for run in runs)
    assert np.mean([run.rounds for run in runs]) > 10


def test_promises_are_choices_of_the_path_and_are_kept():
    """A square is a round once it is promised that no blue comes again: it takes no blue after that."""
    promising = Planner(machine("F G !blue & G F square"))
    free = Planner(machine("G F(square & !blue)"))
    for state in boards(30, seed=3):
        path = promising.path(state, promising.machine.initial)
        assert len(path) <= len(free.path(state, free.machine.initial))
        assert path[-1][1] in promising.machine.committed
    for index, state in enumerate(boards(10, seed=4)):
        kept = optimal_run(state, promising.machine, 60, np.random.default_rng(index))
        assert kept.rounds > 3
        assert not kept.failed


def test_what_was_promised_is_broken_only_where_nothing_else_is_left():
    """Blue on both ways out of the corner: having promised to touch none, it waits."""
    corner, right, below = 0, int(TRANSITIONS[0, 1]), int(TRANSITIONS[0, 2])
    blue = [index for index, kind in enumerate(KINDS) if "blue" in kind]
    others = iter((40, 41, 42, 43))
    cells = [
        next(others) if index not in blue else (right, below)[blue.index(index)]
        for index in range(6)
    ]
    state = np.array([corner, *cells, 6], np.uint8)
    planner = Planner(machine("F G !blue & G F square"))
    (committed,) = {to for _, to in planner.path(boards(1)[0], planner.machine.initial)[-1:]}
    assert planner.path(state, committed) == []
    assert planner.path(state, planner.machine.initial) != []


def test_the_reference_is_the_same_for_the_same_seed():
    mission = machine(SPEC.tasks["2"].formula, repeat=True)
    first, second = (
        [optimal_run(s, mission, 50, np.random.default_rng(7)) for s in boards(5)] for _ in range(2)
    )
    assert first == second
