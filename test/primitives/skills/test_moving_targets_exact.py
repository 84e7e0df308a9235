"""Exact skills of Moving Targets: true values, and what the planners make of them."""

import json

import numpy as np
import pytest

from skm_cli.main import main
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.moving_targets import ExactPixelPrimitives
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import AGENT, COLLECTED, KINDS, OBJECTS, render
from skm_sim.moving_targets.reference import UNREACHABLE, goal_distances
from skm_sim.registry import get_domain

SPEC = get_domain("moving_targets")
EXACT = ExactPixelPrimitives(SPEC)
STATES = board.sample(np.random.default_rng(3), 10)


def forbidden(goal):
    return [
        k
        for k, kind in enumerate(KINDS)
        if set(kind) != goal.labels and not set(kind) <= goal.violated
    ]


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_values_are_discounted_true_distances(state):
    values = EXACT.values(render(state[None])[0])
    best = np.maximum(values.move, values.stop).max(axis=1)
    for index, goal in enumerate(EXACT.goals):
        kind = KINDS.index(next(k for k in KINDS if set(k) == goal.labels))
        steps = int(goal_distances(state[None], [kind], forbidden(goal))[0])
        assert best[index] == pytest.approx(0 if steps == UNREACHABLE else 0.99 ** (steps - 1))


def test_continuation_values_are_those_at_the_next_object():
    state = STATES[0]
    continuation = EXACT.values(render(state[None])[0]).continuation
    for kind, cell in enumerate(state[OBJECTS]):
        there = state.copy()
        there[AGENT] = cell
        for index, goal in enumerate(EXACT.goals):
            other = KINDS.index(next(k for k in KINDS if set(k) == goal.labels))
            if other == kind:
                assert continuation[kind, index] == EXACT.world_model.values[0, index]
            else:
                steps = int(goal_distances(there[None], [other], forbidden(goal))[0])
                expected = 0 if steps == UNREACHABLE else 0.99 ** (steps - 1)
                assert continuation[kind, index] == pytest.approx(expected)


def test_greedy_ways_reach_their_goal_and_touch_nothing_forbidden():
    goal = Goal(frozenset(KINDS[2]), frozenset())
    index, random = EXACT.goals.index(goal), np.random.default_rng(0)
    for start in STATES:
        steps = int(goal_distances(start[None], [2], forbidden(goal))[0])
        states = start[None]
        for _ in range(steps):
            values = EXACT.values(render(states)[0])
            action = np.maximum(values.move, values.stop)[index].argmax()
            states = board.step(states, np.array([action]), random)
        assert states[0, COLLECTED] == 2


def test_violated_constraints_rule_goals_out():
    values = EXACT.values(render(STATES[:1])[0], frozenset({"blue"}))
    for goal, row in zip(EXACT.goals, values.move, strict=True):
        if "blue" not in goal.violated:
            assert (row == 0).all()


def test_eval_with_exact_skills_comes_close_to_the_reference(capsys):
    command = ["eval", "moving_targets", "--task", "1", "--episodes", "10", "--exact", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["checkpoint"] == "exact"
    assert document["tasks"]["1"]["ratio"] > 0.85
    assert document["tasks"]["1"]["violations"] == 0


def test_exact_skills_are_of_moving_targets_only(capsys):
    assert main(["eval", "office", "--exact"]) == 2
    assert "nobody knows perfect skills of 'office'" in capsys.readouterr().err
