"""CRM: Q-learning with counterfactual experiences (Icarte et al., section 4.1), and CRM-RS.

Each step of the world is learned from in every machine state ū, of every mission, that the machine could
have been in: Q(s,ū,a) moves towards δ_r(ū,L(s')) + γ max_a' Q(s', δ_u(ū,L(s')), a'). States that
no state leads to under the labels last shown are left out, as in the authors' code.
"""

from __future__ import annotations

from skm_primitives.baselines.problem import Machines, Numbers, World, compiled
from skm_primitives.baselines.q_learning import learn_product
from skm_sim.arrays import FloatArray


@compiled
def learn(
    world: World, machines: Machines, potential: FloatArray, numbers: Numbers, seed: int
) -> FloatArray:
    """Learn; return the mean return of each evaluation."""
    return learn_product(world, machines, potential, numbers, seed, True)
