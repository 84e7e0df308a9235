"""`skm check`, as people and programs call it."""

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest

from skm_cli.main import main


def check(capsys, *arguments):
    code = main(["check", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def check_json(capsys, *arguments):
    code, out, _ = check(capsys, *arguments, "--json")
    return code, json.loads(out)


def test_safety_2(capsys):
    code, report = check_json(capsys, "F(button & X F cylinder) & G !region")
    assert code == 0
    assert report["satisfiable"]
    assert not report["co_safe"]
    assert report["can_fail"]
    assert not report["infinite"]
    assert report["propositions"] == ["button", "cylinder", "region"]
    assert [state["name"] for state in report["states"]] == ["u0", "u1", "accepted", "failed"]
    assert report["witness"] == [["button"], ["cylinder"]]
    assert report["counterexample"] == [["region"]]
    assert {(edge["source"], edge["target"], edge["label"]) for edge in report["edges"]} >= {
        ("u0", "u1", "button & !region"),
        ("u0", "failed", "region"),
    }
    first = report["skills"][0]
    assert (first["state"], first["expression"], first["constraints"]) == (
        "u0",
        "button & !region",
        ["region"],
    )


@pytest.mark.parametrize(
    ("mission", "co_safe", "can_fail", "infinite"),
    [
        ("F a", True, False, False),
        ("F a & G !b", False, True, False),
        ("!b U a", True, True, False),
        ("G F a", False, False, True),
        ("G F a & G !b", False, True, True),
    ],
)
def test_kinds_of_missions(capsys, mission, co_safe, can_fail, infinite):
    _, report = check_json(capsys, mission)
    assert (report["co_safe"], report["can_fail"], report["infinite"]) == (
        co_safe,
        can_fail,
        infinite,
    )
    assert (report["counterexample"] is not None) == can_fail


def test_an_unsatisfiable_mission(capsys):
    code, report = check_json(capsys, "F a & G !a")
    assert code == 1
    assert not report["satisfiable"]
    assert report["witness"] is None


def test_the_report_for_people(capsys):
    code, out, _ = check(
        capsys, "F(coffee & X F office) & G !decoration", "--trace", "coffee; ; office"
    )
    assert code == 0
    assert "shortest success:  {coffee} ; {office}" in out
    assert "coffee & !decoration" in out
    assert "accepted" in out
    assert "trace satisfied" in out


def test_the_report_on_a_recurring_mission(capsys):
    _, out, _ = check(capsys, "G F C & G(a -> F b)")
    assert "'G(a -> F b)' says something about every future" in out
    assert "shortest round:    {C}\n" in out
    _, out, _ = check(capsys, "G(a -> F[0,30] b)")
    assert "shortest round:    {}\n" in out
    assert "shortest failure:  {a} ; {} × 30\n" in out
    _, out, _ = check(capsys, "G F a | F G b")
    assert "may commit in u0, to be in u1: always b\n" in out
    assert "may commit in u0, to be in u2: a, again and again\n" in out
    _, out, _ = check(capsys, "!F G !a")
    assert "'!F G !a' says something about every future" in out
    assert "  1 state over a\n" in out


def test_a_trace(capsys):
    _, report = check_json(capsys, "F(coffee & X F office)", "--trace", "coffee; ; office")
    assert report["trace"]["states"] == ["u1", "u1", "accepted"]
    assert report["trace"]["satisfied"]
    assert report["trace"]["accepted_at"] == 3
    _, report = check_json(capsys, "F(coffee & X F office)", "--trace", "office; coffee")
    assert not report["trace"]["satisfied"]


def test_a_trace_with_an_unknown_name(capsys):
    code, _, err = check(capsys, "F coffee", "--trace", "cofee")
    assert code == 2
    assert "did you mean 'coffee'" in err


@pytest.mark.parametrize("mission", ["F(a &", "", "a b", "F G G", "HOA: v1", "missing.hoa"])
def test_a_bad_mission_gives_exit_code_2_and_no_report(capsys, mission):
    code, out, err = check(capsys, mission)
    assert (code, out) == (2, "")
    assert err.startswith("skm: ")
    code, out, said = check(capsys, mission, "--json")
    document = json.loads(out)
    assert (code, list(document)) == (2, ["error"])
    assert document["error"]["exit_code"] == 2
    assert document["error"]["message"] in err
    assert said == err


def test_a_domain_checks_the_propositions(capsys):
    assert check(capsys, "F coffee", "--domain", "office")[0] == 0
    code, _, err = check(capsys, "F cofee", "--domain", "office")
    assert code == 2
    assert "did you mean 'coffee'" in err
    code, _, err = check(capsys, "F coffee", "--domain", "offce")
    assert code == 2
    assert "office" in err


def test_drawing_and_exporting(capsys, tmp_path):
    drawing, hoa, dot = tmp_path / "m.svg", tmp_path / "m.hoa", tmp_path / "m.dot"
    assert check(capsys, "F a & G !b", "--draw", str(drawing), "--export", str(hoa))[0] == 0
    assert ET.parse(drawing).getroot().tag.endswith("svg")
    assert check(capsys, str(hoa), "--format", "hoa", "--export", str(dot))[0] == 0
    assert dot.read_text().startswith("digraph")
    code, report = check_json(capsys, str(hoa))
    assert code == 0
    assert report["format"] == "hoa"
    assert check(capsys, "a", "--draw", str(tmp_path / "m.png"))[0] == 2
    assert check(capsys, "a", "--export", str(tmp_path / "m.txt"))[0] == 2


def test_spot_is_named_where_it_is_missing(capsys):
    code, _, err = check(capsys, "F a", "--translator", "spot")
    assert code == 2
    assert "Spot" in err
    assert "builtin" in err


def test_it_is_quick_and_needs_no_heavy_package():
    """`skm check` must not load torch, mujoco or rclpy."""
    script = (
        "import sys; from skm_cli.main import main; code = main(['check', 'F a & G !b', '--json']); "
        "heavy = {'torch', 'mujoco', 'rclpy', 'matplotlib'} & set(sys.modules); "
        "assert not heavy, heavy; sys.exit(code)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)


def test_words_show_their_formula_and_formulas_their_words(capsys):
    _, report = check_json(capsys, "visit coffee, mail in order; never decoration")
    assert report["format"] == "words"
    assert report["formula"] == "F(coffee & F mail) & (!mail U coffee) & G !decoration"
    assert report["words"] == "visit coffee, mail in order; never decoration"
    _, report = check_json(capsys, "G F a & G F b")
    assert report["words"] == "patrol a, b"
    _, out, _ = check(capsys, "G F a & G F b")
    assert "in words: patrol a, b" in out
    _, report = check_json(capsys, "F a | F b")
    assert report["words"] is None


def test_patterns_are_listed(capsys):
    assert main(["patterns", "--json"]) == 0
    patterns = json.loads(capsys.readouterr().out)
    assert len(patterns) == 22
    assert set(patterns[0]) == {"name", "group", "meaning", "words", "formula", "example"}
    assert main(["patterns", "patrol"]) == 0
    assert "patrol A, B fairly" in capsys.readouterr().out
    assert main(["patterns", "wiat"]) == 2
    assert "did you mean 'wait'" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["F p{}", "G F p{}"])
def test_twelve_places_are_checked_in_seconds(capsys, text):
    mission = " & ".join(text.format(i) for i in range(12))
    start = time.thread_time()
    code, out, _ = check(capsys, mission)
    assert code == 0
    assert "states over p0" in out
    assert time.thread_time() - start < 5


def test_json_gives_as_many_edges_as_a_program_may_want(capsys):
    _, report = check_json(capsys, " & ".join(f"F p{i}" for i in range(9)))
    assert not report["complete"]
    assert len(report["edges"]) == 1000
    assert check_json(capsys, "F a & F b")[1]["complete"]


def test_a_domain_leaves_out_of_text_json_and_drawing_what_never_holds_together(capsys, tmp_path):
    """In Zones no place has two colours; check showed 'reach blue & green & yellow' all the same."""
    mission, drawing = "F blue & F green & F yellow", tmp_path / "machine.svg"
    _, out, _ = check(capsys, mission, "--domain", "zones", "--draw", str(drawing))
    assert "shortest success:  {blue} ; {green} ; {yellow}" in out
    assert "blue | green | yellow" in out
    assert "blue & green" not in out
    assert "∨ yellow" in drawing.read_text()  # the box of the first state, in two lines
    assert "∧ yellow" not in drawing.read_text()
    assert "∧ green" not in drawing.read_text()
    code, report = check_json(capsys, mission, "--domain", "zones")
    assert code == 0
    assert report["witness"] == [["blue"], ["green"], ["yellow"]]
    assert {skill["expression"] for skill in report["skills"]} == {
        "blue",
        "green",
        "yellow",
        "blue | green",
        "blue | yellow",
        "green | yellow",
        "blue | green | yellow",
    }
    assert {edge["label"] for edge in report["edges"] if edge["source"] != edge["target"]} == {
        "blue", "green", "yellow",
    }  # fmt: skip
    _, alone = check_json(capsys, mission)
    assert alone["witness"] == [["blue", "green", "yellow"]]  # the formula's own meaning stays


def test_events_are_judged_where_they_meet_the_robot_and_check_says_for_whom(capsys):
    mission = "G F office & G(low -> ((!A & !office) U coffee))"
    _, alone = check_json(capsys, mission, "--events", "low")
    assert alone["events"]["can_make_it_fail"] == []
    assert "could show any labels" in alone["events"]["proved_for"]
    _, report = check_json(capsys, mission, "--events", "low", "--domain", "office")
    (risk,) = report["events"]["can_make_it_fail"]
    assert risk["events"] == ["low"]
    assert {"low", "office"} <= set(risk["counterexample"][-1])
    assert risk["starts"] == {"lost": 120, "possible": 120}
    assert report["domain"]["achievable"]


def test_a_mission_that_cannot_be_achieved_shows_no_success(capsys):
    code, out, _ = check(capsys, "F(coffee & mail & X F office)", "--domain", "office")
    assert code == 1
    assert "the mission cannot be achieved" in out
    assert "shortest success" not in out
    assert "success stays possible" not in out


def test_a_failure_for_want_of_time_says_that_it_depends_on_the_place(capsys):
    _, out, _ = check(capsys, "F[0,5] A & G !decoration", "--domain", "office")
    assert "shortest failure:  {}  (from some places, what is left is too far then)" in out
    _, out, _ = check(capsys, "F[0,5] A & G !decoration")
    assert "shortest failure:  {decoration}\n" in out
