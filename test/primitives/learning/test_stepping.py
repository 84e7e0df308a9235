"""Pictures whose labels are of single steps.

Tiles, whole episodes, continuation values; stepping alone.
"""

import itertools

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.learning.exploration import UntriedActions
from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_primitives.learning.graph_backup import ExperienceGraph, backed_up, episode_graph
from skm_primitives.learning.replay import Episodes
from skm_primitives.learning.training import make_learner, train
from skm_primitives.skills.encoders import ImageEncoder, Shrinking
from skm_primitives.skills.goal_space import GoalSpace
from skm_primitives.skills.networks import ServedImageNetwork
from skm_sim import DomainSpec

CELLS = 6
COLOURS = {"red": (250, 0, 0), "blue": (0, 0, 250)}


class Row(gymnasium.Env):
    """A row of tiles, 2 × 2 pixels drawn 4 × 4: an agent goes left or right and collects what it meets.

    What is collected comes back at once, elsewhere; labels are of the step that collects.
    """

    observation_space = Box(0, 255, (4, 4 * CELLS, 3), np.uint8)
    action_space = Discrete(2)
    propositions = ("red", "blue")
    constraints = ("red", "blue")

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._agent, *rest = self.np_random.permutation(CELLS)[:3].tolist()
        self._objects = dict(zip(COLOURS, rest, strict=True))
        self._shown = frozenset()
        return self._picture(), {"labels": self._shown}

    def step(self, action):
        self._agent = int(np.clip(self._agent + (1 if action else -1), 0, CELLS - 1))
        self._shown = frozenset(name for name, cell in self._objects.items() if cell == self._agent)
        for name in self._shown:
            taken = {self._agent, *self._objects.values()}
            free = [cell for cell in range(CELLS) if cell not in taken]
            self._objects[name] = int(self.np_random.choice(free))
        return self._picture(), 0.0, False, False, {"labels": self._shown}

    def labels(self):
        return self._shown

    def _picture(self):
        row = np.full((CELLS, 3), 60, np.uint8)
        row[self._agent] = 220
        for name, cell in self._objects.items():
            row[cell] = COLOURS[name]
        return np.repeat(np.repeat(row[None], 4, axis=0), 4, axis=1)


gymnasium.register("skm_stepping/Row-v0", entry_point=Row)
SPEC = DomainSpec("row", "skm_stepping/Row-v0", Row.propositions, Row.constraints, 0.9, 12, {})
SETTINGS = {"pixels": 12, "patch": 2, "channels": 8, "hidden": (64,), "members": 1, "gamma": 0.8}
SETTINGS |= {"continuation": True, "momentary": True, "sets": "all_but_one", "backup": "episode"}
SETTINGS |= {"untried": True, "agents": 8, "batch": 192, "update_every": 8, "replay": 6000}
SETTINGS |= {"learning_rate": 3e-3, "average_rate": 0.1, "action_gap": 0.5}
SETTINGS |= {"validation_layouts": 4}
ROUND = 96


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    path = tmp_path_factory.mktemp("row") / "row.safetensors"
    options = {**SETTINGS, "horizon": 60 * ROUND, "validate_rounds": 60}
    learner = make_learner(SPEC, options, path, resume=False, overwrite=False)
    train(learner, 60 * ROUND, path, "test")
    return learner, load_primitives(SPEC, path)


def seen(agent, red, blue):
    env = Row()
    env._agent, env._objects = agent, {"red": red, "blue": blue}
    return env._picture()


def goal_index(skills, labels, violated):
    return [(set(goal.labels), set(goal.violated)) for goal in skills.goals].index(
        (labels, violated)
    )


def test_every_label_set_comes_with_none_any_and_any_but_one(learned):
    _, skills = learned
    pairs = {(frozenset(goal.labels), frozenset(goal.violated)) for goal in skills.goals}
    sets = [frozenset(), frozenset({"red"}), frozenset({"blue"})]
    assert pairs == {(labels, v) for labels in sets for v in (*sets, frozenset({"red", "blue"}))}


def test_values_are_the_discounted_steps_to_go_and_actions_lead_there(learned):
    _, skills = learned
    blue = goal_index(skills, {"blue"}, {"red", "blue"})
    errors, wrong = [], 0
    for agent, red, there in itertools.permutations(range(CELLS), 3):
        values = skills.values(seen(agent, red, there))
        worth = np.maximum(values.move, values.stop)[blue]
        errors.append(np.log(worth.max()) / np.log(0.9) + 1 - abs(agent - there))
        wrong += int(worth.argmax()) != int(there > agent)
    assert np.abs(errors).mean() < 0.5
    assert wrong <= 4, f"of {len(errors)}"


