"""A domain of somebody else's environment in one call.

    LAKE = wrap_domain(
        "lake",
        "FrozenLake-v1",
        {"hut": lambda cell, info, env: cell == 0, "gift": lambda cell, info, env: cell == 15},
        is_slippery=False,
    )

What the call takes for granted, `label_env` and `DomainSpec` let one say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import gymnasium

from skm_sim.faults import DomainError, said
from skm_sim.labels import LabelledEnv, Predicate, label_env
from skm_sim.observations import Key
from skm_sim.spec import DomainSpec, Registration, Task, task_table

TASK_STEPS: Final = 1000
"""Steps after which an episode of a task is cut off."""


def wrap_domain(
    name: str,
    env: str | Callable[..., gymnasium.Env[Any, Any]],
    propositions: Mapping[str, Predicate],
    *,
    constraints: Sequence[str] = (),
    observation_key: Key | None = None,
    tasks: Sequence[str] = (),
    gamma: float = 0.99,
    primitive_steps: int = 100,
    **options: Any,  # noqa: ANN401 - whatever the environment takes
) -> DomainSpec:
    """Return the domain of an environment: its id, as `gymnasium.make` takes it, or what makes it.

    `propositions`, `constraints` and `observation_key` are those of `label_env`; `tasks` are missions,
    named 1, 2, …; γ and `primitive_steps`, the length of an episode of learning, those of `DomainSpec`.
    All other options are the environment's.
    """
    place = f"skm_wrapped/{name}-v0"
    made = partial(_make, env, dict(propositions), tuple(constraints), observation_key, options)
    return DomainSpec(
        name=name,
        env_id=place,
        environments=(Registration(place, made, TASK_STEPS),),
        propositions=tuple(propositions),
        constraints=tuple(constraints),
        gamma=gamma,
        primitive_steps=primitive_steps,
        tasks=task_table(
            Task(str(number), text, repeat=False, max_steps=TASK_STEPS)
            for number, text in enumerate(tasks, start=1)
        ),
    )


def _make(
    env: str | Callable[..., gymnasium.Env[Any, Any]],
    propositions: Mapping[str, Predicate],
    constraints: tuple[str, ...],
    key: Key | None,
    options: Mapping[str, Any],
    render_mode: str | None = None,
) -> LabelledEnv:
    """Make one environment; a mode to render in only where one is asked for: not all have any."""
    more: dict[str, Any] = {} if render_mode is None else {"render_mode": render_mode}
    if not isinstance(env, str):
        return label_env(env(**options, **more), propositions, constraints, key)
    try:
        made = gymnasium.make(env, **options, **more)
    except gymnasium.error.UnregisteredEnv as error:
        raise DomainError(
            f"Gymnasium does not know '{env}' ({said(error).rstrip('.')}); a package that registers it"
            " on import is named before a colon, as in 'minigrid:MiniGrid-Empty-5x5-v0'."
        ) from error
    return label_env(made, propositions, constraints, key)
