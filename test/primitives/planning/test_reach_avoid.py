"""Skills that take any avoid set: what they learn, what they serve, and what the planner asks."""

import numpy as np
import pytest

from rail_learning import assert_resumes_to_the_same_bytes, learned_on
from ring_world import CELLS, LABELS, NAMES, RING, RING_BOX, RING_IMAGE, SHOWN, observed
from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.learning.settings import DeepSettings, for_actions
from skm_primitives.planning.reach_avoid import ReachAvoidPolicy, covering
from skm_primitives.skills.goal_encoding import AvoidInput, ReachAvoidInput, random_allowed
from skm_primitives.skills.goal_space import NEVER, AnyAvoidGoals

EVERY = 0b1111
FAST = {"gamma": 0.9, "update_every": 6, "goals_each": 4, "average_rate": 0.03, "hidden": (48, 48)}


@pytest.fixture(scope="module", params=[RING, RING_IMAGE], ids=["vector", "image"])
def skills(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ring")
    learner = learned_on(request.param, 40, **FAST, horizon=40 * 16 * 12)
    learner.save(folder / "ring", "test")
    return load_primitives(request.param, folder / "ring")


def best_values(skills, cell, avoid):
    """Return for each label set the value of its strict goal by the better action, avoiding some."""
    image = skills.domain == "ring_image"
    allowed = frozenset(NAMES) - frozenset(avoid)
    values = skills.values(observed([cell], image)[0], allowed)
    both = np.maximum(values.move, values.stop)
    strict = {goal.labels: i for i, goal in enumerate(skills.goals) if not goal.violated}
    return {next(iter(labels), ""): both[i] for labels, i in strict.items()}


def true_value(cell, reach, avoid, action):
    """Return γ to the number of steps that walking on to one side takes, less one; 0: not at all."""
    for steps in range(1, 2 * CELLS):
        cell = (cell + (1 if action else -1)) % CELLS
        shown = {name for name, true in zip(NAMES, LABELS[cell], strict=True) if true}
        if shown == {reach}:
            return 0.9 ** (steps - 1)
        if shown & set(avoid):
            return 0.0
    return 0.0


def test_values_are_those_one_can_write_down_for_avoid_sets_of_any_size(skills):
    for cell in (0, 1, 7, 3):
        for avoid in (
            (),
            ("red",),
            ("blue",),
            ("red", "blue"),
            ("green",),
            ("red", "green", "blue"),
        ):
            found = best_values(skills, cell, avoid)["goal"]
            true = [true_value(cell, "goal", avoid, action) for action in (0, 1)]
            assert found.max() == pytest.approx(max(true), abs=0.2), (cell, avoid)
            assert true[found.argmax()] >= max(true) - 0.01, (cell, avoid)


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("!red U goal", (0, 7, 6, 5, 4)),
        ("!(blue | green) U goal", (0, 1, 2, 3, 4)),
        ("F goal & G !green", (0, 1, 2, 3, 4)),
        ("!red U (goal & (!green U red))", (0, 7, 6, 5, 4, 3, 2)),
    ],
)
def test_missions_avoid_what_would_harm_them_and_nothing_else(skills, text, way):
    spec = RING_IMAGE if skills.domain == "ring_image" else RING
    mission = compile_mission(text, propositions=NAMES)
    policy = make_policy(mission, skills)
    assert isinstance(policy, ReachAvoidPolicy)
    episode = run_episode(spec.make(), skills, policy, max_steps=20, options={"cell": 0})
    assert episode.outcome == "accepted"
    assert episode.steps == len(way) - 1


def test_two_legs_are_worth_the_steps_of_both(tmp_path):
    learned_on(RING_IMAGE, 40, **FAST, legs=2, horizon=40 * 16 * 12).save(tmp_path / "ring", "test")
    skills = load_primitives(RING_IMAGE, tmp_path / "ring")
    sets = list(dict.fromkeys(goal.labels for goal in skills.goals))
    free = {goal.labels: i for i, goal in enumerate(skills.goals) if goal.violated}
    for cell, first, then in ((0, 2, 4), (0, 5, 2), (3, 6, 4), (1, 4, 5)):
        labels = [frozenset({SHOWN[place]}) for place in (first, then)]
        legs = skills.values(observed([cell], image=True)[0], frozenset(NAMES)).legs
        found = legs[free[labels[0]], sets.index(labels[1])]
        beside = [(cell + side) % CELLS for side in (-1, 1)]
        steps = np.array([1 + apart(place, first) + apart(first, then) for place in beside])
        assert found.max() == pytest.approx(0.9 ** (steps.min() - 1), abs=0.2), (cell, first, then)
        assert steps[found.argmax()] == steps.min()


