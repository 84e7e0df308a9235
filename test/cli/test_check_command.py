"""`skm check`, as people and programs call it."""

import json
import subprocess
import sys
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


@pytest.mark.parametrize("mission", ["F(a &", "", "a b", "G F a | F b", "HOA: v1", "missing.hoa"])
def test_a_bad_mission_gives_exit_code_2_and_no_output(capsys, mission):
    code, out, err = check(capsys, mission, "--json")
    assert code == 2
    assert out == ""
    assert err.startswith("skm: ")


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
