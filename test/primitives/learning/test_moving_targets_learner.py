"""The learner from pixels: goals, pictures as sums of parts, experience, exact resume, serving."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from skm_machine.errors import SkmError
from skm_primitives.evaluation.moving_targets.skill_report import skill_rates
from skm_primitives.learning.moving_targets.learner import PixelLearner, left
from skm_primitives.learning.moving_targets.networks import (
    Heads,
    NatureNetwork,
    TileNetwork,
    dictionary,
    parts,
)
from skm_primitives.learning.moving_targets.sweeps import SWEEP_STEPS, StateReplay, sweep
from skm_primitives.learning.moving_targets.validation import group_scores, success
from skm_primitives.learning.training import learner_class
from skm_primitives.skills import moving_targets as pixel_serving
from skm_primitives.skills.checkpoint import WrongDomainError, load
from skm_primitives.skills.encoders import averaging
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.moving_targets import SMALL, PixelGoals, patches
from skm_primitives.skills.network_skills import ObservationError
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import AGENT, COLLECTED, KINDS, NOTHING, OBJECTS, PIXELS, render
from skm_sim.moving_targets.reference import UNREACHABLE, goal_distances
from skm_sim.moving_targets.trials import skill_tests
from skm_sim.registry import get_domain

SPEC = get_domain("moving_targets")
GOALS = PixelGoals(SPEC.constraints, [frozenset(kind) for kind in KINDS])
TINY = {
    "boards": 1,
    "round_updates": 3,
    "validate_rounds": 2,
    "validation_boards": 2,
    "hidden": (16, 8),
    "channels": 4,
    "copy_every": 2,
}
REPLAY = {"experience": "replay", "agents": 2, "batch": 8, "update_every": 30, "replay": 150}
PAPER = {"preset": "paper", "hidden": (8,), "batch": 2, "update_every": 25, "replay": 60}


@pytest.fixture(autouse=True, scope="module")
def _measure_little():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pixel_serving, "MEASURE_BOARDS", 2)
        yield


def boards(count, seed=0):
    return board.sample(np.random.default_rng(seed), count)


# Goals


def test_goals_are_six_kinds_with_seven_sets_of_what_may_be_touched():
    assert len(GOALS) == 42
    everything = frozenset(SPEC.constraints)
    assert set(GOALS.allowances) == {
        everything,
        frozenset(),
        *(everything - {n} for n in everything),
    }


def test_what_is_touched_achieves_a_goal_or_leaves_it_alive_or_rules_it_out():
    for index, goal in enumerate(GOALS.goals):
        for touched, kind in enumerate(KINDS):
            assert GOALS.achieved[touched, index] == (goal.labels == set(kind))
            alive = goal.labels != set(kind) and set(kind) <= goal.violated
            assert GOALS.alive[touched, index] == alive
        assert not GOALS.achieved[NOTHING, index]
        assert GOALS.alive[NOTHING, index]


def test_goals_that_forbid_what_has_happened_are_masked():
    mask = GOALS.masked(frozenset({"blue"}))
    assert mask.tolist() == ["blue" in goal.violated for goal in GOALS.goals]
    assert GOALS.masked(frozenset()).all()


# Pictures as sums of parts


def test_averaging_keeps_the_mean():
    matrix = averaging(PIXELS, SMALL)
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-6)
    assert np.allclose(matrix.sum(axis=0), 30 / 84, atol=1e-6)


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_a_picture_is_the_sum_of_its_parts(seed):
    states = boards(4, seed)
    empty, changes = dictionary()
    table = np.zeros((len(empty) + 6 * 100, 100, 27), np.float32)
    table[: len(empty)] = empty
    for tile, kind in np.ndindex(100, 6):
        table[len(empty) + 6 * tile + kind, tile] = changes[tile, kind]
    assert np.allclose(table[parts(states)].sum(axis=1), patches(render(states)), atol=1e-5)


def test_the_network_on_states_is_the_network_on_frames_with_its_gradients():
    torch.manual_seed(0)
    network = TileNetwork(Heads(2, 3, 4), 5, (16, 8))
    states = boards(6)
    gradients = []
    for outputs in (network.on_states()(states), network(render(states))):
        network.zero_grad()
        sum(part.square().sum() for part in outputs).backward()
        gradients.append([parameter.grad.clone() for parameter in network.parameters()])
    for first, second in zip(network.on_states()(states), outputs, strict=True):
        assert torch.allclose(first, second, atol=1e-5)
    for first, second in zip(*gradients, strict=True):
        assert torch.allclose(first, second, rtol=1e-3, atol=1e-4)


def test_the_papers_network_gives_values_of_all_goals_and_actions():
    network = NatureNetwork(Heads(6, len(GOALS), 4), (8,))
    with torch.no_grad():
        outputs = network(render(boards(2)))
    assert outputs.values.shape == (2, 42)
    assert outputs.action_values().shape == (2, 42, 4)
    assert outputs.continuation.shape == (2, 6, 42)


# Experience


def test_a_sweep_holds_every_transition_of_its_boards():
    graph = sweep(np.random.default_rng(0), 3, GOALS)
    assert graph.action.size == 3 * SWEEP_STEPS
    assert (graph.states[left(graph), COLLECTED] == NOTHING).all()
    for source, kind, there in graph.shown:
        assert graph.states[there, COLLECTED] == kind
        assert graph.states[there, AGENT] == graph.states[source, OBJECTS][kind]
    steps = zip(graph.source, graph.action, graph.target, graph.achieved, strict=True)
    for source, action, target, achieved in steps:
        state, reached = graph.states[source], graph.states[target]
        stepped = board.step(state[None], np.array([action]), np.random.default_rng(0))[0]
        assert reached[AGENT] == stepped[AGENT]
        assert reached[COLLECTED] == stepped[COLLECTED]
        assert (achieved == GOALS.achieved[stepped[COLLECTED]]).all()
        others = [k for k in range(6) if k != stepped[COLLECTED]]
        assert (reached[OBJECTS][others] == stepped[OBJECTS][others]).all()


def test_a_replay_gives_back_the_latest_transitions():
    replay = StateReplay(4)
    states, after = boards(6, 1), boards(6, 2)
    replay.add(states, np.arange(6) % 4, after)
    assert replay.filled == 4
    batch = replay.sample(np.random.default_rng(0), 50)
    for state, action, reached in zip(batch.states, batch.actions, batch.next_states, strict=True):
        source = [i for i in range(2, 6) if (states[i] == state).all()]
        assert len(source) == 1
        assert action == source[0] % 4
        assert (after[source[0]] == reached).all()


# Learning


def test_moving_targets_is_learned_from_pixels_and_nothing_else_is():
    assert learner_class(SPEC) is PixelLearner
    with pytest.raises(SkmError, match="does not know how to draw 'office'"):
        PixelLearner.start(get_domain("office"), {})
    with pytest.raises(SkmError, match="no network 'tile'"):
        PixelLearner.start(SPEC, {"network": "tile"})
    with pytest.raises(SkmError, match="no option 'learning_rat'"):
        PixelLearner.start(SPEC, {"learning_rat": 1})


@pytest.mark.parametrize(
    "options", [TINY, {**TINY, **REPLAY}, PAPER], ids=["sweep", "replay", "paper"]
)
def test_a_resumed_run_equals_one_that_was_never_stopped(tmp_path, options):
    straight = PixelLearner.start(SPEC, options)
    for _ in range(2):
        straight.run_round()
    straight.save(tmp_path / "run", "test")
    curve = tmp_path / "run.curve.csv"
    assert curve.exists() == bool(straight.curve.rows)
    if straight.curve.rows:
        assert curve.read_text().startswith("steps,cpu_minutes,validation")
    resumed = PixelLearner.resume(SPEC, tmp_path / "run")
    for learner in (straight, resumed):
        learner.run_round()
    assert straight.updates == resumed.updates > 0
    first, second = straight.training_arrays(), resumed.training_arrays()
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_learning_finds_the_values_next_to_objects():
    """One step away, the value of the achieving action is 1; the network learns it soon."""
    quick = {"gamma": 0.7, "action_gap": 0.5, "learning_rate": 8e-3}
    learner = PixelLearner.start(
        SPEC, {"boards": 4, "round_updates": 400, "hidden": (256, 64), **quick}
    )
    learner.run_round()
    graph = sweep(np.random.default_rng(5), 10, GOALS)
    own = left(graph)
    touched = graph.states[graph.target, COLLECTED].reshape(len(own), -1)
    values = np.exp(learner.log_values()(graph.states[own]))
    free = [GOALS.goals.index(Goal(frozenset(k), frozenset(SPEC.constraints))) for k in KINDS]
    near, other = [], []
    for row, action in zip(*np.nonzero(touched != NOTHING), strict=True):
        goal = free[touched[row, action]]
        near.append(values[row, goal, action])
        other.append(np.delete(values[row, goal], action).max())
    assert np.mean(near) > np.mean(other) + 0.1
    assert learner.goal_seen.min() > 0


# Judging


class Perfect:
    """Values from the true distances, of the goals that some tests ask for."""

    def __init__(self, tests):
        self.wanted = {(kind, test.violated) for test in tests for kind in test.wanted}

    def __call__(self, states):
        result = np.zeros((len(states), len(GOALS), 4), np.float32)
        for kind, violated in self.wanted:
            forbidden = [k for k in range(6) if k != kind and not set(KINDS[k]) <= violated]
            index = GOALS.goals.index(Goal(frozenset(KINDS[kind]), violated))
            for action in range(4):
                after = states.copy()
                after[:, AGENT] = board.TRANSITIONS[states[:, AGENT], action]
                touched = board.collect(after, np.random.default_rng(0))[:, COLLECTED]
                steps = goal_distances(after, [kind], forbidden).astype(float) + 1
                value = np.where(steps > UNREACHABLE, 0, 0.9**steps)
                value[np.isin(touched, forbidden)] = 0
                value[touched == kind] = 1
                result[:, index, action] = value
        return result


def test_true_values_succeed_at_every_skill():
    tests = skill_tests()
    assert Counter(test.group for test in tests) == {
        "kind": 6,
        "colour": 3,
        "shape": 2,
        "only": 6,
        "without": 6,
    }
    some = tests[::5]
    rates = success(Perfect(some), GOALS.goals, some, 4, seed=3)
    assert set(rates.values()) == {1.0}
    assert group_scores(some, rates)["validation"] == 1.0


# Serving


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    path = tmp_path_factory.mktemp("pixel") / "tiny"
    learner = PixelLearner.start(SPEC, TINY)
    learner.run_round()
    learner.save(path, "test")
    return learner, load_primitives(SPEC, path), load(path)


def test_served_values_are_those_of_the_learned_network(served):
    learner, primitives, _ = served
    frame = render(boards(1))[0]
    with torch.no_grad():
        outputs = learner.network(frame[None])
        expected = outputs.action_values()[0].numpy()
        continuation = torch.sigmoid(outputs.continuation)[0].numpy()
    values = primitives.values(frame, frozenset())
    both = np.maximum(values.move, values.stop)
    power = np.log(0.99) / np.log(learner.settings.gamma)
    assert np.allclose(both, np.minimum(expected**power, 1), atol=0.02)
    assert np.allclose(values.continuation, continuation**power, atol=0.02)
    assert values.move.max() <= SPEC.gamma
    assert ((values.stop == 0) | (values.stop > (1 + SPEC.gamma) / 2)).all()


def test_the_papers_network_is_served_in_numpy_as_torch_has_it():
    heads = Heads(len(GOALS.label_sets), len(GOALS), 4)
    network = NatureNetwork(heads, (16, 8))
    arrays = {f"network.{name}": value.numpy() for name, value in network.state_dict().items()}
    frames = render(boards(3))
    with torch.no_grad():
        outputs = network(frames)
    serve = pixel_serving.on_frames(arrays, {"network": "nature", "hidden": (16, 8)}, GOALS)
    values, continuation = serve(frames)
    np.testing.assert_allclose(values, outputs.action_values().numpy(), rtol=1e-4, atol=1e-5)
    expected = torch.sigmoid(outputs.continuation).numpy()
    np.testing.assert_allclose(continuation, expected, rtol=1e-4, atol=1e-5)


def test_goals_ruled_out_by_what_was_violated_are_worth_nothing(served):
    _, primitives, _ = served
    values = primitives.values(render(boards(1))[0], frozenset({"blue", "square"}))
    for goal, row in zip(primitives.goals, values.move, strict=True):
        assert (row > 0).all() == ({"blue", "square"} <= goal.violated)


def test_bad_observations_and_constraints_are_refused(served):
    _, primitives, _ = served
    with pytest.raises(ObservationError, match="uint8"):
        primitives.values(np.zeros((84, 84, 3)), frozenset())
    with pytest.raises(SkmError, match="'blu' is not a constraint"):
        primitives.values(render(boards(1))[0], frozenset({"blu"}))


def test_a_checkpoint_with_other_goals_is_refused(served):
    _, _, (arrays, card) = served
    with pytest.raises(WrongDomainError, match="has 3 goals"):
        pixel_serving.PixelPrimitives({**arrays, "goal_seen": np.zeros(3)}, card)


def test_a_checkpoint_of_another_network_is_refused(served):
    _, _, (arrays, card) = served
    other = {name: value for name, value in arrays.items() if name != "network.first"}
    with pytest.raises(WrongDomainError, match="no 'first'; it was written by another version"):
        pixel_serving.PixelPrimitives(other, card)


def test_a_checkpoint_says_how_goals_lead_to_goals_and_how_often_each_was_seen(served):
    _, primitives, (arrays, card) = served
    assert primitives.world_model.values.shape == (42, 42)
    assert ((primitives.world_model.values >= 0) & (primitives.world_model.values <= 1)).all()
    assert len(primitives.goal_seen) == 42
    assert primitives.digest == card.digest
    assert arrays["network.patch.weight"].dtype == np.float16


def test_the_report_goes_through_the_pictures(served):
    _, primitives, _ = served
    report = skill_rates(primitives, boards=1, seed=5)
    for rates in (report["greedy"], report["executed"]):
        assert set(rates) == {test.name for test in skill_tests()}
        assert all(rate in (0.0, 1.0) for rate in rates.values())
