"""All of LTL over infinite traces: exact against Spot's answers and the semantics, small, in time."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from lasso_semantics import holds_forever, random_formula, random_lasso

from skm_machine import accepts_lasso, parse, translate_omega
from strategies import formulas, traces

ORACLE = Path(__file__).parents[1] / "data" / "ltl_lasso.jsonl"
CASES = [json.loads(line) for line in ORACLE.read_text().splitlines()]


def test_all_of_spots_verdicts_with_machines_as_small_as_spots():
    """300 formulas of 20 lassos each; where Spot has a deterministic Büchi automaton, so have we."""
    assert len(CASES) == 300
    for case in CASES:
        automaton = translate_omega(case["ltl"])
        for prefix, loop, satisfied in case["lassos"]:
            assert automaton.accepts(prefix, loop) == satisfied, (case["ltl"], prefix, loop)
        if case["dba"] is not None:
            assert automaton.deterministic, case["ltl"]
            assert automaton.num_states <= case["dba"], case["ltl"]


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


@given(formulas(), traces(max_size=4), traces(max_size=4))
@settings(max_examples=300)
def test_accepts_lasso_agrees_with_the_semantics(formula, prefix, loop):
    assert accepts_lasso(formula, prefix, loop) == holds_forever(formula, prefix, loop)


def test_a_formula_may_be_text_and_a_prefix_empty():
    assert accepts_lasso("G F a & F G b", [], [{"a", "b"}, {"b"}])
    assert not accepts_lasso(parse("F G b"), [{"b"}], [{"a", "b"}, {"a"}])
    with pytest.raises(ValueError, match="at least one step"):
        accepts_lasso("G a", [{"a"}], [])
