"""The generic learner of pictures: codes and intensities, serving without torch, exact resume."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_primitives.learning.networks import ImageNetwork, Sizes
from skm_primitives.learning.training import make_learner, train
from skm_primitives.skills.checkpoint import load
from skm_primitives.skills.encoders import ImageEncoder
from skm_primitives.skills.network_skills import ObservationError
from skm_primitives.skills.networks import ServedImageNetwork
from skm_sim import DomainSpec, check_domain

SIDE = 5


class Field(gymnasium.Env):
    """A dot on a small picture, moved in four directions: `top` and `right` are rows of it."""

    propositions = ("top", "right", "wet")
    constraints = ("wet",)
    observation_space = Box(0, 255, (SIDE, SIDE, 1), np.uint8)
    action_space = Discrete(4)
    noise = 0

    def labels(self):
        row, column = self.place
        shown = {"top": row == 0, "right": column == SIDE - 1, "wet": (row, column) == (2, 2)}
        return frozenset(name for name, true in shown.items() if true)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = tuple(self.np_random.integers(SIDE, size=2).tolist())
        return self._seen(), {"labels": self.labels()}

    def step(self, action):
        way = ((-1, 0), (0, 1), (1, 0), (0, -1))[int(action)]
        self.place = tuple(np.clip(np.add(self.place, way), 0, SIDE - 1).tolist())
        return self._seen(), 0.0, False, False, {"labels": self.labels()}

    def _seen(self):
        picture = np.zeros((SIDE, SIDE, 1), np.uint8)
        if self.noise:
            picture[:] = self.np_random.integers(self.noise, size=picture.shape)
        picture[self.place] = 255 if self.noise else 7
        return picture


class Shades(Field):
    """The same with a noisy background: bytes that are intensities, not codes."""

    noise = 100


class Pushed(Field):
    action_space = Box(-1.0, 1.0, (2,))

    def step(self, action):
        return super().step(np.argmax(action))


def spec_of(cls):
    env_id = f"skm_image/{cls.__name__}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=cls)
    names = cls.propositions, cls.constraints
    return DomainSpec(cls.__name__.lower(), env_id, *names, 0.9, 12, {})


SMALL = {"hidden": (32,), "channels": 8, "agents": 8, "batch": 64, "update_every": 4, "gamma": 0.9}
SMALL |= {"learning_rate": 3e-3, "average_rate": 0.05, "action_gap": 0.0, "validation_layouts": 4}
SMALL |= {"replay": 8000}
ROUND = 96


def trained(spec, path, rounds):
    options = {**SMALL, "horizon": rounds * ROUND, "validate_rounds": rounds}
    learner = make_learner(spec, options, path, resume=False, overwrite=False)
    train(learner, rounds * ROUND, path, "test")
    return learner


def test_skills_from_pictures_run_missions(tmp_path):
    spec = spec_of(Field)
    assert check_domain(spec) == []
    learner = trained(spec, tmp_path / "field.safetensors", 60)
    assert learner.encoder.planes == 3, "two codes, and one for all others"
    skills = load_primitives(spec, tmp_path / "field")
    assert {frozenset(goal.labels) for goal in skills.goals} >= {frozenset({"top", "right"})}
    mission = compile_mission("F(top & right & X F wet)", propositions=spec.propositions)
    policy = make_policy(mission, skills)
    runs = [run_episode(spec.make(), skills, policy, max_steps=40, seed=s) for s in range(20)]
    assert sum(run.outcome == "accepted" for run in runs) >= 19


@pytest.mark.parametrize("cls", [Field, Shades])
def test_a_resumed_run_equals_one_that_was_not_stopped_and_is_served_as_learned(tmp_path, cls):
    spec = spec_of(cls)
    whole = trained(spec, tmp_path / "whole.safetensors", 4)
    assert (whole.encoder.codes is None) == (cls is Shades)
    half = tmp_path / "half.safetensors"
    first = make_learner(spec, {**whole.options}, half, resume=False, overwrite=False)
    train(first, 2 * ROUND, half, "test")
    resumed = GoalConditionedLearner.resume(spec, half)
    train(resumed, 4 * ROUND, half, "test")
    arrays, others = (load(tmp_path / f"{name}.safetensors")[0] for name in ("whole", "half"))
    assert arrays.keys() == others.keys()
    assert all(np.array_equal(arrays[name], others[name]) for name in arrays)
    env = spec.make()
    pictures = whole.encoder.features(np.stack([env.reset(seed=seed)[0] for seed in range(6)]))
    served = ServedImageNetwork("network", whole.algorithm.served_arrays(), whole.encoder)(pictures)
    with torch.no_grad():
        learned = whole.algorithm.average(torch.from_numpy(pictures)).numpy()
    np.testing.assert_allclose(served, learned, atol=1e-4)


def test_large_pictures_are_halved_until_they_are_small():
    class Large(Field):
        observation_space = Box(0, 255, (84, 61, 3), np.uint8)

    body = ImageEncoder(Large())
    body.look(np.random.default_rng(0).integers(256, size=(4, 84, 61, 3), dtype=np.uint8))
    network = ImageNetwork(body, Sizes(4, (16,), 6, 2), torch.Generator().manual_seed(0))
    assert len(network.filters) == 4
    assert network(torch.zeros(2, body.inputs, dtype=torch.uint8)).shape == (2, 2, 6)


def test_what_does_not_fit_pictures_is_said(tmp_path):
    (problem,) = check_domain(spec_of(Pushed))
    assert "with a choice of actions (Discrete)" in problem
    with pytest.raises(SkmError, match="waves is for vectors"):
        make_learner(spec_of(Field), {"waves": 2}, tmp_path / "x", resume=False, overwrite=False)
    trained(spec_of(Field), tmp_path / "field.safetensors", 1)
    skills = load_primitives(spec_of(Field), tmp_path / "field")
    for wrong in (np.zeros((SIDE, SIDE), np.uint8), np.zeros((SIDE, SIDE, 1), np.float32)):
        with pytest.raises(ObservationError, match="'field' has uint8"):
            skills.values(wrong)
