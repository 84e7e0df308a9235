"""Worlds that are known as a whole: skills and plans against what brute force finds."""

from dataclasses import replace

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_primitives.evaluation.exact import evaluate_policy, most_rounds, optimal_steps
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.planning.product import machine_table, mission_product
from skm_primitives.planning.solvers import Lengths
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.known_skills import (
    FAR,
    KnownPrimitives,
    allowed_sets,
    compute_skills,
    label_distances,
)
from skm_sim import DomainSpec
from skm_sim.finite_world import FiniteWorld
from skm_sim.tabular import TabularModel

GAMMA = 0.93
NAMES = ("a", "b", "x")
MISSIONS = (
    ("F a", False),
    ("F(a & X F b) & G !x", False),
    ("(!x U a) & F(a & X F(b & !a))", False),
    ("F(a & X a)", False),
    ("F(a & X F b)", True),
    ("G F a & G F b & G !x", False),
    ("G F (a | b) & F x", False),
)


def random_model(seed, cells=30, actions=3):
    rng = np.random.default_rng(seed)
    labels = rng.random((cells, 3)) < (0.1, 0.1, 0.2)
    transitions = rng.integers(cells, size=(cells, actions))
    near = np.arange(cells)
    transitions[:, 0] = near  # one action stays
    return TabularModel(NAMES, ("x",), transitions, near, labels, near.copy())


def world_of(model):
    return FiniteWorld(model.transitions, model.label_sets, model.label_ids)


def skills_of(model, name="tiny"):
    spec = DomainSpec(name, "none/None-v0", model.propositions, model.constraints, GAMMA, 50, {})
    return KnownPrimitives(compute_skills(model), spec)


def values_by_iteration(machine, world):
    """V of the product, by the textbook; of missions without end, rewards that others can follow."""
    target, reward = machine_table(machine, world.label_sets)
    entered = world.label_ids[world.successors]
    value = np.zeros((machine.num_states, len(world.label_ids)))
    paid = reward[:, entered]
    lasting = np.ones(value.shape, np.bool_)
    while machine.endless:
        counted = (paid > 0) & lasting[target[:, entered], world.successors]
        found = np.zeros_like(lasting)
        for _ in range(found.size):
            found = (counted | found[target[:, entered], world.successors]).any(axis=2)
        paid = np.where(counted, paid, 0.0)
        if np.array_equal(found, lasting):
            break
        lasting = found
    for _ in range(2000):
        after = value[target[:, entered], world.successors]
        better = (paid + GAMMA * after).max(axis=2)
        if np.abs(better - value).max() < 1e-13:
            break
        value = better
    return value


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("text", "repeat"), MISSIONS)
def test_plans_have_the_values_of_value_iteration(seed, text, repeat):
    world = world_of(random_model(seed))
    machine = compile_mission(text, propositions=NAMES, repeat=repeat).machine
    product = mission_product(machine, world)
    lengths = Lengths(product, GAMMA, lasting=machine.endless)
    found = GAMMA ** lengths.being.reshape(product.shape)[:, :, 0]
    exact = values_by_iteration(machine, world)
    live = [u for u in range(machine.num_states) if u not in machine.terminal]
    assert found[live] == pytest.approx(exact[live], rel=1e-5, abs=1e-12)


def steps_by_hand(model, machine, cell):
    """Fewest steps to the first reward, level by level from one cell; −1: none."""
    frontier, met = {(machine.initial, cell)}, set()
    for step in range(1, 60 * machine.num_states):
        reached = set()
        for u, here in frontier:
            for there in model.transitions[here].tolist():
                outcome = machine.step(u, model.label_sets[model.label_ids[there]])
                if outcome.reward > 0:
                    return step
                if outcome.target not in machine.terminal:
                    reached.add((outcome.target, there))
        frontier = reached - met
        met |= frontier
    return -1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("text", [text for text, repeat in MISSIONS[:4]])
