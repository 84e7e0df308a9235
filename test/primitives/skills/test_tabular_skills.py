"""Tabular skill primitives: exact values in tiny worlds and in the office, and reproducibility."""

from functools import cache

import gymnasium
import numpy as np
import pytest

from skm_machine.errors import SkmError
from skm_primitives.learning.tabular import TabularLearner
from skm_primitives.skills.checkpoint import MissingCheckpointError
from skm_primitives.skills.goals import Goal, GoalBuffer, Histories, UnknownGoalError
from skm_primitives.skills.loading import default_checkpoint, load_primitives
from skm_primitives.skills.tabular_skills import TabularPrimitives, TabularSettings
from skm_sim.registry import get_domain
from tiny_worlds import (
    CORRIDOR,
    LENGTH,
    SHY,
    TERMINAL,
    assert_optimal,
    corridor_tables,
    exact_values,
)

HAZARD = frozenset({"hazard"})
NOTHING = frozenset()
LEFT, RIGHT = 0, 1


def learned(spec, steps, **settings):
    learner = TabularLearner(spec, TabularSettings(**settings))
    while learner.steps < steps:
        learner.run_round()
    return learner


def served(spec, steps, **settings):
    return TabularPrimitives(learned(spec, steps, **settings).state)


def value(primitives, cell, violated, goal):
    values = primitives.values(cell, violated)
    index = primitives.goals.index(goal)
    return values.move[index].tolist(), values.stop[index].tolist()


def test_goals_print_pleasantly():
    goal = Goal(frozenset({"coffee"}), frozenset({"decoration"}), 17)
    assert str(goal) == "{coffee, ^decoration} at 17"
    assert goal.describe(lambda place: f"({place // 5},{place % 5})").endswith("at (3,2)")
    assert str(Goal(NOTHING)) == "{}"


def test_goal_buffer_keeps_the_index_of_every_goal():
    first, second = Goal(NOTHING, NOTHING, 1), Goal(NOTHING, NOTHING, 2)
    buffer = GoalBuffer([first])
    assert [buffer.add(second), buffer.add(first), len(buffer)] == [1, 0, 2]
    assert list(buffer) == [first, second]
    assert buffer.index(second) == 1
    assert second in buffer
    with pytest.raises(UnknownGoalError, match="never achieved"):
        buffer.index(Goal(HAZARD))


def test_histories_only_grow():
    histories = Histories(("a", "b"))
    assert histories.lost == 9  # 3^2 pairs with c ⊆ v
    start = histories.pair[0, 0b01]
    assert histories.successor[0b01, start] == histories.pair[0b01, 0b01]
    assert histories.successor[0b10, start] == histories.lost
    assert histories.names(histories.bits({"b"})) == {"b"}


def test_corridor_values_are_powers_of_gamma():
    """By hand: stopping on arrival is worth 1, and every step before that costs a factor γ."""
    primitives = served(CORRIDOR, 2000)
    right_violating = Goal(frozenset({"right"}), HAZARD, LENGTH - 1)
    right = Goal(frozenset({"right"}), NOTHING, LENGTH - 1)
    move, stop = value(primitives, 0, NOTHING, right_violating)  # past the hazard, 4 steps
    assert move == pytest.approx([0.9**4, 0.9**3])
    assert stop == [0, 0]
    assert value(primitives, 0, NOTHING, right)[0] == [0, 0]  # no way round the hazard
    assert value(primitives, 3, NOTHING, right)[1] == [0, 1]
    assert value(primitives, 3, HAZARD, right) == ([0, 0], [0, 0])  # what is done is done
    assert value(primitives, 2, NOTHING, right) == ([0, 0], [0, 0])  # leaving it violates too
    # The history counts as it was before the step: the first step onto the hazard is free.
    on_hazard = Goal(HAZARD, NOTHING, 2)
    assert value(primitives, 1, NOTHING, on_hazard)[1] == [0, 1]


