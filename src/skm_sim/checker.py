"""Tell someone who writes a domain of their own what is missing, a sentence a problem.

    problems = check_domain("my_package/Kitchen-v0")
    assert not problems, "\n".join(problems)

A problem is what cannot be learned: names and labels that are missing or wrong, spaces that no learner
fits, observations that are no numbers, steps that fail, a native batch that does something else than the
single environment. All else is in `problems.notes`, with the place and the step: seeds that do not
repeat, `info` that differs, observations outside their bounds or of another type, what Gymnasium's
`check_env` says, and that the world is stochastic.
"""

from __future__ import annotations

import contextlib
import copy
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate

from skm_sim.faults import DomainError, made, refuse_many_agents, said
from skm_sim.labels import LabelledEnv
from skm_sim.observations import Misfit, misfits, space_problems
from skm_sim.registry import get_domain
from skm_sim.spec import Domain, DomainSpec, name_problems

# Tell whether chance plays a part in the steps of an environment: whether it is stochastic.
#
# Two ways to find out, and either will do: the same actions from the same start, with other
# chance (the environment's generator is another after the reset); and, where observations are
# numbers of cells, an action that led from one cell to two.


CHANCE_STEPS: Final = 200
CHANCE_EPISODES: Final = 4
STOCHASTIC: Final = (
    "The world is stochastic: the same action in the same state can lead to different states"
    " ({how}). Tables learn how often, and the product planner counts on that; networks learn means."
)


def chance_notes(env: gymnasium.Env[Any, Any]) -> list[str]:
    """Return a sentence if chance plays a part in steps; none where it was not seen to."""
    if (how := _two_ways(env)) or (how := _other_chance(env)):
        return [STOCHASTIC.format(how=how)]
    return []


def _two_ways(env: gymnasium.Env[Any, Any]) -> str:
    """Return which action led from one cell to two."""
    if not isinstance(env.observation_space, Discrete) or not isinstance(
        env.action_space, Discrete
    ):
        return ""
    led: dict[tuple[int, int], int] = {}
    for seed in range(CHANCE_EPISODES):
        env.action_space.seed(seed)
        here, _ = env.reset(seed=seed)
        for _ in range(CHANCE_STEPS):
            action = env.action_space.sample()
            there, _, terminated, truncated, _ = env.step(action)
            before = led.setdefault((int(here), int(action)), int(there))
            if before != int(there):
                return f"action {action} in {int(here)} led to {before} and to {int(there)}"
            here = there
            if terminated or truncated:
                break
    return ""


def _other_chance(env: gymnasium.Env[Any, Any]) -> str:
    """Return that the same actions had other results, with the generator another after the reset."""
    for seed in range(CHANCE_EPISODES):
        if not data_equivalence(_with_chance(env, seed, 1), _with_chance(env, seed, 2)):
            return "seen with the same actions and other chance"
    return ""


def _with_chance(env: gymnasium.Env[Any, Any], seed: int, chance: int) -> list[Any]:
    """Return what is seen in an episode with that seed, all chance after its reset being of another."""
    env.action_space.seed(seed)
    seen = [np.array(env.reset(seed=seed)[0], copy=True)]
    layer: Any = env
    while layer is not None:
        if isinstance(layer, gymnasium.Env):
            layer.np_random = np.random.default_rng(chance)
        layer = getattr(layer, "env", None)
    for _ in range(CHANCE_STEPS):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        seen.append(np.array(observation, copy=True))
        if terminated or truncated:
            break
    return seen


# Check that a batch of a domain goes through the same steps as the single environment.


_Batch: TypeAlias = VectorEnv[Any, Any, Any]
_Seen: TypeAlias = tuple[object, frozenset[str], bool, bool]

BATCH_STEPS = 60
LIMIT = 25
"""Steps compared, and the time limit for them, so that resets are among what is compared."""
SEEDS = (5, 6, 7)


def vector_problems(spec: EnvSpec, propositions: Sequence[str]) -> list[str]:
    """Return where `gymnasium.make_vec(id)` is not as it should be, a sentence a problem."""
    options = dict(spec.kwargs)
    try:
        with closing(_batch(spec, 3, options)) as batch:
            problems = _shape_problems(batch, propositions)
            foreign = getattr(batch.unwrapped, "foreign", False)
        if problems or foreign:
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
    for step in range(BATCH_STEPS):
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


if TYPE_CHECKING:

    class _DomainEnv(gymnasium.Env[Any, Any], Domain):
        """An environment that has passed the check of its attributes."""


STEPS = 200
EPISODES = 4
_ADVICE = ("infinity", "not having a spec", "symmetric and normalized", "unwrapped version")
"""Gymnasium's remarks on matters of taste, or on environments that were not made by their id."""
_REMARK = re.compile(r"(\x1b\[\d+m)|(^WARN: )")


