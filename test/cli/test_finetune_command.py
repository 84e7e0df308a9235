"""`skm finetune`: curve, picture, JSON, resumption and refusals."""

import argparse
import csv
import json
from dataclasses import replace

import pytest

from side_world import SIDES, skills_file
from skm_cli.commands import finetune as finetune_command
from skm_machine.errors import SkmError
from skm_primitives.evaluation import EvaluationOptions, evaluate
from skm_primitives.few_shot.networks import COLUMNS as TASK_COLUMNS
from skm_primitives.few_shot.tabular import COLUMNS
from skm_primitives.skills.checkpoint import CheckpointError


def finetune(*arguments):
    parser = argparse.ArgumentParser(prog="skm")
    finetune_command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["finetune", *map(str, arguments)])
    return args.run(args)


STRICT = ("office_absorbing", "--task", "coffee_strict")


def test_it_writes_the_curve_the_picture_and_one_json_document(tmp_path, capsys):
    files = "--curve", tmp_path / "c.csv", "--plot", tmp_path / "c.png", "--out", tmp_path / "c"
    assert finetune(*STRICT, "--steps", 30_000, *files, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["task"], result["planner"], result["steps"]) == (
        "coffee_strict",
        "paper",
        32_000,
    )
    assert result["zero_shot_return_ratio"] == 0
    assert result["return_ratio"] > 0.5
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert tuple(rows[0]) == COLUMNS
    assert [row["steps"] for row in rows] == [str(4000 * i) for i in range(9)]
    assert float(rows[0]["return_ratio"]) == 0
    assert max(float(row["return_ratio"]) for row in rows) == pytest.approx(
        result["return_ratio"], abs=1e-5
    )
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_people_read_where_it_began_and_where_it_ended(tmp_path, capsys):
    finetune("office", "--task", "coffee", "--steps", 4000, "--out", tmp_path / "c")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("office/coffee, planner paper, seed 0: 4000 steps")
    assert "zero-shot  return  82.94 % of the optimum, success  95.00 %" in lines[1]
    assert "few-shot" in lines[2]


def test_an_unobserved_count_is_remarked_on_stderr(tmp_path, capsys):
    finetune("office", "--task", "long", "--steps", 4000, "--out", tmp_path / "c", "--json")
    assert "not all observed" in capsys.readouterr().err.replace("\n", " ")


def test_resume_ends_with_the_same_bits(tmp_path, capsys):
    finetune(*STRICT, "--steps", 12_000, "--seed", 2, "--out", tmp_path / "a", "--json")
    whole = json.loads(capsys.readouterr().out)
    finetune(*STRICT, "--steps", 4000, "--seed", 2, "--out", tmp_path / "b", "--json")
    capsys.readouterr()
    finetune(*STRICT, "--steps", 12_000, "--out", tmp_path / "b", "--resume", "--json")
    resumed = json.loads(capsys.readouterr().out)
    assert resumed["digest"] == whole["digest"]
    assert (resumed["seed"], resumed["steps"]) == (2, 12_000)


def test_on_top_of_networks_the_gain_is_proved_in_worlds_of_its_own(tmp_path, capsys):
    skills = skills_file(tmp_path / "skills", SIDES)
    small = ("hidden=32", "first_rounds=2", "validate_rounds=2", "validation_worlds=20")
    small += ("proof_worlds=20", "batch=64", "memory=1000", "learning_rate=0.003", "hold=4")
    settings = [part for text in small for part in ("--set", text)]
    files = "--curve", tmp_path / "c.csv", "--plot", tmp_path / "c.png", "--out", tmp_path / "few"
    asked = "side_world:SIDES", "--task", "both", "--checkpoint", skills
    assert finetune(*asked, "--steps", 600, *settings, *files, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["score_is"], result["planner"]) == ("discounted return", "product")
    assert result["score"] >= result["zero_shot_score"]
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert len(rows) > 1
    assert tuple(rows[0]) == TASK_COLUMNS
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert finetune(*asked, "--steps", 600, "--out", tmp_path / "few", "--resume") == 0
    assert "zero-shot  success 100.00 %, discounted return 0." in capsys.readouterr().out
    options = EvaluationOptions(
        task="both", episodes=20, checkpoint=skills, finetuned=tmp_path / "few"
    )
    assert evaluate(SIDES, options).tasks["both"].success == 1
    with pytest.raises(SkmError, match="learned for another mission"):
        evaluate(SIDES, replace(options, task="near"))
    with pytest.raises(SkmError, match="one --task"):
        evaluate(SIDES, replace(options, task="all"))


def test_refusals(tmp_path):
    out = "--out", tmp_path / "c"
    finetune(*STRICT, "--steps", 4000, *out)
    with pytest.raises(CheckpointError, match=r"exists; --resume continues it, --overwrite"):
        finetune(*STRICT, *out)
    with pytest.raises(SkmError, match=r"was begun with alpha 1\.0, so it cannot go on with 0\.1"):
        finetune(*STRICT, *out, "--alpha", 0.1, "--resume")
    with pytest.raises(SkmError, match="was begun with task coffee_strict"):
        finetune("office_absorbing", "--task", "coffee", *out, "--resume")
    with pytest.raises(SkmError, match="give one"):
        finetune(*STRICT, *out, "--resume", "--overwrite")
    with pytest.raises(SkmError, match="at least 1"):
        finetune(*STRICT, *out, "--overwrite", "--steps", 0)
    with pytest.raises(SkmError, match=r"not 'c.txt'"):
        finetune(*STRICT, *out, "--overwrite", "--plot", tmp_path / "c.txt")
