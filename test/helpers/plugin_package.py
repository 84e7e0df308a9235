"""A package with planners, a learner and skills: written to a folder, to be installed from there."""

PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "lane-plugins"
version = "1.0"
[project.entry-points."skm.domains"]
lane = "lane_plugins:LANE"
torn = "lane_plugins:NOWHERE"
[project.entry-points."skm.planners"]
first = "lane_plugins:First"
half = "lane_plugins:half"
late = "lane_plugins:Late"
lost = "lane_plugins.missing:Planner"
nobody = "lane_plugins:Nobody"
orphan = "lane_plugins:Orphan"
printed = "lane_plugins:First"
wild = "lane_plugins:Wild"
[project.entry-points."skm.learners"]
walker = "lane_plugins:Walker"
[project.entry-points."skm.skills"]
lane = "lane_plugins:skills"
walked = "lane_plugins:walked"
foreign = "lane_plugins:foreign"
"""

MODULE = '''
from dataclasses import dataclass

import numpy as np

from skm_primitives import BasePolicy, Card, Decision, PolicySkills
from skm_primitives.skills import checkpoint
from skm_sim import DomainSpec, Registration, TabularEnv, TabularModel, TabularVectorEnv, Task

CELLS = np.arange(6)
LABELS = np.zeros((6, 2), bool)
LABELS[0, 0] = LABELS[5, 1] = True
NAMES = ("left", "right")


def model():
    moves = np.stack([np.maximum(CELLS - 1, 0), np.minimum(CELLS + 1, 5)], axis=1)
    return TabularModel(NAMES, (), moves, CELLS.copy(), LABELS.copy(), CELLS.copy())


class Lane(TabularEnv):
    def __init__(self):
        super().__init__(model())


class Lanes(TabularVectorEnv):
    def __init__(self, num_envs=1, max_episode_steps=None):
        super().__init__(model(), num_envs, max_episode_steps)


LANE = DomainSpec(
    name="lane",
    env_id="plugin/Lane-v0",
    environments=(Registration("plugin/Lane-v0", "lane_plugins:Lane", 99, "lane_plugins:Lanes"),),
    propositions=NAMES,
    constraints=(),
    gamma=0.9,
    primitive_steps=30,
    tasks={"both": Task("both", "F(left & X F right)", repeat=False, max_steps=50)},
)


class First(BasePolicy):
    """Goes for the first goal that moves the machine."""

    def choose(self, state, values):
        machine = self.mission.machine
        for index, goal in enumerate(self.skills.goals):
            if machine.step(state, goal.labels).target != state:
                worth = np.maximum(values.move, values.stop)[index]
                return Decision(int(worth.argmax()), index, float(worth.max()))
        raise ValueError("no goal moves the machine")


class Late(First):
    def choose(self, state, values):
        return self.never_made


def half(mission, skills):
    return object()


class Nobody(BasePolicy):
    def choose(self, state, values):
        return None


class Orphan(BasePolicy):
    def __init__(self, mission, skills):
        pass


class Wild(BasePolicy):
    def choose(self, state, values):
        return Decision(99, 0, 1.0)


def skills(spec, checkpoint):
    ways = {"left": lambda cell: (0, 0.9**cell), "right": lambda cell: (1, 0.9 ** (5 - cell))}
    return PolicySkills.of(spec, ways)


def walked(spec, file):
    """Serve what the learner below wrote: where each action leads, and what each cell shows."""
    arrays, _ = checkpoint.load(file, spec.name)
    return PolicySkills.of(
        spec, {name: toward(arrays, number) for number, name in enumerate(spec.propositions)}
    )


def toward(arrays, number):
    value = arrays["labels"][:, number].astype(float)
    for _ in CELLS:
        value = np.maximum(value, 0.9 * value[arrays["next"]].max(axis=1))
    return lambda cell: (int(value[arrays["next"][cell]].argmax()), float(value[cell]))


def foreign(spec, checkpoint):
    other = skills(LANE, checkpoint)
    return PolicySkills("x", ("up",), (), 0.9, other.action_space, (), (), other.world_model)


@dataclass
class Settings:
    seed: int = 0


class Walker:
    """A learner that walks about and notes where each action led."""

    plans_ahead, save_seconds, settings_class = False, 30.0, Settings
    default_steps, status = 400, ""

    def __init__(self, spec, options):
        self.spec, self.options, self.steps = spec, {"seed": 0, **options}, 0
        self.next, self.labels = np.zeros((6, 2), np.int64), np.zeros((6, 2), bool)

    @classmethod
    def start(cls, spec, options):
        return cls(spec, options)

    @classmethod
    def resume(cls, spec, path):
        arrays, card = checkpoint.load(path, spec.name)
        learner = cls(spec, {"seed": card.seed})
        learner.next, learner.labels, learner.steps = arrays["next"], arrays["labels"], card.steps
        return learner

    def run_round(self):
        env, random = self.spec.make(), np.random.default_rng([self.options["seed"], self.steps])
        cell, _ = env.reset(seed=self.steps)
        for action in random.integers(2, size=50).tolist():
            after, _, _, _, info = env.step(action)
            self.next[cell, action] = after
            cell = after
            self.labels[cell] = [name in info["labels"] for name in NAMES]
        self.steps += 50

    def save(self, path, command):
        card = Card("lane", "walked", command, self.options["seed"], self.steps)
        return checkpoint.save(path, {"next": self.next, "labels": self.labels}, card)
'''


def write_plugins(source):
    """Write the package to a folder."""
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "lane_plugins.py").write_text(MODULE)
    return source
