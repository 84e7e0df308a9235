"""Learners that skill machines are compared with: tabular, compiled, for any mission and any world.

QL, CRM and HRM are after Icarte et al., *Reward Machines: Exploiting Reward Function Structure in
Reinforcement Learning* (JAIR 2022); the shaped ones have a potential from value iteration on the
machine. Settings are those that were in effect in the comparison of the Skill Machines paper
(docs/results/paper.md).
"""

from skm_primitives.baselines.methods import METHODS, Method, run_method
from skm_primitives.baselines.problem import (
    Curves,
    LearningSettings,
    Problem,
    best_return,
    make_problem,
)

__all__ = [
    "METHODS",
    "Curves",
    "LearningSettings",
    "Method",
    "Problem",
    "best_return",
    "make_problem",
    "run_method",
]
