"""`skm/Safety-v0` against the real safety-gymnasium, step by step: recorded, and live if installed."""

import numpy as np
import pytest

from safety_oracle import FREE, RECORD, roll_out
from skm_sim.safety.env import SafetyEnv
from skm_sim.safety.gymnasium_backend import SafetyGymnasiumEnv, is_installed
from skm_sim.spec import DomainError

ORACLES = ["recorded", *(["live"] if is_installed() else [])]


@pytest.fixture(scope="module", params=ORACLES)
def oracle(request):
    """What safety-gymnasium observes, and in which states its robot touches something."""
    if request.param == "recorded":
        with np.load(RECORD) as record:
            return record["observations"], record["touched"]
    return roll_out(SafetyGymnasiumEnv())


@pytest.fixture(scope="module")
def ours():
    """What skm's environment observes in the same roll-outs."""
    return roll_out(SafetyEnv())[0]


def test_without_contact_observations_agree_to_a_millionth(oracle, ours):
    observations, touched = oracle
    free = ~np.logical_or.accumulate(touched, axis=1)
    assert free[:FREE].mean() > 0.7
    assert np.abs(ours - observations)[free].max() < 1e-6


def test_in_contact_the_two_stay_together(oracle, ours):
    """The robot runs into a button, is thrown back and pushes on: the same geometry collides."""
    observations, touched = oracle
    assert touched[FREE].any()
    gap = np.abs(ours - observations)[FREE]
    assert gap[:, 12:].max() < 1e-6  # where things are
    assert gap.max() < 1e-4  # accelerations of the impact


def test_the_real_one_says_how_to_install_it():
    if is_installed():
        env = SafetyGymnasiumEnv()
        assert env.observation_space.shape == (60,)
    else:
        with pytest.raises(DomainError, match="pip install --no-deps safety-gymnasium"):
            SafetyGymnasiumEnv()
