"""Gymnasium's toy-text environments: checked, trained, evaluated beside the optimum."""

import json
import sys
from pathlib import Path

import pytest

from skm_cli.main import main
from skm_sim import check_domain, get_domain
from skm_sim.true_world import finite_world

FOLDER = Path(__file__).parent
STATES = {"TAXI_CITY": 404, "DRY_CLIFF": 38, "SLIPPERY_CLIFF": 38, "FROZEN_LAKE": 16}


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])


@pytest.mark.parametrize("name", STATES)
def test_they_are_domains_whose_worlds_are_known_exactly(name):
    spec = get_domain(f"toy_text:{name}")
    assert check_domain(spec) == []
    world = finite_world(spec, range(300))
    assert (world.states, world.exact) == (STATES[name], True)
    assert world.deterministic == (name != "SLIPPERY_CLIFF")


def test_a_trained_table_is_optimal_on_missions_drawn_from_the_domain(tmp_path, capsys):
    place, out = "toy_text:FROZEN_LAKE", str(tmp_path / "lake")
    assert main(["train", place, "--steps", "16000", "--out", out]) == 0
    capsys.readouterr()
    assert main(["eval", place, "--checkpoint", out, "--missions", "8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["success"], found["return_ratio"], found["runs"]) == (1.0, 1.0, 8)
