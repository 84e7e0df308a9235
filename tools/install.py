#!/usr/bin/env python3
"""Install pinned packages into a virtual environment: say how much it is, then show how far it is.

    python3 tools/install.py .venv demo      what `make demo` needs
    python3 tools/install.py .venv all       what learning, tests and examples need besides
    python3 tools/install.py .venv-core core what the core's tests need: nothing of ROS

Called by the Makefile. Everything is pinned with all that it needs (requirements/*.txt), so pip resolves
nothing: that alone takes a minute. Modules are compiled when they are first imported, not here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
ALL: Final = (
    "core",
    "baselines",
    "learn",
    "record",
    "web",
    "mcp",
    "dev",
    "docs",
    "ros",
    "ros-build",
)
CORE: Final = ("core", "baselines", "learn", "record", "web", "mcp", "dev")
COLLECTING: Final = 0.5
"""The share of the time until pip has all files; then it unpacks them and says nothing on the way."""


class PackageSet(NamedTuple):
    """Packages that are installed together, and how much they are: `du -sm` before and after."""

    requirements: tuple[str, ...]
    download_mb: int
    disk_mb: int


SETS: Final = {
    "demo": PackageSet(("demo",), 110, 380),
    "all": PackageSet(ALL, 480, 1700),
    "core": PackageSet(CORE, 430, 1500),
}
"""`all` has torch's CPU build; elsewhere than here, pip may take its build for GPUs, which is larger."""


def pinned(files: Sequence[Path]) -> Iterator[str]:
    """Yield every `name==version` of requirements files and of those that they include."""
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            text = line.split("#")[0].strip()
            if text.startswith("-r "):
                yield from pinned([file.parent / text[3:].strip()])
            elif text:
                yield text


class Bar:
    """How far it is, with an estimate: a line that moves on a terminal, else a line every quarter."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._shown = 0.0
        self._moves = sys.stderr.isatty()

    def show(self, done: float) -> None:
        """Show the share that is done."""
        if done < 1 and done - self._shown < (0.01 if self._moves else 0.25):
            return
        self._shown = done
        elapsed = time.monotonic() - self._began
        left = f", about {elapsed * (1 - done) / done:.0f} s left" if 0.05 < done < 1 else ""
        filled = round(24 * done)
        text = f"{self._title} [{'#' * filled}{'.' * (24 - filled)}] {done:4.0%}{left}"
        end = "\n" if done >= 1 or not self._moves else ""
        print(f"\r\x1b[K{text}" if self._moves else text, end=end, file=sys.stderr, flush=True)


def pip(python: Path, *options: str) -> list[str]:
    """Return a command of pip that resolves nothing and compiles nothing."""
    return [
        *(str(python), "-m", "pip", "install", "--disable-pip-version-check"),
        *("--no-deps", "--no-compile", *options),
    ]


def install(python: Path, packages: Sequence[str], bar: Bar) -> None:
    """Install packages, showing how many pip has; if it fails, show what it said."""
    said: list[str] = []
    collected = 0
    with subprocess.Popen(
        pip(python, *packages), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            said.append(line)
            if re.match(r"(Collecting|Requirement already satisfied)", line):
                collected += 1
                bar.show(min(COLLECTING * collected / len(packages), COLLECTING))
    if process.returncode:
        sys.stderr.write("\n" + "".join(said[-30:]))
        raise SystemExit("pip could not install the packages: see above")
    bar.show(1.0)


def main(arguments: Sequence[str]) -> None:
    """Make the environment if there is none, and install a set of packages into it."""
    folder, name = Path(arguments[0]), arguments[1]
    chosen = SETS[name]
    python = folder / "bin" / "python"
    packages = list(
        dict.fromkeys(pinned([ROOT / f"requirements/{file}.txt" for file in chosen.requirements]))
    )
    others = [package for argument in arguments[2:] for package in pinned([Path(argument)])]
    print(
        f"{name}: {len(packages) + len(others)} pinned packages into {folder}, about"
        f" {chosen.download_mb} MB to download and {chosen.disk_mb} MB on disk",
        file=sys.stderr,
        flush=True,
    )
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install(python, [*packages, *others], Bar("packages"))
    # setuptools is among the packages, so nothing else has to be downloaded to install skm itself.
    itself = pip(python, "--quiet", "--no-build-isolation", "--editable", str(ROOT))
    subprocess.run(itself, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