def test_the_policy_is_optimal_from_every_start_and_never_fails(seed, text):
    model = random_model(seed, cells=60)
    mission = compile_mission(text, propositions=NAMES)
    fewest = optimal_steps(model, mission.machine)
    assert fewest.tolist() == [steps_by_hand(model, mission.machine, c) for c in range(60)]
    skills = skills_of(model)
    if (fewest < 0).all():
        with pytest.raises(UnachievableMissionError):
            make_policy(mission, skills)
        return
    policy = make_policy(mission, skills)
    assert isinstance(policy, ProductPolicy)
    runs = evaluate_policy(model, skills, policy, max_steps=500)
    assert np.array_equal(runs.steps[fewest >= 0], fewest[fewest >= 0])
    assert runs.summary().success == runs.summary().return_ratio == 1
    assert [policy.steps_from(c) for c in np.flatnonzero(fewest >= 0)] == pytest.approx(
        fewest[fewest >= 0].tolist()
    )


def distance_by_hand(model, cell, labels, allowed):
    """Steps to a cell with exactly these labels, entering only allowed cells on the way."""
    frontier, seen, steps = {cell}, {cell}, 0
    while frontier:
        if any(model.label_sets[model.label_ids[c]] == labels for c in frontier):
            return steps
        continuation = [c for c in frontier if c == cell or allowed[c]]
        frontier = {int(n) for c in continuation for n in model.transitions[c]} - seen
        seen |= frontier
        steps += 1
    return FAR


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_the_shortest_ways(seed):
    model = random_model(seed)
    count = len(model.label_sets)
    allowed = np.stack([~model.labels[:, 2]] * count + [np.ones(30, np.bool_)] * count)
    wanted = np.tile(np.arange(count), 2)
    found = label_distances(model.transitions, model.label_ids, wanted, allowed)
    for field in range(2 * count):
        labels = model.label_sets[wanted[field]]
        exact = [distance_by_hand(model, c, labels, allowed[field]) for c in range(30)]
        assert found[field].tolist() == exact


def test_served_values_are_gamma_to_the_steps():
    """A line of five cells, x on the second, a on the last: left, right."""
    labels = np.zeros((5, 3), np.bool_)
    labels[1, 2] = labels[4, 0] = True
    line = np.arange(5)
    moves = np.stack([np.maximum(line - 1, 0), np.minimum(line + 1, 4)], axis=1)
    skills = skills_of(TabularModel(NAMES, ("x",), moves, line, labels, line.copy()))
    strict = skills.goals.index(Goal(frozenset("a")))
    free = skills.goals.index(Goal(frozenset("a"), frozenset("x")))
    values = skills.values(2)
    assert values.stop[strict].tolist() == [0, 0]
    assert values.move[strict].tolist() == pytest.approx([0, GAMMA])  # left leads through x
    assert values.move[free].tolist() == pytest.approx([GAMMA**3, GAMMA])
    assert skills.values(3).stop[strict].tolist() == [0, 1]
    assert skills.values(0).move[strict].tolist() == pytest.approx([0, 0])
    violated = skills.values(2, frozenset("x"))
    assert not violated.move[strict].any()
    assert violated.move[free].any()
    with pytest.raises(SkmError, match="not a constraint"):
        skills.values(0, frozenset("z"))
    with pytest.raises(SkmError, match="not from 0 to 4"):
        skills.values(5)


def grid(rows, columns, marks):
    """A grid with four moves, labels by position."""
    number = np.arange(rows * columns).reshape(rows, columns)
    up, down = np.vstack([number[1:], number[-1:]]), np.vstack([number[:1], number[:-1]])
    right, left = (
        np.hstack([number[:, 1:], number[:, -1:]]),
        np.hstack([number[:, :1], number[:, :-1]]),
    )
    moves = np.stack([m.reshape(-1) for m in (right, up, left, down)], axis=1)
    labels = np.zeros((rows * columns, 3), np.bool_)
    for (row, column), name in marks.items():
        labels[number[row, column], NAMES.index(name)] = True
    cells = number.reshape(-1).copy()
    return TabularModel(NAMES, ("x",), moves, cells, labels, cells.copy())


