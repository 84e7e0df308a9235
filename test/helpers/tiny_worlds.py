"""A corridor whose values one can write down, and exact values of any tabular world, for tests."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from skm_sim.spec import DomainSpec

LENGTH = 5
HAZARD = 2
CELL_LABELS = {0: {"left"}, HAZARD: {"hazard"}, LENGTH - 1: {"right"}}


class Corridor(gymnasium.Env):
    """Five cells in a row: `left . hazard . right`; the actions are left and right.

    With `terminal`, entering the right end ends the world. With `shy`, `left` is seen on the first
    two visits of an episode only.
    """

    propositions = ("left", "hazard", "right")
    constraints = ("hazard",)

    def __init__(self, terminal=False, shy=False):
        self.observation_space = Discrete(LENGTH)
        self.action_space = Discrete(2)
        self.terminal, self.shy = terminal, shy

    def labels(self):
        labels = frozenset(CELL_LABELS.get(self.cell, ()))
        return frozenset() if self.shy and self.cell == 0 and self.visits > 2 else labels

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.visits = 0
        self.cell = int(self.np_random.integers(LENGTH))
        return self.cell, {"labels": self.labels()}

    def step(self, action):
        self.cell = min(max(self.cell + (1 if action else -1), 0), LENGTH - 1)
        self.visits += self.cell == 0
        ends = self.terminal and self.cell == LENGTH - 1
        return self.cell, 0.0, ends, False, {"labels": self.labels()}


def corridor_spec(name, **options):
    env_id = f"skm-test/{name}-v0"
    gymnasium.register(env_id, entry_point=Corridor, kwargs=options)
    return DomainSpec(
        name=name.lower(),
        env_id=env_id,
        propositions=Corridor.propositions,
        constraints=Corridor.constraints,
        gamma=0.9,
        primitive_steps=25,
        tasks={},
    )


CORRIDOR = corridor_spec("Corridor")
TERMINAL = corridor_spec("TerminalCorridor", terminal=True)
SHY = corridor_spec("ShyCorridor", shy=True)


def corridor_tables():
    """Return the corridor's transitions and the constraints that are true in each cell, as bits."""
    cells = np.arange(LENGTH)
    transitions = np.stack([np.maximum(cells - 1, 0), np.minimum(cells + 1, LENGTH - 1)], axis=1)
    return transitions, (cells == HAZARD).astype(int)


def exact_values(transitions, constraint_bits, histories, gamma, terminal=()):
    """Return Q_MAX for goals (place, violated), by value iteration on Definition 3.1.

    Two arrays `[cell, violated, place, wanted, action]`, for ⟨a, 0⟩ and for ⟨a, 1⟩.
    """
    cells, actions = transitions.shape
    violated = np.arange(histories)
    stop = np.zeros((cells, histories, cells, histories, actions))
    for action in range(actions):
        for c in violated:
            stop[np.arange(cells), c, transitions[:, action], c, action] = 1
    move = np.zeros_like(stop)
    while True:
        best = np.maximum(move, stop).max(axis=-1)
        best[list(terminal)] = 0
        before = move.copy()
        for action in range(actions):
            arrived = transitions[:, action]
            changed = constraint_bits ^ constraint_bits[arrived]
            move[..., action] = gamma * best[arrived[:, None], violated | changed[:, None]]
        if np.array_equal(before, move):
            return move, stop


def assert_optimal(primitives, move, stop):
    """Assert that every value served is the exact one, times the chance of the goal's labels."""
    order = {name: 1 << i for i, name in enumerate(primitives.constraints)}
    place = np.array([goal.place for goal in primitives.goals])
    wanted = np.array([sum(order[name] for name in goal.violated) for goal in primitives.goals])
    chance = primitives.world_model.goal_probability[:, None]
    for bits in range(1 << len(order)):
        violated = frozenset(name for name, bit in order.items() if bits & bit)
        served = [primitives.values(cell, violated) for cell in range(len(move))]
        np.testing.assert_allclose(
            [values.move for values in served],
            move[:, bits, place, wanted] * chance,
            rtol=1e-5,
            atol=1e-9,
        )
        np.testing.assert_allclose(
            [values.stop for values in served], stop[:, bits, place, wanted] * chance
        )
