"""Worlds of many cells: learned by trying every action once, planned optimally, small on disk."""

import gymnasium
import pytest

from large_grid import grid_spec
from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.evaluation import EvaluationOptions, evaluate
from skm_primitives.learning.training import learner_class, make_learner, train
from skm_primitives.learning.world_model import WorldLearner
from skm_primitives.skills.checkpoint import load
from skm_sim import DomainSpec


def learned(spec, out, **options):
    learner = make_learner(spec, options, out, resume=False, overwrite=False)
    train(learner, learner.default_steps, out, "test")
    return learner


@pytest.mark.parametrize(("side", "missions"), [(40, 8), (100, 3), (200, 2)])
def test_many_cells_are_learned_whole_and_missions_are_optimal(tmp_path, side, missions):
    spec, out = grid_spec(side), tmp_path / "grid.safetensors"
    assert learner_class(spec) is WorldLearner
    learned(spec, out)
    assert load(out)[1].scores["untried"] <= 4 * side**2 / 10_000
    assert out.stat().st_size < 100 * side**2
    found = evaluate(spec, EvaluationOptions(checkpoint=out, missions=missions, episodes=5, seed=3))
    assert found.success == 1.0
    assert found.return_ratio == pytest.approx(1.0)


def test_a_run_that_is_stopped_and_resumed_equals_one_that_is_not(tmp_path):
    spec = grid_spec(32)
    paths = [tmp_path / f"{name}.safetensors" for name in ("whole", "half")]
    for path, rounds in zip(paths, (4, 2), strict=True):
        train(WorldLearner.start(spec, {"agents": 8}), rounds * 800, path, "test")
    train(WorldLearner.resume(spec, paths[1]), 4 * 800, paths[1], "test")
    assert paths[0].read_bytes() == paths[1].read_bytes()


class Trap(gymnasium.Env):
    """A long corridor; the last cell is the end of the world."""

    propositions, constraints = ("start", "end"), ()
    observation_space, action_space = gymnasium.spaces.Discrete(1200), gymnasium.spaces.Discrete(2)
    slippery = moody = False

    def labels(self):
        shown = {0: {"start"}, 1199: {"end"}}.get(self.cell, set())
        return frozenset({"end"} if self.moody and self.time % 2 else shown)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.time = int(self.np_random.integers(1199)), 0
        return self.cell, {"labels": self.labels()}

    def step(self, action):
        self.time += 1
        stays = self.slippery and self.np_random.random() < 0.3
        self.cell += 0 if stays or (not action and not self.cell) else (1 if action else -1)
        return self.cell, 0.0, self.cell == 1199, False, {"labels": self.labels()}


def trap_spec(name, **members):
    env_id = f"skm_large/{name}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=type(name, (Trap,), members))
    return DomainSpec(name.lower(), env_id, Trap.propositions, (), 0.999, 50, {})


def test_what_lies_behind_the_end_of_the_world_cannot_be_reached(tmp_path):
    spec, out = trap_spec("Corridor"), tmp_path / "trap.safetensors"
    learned(spec, out, agents=16)
    skills = load_primitives(spec, out)
    env = spec.make()
    mission = compile_mission("F(start & X F end)", propositions=spec.propositions)
    episode = run_episode(env, skills, make_policy(mission, skills), max_steps=4000, seed=1)
    assert episode.outcome == "accepted"
    back = compile_mission("F(end & X F start)", propositions=spec.propositions)
    with pytest.raises(SkmError, match="cannot be achieved"):
        make_policy(back, skills)


@pytest.mark.parametrize(
    ("members", "message"),
    [({"slippery": True}, "is stochastic"), ({"moody": True}, "two label sets")],
)
def test_worlds_that_are_not_so_are_refused_with_what_was_seen(members, message, tmp_path):
    spec = trap_spec(f"Trap{next(iter(members)).title()}", **members)
    with pytest.raises(SkmError, match=message):
        learned(spec, tmp_path / "trap.safetensors")
