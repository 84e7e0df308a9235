"""Moving Targets as Gymnasium environments: one at a time, and a batch that steps as arrays.

Six objects, {beige, blue, purple} × {square, circle}, on a walled board. Stepping on one collects it:
the labels of that step, and of that step only, are its colour and its shape, and it comes back at
once elsewhere. Observations are pictures, centred on the agent (`skm_sim.moving_targets.view`).
Rewards are 0: they come from the reward machine. Episodes never end: missions decide when they do.
"""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from skm_machine.errors import did_you_mean
from skm_sim.domain import DomainError
from skm_sim.moving_targets import board
from skm_sim.moving_targets.board import COLLECTED, KINDS, MOVES, NUM_CELLS, STATE_BYTES, States
from skm_sim.moving_targets.scene import board_scene
from skm_sim.moving_targets.spec import CONSTRAINTS, PROPOSITIONS
from skm_sim.moving_targets.view import PIXELS, Frames, render
from skm_sim.shapes import Shape

_OPTIONS = ("state", "reset_mask")
DRAWN_STATES = 100
"""Most states of the path that a picture shows."""


def _observation_space() -> Box:
    return Box(0, 255, (PIXELS, PIXELS, 3), np.uint8)


class MovingTargetsEnv(gymnasium.Env[Frames, int]):
    """One board. Actions: 0 up, 1 right, 2 down, 3 left; observation: `(84, 84, 3)` bytes.

    `state()` is all there is to know in eight bytes, `set_state` goes back to it, and
    `reset(options={"state": state})` starts there. With `render_mode="rgb_array"`, `render()` draws
    the board with the agent's path, and beside it what the agent sees.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["rgb_array"],
        "render_fps": 5,
    }

    def __init__(self, render_mode: str | None = None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise DomainError(f"no render_mode '{render_mode}'{did_you_mean(render_mode, modes)}")
        self.render_mode = render_mode
        self.propositions = PROPOSITIONS
        self.constraints = CONSTRAINTS
        self.observation_space = cast("Space[Frames]", _observation_space())
        self.action_space = cast("Space[int]", Discrete(len(MOVES)))
        self._states = board.sample(np.random.default_rng(0), 1)
        self._drawn: deque[States] = deque([self._states], maxlen=DRAWN_STATES)

    def state(self) -> bytes:
        """Return the current state."""
        return self._states.tobytes()

    def set_state(self, state: bytes) -> None:
        """Go to a state that `state()` gave."""
        self._states = checked_states(np.frombuffer(state, np.uint8), 1)
        self._begin_path()

    def labels(self) -> frozenset[str]:
        """Return the colour and shape of what the last step collected, if it collected anything."""
        kind = int(self._states[0, COLLECTED])
        return frozenset(KINDS[kind]) if kind < len(KINDS) else frozenset()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Frames, dict[str, Any]]:
        """Start on a random board, or in `options["state"]`."""
        super().reset(seed=seed)
        given = _checked_options(options, _OPTIONS[:1])
        if "state" in given:
            self.set_state(given["state"])
        else:
            self._states = board.sample(self.np_random, 1)
            self._begin_path()
        return render(self._states)[0], {"labels": self.labels()}

    def step(self, action: int) -> tuple[Frames, float, bool, bool, dict[str, Any]]:
        """Move; a wall keeps the agent in place."""
        if not 0 <= action < len(MOVES):
            raise DomainError(f"action {action} is not from 0 to {len(MOVES) - 1}.")
        self._states = board.step(self._states, np.array([action]), self.np_random)
        if self.render_mode is not None:
            self._drawn.append(self._states)
        return render(self._states)[0], 0.0, False, False, {"labels": self.labels()}

    def _begin_path(self) -> None:
        self._drawn.clear()
        self._drawn.append(self._states)

    def render(self) -> Frames | None:
        """Return the picture as `(height, width, 3)` bytes, or None without a render mode."""
        if self.render_mode is None:
            return None
        from skm_sim.moving_targets.drawing import picture  # noqa: PLC0415 (matplotlib is slow)

        return picture(np.concatenate(self._drawn))

    def scene(self) -> list[Shape]:
        """Return the board as shapes for 3D views."""
        return board_scene(self._states[0])


class MovingTargetsVectorEnv(VectorEnv[Frames, NDArray[Any], NDArray[Any]]):
    """A batch of boards, stepping and drawing as arrays.

    Autoreset mode: `NEXT_STEP`, as Gymnasium's own batches. The step after `truncations[i]` ignores
    action `i` and starts board `i` anew. `reset(options={"reset_mask": mask})` restarts the boards
    in `mask` at any time, and `options={"state": states}` says where (`(num_envs, 8)` bytes).
    `info["labels"]` is a bool array `(num_envs, propositions)`. With `max_episode_steps=None`
    nothing is ever truncated. `states` is the whole batch in a few bytes a board.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int = 1, max_episode_steps: int | None = None) -> None:
        if num_envs < 1:
            raise DomainError(f"num_envs is {num_envs}, must be at least 1.")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise DomainError(f"max_episode_steps is {max_episode_steps}, must be None or >= 1.")
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.propositions = PROPOSITIONS
        self.constraints = CONSTRAINTS
        self.single_observation_space = _observation_space()
        self.single_action_space = Discrete(len(MOVES))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._states = board.sample(np.random.default_rng(0), num_envs)
        self._elapsed = np.zeros(num_envs, np.int64)
        self._ended = np.zeros(num_envs, np.bool_)

    @property
    def states(self) -> States:
        """The current states, `(num_envs, 8)` bytes (a copy)."""
        return self._states.copy()

    @states.setter
    def states(self, states: ArrayLike) -> None:
        self._states = checked_states(states, self.num_envs)

    def labels(self) -> NDArray[np.bool_]:
        """Return what is true in the current states, `(num_envs, propositions)`."""
        return board.labels(self._states)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Frames, dict[str, Any]]:
        """Start new episodes: all of them, or those in the bool array `options["reset_mask"]`."""
        super().reset(seed=seed)
        given = _checked_options(options, _OPTIONS)
        mask = np.asarray(given.get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise DomainError(f"options['reset_mask'] must be {self.num_envs} bools.")
        if "state" in given:
            self._states[mask] = checked_states(given["state"], self.num_envs)[mask]
            self._elapsed[mask] = 0
        else:
            self._start(mask)
        self._ended[mask] = False
        return render(self._states), {"labels": self.labels()}

    def step(
        self, actions: ArrayLike
    ) -> tuple[Frames, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step every board; one whose episode ended in the step before starts a new one instead."""
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise DomainError(
                f"actions must be {self.num_envs} integers, got {chosen.dtype} {chosen.shape}."
            )
        if chosen.min() < 0 or chosen.max() >= len(MOVES):
            raise DomainError(f"actions must be from 0 to {len(MOVES) - 1}.")
        going = ~self._ended
        self._states[going] = board.step(self._states[going], chosen[going], self.np_random)
        self._elapsed += 1
        if self._ended.any():
            self._start(self._ended)
        if self.max_episode_steps is None:
            self._ended = np.zeros(self.num_envs, np.bool_)
        else:
            self._ended = self._elapsed >= self.max_episode_steps
        return (
            render(self._states),
            np.zeros(self.num_envs),
            np.zeros(self.num_envs, np.bool_),
            self._ended.copy(),
            {"labels": self.labels()},
        )

    def _start(self, mask: NDArray[np.bool_]) -> None:
        self._states[mask] = board.sample(self.np_random, int(mask.sum()))
        self._elapsed[mask] = 0


def _checked_options(options: dict[str, Any] | None, known: tuple[str, ...]) -> dict[str, Any]:
    given = dict(options or {})
    for key in given:
        if key not in known:
            raise DomainError(f"unknown reset option '{key}'{did_you_mean(key, known)}")
    return given


def checked_states(states: ArrayLike | bytes, count: int) -> States:
    """Return states as an array `(count, 8)` of one's own, after checking that they can be."""
    if isinstance(states, bytes):
        states = np.frombuffer(states, np.uint8)
    array = np.asarray(states)
    if array.dtype.kind not in "iu" or array.size != count * STATE_BYTES:
        raise DomainError(f"a state of Moving Targets is {STATE_BYTES} bytes for each board.")
    rows = array.reshape(count, STATE_BYTES)
    cells = np.sort(rows[:, :COLLECTED], axis=1)
    if rows.min() < 0 or cells.max() >= NUM_CELLS or rows[:, COLLECTED].max() > len(KINDS):
        raise DomainError(
            f"a state holds seven cells from 0 to {NUM_CELLS - 1} and a kind from 0 to {len(KINDS)}."
        )
    if (cells[:, 1:] == cells[:, :-1]).any():
        raise DomainError("in a state, the agent and the objects must be on different cells.")
    return rows.astype(np.uint8)
