"""A machine in a world that shows some label sets only: what cannot happen there is not told."""

from itertools import combinations
from random import Random

import pytest

from skm_machine import analyse, compile_mission, plan_paper, plan_possible, shown_everywhere
from skm_machine.events import Counterexample
from skm_machine.logic.formula import evaluate
from skm_machine.logic.shortening import telling

SHOWN = [frozenset(), frozenset("a"), frozenset("ab"), frozenset("cd")]
ALL = [frozenset(some) for size in range(5) for some in combinations("abcd", size)]


def test_a_telling_formula_is_true_on_the_wanted_label_sets_and_on_no_others():
    rng = Random(0)
    for _ in range(300):
        chosen = rng.sample(ALL, rng.randint(1, len(ALL)))
        wanted = chosen[: rng.randint(0, len(chosen))]
        others = [labels for labels in chosen if labels not in wanted]
        formula = telling(wanted, others, "abcd")
        assert all(evaluate(formula, labels) for labels in wanted)
        assert not any(evaluate(formula, labels) for labels in others)


@pytest.mark.parametrize(
    ("wanted", "others", "formula"),
    [
        (["a"], ["", "b"], "a"),
        (["ab"], ["a", "b", ""], "a & b"),
        (["", "b"], ["a"], "!a"),
        (["a", "b"], ["", "c"], "a | b"),
        (["a"], [], "true"),
        ([], ["a"], "false"),
    ],
)
def test_a_telling_formula_is_short(wanted, others, formula):
    sets = [[frozenset(labels) for labels in some] for some in (wanted, others)]
    assert str(telling(*sets, "abc")) == formula


def test_plans_and_traces_are_of_the_world_and_the_formula_keeps_its_own():
    mission = compile_mission("F(b & X F c) & G !e", propositions="abcde")
    shown = shown_everywhere(mission.machine, SHOWN)
    assert analyse(mission).can_fail
    analysis = analyse(mission, shown)
    assert not analysis.can_fail
    assert analysis.witness == [frozenset("ab"), frozenset("cd")]
    assert str(plan_possible(mission.machine, shown, 0.9).skills[0].reach) == "b"
    assert str(plan_paper(mission.machine, 0.9).skills[0].reach) == "b & !e"


def test_what_can_never_be_is_no_skill():
    machine = compile_mission("F a & F c", propositions="abcd").machine
    skills = plan_possible(machine, shown_everywhere(machine, SHOWN), 0.9).skills
    assert (
        str(skills[machine.initial].reach) == "a | c"
    )  # never both at once, as the formula allows
    lost = plan_possible(machine, shown_everywhere(machine, [frozenset("a")]), 0.9)
    assert not lost.skills


def test_no_plan_counts_on_an_event():
    machine = compile_mission("F(a & !e)").machine
    events = (frozenset(), frozenset("e"))
    shown = shown_everywhere(machine, SHOWN, events)
    assert str(plan_possible(machine, shown, 0.9, events="e").skills[0].reach) == "a"


def test_a_story_tells_nothing_twice():
    a, b = frozenset("a"), frozenset("b")
    assert Counterexample.along([a, b], [b, b]) == Counterexample((a,), (b,))
    assert Counterexample.along([a, b], [a, b]) == Counterexample((), (a, b))
    assert Counterexample.along([b], [a, b, a, b]) == Counterexample((), (b, a))
    assert Counterexample.along([a, b]) == Counterexample((a, b))
