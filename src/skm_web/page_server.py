"""The server of the page: files over HTTP and everything else over a WebSocket, in a thread of its own.

The protocol is in docs/web.md. Requests are handled by whoever runs the server: live by the web node, in
replay by the player; checking a mission as it is typed is done here, for both.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from skm_machine.errors import SkmError
from skm_web.gate import Gate, token_for
from skm_web.hub import Hub
from skm_web.page_connection import PageConnection
from skm_web.page_files import page_files, response

SOCKET: Final = "/socket"
MOST_PAGES: Final = 32
MOST_BYTES: Final = 64 * 1024
"""Of a request: the largest is a mission."""
START_SECONDS: Final = 10.0

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
READING: Final = frozenset({"check", "machine", "play", "pause_replay", "seek", "speed"})
"""Requests that change nothing outside of the page."""


class PageServer:
    """Serves one hub; use it in a `with` statement, or `start` and `stop` it."""

    def __init__(
        self,
        hub: Hub,
        handler: Handler,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        read_only: bool = False,
        source: str = "",
    ) -> None:
        """`source` is what people are told that they see."""
        self._hub = hub
        self._handler = handler
        self._host = host
        self._wanted_port = port
        self._read_only = read_only
        self._source = source
        self._token = token_for(host)
        self._gate = Gate(host, port, self._token)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="pages", daemon=True)
        self._started: threading.Event = threading.Event()
        self._error: Exception | None = None
        self._stopping: asyncio.Event
        self.pages = 0
        """How many are open."""

    @property
    def url(self) -> str:
        """Where the page is; with the token, if it takes one."""
        name = socket.gethostname() if self._host in ("0.0.0.0", "::", "") else self._host
        host = f"[{name}]" if ":" in name else name
        address = f"http://{host}:{self._gate.port}/"
        return f"{address}?token={self._token}" if self._token else address

    def start(self) -> None:
        """Begin to serve; an address that cannot be had is an error."""
        about = {"read_only": self._read_only, "source": self._source}
        self._hub.put("server", {**about, **(self._hub.value("server") or {})})
        self._thread.start()
        if not self._started.wait(START_SECONDS) or self._error is not None:
            reason = str(self._error or "it does not start").rstrip(".")
            raise SkmError(
                f"the page cannot be served on {self._host}, port {self._wanted_port}: "
                f"{reason}; another port is --port, any is 0"
            )

    def stop(self) -> None:
        """End; pages see that the server is gone."""
        if self._thread.is_alive() and self._error is None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(START_SECONDS)

    def __enter__(self) -> PageServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except (OSError, OverflowError, ValueError) as error:  # also of what is no port, or no name
            self._error = error
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        quiet = logging.getLogger("skm_web")
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        async with serve(
            self._on_page,
            self._host,
            self._wanted_port,
            process_request=self._on_request,
            compression=None,
            max_size=MOST_BYTES,
            max_queue=8,
            logger=quiet,
            server_header=None,
            close_timeout=1.0,
        ) as server:
            self._note_port(server)
            self._started.set()
            await self._stopping.wait()

    def _note_port(self, server: Server) -> None:
        self._gate.port = next(iter(server.sockets)).getsockname()[1]

    def _on_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request for a file, refuse what must not pass, or let a WebSocket begin."""
        del connection
        gate, headers = self._gate, request.headers
        target = urlsplit(request.path)
        hosts = headers.get_all("Host")
        host = hosts[0] if len(hosts) == 1 else ""
        if not gate.host_is_ours(host):
            return response(HTTPStatus.FORBIDDEN, "This server goes by another name.\n")
        cookies = "; ".join(headers.get_all("Cookie"))
        if target.path == SOCKET:
            if not gate.origin_is_ours(", ".join(headers.get_all("Origin")), host):
                return response(HTTPStatus.FORBIDDEN, "Only this server's own page may do that.\n")
            if not gate.token_is_right(cookies):
                return response(HTTPStatus.UNAUTHORIZED, "The token is missing or wrong.\n")
            if self.pages >= MOST_PAGES:
                return response(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.\n")
            return None
        if not gate.token_is_right(cookies, target.query):
            return response(
                HTTPStatus.UNAUTHORIZED,
                "This page takes a token: open the address that skm printed when it started.\n",
            )
        if self._token and target.query:
            cookie = gate.cookie_header()
            return response(HTTPStatus.SEE_OTHER, "", Location="/", Set_Cookie=cookie)
        kind, content = page_files().get(target.path, ("", b""))
        if not kind:
            return response(HTTPStatus.NOT_FOUND, "There is no such file.\n")
        return response(HTTPStatus.OK, content, kind)

    async def _on_page(self, connection: ServerConnection) -> None:
        self.pages += 1
        try:
            with suppress(ConnectionClosed):
                await PageConnection(connection, self._hub, self._on_asked).run()
        finally:
            self.pages -= 1

    async def _on_asked(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._read_only and request["type"] not in READING:
            return {"ok": False, "message": "this page only shows: the server is read-only"}
        return await self._handler(request)
