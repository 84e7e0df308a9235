"""Networks relative to the goal: what they see, what they learn, how they are served; held decisions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rail_learning import assert_resumes_to_the_same_bytes, learned_on
from rail_world import RAIL
from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives.execution.episodes import run_episode
from skm_primitives.planning.planners import make_policy
from skm_primitives.skills.checkpoint import WrongDomainError
from skm_primitives.skills.goal_encoding import relative_inputs
from skm_primitives.skills.goal_space import ObjectGoals
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.loading import load_primitives
from skm_sim.object_centric import ObjectSets
from skm_sim.registry import get_domain
from skm_sim.spec import DomainSpec

RED, BLUE = frozenset({"red"}), frozenset({"blue"})
BOTH = RED | BLUE


def learned(rounds, **options):
    return learned_on(RAIL, rounds, **options)


@pytest.fixture(scope="module")
def primitives(tmp_path_factory):
    """What was learned on the rail, served."""
    path = tmp_path_factory.mktemp("rail") / "rail"
    learned(20).save(path, "test")
    return load_primitives(RAIL, path)


def a_space():
    """Return the goals of the rail: nothing, red and blue have the slots 0, 1, 2."""
    return ObjectGoals(("red", "blue"), ("red", "blue"), RAIL.objects, 4)


def test_a_goal_is_one_kind_with_every_set_that_holds_it():
    assert a_space().goals() == (
        Goal(RED, RED),
        Goal(RED, BOTH),
        Goal(BLUE, BLUE),
        Goal(BLUE, BOTH),
    )
    assert a_space().outputs == 0


def test_four_kinds_have_32_goals_and_masks_are_single_ones():
    space = ObjectGoals(tuple("abcd"), tuple("abcd"), ObjectSets(0, tuple("abcd"), 1, 1, 0, 3), 8)
    assert len(space.goals()) == len(set(space.goals())) == 32
    masks = space.random_masks(np.random.default_rng(0), 500).reshape(500, -1)
    assert (masks.sum(1) == 1).all()
    assert set(masks.argmax(1).tolist()) == set(space.served().tolist())


def test_the_network_sees_what_to_reach_then_what_to_avoid_nearest_first():
    objects = ObjectSets(own=1, kinds=("a", "b", "c"), each=2, features=2, nearness=1, avoided=3)
    seen = [[9.0], [1, 0.1, 2, 0.2], [3, 0.9, 4, 0.4], [5, 0.5, 6, 0.6]]
    features = np.concatenate(seen).astype(np.float32)[None]
    kind, avoided = np.array([0]), np.array([[False, True, True]])
    shown = relative_inputs(objects, features, kind, avoided)[0].tolist()
    assert shown == pytest.approx([9, 1, 0.1, 2, 0.2, 3, 0.9, 6, 0.6, 5, 0.5])
    free = relative_inputs(objects, features, kind, np.array([[False, False, True]]))[0].tolist()
    assert free == pytest.approx([9, 1, 0.1, 2, 0.2, 6, 0.6, 5, 0.5, 0, 0])


@given(st.lists(st.integers(0, 2), min_size=3, max_size=12), st.data())
def test_steps_to_a_goal_agree_with_a_plain_search(slots, data):
    """Leaving or entering what is not allowed loses the goal, and so does the end of an episode."""
    space, steps = a_space(), len(slots) - 1
    cut = data.draw(st.integers(1, steps))  # the step that leads to another episode; `steps`: none
    start = data.draw(st.integers(0, steps - 1))
    between = np.arange(steps)[None] == cut
    for row, goal in enumerate(space.goals()):
        wanted = 1 if goal.labels == RED else 2
        found = 0
        for step in range(start, steps):
            if step == cut and step > start:
                break
            if slots[step + 1] == wanted:
                found = step - start + 1
                break
            touched = {1: RED, 2: BLUE}
            here, there = (touched.get(slots[i], frozenset()) for i in (step, step + 1))
            if (here ^ there) - goal.violated:
                break
        answer = space.steps_to(
            space.served()[[row]], np.array([slots]), between, np.array([start])
        )
        assert answer.tolist() == [found]


def test_values_are_those_one_can_write_down(primitives):
    """γ to the number of steps, less one; 0 where what is to be avoided is in the way."""
    index = {goal: i for i, goal in enumerate(primitives.goals)}
    for red, blue in ((1, -2), (3, -1), (-2, 2), (4, 2)):
        values = primitives.values(np.array([red, blue], np.float32), frozenset())
        free = index[Goal(RED, BOTH)]
        assert values.value[free] == pytest.approx(0.9 ** (abs(red) - 1), abs=0.15)
        assert values.action[free, 0] == np.sign(red)
    blocked = primitives.values(np.array([3, 1], np.float32), frozenset())
    assert blocked.value[index[Goal(RED, RED)]] < 0.15
    clear = primitives.values(np.array([3, -1], np.float32), frozenset())
    assert clear.value[index[Goal(RED, RED)]] > 0.6


def test_what_is_learned_of_one_kind_holds_for_the_other(primitives):
    index = {goal: i for i, goal in enumerate(primitives.goals)}
    one = primitives.values(np.array([3, -1], np.float32), frozenset())
    other = primitives.values(np.array([-1, 3], np.float32), frozenset())
    pairs = ((Goal(RED, RED), Goal(BLUE, BLUE)), (Goal(RED, BOTH), Goal(BLUE, BOTH)))
    for red, blue in pairs:
        assert one.value[index[red]] == pytest.approx(other.value[index[blue]], abs=1e-6)


def test_goals_that_forbid_what_has_happened_are_worth_nothing(primitives):
    values = primitives.values(np.array([3, -1], np.float32), BLUE)
    worth = dict(zip(primitives.goals, values.value.tolist(), strict=True))
    assert worth[Goal(RED, RED)] == 0
    assert worth[Goal(RED, BOTH)] > 0


def test_the_action_is_the_best_by_the_smaller_of_both_networks(primitives):
    for red, blue in ((3, -1), (-2, 2), (4, 2), (1, -5)):
        seen = np.array([red, blue], np.float32)
        features = primitives._encoder.features(seen[None])
        logits = primitives._networks.logits(features)[:, 0]
        best = primitives._encoder.actions[logits.min(0).argmax(-1)]
        np.testing.assert_array_equal(primitives.values(seen).action, best)


def test_only_goals_that_are_wanted_are_asked_about(primitives):
    seen = np.array([3, -1], np.float32)
    wanted = np.array([True, False, False, True])
    some, every = primitives.wanted_values(seen, frozenset(), wanted), primitives.values(seen)
    # Matrices of two shapes: kernels of BLAS may sum them in another order.
    np.testing.assert_allclose(some.value[wanted], every.value[wanted], atol=1e-6)
    np.testing.assert_array_equal(some.action[wanted], every.action[wanted])
    assert some.value[~wanted].tolist() == [0, 0]
    assert np.isfinite(some.spread).all()


def test_a_run_that_is_stopped_and_resumed_equals_one_that_is_not(tmp_path):
    assert_resumes_to_the_same_bytes(RAIL, tmp_path)


def test_a_domain_that_says_no_more_what_it_sees_is_refused(tmp_path):
    learned(1).save(tmp_path / "rail", "test")
    blind = DomainSpec(**{**vars(RAIL), "objects": None})
    with pytest.raises(WrongDomainError, match="does not say any more"):
        load_primitives(blind, tmp_path / "rail")
    with pytest.raises(SkmError, match="kinds of its objects"):
        DomainSpec(**{**vars(RAIL), "constraints": ("red",)})


def test_decisions_are_held_unless_the_machine_moves():
    office = get_domain("office")
    primitives = load_primitives(office)
    primitives.hold = 3
    mission = compile_mission("F(coffee & X F office)", propositions=office.propositions)
    policy = make_policy(mission, primitives)
    episode = run_episode(office.make(), primitives, policy, max_steps=60, seed=3)
    moved = {transition.step for transition in episode.transitions}
    held = 0
    for step, decision in enumerate(episode.decisions):
        fresh = step == 0 or held == 3 or step in moved
        assert (step == 0 or decision is not episode.decisions[step - 1]) == fresh
        held = 1 if fresh else held + 1
    assert len(episode.decisions) > 6
