#!/usr/bin/env python3
"""A release up to the upload: built, checked, installed as users will, with notes and checksums.

    python tools/release.py                        into build/release; with the Pythons that are found
    python tools/release.py --notes 0.1.0          only print the notes of a version, from CHANGELOG.md

Nothing is tagged and nothing is uploaded: RELEASING.md says who does that, and how.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
OUT: Final = ROOT / "build" / "release"
PYTHONS: Final = ("3.11", "3.12", "3.13")
EXTRAS: Final = ("", "[web,record]")
"""What is installed in a clean environment, one after the other: nothing besides, and two extras."""
MISSION: Final = "F(coffee & X F office) & G !decoration"


def versions() -> dict[str, str]:
    """Return the version that each file says."""

    def found(path: str, pattern: str) -> str:
        match = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
        return match[1] if match else "none"

    return {
        "src/skm_machine/version.py": found("src/skm_machine/version.py", r'__version__ = "(.+)"'),
        "package.xml": found("package.xml", r"<version>(.+)</version>"),
        "CITATION.cff": found("CITATION.cff", r'^version: "?([^"\n]+)'),
    }


def notes(version: str) -> str:
    """Return what CHANGELOG.md says of a version; of the next one, what is under Unreleased."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = dict(
        re.findall(r"^## \[?([\w. ]+?)\]?(?: [–-] [\d-]+)?\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    )
    if version not in sections and "Unreleased" not in sections:
        raise SystemExit(f"CHANGELOG.md has no section {version}, and none that is unreleased")
    body = sections.get(version, sections.get("Unreleased", "")).strip()
    # Links of the repository mean nothing on a release's page.
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", body) + "\n"


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command, and return what it printed; if it fails, show that and stop."""
    line = [str(part) for part in command]
    done = subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def environment(folder: Path, python: str) -> Path:
    """Make an empty environment; return its Python."""
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def pip(python: Path, *options: str | Path) -> None:
    """Install into an environment."""
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options)


def build(folder: Path) -> list[Path]:
    """Build sdist and wheel from the files that git knows, check them, and return their paths."""
    tree = folder / "tree"
    tree.mkdir()
    for name in run("git", "ls-files", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    python = environment(folder / "tools", sys.executable)
    pip(python, "--no-deps", "-r", ROOT / "requirements" / "release.txt")
    shutil.rmtree(OUT, ignore_errors=True)
    run(python, "-m", "build", "--outdir", OUT, tree)
    files = sorted(OUT.iterdir())
    print(run(python, "-m", "twine", "check", "--strict", *files).strip())
    return files


def try_out(python: str, file: Path, extra: str, folder: Path) -> str:
    """Install a built file as users do, and run a mission in an empty folder; return what it said."""
    inside = environment(folder, python)
    pip(inside, "-c", ROOT / "requirements" / "core.txt", f"{file}{extra}")
    run(inside, "-m", "pip", "check")
    empty = folder / "empty"
    empty.mkdir()
    skm = inside.parent / "skm"
    said = run(skm, "--version", cwd=empty).strip()
    run(skm, "check", MISSION, "--domain", "office", cwd=empty)
    record = ("--record", "run.mcap") if "record" in extra else ()
    ran = run(skm, "run", "office", MISSION, "--start", "2,2", *record, cwd=empty)
    if record:
        run(skm, "verify", "run.mcap", cwd=empty)
    return f"{said}, {ran.strip().splitlines()[-1]}"


def interpreter(version: str) -> str | None:
    """Return a Python of this version that starts: on the path, or one of pyenv's that is not on it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [
        shutil.which(f"python{version}"),
        *map(str, sorted(pyenv.glob(f"versions/{version}.*[0-9]/bin/python{version}"))),
    ]
    for python in candidates:
        if (
            python
            and not subprocess.run([python, "-V"], capture_output=True, check=False).returncode
        ):
            return python
    return None


def main(arguments: Sequence[str]) -> None:
    """Rehearse the release."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--notes", metavar="VERSION", help="print these notes, and do nothing else")
    args = parser.parse_args(arguments)
    if args.notes:
        print(notes(args.notes), end="")
        return
    said = versions()
    if len(set(said.values())) > 1:
        raise SystemExit(f"versions differ: {said}")
    (version,) = set(said.values())
    print(f"version {version}, in {', '.join(said)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = build(folder)
        for name in PYTHONS:
            python = interpreter(name)
            if python is None:
                print(f"Python {name}: not on this machine, not tried")
                continue
            for file in files:
                for extra in EXTRAS:
                    place = folder / f"{name}{file.suffix}{len(extra)}"
                    done = try_out(python, file, extra, place)
                    print(f"Python {name}, {file.name}{extra}: {done}", flush=True)
                    shutil.rmtree(place)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files]
    (OUT / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    (OUT / "NOTES.md").write_text(notes(version), encoding="utf-8")
    print("\n".join(sums))
    print(f"all of it is in {OUT.relative_to(ROOT)}; RELEASING.md says what comes next")


if __name__ == "__main__":
    main(sys.argv[1:])
