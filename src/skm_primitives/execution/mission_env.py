"""A world and a mission as one Gymnasium environment: to learn one mission with any RL library.

    env = MissionEnv(get_domain("lake").make(), "F(tree & X F gift)", max_steps=200)

What is observed is the world and the state of the mission's machine, which together are Markov (the
product of the paper's Definition 2.2); the reward is the machine's. So any library of reinforcement
learning that takes Gymnasium environments can learn the mission, from nothing and for this mission only:
skills are what makes that unnecessary, and this is what they can be compared with.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from skm_machine.errors import MissionError
from skm_machine.mission import Mission, compile_mission
from skm_machine.tracker import MissionTracker, Status
from skm_sim.arrays import BoolArray, IntArray
from skm_sim.faults import DomainError
from skm_sim.labels import LabelledBatch
from skm_sim.observations import is_vector
from skm_sim.registry import get_domain
from skm_sim.vector import BatchEnv

AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
AnyBatch: TypeAlias = VectorEnv[Any, Any, Any]

ENV_ID: Final = "skm/Mission-v0"
"""For `gymnasium.make("skm_primitives.execution.mission_env:skm/Mission-v0", domain=…, mission=…)`."""


class ProductSpace:
    """What is observed of a world and a machine: one number, one vector, or a Dict of two parts.

    A cell and a state are one number, `cell · states + state`. A vector goes before the state, which is
    one 1 among zeros. All else is a Dict: `observation`, and the state so as `machine`.
    """

    def __init__(self, seen: Space[Any], states: int) -> None:
        self._states = states
        self._hot = np.eye(states, dtype=np.float32)
        self._kind = (
            "cell" if isinstance(seen, Discrete) else "vector" if is_vector(seen) else "dict"
        )
        hot = Box(0.0, 1.0, (states,), np.float32)
        self.space: Space[Any]
        if isinstance(seen, Discrete):
            self.space = Discrete(int(seen.n) * states)
        elif isinstance(seen, Box) and self._kind == "vector":
            low, high = (
                np.concatenate([bound.astype(np.float32), edge])
                for bound, edge in ((seen.low, hot.low), (seen.high, hot.high))
            )
            self.space = Box(low, high, dtype=np.float32)
        else:
            self.space = Dict({"observation": seen, "machine": hot})

    def join(self, observation: Any, state: Any) -> Any:  # noqa: ANN401 - of one world or of a batch
        """Return what is seen of observations and machine states, of one world or of several."""
        if self._kind == "cell":
            joined = np.asarray(observation, np.int64) * self._states + state
            return joined if joined.ndim else np.int64(joined)
        if self._kind == "vector":
            return np.concatenate([observation, self._hot[state]], axis=-1, dtype=np.float32)
        return {"observation": observation, "machine": self._hot[state].copy()}


class MissionEnv(gymnasium.Env[Any, Any]):
    """A world with labels, and a mission in it; see the module.

    An episode ends when the mission is accepted or can no longer be, or with the world; it is cut off by
    the world's own time limit, or after `max_steps`. `info` has the `labels` of the world, the
    `machine_state`, and whether the mission `is_success`: accepted, or, of a recurring one, some rounds
    done and nothing lost.
    """

    def __init__(self, env: AnyEnv, mission: Mission | str, max_steps: int | None = None) -> None:
        """`env` tells `info["labels"]`: a domain's, or one made by `skm_sim.label_env`."""
        self.env = env
        """The environment that the mission is carried out in."""
        self.mission = _checked(mission, getattr(env.unwrapped, "propositions", None))
        """The mission that rewards."""
        self.max_steps = max_steps
        """Steps after which an episode is cut."""
        self.tracker = MissionTracker(self.mission.machine, ())
        """Where in the mission the episode is."""
        self._product = ProductSpace(env.observation_space, self.mission.machine.num_states)
        self.observation_space = self._product.space
        """The environment's observation with the state of the machine."""
        self.action_space = env.action_space
        """That of the environment."""
        self.metadata, self.render_mode = env.metadata, env.render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the world and the mission; the labels of the first state move nothing (Algorithm 3)."""
        super().reset(seed=seed)
        observation, info = self.env.reset(seed=seed, options=options)
        self.tracker.start(info["labels"])
        return self._seen(observation), self._told(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Take a step in the world, and the machine's with the labels of the state that it leads to."""
        observation, _, terminated, truncated, info = self.env.step(action)
        reward = self.tracker.update(info["labels"])
        over, cut = _ends(self.tracker, terminated, truncated, self.max_steps)
        return self._seen(observation), reward, over, cut, self._told(info)

    def render(self) -> Any:  # noqa: ANN401 - whatever the world draws
        """Return what the world draws."""
        return self.env.render()

    def close(self) -> None:
        """Let the world go."""
        self.env.close()

    def _seen(self, observation: Any) -> Any:  # noqa: ANN401
        return self._product.join(observation, self.tracker.state)

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        success = _is_success(self.tracker)
        return {**info, "machine_state": self.tracker.state, "is_success": success}


class MissionVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """A batch of worlds with labels, each with a mission of its own under way: `MissionEnv` for many.

    Worlds whose mission is over start anew in the step after (`NEXT_STEP`, as the worlds themselves do).
    """

    def __init__(
        self, batch: AnyBatch, mission: Mission | str, max_steps: int | None = None
    ) -> None:
        """`batch` is a domain's (`DomainSpec.make_batch`), or one made by `skm_sim.label_batch`."""
        if batch.metadata.get("autoreset_mode") is not AutoresetMode.NEXT_STEP or not _masks(batch):
            raise DomainError(
                "worlds of this batch cannot be started anew one by one in the step after; make it of"
                " single ones: gymnasium.vector.SyncVectorEnv([lambda: MissionEnv(…), …])."
            )
        self.batch, self.num_envs, self.max_steps = batch, batch.num_envs, max_steps
        self._names: tuple[str, ...] = tuple(getattr(batch, "propositions", ()))
        self.mission = _checked(mission, self._names)
        """The mission that rewards."""
        machine = self.mission.machine
        self.trackers = [MissionTracker(machine, ()) for _ in range(batch.num_envs)]
        """Where in the mission each environment of the batch is."""
        self._product = ProductSpace(batch.single_observation_space, machine.num_states)
        self.single_observation_space = self._product.space
        """An observation of one environment with the state of its machine."""
        self.observation_space = batch_space(self._product.space, batch.num_envs)
        """The same of the batch."""
        self.single_action_space, self.action_space = batch.single_action_space, batch.action_space
        self.metadata = {**batch.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
        """As Gymnasium has it: an environment that ended begins again with the next step."""
        self._sets: dict[bytes, frozenset[str]] = {}
        self._ended: BoolArray = np.zeros(batch.num_envs, np.bool_)
        self._world_ended: BoolArray = np.zeros(batch.num_envs, np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all worlds and missions."""
        observations, info = self.batch.reset(seed=seed, options=options)
        for tracker, row in zip(self.trackers, info["labels"], strict=True):
            tracker.start(self._labels(row))
        self._ended[:] = self._world_ended[:] = False
        return self._seen(observations), self._told(info)

    def step(
        self,
        actions: Any,  # noqa: ANN401 - an array of any kind
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every world and its machine; those that ended in the step before start anew instead."""
        observations, _, ends, cuts, info = self.batch.step(actions)
        again = self._ended
        # A world that ended by itself has just started anew; one whose mission ended went on.
        if (stale := again & ~self._world_ended).any():
            observations, restarted = self.batch.reset(options={"reset_mask": stale})
            info = {**info, "labels": restarted["labels"]}
            ends, cuts = ends & ~stale, cuts & ~stale
        rewards = np.zeros(self.num_envs)
        over, cut = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        for index, (tracker, row) in enumerate(zip(self.trackers, info["labels"], strict=True)):
            labels = self._labels(row)
            if again[index]:
                tracker.start(labels)
            else:
                rewards[index] = tracker.update(labels)
                over[index], cut[index] = _ends(tracker, ends[index], cuts[index], self.max_steps)
        self._ended, self._world_ended = over | cut, np.asarray(ends | cuts, np.bool_)
        return self._seen(observations), rewards, over, cut, self._told(info)

    def close(self, **options: Any) -> None:  # noqa: ANN401 - those of the batch
        """Let the worlds go."""
        self.batch.close(**options)

    def _labels(self, row: BoolArray) -> frozenset[str]:
        key = row.tobytes()
        if key not in self._sets:
            pairs = zip(self._names, row.tolist(), strict=True)
            self._sets[key] = frozenset(name for name, true in pairs if true)
        return self._sets[key]

    @property
    def _states(self) -> IntArray:
        return np.array([tracker.state for tracker in self.trackers], np.int64)

    def _seen(self, observations: Any) -> Any:  # noqa: ANN401
        return self._product.join(observations, self._states)

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        success = np.array([_is_success(tracker) for tracker in self.trackers], np.bool_)
        return {**info, "machine_state": self._states, "is_success": success}


def make_mission_env(
    domain: str, mission: str, max_steps: int | None = None, render_mode: str | None = None
) -> MissionEnv:
    """Return a mission in one world of a domain, by its name or place."""
    return MissionEnv(get_domain(domain).make(render_mode), mission, max_steps)


def make_mission_batch(
    domain: str, mission: str, num_envs: int = 1, max_steps: int | None = None
) -> MissionVectorEnv:
    """Return a mission in each of several worlds of a domain."""
    return MissionVectorEnv(get_domain(domain).make_batch(num_envs), mission, max_steps)


def _checked(mission: Mission | str, propositions: Any) -> Mission:  # noqa: ANN401
    """Return the mission, compiled over the world's propositions; refuses what cannot be rewarded."""
    if not propositions:
        raise DomainError("the environment has no propositions; skm_sim.label_env gives it some.")
    if isinstance(mission, str):
        mission = compile_mission(mission, propositions=propositions)
    strangers = [name for name in mission.propositions if name not in propositions]
    if strangers:
        raise MissionError(f"the world never tells {', '.join(strangers)}, which the mission names")
    if mission.clocks is not None:
        raise MissionError(
            "the mission has bounds in seconds, which no machine state tells: write them in steps"
        )
    if not mission.machine.satisfiable:
        raise MissionError("the mission can never be rewarded, whatever is done")
    return mission


def _ends(
    tracker: MissionTracker, terminated: bool, truncated: bool, max_steps: int | None
) -> tuple[bool, bool]:
    over = bool(terminated) or tracker.status is not Status.RUNNING
    late = max_steps is not None and tracker.steps >= max_steps
    return over, (bool(truncated) or late) and not over


def _is_success(tracker: MissionTracker) -> bool:
    if tracker.machine.endless:
        return tracker.accepting_visits > 0 and tracker.status is not Status.FAILED
    return tracker.status is Status.ACCEPTED


def _masks(batch: Any) -> bool:  # noqa: ANN401 - a batch of any kind, or what is inside
    """Tell whether single worlds of a batch can be started anew by `options["reset_mask"]`."""
    while not isinstance(batch, SyncVectorEnv | AsyncVectorEnv | BatchEnv):
        batch = batch.batch if isinstance(batch, LabelledBatch) else getattr(batch, "env", None)
        if batch is None:
            return False
    return True


if ENV_ID not in gymnasium.registry:
    gymnasium.register(
        ENV_ID,
        entry_point="skm_primitives.execution.mission_env:make_mission_env",
        vector_entry_point="skm_primitives.execution.mission_env:make_mission_batch",
    )
