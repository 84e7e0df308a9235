"""The parser: every operator, errors that point, and nothing that text can do to it."""

import copy
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skm_machine import MissionError, parse
from skm_machine.logic.formula import Formula, proposition
from strategies import formulas

NASTY_NAMES = ("a", "S", "E", "room1", "a0", "Goal", "X", "U", "true", "F1", 'x "y" \\', "é")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("~a", "!a"),
        ("¬a", "!a"),
        ("a && b", "a & b"),
        ("a ∧ b", "a & b"),
        ("a || b", "a | b"),
        ("a ∨ b", "a | b"),
        ("a ^ b", "a xor b"),
        ("[]a", "G a"),
        ("<>a", "F a"),
        ("[]<>a", "G F a"),
        ("GFa", "G F a"),
        ("XF!a", "X F !a"),
        ("1 & 0", "true & false"),
        ("a & b | c", "(a & b) | c"),
        ("a | b & c", "a | (b & c)"),
        ("a | b xor c", "a | (b xor c)"),
        ("a U b & c", "(a U b) & c"),
        ("!a U b", "(!a) U b"),
        ("F a U b", "(F a) U b"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("a <-> b -> c", "a <-> (b -> c)"),
        ("a U b U c", "a U (b U c)"),
        ("a R b W c M d", "a R (b W (c M d))"),
        ("a & (b & c)", "a & b & c"),
        ('"a" & b', "a & b"),
    ],
)
def test_reads_the_same(text, same):
    assert parse(text) is parse(same)


def test_distinguishes_what_differs():
    assert parse("a -> b -> c") != parse("(a -> b) -> c")
    assert parse("a U b") != parse("b U a")
    assert parse("F a") != parse("G a")


@pytest.mark.parametrize(
    "name", ["A", "room1", "a0", "S", "E", "mail_present", "F1", "X_rate", "é"]
)
def test_any_identifier_is_a_proposition(name):
    assert parse(name) is proposition(name)


def test_a_name_that_starts_like_an_operator():
    assert parse("Goal") is parse("G oal"), "as Spot reads it"
    assert parse('"Goal"') is proposition("Goal")
    assert parse("Goal", propositions={"Goal"}) is proposition("Goal")


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 0, "empty"),
        ("F(a & ", 4, "nothing follows '&'"),
        ("a b", 2, "expected an operator before 'b'"),
        ("a and b", 2, "write '&'"),
        ("& a", 0, "expected a proposition at the start"),
        ("a & | b", 4, "expected a proposition after '&'"),
        ("(a", 0, "never closed"),
        ("a)", 1, "closes nothing"),
        ("a @ b", 2, "unexpected character '@'"),
        ('"abc', 0, "never closed"),
        ("3a", 0, "cannot start with a digit"),
        ("F()", 2, "expected a proposition"),
    ],
)
def test_errors_point_at_the_character(text, column, message):
    with pytest.raises(MissionError, match=message.replace("|", r"\|")) as caught:
        parse(text)
    assert caught.value.position == column
    lines = str(caught.value).splitlines()
    assert lines[-1].index("^") == column + 2, "the caret stands under the character"


def test_an_unknown_proposition_names_the_nearest():
    with pytest.raises(MissionError, match=r"unknown proposition 'coffe'; did you mean 'coffee'\?"):
        parse("F coffe", propositions={"coffee", "office"})


@pytest.mark.parametrize(
    "text",
    [
        "(" * 50_000,
        "(" * 50_000 + "a" + ")" * 50_000,
        "!" * 50_000 + "a",
        "X" * 50_000 + "a",
        "a -> " * 20_000 + "a",
        "a xor " * 20_000 + "a",
        "a U (" * 20_000,
        "(((&|) U a" * 10_000,
        "\x00\xff" * 50_000,
    ],
)
def test_deep_nesting_and_garbage_are_errors(text):
    start = time.process_time()
    with pytest.raises(MissionError):
        parse(text)
    assert time.process_time() - start < 5


def test_a_long_flat_formula_is_fine():
    formula = parse(" & ".join(f"p{i}" for i in range(20_000)))
    assert len(formula.operands) == 20_000


@given(formulas(names=NASTY_NAMES))
def test_printing_and_parsing_is_the_identity(formula):
    assert parse(str(formula)) is formula


@given(st.text(max_size=60) | st.text('abUXFG()!&|-<> "', max_size=60))
def test_the_parser_survives_any_text(text):
    try:
        formula = parse(text)
    except MissionError as error:
        assert error.position is not None  # noqa: PT017 - either is fine, nothing else is
    else:
        assert parse(str(formula)) is formula


def test_formulas_are_immutable_values():
    formula = parse("F(a & X b)")
    with pytest.raises(AttributeError, match="immutable"):
        formula.name = "b"
    assert hash(formula) == hash(parse("F(a & X b)"))
    assert pickle.loads(pickle.dumps(formula)) is formula
    assert copy.deepcopy(formula) is formula
    assert isinstance(formula, Formula)
    assert formula.propositions() == ("a", "b")
