"""The paper's planner: values, ties, constraints, and the skill machines of its figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skm_machine import compile_mission, from_automaton, parse, plan_paper, translate
from skm_machine.logic.formula import evaluate
from skm_machine.skill_machine import as_constraints, optimal_values, transition_value
from strategies import NAMES, boolean_formulas, formulas
from tasks import TASKS


def skills_of(text, **options):
    mission = compile_mission(text, **options)
    machine = plan_paper(mission.machine)
    return {mission.machine.names[u]: skill for u, skill in machine.skills.items()}


def test_the_skill_machine_of_the_papers_figure():
    """Figure rm_sm, safety/2."""
    skills = skills_of(TASKS["safety/2"][0])
    assert set(skills) == {"u0", "u1"}
    assert skills["u0"].reach is parse("button & !region")
    assert skills["u0"].constraints == ("region",)
    assert skills["u1"].reach is parse("cylinder & !region")
    assert skills["u1"].constraints == ("region",)
    assert skills["u0"].value == pytest.approx(0.9)
    assert skills["u1"].value == pytest.approx(1.0)


def test_ties_are_or_ed():
    """Office coffee_mail goes for coffee or mail first."""
    skill = skills_of(TASKS["office/coffee_mail"][0])["u0"]
    for labels, wanted in [
        ({"coffee"}, True),
        ({"mail"}, True),
        ({"office"}, False),
        (set(), False),
    ]:
        assert evaluate(skill.reach, labels) == wanted
    assert not evaluate(skill.reach, {"coffee", "decoration"})
    assert skill.constraints == ("decoration",)


def test_the_papers_planner_ignores_the_world():
    """Coffee and office at once is the shortest way through the machine, if not through the world."""
    assert skills_of(TASKS["office_absorbing/coffee_strict"][0])["u0"].reach is parse(
        "office & coffee"
    )


@given(formulas())
def test_values_solve_the_bellman_equation(formula):
    machine = from_automaton(translate(formula))
    values = optimal_values(machine, 0.9)
    for state in range(machine.num_states):
        best = max(o.reward + 0.9 * values[o.target] for o in machine.successors(state))
        expected = 0.0 if state in machine.terminal else best
        assert values[state] == pytest.approx(expected, abs=1e-6)
        assert (values[state] > 0) == (state not in machine.failure | machine.terminal)


@given(formulas(), st.frozensets(st.sampled_from(NAMES)), st.frozensets(st.sampled_from(NAMES)))
def test_skills_take_a_best_transition_and_never_a_worthless_one(formula, labels, violated):
    machine = from_automaton(translate(formula))
    plan = plan_paper(machine)
    assert set(plan.skills) == set(range(machine.num_states)) - machine.terminal - machine.failure
    for state, skill in plan.skills.items():
        outcome = machine.step(state, labels)
        value = outcome.reward + plan.gamma * plan.values[outcome.target]
        assert evaluate(skill.reach, labels) == (value == pytest.approx(skill.value))
        assert evaluate(skill.avoid, labels) == (value == 0)
        if skill.satisfied_by(labels, violated):
            assert evaluate(skill.reach, labels)
            assert not evaluate(as_constraints(skill.avoid), violated)


@given(boolean_formulas(), st.frozensets(st.sampled_from(NAMES)))
def test_constraints_only_grow_worse(formula, violated):
    """σ̂ is monotone: violating more constraints never makes a forbidden goal allowed."""
    constraint = as_constraints(formula)
    if evaluate(constraint, violated):
        assert evaluate(constraint, violated | {"a"})


def test_keeping_a_proposition_true_is_a_constraint_too():
    skill = skills_of("G base & F(base & goal)")["u0"]
    assert skill.avoid is parse("!base")
    assert skill.constraints == ("base",)
    assert skill.satisfied_by({"base", "goal"}, set())
    assert not skill.satisfied_by({"base", "goal"}, {"base"})


@pytest.mark.parametrize(
    "text",
    [
        "G F a & G F b & G !c",
        "G(a -> F b) & G F a",
        "F G a",
        "F G a | G F b",
        "F G(a | X b) & G(c -> F b)",
        "G F(a & F(b & F c))",
    ],
)
@pytest.mark.parametrize("gamma", [0.5, 0.99])
def test_recurring_missions_solve_the_bellman_equation(text, gamma):
    machine = compile_mission(text, horizon="infinite").machine
    values = optimal_values(machine, gamma)
    plan = plan_paper(machine, gamma)
    for state in set(range(machine.num_states)) - machine.terminal:
        worth = {
            outcome: transition_value(machine, state, outcome, values, gamma)
            for outcome in machine.successors(state)
        }
        assert values[state] == pytest.approx(max(worth.values()))
        if state in plan.skills:
            skill = plan.skills[state]
            best = max(worth.values())
            assert set(skill.best) == {o for o, value in worth.items() if value > best - 1e-9}
            assert set(skill.worthless) == {o for o, value in worth.items() if value <= 0}
