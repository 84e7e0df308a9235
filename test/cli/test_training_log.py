"""`skm train --log`: curves for other programs."""

import sys
from types import SimpleNamespace

import pytest

from skm_cli.commands.train import training_log
from skm_machine.errors import SkmError
from skm_primitives.learning.trainer import ScoreCurve


def test_curves_go_to_weights_and_biases_where_it_is_installed(tmp_path, monkeypatch):
    learner = SimpleNamespace(options={"seed": 3}, curve=ScoreCurve())
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(SkmError, match=r"pip install 'skm\[wandb\]'"):
        training_log(["wandb"], learner, tmp_path / "kitchen")
    begun, told = [], []

    def init(**how):
        begun.append(how)
        return SimpleNamespace(log=lambda scores, step: told.append((step, scores)))

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    log = training_log(["wandb"], learner, tmp_path / "kitchen")
    learner.curve.add(300, {"validation": 0.5, "a": 0.25})
    log()
    log()
    assert begun == [{"project": "skm", "name": "kitchen", "config": {"seed": 3}}]
    ((step, scores),) = told
    assert (step, scores["success/a"], scores["success/validation"]) == (300, 0.25, 0.5)
