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

A folder (default: runs) gives a list: search, open, compare two, verify, download, delete and undo. The
same page as that of `skm up … --web`, with play, pause, speed and a time line: docs/how-to/web.md. No
ROS is needed. Ctrl-C ends it.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm view` to the command."""
    parser = subparsers.add_parser(
        "view",
        help="show a recording in a browser",
        description="Serve a page that plays a recording: the world, the machine, why, and when.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "recording",
        metavar="RUN.mcap|FOLDER",
        type=Path,
        nargs="?",
        default=Path("runs"),
        help="a recording of skm, or a folder of them (default: runs)",
    )
    parser.add_argument(
        "--recover", action="store_true", help="show what there is of a file without its end"
    )
    parser.add_argument(
        "--keep",
        metavar="LIMIT",
        default="",
        help="keep 200 (recordings), 2GB (in all) or 30d (days) of a folder, or several: 200,30d",
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
        shown = RunLibrary(args.recording, hub, args.keep)
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
    )
    try:
        with server:
            serve_until_interrupted(server.url)
    finally:
        shown.stop()
    return 0
