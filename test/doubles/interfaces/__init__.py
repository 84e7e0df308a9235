"""Builds the definitions of nav2_msgs and tf2_msgs in this folder, once, and makes them importable.

Neither package is on a registry. The build is that of the project's own interfaces
(tools/build_interfaces.py), into a prefix of the caller's, so that the virtual environment stays
as it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import importlib
import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
PACKAGES = ("tf2_msgs", "nav2_msgs")
INTERFACES = (
    "tf2_msgs.msg.TFMessage",
    "nav2_msgs.msg.CostmapFilterInfo",
    "nav2_msgs.action.NavigateToPose",
    "nav2_msgs.action.NavigateThroughPoses",
)


def interfaces_available() -> bool:
    """Return whether both packages can be imported already, as under an installed ROS 2."""
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


def interfaces_digest(prefix: Path) -> str:
    """Return a SHA-256 that changes with a definition, the Python, a ROS wheel, or the prefix."""
    tool = _build_tool()
    digest = hashlib.sha256(repr((str(prefix), tool.installed_versions())).encode())
    for package in PACKAGES:
        for file in sorted((HERE / package).rglob("*")):
            if file.is_file():
                digest.update(f"{file.relative_to(HERE)} {file.read_text('utf-8')}\n".encode())
    return digest.hexdigest()


def ensure_interfaces(prefix: str | Path, *, jobs: int = 1) -> Path:
    """Build the interfaces into `prefix` unless they are there, make them importable, return it.

    Safe to call from several processes at once: one builds, the others wait. Where a ROS 2
    installation already has both packages, nothing is built.
    """
    prefix = Path(prefix).resolve()
    if interfaces_available():
        return prefix
    prefix.mkdir(parents=True, exist_ok=True)
    stamp = prefix / "interfaces.stamp"
    with _locked(prefix / "interfaces.lock"):
        digest = interfaces_digest(prefix)
        if not stamp.is_file() or stamp.read_text("utf-8") != digest:
            stamp.unlink(missing_ok=True)  # a build that breaks off must not look finished
            _build(prefix, jobs)
            stamp.write_text(digest, "utf-8")
    activate_interfaces(prefix)
    return prefix


def activate_interfaces(prefix: str | Path) -> None:
    """Make the interfaces in `prefix` importable in this process; its environment stays as it is.

    The libraries carry their folder with them (RPATH). The middleware opens the type supports by
    name alone, which the dynamic linker looks up in the LD_LIBRARY_PATH of the process's start;
    those that are loaded already it finds without looking, so no restart is needed.
    """
    prefix = Path(prefix).resolve()
    packages = str(_site_packages(prefix))
    if packages not in sys.path:
        sys.path.append(packages)
    importlib.invalidate_caches()
    for package in PACKAGES:
        for kind in ("fastrtps_c", "introspection_c"):
            ctypes.CDLL(str(prefix / "lib" / f"lib{package}__rosidl_typesupport_{kind}.so"))


def interface_environment(prefix: str | Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` for a child process that is to find the interfaces in `prefix`."""
    prefix = Path(prefix).resolve()
    result = dict(environ)
    for name, path in (
        ("PYTHONPATH", _site_packages(prefix)),
        ("LD_LIBRARY_PATH", prefix / "lib"),
    ):
        others = [part for part in result.get(name, "").split(os.pathsep) if part]
        kept = [part for part in others if part != str(path)]
        result[name] = os.pathsep.join([*kept, str(path)])
    return result


def _site_packages(prefix: Path) -> Path:
    """Return where CMake puts Python modules below a prefix."""
    return prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def _build(prefix: Path, jobs: int) -> None:
    """Configure, build, install and try each package."""
    import numpy as np  # noqa: PLC0415  (only a build needs it)

    tool = _build_tool()
    wheels = Path(sys.prefix)
    environ = tool.build_environment(os.environ, wheels)
    environ["AMENT_PREFIX_PATH"] = os.pathsep.join([str(prefix), str(wheels)])
    tool.require_tools(shutil.which, os.environ)
    tool.patch_exports(wheels, sysconfig.get_path("include"), np.get_include())
    libraries = f"{prefix / 'lib'};{wheels / 'lib'}"
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_INSTALL_PREFIX": str(prefix),
        "CMAKE_PREFIX_PATH": f"{prefix};{wheels}",
        "CMAKE_INSTALL_RPATH": libraries,
        "CMAKE_BUILD_RPATH": libraries,
        "Python3_EXECUTABLE": sys.executable,
        "BUILD_TESTING": "OFF",
    }
    definitions = [f"-D{name}={value}" for name, value in options.items()]
    for package in PACKAGES:
        folder = prefix / "build" / package
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / "build.log"
        log.unlink(missing_ok=True)
        configure = ["cmake", "-S", str(HERE / package), "-B", str(folder), "-G", "Unix Makefiles"]
        for command in (
            [*configure, *definitions],
            ["cmake", "--build", str(folder), "--parallel", str(jobs)],
            ["cmake", "--install", str(folder)],
        ):
            tool.run(["nice", *command], environ, log, _quiet)
    check = "; ".join(_load(name) for name in INTERFACES)
    child = interface_environment(prefix, environ)
    tool.run([sys.executable, "-c", check], child, prefix / "build" / "check.log", _quiet)


def _load(name: str) -> str:
    """Return Python that fails where the compiled part of an interface does not load."""
    module, kind = name.rsplit(".", 1)
    return f"from {module} import {kind}; type({kind}).__import_type_support__()"


def _quiet(_percentage: int) -> None:
    """Show no progress: the log has it."""


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build_tool() -> ModuleType:
    """Return tools/build_interfaces.py of this project, which is a script and in no package."""
    path = HERE.parents[2] / "tools" / "build_interfaces.py"
    spec = importlib.util.spec_from_file_location("build_interfaces", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool
