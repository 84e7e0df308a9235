"""The floor plan holds: names, sizes, where a domain is spoken of, what the front doors show."""

import importlib
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from skm_sim.registry import SHIPPED

SRC = Path(__file__).parents[2] / "src"
PACKAGES = ("skm_machine", "skm_sim", "skm_primitives", "skm_web", "skm_ros", "skm_cli")
FILES = sorted(SRC.rglob("*.py"))
HELP_TEXTS = ("skm_cli/main.py", "skm_cli/commands/")
THE_PAPER = "skm_primitives/paper/"
"""Its subject is the paper's experiments, which are in domains by name."""
DOMAIN_FOLDERS = re.compile(r"(^|/)(office|safety|zones|moving_targets|maps|robots)/")


def inside(file):
    return file.relative_to(SRC).as_posix()


def test_no_file_is_long_and_half_are_short():
    lengths = {inside(file): len(file.read_text().splitlines()) for file in FILES}
    assert {name: length for name, length in lengths.items() if length > 400} == {}
    assert statistics.median(lengths.values()) <= 128


def test_commands_are_short():
    commands = (SRC / "skm_cli" / "commands").glob("*.py")
    assert [c.name for c in commands if len(c.read_text().splitlines()) >= 150] == []


def test_no_name_stands_for_two_things():
    """But for the parts that every domain has, each in its folder, and commands named as they are."""
    places = defaultdict(list)
    for file in FILES:
        name = inside(file)
        if not DOMAIN_FOLDERS.search(name) and "commands/" not in name and file.stem[0] != "_":
            places[file.stem].append(name)
    assert {stem: found for stem, found in places.items() if len(found) > 1} == {}


def test_domains_are_spoken_of_in_their_own_folders_the_registry_and_help_texts_only():
    names = re.compile("|".join(SHIPPED))
    elsewhere = [
        f"{inside(file)}:{number}: {line.strip()}"
        for file in FILES
        if not DOMAIN_FOLDERS.search(inside(file)) and inside(file) != "skm_sim/registry.py"
        if not inside(file).startswith((*HELP_TEXTS, THE_PAPER))
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if names.search(line)
    ]
    assert elsewhere == []


@pytest.mark.parametrize("package", PACKAGES)
def test_front_doors_say_what_is_public_and_which_version_it_is(package):
    module = importlib.import_module(package)
    assert module.__version__
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_array_types_are_defined_once():
    defined = re.compile(r"^\w+(: TypeAlias)? = NDArray\[np\.\w+\]", re.MULTILINE)
    assert [inside(file) for file in FILES if defined.search(file.read_text())] == [
        "skm_sim/arrays.py"
    ]


def test_help_comes_quickly():
    code = (
        "import sys, time\nfrom skm_cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numpy', 'gymnasium', 'rich', 'torch', 'rclpy') if m in sys.modules],"
        " time.process_time(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, _, seconds = done.stderr.strip().rpartition(" ")
    assert heavy == "[]"
    assert float(seconds) < 0.3
