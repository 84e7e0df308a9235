"""The peers' ZoneEnv in the place of ours. Theirs is not there: ours is shown in their words."""

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_sim import get_domain
from skm_sim.spec import DomainError
from skm_sim.zones.env import ZonesEnv
from skm_sim.zones.peers_env import SENSORS, PeersZonesEnv

WIDTHS = (3, 3, 3, 3, 4, 16, 16, 16, 16)


class InTheirWords:
    """`ZonesEnv` with dictionaries, and labels as a list that is empty at a reset."""

    def __init__(self, left_out=""):
        self.env = ZonesEnv()
        names = (*SENSORS, *(f"{colour}_zones_lidar" for colour in self.env.propositions))
        self.names = [name for name in names if name != left_out]

    def shown(self, seen):
        parts = np.split(seen, np.cumsum(WIDTHS)[:-1])
        return dict(reversed(list(zip(self.names, parts, strict=False))))

    def reset(self, *, seed=None):
        seen, _ = self.env.reset(seed=seed)
        return self.shown(seen), {"propositions": []}

    def step(self, action):
        seen, reward, ended, cut, info = self.env.step(action)
        return self.shown(seen), reward, ended, cut, {"propositions": sorted(info["labels"])}


def test_a_mission_goes_the_same_way_in_both():
    zones = get_domain("zones")
    skills = load_primitives(zones)
    mission = compile_mission(
        "!(magenta | yellow) U (blue & F green)", propositions=skills.propositions
    )
    ours, theirs = (
        run_episode(env, skills, make_policy(mission, skills), max_steps=1000, seed=3)
        for env in (ZonesEnv(), PeersZonesEnv(InTheirWords()))
    )
    assert ours.status == theirs.status
    assert ours.steps == theirs.steps > 50
    np.testing.assert_array_equal(ours.observations[-1], theirs.observations[-1])


def test_what_is_no_zone_env_is_refused():
    with pytest.raises(DomainError, match="shows no 'wall_sensor'; is it a ZoneEnv"):
        PeersZonesEnv(InTheirWords(left_out="wall_sensor")).reset()
    with pytest.raises(DomainError, match="no option 'layout'"):
        PeersZonesEnv(InTheirWords()).reset(options={"layout": {}})
