"""Domains for skm: importing this package makes their environments known to Gymnasium.

`gymnasium.make("skm/Office-v0")` gives one environment, `gymnasium.make_vec("skm/Office-v0",
num_envs=N)` a batch that steps as arrays. Simulators are imported only when one is made.
"""

from __future__ import annotations

import gymnasium

from skm_sim.domain import Domain, DomainError, DomainSpec, Task, domain_names, get_domain

__all__ = ["Domain", "DomainError", "DomainSpec", "Task", "domain_names", "get_domain"]

for _env_id, _options in (
    ("skm/Office-v0", {}),
    ("skm/OfficeAbsorbing-v0", {"absorbing": ((9, 11),)}),
):
    gymnasium.register(
        _env_id,
        entry_point="skm_sim.office.environment:OfficeEnv",
        vector_entry_point="skm_sim.office.environment:OfficeVectorEnv",
        max_episode_steps=1000,
        kwargs=_options,
    )

gymnasium.register(
    "skm/Safety-v0",
    entry_point="skm_sim.safety.environment:SafetyEnv",
    vector_entry_point="skm_sim.safety.environment:SafetyVectorEnv",
    max_episode_steps=500,
)

gymnasium.register(
    "skm/MovingTargets-v0",
    entry_point="skm_sim.moving_targets.environment:MovingTargetsEnv",
    vector_entry_point="skm_sim.moving_targets.environment:MovingTargetsVectorEnv",
    max_episode_steps=50,
)
gymnasium.register(
    "skm/SafetyGymnasium-v0",
    entry_point="skm_sim.safety.gymnasium_backend:SafetyGymnasiumEnv",
    max_episode_steps=500,
)
