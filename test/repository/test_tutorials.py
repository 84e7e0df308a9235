"""The tutorials work as they are written: files are made, commands run, and print what is shown."""

import re
import shlex
from pathlib import Path

import pytest

from skm_cli.main import main

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
FOLLOWED = ("first_mission.md", "read_a_mission.md")
"""Those that need no ROS and no training; `your_environment.md` has a test of its own."""
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page):
    return FENCE.findall((TUTORIALS / page).read_text())


def lines_of(text):
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_tutorial_is_followed_from_its_first_line_to_its_last(
    page, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    commands = 0
    for language, title, text in blocks(page):
        if title:
            (tmp_path / title).write_text(text)
        if language == "python":
            exec(compile(text, title, "exec"), {})
        if language != "console":
            continue
        for example in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = example.partition("\n")
            code = main(shlex.split(command)[1:])
            said = capsys.readouterr()
            printed = re.sub(r"\s+", " ", said.out + said.err)
            assert [line for line in lines_of(shown) if line not in printed] == [], printed
            assert code != 2 or "skm: " in said.err
            commands += 1
    assert commands >= 8


def test_the_commands_of_the_robot_tutorial_are_understood():
    """They need a running robot; `test/ros/test_robot.py` drives one. Here: nothing is misspelt."""
    from skm_cli.main import build_parser  # noqa: PLC0415

    parser = build_parser()
    known = 0
    for language, _, text in blocks("your_robot.md"):
        for line in text.splitlines() if language in ("sh", "console") else ():
            command = line.removeprefix("$ ").split("  #")[0]
            if command.startswith("skm "):
                parser.parse_args(shlex.split(command)[1:])
                known += 1
    assert known >= 10