def test_a_margin_is_kept_where_there_is_another_way_and_only_if_it_would_fail():
    model = grid(3, 9, {(0, 8): "a", (1, 4): "x"})
    near = np.zeros(27, np.int64)
    near[[4, 13 - 1, 13 + 1, 22]] = 1  # the four cells beside x
    near[13] = 0
    skills = skills_of(model)
    world = replace(world_of(model), constraints=("x",), near=near)

    def way(text, world):
        policy = ProductPolicy(compile_mission(text, propositions=NAMES), skills, world)
        policy.start(9)  # row 1, column 0
        cells = [9]
        while not model.labels[cells[-1], 0]:
            decision = policy.choose(policy.mission.machine.initial, skills.values(cells[-1]))
            cells.append(int(model.transitions[cells[-1], decision.action]))
            policy.entered(cells[-1], moved=False)
        return cells

    wary, bold = way("F a & G !x", world), way("F a & G !x", world_of(model))
    assert len(bold) == 10
    assert {4, 22} & set(wary)  # one of them must be: the gap is two cells wide
    assert not {12, 14} & set(wary)
    assert sum(near[wary]) == 1
    assert len(way("F a", world)) == 10


def test_what_no_cell_shows_is_named():
    skills = skills_of(random_model(0))
    with pytest.raises(UnachievableMissionError, match="nothing that the robot can reach"):
        make_policy(compile_mission("F(a & b & x)", propositions=NAMES), skills)


@pytest.mark.parametrize("text", ["F G a & F b", "(F G a | G F b) & G !x", "G F a & F G !b"])
def test_recurring_missions_with_promises_complete_the_most_rounds(text):
    machine = compile_mission(text).machine
    for seed in range(4):
        model, steps, done, most = random_model(seed), 60, 0, 0
        skills, optimum = skills_of(model), most_rounds(machine, model, steps)
        try:
            policy = make_policy(compile_mission(text, propositions=NAMES), skills)
        except UnachievableMissionError:
            assert optimum.max() < steps / 4
            continue
        for start in np.flatnonzero(optimum > steps / 4).tolist():
            cell = start
            run = MissionRun(policy, skills, steps)
            run.begin(cell, ())
            while not run.over:
                action = run.decide(skills.values(cell, frozenset())).action
                cell = int(model.transitions[cell, action])
                run.enter(cell, model.label_sets[model.label_ids[cell]])
            done, most = done + run.tracker.accepting_visits, most + optimum[start]
        assert done >= 0.97 * most


def test_every_set_of_constraints_has_its_goals_as_far_as_there_are_few():
    assert allowed_sets([], 2).tolist() == [[False, False]]
    assert allowed_sets([1], 2).tolist() == [[False, False], [False, True]]
    assert len(allowed_sets([0, 1, 2], 3)) == 8
    many = allowed_sets([0, 1, 2, 3, 4], 5)
    assert sorted(many.sum(axis=1).tolist()) == [0, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 5]


def test_a_world_without_constraints_has_skills():
    line = np.arange(3)
    labels = np.array([[True], [False], [False]])
    moves = np.stack([np.maximum(line - 1, 0), np.minimum(line + 1, 2)], axis=1)
    skills = skills_of(TabularModel(("a",), (), moves, line, labels, line.copy()))
    goal = skills.goals.index(Goal(frozenset("a")))
    assert skills.values(2).move[goal].tolist() == pytest.approx([GAMMA, GAMMA**2])
    assert skills.values(1).stop[goal].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("successors", lambda old: old + 1),
        ("labels", lambda old: old + 99),
        ("steps", lambda old: old[:, 1:]),
        ("allowed", lambda old: old[1:]),
        ("label_sets", lambda old: old[:, 1:]),
    ],
)
def test_skills_that_do_not_fit_together_are_refused(name, change):
    model = random_model(0)
    arrays = compute_skills(model)
    spec = DomainSpec("tiny", "none/None-v0", NAMES, ("x",), GAMMA, 50, {})
    with pytest.raises(SkmError, match="do not fit together"):
        KnownPrimitives({**arrays, name: change(arrays[name])}, spec)
    with pytest.raises(SkmError, match=f"lack {name}"):
        KnownPrimitives({key: value for key, value in arrays.items() if key != name}, spec)
