"""The Safety domain as data: a point robot among buttons, regions and a cylinder."""

from __future__ import annotations

from dataclasses import replace

from skm_sim.object_centric import ObjectKinds
from skm_sim.spec import DomainSpec, Registration, Task, task_table

PROPOSITIONS = ("button", "cylinder", "region")
PAPER_CONSTRAINTS = ("region",)
"""What the paper's skills can avoid; those that come with skm avoid anything."""

_FORMULAS = {
    "1": "F(button & X F cylinder)",
    "2": "F(button & X F cylinder) & G !region",
    "3": "F(button & X F((cylinder & !region) & X F((button & region) & X F cylinder)))",
    "4": "F(button & X F(cylinder & region))",
    "5": "F(cylinder & X F((button & region) & X F cylinder))",
    "6": "F(region & X F((button & cylinder) & X(F cylinder & G !region)))",
}
_SHORT_TASKS = ("1", "2")
AVOID = {
    "button_later": "(!button U region) & F button",
    "no_button": "F region & G !button",
    "no_other_button": "F(region & X F cylinder) & G(!button | cylinder)",
    "no_cylinder": "G F button & G F region & G !cylinder",
}
"""Missions that avoid a button or the cylinder: `--task avoid`."""

_ALLOWED = tuple(
    (*others, *region)
    for region in ((), ("region",))
    for others in ((), ("button",), ("button", "cylinder"))
)
"""What a goal may allow to be touched: a robot that touches the cylinder touches the button under it."""

SAFETY = DomainSpec(
    name="safety",
    env_id="skm/Safety-v0",
    environments=(
        Registration(
            "skm/Safety-v0",
            entry_point="skm_sim.safety.env:SafetyEnv",
            vector_entry_point="skm_sim.safety.env:SafetyVectorEnv",
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
    encoder="skm_sim.safety.encoder:FittedSafetyEncoder",
    objects=ObjectKinds(
        own=60,
        kinds=("cylinder", "button", "region"),
        each=(1, 4, 2),
        features=7,
        allowed=_ALLOWED,
        shown=(("button", "cylinder"), ("button",), ("region",)),
        unlikely=(("button", "cylinder", "region"),),
    ),
    validation="skm_sim.safety.trials:SKILL_TRIALS",
    trials="skm_sim.safety.trials:TRIALS",
    brake="skm_sim.safety_gym.brake:brake",
    embodiment="skm_sim.safety.robot:SafetyEmbodiment",
    settings={"horizon": 1_280_000, "batch": 512, "validation_layouts": 128},
    figures={"trajectories": "skm_sim.safety.drawing:SafetyPaths"},
    propositions=PROPOSITIONS,
    constraints=PROPOSITIONS,
    gamma=0.99,
    primitive_steps=100,
    step_seconds=0.1,
    tasks=task_table(
        Task(name, formula, repeat=False, max_steps=200 if name in _SHORT_TASKS else 500)
        for name, formula in _FORMULAS.items()
    ),
)

SAFETY_REGION = replace(
    SAFETY,
    name="safety_region",
    env_id="skm/SafetyRegion-v0",
    environments=(
        replace(
            SAFETY.environments[0],
            id="skm/SafetyRegion-v0",
            kwargs={"constraints": PAPER_CONSTRAINTS},
        ),
    ),
    constraints=PAPER_CONSTRAINTS,
    checkpoint="skm_primitives:checkpoints/safety_region",
    encoder="skm_sim.safety.encoder:SafetyEncoder",
    objects=None,
    validation="skm_sim.safety.trials:PAPER_SKILL_TRIALS",
    settings={},
)
"""The same world with the paper's constraint alone: two goals for each label set, also for TD3."""
