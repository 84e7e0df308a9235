"""`skm train`: summaries, refusals, and runs that survive an interrupt."""

import argparse
import json
import signal

import pytest

from skm_cli.commands import train as train_command
from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_primitives.learning import training
from skm_primitives.learning.tabular import TabularLearner
from skm_primitives.skills.checkpoint import CheckpointError, load
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.tabular_skills import TabularSettings
from tiny_worlds import CORRIDOR, Corridor

DOMAIN = "tiny_worlds:CORRIDOR"


def skm_train(*arguments):
    parser = argparse.ArgumentParser(prog="skm")
    train_command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["train", *map(str, arguments)])
    return args.run(args)


def summary(capsys):
    return json.loads(capsys.readouterr().out)


def test_json_is_all_there_is_on_stdout(tmp_path, capsys):
    out = tmp_path / "c.safetensors"
    code = skm_train(DOMAIN, "--steps", 1000, "--seed", 7, "--out", out, "--json")
    result = summary(capsys)
    assert code == 0
    assert result["domain"] == "corridor"
    assert (result["steps"], result["goals"], result["tried"]) == (1000, 10, 10)
    assert result["residual"] == 0
    assert result["cpu_seconds"] > 0
    assert result["options"]["seed"] == 7
    assert result["digest"] == load_primitives(CORRIDOR, result["out"]).digest
    assert load(out)[1].command.startswith("skm")


def test_without_json_a_line_says_what_was_learned(tmp_path, capsys):
    skm_train(DOMAIN, "--steps", 500, "--out", tmp_path / "c")
    text = capsys.readouterr().out
    assert text.startswith("corridor: 500 steps")
    assert "goals 10, tried 10, residual 0" in text


def test_steps_are_rounded_up_to_whole_rounds(tmp_path, capsys):
    skm_train(DOMAIN, "--steps", 501, "--out", tmp_path / "c", "--json")
    assert summary(capsys)["steps"] == 1000


def test_resume_ends_with_the_same_bits(tmp_path, capsys):
    skm_train(DOMAIN, "--steps", 2000, "--out", tmp_path / "whole", "--json")
    whole = summary(capsys)
    skm_train(DOMAIN, "--steps", 1000, "--out", tmp_path / "half", "--json")
    half = summary(capsys)
    skm_train(DOMAIN, "--steps", 2000, "--out", tmp_path / "half", "--resume", "--json")
    resumed = summary(capsys)
    assert (resumed["steps"], resumed["new_steps"]) == (2000, 1000)
    assert half["digest"] != resumed["digest"] == whole["digest"]


def test_a_finished_run_resumed_has_nothing_to_do(tmp_path, capsys):
    for flags in ((), ("--resume",)):
        skm_train(DOMAIN, "--steps", 500, "--out", tmp_path / "c", "--json", *flags)
        result = summary(capsys)
    assert (result["steps"], result["new_steps"]) == (500, 0)


def test_options_reach_the_learner(tmp_path, capsys):
    flags = ("--alpha", 0.1, "--epsilon", 0.2, "--agents", 4, "--no-places")
    skm_train(DOMAIN, "--steps", 100, "--out", tmp_path / "c", "--json", *flags)
    wanted = {"alpha": 0.1, "epsilon": 0.2, "agents": 4, "places": False}
    assert summary(capsys)["options"].items() >= wanted.items()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["offise"], "did you mean 'office'"),
        ([DOMAIN, "--steps", "0"], "--steps is 0"),
        ([DOMAIN, "--resume", "--overwrite"], "give one"),
        ([DOMAIN, "--resume", "--out", "absent"], "no checkpoint at absent"),
        ([DOMAIN, "--alpha", "2"], "alpha is 2"),
    ],
)
def test_bad_input_is_refused(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SkmError, match=message):
        skm_train(*arguments)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_an_existing_checkpoint_is_not_destroyed_unasked(tmp_path, capsys):
    skm_train(DOMAIN, "--steps", 500, "--out", tmp_path / "c")
    with pytest.raises(CheckpointError, match=r"--resume continues it, --overwrite replaces it"):
        skm_train(DOMAIN, "--steps", 500, "--out", tmp_path / "c")
    with pytest.raises(SkmError, match="was begun with seed 0, so it cannot go on with 1"):
        skm_train(DOMAIN, "--steps", 900, "--out", tmp_path / "c", "--resume", "--seed", 1)
    capsys.readouterr()
    skm_train(DOMAIN, "--steps", 500, "--seed", 1, "--out", tmp_path / "c", "--overwrite", "--json")
    assert summary(capsys)["options"]["seed"] == 1


