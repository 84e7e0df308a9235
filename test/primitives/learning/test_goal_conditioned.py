"""The network learners on a line with known values; determinism, resuming, settings."""

import json

import numpy as np
import pytest

from line_world import SPEC, STEP
from rail_learning import learned_on
from skm_machine.errors import SkmError
from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_primitives.learning.settings import DeepSettings
from skm_primitives.learning.trainer import resume_path
from skm_primitives.skills.checkpoint import MissingCheckpointError, load
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.loading import load_primitives
from skm_sim.registry import get_domain

TINY = {
    "hidden": (16, 16),
    "agents": 4,
    "batch": 16,
    "update_every": 8,
    "replay": 200,
    "horizon": 400,
    "validate_rounds": 2,
    "validation_layouts": 2,
}


@pytest.mark.parametrize("algorithm", ["dqn", "td3"])
def test_values_on_the_line_are_those_one_can_write_down(algorithm, tmp_path):
    """γ to the number of steps, less one; 0 across the wet place for a goal that forbids it."""
    learner = learned_on(SPEC, 20, algorithm=algorithm, replay=800_000)
    learner.save(tmp_path / "line", "test")
    primitives = load_primitives(SPEC, tmp_path / "line")
    index = {goal: i for i, goal in enumerate(primitives.goals)}
    right, wet = frozenset({"right"}), frozenset({"wet"})
    strict, free = index[Goal(right)], index[Goal(right, wet)]
    for steps_away in (1, 2, 3, 6):
        values = primitives.values(np.array([1 - steps_away * STEP]), frozenset())
        assert values.value[free] == pytest.approx(0.9 ** (steps_away - 1), abs=0.15)
        assert values.action[free, 0] > 0.5
    assert primitives.values(np.array([-0.5]), frozenset()).value[strict] < 0.15
    assert primitives.values(np.array([0.75]), frozenset()).value[strict] > 0.7
    assert primitives.values(np.array([0.75]), wet).value[strict] == 0


@pytest.mark.parametrize("algorithm", ["dqn", "td3"])
def test_a_run_that_is_stopped_and_resumed_equals_one_that_is_not(algorithm, tmp_path):
    options = {**TINY, "algorithm": algorithm}
    whole = learned_on(SPEC, 6, **options)
    whole.save(tmp_path / "whole", "test")
    half = learned_on(SPEC, 3, **options)
    half.save(tmp_path / "half", "test")
    resumed = GoalConditionedLearner.resume(SPEC, tmp_path / "half")
    assert resumed.steps == half.steps
    assert resumed.options == half.options
    for _ in range(3):
        resumed.run_round()
    resumed.save(tmp_path / "half", "test")
    for path in (tmp_path / "{}.safetensors", tmp_path / "{}.resume.safetensors"):
        one, other = (path.with_name(path.name.format(n)).read_bytes() for n in ("whole", "half"))
        assert one == other


@pytest.mark.parametrize("serve", ["best", "last"])
def test_the_best_on_validation_or_the_last_is_served_and_its_scores_are_in_the_card(
    serve, tmp_path
):
    """The second validation is worse than the first."""
    learner = GoalConditionedLearner.start(SPEC, {**TINY, "serve": serve})
    scores = iter([{"validation": 0.5}, {"validation": 0.2}])
    learner.validate = lambda: next(scores)
    for _ in range(2):
        learner.run_round()
    first = learner.served_arrays()["network.weights.0"]
    for _ in range(2):
        learner.run_round()
    card = learner.save(tmp_path / "run", "test")
    last = learner.served_arrays()["network.weights.0"]
    assert not np.array_equal(last, first)
    assert card.scores == {"validation": 0.5 if serve == "best" else 0.2}
    served = load(tmp_path / "run")[0]["network.weights.0"]
    np.testing.assert_array_equal(served, first if serve == "best" else last)


def test_training_runs_on_the_robot_and_writes_a_small_checkpoint(tmp_path):
    """Two tiny rounds of the real domain, up to what the planner needs of it."""
    learner = GoalConditionedLearner.start(get_domain("safety"), TINY)
    learner.run_round()
    learner.run_round()
    assert learner.status.startswith("validation")
    card = learner.save(tmp_path / "safety", "test")
    primitives = load_primitives(get_domain("safety"), tmp_path / "safety")
    count = len(primitives.goals)
    assert primitives.world_model.values.shape == (count, count)
    assert primitives.goal_seen.shape == (count,)
    assert primitives.gamma == 0.99
    assert set(card.scores) >= {"validation", "button & region"}
    assert json.loads((tmp_path / "safety.json").read_text())["details"]["label_bits"]


def test_resuming_without_the_state_of_training_is_explained(tmp_path):
    learned_on(SPEC, 1, **TINY).save(tmp_path / "run", "test")
    resume_path(tmp_path / "run").unlink()
    with pytest.raises(MissingCheckpointError, match="replay memory"):
        GoalConditionedLearner.resume(SPEC, tmp_path / "run")


def test_the_papers_preset_has_the_papers_sizes():
    settings = DeepSettings(**DeepSettings.with_preset({"preset": "paper"}))
    assert settings.hidden == (2024, 2024, 2024)
    assert (settings.algorithm, settings.gamma, settings.horizon) == ("td3", 0.99, 1_000_000)


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "sac"},
        {"preset": "gpu"},
        {"serve": "lst"},
        {"agents": 0},
        {"gamma": 1.0},
        {"action_gap": 1.0},
        {"seed": -1},
        {"bacth": 3},
    ],
)
def test_bad_settings_are_refused(options):
    with pytest.raises(SkmError):
        GoalConditionedLearner.start(SPEC, options)


def test_a_device_that_is_not_there_is_a_sentence_and_the_cpu_is_one_that_is():
    with pytest.raises(SkmError, match="--device: there is no 'cuda:7' here"):
        GoalConditionedLearner.start(SPEC, {**TINY, "device": "cuda:7"})
    assert GoalConditionedLearner.start(SPEC, {**TINY, "device": "cpu"}).options["device"] == "cpu"
