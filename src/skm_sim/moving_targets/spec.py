"""Moving Targets as data: propositions, constraints and the paper's four tasks, which repeat forever."""

from __future__ import annotations

from skm_sim.domain import DomainSpec, Task, task_table

COLOURS = ("beige", "blue", "purple")
SHAPES = ("square", "circle")
PROPOSITIONS = (*COLOURS, *SHAPES)
CONSTRAINTS = PROPOSITIONS
"""Every proposition is also a constraint."""

TASK_STEPS = 50

MOVING_TARGETS = DomainSpec(
    name="moving_targets",
    env_id="skm/MovingTargets-v0",
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
