"""Judging recordings again: true ones agree, every mutation of benchmarks/mutations.py is caught."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from skm_cli.commands.verify import verify_file
from skm_cli.main import main

TOOL = Path(__file__).parents[3] / "benchmarks" / "mutations.py"
spec = importlib.util.spec_from_file_location("mutations", TOOL)
mutations = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutations)

RUNS = {
    "accepted": ("office", "F(coffee & X F office) & G !decoration", "--start", "2,2"),
    "recurring": ("office", "G F A & G F B", "--max-steps", "60"),
    "repeated": ("office", "F A & F B", "--repeat", "--max-steps", "40", "--start", "2,2"),
    "events": (
        *("office", "G(battery_low -> F office) & G F A & G F B", "--max-steps", "60"),
        *("--events", "battery_low@10-30"),
    ),
    "seconds": ("safety", "F[0.5s,30s] button", "--seed", "2"),
    "timed out": ("moving_targets", "F(blue & square)", "--max-steps", "3", "--seed", "1"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Recorded runs, which others must not change."""
    made = tmp_path_factory.mktemp("recorded")
    for name, command in RUNS.items():
        main(["run", *command, "--record", str(made / f"{name}.mcap")])
    return made


@pytest.mark.parametrize("name", RUNS)
def test_what_was_recorded_agrees_with_its_replay(folder, name):
    found = verify_file(folder / f"{name}.mcap", None, recover=False)
    assert (found.disagreements, found.missing) == ([], [])
    assert found.satisfied == (name != "timed out")
    assert found.nearest_metres is None or found.nearest_metres.distance >= 0


@pytest.mark.parametrize("kind", mutations.KINDS)
def test_mutations_are_caught(folder, tmp_path, kind):
    made = 0
    for number, name in enumerate(RUNS):
        target = tmp_path / "mutated.mcap"
        if mutations.mutate(folder / f"{name}.mcap", kind, number, target):
            made += 1
            assert mutations.is_caught(target)[0], name
    assert made


def test_labels_that_came_before_the_machines_word_are_no_disagreement(folder, tmp_path):
    """A recorder that is killed may have the labels of a move, and not yet the log of it."""
    file = mutations.read_recording(folder / "recurring.mcap")
    kept, middle = [], 2 * len(file.recorded) // 5
    for number, message in enumerate(file.recorded):
        if number < middle or message.name in ("labels", "observation"):
            kept.append(message)
    mutations.write(file, kept, tmp_path / "late.mcap")
    found = verify_file(tmp_path / "late.mcap", None, recover=False)
    assert (found.result, found.disagreements, found.steps) == ("incomplete", [], 60)


def test_a_mission_ended_by_max_seconds_is_no_false_alarm(folder, tmp_path):
    """Also of a node that counted the planning: 50 s were up after 28.7 s of running."""
    file = mutations.read_recording(folder / "timed out.mcap")
    file.metadata.clear()
    kept = []
    for message in file.recorded:
        if message.name == "mission_log":
            said = {**vars(message.value), "max_steps": 0, "max_seconds": 50.0}
            if message.value.kind == mutations.ENDED:
                said |= {"seconds": 28.7, "reason": "50 s were up"}
            kept.append(mutations.encoded(message, mutations.Message(**said)))
        else:
            kept.append(message)
    mutations.write(file, kept, tmp_path / "late.mcap")
    found = verify_file(tmp_path / "late.mcap", None, recover=False)
    assert (found.result, found.disagreements) == ("not satisfied", [])


def test_every_mission_of_a_file_is_judged_and_the_worst_is_the_code(folder, tmp_path, capsys):
    """As `ros2 bag record` leaves them: one after the other, and no metadata."""
    first, second = (
        mutations.read_recording(folder / f"{n}.mcap") for n in ("accepted", "recurring")
    )
    first.metadata.clear()
    hour = 3600 * 10**9
    later = [
        replace(m, log_time=m.log_time + hour, publish_time=m.publish_time + hour)
        for m in second.recorded
    ]
    mutations.write(first, first.recorded + later, tmp_path / "two.mcap")
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "two.mcap"), "--json"]) == 0
    missions = [found["mission"] for found in json.loads(capsys.readouterr().out)]
    assert missions == [RUNS["accepted"][1], RUNS["recurring"][1]]
    assert main(["verify", str(tmp_path)]) == 0
    assert mutations.mutate(folder / "accepted.mcap", "no stop", 0, tmp_path / "wrong.mcap")
    assert mutations.mutate(folder / "recurring.mcap", "end left out", 1, tmp_path / "part.mcap")
    assert main(["verify", str(tmp_path / "part.mcap")]) == 4
    assert main(["verify", str(tmp_path)]) == 3  # what disagrees is not hidden by what is missing


def test_the_command_has_a_code_for_each_result_and_a_document(folder, tmp_path, capsys):
    run = folder / "accepted.mcap"
    assert main(["verify", str(run)]) == 0
    out = capsys.readouterr().out
    assert "satisfied after 8 steps" in out
    assert "1 step at" in out  # from a decoration, in the office
    assert main(["verify", str(run), "--mission", "G !coffee", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["result"]) == ("violated", "not satisfied")
    assert document["violations"] == [{"step": 4, "labels": ["coffee"]}]
    assert main(["verify", str(run), "--mission", "F cofee"]) == 2
    assert "did you mean 'coffee'" in capsys.readouterr().err
    wrong = tmp_path / "wrong.mcap"
    assert mutations.mutate(run, "label flipped", 1, wrong)
    assert main(["verify", str(wrong)]) == 3
    cut = tmp_path / "cut.mcap"
    assert mutations.mutate(run, "tail cut off", 1, cut)
    assert main(["verify", str(cut)]) == 2
    assert "--recover" in capsys.readouterr().err
    rows = main(["verify", str(folder), "--json"])
    assert rows == 1  # one of them was timed out
    assert len(json.loads(capsys.readouterr().out)) == len(RUNS)


def test_runs_are_listed_and_opened(folder, tmp_path, capsys):
    assert main(["runs", str(folder), "--json"]) == 0
    rows = {Path(row["file"]).stem: row for row in json.loads(capsys.readouterr().out)}
    assert rows["accepted"]["outcome"] == "accepted"
    assert rows["accepted"]["steps"] == 8
    assert rows["recurring"]["mission"] == "G F A & G F B"
    assert main(["runs", str(folder)]) == 0
    assert main(["runs", str(folder / "accepted.mcap")]) == 0
    assert "skm/Labels" in capsys.readouterr().out
    assert main(["runs", str(tmp_path)]) == 2
