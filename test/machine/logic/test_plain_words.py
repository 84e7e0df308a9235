"""Plain words: each pattern says its formula, errors point and suggest, formulas find their words."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skm_machine import (
    MissionError,
    compile_mission,
    parse,
    read_words,
    translate,
    translate_omega,
    words_of,
)
from skm_machine.logic.patterns import PATTERNS
from skm_machine.mission import detect_format
from skm_sim.office.spec import EXAMPLES
from strategies import formulas

PLACES = ("A", "B", "C", "D", "coffee", "mail", "office", "battery_low", "charger", "door_open")

WORDS = ["visit", "patrol", "never", "whenever", "exactly", "when", "do", "at", "most", "in"]
WORDS += ["order", "A", "B", ",", ";", "(", ")"]

BY_HAND = {  # as Menghi et al. print them
    "visit A, B, C": "F A & F B & F C",
    "visit A, B, C in sequence": "F(A & F(B & F C))",
    "visit A, B, C in order": "F(A & F(B & F C)) & (!B U A) & (!C U B)",
    "visit A, B, C in strict order": "F(A & F(B & F C)) & (!B U A) & (!C U B)"
    " & (!A U (A & X(!A U B))) & (!B U (B & X(!B U C)))",
    "visit A, B, C fairly": "F A & F B & F C"
    " & G(A -> X(!A W B)) & G(B -> X(!B W C)) & G(C -> X(!C W A))",
    "patrol A, B, C": "G F A & G F B & G F C",
    "patrol A, B, C in sequence": "G(F(A & F(B & F C)))",
    "patrol A, B in order": "G(F(A & F B)) & (!B U A) & G(B -> X(!B U A)) & G(A -> X(!A U B))",
    "patrol A, B in strict order": "G(F(A & F B)) & (!B U A)"
    " & G(B -> X(!B U A)) & G(A -> X(!A U B))",
    "patrol A, B fairly": "G F A & G F B & G(A -> X(!A W B)) & G(B -> X(!B W A))",
    "avoid A until p": "(!A) U p",
    "never A": "G(!A)",
    "never A after c": "G(c -> G !A)",
    "visit A at most 2 times": "!F(A & X F(A & X F A))",
    "visit A at least 3 times": "F(A & X F(A & X F A))",
    "visit A exactly 2 times": "!A U (A & X(!A U (A & X G !A)))",
    "whenever p do q at once": "G(p -> q)",
    "whenever p do q": "G(p -> F q)",
    "whenever p do q in the next step": "G(p -> X q)",
    "exactly when p do q at once": "G(p <-> q)",
    "exactly when p do q in the next step": "G(p <-> X q)",
    "wait at A until p": "A U p",
}


def accepts_nothing(automaton):
    """Tell by its edges that no accepted run exists: no marked edge lies on a cycle."""
    after = {
        state: set(automaton.epsilon_transitions_from(state))
        for state in range(automaton.num_states)
    }
    for edge in automaton.transitions:
        after[edge.source].add(edge.target)

    def reachable(start):
        found, stack = {start}, [start]
        while stack:
            for target in after[stack.pop()] - found:
                found.add(target)
                stack.append(target)
        return found

    return not any(
        edge.marks and edge.source in reachable(edge.target) for edge in automaton.transitions
    )


@pytest.mark.parametrize("words", BY_HAND)
def test_words_say_what_the_formula_by_hand_says(words):
    formula, by_hand = read_words(words), parse(BY_HAND[words])
    different = parse(f"({formula}) xor ({by_hand})")
    assert accepts_nothing(translate_omega(different))
    assert not accepts_nothing(translate_omega(formula))
    if "exactly 2" not in words:  # ends in a strong next by hand, which finite traces need not have
        assert not translate(different).accepting


def test_all_22_patterns_are_there():
    assert len(PATTERNS) == len({pattern.name for pattern in PATTERNS}) == len(BY_HAND) == 22
    assert [sum(p.group == g for p in PATTERNS) for g in ("movement", "avoidance", "trigger")] == [
        10,
        6,
        6,
    ]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_the_catalogue_tells_the_truth(pattern):
    assert read_words(pattern.words) is parse(pattern.formula)
    assert read_words(words_of(parse(pattern.formula))) is parse(pattern.formula)
    assert detect_format(pattern.words) == detect_format(EXAMPLES[pattern.name]) == "words"


@pytest.mark.parametrize(
    ("words", "formula"),
    [
        (
            "visit coffee, mail in order then office; never D",
            "F(coffee & F(mail & F office)) & (!mail U coffee) & G !D",
        ),
        ("whenever battery_low go to charger within 20 steps", "G(battery_low -> F[0,20] charger)"),
        ("Visit A within 5 steps;", "F[0,5] A"),
        ("visit A, B then C", "F(A & F C) & F(B & F C)"),
        ("go to A and not B or C", "F(A & !B | C)"),
        (
            "visit (A | !B), C fairly",
            "F(A | !B) & F C & G(A | !B -> X(!(A | !B) W C)) & G(C -> X(!C W (A | !B)))",
        ),
        ("never A, B; avoid C", "G !A & G !B & G !C"),
        ("never A before B", "!A U B"),
        ("stay in A until door_open", "A U door_open"),
        ("visit A exactly once", "!A U (A & !X F A)"),
        ('visit "order"', 'F "order"'),
    ],
)
def test_more_words(words, formula):
    assert read_words(words) is parse(formula)
    assert compile_mission(words).formula is parse(formula)


@pytest.mark.parametrize(
    ("words", "column", "message"),
    [
        ("vist coffee", 0, "did you mean 'visit'"),
        ("visit A; vsit B", 9, "did you mean 'visit'"),
        ("visit cofee", 6, "unknown proposition 'cofee'; did you mean 'coffee'"),
        ("visit A, mal", 9, "did you mean 'mail'"),
        ("visit coffee mail", 13, "something between 'coffee' and 'mail', such as ','"),
        ("wait at A till B", 10, "did you mean 'until'"),
        ("visit A the B", 8, "did you mean 'then'"),
        ("visit A, B in ordr", 11, "did you mean 'in order'"),
        ("visit A at mst 2 times", 8, "did you mean 'at most'"),
        ("visit A at most 2 tims", 18, "expected 'times'"),
        ("visit A at most 2.5 times", 16, "whole number"),
        ("visit A at most two times", 16, "as in '2 times', not 'two'"),
        ("whenever mail", 13, "go to, do, be at, visit; not the end"),
        ("visit A and", 11, "expected a place after 'and', not the end"),
        ("visit A or; patrol B", 10, "expected a place after 'or', not ';'"),
        ("visit A at least 0 times", 8, "not a mission"),
        ("visit A, B at most twice", 11, "each place alone"),
        ("visit A twice", 8, "'exactly', 'at least' or 'at most' before 'twice'"),
        ("visit A 3 times", 8, "'exactly', 'at least' or 'at most' before '3'"),
        ("visit A and then go to B", 8, "write 'then' for what comes after it, ';'"),
        ("visit A, B in order within 3 steps", 20, "in any order"),
        ("visit A within 5 stps", 17, "did you mean 'steps'"),
        ("visit A within 5 d", 17, "expected a unit of time"),
        ("whenever A charger", 11, "between 'A' and 'charger'"),
        ("whenever A do B sometimes", 16, "between 'B' and 'sometimes'"),
        ("whenever A do B in a step", 16, "did you mean 'in the next step'"),
        ("exactly when A do B", 19, "at once, or in the next step"),
        ("exactly A do B", 8, "expected 'when'"),
        ("wait at A", 9, "expected 'until'"),
        ("visit ;", 6, "expected a place after 'visit'"),
        ("visit A, ", 9, "expected a place after ','"),
        ("visit A, then B", 9, "without a comma: 'visit A then B'"),
        ("patrol A then B", 9, "a patrol goes round"),
        ("visit A never B", 8, "expected ';'"),
        ("visit (A", 6, "never closed"),
        ("visit FA", 6, "write the proposition in quotes"),
        ('visit "A', 6, "quote is never closed"),
        ("visit A @ B", 8, "unexpected character '@'"),
        (" ; ", 0, "empty"),
        ("visit " + ", ".join(["A"] * 300), 607, "more than 200 places"),
    ],
)
def test_errors_point_and_suggest(words, column, message):
    known = None if "FA" in words else PLACES
    with pytest.raises(MissionError, match=message.replace("(", r"\(")) as caught:
        read_words(words, known)
    assert caught.value.position == column
    assert str(caught.value).splitlines()[-1].endswith("^")


@pytest.mark.parametrize(
    "text", ["visit", "visit & a", "visit U a", "F a", "GF a", "X visit", "never -> b", "a and b"]
)
def test_formulas_are_not_taken_for_words(text):
    assert detect_format(text) == "ltl"


def test_a_proposition_may_be_called_like_a_beginning():
    assert compile_mission("F visit", propositions=("visit",)).formula is parse("F visit")


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("G !D & F A & G !C & F B", "visit A, B; never D, C"),
        ("(!B U A) & F(A & F B)", "visit A, B in order"),
        ("F(A & F B) & (!C U A)", "visit A, B in sequence; avoid C until A"),
        ("F(coffee & X F office)", None),
        ("F A | F B", None),
        ("G F A & F G B", None),
        ("A", None),
        ('F "order"', None),
    ],
)
def test_the_words_behind_a_formula(formula, words):
    assert words_of(parse(formula)) == words


@given(formulas(max_leaves=5))
def test_words_are_only_given_where_they_say_the_same(formula):
    words = words_of(formula)
    if words is not None:
        different = parse(f"({formula}) xor ({read_words(words)})")
        assert not translate(different).accepting


@given(
    st.lists(
        st.sampled_from(WORDS) | st.text(max_size=4),
        max_size=12,
    ).map(" ".join)
)
def test_the_reader_survives_any_text(text):
    start = time.process_time()
    try:
        read_words(text)
    except MissionError as error:
        assert error.position is not None  # noqa: PT017 - either is fine, nothing else is
    assert time.process_time() - start < 5


@pytest.mark.parametrize("word", ["visit", "patrol", "Never", "avoid", "stay", "go", "whenever"])
def test_a_lone_word_is_the_beginning_of_a_clause_unless_a_proposition_is_called_so(word):
    with pytest.raises(MissionError, match=r"expected|goes on") as caught:
        compile_mission(word, propositions=["A"])
    assert caught.value.position == len(word)
    assert compile_mission(word, propositions=[word]).format == "ltl"


def test_words_of_long_sequences_take_no_time():
    targets = [f"p{index}" for index in range(790)]
    start = time.thread_time()
    assert not words_of(parse("F(" + " & X F(".join(targets) + ")" * 790))
    few = targets[:100]
    said = words_of(parse("F(" + " & F(".join(few) + ")" * 100))
    assert said == f"visit {', '.join(few)} in sequence"
    assert time.thread_time() - start < 10
