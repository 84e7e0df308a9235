"""Options that several commands share: what a run leaves behind, and serving the page."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from skm_machine.errors import SkmError

PLANNERS = "product, paper, values, printed, or that of an installed package"


def planner_name(text: str) -> str:
    """Return the name of a planner that there is; for `type` of an option."""
    from skm_primitives.planning.planners import check_planner  # noqa: PLC0415

    try:
        return check_planner(text)
    except SkmError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_system_options(parser: argparse.ArgumentParser, timeout: float = 10.0) -> None:
    """Add the options of commands that ask a running system: where it is, and how long to wait."""
    parser.add_argument(
        "--namespace", default="/skm", help="namespace of the system (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=timeout,
        help=f"seconds to wait for the answer (default: {timeout:g})",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


# Options of commands that leave something of a mission's run: its picture, its recording.


def add_keeping_options(parser: argparse.ArgumentParser) -> None:
    """Add `--picture` and `--record`."""
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE.svg",
        help=("save a picture of the run as .svg and .png; the system must publish markers"),
    )
    parser.add_argument(
        "--record",
        type=Path,
        nargs="?",
        const=Path("runs"),
        metavar="FOLDER",
        help="record the run in this folder (default: runs); see `skm verify`",
    )


# The options of commands that serve the page.


ON = {"nargs": "?", "const": "true", "metavar": "true|false"}


def add_web_options(parser: argparse._ActionsContainer) -> None:
    """Add `--web` and what goes with it; what is not said is as config/graph.yaml has it."""
    parser.add_argument("--web", **ON, help="serve the web page")  # type: ignore[arg-type]
    add_address_options(parser)
    parser.add_argument(
        "--web-deadman",
        nargs="?",
        const="page_alive",
        metavar="TOPIC",
        help="the robot moves only while somebody watches the page",
    )
    parser.add_argument(
        "--web-assistant",
        choices=("confirm", "run", "off"),
        help=(
            "missions of AI assistants (`skm mcp`): confirm by a person (default), run, or "
            "refuse (off)"
        ),
    )


def add_address_options(parser: argparse._ActionsContainer, *, read_only: bool = True) -> None:
    """Add where the page is served, and whether it only shows."""
    parser.add_argument(
        "--host",
        "--web-host",
        dest="web_host",
        metavar="ADDRESS",
        help="address of the page (default: 127.0.0.1); other addresses need a token",
    )
    parser.add_argument(
        "--port",
        "--web-port",
        dest="web_port",
        type=int,
        metavar="N",
        help="port of the page (default: 8765; 0: any free port)",
    )
    parser.add_argument(
        "--public-url",
        "--web-public-url",
        dest="web_public_url",
        metavar="URL",
        help="public address of the page behind a proxy, such as https://robot.example",
    )
    if not read_only:
        return
    parser.add_argument(
        "--read-only",
        "--web-read-only",
        dest="web_read_only",
        **ON,  # type: ignore[arg-type]
        help="the page takes no commands",
    )


def require_web() -> None:
    """Raise an error that says what to install where the package for the page is missing."""
    if importlib.util.find_spec("websockets") is None:
        raise SkmError("the page needs the package 'websockets': pip install 'skm[web]'")


def keep_token(given: MutableMapping[str, Any]) -> None:
    """Settle the token, if one is needed, so that a web node that is started again keeps it."""
    if given.get("web"):
        require_web()
    host, public_url = str(given.get("web_host") or ""), str(given.get("web_public_url") or "")
    if host or public_url:
        from skm_web.server import TOKEN_VARIABLE, token_for  # noqa: PLC0415

        token = token_for(host or "127.0.0.1", public_url)
        if token:
            os.environ[TOKEN_VARIABLE] = token


def serve_until_interrupted(url: str) -> None:
    """Say where the page is, and wait for Ctrl-C or SIGTERM."""
    from skm_primitives.interrupts import InterruptFlag  # noqa: PLC0415

    print(f"the page is at {url}", flush=True)
    over = InterruptFlag()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    over.wait()
