"""Errors stay readable, and are made at once, whatever was sent: megabytes, or what regexes choke on."""

import time

import pytest

from skm_machine import compile_mission
from skm_machine.errors import MOST_QUOTED, MOST_TEXT, MissionError, SkmError, concise, nearest
from skm_machine.mission import MAX_CHARACTERS, detect_format

MEGABYTES = 6_000_000


@pytest.mark.parametrize("option", ["horizon", "format", "translator"])
@pytest.mark.parametrize("text", ["x" * MEGABYTES, "x y " * 1000, "☃" * 1000])
def test_an_unknown_option_is_quoted_in_a_hundred_characters(option, text):
    with pytest.raises(MissionError, match="unknown") as caught:
        compile_mission("F a", **{option: text})
    assert text[:20] in str(caught.value)
    assert len(str(caught.value)) < 2 * MOST_QUOTED
    assert "Known: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("x" * MEGABYTES, "ltl"),
        ("F " * MEGABYTES, "ltl"),
        ("a & " * MEGABYTES, "ltl"),
        ("never " * MEGABYTES, "words"),
        ("HOA: v1 " + " " * MEGABYTES, "hoa"),
        ("0\n[1]\n" + "(0,1,'a',1)\n" * MEGABYTES, "rm"),
    ],
)
def test_a_mission_of_megabytes_is_refused_unread(text, format):
    with pytest.raises(MissionError, match=f"at most {MAX_CHARACTERS[format]} are read"):
        compile_mission(text, propositions=("a", "b"))


@pytest.mark.parametrize(
    "text",
    [
        "F " + "y" * 90_000,
        "F[0," + "9" * 5000 + "] a",
        "X[" + "9" * 5000 + "] a",
        "visit a within " + "9" * 5000 + " steps",
        "HOA: v1\nStates: " + "9" * 5000,
        "0\n[" + "9" * 5000 + "]\n(0,1,'a',1)",
        "F a " + "'" * 90_000,
        "(" * 90_000,
        "visit " + "y" * 90_000,
        "HOA: v1 name: " + "x" * 1_000_000,
    ],
)
def test_what_is_long_inside_a_mission_makes_a_short_error(text):
    with pytest.raises(MissionError) as caught:
        compile_mission(text, propositions=("a", "b"))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "text", ["#" * 5000, "# " * 5000, "12" + " " * 50_000, "1\n[" + " " * 50_000, "1 # x" * 5000]
)
def test_the_format_of_any_text_is_told_at_once(text):
    """Forty `#` took an hour: a pattern that could take a comment apart in every way."""
    began = time.process_time()
    assert detect_format(text) == "ltl"
    with pytest.raises(MissionError):
        compile_mission(text)
    with pytest.raises(MissionError):
        compile_mission(text, format="rm")
    assert time.process_time() - began < 2


def test_only_what_is_long_is_cut():
    for text in (
        "unknown domain 'ofice'; did you mean 'office'? Known: office, safety.",
        f"the domain 'x' {'has many words ' * 20}'y' (a robot's own) {'and so on ' * 20}'z'.",
        f"there is no file '/{'a' * 40}/{'b' * 40}.yaml'",
        f"cannot read /{'/'.join(['folder'] * 40)}/file.yaml",
    ):
        assert concise(text) == text
    assert concise(f"'{'x' * 1000}'") == f"'{'x' * 69}…{'x' * 30}'"
    assert len(concise("a b " * 5000)) == MOST_TEXT + 1
    assert len(str(SkmError("x" * 1000))) == 501
    assert nearest("x" * 1000, ["x"]) is None


def test_an_error_keeps_what_else_it_was_given():
    error = SkmError("why", 3)
    assert error.args == ("why", 3)