@pytest.mark.parametrize("spec", [CORRIDOR, TERMINAL], ids=lambda spec: spec.name)
def test_corridor_values_are_exact_for_all_goals_and_histories(spec):
    primitives = served(spec, 2000)
    assert len(primitives.goals) == 2 * LENGTH
    terminal = [LENGTH - 1] if spec is TERMINAL else []
    move, stop = exact_values(*corridor_tables(), 2, 0.9, terminal)
    if spec is TERMINAL:  # away and back again is possible to the left only
        here = Goal(NOTHING, HAZARD, 3)
        assert value(primitives, 3, HAZARD, here)[0] == pytest.approx([0.9, 0])
    assert_optimal(primitives, move, stop)


def algorithm_1(world, steps, *, gamma=0.9, alpha=1.0, rmax=1.0, rmin=0.0):
    """Algorithm 1 to the letter, with dictionaries, under random behaviour."""
    random = np.random.default_rng(0)
    q_max, q_min, buffer = {}, {}, {(NOTHING, NOTHING)}
    env = gymnasium.make(world.env_id).unwrapped
    both = [(a, t) for a in range(2) for t in range(2)]
    for episode in range(steps // 25):
        state, info = env.reset(seed=episode)
        labels, violated = info["labels"], frozenset(world.constraints[: random.integers(2)])
        for _ in range(25):
            action, terminate = both[random.integers(4)]
            after, _, _, _, info = env.step(action)
            changed = (labels ^ info["labels"]) & set(world.constraints)
            achieved = (info["labels"], violated)
            if terminate:
                buffer.add(achieved)
            for table, top in ((q_max, rmax), (q_min, rmin)):
                for goal in buffer:
                    target = 0.0
                    if terminate:
                        target = top if goal == achieved else rmin
                    else:
                        future = (table.get((after, violated | changed, goal, x), 0) for x in both)
                        target = gamma * max(future)
                    key = (state, violated, goal, (action, terminate))
                    table[key] = table.get(key, 0) + alpha * (target - table.get(key, 0))
            state, labels, violated = after, info["labels"], violated | changed
            if terminate:
                break
    return q_max, q_min


def test_paper_goals_agree_with_algorithm_1_to_the_letter_and_q_min_is_zero():
    """Without places, the learner finds what the paper's pseudo-code finds; Q_MIN is 0 throughout.

    With places, the maximum over the places of a label set is that same value.
    """
    q_max, q_min = algorithm_1(CORRIDOR, 40_000)
    assert q_min
    assert set(q_min.values()) == {0.0}
    plain, placed = served(CORRIDOR, 2000, places=False), served(CORRIDOR, 2000)
    assert len(plain.goals) == 8  # {}, {left}, {hazard}, {right}, with and without violation
    for (cell, violated, goal, (action, terminate)), expected in q_max.items():
        for primitives in (plain, placed):
            rows = [
                index
                for index, candidate in enumerate(primitives.goals)
                if (candidate.labels, candidate.violated) == goal
            ]
            values = primitives.values(cell, violated)
            table = values.stop if terminate else values.move
            assert table[rows, action].max() == pytest.approx(expected, rel=1e-5)


def test_small_step_size_approaches_the_same_values():
    primitives = served(CORRIDOR, 20_000, alpha=0.1)
    move, stop = exact_values(*corridor_tables(), 2, 0.9)
    assert_optimal(primitives, move, stop)


def test_labels_that_change_with_the_visits_are_known_visit_by_visit():
    primitives = served(SHY, 5000)
    left = frozenset({"left"})
    assert primitives.world_model.visit_labels[0] == (left, left, NOTHING)
    assert primitives.world_model.visit_labels[2] == (HAZARD,)
    goals = [i for i, goal in enumerate(primitives.goals) if goal.place == 0 and not goal.violated]
    assert {primitives.goals[i].labels for i in goals} == {left, NOTHING}
    assert primitives.world_model.goal_probability[goals].sum() == pytest.approx(1)
    move, stop = exact_values(*corridor_tables(), 2, 0.9)
    assert_optimal(primitives, move, stop)


def test_values_are_read_only_views():
    primitives = served(CORRIDOR, 500)
    values = primitives.values(1, HAZARD)
    assert values.move.base is primitives.values(2, NOTHING).move.base
    with pytest.raises(ValueError, match="read-only"):
        values.move[0, 0] = 1
    with pytest.raises(SkmError, match=r"'hazrd' is not a constraint.*did you mean 'hazard'"):
        primitives.values(1, frozenset({"hazrd"}))


def test_same_seed_same_bits_and_another_seed_others(tmp_path):
    digests = [
        learned(CORRIDOR, 1500, seed=seed).save(tmp_path / "c", "test").digest for seed in (1, 1, 2)
    ]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("settings", [{}, {"places": False}, {"alpha": 0.1}], ids=str)
@pytest.mark.parametrize("spec", [SHY, TERMINAL], ids=lambda spec: spec.name)
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, spec, settings):
    learned(spec, 1000, **settings).save(tmp_path / "half", "test")
    resumed = TabularLearner.resume(spec, tmp_path / "half")
    assert resumed.steps == 1000
    while resumed.steps < 2000:
        resumed.run_round()
    whole = learned(spec, 2000, **settings).save(tmp_path / "whole", "test")
    assert resumed.save(tmp_path / "half", "test").digest == whole.digest


