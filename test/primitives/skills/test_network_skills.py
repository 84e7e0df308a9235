"""Serving networks: the same numbers as in training, quickly, and clear errors."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from skm_machine.errors import SkmError
from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_primitives.learning.networks import EnsembleMLP, to_arrays
from skm_primitives.skills import checkpoint
from skm_primitives.skills.checkpoint import WrongDomainError
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.network_skills import ObservationError
from skm_primitives.skills.networks import ServedMLP
from skm_sim.registry import get_domain
from skm_sim.safety.encoder import FEW, FORCE, SafetyEncoder, decode
from skm_sim.safety.env import SafetyVectorEnv
from skm_sim.safety.layout import sample_layouts

SAFETY = get_domain("safety_region")
TINY = {"hidden": (8, 8), "agents": 2, "batch": 4, "update_every": 100, "replay": 200}


@pytest.fixture(scope="module", params=["dqn", "td3"])
def saved(request, tmp_path_factory):
    """A checkpoint after one tiny round."""
    path = tmp_path_factory.mktemp("served") / "safety"
    learner = GoalConditionedLearner.start(
        SAFETY, {**TINY, "algorithm": request.param, "validation_layouts": 1}
    )
    learner.run_round()
    learner.save(path, "test")
    return path


def observations(count):
    """Return what robots see at the start of some episodes."""
    env = SafetyVectorEnv(count)
    return env.reset(seed=0)[0]


def test_numpy_computes_what_torch_does():
    network = EnsembleMLP(5, (16, 8), 7, 2, torch.Generator().manual_seed(0))
    for parameter in network.parameters():
        parameter.data.add_(0.1 * torch.randn(parameter.shape))
    inputs = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    expected = network(torch.from_numpy(inputs)).detach().numpy()
    served = ServedMLP("net", to_arrays("net", network.state_dict()))
    np.testing.assert_allclose(served(inputs), expected, atol=1e-5)


def test_every_goal_has_an_action_a_value_and_a_detour(saved):
    primitives = load_primitives(SAFETY, saved)
    values = primitives.values(observations(1)[0], frozenset())
    count = len(primitives.goals)
    assert values.action.shape == values.near_best.shape == (count, 2)
    assert values.value.shape == values.spread.shape == (count,)
    assert ((values.value > 0) & (values.value <= 1)).all()
    assert primitives.action_space.contains(values.action[0].astype(np.float64))


def test_strict_goals_are_worth_nothing_once_the_constraint_is_violated(saved):
    primitives = load_primitives(SAFETY, saved)
    values = primitives.values(observations(1)[0], frozenset({"region"}))
    for goal, value in zip(primitives.goals, values.value.tolist(), strict=True):
        assert (value == 0) == (not goal.violated)


def test_a_batch_is_served_as_its_members(saved):
    primitives = load_primitives(SAFETY, saved)
    seen = observations(5)
    region = 1 << primitives.propositions.index("region")
    batch = primitives.batch_values(seen, np.array([0, region, 0, region, 0]))
    for i in range(5):
        one = primitives.values(seen[i], frozenset({"region"} if i % 2 else ()))
        np.testing.assert_allclose(batch.value[i], one.value, atol=1e-5)
        np.testing.assert_allclose(batch.action[i], one.action, atol=1e-4)


def test_td3_pursues_a_goal_by_the_best_of_all_actors_controls_and_a_grid(tmp_path):
    """Not always by that of the goal's own actor: the critics judge them all."""
    learner = GoalConditionedLearner.start(
        SAFETY, {**TINY, "algorithm": "td3", "validation_layouts": 1}
    )
    learner.run_round()
    learner.save(tmp_path / "td3", "test")
    primitives = load_primitives(SAFETY, tmp_path / "td3")
    arrays, _ = checkpoint.load(tmp_path / "td3")
    seen, body, goals = observations(20), SafetyEncoder(), len(primitives.goals)
    actor, critic = ServedMLP("actor", arrays), ServedMLP("critic", arrays)
    served = primitives.batch_values(seen, np.zeros(20, np.int64))
    strangers = 0
    for row, features in enumerate(body.features(seen)):
        own = np.tanh(actor(features[None])[0].reshape(-1, 2)[:goals])
        grid = [(force, turn) for force in (-1, 0, 1) for turn in (-1, 0, 1)]
        tried = np.concatenate([own, np.array(grid, np.float32)])
        rows = np.concatenate([np.repeat(features[None], len(tried), 0), tried], axis=1)
        values = critic(rows).mean(0)
        for index, goal in enumerate(primitives.goals):
            if goal.violated:  # Strict goals weigh what is risked as well.
                best = values[:, index].argmax()
                strangers += best != index
                np.testing.assert_allclose(
                    served.action[row, index], body.action(tried[best][None])[0], atol=1e-5
                )
    assert strangers


