"""Few-shot learning on top of networks' skills: where it begins, what it finds, what is kept."""

import numpy as np
import pytest

from side_world import LAST, SIDES, SMOOTH_SIDES, STARTS, fewest_steps, skills_file
from skm_machine.errors import SkmError
from skm_primitives import load_primitives, run_episode
from skm_primitives.evaluation.task_trials import Comparison, Outcomes
from skm_primitives.few_shot.finetuning import few_shot_learner
from skm_primitives.few_shot.networks import TaskLearner
from skm_primitives.learning.training import begin_learner, train
from skm_primitives.planning.saved_policies import load_finetuned
from skm_primitives.skills.checkpoint import load

SMALL = {"hidden": (32,), "batch": 64, "update_every": 2, "learning_rate": 3e-3, "hold": 4}
SMALL |= {"average_rate": 0.05, "first_rounds": 4, "validate_rounds": 6, "memory": 2000}
SMALL |= {"validation_worlds": 30, "proof_worlds": 60}
WORLDS = [(start, end) for start in STARTS for end in (0, LAST)]


def begun(spec, folder, **options):
    skills = skills_file(folder / "skills", spec)
    return few_shot_learner(spec).start(spec, {**SMALL, "checkpoint": skills, **options})


def steps_of(spec, folder, policy):
    """Run a policy in each of the six worlds there are."""
    skills = load_primitives(spec, folder / "skills")
    env = spec.make()
    runs = [
        run_episode(env, skills, policy, max_steps=40, options={"world": world}) for world in WORLDS
    ]
    assert all(run.status.value == "accepted" for run in runs)
    return [run.steps for run in runs]


@pytest.mark.parametrize("spec", [SIDES, SMOOTH_SIDES], ids=["choices", "continuous"])
def test_from_the_zero_shot_level_to_the_optimum(spec, tmp_path):
    learner = begun(spec, tmp_path, task="both")
    optimum = [fewest_steps(*world) for world in WORLDS]
    zero_shot = steps_of(spec, tmp_path, learner.zero_shot)
    assert sum(zero_shot) > sum(optimum)
    learner.save(tmp_path / "few", "test")
    skills = load_primitives(spec, tmp_path / "skills")
    assert steps_of(spec, tmp_path, load_finetuned(tmp_path / "few", spec, skills)) == zero_shot
    train(learner, 2000, tmp_path / "few", "test")
    scores = load(tmp_path / "few", spec.name)[1].scores
    assert scores["proved"] == 1
    assert scores["score"] > scores["zero_shot_score"]
    assert steps_of(spec, tmp_path, load_finetuned(tmp_path / "few", spec, skills)) == optimum


def test_where_zero_shot_is_optimal_it_is_what_is_kept(tmp_path):
    learner = begun(SIDES, tmp_path, task="near")
    train(learner, 500, tmp_path / "few", "test")
    scores = load(tmp_path / "few", SIDES.name)[1].scores
    assert (scores["proved"], scores["score"]) == (0, scores["zero_shot_score"])
    policy = load_finetuned(tmp_path / "few", SIDES, load_primitives(SIDES, tmp_path / "skills"))
    assert steps_of(SIDES, tmp_path, policy) == steps_of(SIDES, tmp_path, learner.zero_shot)


def test_a_candidate_that_is_not_better_in_the_worlds_of_the_proof_is_not_served(tmp_path):
    learner = begun(SIDES, tmp_path, task="both")
    learner._best = learner.served_arrays()  # Networks that know nothing, as a lucky candidate.
    learner.save(tmp_path / "few", "test")
    arrays, card = load(tmp_path / "few", SIDES.name)
    assert not arrays["proved"]
    assert card.scores["score"] == card.scores["zero_shot_score"]
    policy = load_finetuned(tmp_path / "few", SIDES, learner.primitives)
    assert steps_of(SIDES, tmp_path, policy) == steps_of(SIDES, tmp_path, learner.zero_shot)


def test_missions_without_end_are_scored_by_rounds_and_resume_bit_for_bit(tmp_path):
    mission = {"mission": "F(a & X F b)", "repeat": True, "episodes": 4, "first_rounds": 2}
    mission |= {"validate_rounds": 3, "validation_worlds": 6, "proof_worlds": 6}
    whole = begun(SIDES, tmp_path, **mission)
    assert whole.remarks()["score_is"] == "rounds"
    train(whole, 1100, tmp_path / "whole", "test")
    train(begun(SIDES, tmp_path, **mission), 600, tmp_path / "half", "test")
    resumed = begin_learner(TaskLearner, SIDES, {}, tmp_path / "half", resume=True, overwrite=False)
    train(resumed, 1100, tmp_path / "half", "test")
    assert resumed.steps == whole.steps
    assert resumed.curve == whole.curve
    digests = [load(tmp_path / name, SIDES.name)[1].digest for name in ("whole", "half")]
    assert digests[0] == digests[1]


def test_better_means_no_less_success_no_more_failure_and_a_gain_beyond_doubt():
    def outcomes(score, succeeded=1, failed=0):
        count = len(score)
        flags = [np.arange(count) < part * count for part in (succeeded, failed)]
        return Outcomes(*flags, np.array(score, float))

    before = outcomes([1.0, 2, 3, 4])
    assert Comparison(before, outcomes([1.1, 2.1, 3.1, 4.1])).better
    assert not Comparison(before, before).better
    assert not Comparison(before, outcomes([0, 2, 3, 9])).better
    assert not Comparison(before, outcomes([2, 3, 4, 5], succeeded=0.75)).better
    assert not Comparison(before, outcomes([2, 3, 4, 5], failed=0.25)).better


def test_it_says_what_it_cannot_do(tmp_path):
    with pytest.raises(SkmError, match="one task or one mission"):
        begun(SIDES, tmp_path)
    with pytest.raises(SkmError, match="has no option 'alpha'"):
        begun(SIDES, tmp_path, task="both", alpha=0.5)
    with pytest.raises(SkmError, match="stands for 3"):
        begun(SIDES, tmp_path, task="all")
    with pytest.raises(SkmError, match="no task 'boht'"):
        begun(SIDES, tmp_path, task="boht")
    learner = begun(SIDES, tmp_path, task="both")
    learner.save(tmp_path / "few", "test")
    learner.primitives.digest = "another"
    with pytest.raises(SkmError, match="on top of other primitives"):
        load_finetuned(tmp_path / "few", SIDES, learner.primitives)