def test_a_way_through_what_must_not_be_touched_is_none(learned):
    _, skills = learned
    free, strict = (goal_index(skills, {"blue"}, v) for v in ({"red", "blue"}, set()))
    best = skills.values(seen(0, 2, 4)).move.max(axis=1)
    assert best[strict] < 0.75 * best[free]


def test_continuation_values_say_what_lies_behind_what_is_collected_next(learned):
    _, skills = learned
    blue = goal_index(skills, {"blue"}, {"red", "blue"})
    red = list(dict.fromkeys(goal.labels for goal in skills.goals)).index(frozenset({"red"}))
    near, far = (skills.values(seen(2, 1, cell)).continuation[red, blue] for cell in (0, 5))
    assert near > far + 0.05


def test_missions_run_with_what_was_learned(learned):
    _, skills = learned
    mission = compile_mission("F(red & X F(blue & X F red))", propositions=SPEC.propositions)
    policy = make_policy(mission, skills)
    runs = [run_episode(SPEC.make(), skills, policy, max_steps=40, seed=s) for s in range(10)]
    assert sum(run.outcome == "accepted" for run in runs) >= 9


def test_it_is_served_as_it_was_learned(learned):
    learner, skills = learned
    pictures = learner.encoder.features(np.stack([seen(0, 2, 5), seen(3, 1, 4)]))
    served = ServedImageNetwork("network", learner.algorithm.served_arrays(), learner.encoder)
    with torch.no_grad():
        outputs, continuation = learner.algorithm.average.both(torch.from_numpy(pictures))
    np.testing.assert_allclose(served(pictures), outputs.numpy(), atol=1e-4)
    values = learner.algorithm.logits(pictures).reshape(2, -1, 2)
    given = skills.action_values(np.stack([seen(0, 2, 5), seen(3, 1, 4)]))
    np.testing.assert_allclose(given, 1 / (1 + np.exp(-values))[:, : given.shape[1]], atol=1e-3)
    np.testing.assert_allclose(
        served.continuation(pictures), torch.sigmoid(continuation).numpy(), atol=1e-5
    )


def test_a_resumed_run_equals_one_that_was_not_stopped(tmp_path):
    options = {**SETTINGS, "horizon": 4 * ROUND, "validate_rounds": 2, "half": True}
    runs = {}
    for name, stops in (("whole", (4,)), ("half", (2, 4))):
        for number, stop in enumerate(stops):
            resume = bool(number)
            given = {} if resume else options
            path = tmp_path / f"{name}.safetensors"
            learner = (
                GoalConditionedLearner.resume(SPEC, path)
                if resume
                else make_learner(SPEC, given, path, resume=False, overwrite=False)
            )
            train(learner, stop * ROUND, path, "test")
        runs[name] = learner
    whole, half = (runs[name].training_arrays() for name in ("whole", "half"))
    assert whole.keys() == half.keys()
    assert all(np.array_equal(whole[name], half[name]) for name in whole)
    assert [row["steps"] for row in runs["half"].curve.rows] == [2 * ROUND, 4 * ROUND]
    assert (tmp_path / "half.curve.csv").read_text().startswith("steps,cpu_minutes,validation")


def test_values_are_backed_up_through_a_graph_until_nothing_changes():
    """States 0 → 1 → 2 by action 0, which achieves the goal from 2; action 1 goes back to 0."""
    graph = ExperienceGraph(
        np.zeros((4, 1)),
        np.array([0, 1, 2, 1]),
        np.array([0, 0, 0, 1]),
        np.array([1, 2, 3, 0]),
        np.array([[False], [False], [True], [False]]),
        np.ones((4, 1), np.bool_),
        np.zeros((0, 3), np.int64),
    )
    said = torch.full((4, 2, 1), 0.25)
    values = backed_up(graph, said, 0.5)
    expected = [[0.25, 0.25], [0.5, 0.125], [1.0, 0.25], [0.25, 0.25]]
    assert values[..., 0].tolist() == expected
    said[0, 1] = 0.9  # An action that was not tried is worth what the network says.
    assert backed_up(graph, said, 0.5)[1, 1].item() == pytest.approx(0.45)