def test_bad_observations_and_constraints_are_named(saved):
    primitives = load_primitives(SAFETY, saved)
    seen = observations(1)[0]
    with pytest.raises(ObservationError, match="shape"):
        primitives.values(seen[:59], frozenset())
    with pytest.raises(ObservationError, match="finite"):
        primitives.values(np.where(np.arange(60) == 7, np.nan, seen), frozenset())
    with pytest.raises(SkmError, match="not a constraint"):
        primitives.values(seen, frozenset({"regoin"}))


def test_a_checkpoint_of_another_domain_or_learner_is_refused(saved, tmp_path):
    with pytest.raises(WrongDomainError):
        load_primitives(get_domain("office"), saved)
    arrays, card = checkpoint.load(saved)
    checkpoint.save(tmp_path / "odd", arrays, replace(card, learner="bxo"))
    with pytest.raises(SkmError, match="did you mean 'box'"):
        load_primitives(SAFETY, tmp_path / "odd")
    renamed = {**card.details, "propositions": ["knob", "cylinder", "region"]}
    checkpoint.save(tmp_path / "old", arrays, replace(card, details=renamed))
    with pytest.raises(WrongDomainError, match="another version"):
        load_primitives(SAFETY, tmp_path / "old")


def test_serving_does_not_import_torch(saved):
    code = (
        "import sys\nfrom skm_primitives.skills.loading import load_primitives\n"
        f"load_primitives('safety_region', {str(saved)!r})\nassert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_nearest_objects_are_decoded_from_the_lidars():
    """Cylinder exactly; the nearest region too, unless its neighbour in the lidar blurs it."""
    env = SafetyVectorEnv(200)
    layout = sample_layouts(np.random.default_rng(5), 200)
    seen, _ = env.reset(options={"layout": layout})
    objects = SafetyEncoder().features(seen)[:, 60:].reshape(200, 7, 7)
    heading = layout.robot[:, 2]
    turn = np.stack([np.cos(heading), np.sin(heading), -np.sin(heading), np.cos(heading)], axis=1)
    turn = turn.reshape(-1, 2, 2)
    gap = layout.cylinder_position - layout.robot[:, :2]
    egocentric = (turn @ gap[..., None])[..., 0]
    visible = np.linalg.norm(gap, axis=1) < 3
    np.testing.assert_allclose(objects[visible, 0, 1:3] * 3, egocentric[visible], atol=1e-4)
    assert (objects[~visible, 0] == 0).all()
    gaps = np.linalg.norm(layout.regions - layout.robot[:, None, :2], axis=-1).min(1)
    decoded = np.linalg.norm(objects[:, 5, 1:3], axis=1) * 3
    assert np.median(np.abs(decoded - gaps)) < 1e-4


def test_a_few_states_are_decoded_as_many_are():
    random = np.random.default_rng(6)
    seen, _ = SafetyVectorEnv(100).reset(seed=6)
    shown = seen[:, 12:].reshape(-1, 3, 16)
    drawn = random.random((300, 3, 16)) * (random.random((300, 3, 16)) < 0.4)
    for lidars in (shown, drawn.astype(np.float32), drawn.round(1).astype(np.float32)):
        many = decode(lidars)
        for size in (1, FEW):
            few = [decode(lidars[first : first + size]) for first in range(0, len(lidars), size)]
            np.testing.assert_allclose(np.concatenate(few), many, atol=1e-6)


def test_controls_are_warped_to_even_actuators():
    body = SafetyEncoder()
    controls = np.array([[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0], [0.5, 0.25]], np.float32)
    actions = body.action(controls)
    np.testing.assert_allclose(actions[:2], [[FORCE, 1.0], [-FORCE, -1.0]], atol=1e-6)
    np.testing.assert_array_equal(actions[2], [0, 0])
    assert 0.4 < actions[3, 1] < 0.5
