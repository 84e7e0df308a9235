"""Moving Targets as Gymnasium environments: one at a time, and a batch that steps as arrays.

Six objects, {beige, blue, purple} × {square, circle}, on a walled board. Stepping on one collects it:
the labels of that step, and of that step only, are its colour and its shape, and it comes back at
once elsewhere. Observations are pictures, centred on the agent (`skm_sim.moving_targets.view`).
Rewards are 0: they come from the reward machine. Episodes never end: missions decide when they do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import ArrayLike, NDArray

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray
from skm_sim.batch_env import BatchEnv, checked_choices
from skm_sim.domain import DomainError
from skm_sim.moving_targets import board
from skm_sim.moving_targets.board import COLLECTED, KINDS, MOVES, NUM_CELLS, STATE_BYTES, States
from skm_sim.moving_targets.scene import board_scene
from skm_sim.moving_targets.spec import CONSTRAINTS, PROPOSITIONS
from skm_sim.moving_targets.view import PIXELS, Frames, render
from skm_sim.shapes import Shape

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
        given = _checked_options(options, ("state",))
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


class MovingTargetsVectorEnv(BatchEnv[Frames]):
    """A batch of boards, stepping and drawing as arrays; see `BatchEnv`.

    `reset(options={"state": states})` says where they start (`(num_envs, 8)` bytes). `states` is the
    whole batch in a few bytes a board.
    """

    def __init__(self, num_envs: int = 1, max_episode_steps: int | None = None) -> None:
        super().__init__(
            num_envs,
            max_episode_steps,
            spaces=(_observation_space(), Discrete(len(MOVES))),
            names=(PROPOSITIONS, CONSTRAINTS),
        )
        self._states = board.sample(np.random.default_rng(0), num_envs)

    @property
    def states(self) -> States:
        """The current states, `(num_envs, 8)` bytes (a copy)."""
        return self._states.copy()

    @states.setter
    def states(self, states: ArrayLike) -> None:
        self._states = checked_states(states, self.num_envs)

    def labels(self) -> BoolArray:
        """Return what is true in the current states, `(num_envs, propositions)`."""
        return board.labels(self._states)

    def _observe(self) -> Frames:
        return render(self._states)

    def _checked(self, actions: ArrayLike) -> NDArray[Any]:
        return checked_choices(actions, self.num_envs, len(MOVES))

    def _advance(self, actions: NDArray[Any], going: BoolArray) -> None:
        self._states[going] = board.step(self._states[going], actions[going], self.np_random)

    def _start(self, mask: BoolArray, options: Mapping[str, Any]) -> None:
        given = _checked_options(options, ("state", "reset_mask"))
        if "state" in given:
            self._states[mask] = checked_states(given["state"], self.num_envs)[mask]
        else:
            self._states[mask] = board.sample(self.np_random, int(mask.sum()))


def _checked_options(options: Mapping[str, Any] | None, known: tuple[str, ...]) -> dict[str, Any]:
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
