"""Moving Targets as data: propositions, constraints and the paper's four tasks, which repeat forever."""

from __future__ import annotations

from skm_sim.spec import DomainSpec, Registration, Task, task_table

COLOURS = ("beige", "blue", "purple")
SHAPES = ("square", "circle")
PROPOSITIONS = (*COLOURS, *SHAPES)
CONSTRAINTS = PROPOSITIONS
"""Every proposition is also a constraint."""

TASK_STEPS = 50

MOVING_TARGETS = DomainSpec(
    name="moving_targets",
    env_id="skm/MovingTargets-v0",
    environments=(
        Registration(
            "skm/MovingTargets-v0",
            entry_point="skm_sim.moving_targets.env:MovingTargetsEnv",
            vector_entry_point="skm_sim.moving_targets.env:MovingTargetsVectorEnv",
            max_episode_steps=50,
        ),
    ),
    demo="2",
    checkpoint="skm_primitives:checkpoints/moving_targets",
    learner="skm_primitives.learning.moving_targets.learner:PixelLearner",
    generic_settings={
        "pixels": 30,
        "patch": 3,
        "channels": 8,
        "hidden": (1024, 384),
        "members": 1,
        "continuation": True,
        "sets": "all_but_one",
        "momentary": True,
        "backup": "episode",
        "untried": True,
        "explorers": 0.75,
        "episode": 200,
        "explore": (0.1, 0.9),
        "agents": 64,
        "batch": 1200,
        "update_every": 150,
        "replay": 384_000,
        "learning_rate": 2e-3,
        "average_rate": 0.05,
        "gamma": 0.9,
        "action_gap": 0.8,
        "horizon": 600_000,
        "validate_rounds": 6,
        "validation_layouts": 32,
    },
    server="skm_primitives.skills.moving_targets:load",
    trials="skm_sim.moving_targets.trials:TRIALS",
    validation="skm_sim.moving_targets.trials:SKILL_TRIALS",
    skills="skm_primitives.evaluation.moving_targets.skill_report:evaluate_skills",
    exact="skm_primitives.skills.moving_targets:ExactPixelPrimitives",
    figures={"curve": "skm_primitives.learning.moving_targets.validation:CURVE"},
    propositions=PROPOSITIONS,
    constraints=CONSTRAINTS,
    gamma=0.99,
    primitive_steps=50,
    tasks=task_table(
        Task(name, formula, repeat=True, max_steps=TASK_STEPS)
        for name, formula in (
            ("1", "F(circle | square)"),
            ("2", "F(blue & X F(purple & X F((circle | square) & !(blue | purple))))"),
            ("3", "F(blue | square) & G !(blue & square)"),
            ("4", "F((!square & blue) & X F(square & !blue))"),
        )
    ),
)
