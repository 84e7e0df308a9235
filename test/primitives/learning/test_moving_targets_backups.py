"""What the learner from pixels learns towards: exact on boards with a fixed target network."""

import numpy as np
import pytest
import torch

from skm_primitives.learning.graph_backup import KEPT
from skm_primitives.learning.moving_targets.learner import PixelTargets, left, loss
from skm_primitives.learning.moving_targets.networks import Outputs
from skm_primitives.learning.moving_targets.sweeps import StateReplay, sweep
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.moving_targets import PixelGoals
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import AGENT, COLLECTED, KINDS, NOTHING, OBJECTS
from skm_sim.moving_targets.reference import UNREACHABLE, goal_distances
from skm_sim.registry import get_domain

SPEC = get_domain("moving_targets")
GOALS = PixelGoals(SPEC.constraints, [frozenset(kind) for kind in KINDS])


def logits(values):
    return torch.log(values) - torch.log1p(-values)


def fixed_network(states):
    """A stand-in for a target network: what it says depends on where the agent is."""
    value = 0.1 + 0.01 * torch.from_numpy(states[:, AGENT].astype(np.float32))
    return Outputs(
        logits(value)[:, None].expand(-1, len(GOALS)),
        torch.zeros(len(states), len(GOALS), 4),
        logits(value / 2)[:, None, None].expand(-1, 6, len(GOALS)),
    )


def test_a_sweep_backs_values_up_through_the_whole_board():
    """Where touching anything else rules the goal out, that gives the true distances."""
    batch = sweep(np.random.default_rng(1), 4, GOALS)
    targets = PixelTargets(GOALS, 0.9, 0.0).of_sweep(batch, fixed_network)
    for kind in range(6):
        others = [k for k in range(6) if k != kind]
        goal = GOALS.goals.index(Goal(frozenset(KINDS[kind]), frozenset()))
        steps = goal_distances(batch.states[left(batch)], [kind], others).astype(float)
        expected = np.where(steps == UNREACHABLE, 0, 0.9 ** (steps - 1))
        assert np.allclose(targets.best[:, goal], expected, atol=1e-6)
        assert torch.equal(targets.actions[:, :, goal].amax(dim=1), targets.best[:, goal])


def test_where_something_else_may_be_touched_the_network_says_what_follows():
    batch = sweep(np.random.default_rng(1), 2, GOALS)
    targets = PixelTargets(GOALS, 0.9, 0.0).of_sweep(batch, fixed_network)
    free = [GOALS.goals.index(Goal(frozenset(k), frozenset(SPEC.constraints))) for k in KINDS]
    arrival = batch.target.reshape(len(left(batch)), -1)
    rows, actions = np.nonzero(batch.states[arrival, COLLECTED] != NOTHING)
    for row, action in zip(rows, actions, strict=True):
        reached = batch.states[arrival[row, action]]
        for kind in range(6):
            value = targets.actions[row, action, free[kind]].item()
            if kind == reached[COLLECTED]:
                assert value == 1
            else:
                assert value == pytest.approx(0.9 * (0.1 + 0.01 * reached[AGENT]), abs=1e-6)


def test_continuation_values_are_those_where_each_kind_is_collected():
    batch = sweep(np.random.default_rng(2), 2, GOALS)
    continuation = PixelTargets(GOALS, 0.9, 0.8).of_sweep(batch, fixed_network).continuation
    cells = torch.from_numpy(batch.states[left(batch)][:, OBJECTS].astype(np.float32))
    assert torch.allclose(
        continuation, (0.1 + 0.01 * cells)[:, :, None].expand_as(continuation), atol=1e-6
    )


def test_the_action_gap_widens_what_is_lost_and_leaves_the_best():
    """A slower action keeps something of its value, one that rules the goal out has none."""
    batch = sweep(np.random.default_rng(3), 2, GOALS)
    plain = PixelTargets(GOALS, 0.9, 0.0).of_sweep(batch, fixed_network).actions
    wide = PixelTargets(GOALS, 0.9, 0.75).of_sweep(batch, fixed_network).actions
    best = plain.amax(dim=1, keepdim=True)
    assert torch.allclose(wide.amax(dim=1, keepdim=True), best)
    expected = torch.maximum(best - 4 * (best - plain), KEPT * plain)
    assert torch.allclose(wide, expected, atol=1e-6)
    assert torch.equal(wide == 0, plain == 0)


def test_a_transition_of_a_replay_is_backed_up_one_step():
    random = np.random.default_rng(0)
    states = board.sample(random, 40)
    replay = StateReplay(40)
    actions = random.integers(4, size=40)
    replay.add(states, actions, board.step(states, actions, random))
    batch = replay.sample(random, 200)
    targets = PixelTargets(GOALS, 0.9, 0.0).of_steps(batch, fixed_network)
    touched = batch.touched
    assert (touched != NOTHING).any()
    after = 0.1 + 0.01 * batch.next_states[:, AGENT].astype(float)
    expected = GOALS.achieved[touched] + 0.9 * GOALS.alive[touched] * after[:, None]
    assert np.allclose(targets.actions[:, 0], expected, atol=1e-6)
    for kind in range(6):
        expected = np.where(touched == kind, after, after / 2)
        assert np.allclose(targets.continuation[:, kind, 0], expected, atol=1e-6)


def test_outputs_that_are_the_targets_have_the_least_loss():
    batch = sweep(np.random.default_rng(4), 1, GOALS)
    targets = PixelTargets(GOALS, 0.9, 0.5).of_sweep(batch, fixed_network)
    shares = (targets.actions / targets.best[:, None]).nan_to_num(0.5).transpose(1, 2)
    parts = [part.clamp(1e-6, 1 - 1e-6) for part in (targets.best, shares, targets.continuation)]
    least = loss(Outputs(*map(logits, parts)), targets)
    for index in range(3):
        other = [part * 0.9 if index == place else part for place, part in enumerate(parts)]
        assert loss(Outputs(*map(logits, other)), targets) > least + 1e-3


def test_action_values_are_shares_of_the_value():
    values = torch.tensor([[0.8]])
    shares = torch.tensor([[[0.5, 0.25, 0.05, 0.5]]])
    outputs = Outputs(logits(values), logits(shares), torch.zeros(1, 1, 1))
    assert torch.allclose(outputs.action_values(), torch.tensor([[[0.8, 0.4, 0.08, 0.8]]]))
