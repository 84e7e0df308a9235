#!/usr/bin/env python3
"""Build skm's ROS 2 interfaces against the ROS wheels of PyPI, into this virtual environment.

For machines without a ROS installation (`make setup` calls it); under a sourced ROS 2, `colcon
build` does this and the rest. Afterwards `from skm.msg import Observation` works in the
environment, and `ros2 run skm sim` finds its executable there. Needs requirements/ros.txt and
requirements/ros-build.txt installed, cmake, make and a C++ compiler. Does nothing when nothing
changed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("CMakeLists.txt", "package.xml", "msg", "srv", "action", "scripts", "launch", "config")
"""What CMake reads or installs: a change in any of these means a new build."""

INSTALL_HINT = (
    "Debian, Ubuntu: sudo apt install cmake make g++; Fedora: sudo dnf install cmake make gcc-c++"
)
CHECK = """
import skm.action, skm.msg, skm.srv
for module in (skm.action, skm.msg, skm.srv):
    for kind in vars(module).values():
        if isinstance(kind, type):
            type(kind).__import_type_support__()
            assert type(kind)._TYPE_SUPPORT is not None, kind
import rclpy
rclpy.init()
node = rclpy.create_node("skm_interfaces_check")
for name in dir(skm.msg):
    if isinstance(getattr(skm.msg, name), type):
        node.create_publisher(getattr(skm.msg, name), f"skm_check/{name.lower()}", 1)
