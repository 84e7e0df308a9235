"""The page docs/tutorials/your_environment.md as it is meant to be followed: file, then commands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "your_environment.md"


def python_blocks():
    """Return the page's Python: the module of its domain."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def write_module(folder):
    (folder / "lake.py").write_text(python_blocks()[0])


def commands(*names):
    """Return (arguments, lines that are printed) of the page's `skm` commands of these names."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    for block in blocks:
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            arguments = shlex.split(command)[1:]
            if arguments[0] in names:
                yield arguments, output.splitlines()


def follow(folder, *names):
    """Run commands where a reader would, and check that they print what the page shows."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "160"}
    for arguments, lines in commands(*names):
        done = subprocess.run(
            [sys.executable, "-m", "skm_cli.main", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        printed = re.sub(r"\s+", " ", done.stdout + done.stderr)
        for line in lines:
            assert re.sub(r"\s+", " ", line).strip() in printed, printed
