"""`skm mcp`: the robot as tools of the Model Context Protocol."""

from __future__ import annotations

import argparse
import importlib.util

from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm up office --web                      the robot, with its page
  skm mcp                                  its tools, for an assistant that starts this command
  skm mcp --url "http://robot:8765/?token=…"

Tools: check, explain, propose, run, status, stop. A mission is checked, then waits on the page for a
person's confirmation; a robot that was started with `--web-assistant run` takes it at once, with `off`
it answers no assistant. Every call is in the recordings of the robot (topic `assistant`).

In the settings of an assistant: {"mcpServers": {"robot": {"command": "skm", "args": ["mcp"]}}}
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm mcp` to the command."""
    parser = subparsers.add_parser(
        "mcp",
        help="let an assistant propose missions, over MCP",
        description="Serve the robot's tools to an assistant, by the Model Context Protocol over "
        "standard input and output.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--url",
        default="http://127.0.0.1:8765/",
        help="the page of the robot, as skm printed it (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the assistant goes."""
    for package in ("mcp", "websockets"):
        if importlib.util.find_spec(package) is None:
            raise SkmError(f"this needs the package '{package}': pip install 'skm[mcp]'")
    from skm_web.mcp_server import serve_stdio  # noqa: PLC0415

    serve_stdio(args.url)
    return 0
