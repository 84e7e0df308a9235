"""Moving Targets by the generic learner of pictures: the same command, by stepping alone."""

import json

import numpy as np
import pytest

from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_primitives.learning.moving_targets.learner import PixelLearner
from skm_primitives.learning.training import learner_class, make_learner
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.network_skills import NetworkSkills
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import MovingTargetsVectorEnv
from skm_sim.moving_targets.trials import SKILL_TRIALS, skill_tests
from skm_sim.registry import get_domain

SPEC = get_domain("moving_targets")
TINY = {"algorithm": "dqn", "agents": 4, "hidden": (16,), "channels": 4, "batch": 100}
TINY |= {"update_every": 50, "replay": 2000, "horizon": 400, "episode": 50}


def test_an_algorithm_that_its_own_learner_lacks_is_the_generic_learners():
    assert learner_class(SPEC) is PixelLearner
    assert learner_class(SPEC, "dqn") is GoalConditionedLearner
    assert learner_class(get_domain("safety"), "td3") is GoalConditionedLearner
    with pytest.raises(SkmError, match="td3 does not fit"):
        make_learner(SPEC, {"algorithm": "td3"}, "x", resume=False, overwrite=False)


def test_it_learns_by_reset_and_step_alone(tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("a learner that steps sets no state and asks for none")

    start = MovingTargetsVectorEnv._start

    def bare(self, mask, options):
        assert "state" not in options
        start(self, mask, options)

    monkeypatch.setattr(MovingTargetsVectorEnv, "states", property(refuse, refuse))
    monkeypatch.setattr(MovingTargetsVectorEnv, "_start", bare)
    # The end of the plan is validated, on boards that are set; learning itself sets none.
    settings = {**TINY, "horizon": 4000}
    learner = make_learner(SPEC, settings, tmp_path / "x", resume=False, overwrite=False)
    before = {name: value.copy() for name, value in learner.algorithm.training_arrays().items()}
    assert len(learner.space) == 0, "goals are discovered"
    for _ in range(2):
        learner.run_round()
    after = learner.algorithm.training_arrays()
    assert learner.steps == 400
    assert not np.array_equal(before["trained.filters.0"], after["trained.filters.0"])
    kinds = {(), *((kind) for kind in map(tuple, map(sorted, board.KINDS)))}
    assert {tuple(sorted(goal.labels)) for goal in learner.space.goals()} <= kinds


def test_its_skills_are_tried_on_boards_on_which_they_can_be_done():
    for test in skill_tests()[::7]:
        options, _ = SKILL_TRIALS.worlds(test, np.random.default_rng(0), 5)
        assert options["state"].shape == (5, board.STATE_BYTES)
        for kind in range(len(board.KINDS)):
            labels = frozenset(board.KINDS[kind])
            assert test.satisfied_by(labels, frozenset()) == (kind in test.wanted)
            assert not test.satisfied_by(labels, test.violated | {"none of them"})


def test_the_same_commands_train_evaluate_and_draw(tmp_path, capsys):
    out = tmp_path / "stepping"
    settings = [f"--set={name}={value}" for name, value in TINY.items() if isinstance(value, int)]
    settings += ["--set=hidden=16", "--set=validate_rounds=1", "--set=validation_layouts=1"]
    train = ["train", "moving_targets", "--learner", "dqn", "--steps", "200", "--out", str(out)]
    assert main([*train, *settings]) == 0
    skills = load_primitives(SPEC, out)
    assert isinstance(skills, NetworkSkills)
    assert skills.values(SPEC.make().reset(seed=0)[0]).continuation is not None
    assert main([*train[:4], "--steps", "400", "--out", str(out), "--resume"]) == 0
    capsys.readouterr()
    picture = tmp_path / "curve.png"
    curve = ["plot", "curve", "moving_targets", "--checkpoint", str(out), "--out", str(picture)]
    assert main([*curve, "--dpi", "30", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["curve"]
    assert [row["steps"] for row in rows] == [200, 400]
    assert {"kind", "colour", "shape", "only", "without"} < set(rows[0])
    evaluate = ["eval", "moving_targets", "--task", "1", "--episodes", "1"]
    assert main([*evaluate, "--checkpoint", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"]["1"]["episodes"] == 1
