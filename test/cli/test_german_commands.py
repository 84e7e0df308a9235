"""What commands say in German: each sentence of a report, where SKM_LANGUAGE chooses it."""

import re

import pytest

from skm_cli.main import main
from skm_cli.reports.status import print_status
from skm_primitives.execution.phrases import VARIABLE

MISSION = "F(coffee & X F office) & G !decoration"
DATA = re.compile(r"\s*(u\d+\s.*|\^)?|  F \(.*")
"""Lines that are no sentence: rows of tables, and the place in a mission where it is wrong."""
COMMANDS = (
    ("check", MISSION, "--domain", "office", "--trace", "coffee; ; office"),
    ("check", "G F A & G F B", "--domain", "office", "--trace", "A; B; A"),
    ("check", "G F A", "--horizon", "finite", "--trace", "A; ; "),
    ("check", "G A", "--domain", "office"),
    ("check", "F A & G(call -> F office)", "--domain", "office", "--events", "call"),
    ("check", "F A & G !call", "--domain", "office", "--events", "call"),
    ("check", "visit A then B; never decoration", "--domain", "office"),
    (
        "check",
        "F (coffee",
    ),
    ("run", "office", MISSION, "--start", "2,2"),
    ("run", "office", "G F A & G F B", "--start", "2,2", "--max-steps", "60"),
    ("run", "office", "F A & G !A"),
)


def said(capsys, command):
    main(command)
    told = capsys.readouterr()
    return [line for line in (told.out + told.err).splitlines() if not DATA.fullmatch(line)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_sentence_of_a_report_stays_english(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # a sentence that is longer takes no more lines
    english = said(capsys, command)
    monkeypatch.setenv(VARIABLE, "de")
    german = said(capsys, command)
    assert len(english) == len(german) > 0
    same = [one for one, other in zip(english, german, strict=True) if one == other]
    # The formula is the same in any language; it is the first line, if there is one.
    assert [line for line in same if line != english[0]] == []
    assert len(german) == 1 or len(same) < len(german)


STATUS = {
    "nodes": {
        "sim": {"running": True, "health": {"level": "ok", "message": "running"}},
        "machine": {"running": True, "health": {"level": "warning", "message": "on a mission"}},
        "primitives": {"running": False, "health": None},
    },
    "primitives": {"domain": "office", "goals": 21, "checkpoint": "c", "digest": "0" * 64},
    "machine": {
        "phase": "running",
        "mission": "F A",
        "steps": 7,
        "outcome": "",
        "reason": "",
        "words": "Unterwegs zu A.",
        "events": ["call"],
        "true_events": ["call"],
        "waiting_for": "robot",
    },
}


@pytest.mark.parametrize(
    "machine",
    [
        {},
        {"phase": "waiting"},
        {"phase": "idle", "mission": "", "words": ""},
        {"phase": "idle", "outcome": "failed", "reason": "the client took the mission back"},
    ],
    ids=["running", "waiting", "new", "after"],
)
def test_the_state_of_a_system_is_told_in_german(machine, capsys, monkeypatch):
    document = {**STATUS, "machine": {**STATUS["machine"], **machine}}
    print_status(document)
    english = capsys.readouterr().out
    monkeypatch.setenv(VARIABLE, "de")
    print_status(document)
    german = capsys.readouterr().out
    for one, other in zip(english.splitlines(), german.splitlines(), strict=True):
        assert one != other or "Unterwegs" in one, one
    for word in ("phase", "steps", "running", "waiting for", "mission yet", "took", "true"):
        assert not re.search(rf"\b{word}\b", german), german


def test_a_language_that_there_is_not_is_an_error_before_anything_is_done(capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, "fr")
    assert main(["check", "F A"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "SKM_LANGUAGE is 'fr'; it can be en or de" in told.err