@pytest.mark.parametrize("places", [True, False])
def test_one_agent_alone_may_end_its_world(places):
    """On the step that resets it there is nothing to learn from at all."""
    assert served(TERMINAL, 200, agents=1, places=places).goals


@cache
def office_exact(name):
    spec = get_domain(name)
    model = gymnasium.make(spec.env_id).unwrapped.model
    hazard = model.cell_labels[:, spec.propositions.index("decoration")].astype(int)
    return exact_values(model.cell_transitions, hazard, 2, spec.gamma)


def office_cells():
    model = gymnasium.make("skm/Office-v0").unwrapped.model
    return {
        name: int(np.flatnonzero(model.cell_labels[:, model.propositions.index(name)])[0])
        for name in ("mail", "office")
    }


def assert_knows_the_counters(primitives):
    cells = office_cells()
    with_mail, mail = frozenset({"mail", "mail_present"}), frozenset({"mail"})
    with_people, office = frozenset({"office", "people_present"}), frozenset({"office"})
    assert primitives.world_model.visit_labels[cells["mail"]] == (with_mail,) * 2 + (mail,)
    assert primitives.world_model.visit_labels[cells["office"]] == (with_people,) * 4 + (office,)
    assert sum(len(labels) > 1 for labels in primitives.world_model.visit_labels.values()) == 2


@pytest.mark.parametrize("name", ["office", "office_absorbing"])
def test_shipped_checkpoints_hold_the_exact_optimum(name):
    primitives = load_primitives(get_domain(name))
    assert len(primitives.goals) == 2 * (120 + 2)
    assert_optimal(primitives, *office_exact(name))
    assert_knows_the_counters(primitives)


def test_office_is_learned_exactly():
    learner = learned(get_domain("office"), 100_000, seed=1)
    assert learner.steps == 100_000
    primitives = TabularPrimitives(learner.state)
    assert_optimal(primitives, *office_exact("office"))
    assert_knows_the_counters(primitives)


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_office_is_exact_long_before_the_budget_ends(seed):
    primitives = served(get_domain("office"), 30_000, seed=seed)
    assert_optimal(primitives, *office_exact("office"))
    assert_knows_the_counters(primitives)


def test_office_has_the_papers_22_goals_without_places():
    assert len(served(get_domain("office"), 10_000, places=False).goals) == 22


def test_a_domain_without_a_shipped_checkpoint_says_how_to_make_one():
    with pytest.raises(MissingCheckpointError, match="'corridor'; `skm train DOMAIN"):
        default_checkpoint(CORRIDOR)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0}, "alpha is 0"),
        ({"epsilon": 1.5}, "epsilon is 1.5"),
        ({"agents": 0}, "agents is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(SkmError, match=message):
        TabularSettings(**settings)


def test_unknown_options_name_the_nearest():
    with pytest.raises(SkmError, match="did you mean 'alpha'"):
        TabularLearner.start(CORRIDOR, {"alpa": 1})
