"""`skm view`: a recording in a browser, or all of a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from skm_cli.options import add_address_options

EPILOG = """\
examples:
  skm view runs
  skm view runs/office.mcap
  skm view runs/killed.mcap --recover --port 0

For a folder (default: runs), the page is a list in which you can search, open, compare, verify, download
and delete recordings. See docs/how-to/web.md. You do not need ROS. Press Ctrl-C to stop the server.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm view` to the command."""
    parser = subparsers.add_parser(
        "view",
        help="show a recording in a browser",
        description=(
            "Play a recording in a browser: the world, the machine and the reasons of its "
            "decisions."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "recording",
        metavar="RUN.mcap|FOLDER",
        type=Path,
        nargs="?",
        default=Path("runs"),
        help="a recording, or a folder of recordings (default: runs)",
    )
    parser.add_argument("--recover", action="store_true", help="open a file that was cut off")
    parser.add_argument(
        "--keep",
        metavar="LIMIT",
        default="",
        help=(
            "limits of the folder: 200 (recordings), 2GB (total size), 30d (days), or "
            "several: 200,30d; deletes the oldest"
        ),
    )
    add_address_options(parser, read_only=False)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    from skm_cli.options import require_web, serve_until_interrupted  # noqa: PLC0415

    require_web()
    from skm_web.hub import Hub  # noqa: PLC0415
    from skm_web.player import Replay, replay_file  # noqa: PLC0415
    from skm_web.runs import RunLibrary  # noqa: PLC0415
    from skm_web.server import PageServer  # noqa: PLC0415

    hub = Hub()
    shown: RunLibrary | Replay
    if args.recording.is_dir():
        shown = RunLibrary(args.recording, args.keep)
        hub = shown.hub
    else:
        shown = replay_file(args.recording, hub, recover=args.recover)
        shown.start()
    host, port = args.web_host or "127.0.0.1", args.web_port
    server = PageServer(
        hub,
        shown.handle,
        host,
        8765 if port is None else port,
        source=args.recording.name,
        public_url=args.web_public_url or "",
        downloads=shown.file if isinstance(shown, RunLibrary) else None,
        visit=shown.visit if isinstance(shown, RunLibrary) else None,
    )
    try:
        with server:
            serve_until_interrupted(server.url)
    finally:
        shown.stop()
    return 0
