"""The documents tell the truth: their `skm` commands and Python blocks run, and print what they show."""

import re
import shlex
from pathlib import Path

import pytest

from skm_cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SITE = ROOT / "tools" / "docs_site.py"
"""Makes reference pages that are files of the site only."""
QUICK = ("check", "patterns", "run", "eval", "map", "verify")
"""Commands that tests run; training and nodes have tests of their own."""
PHYSICS = re.compile(r"skm (run|eval) (safety|zones)")
"""Where networks drive a robot through physics, steps differ between CPUs: digits do not count."""


def blocks(page, language):
    return re.findall(
        rf"^\s*```{language}\n(.*?)^\s*```", page.read_text(), re.DOTALL | re.MULTILINE
    )


def console_examples():
    for page in PAGES:
        if page.parent.name == "tutorials":  # followed as a whole: test_tutorials.py
            continue
        for block in blocks(page, "console"):
            for example in re.split(r"^\s*\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = example.partition("\n")
                if command.startswith("skm ") and shlex.split(command)[1] in QUICK:
                    yield pytest.param(command, output, id=f"{page.name}: {command[:50]}")


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    """The domain that the page on maps makes first."""
    folder = tmp_path_factory.mktemp("maps") / "hall"
    assert main(["map", "--example", "--no-picture", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    """The recording that the page on recordings makes first."""
    path = tmp_path_factory.mktemp("recordings") / "run.mcap"
    mission = "F(coffee & X F office) & G !decoration"
    assert main(["run", "office", mission, "--start", "2,2", "--record", str(path)]) == 0
    return path


@pytest.mark.parametrize(("command", "output"), list(console_examples()))
def test_console_examples(command, output, capsys, tmp_path, monkeypatch, hall, run_file):
    monkeypatch.chdir(tmp_path)
    if command.startswith("skm verify"):
        (tmp_path / "run.mcap").symlink_to(run_file)
    capsys.readouterr()
    if "map" not in command.split():
        (tmp_path / "hall").symlink_to(hall)
    monkeypatch.setenv("COLUMNS", "160")
    main(shlex.split(command)[1:])
    captured = capsys.readouterr()

    def comparable(text):
        text = re.sub(r"\d+", "0", text) if PHYSICS.match(command) else text
        return re.sub(r"\s+", " ", text).strip()

    printed = comparable(captured.out + captured.err)
    for line in output.splitlines():
        assert comparable(line) in printed


def python_examples():
    for page in PAGES:
        if page.parent.name == "tutorials":
            continue
        for number, block in enumerate(blocks(page, "python")):
            yield pytest.param(block, id=f"{page.name}: block {number}")


@pytest.mark.parametrize("block", list(python_examples()))
def test_python_examples(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "<docs>", "exec"), {})


def test_links_and_pictures_exist():
    made = {ROOT / "docs" / uri for uri in re.findall(r'"(reference/\w+\.md)"', SITE.read_text())}
    for page in PAGES:
        text = page.read_text()
        links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
        for target in [*links, *re.findall(r'<img src="([^"]+)"', text)]:
            found = (page.parent / target).resolve()
            assert found.exists() or found in made, f"{page.name} names {target}"
