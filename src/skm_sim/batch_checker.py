"""Check that a batch of a domain goes through the same steps as the single environment."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate

_Batch: TypeAlias = VectorEnv[Any, Any, Any]
_Seen: TypeAlias = tuple[object, frozenset[str], bool, bool]

STEPS = 60
LIMIT = 25
"""Steps compared, and the time limit for them, so that resets are among what is compared."""
SEEDS = (5, 6, 7)


def vector_problems(spec: EnvSpec, propositions: Sequence[str]) -> list[str]:
    """Return where `gymnasium.make_vec(id)` is not as it should be, a sentence a problem."""
    options = dict(spec.kwargs)
    try:
        with closing(_batch(spec, 3, options)) as batch:
            problems = _shape_problems(batch, propositions)
        if problems:
            return problems
        with (
            closing(_batch(spec, 1, options)) as batch,
            closing(gymnasium.make(spec.id, max_episode_steps=LIMIT, **options)) as single,
        ):
            for seed in SEEDS:
                problems = problems or _difference(single, batch, propositions, seed)
            return problems
    except Exception as error:
        text = " ".join(str(error).split())
        return [
            f"The batch gymnasium.make_vec('{spec.id}') fails ({type(error).__name__}: {text});"
            " its constructor must take num_envs, max_episode_steps and the options of the single"
            " environment, and its reset and step must work as Gymnasium's VectorEnv says."
        ]


def _batch(spec: EnvSpec, num_envs: int, options: dict[str, Any]) -> _Batch:
    given = {name: value for name, value in options.items() if name != "render_mode"}
    return gymnasium.make_vec(spec.id, num_envs=num_envs, max_episode_steps=LIMIT, **given)


def _shape_problems(batch: _Batch, propositions: Sequence[str]) -> list[str]:
    """Check names, spaces and the label array of a batch of three."""
    problems = []
    if tuple(getattr(batch, "propositions", ())) != tuple(propositions):
        problems.append("Give the batch the same attribute 'propositions' as the single one.")
    if not isinstance(batch.metadata.get("autoreset_mode"), AutoresetMode):
        problems.append("Say in the batch's metadata['autoreset_mode'] how ended episodes restart.")
    batch.action_space.seed(SEEDS[0])
    observation, info = batch.reset(seed=SEEDS[0])
    for when in ("reset", "step"):
        labels = np.asarray(info.get("labels"))
        wanted = (batch.num_envs, len(propositions))
        if labels.shape != wanted or labels.dtype != np.bool_:
            problems.append(
                f"Make info['labels'] of the batch's {when}() a bool array (num_envs,"
                " propositions)."
            )
        if observation not in batch.observation_space:
            problems.append(f"The observation of the batch's {when}() is not in its space.")
        observation, *_, info = batch.step(batch.action_space.sample())
    return problems


def _difference(
    single: gymnasium.Env[Any, Any], batch: _Batch, propositions: Sequence[str], seed: int
) -> list[str]:
    """Walk one environment and a batch of one side by side; return the first difference."""
    single.action_space.seed(seed)
    alone = _seen(*single.reset(seed=seed))
    among = _first(batch, propositions, *batch.reset(seed=seed))
    for step in range(STEPS):
        if not (_close(alone[0], among[0]) and alone[1:] == among[1:]):
            return [
                f"The batch and the single environment differ at step {step} with the same seed and"
                f" actions: observation, labels, terminated and truncated are {among} there and"
                f" {alone} here. With num_envs=1 the batch must do what the single one does."
            ]
        ended = alone[2] or alone[3]
        if ended and batch.metadata["autoreset_mode"] is not AutoresetMode.NEXT_STEP:
            return []
        action = single.action_space.sample()
        observations, _, terminations, truncations, infos = batch.step(np.array([action]))
        ends = (terminations[0], truncations[0])
        among = _first(batch, propositions, observations, infos, ends)
        if ended:  # the batch resets and ignores the action
            alone = _seen(*single.reset())
        else:
            observation, _, terminated, truncated, info = single.step(action)
            alone = _seen(observation, info, terminated, truncated)
    return []


def _seen(
    observation: object, info: dict[str, Any], terminated: bool = False, truncated: bool = False
) -> _Seen:
    return observation, info["labels"], bool(terminated), bool(truncated)


def _first(
    batch: _Batch,
    propositions: Sequence[str],
    observations: object,
    infos: dict[str, Any],
    ends: tuple[bool, bool] = (False, False),
) -> _Seen:
    """Return what the first agent of a batch sees, as the single environment would say it."""
    observation = next(iter(iterate(batch.observation_space, observations)))
    row = infos["labels"][0].tolist()
    labels = frozenset(name for name, true in zip(propositions, row, strict=True) if true)
    return _seen(observation, {"labels": labels}, *ends)


def _close(left: Any, right: Any) -> bool:  # noqa: ANN401 (observations can be anything)
    """Return whether two observations are the same up to rounding."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_close(left[key], right[key]) for key in left)
    return bool(np.allclose(left, right, rtol=1e-5, atol=1e-6))
