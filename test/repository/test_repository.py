"""Repository checks: where a domain is named, what the public APIs show, how fast help comes."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from skm_sim.registry import SHIPPED

SRC = Path(__file__).parents[2] / "src"
PACKAGES = (
    "skm_machine",
    "skm_sim",
    "skm_primitives",
    "skm_web",
    "skm_ros",
    "skm_bench",
    "skm_cli",
)
FILES = sorted(SRC.rglob("*.py"))
HELP_TEXTS = ("skm_cli/main.py", "skm_cli/commands/")
THE_PAPER = "skm_primitives/reproduction/"
"""Its subject is the paper's experiments, which are in domains by name."""
DOMAIN_FOLDERS = re.compile(
    r"(^|/)(office|safety_gym|safety|zones|moving_targets|maps|robots)/|/skills/moving_targets\.py$"
)


def inside(file):
    return file.relative_to(SRC).as_posix()


def test_domains_are_spoken_of_in_their_own_folders_the_registry_and_help_texts_only():
    # Safety is a word of the field before it is a domain: its variants, and its name as a value, count.
    others = [name for name in SHIPPED if name != "safety"]
    names = re.compile("|".join([*others, r"[\"']safety[\"']", "skm_sim.safety\\b"]))

    def without_commands(text):
        """Leave out `commands`: those that have measured something name where."""
        return re.sub(r"`[^`]*`", lambda found: "\n" * found[0].count("\n"), text)

    elsewhere = [
        f"{inside(file)}:{number}: {line.strip()}"
        for file in FILES
        if not DOMAIN_FOLDERS.search(inside(file)) and inside(file) != "skm_sim/registry.py"
        if not inside(file).startswith((*HELP_TEXTS, THE_PAPER))
        for number, line in enumerate(without_commands(file.read_text()).splitlines(), start=1)
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


def test_what_draws_nothing_does_not_wait_for_matplotlib():
    code = (
        "import sys\nfrom skm_cli.main import main\nimport skm_primitives.recording.episode_recorder\n"
        "main(['run', 'office', 'F coffee', '--json'])\n"
        "main(['check', 'F coffee', '--domain', 'office', '--json'])\n"
        "print([m for m in ('matplotlib', 'torch', 'PIL') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
