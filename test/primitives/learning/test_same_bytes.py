"""The defaults for anyone's world learn the same bytes again, and after a stop in the middle."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_sim import DomainSpec

SIDE = 4
SMALL = {"hidden": (16,), "channels": 4, "agents": 8, "batch": 16, "validate_rounds": 2}
SMALL |= {"validation_layouts": 2, "horizon": 4 * 8 * 12, "replay": 300}


class Locked(gymnasium.Env):
    """Four by four cells: the goal is one for those who have the key; two cells are wet or hot."""

    action_space = Discrete(4)
    observation_space = Box(0, 255, (SIDE, SIDE, 1), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.key = (int(self.np_random.integers(SIDE)), 0), False
        return self._seen(), {"labels": self._labels()}

    def step(self, action):
        way = ((-1, 0), (0, 1), (1, 0), (0, -1))[int(action)]
        self.place = tuple(np.clip(np.add(self.place, way), 0, SIDE - 1).tolist())
        self.key |= self.place == (0, 1)
        return self._seen(), 0.0, False, False, {"labels": self._labels()}

    def _labels(self):
        there = {"goal": self.key and self.place == (2, 2), "key": self.key}
        there |= {"wet": self.place == (1, 1), "hot": self.place == (3, 1)}
        return frozenset(name for name, true in there.items() if true)

    def _seen(self):
        picture = np.zeros((SIDE, SIDE, 1), np.uint8)
        picture[self.place] = 9 if self.key else 7
        return picture


class LockedVector(Locked):
    """The same as numbers, which network and exploration treat otherwise."""

    observation_space = Box(0, SIDE, (3,), np.float32)

    def _seen(self):
        return np.array([*self.place, self.key], np.float32)


def spec_of(cls):
    env_id = f"skm_same_bytes/{cls.__name__}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=cls)
    names = ("key", "goal", "wet", "hot"), ("wet", "hot")
    return DomainSpec(cls.__name__.lower(), env_id, *names, 0.9, 12, {})


def saved(learner, path):
    learner.save(path, "test")
    names = f"{path.name}.safetensors", f"{path.name}.resume.safetensors"
    return [(path.parent / name).read_bytes() for name in names]


@pytest.mark.parametrize("cls", [Locked, LockedVector])
def test_the_same_seed_and_a_resumed_run_give_the_same_bytes(tmp_path, cls):
    spec, written = spec_of(cls), {}
    for name, seed in (("one", 3), ("again", 3), ("another", 4)):
        learner = GoalConditionedLearner.start(spec, {**SMALL, "seed": seed})
        for number in range(4):
            if (name, number) == ("again", 2):
                saved(learner, tmp_path / name)
                learner = GoalConditionedLearner.resume(spec, tmp_path / name)
            learner.run_round()
        assert learner.settings.sets == "any", "what anyone's world with two constraints has"
        assert learner.settings.legs == (2 if cls is Locked else 1)
        kept = learner.algorithm, learner._returns.arrays()
        assert kept[1]["returns/tried"].sum() > 0, (
            "agents were sent to label sets, or nothing is shown"
        )
        written[name] = saved(learner, tmp_path / name)
    assert written["one"] == written["again"] != written["another"]


def test_a_run_that_forgets_its_returns_differs(tmp_path):
    """What the file keeps of them matters to the rounds that follow."""
    spec, written = spec_of(Locked), []
    for forgets in (False, True):
        learner = GoalConditionedLearner.start(spec, {**SMALL, "seed": 3})
        for _ in range(2):
            learner.run_round()
        if forgets:
            learner._returns._tried[:] = learner._returns._arrived[:] = 0
        for _ in range(2):
            learner.run_round()
        skills, _ = saved(learner, tmp_path / str(forgets))
        written.append(skills)
    assert written[0] != written[1]