def interrupt(number):
    """Return a report that sends this process a signal after the first round."""
    return lambda steps: signal.raise_signal(number) if steps == 500 else None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_saved_and_can_be_resumed(tmp_path, number):
    usual = signal.getsignal(number)
    learner = TabularLearner(CORRIDOR, TabularSettings())
    result = training.train(learner, 2000, tmp_path / "c", "test", interrupt(number))
    assert result.interrupted
    assert result.card.steps == 500
    assert signal.getsignal(number) is usual
    resumed = TabularLearner.resume(CORRIDOR, tmp_path / "c")
    ended = training.train(resumed, 2000, tmp_path / "c", "test")
    whole = training.train(
        TabularLearner(CORRIDOR, TabularSettings()), 2000, tmp_path / "w", "test"
    )
    assert not ended.interrupted
    assert ended.card.digest == whole.card.digest


def test_the_command_tells_an_interrupt_by_its_exit_code(tmp_path, monkeypatch, capsys):
    run_round = TabularLearner.run_round

    def interrupted_round(learner):
        run_round(learner)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TabularLearner, "run_round", interrupted_round)
    assert skm_train(DOMAIN, "--out", tmp_path / "c", "--json") == 130
    output = capsys.readouterr()
    assert json.loads(output.out)["interrupted"] is True
    assert "--resume continues" in output.err


def test_long_runs_are_saved_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(TabularLearner, "save_seconds", 0.0)
    seen = []
    learner = TabularLearner(CORRIDOR, TabularSettings())

    def report(steps):
        if steps > 500:
            seen.append(load(tmp_path / "c")[1].steps)

    training.train(learner, 1500, tmp_path / "c", "test", report)
    assert seen == [500, 1000]


def test_a_place_that_cannot_be_written_is_found_before_the_first_step(tmp_path):
    (tmp_path / "file").write_text("")
    learner = TabularLearner(CORRIDOR, TabularSettings())
    with pytest.raises(CheckpointError, match="cannot write to"):
        training.train(learner, 500, tmp_path / "file" / "c", "test")
    assert learner.steps == 0


def test_a_domain_with_no_learner_says_which_there_are(monkeypatch):
    monkeypatch.setattr(training, "LEARNERS", {("Box", "Discrete"): "x:y"})
    assert Corridor.constraints == CORRIDOR.constraints
    with pytest.raises(SkmError, match=r"is Discrete .* there are learners for Box and Discrete"):
        training.learner_class(CORRIDOR)


def test_any_setting_is_set_by_name_and_all_are_listed(tmp_path, capsys):
    flags = ("--set", "agents=5", "--set", "places=no", "--set", "alpha=0.25")
    skm_train(DOMAIN, "--steps", 100, "--out", tmp_path / "c", "--json", *flags)
    wanted = {"alpha": 0.25, "agents": 5, "places": False}
    assert summary(capsys)["options"].items() >= wanted.items()
    assert skm_train("safety", "--help-settings") == 0
    listed = capsys.readouterr().out
    assert "hidden = 256,256" in listed
    assert "Environment steps to one update of the networks." in listed
    assert skm_train("safety", "--help-settings", "--preset", "paper") == 0
    assert "hidden = 2024,2024,2024" in capsys.readouterr().out
    with pytest.raises(SkmError, match="no preset 'papr'; did you mean 'paper'"):
        skm_train("safety", "--help-settings", "--preset", "papr")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agents", "takes name=value"),
        ("agent=3", "did you mean 'agents'"),
        ("agents=few", "agents is a whole number"),
        ("places=maybe", "places is yes or no"),
    ],
)
def test_settings_that_are_not_are_refused(text, message):
    with pytest.raises(SkmError, match=message):
        skm_train(DOMAIN, "--set", text)


def test_a_stochastic_world_is_announced(tmp_path, capsys, monkeypatch):
    step = Corridor.step

    def slips(self, action):
        return step(self, action if self.np_random.random() > 0.3 else 1 - action)

    monkeypatch.setattr(Corridor, "step", slips)
    skm_train(DOMAIN, "--steps", 1000, "--out", tmp_path / "c", "--json")
    captured = capsys.readouterr()
    assert json.loads(captured.out)["stochastic"] == 10
    assert "10 of 10 actions led to different places: the world is stochastic" in captured.err


def test_skills_without_places_run_missions_too(tmp_path, capsys):
    skm_train(DOMAIN, "--steps", 1000, "--out", tmp_path / "c", "--no-places")
    assert main(["run", DOMAIN, "F right", "--checkpoint", str(tmp_path / "c")]) == 0
    assert "accepted" in capsys.readouterr().out
