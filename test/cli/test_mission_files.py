"""Mission files: what they say, what goes first, and errors that name the nearest key."""

import argparse
import json

import pytest

from skm_cli.main import main
from skm_cli.mission_files import mission_text, read_mission_file
from skm_machine import MissionError

ERRAND = """
name: errand
description: coffee to the office, by way of the hall
domain: office
mission: visit coffee then office; visit hall; never decoration
planner: product
places: {corner: "B & !decoration", hall: A | corner}
limits: {steps: 300, seconds: 9, states: 500, translation_seconds: 2}
repeat: false
"""


@pytest.fixture
def errand(tmp_path):
    path = tmp_path / "errand.yaml"
    path.write_text(ERRAND)
    return path


def test_a_file_says_it_all(errand):
    found = read_mission_file(errand)
    assert found.mission == (
        "visit coffee then office; visit (A | (B & !decoration)); never decoration"
    )
    assert found.title == "errand: coffee to the office, by way of the hall"
    assert found.options == {
        "domain": "office",
        "planner": "product",
        "repeat": False,
        "max_steps": 300,
        "max_seconds": 9.0,
        "max_states": 500,
        "translation_seconds": 2.0,
    }


def test_run_and_check_take_a_file(errand, capsys):
    assert main(["run", str(errand), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["domain"], report["outcome"]) == ("office", "accepted")
    assert main(["check", str(errand)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("errand: coffee")
    assert "F(coffee & F office) & F(A | B & !decoration) & G !decoration" in out
    main(["run", "office_absorbing", str(errand), "--json"])
    assert json.loads(capsys.readouterr().out)["domain"] == "office_absorbing"


def test_the_command_line_goes_first(errand):
    args = argparse.Namespace(mission=str(errand), max_steps=7, planner="paper", events="")
    mission_text(args)
    assert (args.max_steps, args.planner, args.events) == (7, "paper", "")
    assert not hasattr(args, "domain"), "options that a command does not have are left out"


def test_events_are_carried_to_their_option(tmp_path):
    path = tmp_path / "m.yml"
    path.write_text("mission: F a\nevents: [battery_low@30-80, door_open@5-]")
    args = argparse.Namespace(mission=str(path), events="")
    assert mission_text(args) == "F a"
    assert args.events == "battery_low@30-80, door_open@5-"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mision: F a", "unknown key 'mision'; did you mean 'mission'"),
        ("name: x", "needs the key 'mission'"),
        ("mission: 1", "must be text"),
        ("mission: F a\nmission: F b", "twice"),
        ("mission: [", "not valid YAML"),
        ("", "must hold keys with values, such as `mission: F a`"),
        ("mission: F a\nplanner: papr", "unknown planner 'papr'; did you mean 'paper'"),
        ("mission: F a\nrepeat: often", "repeat is true or false"),
        ("mission: F a\nlimits: {stesp: 3}", "unknown key 'stesp'; did you mean 'steps'"),
        ("mission: F a\nlimits: {steps: 0}", "must be a number above 0"),
        ("mission: F a\nlimits: {steps: 1.5}", "must be a number above 0"),
        ("mission: F a\nlimits: 3", "must hold keys with values"),
        ("mission: F a\nplaces: {then: a}", "'then' has another meaning"),
        ("mission: F a\nplaces: {U: a}", "'U' has another meaning"),
        ("mission: F a\nplaces: {hall: a &}", "nothing follows '&'"),
        ("mission: F a\nplaces: {hall: F a}", "must not speak of time"),
    ],
)
def test_errors_say_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(MissionError, match=message.replace("(", r"\(")) as caught:
        read_mission_file(path)
    assert "m.yaml" in str(caught.value)


def test_a_file_that_is_not_there_and_one_without_a_domain(tmp_path, capsys):
    assert main(["check", str(tmp_path / "none.yaml")]) == 2
    assert "there is no file" in capsys.readouterr().err
    path = tmp_path / "m.yaml"
    path.write_text("mission: F A")
    assert main(["run", str(path)]) == 2
    assert "names no domain" in capsys.readouterr().err
    assert main(["run", "office"]) == 2
    assert "say which mission" in capsys.readouterr().err


@pytest.mark.parametrize("mission", ["F a & F b & F c & F d", "G F a & G F b & G F c & G F d"])
def test_limits_are_options(capsys, mission):
    assert main(["check", mission, "--max-states", "5"]) == 2
    assert "more than 5 states" in capsys.readouterr().err
    assert main(["check", mission, "--max-states", "50", "--translation-seconds", "2"]) == 0


def test_a_recurring_mission_with_events_from_a_file(tmp_path, capsys):
    path = tmp_path / "watch.yaml"
    path.write_text(
        "mission: whenever battery_low go to office; patrol A, B; never decoration\n"
        "domain: office\nevents: battery_low@30-80\nlimits: {steps: 200}\n"
    )
    assert main(["run", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["steps"]) == ("satisfied so far", 200)
