"""The Office Gridworld as data: propositions, constraint, tasks (the paper's office task table)."""

from __future__ import annotations

from typing import Any, Final

from skm_sim.spec import DomainSpec, Registration, Task, task_table

PROPOSITIONS = (
    "A",
    "B",
    "C",
    "D",
    "decoration",
    "coffee",
    "mail",
    "office",
    "mail_present",
    "people_present",
)
CONSTRAINTS = ("decoration",)
TASK_STEPS = 1000

_COFFEE = "F(coffee & X F office) & G !decoration"
_PATROL = "F(A & X F(B & X F(C & X F D))) & G !decoration"
_COFFEE_MAIL = (
    "(F(coffee & X F(mail & X F office)) | F(mail & X F(coffee & X F office))) & G !decoration"
)
_LONG = (
    "F(mail & X F(office & X(!mail U (!mail_present & mail & X F(coffee &"
    " X(!office U (!people_present & office &"
    " X F(A & X F(B & X F(C & X F(D & X F A)))))))))))"
    " & G !decoration"
)
_COFFEE_STRICT = "F office & (!office U coffee)"

_COMMON: dict[str, Any] = {
    "propositions": PROPOSITIONS,
    "constraints": CONSTRAINTS,
    "gamma": 0.9,
    "primitive_steps": 100,
    "figures": {
        "values": "skm_sim.office.trajectories:draw_values",
        "trajectories": "skm_sim.office.trajectories:OfficePaths",
    },
}


def _registration(env_id: str, **options: Any) -> Registration:  # noqa: ANN401
    return Registration(
        env_id,
        entry_point="skm_sim.office.env:OfficeEnv",
        vector_entry_point="skm_sim.office.env:OfficeVectorEnv",
        max_episode_steps=1000,
        kwargs=options,
    )


OFFICE = DomainSpec(
    name="office",
    env_id="skm/Office-v0",
    environments=(_registration("skm/Office-v0"),),
    checkpoint="skm_primitives:checkpoints/office",
    **_COMMON,
    tasks=task_table(
        [
            Task("coffee", _COFFEE, repeat=False, max_steps=TASK_STEPS),
            Task("patrol", _PATROL, repeat=False, max_steps=TASK_STEPS),
            Task("coffee_mail", _COFFEE_MAIL, repeat=False, max_steps=TASK_STEPS),
            Task("long", _LONG, repeat=False, max_steps=TASK_STEPS),
        ]
    ),
)

OFFICE_ABSORBING = DomainSpec(
    name="office_absorbing",
    env_id="skm/OfficeAbsorbing-v0",
    environments=(_registration("skm/OfficeAbsorbing-v0", absorbing=((9, 11),)),),
    checkpoint="skm_primitives:checkpoints/office_absorbing",
    **_COMMON,
    tasks=task_table(
        [
            Task("coffee", _COFFEE, repeat=False, max_steps=TASK_STEPS),
            Task("coffee_strict", _COFFEE_STRICT, repeat=False, max_steps=TASK_STEPS),
        ]
    ),
)


# A mission for the office with each of the 22 mission patterns, which `skm patterns` shows.


EXAMPLES: Final = {
    "visit": "visit coffee, mail; never decoration",
    "sequenced visit": "visit coffee, office in sequence; never decoration",
    "ordered visit": "visit coffee, mail in order then office; never decoration",
    "strict ordered visit": "visit A, B, C in strict order; never decoration",
    "fair visit": "visit A, C fairly; never decoration",
    "patrolling": "patrol A, C; never decoration",
    "sequenced patrolling": "patrol A, B, C in sequence; never decoration",
    "ordered patrolling": "patrol A, B in order; never decoration",
    "strict ordered patrolling": "patrol A, B in strict order; never decoration",
    "fair patrolling": "patrol A, C fairly; never decoration",
    "past avoidance": "avoid office until coffee; visit office",
    "global avoidance": "visit mail; never decoration",
    "future avoidance": "visit mail, coffee, office in sequence; never mail after coffee",
    "upper restricted avoidance": "visit A, B in sequence; visit A at most 2 times",
    "lower restricted avoidance": "visit A at least 2 times; never decoration",
    "exact restricted avoidance": "visit coffee exactly 2 times; visit office; never decoration",
    "instantaneous reaction": "visit mail; whenever decoration be at office at once",
    "delayed reaction": "patrol mail; whenever mail go to office; never decoration",
    "prompt reaction": "visit coffee then office; whenever coffee do not coffee in the next step",
    "bound reaction": "visit mail; exactly when decoration be at coffee at once",
    "bound delay": "patrol mail; exactly when decoration be at coffee in the next step",
    "wait": "wait at not decoration until coffee",
}
"""Missions in plain words, by the name of the pattern."""
