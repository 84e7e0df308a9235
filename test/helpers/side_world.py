"""A line with exact skills on which the nearest goal is not the best, for few-shot learning on top.

    0 . red . . . blue . 8      `a` holds at red (2) and blue (6), `b` at 0 or at 8: that is observed

"a, then b" is done soonest by the `a` on the side of `b`. What lies behind a goal is known on average
only, so zero-shot goes to the nearest.
"""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from skm_primitives.skills import checkpoint
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import ContinuousGoalValues, GoalToGoal, GoalValues
from skm_sim.spec import DomainSpec, Task

LAST = 8
RED, BLUE = 2, 6
STARTS = (3, 4, 5)
GAMMA = 0.9
PROPOSITIONS = ("a", "red", "blue", "b")
GOALS = tuple(Goal(frozenset(labels)) for labels in ({"a", "red"}, {"a", "blue"}, {"b"}))


class Sides(gymnasium.Env):
    """Steps to the left or the right; `reset` takes a start and the place of `b`."""

    propositions = PROPOSITIONS
    constraints = ()
    observation_space = Box(0, LAST, (2,), np.float64)

    def __init__(self, continuous=False):
        self.action_space = Box(-1.0, 1.0, (1,)) if continuous else Discrete(2)

    def labels(self):
        shown = {RED: {"a", "red"}, BLUE: {"a", "blue"}, self.goal: {"b"}}
        return frozenset(shown.get(self.place, ()))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        drawn = int(self.np_random.choice(STARTS)), int(self.np_random.choice((0, LAST)))
        self.place, self.goal = (options or {}).get("world", drawn)
        return self._seen(), {"labels": self.labels()}

    def step(self, action):
        way = np.sign(action[0]) if isinstance(self.action_space, Box) else 2 * action - 1
        self.place = int(np.clip(self.place + way, 0, LAST))
        return self._seen(), 0.0, False, False, {"labels": self.labels()}

    def _seen(self):
        return np.array([self.place, self.goal], np.float64)


class ExactSkills:
    """Ways straight to red, blue and `b`, with the values that they have."""

    propositions = PROPOSITIONS
    constraints = ()
    goals = GOALS
    gamma = GAMMA

    def __init__(self, card, spec):
        self.domain, self.digest = card.domain, card.digest
        env = spec.make()
        self.action_space = env.action_space
        behind = np.full((3, 3), GAMMA**3, np.float32)
        self.world_model = GoalToGoal(behind, approximate=False)

    def values(self, observation, violated):
        place, end = (int(number) for number in observation)
        goals = np.array([RED, BLUE, end])
        after = np.clip([place - 1, place + 1], 0, LAST)
        away = np.abs(goals[:, None] - after)  # [goal, action], after the step
        move = GAMMA ** np.where(away == 0, 2, away).astype(np.float32)
        stop = (away == 0).astype(np.float32)
        if isinstance(self.action_space, Discrete):
            return GoalValues(move.astype(np.float32), stop)
        best = np.maximum(move, stop).argmax(axis=1)
        action = (2.0 * best - 1)[:, None].astype(np.float32)
        value = np.maximum(move, stop).max(axis=1).astype(np.float32)
        return ContinuousGoalValues(action, value, np.zeros(3, np.float32), -action)


def serve(arrays, card, spec):
    return ExactSkills(card, spec)


def fewest_steps(place, end):
    """Return the steps of "a, then b" by the better of the two ways."""
    return min(abs(place - via) + abs(via - end) for via in (RED, BLUE))


def spec_of(name, **options):
    env_id = f"skm_test/{name}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=Sides, kwargs=options)
    tasks = (
        Task("both", "F(a & X F b)", repeat=False, max_steps=40),
        Task("rounds", "F(a & X F b)", repeat=True, max_steps=40),
        Task("near", "F a", repeat=False, max_steps=40),
    )
    named = {task.name: task for task in tasks}
    server = f"{__name__}:serve"
    return DomainSpec(name, env_id, PROPOSITIONS, (), GAMMA, 20, named, server=server)


SIDES = spec_of("sides")
SMOOTH_SIDES = spec_of("smooth_sides", continuous=True)


def skills_file(path, spec):
    """Write a checkpoint that `serve` serves; nothing is learned."""
    card = checkpoint.Card(spec.name, "exact", "test", 0, 0, {}, {})
    checkpoint.save(path, {"nothing": np.zeros(1, np.float32)}, card)
    return str(path)
