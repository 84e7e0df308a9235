"""A real robot in the part of a domain's own: Safety's skills, objects from a file, on the Car."""

import importlib
import math
import sys

import numpy as np
import pytest

from skm_machine.errors import SkmError
from skm_primitives import load_primitives
from skm_primitives.evaluation.robot_trials import run_embodiments
from skm_sim import get_domain
from skm_sim.robots.drive import DriveConfig
from skm_sim.robots.embodiment import make_drive_context
from skm_sim.robots.pose import REST, Limits, Velocity
from skm_sim.robots.simulated import SensorModel
from skm_sim.safety.robot import SafetyEmbodiment

ARENA = "buttons: [[1.4, 0], [-1.4, 0], [0, 1.4]]\nregions: [[0, 0]]\ncylinder: 2\n"


@pytest.fixture
def arena(tmp_path):
    path = tmp_path / "arena.yaml"
    path.write_text(ARENA)
    return path


def test_its_numbers_are_those_of_the_domains_own_robot(arena):
    """At rest where the domain's robot starts, all 60 are the same."""
    env = get_domain("safety").make()
    layout = {
        "robot": [-0.7, 0.9, 0.6],
        "buttons": [[1.4, 0], [-1.4, 0], [0, 1.4], [0, 1.4]],
        "regions": [[0, 0], [0, 0]],
        "cylinder": 2,
    }
    observed, info = env.reset(options={"layout": layout})
    embodiment = SafetyEmbodiment(arena)
    assert embodiment.observe((-0.7, 0.9, 0.6), REST) == pytest.approx(observed, abs=1e-9)
    assert embodiment.places.labels_at(-0.7, 0.9) == info["labels"]


def test_an_action_leads_where_it_leads_the_domains_own_robot_wherever_the_arena_is(arena):
    here = SafetyEmbodiment(arena)
    arena.write_text(ARENA + "origin: [10, -5, 1.0]\n")
    there = SafetyEmbodiment(arena)
    action = np.array([0.05, 0.5])
    x, y, heading = here.ahead((0.5, 0.5, 0.0), Velocity(0.4, 0.0), action)
    assert 0.5 < x < 0.6
    assert heading > 0.03
    start = 10 + 0.5 * math.cos(1) - 0.5 * math.sin(1), -5 + 0.5 * math.sin(1) + 0.5 * math.cos(1)
    end = there.ahead((*start, 1.0), Velocity(0.4, 0.0), action)
    assert end[2] - 1.0 == pytest.approx(heading)
    assert math.dist(end[:2], start) == pytest.approx(math.dist((x, y), (0.5, 0.5)))


@pytest.mark.parametrize("domain", ["safety", "safety_region"])
def test_the_car_does_the_tasks_by_its_true_pose(domain):
    """It is no point robot, so that skills which look closely may get lost: see docs/how-to/robots.md.

    Of 40 runs 34 and 35 succeed by the true pose (`skm bench robot --tasks 1 2 --starts 20 --seed 3`).
    """
    spec = get_domain(domain)
    runs = run_embodiments(
        spec,
        load_primitives(spec),
        ["1", "2"],
        5,
        seed=3,
        sensors=SensorModel(),
        say=lambda _: None,
    )
    assert sum(run.succeeded for run in runs) >= 7


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("buttons: [[0, 0]]\nregions: [[0, 0]]\ncylinder: 1", "must be a button from 0 to 0"),
        ("buttons: []\nregions: [[0, 0]]", "buttons must be a list of 1 to 4 points"),
        ("buttons: [[0, 9]]\nregions: [[0, 0]]", "which `origin` puts elsewhere"),
        ("butons: [[0, 0]]\nregions: [[0, 0]]", "did you mean 'buttons'"),
    ],
)
def test_objects_that_make_no_sense_are_refused_with_a_sentence(arena, text, complaint):
    arena.write_text(text)
    with pytest.raises(SkmError, match=complaint):
        SafetyEmbodiment(arena)


@pytest.mark.parametrize(
    ("domain", "complaint"),
    [
        ("safety", "needs the parameter objects"),
        ("office", "is on no map, and says nothing"),
        ("no_such_folder", "no domain on a map"),
        ("", "needs a domain on a map"),
    ],
)
def test_a_domain_that_no_robot_can_be_driven_in_is_refused(domain, complaint):
    with pytest.raises(SkmError, match=complaint):
        make_drive_context(domain, "", 0.0, 0.0, Limits(), DriveConfig())


def test_a_simulator_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "irsim", None)
    bodies = importlib.import_module("skm_sim.robots.simulated")
    with pytest.raises(SkmError, match="pip install"):
        bodies.make_robot_model("irsim", None, (0.0, 0.0, 0.0))
    with pytest.raises(SkmError, match="did you mean 'car'"):
        bodies.make_robot_model("cat", None, (0.0, 0.0, 0.0))
