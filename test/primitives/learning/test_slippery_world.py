"""A gridworld in which moves go astray: planned with learned chances, judged exactly.

The world is known to the test as an array of chances. The best possible, and what the learned skills
come to, are the chances of success by linear algebra on machine × cells: nothing is sampled, and nothing
is shared with the planner.
"""

import json
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from skm_cli.main import main
from skm_machine import compile_mission
from skm_machine.tracker import MissionTracker
from skm_primitives import load_primitives, make_policy
from skm_primitives.learning.training import make_learner, train
from skm_sim import DomainSpec, check_domain

MAP = (
    "h.......",
    "........",
    "..xx.x..",
    "a.......",
    "..x.xx..",
    "......xb",
)
"""`x` is a cliff; h, a and b are places."""
WIDTH = len(MAP[0])
CELLS = WIDTH * len(MAP)
NAMES = {"h": "hut", "a": "apple", "b": "bay", "x": "cliff"}
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
ASTRAY = 0.2
MISSIONS = (
    "F(apple & X F bay) & G !cliff",
    "F bay & G !cliff",
    "(!hut U bay) & F hut & G !cliff",
    "F(hut & X F(bay & X F apple)) & G !cliff",
)


def labels_of(cell):
    name = NAMES.get(MAP[cell // WIDTH][cell % WIDTH])
    return frozenset() if name is None else frozenset({name})


def moved(cell, move):
    row, column = cell // WIDTH + MOVES[move][0], cell % WIDTH + MOVES[move][1]
    return row * WIDTH + column if 0 <= row < len(MAP) and 0 <= column < WIDTH else cell


def chances():
    """Return `[cell, action, cell]`: a fifth of the moves go to one side or the other."""
    result = np.zeros((CELLS, 4, CELLS))
    for cell in range(CELLS):
        for action in range(4):
            result[cell, action, moved(cell, action)] += 1 - ASTRAY
            for side in (action - 1, action + 1):
                result[cell, action, moved(cell, side % 4)] += ASTRAY / 2
    return result


class Slippery(gymnasium.Env):
    propositions = ("hut", "apple", "bay", "cliff")
    constraints = ("cliff",)
    observation_space = Discrete(CELLS)
    action_space = Discrete(4)
    astray = ASTRAY

    def labels(self):
        return labels_of(self.cell)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = int(self.np_random.integers(CELLS))
        return self.cell, {"labels": self.labels()}

    def step(self, action):
        slip = self.np_random.random()
        turn = 0 if slip >= self.astray else 1 if slip < self.astray / 2 else -1
        self.cell = moved(self.cell, (int(action) + turn) % 4)
        return self.cell, 0.0, False, False, {"labels": self.labels()}


class Sure(Slippery):
    astray = 0.0


def spec_of(name, entry):
    env_id = f"skm_test/{name}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=entry)
    names = Slippery.propositions, Slippery.constraints
    return DomainSpec(name.lower(), env_id, *names, gamma=0.95, primitive_steps=60, tasks={})


SLIPPERY = spec_of("Slippery", Slippery)
SURE = spec_of("Sure", Sure)


@pytest.fixture(scope="module")
def skills(tmp_path_factory):
    out = tmp_path_factory.mktemp("slippery") / "skills.safetensors"
    learner = make_learner(SLIPPERY, {"seed": 3}, out, resume=False, overwrite=False)
    train(learner, 100_000, out, "test")
    return load_primitives(SLIPPERY, out)


def product(mission):
    """Return `following[u, cell, action]` as chances of (u, cell), and those of success."""
    machine, world = mission.machine, chances()
    continuation = np.zeros((machine.num_states, CELLS, 4, machine.num_states, CELLS))
    wins = np.zeros((machine.num_states, CELLS, 4))
    for u in range(machine.num_states):
        if u in machine.terminal:
            continue
        for there in range(CELLS):
            outcome = machine.step(u, labels_of(there))
            if outcome.reward > 0:
                wins[u] += world[:, :, there]
            else:
                continuation[u, :, :, outcome.target, there] += world[:, :, there]
    return continuation, wins


def best_possible(mission):
    """Return the greatest chance of success from every cell, by value iteration."""
    continuation, wins = product(mission)
    value = np.zeros(wins.shape[:2])
    for _ in range(3000):
        value = (wins + np.tensordot(continuation, value, 2)).max(axis=2)
    return value[mission.machine.initial]


def achieved(mission, policy, skills):
    """Return the chance of success of a policy from every cell, by solving its equations."""
    continuation, wins = product(mission)
    states = wins.shape[0]
    matrix, right = np.eye(states * CELLS), np.zeros(states * CELLS)
    for u in range(states):
        if u in mission.machine.terminal:
            continue
        tracker = MissionTracker(mission.machine, skills.constraints)
        for cell in range(CELLS):
            tracker.start(labels_of(cell))
            tracker.state = u
            policy.entered(cell, moved=True)
            values = skills.values(cell, policy.history(tracker))
            action = int(policy.choose(u, values).action)
            row = u * CELLS + cell
            matrix[row] -= continuation[u, cell, action].reshape(-1)
            right[row] = wins[u, cell, action]
    value = np.linalg.lstsq(matrix, right, rcond=None)[0].reshape(states, CELLS)
    return value[mission.machine.initial]


@pytest.mark.parametrize("text", MISSIONS)
def test_learned_chances_bring_nearly_all_that_is_possible(skills, text):
    mission = compile_mission(text, propositions=SLIPPERY.propositions)
    starts = [cell for cell in range(CELLS) if "cliff" not in labels_of(cell)]
    best = best_possible(mission)[starts]
    found = achieved(mission, make_policy(mission, skills), skills)[starts]
    assert 0.8 < best.mean() < 0.99, "there is something to lose"
    assert (found <= best + 1e-6).all()
    assert found.mean() >= 0.98 * best.mean()
    assert (found >= 0.9 * best).all()


def test_counting_on_the_likeliest_place_is_worse(skills, monkeypatch):
    """What it was before: the same skills, planned as if every action led to its likeliest place."""
    mission = compile_mission(MISSIONS[0], propositions=SLIPPERY.propositions)
    with_chances = achieved(mission, make_policy(mission, skills), skills).mean()
    monkeypatch.setattr(skills, "world_model", _likeliest(skills.world_model))
    assert achieved(mission, make_policy(mission, skills), skills).mean() < with_chances - 0.05


def _likeliest(world):
    return replace(world, chances=None)


def test_the_learned_chances_are_those_of_the_world(skills):
    learned = skills.world_model.chances
    true = chances()[learned.pair // 4, learned.pair % 4, learned.place]
    assert (true > 0).all(), "nothing is learned that does not happen"
    assert np.abs(learned.chance - true).max() < 0.15
    assert np.abs(learned.chance - true).mean() < 0.03
    assert np.allclose(np.bincount(learned.pair, learned.chance), 1)


def test_patrols_go_on_in_a_slippery_world(skills):
    mission = compile_mission("G F apple & G F hut & G !cliff", propositions=SLIPPERY.propositions)
    policy = make_policy(mission, skills)
    policy.start(0)
    assert policy.choose(mission.machine.initial, skills.values(0)).value > 0


def test_the_check_and_training_say_that_a_world_is_stochastic(tmp_path, capsys, monkeypatch):
    assert check_domain(SLIPPERY) == []
    (note,) = check_domain(SLIPPERY).notes
    assert note.startswith("The world is stochastic: the same action in the same state")
    assert check_domain(SURE).notes == []
    monkeypatch.setattr("skm_sim.get_domain", lambda _: SLIPPERY)
    out = str(tmp_path / "s")
    assert main(["train", "slippery", "--steps", "2400", "--out", out, "--json"]) == 0
    printed = capsys.readouterr()
    assert "The world is stochastic" in printed.err
    assert json.loads(printed.out)["stochastic"] > 50


def test_a_deterministic_world_knows_no_chances(tmp_path):
    out = tmp_path / "sure.safetensors"
    train(make_learner(SURE, {}, out, resume=False, overwrite=False), 6000, out, "test")
    assert load_primitives(SURE, out).world_model.chances is None
