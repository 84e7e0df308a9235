"""Domains for skm: importing this package makes their environments known to Gymnasium.

`gymnasium.make("skm/Office-v0")` gives one environment, `gymnasium.make_vec("skm/Office-v0",
num_envs=N)` a batch that steps as arrays. Simulators are imported only when one is made, and what is
named here besides domains when it is first asked for (`lazy_exports`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skm_machine.lazy_exports import lazy_exports
from skm_machine.version import __version__
from skm_sim.registry import SHIPPED, domain_names, get_domain
from skm_sim.spec import Domain, DomainError, DomainSpec, Registration, Task, task_table

if TYPE_CHECKING:
    from skm_sim.checker import check_domain
    from skm_sim.labels import label_batch, label_env
    from skm_sim.scene import Shape
    from skm_sim.tabular import TabularEnv, TabularModel, TabularVectorEnv
    from skm_sim.trials import SkillTrials, TaskTrials, TrialSet
    from skm_sim.world import World
    from skm_sim.wrapping import wrap_domain

__getattr__ = lazy_exports(
    __name__,
    {
        "checker": ("check_domain",),
        "labels": (
            "label_batch",
            "label_env",
        ),
        "scene": ("Shape",),
        "tabular": (
            "TabularEnv",
            "TabularModel",
            "TabularVectorEnv",
        ),
        "trials": (
            "SkillTrials",
            "TaskTrials",
            "TrialSet",
        ),
        "world": ("World",),
        "wrapping": ("wrap_domain",),
    },
)

__all__ = [
    "SHIPPED",
    "Domain",
    "DomainError",
    "DomainSpec",
    "Registration",
    "Shape",
    "SkillTrials",
    "TabularEnv",
    "TabularModel",
    "TabularVectorEnv",
    "Task",
    "TaskTrials",
    "TrialSet",
    "World",
    "__version__",
    "check_domain",
    "domain_names",
    "get_domain",
    "label_batch",
    "label_env",
    "task_table",
    "wrap_domain",
]

for _name in SHIPPED:
    get_domain(_name)
