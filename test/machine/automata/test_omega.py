"""All of LTL over infinite traces: exact against Spot's answers and the semantics, small, in time."""

import json
import random
import statistics
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasso_semantics import holds_forever, random_formula, random_lasso
from skm_machine import (
    MissionError,
    UnsupportedMissionError,
    accepts_lasso,
    parse,
    read_hoa,
    read_hoa_omega,
    translate_omega,
)
from skm_machine.automata.buchi import recurrence_graph
from skm_machine.automata.graphs import cyclic_components
from skm_machine.automata.ldba import Translation, as_automaton
from skm_machine.automata.limits import Limits
from skm_machine.logic.formula import Formula, conjunction, negation
from skm_machine.recurrence import recurring_machine, sort_clauses
from strategies import boolean_formulas, formulas, traces

ORACLE = Path(__file__).parents[2] / "data" / "ltl_lasso.jsonl"
CASES = [json.loads(line) for line in ORACLE.read_text().splitlines()]


def test_all_of_spots_verdicts_with_machines_as_small_as_spots():
    """300 formulas of 20 lassos each; where Spot has a deterministic Büchi automaton, so have we.

    Elsewhere ours may have ε-transitions, and half of them have no more states than Spot's parity
    automata.
    """
    assert len(CASES) == 300
    others = [], []
    for case in CASES:
        automaton = translate_omega(case["ltl"])
        for prefix, loop, satisfied in case["lassos"]:
            assert automaton.accepts(prefix, loop) == satisfied, (case["ltl"], prefix, loop)
        if case["dba"] is not None:
            assert automaton.deterministic, case["ltl"]
            assert automaton.num_states <= case["dba"], case["ltl"]
        else:
            others[0].append(automaton.num_states)
            others[1].append(case["dpa"])
    assert statistics.median(others[0]) <= statistics.median(others[1])


def test_random_formulas_on_random_lassos():
    rng = random.Random(14)
    for _ in range(300):
        names = "abcd"[: rng.randint(1, 4)]
        formula = random_formula(rng, rng.randint(1, 25), names)
        automaton = translate_omega(formula)
        for _ in range(20):
            prefix, loop = random_lasso(rng, names)
            assert automaton.accepts(prefix, loop) == holds_forever(formula, prefix, loop), (
                formula,
                prefix,
                loop,
            )


def test_no_trace_satisfies_both_a_formula_and_its_negation():
    """For all traces at once: the product of the two automata has no cycle that both accept."""
    rng = random.Random(41)
    for _ in range(150):
        formula = random_formula(rng, rng.randint(1, 14), "ab")
        left, right = translate_omega(formula), translate_omega(negation(formula))
        nodes = [(left.initial, right.initial)]
        numbers = {nodes[0]: 0}
        rows = []
        for one, two in nodes:  # grows while it is walked
            row = [((epsilon, two), False, False) for epsilon in left.epsilon_transitions_from(one)]
            row += [
                ((one, epsilon), False, False) for epsilon in right.epsilon_transitions_from(two)
            ]
            row += [
                ((move.target, other.target), bool(move.marks), bool(other.marks))
                for labels in ("", "a", "b", "ab")
                for move in left.moves(one, labels)
                for other in right.moves(two, labels)
            ]
            for node, _, _ in row:
                if node not in numbers:
                    numbers[node] = len(nodes)
                    nodes.append(node)
            rows.append([(numbers[node], *marks) for node, *marks in row])
        for cycle in cyclic_components([[target for target, _, _ in row] for row in rows]):
            edges = [edge for node in cycle for edge in rows[node] if edge[0] in cycle]
            assert not (any(edge[1] for edge in edges) and any(edge[2] for edge in edges)), formula


@given(formulas(), traces(max_size=4), traces(max_size=4))
@settings(max_examples=300)
def test_accepts_lasso_agrees_with_the_semantics(formula, prefix, loop):
    assert accepts_lasso(formula, prefix, loop) == holds_forever(formula, prefix, loop)


