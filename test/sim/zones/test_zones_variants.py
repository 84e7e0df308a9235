"""Ten colours, raw lidars, and the arenas that zones are learned in."""

import re

import numpy as np

from skm_machine import compile_mission
from skm_sim import get_domain
from skm_sim.zones.encoder import RawZonesEncoder, ZonesEncoder
from skm_sim.zones.layout import (
    COVERED,
    COVERED_OFFSET,
    HIDDEN_OFFSET,
    Arena,
    sample_layouts,
    training_layouts,
)
from skm_sim.zones.spec import RAW_OBJECTS
from skm_sim.zones.trials import TEN_SKILL_TRIALS, TEN_TRIALS
from skm_sim.zones.variants import AVOIDED, HARD_TEN, ZONES_RAW

TEN = get_domain("zones_ten")


def test_in_some_of_the_arenas_learned_in_colours_lie_on_others_or_hide_them():
    zones = training_layouts(np.random.default_rng(0), 2000).zones
    gaps = np.linalg.norm(zones[:, :, None] - zones[:, None], axis=-1).max(-1)
    gaps[:, range(4), range(4)] = np.inf
    near = gaps.min((1, 2))
    covered = near <= COVERED_OFFSET
    assert abs(covered.mean() - COVERED) < 0.03
    assert near[~covered].min() >= Arena().apart
    assert 0.6 < (near[covered] <= HIDDEN_OFFSET).mean() < 0.7  # Hidden ones, and some at random.
    assert (gaps[covered] <= COVERED_OFFSET).sum((1, 2)).min() >= 4  # Two pairs, each seen twice.
    assert len(np.unique(gaps[covered].reshape(-1, 16).argmin(1))) == 6  # Every pair of colours.


def test_a_task_of_ten_colours_avoids_three_on_each_way_and_none_that_it_goes_to():
    for task in TEN_TRIALS.tasks(TEN, "all"):
        avoided = [set(names.split(" | ")) for names in re.findall(r"!\(([^()]+)\)", task.formula)]
        wanted = set(re.findall(r"[a-z]+", re.sub(r"!\([^()]+\)", "", task.formula)))
        assert avoided
        assert all(len(names) == AVOIDED and not names & wanted for names in avoided)
        assert compile_mission(task.formula, propositions=TEN.propositions).machine.satisfiable


def test_hard_missions_of_ten_colours_name_them():
    tasks = TEN_TRIALS.tasks(TEN, "hard")
    assert [task.formula for task in tasks] == list(HARD_TEN.values())
    for task in tasks:
        compile_mission(task.formula, propositions=TEN.propositions)


def test_trials_of_ten_colours_are_drawn_with_ten():
    drawn = TEN_TRIALS.draw(next(iter(TEN.tasks.values())), 3, 0, "random")
    assert [options["layout"].colours for options in drawn.options] == [10] * 3
    colours = frozenset(TEN.propositions)
    skill = TEN_SKILL_TRIALS.skills["blue, 3 avoided"]
    assert skill.satisfied_by(frozenset({"blue"}), colours - {"green", "magenta", "yellow"})
    assert not skill.satisfied_by(frozenset({"blue"}), colours)
    options, share = TEN_SKILL_TRIALS.worlds(skill, np.random.default_rng(0), 2)
    assert (options["layout"].shape, share) == ((2,), 1.0)


def test_raw_bins_are_shown_as_they_are_with_the_brightest_last():
    env = ZONES_RAW.make_batch(4)
    seen, _ = env.reset(seed=0, options={"layout": sample_layouts(np.random.default_rng(1), 4)})
    env.close()
    features = RawZonesEncoder().features(seen)
    assert features.shape == (4, RAW_OBJECTS.inputs)
    np.testing.assert_array_equal(features[:, :11], ZonesEncoder().features(seen)[:, :11])
    kinds = features[:, 11:].reshape(4, 4, 17)
    np.testing.assert_allclose(kinds[..., :16], seen[:, 16:].reshape(4, 4, 16), atol=1e-6)
    np.testing.assert_array_equal(kinds[..., 16], kinds[..., :16].max(-1))
