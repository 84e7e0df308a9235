"""Worlds of finitely many states as arrays, and Gymnasium environments over them."""

from skm_sim.tabular.environments import TabularEnv, TabularVectorEnv
from skm_sim.tabular.model import TabularModel

__all__ = ["TabularEnv", "TabularModel", "TabularVectorEnv"]
