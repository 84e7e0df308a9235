"""Environments of others: each is a domain of at most 20 lines, and some are known exactly."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from skm_cli.main import main
from skm_sim import DomainSpec, check_domain, get_domain
from skm_sim.true_world import finite_world

FOLDER = Path(__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("test_"))
STATES = {
    "taxi:TAXI": 404,
    "cliff_walking:DRY": 38,
    "cliff_walking:SLIPPERY": 38,
    "frozen_lake:SMOOTH": 16,
}


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])


@pytest.mark.parametrize("name", MODULES)
def test_each_is_a_domain_of_at_most_20_lines(name):
    lines = (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines[1:]) <= 20
    found = [
        part
        for part in vars(importlib.import_module(name)).values()
        if isinstance(part, DomainSpec)
    ]
    assert found
    for spec in found:
        env = spec.make()
        _, info = env.reset(seed=0)
        _, _, _, _, after = env.step(env.action_space.sample())
        assert info["labels"] | after["labels"] <= set(spec.propositions)
        env.close()


@pytest.mark.parametrize("name", STATES)
def test_some_are_worlds_that_are_known_exactly(name):
    spec = get_domain(name)
    assert check_domain(spec) == []
    world = finite_world(spec, range(300))
    assert (world.states, world.exact) == (STATES[name], True)
    assert world.deterministic == ("SLIPPERY" not in name)


def test_a_trained_table_is_optimal_on_missions_drawn_from_the_domain(tmp_path, capsys):
    place, out = "frozen_lake:SMOOTH", str(tmp_path / "lake")
    assert main(["train", place, "--steps", "16000", "--out", out]) == 0
    capsys.readouterr()
    assert main(["eval", place, "--checkpoint", out, "--missions", "8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["success"], found["return_ratio"], found["runs"]) == (1.0, 1.0, 8)