@pytest.mark.parametrize(
    "text",
    ["G(c & F !c)", "G((F b M !a) M a)", "F(c & X !c & X c)", "G F a & G F !a & F G a"],
)
def test_what_no_trace_satisfies(text):
    automaton = translate_omega(text)
    assert automaton.num_states == 1
    assert automaton.deterministic
    assert not automaton.transitions[0].marks


def recurrence_formulas():
    """Return formulas in which no F, U or M has a G, R or W below it."""
    literals = st.sampled_from([parse(text) for text in ("a", "!a", "b", "!b", "a & c", "b | !c")])
    co_safe = formulas_over(literals, unary=("X", "F"), binary=("&", "|", "U", "M"), max_leaves=3)
    return formulas_over(co_safe, unary=("X", "G"), binary=("&", "|", "R", "W"), max_leaves=4)


def formulas_over(atoms, unary, binary, max_leaves):
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds(lambda op, f: Formula(op, (f,)), st.sampled_from(unary), inner),
            st.builds(lambda op, f, g: Formula(op, (f, g)), st.sampled_from(binary), inner, inner),
        ),
        max_leaves=max_leaves,
    )


@given(recurrence_formulas(), traces(max_size=4), traces(max_size=4))
@settings(max_examples=200)
def test_recurrence_formulas_need_no_guesses(formula, prefix, loop):
    """Safe and co-safe formulas are among them."""
    automaton = translate_omega(formula)
    assert automaton.deterministic
    assert automaton.complete
    assert automaton.accepts(prefix, loop) == holds_forever(formula, prefix, loop)


@given(recurrence_formulas(), traces(max_size=4), traces(max_size=4))
@settings(max_examples=200)
def test_breakpoints_decide_recurrence_formulas(formula, prefix, loop):
    graph = recurrence_graph(formula, Limits(5000, 10.0))
    automaton = as_automaton(graph, formula.propositions())
    assert automaton.deterministic
    assert automaton.complete
    assert automaton.accepts(prefix, loop) == holds_forever(formula, prefix, loop)


@pytest.mark.parametrize("text", ["F G a", "F(b | G d)", "G F a | F G b", "G(a -> F(b & G c))"])
def test_other_formulas_have_no_breakpoints(text):
    assert recurrence_graph(parse(text), Limits(5000, 10.0)) is None


def test_long_memory_needs_no_guesses_either():
    automaton = translate_omega(f"G(a -> F(b & {'X ' * 8}c))")
    assert automaton.deterministic


def test_a_formula_may_be_text_and_a_prefix_empty():
    assert accepts_lasso("G F a & F G b", [], [{"a", "b"}, {"b"}])
    assert not accepts_lasso(parse("F G b"), [{"b"}], [{"a", "b"}, {"a"}])
    with pytest.raises(ValueError, match="at least one step"):
        accepts_lasso("G a", [{"a"}], [])


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("true", 1),
        ("false", 1),
        ("F a", 2),
        ("G a", 2),
        ("X X a", 5),
        ("G F a", 1),
        ("X G F a", 1),
        ("G(a -> F b)", 2),
        ("G F(a & X b)", 2),
        ("G F a & F b", 2),
        ("G F a & G F b & G F c", 3),
        ("G F a & G F b & G !c", 3),
        ("a U (G F b & G F c)", 2),
        ("(G F a & G F b) | G F c", 2),
        ("G(a | (G F b & G F c))", 3),
    ],
)
def test_machines_without_guesses(text, states):
    automaton = translate_omega(text)
    assert automaton.deterministic
    assert automaton.num_states == states


@pytest.mark.parametrize(
    ("text", "states"),
    [("F G a", 2), ("G F a | F G b", 3), ("G F a & F G b", 2), ("F(b | G d)", 3)],
)
def test_where_no_deterministic_machine_exists_runs_jump_once(text, states):
    automaton = translate_omega(text)
    assert not automaton.deterministic
    assert automaton.num_states == states
    assert all(len(moves) <= 1 for moves in automaton.outcomes)
    after = {target for targets in automaton.epsilon_transitions for target in targets}
    assert not any(automaton.epsilon_transitions[state] for state in after)


SAFE = formulas(unary=("!", "X", "G"), binary=("&", "|", "R", "W"), max_leaves=4)
CO_SAFE = formulas(unary=("!", "X", "F"), binary=("&", "|", "U", "M"), max_leaves=4)


