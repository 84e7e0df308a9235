"""The Safety domain as data: a point robot among buttons, regions and a cylinder."""

from __future__ import annotations

from skm_sim.domain import DomainSpec, Task, task_table

PROPOSITIONS = ("button", "cylinder", "region")
CONSTRAINTS = ("region",)

_FORMULAS = {
    "1": "F(button & X F cylinder)",
    "2": "F(button & X F cylinder) & G !region",
    "3": "F(button & X F((cylinder & !region) & X F((button & region) & X F cylinder)))",
    "4": "F(button & X F(cylinder & region))",
    "5": "F(cylinder & X F((button & region) & X F cylinder))",
    "6": "F(region & X F((button & cylinder) & X(F cylinder & G !region)))",
}
_SHORT_TASKS = ("1", "2")

BACKENDS = {"mujoco": "skm/Safety-v0", "safety-gymnasium": "skm/SafetyGymnasium-v0"}
"""Simulators of the domain, by name; the second is an optional extra."""

SAFETY = DomainSpec(
    name="safety",
    env_id=BACKENDS["mujoco"],
    propositions=PROPOSITIONS,
    constraints=CONSTRAINTS,
    gamma=0.99,
    primitive_steps=100,
    tasks=task_table(
        Task(name, formula, repeat=False, max_steps=200 if name in _SHORT_TASKS else 500)
        for name, formula in _FORMULAS.items()
    ),
)
