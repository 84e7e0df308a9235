"""The Safety domain as data: a point robot among buttons, regions and a cylinder."""

from __future__ import annotations

from skm_sim.domain import DomainSpec, Registration, Task, task_table

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

SAFETY = DomainSpec(
    name="safety",
    env_id="skm/Safety-v0",
    environments=(
        Registration(
            "skm/Safety-v0",
            entry_point="skm_sim.safety.environment:SafetyEnv",
            vector_entry_point="skm_sim.safety.environment:SafetyVectorEnv",
            max_episode_steps=500,
        ),
        # The real safety-gymnasium, to compare with.
        Registration(
            "skm/SafetyGymnasium-v0",
            entry_point="skm_sim.safety.gymnasium_backend:SafetyGymnasiumEnv",
            max_episode_steps=500,
        ),
    ),
    demo="2",
    extra="safety: mujoco",
    checkpoint="skm_primitives:checkpoints/safety",
    body="skm_sim.safety.body:SafetyBody",
    validation="skm_sim.safety.trials:SKILL_TRIALS",
    trials="skm_sim.safety.trials:TRIALS",
    brake="skm_sim.safety.brake:brake",
    role="skm_sim.safety.robot:SafetyRole",
    figures={"trajectories": "skm_sim.safety.trajectories:SafetyPaths"},
    propositions=PROPOSITIONS,
    constraints=CONSTRAINTS,
    gamma=0.99,
    primitive_steps=100,
    step_seconds=0.1,
    tasks=task_table(
        Task(name, formula, repeat=False, max_steps=200 if name in _SHORT_TASKS else 500)
        for name, formula in _FORMULAS.items()
    ),
)