class Findings(list[str]):
    """What is wrong with a domain, a sentence each; and `notes`, what is no fault but worth knowing."""

    def __init__(self, problems: Iterable[str] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(problems)
        self.notes = list(notes)


def check_domain(domain: gymnasium.Env[Any, Any] | DomainSpec | str) -> Findings:
    """Return what is wrong with a domain: sentences that say what to do, none if all is well.

    `domain` is an environment, a Gymnasium id (`skm/Office-v0`), a spec, or a name of one as
    `get_domain` takes it. An environment that was made by its id is also checked as a batch.
    """
    spec: DomainSpec | None = None
    if isinstance(domain, str) and not _is_env_id(domain):
        domain = get_domain(domain)
    if isinstance(domain, DomainSpec):
        domain.register()
        spec, domain = domain, domain.env_id
    try:
        if not isinstance(domain, str):
            refuse_many_agents(domain)
            return _problems(domain.unwrapped, spec)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            env = made(domain)
    except DomainError as error:
        return Findings([_sentence(str(error))])
    with contextlib.closing(env):
        return _problems(env.unwrapped, spec)


def _is_env_id(name: str) -> bool:
    return name in gymnasium.registry or re.search(r"-v\d+$", name) is not None


def _problems(env: gymnasium.Env[Any, Any], spec: DomainSpec | None) -> Findings:
    """Run the checks in the order in which one would fix things."""
    problems = _attribute_problems(env)
    notes: list[str] = []
    if problems:
        return Findings(problems)
    whole = cast("_DomainEnv", env)
    if spec is not None:
        problems += _spec_problems(whole, spec)
    if spec is None or not spec.learner:
        problems += space_problems(env)
    try:
        fresh = _recording(whole)
        notes += _gymnasium_notes(env)
        problems += _episode_problems(whole, notes)
        if not problems:
            strays = _seed_notes(whole, fresh)
            # A batch can be compared with the single environment only where that repeats itself.
            if env.spec is not None and env.spec.vector_entry_point is not None and not strays:
                problems += vector_problems(env.spec, whole.propositions)
            notes += [*strays, *chance_notes(env)]
    except DomainError as error:
        problems.append(_sentence(str(error)))
    except Exception as error:
        problems.append(
            f"The environment fails in reset(), step() or labels() ({said(error)}); every action of"
            " action_space must work in every state, and reset() takes seed= and options=."
        )
    return Findings(dict.fromkeys(problems), dict.fromkeys(notes))


def _attribute_problems(env: gymnasium.Env[Any, Any]) -> list[str]:
    """Check `propositions`, `constraints` and that there is a method `labels`."""
    problems = []
    names: dict[str, Sequence[str]] = {}
    for attribute in ("propositions", "constraints"):
        value = getattr(env, attribute, None)
        if isinstance(value, (tuple, list)) and all(isinstance(name, str) for name in value):
            names[attribute] = value
        else:
            problems.append(
                f"Give the environment an attribute '{attribute}', a tuple of names"
                f" (it is {value!r} now)."
            )
    if len(names) == 2:
        problems += [_sentence(text) for text in name_problems(**names)]
    if not callable(getattr(env, "labels", None)):
        problems.append(
            "Give the environment a method labels() that returns the frozenset of the propositions"
            " that are true in its current state."
        )
    return problems


def _spec_problems(env: _DomainEnv, spec: DomainSpec) -> list[str]:
    """Check that the environment and the spec speak of the same names."""
    return [
        f"The spec '{spec.name}' and its environment disagree on {attribute}:"
        f" {wanted} and {have}; make them equal, in the same order."
        for attribute in ("propositions", "constraints")
        if (wanted := tuple(getattr(spec, attribute))) != (have := tuple(getattr(env, attribute)))
    ]


def _gymnasium_notes(env: gymnasium.Env[Any, Any]) -> list[str]:
    """Run Gymnasium's `check_env` and pass on what it says: matters of form, where we find no fault."""
    notes = []
    windows = "human" in env.metadata.get(
        "render_modes", ()
    )  # Where there is no screen, they crash.
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        try:
            check_env(env, skip_render_check=windows)
        except Exception as error:
            notes.append(f"Gymnasium's check_env finds: {said(error)}")
    texts = [_REMARK.sub("", str(remark.message)) for remark in remarks]
    notes += [
        f"Gymnasium's check_env warns of: {text}"
        for text in texts
        if not any(advice in text for advice in _ADVICE)
    ]
    return notes


def _episode_problems(env: _DomainEnv, notes: list[str]) -> list[str]:
    """Check labels, observations and ends along some random episodes; what is no fault is noted."""
    problems: list[str] = []
    ends = []
    first: Any = None
    varied = False
    noted: dict[tuple[str, str], str] = {}
    refused: set[tuple[str, str]] = set()
    for seed in range(EPISODES):
        for length, step in enumerate(_episode(env, seed)):
            when, observation, info, terminated, truncated = step
            first = copy.deepcopy(observation) if first is None else first
            varied = varied or not data_equivalence(first, observation)
            problems += _label_problems(env, info, when)
            at = _when(length) + (" (the last of its episode)" if terminated or truncated else "")
            for misfit, fixed in _misfits(env, observation):
                text = f"{_sentence(misfit.part)} of {at} {misfit.what}"
                # Once for each part and kind: the first step at which it was seen.
                fatal, kind = misfit.fatal and not fixed, (misfit.part, misfit.what.split(":")[0])
                if fatal and kind not in refused:
                    refused.add(kind)
                    problems.append(f"{text}: the observation of {when}() is not in its space.")
                elif not fatal:
                    fixes = "; label_env fixes it." if fixed else "."
                    noted.setdefault(kind, text + fixes)
            if terminated and not truncated:
                ends.append(length)
        if problems:
            return list(dict.fromkeys(problems))
    notes += noted.values()
    if not varied:
        problems.append(
            f"Every observation of {EPISODES} episodes was the same, whatever was done: nothing can"
            " be learned from it. Observe what the actions change."
        )
    if len(ends) == EPISODES and len(set(ends)) == 1:
        notes.append(
            f"Every episode terminated at step {ends[0]}, whatever was done, as if by a clock:"
            " terminated means that the world can go no further, and what would come later is worth"
            " nothing. Pass time limits as max_episode_steps to gymnasium.register, and leave ends of"
            " missions to the mission."
        )
    return problems


def _misfits(env: _DomainEnv, observation: object) -> Iterator[tuple[Misfit, bool]]:
    """Yield what is not as its space declares it, and whether `label_env` has fixed it."""
    for misfit in misfits(env.observation_space, observation):
        yield misfit, False
    if isinstance(env, LabelledEnv):
        for misfit in misfits(env.env.observation_space, env.raw_observation):
            if misfit.form:
                yield misfit, True


def _when(step: int) -> str:
    return f"step {step}" if step else "reset"


def _episode(env: _DomainEnv, seed: int) -> Iterator[tuple[str, Any, dict[str, Any], bool, bool]]:
    """Yield what the environment says at a seeded reset and at steps with random actions."""
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    yield "reset", observation, info, False, False
    for _ in range(STEPS):
        observation, _, terminated, truncated, info = env.step(env.action_space.sample())
        yield "step", observation, info, terminated, truncated
        if terminated or truncated:
            return


def _label_problems(env: _DomainEnv, info: dict[str, Any], when: str) -> list[str]:
    """Check that the labels of a state are there, are a set of propositions, and agree."""
    if "labels" not in info:
        return [f"Put the labels of the state into info['labels'] of {when}()."]
    reported, asked = info["labels"], env.labels()
    for name, labels in ((f"info['labels'] of {when}()", reported), ("labels()", asked)):
        if not isinstance(labels, frozenset):
            return [f"Make {name} a frozenset of proposition names (it is {labels!r} now)."]
        strangers = sorted(map(str, labels - set(env.propositions)))
        if strangers:
            return [f"{_sentence(name)} has {', '.join(strangers)}: add to propositions or drop."]
    if reported != asked:
        return [
            f"After {when}(), info['labels'] is {sorted(reported)} and labels() is {sorted(asked)};"
            " both must describe the state that was just reached."
        ]
    return []


def _recording(env: _DomainEnv) -> list[Any]:
    """Return all that is seen in one seeded episode, in copies."""
    return [copy.deepcopy(step) for step in _episode(env, seed=EPISODES)]


def _seed_notes(env: _DomainEnv, fresh: list[Any]) -> list[str]:
    """Say where an episode goes otherwise than when the environment was fresh, with the same seed.

    Many episodes lie between the two, so that memory that leaks from one to the next shows.
    """
    notes = []
    for again in (_recording(env), _recording(env)):
        for step, (was, now) in enumerate(zip(fresh, again, strict=False)):
            if data_equivalence(was, now):
                continue
            observation, info, ends = (was[1], now[1]), (was[2], now[2]), (was[3:], now[3:])
            infos = tuple({k: v for k, v in i.items() if k != "labels"} for i in info)
            labels = tuple({"labels": i["labels"]} for i in info)
            used = [
                *_differing("observation", *observation),
                *_differing("info", *labels),
                *(["its end"] if ends[0] != ends[1] else []),
            ]
            if used:
                notes.append(
                    f"Two episodes with the same seed and the same actions differ from {_when(step)}"
                    f" on: {', '.join(used)}. It can be learned, but no run can be repeated; to have"
                    " that, draw all chance from self.np_random, call super().reset(seed=seed), and"
                    " reset all that an episode remembers."
                )
                return notes
            if not notes:
                parts = ", ".join(_differing("info", *infos))
                notes.append(
                    f"With the same seed and the same actions, {parts} of {_when(step)} differs; skm"
                    " does not use it."
                )
    return notes


def _differing(name: str, was: Any, now: Any) -> list[str]:  # noqa: ANN401 (anything can be in info)
    """Return which parts of two things differ, by their keys."""
    if data_equivalence(was, now):
        return []
    if isinstance(was, dict) and isinstance(now, dict):
        keys = list(dict.fromkeys([*was, *now]))
        return [
            part
            for key in keys
            for part in _differing(f"{name}[{key!r}]", was.get(key), now.get(key))
        ]
    return [name]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
