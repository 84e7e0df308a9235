"""The primitives of Moving Targets that come with skm, through the pictures."""

from skm_primitives.deep.pixel_report import skill_report
from skm_primitives.primitives import default_checkpoint, load_primitives
from skm_sim.domain import get_domain


def test_shipped_primitives_do_their_skills_quickly_and_well():
    """Few boards, to be quick; 500 boards of each skill are reported in the documentation."""
    primitives = load_primitives(default_checkpoint("moving_targets"), get_domain("moving_targets"))
    report = skill_report(primitives, boards=20, seed=77)
    groups = report["groups"]["executed"]
    assert min(groups[name] for name in ("kind", "colour", "shape")) == 1.0
    assert min(groups[name] for name in ("only", "without")) > 0.93
    assert report["milliseconds_per_step"] < 5
    assert primitives.goal_seen.min() > 0
    assert 0.8 < primitives.goal_to_goal.mean() < 1
