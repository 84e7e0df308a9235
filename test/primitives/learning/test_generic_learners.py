"""Learners by kind of spaces: choices, worlds that end, time limits, many label sets, many controls."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from skm_cli.reports.train import print_training
from skm_machine import compile_mission
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_primitives.learning.training import TrainingResult, learner_class, make_learner, train
from skm_primitives.skills.checkpoint import load
from skm_sim import DomainSpec

SIDE = 4
"""Places go from -4 to 4; the observation is the place, in odd units, so that it must be scaled."""


class Line(gymnasium.Env):
    """A walk on a line; with `pit`, the left end is the end of the world; with `limit`, time is up."""

    propositions = ("left", "right")
    constraints = ()
    observation_space = Box(-np.inf, np.inf, (1,), np.float64)

    def __init__(self, dimensions=0, pit=False, limit=0):
        boxes = Box(-1.0, 1.0, (dimensions,)) if dimensions else None
        self.action_space = boxes or Discrete(2)
        self.pit, self.limit = pit, limit

    def labels(self):
        return frozenset({-SIDE: {"left"}, SIDE: {"right"}}.get(self.place, ()))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.time = int(self.np_random.integers(1 - SIDE, SIDE)), 0
        return self._seen(), {"labels": self.labels()}

    def step(self, action):
        way = np.sign(np.mean(action)) if isinstance(self.action_space, Box) else 2 * action - 1
        self.place = int(np.clip(self.place + way, -SIDE, SIDE))
        self.time += 1
        over = self.pit and self.place == -SIDE
        late = bool(self.limit) and self.time >= self.limit
        return self._seen(), 0.0, over, late and not over, {"labels": self.labels()}

    def _seen(self):
        return np.array([1000.0 + 30.0 * self.place])


class Digits(Line):
    """The place is told by four propositions, its binary digits: nine label sets."""

    propositions = ("one", "two", "four", "eight")

    def labels(self):
        shown = self.place + SIDE
        return frozenset(name for i, name in enumerate(self.propositions) if shown >> i & 1)


def spec_of(cls, name, **options):
    env_id = f"skm_generic/{name}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=cls, kwargs=options)
    return DomainSpec(name.lower(), env_id, cls.propositions, (), 0.9, 12, {})


SMALL = {"hidden": (32,), "agents": 8, "batch": 64, "update_every": 4, "replay": 4000, "gamma": 0.9}
SMALL |= {"learning_rate": 3e-3, "average_rate": 0.05, "action_gap": 0.0, "validation_layouts": 4}


def trained(spec, path, rounds, **changes):
    options = {**SMALL, "horizon": rounds * 96, "validate_rounds": rounds, **changes}
    learner = make_learner(spec, options, path, resume=False, overwrite=False)
    train(learner, rounds * 96, path, "test")
    return learner


def value(primitives, place, name, action):
    goal = next(i for i, g in enumerate(primitives.goals) if g.labels == {name})
    values = primitives.values(np.array([1000.0 + 30.0 * place]))
    return max(values.move[goal, action], values.stop[goal, action])


def test_values_of_choices_where_worlds_end_and_time_limits_cut_episodes(tmp_path):
    """The limit is shorter than an episode of learning, and no end: values are as without it."""
    spec = spec_of(Line, "Pit", pit=True, limit=9)
    trained(spec, tmp_path / "line.safetensors", 70)
    primitives = load_primitives(spec, tmp_path / "line")
    for place in range(1 - SIDE, SIDE):
        right = value(primitives, place, "right", 1)
        assert right == pytest.approx(0.9 ** (SIDE - place - 1), abs=0.12), place
    assert value(primitives, 1 - SIDE, "left", 0) > 0.9
    assert value(primitives, 1 - SIDE, "right", 0) < 0.05  # the pit: nothing is reached from there
    run = partial(run_episode, spec.make(), primitives, max_steps=20, seed=5)
    mission = compile_mission("F right", propositions=spec.propositions)
    assert run(make_policy(mission, primitives)).outcome == "accepted"
    fall = compile_mission("F(left & X F right)", propositions=spec.propositions)
    with pytest.raises(UnachievableMissionError, match="one after the other"):
        make_policy(fall, primitives)
    assert run(make_policy(fall, primitives, "paper")).outcome == "world ended"


def test_goal_slots_grow_and_a_resumed_run_equals_one_that_was_not_stopped(tmp_path):
    spec = spec_of(Digits, "Digits")
    whole = trained(spec, tmp_path / "whole.safetensors", 6, slots=2)
    assert whole.space.capacity == 16
    assert len(whole.space) == 9
    half = make_learner(
        spec, {**whole.options}, tmp_path / "half.safetensors", resume=False, overwrite=False
    )
    train(half, 3 * 96, tmp_path / "half.safetensors", "test")
    resumed = GoalConditionedLearner.resume(spec, tmp_path / "half.safetensors")
    train(resumed, 6 * 96, tmp_path / "half.safetensors", "test")
    arrays, others = (load(tmp_path / f"{name}.safetensors")[0] for name in ("whole", "half"))
    assert arrays.keys() == others.keys()
    assert all(np.array_equal(arrays[name], others[name]) for name in arrays)
    primitives = load_primitives(spec, tmp_path / "half.safetensors")
    assert len(primitives.goals) == 18
    assert primitives.world_model.values.shape == (18, 18)


def test_more_controls_than_a_grid_can_have_are_learned_by_td3(tmp_path):
    spec = spec_of(Line, "Many", dimensions=6)
    assert learner_class(spec) is GoalConditionedLearner
    learner = trained(spec, tmp_path / "many.safetensors", 25)
    assert learner.options["algorithm"] == "td3"
    primitives = load_primitives(spec, tmp_path / "many")
    right = next(i for i, goal in enumerate(primitives.goals) if goal.labels == {"right"})
    found = primitives.values(np.array([1000.0]))
    assert found.action.shape == (len(primitives.goals), 6)
    assert found.action[right].mean() > 0
    with pytest.raises(SkmError, match="dqn does not fit the actions"):
        GoalConditionedLearner.start(spec, {"algorithm": "dqn"})
    with pytest.raises(SkmError, match="td3 does not fit the actions"):
        GoalConditionedLearner.start(spec_of(Line, "Pit", pit=True, limit=9), {"algorithm": "td3"})


class Hidden(Line):
    """A line on which nothing ever shows `gold`."""

    propositions = ("left", "right", "gold")


def test_networks_say_which_skills_were_never_achieved_and_what_to_change(tmp_path, capsys):
    spec = spec_of(Hidden, "Hidden")
    learner = trained(spec, tmp_path / "hidden.safetensors", 4, validate_rounds=2)
    (warning,) = load(tmp_path / "hidden.safetensors")[1].details["warnings"]
    assert "'gold'" in warning
    assert f"In {learner.steps} steps no state showed gold" in warning
    assert "check its predicate" in warning
    short = trained(spec, tmp_path / "short.safetensors", 4, validate_rounds=50, horizon=9600)
    card = load(tmp_path / "short.safetensors")[1]
    assert card.scores == {}
    assert (
        f"before its first validation, at {6 * short.round_steps} steps"
        in (card.details["warnings"][0])
    )
    print_training(TrainingResult(card, False), short, tmp_path, 0, 0.0, as_json=False)
    assert "before its first validation" in capsys.readouterr().err
