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

Tools: check, explain, propose, run, status, stop. A proposed mission waits on the page until a person
confirms it. If the robot was started with `--web-assistant run`, it runs at once; with `off`, assistants
have no access. All calls are recorded (topic `assistant`).

Settings of the assistant: {"mcpServers": {"robot": {"command": "skm", "args": ["mcp"]}}}
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm mcp` to the command."""
    parser = subparsers.add_parser(
        "mcp",
        help="serve tools for AI assistants over MCP",
        description=(
            "Serve the tools of a robot to an AI assistant (Model Context Protocol, standard "
            "input and output)."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--url",
        default="http://127.0.0.1:8765/",
        help="address of the robot's page, as skm prints it (default: %(default)s)",
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
