"""The command line as people expect it: help, hints, completion, errors as JSON, Ctrl-C, doctor."""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from skm_cli import exit_codes
from skm_cli.main import COMMANDS, build_parser, main
from skm_machine import __version__
from skm_primitives.recording.files import details


def skm(capsys, *arguments):
    """Return exit code, standard output and standard error."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as end:
        code = end.code
    return code, *capsys.readouterr()


def every_parser(parser, name="skm"):
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub, inner in action.choices.items():
                yield from every_parser(inner, f"{name} {sub}")


@pytest.mark.parametrize("arguments", [(), ("help",), ("--help",), ("-h",)])
def test_skm_alone_lists_every_command(capsys, arguments):
    code, out, _ = skm(capsys, *arguments)
    assert code in (0, None)
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []


def test_help_of_a_command_is_its_help(capsys):
    assert skm(capsys, "help", "run") == skm(capsys, "run", "--help")


def test_the_version_is_told(capsys):
    assert skm(capsys, "--version") == (0, f"skm {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("chek", "F a"), "no command 'chek'; did you mean 'check'?"),
        (("run", "office", "F A", "--strat", "2,2"), "did you mean '--start'?"),
        (("skills", "push", "a", "--checkpoint", "b", "--to", "c", "--licence", "d", "--resluts"),
         "did you mean '--results'?"),
        (("up", "office", "--robto", "none"), "did you mean '--robot'?"),
        (("run", "ofice", "F A"), "did you mean 'office'?"),
    ],
)  # fmt: skip
def test_a_slip_gets_a_hint(capsys, arguments, hint):
    code, out, err = skm(capsys, *arguments)
    assert (code, out) == (2, "")
    assert hint in err


@pytest.mark.parametrize(
    ("name", "parser"),
    [pytest.param(*found, id=found[0]) for found in every_parser(build_parser())],
)
def test_every_command_has_help_with_an_example(name, parser):
    text = parser.format_help()
    assert "example" in text or "\ncommands:" in text, name
    without = [
        action.dest
        for action in parser._actions
        if not action.help and not action.choices and action.help is not argparse.SUPPRESS
    ]
    assert not without, f"{name}: no help for {without}"


def test_exit_codes_are_of_commands_that_there_are():
    assert set(exit_codes.OWN) <= set(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("check", "F (a", "--json"), "MissionError", "never closed"),
        (("run", "ofice", "F A", "--json"), "DomainError", "did you mean 'office'?"),
        (("runs", "--json", "--kep"), "UsageError", "did you mean '--keep'?"),
        (("verify", "nothing.mcap", "--json"), "RecordingError", "nothing.mcap"),
    ],
)
def test_errors_are_json_where_json_was_asked_for(capsys, arguments, kind, message):
    code, out, err = skm(capsys, *arguments)
    error = json.loads(out)["error"]
    assert (code, error["exit_code"], error["kind"]) == (2, 2, kind)
    assert message in error["message"]
    assert message in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(capsys, shell):
    code, out, _ = skm(capsys, "completion", shell)
    assert code == 0
    assert [word for word in (*COMMANDS, "overwrite") if word not in out] == []


def test_bash_completes(tmp_path, capsys):
    """The script, in a real bash."""
    script = tmp_path / "skm.bash"
    script.write_text(skm(capsys, "completion", "bash")[1])
    (tmp_path / "hall").mkdir()
    (tmp_path / "one.mcap").touch()
    (tmp_path / "one.txt").touch()
    lines = (
        *("skm ver", "skm run off", "skm check --horizon f", "skm run --over", "skm run hal"),
        *("skm verify on", "skm eval office --task coffee_", "skm up ro", "skm run --planner pap"),
        "skm run office --checkpoint on",
    )
    ask = (
        f"cd {tmp_path}; source {script}\n"
        f"for line in {' '.join(shlex.quote(line) for line in lines)}; do\n"
        "  COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()\n"
        "  eval $(complete -p skm | sed 's/.*-F \\([^ ]*\\).*/\\1/') skm ${COMP_WORDS[-1]}\n"
        "  echo ${COMPREPLY[@]}\n"
        "done\n"
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    found = dict(
        zip(lines, (sorted(line.split()) for line in done.stdout.splitlines()), strict=True)
    )
    assert found == {
        "skm ver": ["verify"],
        "skm run off": ["office", "office_absorbing"],
        "skm check --horizon f": ["finite"],
        "skm run --over": ["--overwrite"],
        "skm run hal": ["hall"],  # the folder of a domain
        "skm verify on": ["one.mcap"],
        "skm eval office --task coffee_": ["coffee_mail", "coffee_strict"],
        "skm up ro": ["robot"],
        "skm run --planner pap": ["paper"],
        "skm run office --checkpoint on": ["one.mcap", "one.txt"],
    }


def test_runs_are_shown_whole_in_a_pipe(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    mission = "F(coffee & X F office) & G !decoration & G(office -> F mail) & F A & F B & F C & F D"
    name = "a-recording-with-a-name-that-says-what-happened-and-when-and-where.mcap"
    skm(capsys, "run", "office", mission, "--max-steps", 5, "--record", tmp_path / name)
    code, out, _ = skm(capsys, "runs", tmp_path)
    assert code == 0
    assert mission in out
    assert name in out


def test_ctrl_c_leaves_a_recording_that_can_be_read(tmp_path, capsys):
    path = tmp_path / "run.mcap"
    command = [
        *(sys.executable, "-m", "skm_cli.main", "run", "office", "G F A & G F B"),
        *("--max-steps", "10000000", "--record", str(path)),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (path.exists() and path.stat().st_size > 50_000):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in said
    assert details(path)["complete"]
    code, out, _ = skm(capsys, "verify", path)
    assert code in (0, 1), out  # it may have been interrupted before its first round
    assert "recorded: cancelled" in out
    assert "nothing in the recording contradicts the replay" in out


def test_the_doctor_says_what_is_there_and_what_is_not():
    command = [sys.executable, "-m", "skm_cli.main", "doctor", "--timeout", "60", "--json"]
    alone = {**os.environ, "ROS_DOMAIN_ID": str(100 + os.getpid() % 100)}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    found = {finding["subject"]: finding for finding in document["findings"]}
    assert done.returncode == (1 if document["wrong"] else 0)
    assert f"{__version__} on Python" in found["skm"]["found"]
    assert "numpy" in found["packages"]["found"]
    assert "fix" in found["extra irsim"]
    assert [f for f in found.values() if f["state"] == "wrong" and not f["fix"]] == []
    if "ROS 2" in found:
        assert "found each other" in found["DDS"]["found"]
