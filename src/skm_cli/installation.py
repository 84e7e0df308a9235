"""What `skm doctor` looks at, a finding at a time: packages, ROS 2, processors, ports, DDS."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, Literal, NamedTuple

from skm_machine.errors import SkmError
from skm_machine.version import __version__

State = Literal["fine", "absent", "wrong"]
STATES: Final[dict[State, str]] = {"fine": "✓", "absent": "–", "wrong": "✗"}
PORTS: Final = {8765: "the page", 8766: "Foxglove"}
SMALL_DISK: Final = 500_000_000


class Finding(NamedTuple):
    """One check of the installation."""

    subject: str
    state: State
    found: str
    fix: str = ""


def examine(timeout: float, extras: Mapping[str, str]) -> Iterator[Finding]:
    """Yield one finding after the other; the last ones take seconds.

    `extras` says what each extra of pyproject.toml that users may want is needed for.
    """
    yield _python()
    yield from _packages(extras)
    yield _graphics()
    yield from _ports()
    yield _disk()
    ros = list(_ros())
    yield from ros
    if ros and all(finding.state == "fine" for finding in ros):
        yield from _dds(timeout)


def _python() -> Finding:
    found = f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}"
    return Finding("skm", "fine", f"{found} ({sys.executable})")


def requirements() -> dict[str, list[str]]:
    """Return the packages that skm itself (the extra "") and each extra wants, by their names."""
    wanted: dict[str, list[str]] = {"": []}
    for line in metadata.requires("skm") or ():
        name = re.match(r"[\w.\-]+", line)
        extra = re.search(r"""extra == ["']([\w-]+)["']""", line)
        if name and name[0] != "skm":
            wanted.setdefault(extra[1] if extra else "", []).append(name[0])
    return wanted


def _packages(extras: Mapping[str, str]) -> Iterator[Finding]:
    try:
        wanted = requirements()
    except metadata.PackageNotFoundError:
        return  # under an installed ROS 2 there is no such metadata; what is missing shows when used
    for extra, what in {"": "", **extras}.items():
        versions = {name: _version(name) for name in wanted.get(extra, ())}
        missing = [name for name, version in versions.items() if version is None]
        there = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
        subject = f"extra {extra}" if extra else "packages"
        if not missing:
            yield Finding(subject, "fine", there)
        elif not extra:
            fix = f"pip install {' '.join(missing)}"
            yield Finding(subject, "wrong", f"missing: {', '.join(missing)}", fix)
        elif not (extra == "ros" and importlib.util.find_spec("rclpy")):
            fix = f"pip install '.[{extra}]' in skm's folder"
            yield Finding(subject, "absent", f"only needed for {what}", fix)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _graphics() -> Finding:
    tool = shutil.which("nvidia-smi")
    listed = ""
    if tool:
        done = subprocess.run([tool, "-L"], capture_output=True, text=True, check=False, timeout=20)
        listed = done.stdout.strip().split("\n", maxsplit=1)[0] if done.returncode == 0 else ""
    torch = _version("torch")
    if not listed:
        return Finding("graphics processor", "absent", "none; skills run and are learned without")
    if torch and "+cpu" in torch:
        fix = "install PyTorch's build for CUDA, if you want to learn on it"
        return Finding("graphics processor", "absent", f"{listed}; torch {torch} leaves it", fix)
    return Finding("graphics processor", "fine", f"{listed}; torch {torch or 'is not installed'}")


def _ports() -> Iterator[Finding]:
    for port, what in PORTS.items():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                fix = f"another program uses it: give {what} another one with --port or --foxglove"
                yield Finding(f"port {port}", "absent", error.strerror or str(error), fix)
            else:
                yield Finding(f"port {port}", "fine", f"free for {what}")


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    found = f"{free / 1e9:.1f} GB free here"
    if free < SMALL_DISK:
        return Finding("disk", "wrong", found, "recordings may not fit: `skm runs --keep 30d`")
    return Finding("disk", "fine", found)


def _ros() -> Iterator[Finding]:
    """Yield which ROS 2 there is, and whether it knows skm's interfaces; nothing, if there is none."""
    if importlib.util.find_spec("rclpy") is None:
        if distribution := os.environ.get("ROS_DISTRO"):
            fix = f"this Python ({sys.executable}) is not that of ROS 2 {distribution}; use its own"
            yield Finding("ROS 2", "wrong", f"{distribution} is sourced, rclpy is not found", fix)
        return
    wheel = _version("ros-rclpy")
    distribution = os.environ.get("ROS_DISTRO", "")
    origin = f"wheels of PyPI (rclpy {wheel})" if wheel else f"installed: {distribution or '?'}"
    domain = os.environ.get("ROS_DOMAIN_ID", "0, as ROS_DOMAIN_ID is not set")
    middleware = os.environ.get("RMW_IMPLEMENTATION", "the default middleware")
    try:
        from skm_ros.client.ros_client import require_ros  # noqa: PLC0415

        require_ros()
    except SkmError as error:
        yield Finding("ROS 2", "wrong", origin, str(error))
        return
    yield Finding("ROS 2", "fine", f"{origin}, {middleware}, domain {domain}; interfaces are built")


def _dds(timeout: float) -> Iterator[Finding]:
    """Yield whether two processes find each other, and who else is there."""
    from skm_ros.client.reachability import reach_other_process  # noqa: PLC0415
    from skm_ros.middleware import PROFILES, RANGE  # noqa: PLC0415

    wide = os.environ.get(RANGE, "")
    own = [name for name in PROFILES if name in os.environ]  # before skm sets its own
    reached = reach_other_process(timeout)
    if reached.seconds is None:
        fix = (
            f"look at the profiles that {own[0]} names, or unset it"
            if own
            else "a busy machine needs more time (--timeout 60); else the interface lo must be up, and"
            " no firewall before UDP on it; a ROS_DOMAIN_ID of its own may help"
        )
        found = f"two processes did not find each other within {timeout:g} s"
        yield Finding("DDS", "wrong", found, fix)
    else:
        found = f"two processes found each other in {reached.seconds:.1f} s"
        reach = f"{RANGE} is {wide}" if wide else f"this machine only, unless {RANGE} is SUBNET"
        yield Finding("DDS", "fine", f"{found}; {reach}")
    others = ", ".join(reached.nodes[:8]) + (", …" if len(reached.nodes) > 8 else "")
    yield Finding("nodes", "fine", others or "none of others on this domain")
