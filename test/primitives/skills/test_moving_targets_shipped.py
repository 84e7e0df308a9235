"""The primitives of Moving Targets that come with skm, through the pictures."""

import json

from skm_cli.main import main
from skm_primitives.skills.loading import load_primitives
from skm_sim.registry import get_domain


def test_shipped_primitives_do_their_skills_quickly_and_well(capsys):
    """Few boards, to be quick; 500 boards of each skill are reported in the documentation."""
    command = ["eval", "moving_targets", "--task", "skills", "--episodes", "20", "--seed", "77"]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    groups = report["groups"]["executed"]
    assert min(groups[name] for name in ("kind", "colour", "shape")) == 1.0
    assert min(groups[name] for name in ("only", "without")) > 0.93
    assert report["milliseconds_per_step"] < 5


def test_shipped_primitives_know_all_goals():
    primitives = load_primitives(get_domain("moving_targets"))
    assert primitives.goal_seen.min() > 0
    assert 0.8 < primitives.world_model.values.mean() < 1


def test_a_table_of_skills_is_for_people(capsys):
    assert main(["eval", "moving_targets", "--task", "skills", "--episodes", "2"]) == 0
    shown = capsys.readouterr().out
    assert "only purple circle" in shown
    assert "a composed step" in shown
