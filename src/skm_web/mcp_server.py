"""`skm mcp`: the robot as tools of the Model Context Protocol, over standard input and output.

The tools reach the robot by its page's server, at `assistant/socket`, which answers what
`skm_web.assistant` allows and nothing else: nothing moves but by a mission that was checked, and
shielded, as any other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from mcp.server import MCPServer
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from skm_machine.version import __version__

ANSWER_SECONDS: Final = 20.0
INSTRUCTIONS: Final = """\
A robot that carries out missions in temporal logic or plain words ("visit A, B in order; never C").
Names of places are in `status`. Check a mission before you propose it. `run` waits for a person's
confirmation on the robot's page unless the robot was started otherwise; ask `status` what became of it.
`stop` brings the robot to rest at once; only a person can let it go again."""

Ask = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class PageClient:
    """Asks a page's server as an assistant; a connection that is gone is opened again."""

    def __init__(self, url: str) -> None:
        """`url` is the page's address as skm printed it, with the token if there is one."""
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        self._address = f"{'wss' if secure else 'ws'}://{parts.netloc}{parts.path.rstrip('/')}"
        self._origin = f"{parts.scheme}://{parts.netloc}"
        token = parse_qs(parts.query).get("token", [""])[0]
        port = parts.port or (443 if secure else 80)
        self._headers = {"Cookie": f"skm_{port}={token}"} if token else {}
        self._socket: ClientConnection | None = None
        self._lock = asyncio.Lock()
        self._number = 0

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request; one at a time."""
        async with self._lock:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    return await self._asked(request)
            except (OSError, WebSocketException, TimeoutError) as error:
                self._socket = None
                return {"ok": False, "message": f"the robot's page does not answer: {error}"}

    async def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._socket is None:
            self._socket = await connect(
                f"{self._address}/assistant/socket",
                origin=self._origin,  # type: ignore[arg-type]
                additional_headers=self._headers,
                max_size=None,
                proxy=None,
            )
        self._number += 1
        await self._socket.send(json.dumps({**request, "id": self._number}))
        while True:
            message = await self._socket.recv()
            if isinstance(message, bytes):
                continue
            answer: dict[str, Any] = json.loads(message)
            if answer.get("type") == "answer" and answer.get("id") == self._number:
                return {key: value for key, value in answer.items() if key not in ("type", "id")}


def mission_server(ask: Ask) -> MCPServer:
    """Return the server of the tools; `ask` reaches the robot."""
    server = MCPServer("skm", version=__version__, instructions=INSTRUCTIONS)

    @server.tool()
    async def check(mission: str) -> dict[str, Any]:
        """Say whether a mission can be read and done here, and what is wrong with it."""
        answer = await ask({"type": "check", "mission": mission})
        verdict = answer.get("verdict")
        if not isinstance(verdict, dict):
            return answer
        kept = ("ok", "possible", "error", "position", "formula", "words", "remarks", "states")
        return {key: verdict[key] for key in kept if verdict.get(key) is not None}

    @server.tool()
    async def explain(mission: str) -> str:
        """Say in sentences what a mission means: how it is read, how it succeeds, how it can fail."""
        answer = await ask({"type": "check", "mission": mission})
        verdict = answer.get("verdict")
        if not isinstance(verdict, dict):
            return str(answer.get("message", "nothing is known"))
        if not verdict.get("ok"):
            return f"It cannot be read: {verdict.get('error', 'it is empty')}"
        lines = [str(verdict.get("words") or verdict.get("formula"))]
        if verdict.get("reading"):
            lines.append(f"read as {verdict['reading']}")
        lines += [*verdict.get("sentences", ()), *verdict.get("remarks", ())]
        for name, said in (("witness", "succeeds by"), ("counterexample", "fails by")):
            if verdict.get(name) is not None:
                lines.append(
                    f"{said}: {' → '.join('{' + ', '.join(s) + '}' for s in verdict[name])}"
                )
        return "\n".join(lines)

    @server.tool()
    async def propose(mission: str, why: str = "") -> dict[str, Any]:
        """Put a mission before the person at the robot's page, with a sentence on why."""
        return await ask({"type": "propose", "mission": mission, "why": why})

    @server.tool()
    async def run(mission: str, why: str = "") -> dict[str, Any]:
        """Ask for a mission to be run; unless the robot was started otherwise, a person confirms it."""
        return await ask({"type": "run", "mission": mission, "why": why})

    @server.tool()
    async def status() -> dict[str, Any]:
        """Say what the robot does, in words and in numbers, and what became of proposals."""
        return await ask({"type": "status"})

    @server.tool()
    async def stop() -> dict[str, Any]:
        """Bring the robot to rest at once and keep it there; a person lets it go again."""
        return await ask({"type": "stop"})

    return server


def serve_stdio(url: str) -> None:
    """Serve until standard input ends."""
    mission_server(PageClient(url).ask).run("stdio")
