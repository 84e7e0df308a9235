"""Looking ahead with continuation values: exact on worlds that one can write down."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_primitives.planning.label_set_policies import log_goal_weights
from skm_primitives.planning.lookahead import CARELESS_STEPS, DEPTH, Lookahead, goal_outcomes
from skm_primitives.planning.planners import make_policy
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import GoalToGoal, GoalValues

NAMES = ("a", "b", "c")
GAMMA = 0.9
AVERAGE = 0.5


def primitives(*allowances):
    """Return primitives with a goal for each proposition and each of the sets V."""
    goals = tuple(Goal(frozenset({name}), frozenset(v)) for name in NAMES for v in allowances)
    return SimpleNamespace(
        domain="test",
        propositions=NAMES,
        constraints=NAMES,
        goals=goals,
        gamma=GAMMA,
        world_model=GoalToGoal(np.full((len(goals), len(goals)), AVERAGE, np.float32)),
        action_space=None,
    )


def looking(mission, served):
    machine = compile_mission(mission, propositions=NAMES, repeat=True).machine
    outcomes = goal_outcomes(machine, served)
    weights, anywhere = log_goal_weights(outcomes, served, served.world_model)
    ahead = Lookahead(served, served.world_model, outcomes, anywhere)
    return machine, np.exp(weights), np.exp(anywhere), ahead


def continuation(served, **values):
    """Return continuation values: `ab=0.8` is that of b where a was shown."""
    table = np.full((3, len(served.goals)), 0.1, np.float32)
    for (first, second), value in values.items():
        for index, goal in enumerate(served.goals):
            if goal.labels == {second}:
                table[NAMES.index(first), index] = value
    return table


def test_a_goal_is_worth_what_it_leaves_near():
    """From a, c is near; from b it is not: on average they are equal, here a is better."""
    served = primitives("")
    machine, weights, anywhere, ahead = looking("F((a | b) & X F c)", served)
    start = machine.initial
    assert weights[start, 0] == weights[start, 1]
    here = np.exp(ahead.log_weights(start, continuation(served, ac=0.8, bc=0.2)))
    assert here[0] > here[1] > 0
    assert here[2] == 0
    # a, then c, then a again, which counts as on average (b, at 0.1, would be worse).
    rest = GAMMA * anywhere[machine.step(start, {"a"}).target]
    assert here[0] == pytest.approx(GAMMA * 0.8 * (1 + GAMMA * AVERAGE * rest))


def test_weights_are_the_best_over_all_sequences():
    served = primitives("")
    machine, _, anywhere, ahead = looking("F(a & X F b) | F(b & X F c)", served)
    table = np.random.default_rng(0).random((3, 3)).astype(np.float32)
    for state in range(machine.num_states):
        if state in machine.terminal:
            continue
        expected = np.zeros(3)
        for sequence in product(range(3), repeat=DEPTH):
            u, path = state, []
            for label in sequence:
                outcome = machine.step(u, {NAMES[label]})
                if outcome.target == u and outcome.reward <= 0:
                    break
                path.append((label, outcome.reward))
                u = outcome.target
            if len(path) < DEPTH:
                continue
            value = anywhere[u]
            for place in reversed(range(DEPTH)):
                label, reward = path[place]
                value = reward + GAMMA * value
                if place:
                    again = label in sequence[:place]
                    value *= AVERAGE if again else table[sequence[place - 1], label]
            expected[sequence[0]] = max(expected[sequence[0]], value)
        assert np.exp(ahead.log_weights(state, table)) == pytest.approx(expected)


def test_a_way_that_may_spoil_what_comes_next_counts_as_longer():
    """On the way to a, one goal may touch b and c, the other nothing; b is needed next, c is not."""
    served = primitives("", "abc")
    machine, _, _, ahead = looking("F(a & X F b)", served)
    careful, careless = np.exp(
        ahead.log_weights(machine.initial, continuation(served, ab=0.9, ba=0.9))
    )[:2]
    assert careless == pytest.approx(careful * GAMMA**CARELESS_STEPS)


def test_a_way_that_may_fail_the_mission_is_worth_nothing():
    served = primitives("", "b", "c")
    machine, _, _, ahead = looking("F a & G !b", served)
    nothing, may_touch_b, may_touch_c = np.exp(
        ahead.log_weights(machine.initial, continuation(served, aa=0.9))
    )[:3]
    assert nothing > 0
    assert may_touch_b == 0
    assert may_touch_c == nothing


def test_missions_that_end_are_worth_no_more_after_it():
    served = primitives("")
    machine = compile_mission("F(a & X F b)", propositions=NAMES).machine
    outcomes = goal_outcomes(machine, served)
    _, anywhere = log_goal_weights(outcomes, served, served.world_model)
    ahead = Lookahead(served, served.world_model, outcomes, anywhere)
    weights = np.exp(ahead.log_weights(machine.initial, continuation(served, ab=0.7)))
    assert weights == pytest.approx([GAMMA * 0.7, 0, 0])


def test_the_policy_uses_continuation_values_where_they_are_served():
    served = primitives("")
    mission = compile_mission("F((a | b) & X F c)", propositions=NAMES, repeat=True)
    policy = make_policy(mission, served)
    move = np.array([[0.50, 0.1], [0.1, 0.52], [0.1, 0.1]], np.float32)  # b is a little nearer
    start = mission.machine.initial
    assert policy.choose(start, GoalValues(move, move * 0)).action == 1
    table = continuation(served, ac=0.8, bc=0.2)
    chosen = policy.choose(start, GoalValues(move, move * 0, table))
    assert (chosen.action, chosen.goal) == (0, 0)
    assert policy.composed(start, GoalValues(move, move * 0, table)).argmax() == 0