ACTIONS = np.array([[0, 0, 1], [0, 0, 0]], np.uint8)


def test_pictures_that_are_alike_are_one_state_of_their_episode():
    space = GoalSpace(("a",), ("a",), 2, (0, 1), momentary=True)
    pictures = np.array([[[0], [1], [0], [2]], [[0], [1], [3], [3]]], np.uint8)
    slots = np.array([[0, 0, 0, 1], [0, 1, 0, 0]])
    nothing = np.zeros((2, 3), np.bool_)
    graph = episode_graph(space, Episodes(pictures, ACTIONS, slots, nothing, nothing))
    assert graph.states[:, 0].tolist() == [0, 1, 2, 0, 1, 3]
    assert graph.source.tolist() == [0, 1, 0, 3, 4, 5]
    assert graph.target.tolist() == [1, 0, 2, 4, 5, 5]
    assert graph.achieved[:, 2].tolist() == [False, False, True, True, False, False]
    strict = graph.alive.reshape(6, 2, 2)[:, 0, 0].tolist()
    assert strict == [True, True, False, False, True, True], "to leave it violates nothing"
    shown = {tuple(row) for row in graph.shown.tolist()}
    assert {(0, 1, 2), (1, 1, 2), (3, 1, 4)} <= shown
    assert not any(slot == 1 and state > 3 for state, slot, _ in shown), "it is not shown again"


def test_what_was_tried_at_a_picture_is_not_tried_again_before_the_rest():
    untried, random = UntriedActions(1, 3), np.random.default_rng(0)
    picture, chosen = np.array([[7]], np.uint8), np.array([1])
    untried.start()
    nothing = np.zeros((0, 3), np.bool_)
    tried = [int(untried.instead(chosen, picture, random, nothing)[0]) for _ in range(3)]
    assert tried[0] == 1
    assert sorted(tried) == [0, 1, 2]
    assert untried.instead(chosen, picture + 1, random, nothing)[0] == 1
    untried.start()
    off = np.array([[False, True, False]])
    explored = [int(untried.instead(chosen, picture, random, off)[0]) for _ in range(20)]
    assert {*explored} == {0, 2}, "explorers avoid"


def test_pictures_are_averaged_by_area():
    picture = np.arange(24, dtype=np.uint8).reshape(1, 4, 6, 1) * 10
    small = Shrinking((4, 6, 1), (2, 3))(picture)
    blocks = picture.reshape(2, 2, 3, 2).mean((1, 3))
    assert np.array_equal(small[0, :, :, 0], np.round(blocks))
    body = ImageEncoder(Row())
    body.shrink(0)
    assert body.seen == (4, 24, 3), "small enough as it is"
    body.shrink(12)
    assert body.seen == (2, 12, 3)
    assert body.features(seen(0, 1, 2)[None]).shape == (1, 2 * 12 * 3)


def test_patches_that_do_not_fit_are_said(tmp_path):
    with pytest.raises(SkmError, match="no patches of 5 a side"):
        make_learner(SPEC, {**SETTINGS, "patch": 5}, tmp_path / "x", resume=False, overwrite=False)
    for wrong in ({"sets": "all"}, {"backup": "deep"}, {"pixels": -1}, {"members": 0}):
        with pytest.raises(SkmError, match=next(iter(wrong)).replace("sets", "constraint sets")):
            make_learner(SPEC, wrong, tmp_path / "x", resume=False, overwrite=False)


def test_room_for_label_sets_grows_and_what_was_learned_stays(tmp_path):
    options = {**SETTINGS, "slots": 1, "horizon": 2 * ROUND}
    learner = make_learner(SPEC, options, tmp_path / "x", resume=False, overwrite=False)
    learner.space.discover(np.zeros((1, 2), np.bool_))
    before, picture = learner.algorithm, learner.encoder.features(seen(0, 2, 4)[None])
    learner._discover({"labels": np.array([[True, False], [False, True]])})
    assert learner.space.capacity == 4
    assert learner.algorithm is not before
    assert learner.algorithm.average.continuation.shape == (1, 64, 4, 16)
    old, new = (algorithm.logits(picture)[0, :4] for algorithm in (before, learner.algorithm))
    np.testing.assert_allclose(new, old, atol=1e-6)
    for _ in range(2):
        learner.run_round()
    assert np.isfinite(learner.algorithm.logits(picture)).all()