node.destroy_node()
rclpy.shutdown()
"""
"""Loads the compiled part of every interface, and has the middleware take every message; fails where a
library is missing or does not fit."""


class BuildError(Exception):
    """Something for a person to put right: the message says what is wrong and how to fix it."""


def source_files(root: Path) -> list[Path]:
    """Return every file that the build depends on, in a fixed order."""
    found: list[Path] = []
    for name in SOURCES:
        path = root / name
        inside = path.rglob("*") if path.is_dir() else [path]
        found += sorted(file for file in inside if file.is_file() and file.suffix != ".pyc")
    return found


def installed_versions() -> list[str]:
    """Return `name==version` of what compiled interfaces depend on: Python, NumPy, the wheels."""
    versions = {f"python=={sys.version.split()[0]}"}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"].lower()
        if name == "numpy" or name.startswith("ros-"):
            versions.add(f"{name}=={distribution.version}")
    return sorted(versions)


def build_digest(root: Path, versions: Iterable[str], prefix: Path) -> str:
    """Return a SHA-256 that changes with any source file, wheel version, or the prefix."""
    digest = hashlib.sha256(repr((str(prefix), sorted(versions))).encode())
    for file in source_files(root):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(root)} {content}\n".encode())
    return digest.hexdigest()


def read_stamp(stamp: Path) -> tuple[str, list[Path]]:
    """Return the digest of the last build and the files it installed; nothing if there was none."""
    if not stamp.is_file():
        return "", []
    digest, *files = stamp.read_text(encoding="utf-8").splitlines()
    return digest, [Path(file) for file in files]


def write_stamp(stamp: Path, digest: str, installed: Iterable[Path]) -> None:
    """Record a finished build: its digest and the files that it installed."""
    stamp.write_text("\n".join([digest, *map(str, installed)]) + "\n", encoding="utf-8")


def is_current(stamp: Path, digest: str) -> bool:
    """Return whether the last build was of these very sources and its files are still there."""
    built, files = read_stamp(stamp)
    return built == digest and all(file.exists() for file in files)


def remove_stale(stamp: Path, installed: Sequence[Path]) -> list[Path]:
    """Remove what only an earlier build had installed; return what is installed now.

    CMake's `skm-<version>.egg-info` goes, too: beside pip's own record of `skm` it would make two
    distributions of one name, and the next `pip install` could take the interfaces for an old
    version of the command and remove them. What the stamp names outside of its own environment stays:
    in a copy of an environment, the stamp still names the files of the original.
    """
    keep = [file for file in installed if not _is_egg_info(file)]
    prefix = stamp.parents[2]
    before = [file for file in read_stamp(stamp)[1] if file.is_relative_to(prefix)]
    for file in {*before, *installed} - set(keep):
        file.unlink(missing_ok=True)
        if file.parent.is_dir() and not any(file.parent.iterdir()):
            file.parent.rmdir()
    return keep


def _is_egg_info(file: Path) -> bool:
    return file.parent.suffix == ".egg-info" and file.parent.name.startswith("skm-")


def point_at_python(text: str, python_include: str, numpy_include: str) -> str:
    """Return a CMake export file with this Python's include folders for the build machine's."""
    folder = r"/opt/python/[^;\"]*"
    text = re.sub(rf"{folder}/site-packages/numpy/[^;\"]*include", lambda _: numpy_include, text)
    return re.sub(rf"{folder}/include/python[\d.]+t?", lambda _: python_include, text)


def patch_exports(prefix: Path, python_include: str, numpy_include: str) -> int:
    """Patch the export file of every message package in `prefix`; return how many needed it."""
    changed = 0
    for file in sorted(prefix.glob("share/*/cmake/export_*__rosidl_generator_pyExport.cmake")):
        before = file.read_text(encoding="utf-8")
        after = point_at_python(before, python_include, numpy_include)
        if after != before:
            file.write_text(after, encoding="utf-8")
            changed += 1
    return changed


def require_tools(which: Callable[[str], str | None], environ: Mapping[str, str]) -> None:
    """Raise a BuildError that names everything needed for the build that is not on the path."""
    missing = [name for name in ("cmake", "make") if which(name) is None]
    for variable, language, names in (
        ("CC", "a C compiler", ("cc", "gcc", "clang")),
        ("CXX", "a C++ compiler", ("c++", "g++", "clang++")),
    ):
        wanted = shlex.split(environ.get(variable, ""))[:1]
        if not any(which(name) for name in wanted or names):
            missing.append(f"{language} ({variable}={wanted[0]})" if wanted else language)
    if missing:
        raise BuildError(
            f"needed to build the ROS interfaces, and not found: {', '.join(missing)}.\n"
            f"  {INSTALL_HINT}"
        )


def require_environment(prefix: Path, environ: Mapping[str, str], python_include: str) -> None:
    """Raise a BuildError where this Python, its packages or the shell cannot build interfaces."""
    if sys.prefix == sys.base_prefix:
        raise BuildError(
            "run this with the Python of the virtual environment to build into, such as\n"
            "  .venv/bin/python tools/build_interfaces.py"
        )
    sourced = [path for path in environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if path]
    foreign = [path for path in sourced if Path(path).resolve() != prefix.resolve()]
    if foreign:
        raise BuildError(
            f"a ROS 2 installation is sourced in this shell ({foreign[0]});\n"
            "  it does not mix with the ROS wheels of PyPI. With that ROS 2: colcon build.\n"
            "  With the wheels: try again in a shell that does not source it."
        )
    for package, requirements in (
        ("rclpy", "ros"),
        ("rosidl_default_generators", "ros-build"),
        ("ament_cmake", "ros-build"),
    ):
        if not (prefix / "share" / package).is_dir():
            raise BuildError(
                f"the ROS package {package} is not in {prefix}. Install it with\n"
                f"  {prefix}/bin/pip install -r requirements/{requirements}.txt"
            )
    if not Path(python_include, "Python.h").is_file():
        raise BuildError(
            f"the headers of this Python are not installed (no Python.h in {python_include}).\n"
            "  Debian, Ubuntu: sudo apt install python3-dev; Fedora: sudo dnf install python3-devel"
        )


def build_environment(environ: Mapping[str, str], prefix: Path) -> dict[str, str]:
    """Return the environment for CMake, which finds the wheels but loads none of their libraries.

    The wheels set LD_LIBRARY_PATH when Python starts, behind a guard variable; without both, each
    Python that CMake starts sets them anew for itself.
    """
    result = dict(environ)
    result.pop("_ROS_WHEELS_BOOTSTRAP_COMPLETE", None)
    libraries = [path for path in result.pop("LD_LIBRARY_PATH", "").split(os.pathsep) if path]
    outside = [path for path in libraries if not Path(path).is_relative_to(prefix)]
    if outside:
        result["LD_LIBRARY_PATH"] = os.pathsep.join(outside)
    result["AMENT_PREFIX_PATH"] = str(prefix)
    result["PATH"] = os.pathsep.join([str(prefix / "bin"), result.get("PATH", os.defpath)])
    return result


def run(
    command: Sequence[str], environ: Mapping[str, str], log: Path, show: Callable[[int], None]
) -> None:
    """Run a step with its output in `log`, showing CMake's percentages; a failure shows the end."""
    tail: list[str] = []
    with (
        log.open("a", encoding="utf-8") as output,
        subprocess.Popen(
            command,
            env=dict(environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        print("$", shlex.join(command), file=output)
        for line in process.stdout or ():
            output.write(line)
            tail = [*tail[-39:], line]
            if percentage := re.match(r"\[ *(\d+)%\]", line):
                show(int(percentage[1]))
    if process.returncode:
        raise BuildError(f"{shlex.join(command[:3])} … failed; the end of {log}:\n{''.join(tail)}")


class Progress:
    """Shows how far the build is: one line that moves on a terminal, else a line every 25 %."""

    def __init__(self) -> None:
        self._moves = sys.stderr.isatty()
        self._shown = 0
        self._began = time.monotonic()

    def __call__(self, percentage: int) -> None:
        """Show that `percentage` of the build is done."""
        if percentage < self._shown + (1 if self._moves else 25):
            return
        self._shown = percentage
        elapsed = time.monotonic() - self._began
        left = f", about {elapsed * (100 / percentage - 1):.0f} s left" if percentage < 100 else ""
        text = f"interfaces: {percentage:3d} % built{left:24}"
        print(f"\r{text}" if self._moves else f"{text}\n", end="", file=sys.stderr, flush=True)


def prepare_folder(folder: Path, toolchain: str) -> Path:
    """Make the build folder, empty where the last build in it was with another toolchain."""
    record = folder / "toolchain.txt"
    if record.is_file() and record.read_text(encoding="utf-8") != toolchain:
        shutil.rmtree(folder)
    elif not record.is_file() and folder.is_dir() and any(folder.iterdir()):
        raise BuildError(f"{folder} holds something else than this build: name another --build-dir")
    folder.mkdir(parents=True, exist_ok=True)
    record.write_text(toolchain, encoding="utf-8")
    return folder


def build(prefix: Path, folder: Path, jobs: int, stamp: Path) -> list[Path]:
    """Configure, build, install and try the interfaces; return the files installed."""
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_INSTALL_PREFIX": str(prefix),
        "CMAKE_PREFIX_PATH": str(prefix),
        "Python3_EXECUTABLE": sys.executable,
        "BUILD_TESTING": "OFF",
        "SKM_INSTALL_PYTHON": "OFF",
        "SKM_PYTHON_INTERFACES_ONLY": "ON",  # 45 in place of 99 CPU s
    }
    definitions = [f"-D{name}={value}" for name, value in options.items()]
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Unix Makefiles"]
    environ = build_environment(os.environ, prefix)
    log = folder / "build.log"
    log.unlink(missing_ok=True)
    progress = Progress()
    run([*configure, *definitions], environ, log, progress)
    run(["cmake", "--build", str(folder), "--parallel", str(jobs)], environ, log, progress)
    run(["cmake", "--install", str(folder)], environ, log, progress)
    manifest = (folder / "install_manifest.txt").read_text(encoding="utf-8").splitlines()
    installed = remove_stale(stamp, [Path(line) for line in manifest])
    run([sys.executable, "-c", CHECK], environ, log, progress)
    return installed


def say(text: str) -> None:
    """Tell the person at the terminal how it goes."""
    line_start = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{line_start}interfaces: {text}", file=sys.stderr, flush=True)


def build_if_changed(folder: Path, jobs: int, force: bool) -> None:
    """Build into the environment of this Python, unless its last build was of the same sources."""
    prefix = Path(sys.prefix)
    stamp = prefix / "share" / "skm" / "interfaces.stamp"
    python_include = sysconfig.get_path("include")
    require_environment(prefix, os.environ, python_include)
    versions = installed_versions()
    digest = build_digest(ROOT, versions, prefix)
    if not force and is_current(stamp, digest):
        say("up to date")
        return
    require_tools(shutil.which, os.environ)
    say(f"building into {prefix} (the first time: about 45 s of one core)")
    import numpy as np  # noqa: PLC0415  (slow to import, and not needed when nothing changed)

    patched = patch_exports(prefix, python_include, np.get_include())
    say(f"{patched} CMake files of the wheels pointed at this Python")
    began = time.monotonic()
    prepare_folder(folder, "\n".join([str(ROOT), str(prefix), *versions]))
    write_stamp(stamp, digest, build(prefix, folder, jobs, stamp))
    say(f"built and installed in {time.monotonic() - began:.0f} s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build where something changed; errors that people can fix give exit code 2."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cores = len(os.sched_getaffinity(0))
    folder = ROOT / "build" / "interfaces"
    parser.add_argument("--force", action="store_true", help="build even if nothing changed")
    parser.add_argument("--jobs", type=int, default=cores, help="compilers at once (%(default)s)")
    parser.add_argument("--build-dir", type=Path, default=folder, help="default: build/interfaces")
    args = parser.parse_args(arguments)
    try:
        build_if_changed(args.build_dir.resolve(), args.jobs, args.force)
    except BuildError as error:
        print(f"build_interfaces: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