@given(st.lists(boolean_formulas(), max_size=3), st.lists(SAFE | CO_SAFE, max_size=2))
def test_missions_with_a_machine_of_rounds_have_none_that_is_larger(recurrences, clauses):
    parts = [Formula("G", (Formula("F", (p,)),)) for p in recurrences]
    formula = conjunction(*parts, *clauses)
    automaton = translate_omega(formula)
    if sort_clauses(formula).apart[1] is None:
        assert automaton.deterministic
        assert automaton.num_states <= recurring_machine(formula).num_states


def test_growth_is_bounded_and_the_error_names_the_clause():
    start = time.thread_time()
    many = " & ".join(f"G(p{i} -> F q{i})" for i in range(12))
    with pytest.raises(UnsupportedMissionError, match=r"12 parts multiply.*'G\(p0 -> F q0\)'"):
        translate_omega(many)
    window = f"F(b & {'X ' * 20}c)"
    with pytest.raises(UnsupportedMissionError, match=r"in the clause 'F\(b & X\[20\] c"):
        translate_omega(f"G F a & {window}", max_states=1000)
    with pytest.raises(UnsupportedMissionError, match=r"more than 0\.05 seconds"):
        translate_omega(window, max_states=10**6, max_seconds=0.05)
    assert time.thread_time() - start < 9
    twelve = translate_omega(" & ".join(f"G F p{i}" for i in range(12)))
    assert twelve.deterministic
    assert twelve.num_states == 12
    chain = " U (".join(f"p{i}" for i in range(40)) + ")" * 39
    assert translate_omega(chain).num_states == 41


@given(formulas(), traces(max_size=3), traces(max_size=3))
def test_hoa_export_and_import_give_the_same_language(formula, prefix, loop):
    automaton = translate_omega(formula)
    text = automaton.to_hoa("a mission")
    assert ("deterministic complete" in text) == automaton.deterministic
    again = read_hoa_omega(text)
    assert again.num_states == automaton.num_states
    assert again.deterministic == automaton.deterministic
    assert again.accepts(prefix, loop) == automaton.accepts(prefix, loop)
    if automaton.deterministic:
        assert read_hoa(text).propositions == automaton.propositions


@pytest.mark.parametrize(
    ("acceptance", "message"),
    [("1 Inf(!0)", "cannot read"), ("1 Inf(0", "cannot read"), ("2 Inf(0) Inf(1)", "cannot read")],
)
def test_acceptance_that_is_not_read(acceptance, message):
    with pytest.raises(MissionError, match=message):
        read_hoa_omega(f"HOA: v1\nStart: 0\nAP: 0\nAcceptance: {acceptance}\n--BODY--\n--END--")


@given(formulas(), traces(max_size=4), traces(max_size=4))
def test_plain_automata_are_exact_too(formula, prefix, loop):
    """What is given where looking for a small or deterministic automaton takes too long."""
    graph = Translation(formula.propositions(), Limits(5000, 10.0), plain=True).graph(formula)
    automaton = as_automaton(graph, formula.propositions())
    assert automaton.accepts(prefix, loop) == holds_forever(formula, prefix, loop)
    assert automaton.complete or any(automaton.epsilon_transitions)


def test_several_start_states_and_streett_acceptance():
    """Runs start anywhere; (Fin(0) | Inf(1)) & Inf(2): either no more a, or b again and again."""
    body = "State: 0\n[!0] 0 {2}\nState: 1\n[0&1] 1 {0 1 2}\n[!1] 1 {0 2}\n[!0&1] 1"
    automaton = read_hoa_omega(
        'HOA: v1\nStart: 0\nStart: 1\nAP: 2 "a" "b"\n'
        f"Acceptance: 3 (Fin(0) | Inf(1)) & Inf(2)\n--BODY--\n{body}\n--END--"
    )
    assert not automaton.deterministic
    assert automaton.accepts([], [{"b"}])
    assert automaton.accepts([{"a"}], [{"a", "b"}, set()])
    assert not automaton.accepts([{"a"}], [set()])