def apart(cell, other):
    """Return the steps between two cells of the ring."""
    return min((cell - other) % CELLS, (other - cell) % CELLS)


@pytest.mark.parametrize("algorithm", ["dqn", "td3"])
def test_continuous_actions_take_avoid_sets_too(algorithm, tmp_path):
    settings = {**FAST, "algorithm": algorithm, "horizon": 40 * 16 * 12}
    learned_on(RING_BOX, 40, **settings).save(tmp_path / "ring", "test")
    skills = load_primitives(RING_BOX, tmp_path / "ring")
    for text, steps in (("!red U goal", 4), ("!(blue | green) U goal", 4)):
        policy = make_policy(compile_mission(text, propositions=NAMES), skills)
        assert isinstance(policy, ReachAvoidPolicy)
        episode = run_episode(RING_BOX.make(), skills, policy, max_steps=20, options={"cell": 0})
        assert (episode.outcome, episode.steps) == ("accepted", steps)


def test_two_runs_and_a_resumed_one_are_the_same_bytes(tmp_path):
    for spec in (RING, RING_IMAGE):
        assert_resumes_to_the_same_bytes(spec, tmp_path, sets="any", **FAST, legs=2)
    assert_resumes_to_the_same_bytes(RING_BOX, tmp_path, sets="any", **FAST, algorithm="td3")


def test_several_constraints_are_learned_with_any_avoid_set_unless_told_otherwise():
    assert for_actions({}, RING)["sets"] == "any"
    assert "sets" not in for_actions({"backup": "episode"}, RING_IMAGE)
    assert for_actions({"sets": "two"}, RING)["sets"] == "two"
    assert for_actions({"algorithm": "td3"}, RING_BOX)["sets"] == "any"
    with pytest.raises(SkmError, match="sets=any goes with"):
        DeepSettings(sets="any", continuation=True)


def test_steps_later_agree_with_a_plain_search():
    space = AnyAvoidGoals(NAMES, NAMES, 4, (0, 1, 2, 4, 8))
    random = np.random.default_rng(0)
    slots = random.integers(5, size=(60, 9))
    between = random.random((60, 8)) < 0.1
    step, allowed = random.integers(8, size=60), random.integers(16, size=60)
    between[np.arange(60), step] = False
    found = space.steps_later(allowed, slots, between, step)
    for row in range(60):
        for slot in range(5):
            expected = NEVER
            for later in range(step[row], 8):
                if later > step[row] and between[row, later]:
                    break
                there = slots[row, later + 1]
                if there == slot:
                    expected = later + 1 - step[row]
                    break
                if space.label_bits[there] & ~allowed[row]:
                    break
            assert found[row, slot] == expected


def test_questions_hold_the_reach_and_the_avoid_set():
    space = AnyAvoidGoals(NAMES, NAMES, 4, (0, 0b0001, 0b0110))
    features = np.zeros((2, 3), np.uint8)
    both = ReachAvoidInput(space, 3)
    asked = both.listed[np.array([2 * space.heads, 1 * space.heads + 1])]
    assert both.shown(features, asked)[:, 3:].tolist() == [
        [0, 1, 1, 0, 1, 1, 1, 1],
        [1, 0, 0, 0, 0, 0, 0, 0],
    ]
    avoid = AvoidInput(space, 3)
    assert avoid.outputs == 4
    assert avoid.used == 3
    drawn = avoid.draw(np.random.default_rng(0), np.zeros(2000, np.int64))
    sizes = space.avoided(drawn.allowed).sum(1)
    assert set(sizes) == {0, 1, 2, 3, 4}
    assert len(set(drawn.allowed.tolist())) == 16, "every avoid set comes up"
    assert (random_allowed(space, np.random.default_rng(1), 100) <= EVERY).all()


def test_few_constraints_cover_what_is_bad():
    sets = tuple(map(frozenset, ("", "a", "b", "ab", "bc", "c")))
    bad = [labels in (frozenset("ab"), frozenset("bc"), frozenset("b")) for labels in sets]
    assert covering(sets, np.array(bad), frozenset("abc")) == {"b"}
    assert covering(sets, np.zeros(6, np.bool_), frozenset("abc")) == frozenset()
    only = np.array([labels == frozenset("ab") for labels in sets])
    assert len(covering(sets, only, frozenset("abc"))) == 1
