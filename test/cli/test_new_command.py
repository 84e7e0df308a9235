"""`skm new domain` writes packages that pass their own tests, train, and run missions."""

import os
import subprocess
import sys

import pytest

from skm_cli.main import main


def python(folder, name, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(folder / name / "src")}
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        cwd=folder / name,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_new_domain_passes_its_test_trains_and_runs_a_mission(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "domain", "kitchen"]) == 0
    assert "README.md says what to do next" in capsys.readouterr().out
    tested = python(tmp_path, "kitchen", "pytest", "-q", "test")
    assert tested.returncode == 0, tested.stdout
    spec, out = "kitchen.spec:SPEC", tmp_path / "kitchen.safetensors"
    done = python(tmp_path, "kitchen", "skm_cli.main", "train", spec, "--steps", 8000, "--out", out)
    assert done.returncode == 0, done.stderr
    mission = "F(charger & X F shelf) & G !wet"
    run = python(
        tmp_path, "kitchen", "skm_cli.main", "run", spec, mission, "--checkpoint", out, "--seed", 2
    )
    assert "accepted after" in run.stdout, run.stderr


@pytest.mark.parametrize(
    ("env_id", "text"),
    [
        ("MountainCarContinuous-v0", "observation[..., 0] <="),
        ("CliffWalking-v1", "observation =="),
    ],
)
def test_an_environment_is_wrapped_with_predicates_to_begin_with(tmp_path, env_id, text):
    assert main(["new", "domain", "it", "--from", env_id, "--out", str(tmp_path / "it")]) == 0
    assert text in (tmp_path / "it" / "src" / "it" / "environment.py").read_text()
    tested = python(tmp_path, "it", "pytest", "-q", "test")
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["My Kitchen"], "such as kitchen"),
        (["class"], "such as kitchen"),
        (["kitchen", "--out", "."], "exists"),
        (["kitchen", "--from", "No-Such-v9"], "Gymnasium does not know"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "domain", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
