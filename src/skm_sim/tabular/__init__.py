"""Worlds of finitely many states as arrays, and Gymnasium environments over them."""

from skm_sim.tabular.drawn import DrawnTabularEnv, PathRenderer
from skm_sim.tabular.environments import TabularEnv, TabularVectorEnv, is_tabular, tabular_model
from skm_sim.tabular.model import TabularModel

__all__ = [
    "DrawnTabularEnv",
    "PathRenderer",
    "TabularEnv",
    "TabularModel",
    "TabularVectorEnv",
    "is_tabular",
    "tabular_model",
]
