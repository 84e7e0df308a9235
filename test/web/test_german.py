"""German on the page: what a check says, why a mission cannot be read or done, why the robot stops."""

import ast
import string
from pathlib import Path

import pytest

import skm_machine.logic
from skm_machine.logic.patterns import PATTERNS
from skm_primitives.execution.german import GAP, SENTENCES, in_german
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.loading import load_primitives
from skm_sim.registry import get_domain
from skm_web.mission_check import MissionContext, check_mission

LOGIC = Path(skm_machine.logic.__file__).parent
MISSIONS = (
    *(
        "F(coffee & X F office) & G !decoration",
        "G F A & G F B",
        "G A",
        "F G A",
        "A & B",
        "!coffee U mail",
    ),
    *("F coffee & G !coffee", "F coffee & F[0,2] D", "F(coffee & mail)", "G !A & F A", "F A | G B"),
    *(
        "G(call -> F office)",
        "F office & G !call",
        "G(call -> F[0s,1s] D)",
        "F[0s,2s] D",
        "G[0,5] !A",
    ),
    *(
        "F(A",
        "F A)",
        "A &",
        "F A B",
        "F ofice",
        "F zzz",
        "1A",
        "F @",
        "F 'a",
        "F A U",
        "U A",
        "",
        "-",
    ),
    *("F[5,0] A", "F[0,9999999] A", "X[2,3] A", "F[3] A", "F[] A", "F[0q,2q] A", "F[0.5,2] A"),
    *(
        "visit A,",
        "visit 3",
        "go A",
        "patrol A then B",
        "visit A at least 0 times",
        "visit A and B",
    ),
    *(
        "visit A exactly 2 times",
        "visit A within 3 apples",
        "visit A 2 hours",
        "whenever call",
        "if A",
    ),
    *("visit A, B within 1 step", "x" * 5000, "F " + "1" * 400, "patrol A, B", "visit A; never B"),
)


def told(verdict):
    """Return all that a verdict says in sentences."""
    lines = [verdict.get("error"), verdict.get("reading"), *verdict["told"], *verdict["exact"]]
    return [line for line in [*lines, *verdict["remarks"]] if line]


@pytest.fixture(scope="module")
def contexts():
    """The office with its skills and an event, and the point robot's world as a page without them."""
    found = []
    for name, served in (("office", True), ("safety", True), ("office", False)):
        spec = get_domain(name)
        skills = load_primitives(spec)
        sets = tuple({frozenset(), *label_sets_of(skills.goals)})
        behind = skills if served else None
        found.append(MissionContext(tuple(spec.propositions), ("call",), sets, None, behind))
    return found


def test_no_sentence_of_a_check_stays_english(contexts):
    said = 0
    for context in contexts:
        for text in MISSIONS:
            english, german = check_mission(text, context), check_mission(text, context, "de")
            assert len(told(english)) == len(told(german))
            for one, other in zip(told(english), told(german), strict=True):
                said += 1
                assert one != other, (text, one)
    assert said > 200


def filled(pieces, between, end):
    """Return a text whose gaps, which are None, are filled: all but the last with one or the other."""
    gaps = [number for number, piece in enumerate(pieces) if piece is None]
    given = {**dict.fromkeys(gaps, "7"), **dict.fromkeys(gaps[1:-1], between), gaps[-1]: end}
    return "".join(given[n] if piece is None else piece for n, piece in enumerate(pieces))


def errors_of(path):
    """Return the errors that a module can raise, with 7 in each gap, and with the last gap empty."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called not in ("_error", "MissionError", "BoundError"):
            continue
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield {first.value}
        elif isinstance(first, ast.JoinedStr) and any(
            isinstance(p, ast.Constant) for p in first.values
        ):
            pieces = [p.value if isinstance(p, ast.Constant) else None for p in first.values]
            ends = ("", "7", ".", ". Known: 7.", "; did you mean '7'? Known: 7.", ", such as '&'")
            ends = (*ends, ", such as ',' or 'then'")
            yield {filled(pieces, between, end) for between in ("", "7") for end in ends}


@pytest.mark.parametrize("name", ["parser", "plain_words", "bounds"])
def test_every_error_that_a_reader_of_missions_can_raise_is_known_in_german(name):
    found = list(errors_of(LOGIC / f"{name}.py"))
    assert len(found) > 5
    for forms in found:
        assert any(in_german(form) != form for form in forms), forms


def test_the_german_has_the_gaps_of_the_english_and_patterns_have_theirs():
    for english, german in SENTENCES.items():
        assert sorted(GAP.findall(english)) == sorted(GAP.findall(german)), english
        filled = GAP.sub("7", english)
        assert in_german(filled) == GAP.sub("7", german), english
        assert set(german) <= {*string.printable, *"äöüÄÖÜß„“…"}, german
    for pattern in PATTERNS:
        assert in_german(pattern.meaning) != pattern.meaning


def test_what_is_not_known_stays_as_it_is_and_costs_little():
    assert in_german("something else") == "something else"
    assert in_german("") == ""
    hostile = "the mission cannot be achieved: " * 60
    assert in_german(hostile)  # of any depth: it ends
    assert (
        in_german("the robot is stopped: stop was called")
        == "der Roboter steht: STOPP wurde gerufen"
    )
