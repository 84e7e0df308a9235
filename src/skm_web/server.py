"""The server of the page: who may come in, files over HTTP, and everything else over a WebSocket."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from skm_machine.documents import read_json
from skm_machine.errors import SkmError
from skm_web.hub import Hub, Seen

# Who may talk to the page's server: loopback, or a token; and no page from elsewhere, ever.
#
# A browser lets any page of the web open connections to this machine. So the Host must be an
# address of this server (a foreign name that resolves to it is refused), and a WebSocket must
# come from a page that this server has served (its Origin). Beyond the loopback everyone needs
# the token, which the first visit puts into a cookie that scripts cannot read and that other
# sites' requests do not carry.


TOKEN_VARIABLE: Final = "SKM_WEB_TOKEN"
"""The environment variable with a token to use; a server that is started again keeps it so."""


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def token_for(host: str) -> str:
    """Return the token that a server on this address asks for; empty on the loopback."""
    if is_loopback(host):
        return ""
    return os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(18)


class Gate:
    """Decides on requests by their headers."""

    def __init__(self, host: str, port: int, token: str = "") -> None:
        self._host = host
        self._token = token
        self.port = port

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies of one host are shared by all of its ports."""
        return f"skm_{self.port}"

    def host_is_ours(self, host: str) -> bool:
        """Tell whether a request names this server by an address or a name of its own."""
        name, port = _split(host)
        if port not in ("", str(self.port)):
            return False
        if is_loopback(name) or name == self._host.lower():
            return True
        if is_loopback(self._host):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name == socket.gethostname().lower()
        return True

    def origin_is_ours(self, origin: str, host: str) -> bool:
        """Tell whether a WebSocket comes from a page that this server has served."""
        return origin.lower() == f"http://{host.lower()}"

    def token_is_right(self, cookies: str, query: str = "") -> bool:
        """Tell whether the token is not needed, or given by cookie or query."""
        if not self._token:
            return True
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            found = None
        given = [found.value] if found is not None else []
        given += parse_qs(query).get("token", [])
        return any(hmac.compare_digest(g.encode(), self._token.encode()) for g in given)

    def cookie_header(self) -> str:
        """Return the cookie that carries the token from now on."""
        return f"{self.cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"


def _split(host: str) -> tuple[str, str]:
    """Return the name and the port of a Host header, in small letters; an address without brackets."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "").lower(), "" if parts.port is None else str(parts.port)
    except ValueError:
        return "", "?"


# The files of the page, and the headers that they are served with.


TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing from elsewhere, and no page that shows this one in a frame."""


@lru_cache(maxsize=1)
def page_files() -> dict[str, tuple[str, bytes]]:
    """Return type and content of every file by its path; `/` is the page itself."""
    found = {}
    for file in files("skm_web").joinpath("static").iterdir():
        suffix = "." + file.name.rpartition(".")[2]
        if suffix in TYPES:
            found[f"/{file.name}"] = TYPES[suffix], file.read_bytes()
    found["/"] = found["/index.html"]
    return found


def response(
    status: HTTPStatus,
    body: bytes | str,
    kind: str = "text/plain; charset=utf-8",
    **further: str,
) -> Response:
    """Return an answer over HTTP with the headers that all have; further ones by name."""
    content = body.encode() if isinstance(body, str) else body
    headers = Headers()
    for name, value in {
        "Content-Type": kind,
        "Content-Length": str(len(content)),
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Connection": "close",
        **further,
    }.items():
        headers[name.replace("_", "-")] = value
    return Response(status.value, status.phrase, headers, content)


# One page: what it is sent, as fast as it can take it, and what it may ask for.


UPDATE_SECONDS: Final = 1 / 15
"""Between two updates of a page."""
HEARTBEAT_SECONDS: Final = 0.5
"""A page that has not heard for longer knows that what it shows is stale."""
MOST_REQUESTS: Final = 20
"""Requests that a page may make at once, and in a second after that."""

Handle = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Allowance:
    """So many requests a second, with as many saved up."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = float(most)
        self._at = time.monotonic()

    def take(self) -> bool:
        """Take one, if there is one left."""
        now = time.monotonic()
        self._left = min(self._most, self._left + self._most * (now - self._at))
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class PageConnection:
    """A WebSocket with a page at its other end."""

    def __init__(self, socket: ServerConnection, hub: Hub, handle: Handle) -> None:
        self._socket = socket
        self._hub = hub
        self._handle = handle
        self._allowance = Allowance(MOST_REQUESTS)
        self._under_way: set[asyncio.Future[Any]] = set()
        self._image = 0

    async def run(self) -> None:
        """Serve the page until it goes."""
        feed = asyncio.create_task(self._feed())
        try:
            async for message in self._socket:
                self._take(message)
        finally:
            feed.cancel()
            for task in self._under_way:
                task.cancel()

    async def _feed(self) -> None:
        """Send what is new, and a sign of life where nothing is."""
        seen, sent_at = Seen(), 0.0
        while True:
            began = time.monotonic()
            news = self._hub.news(seen)
            if news or began - sent_at >= HEARTBEAT_SECONDS:
                sent_at = began
                comma = "," if news else ""
                await self._socket.send(f'{{"type":"news","time":{time.time():.3f}{comma}{news}}}')
            image = self._hub.image
            if image is not None and image.version != self._image:
                self._image = image.version
                await self._socket.send(image.value)
            await asyncio.sleep(max(0.0, UPDATE_SECONDS - (time.monotonic() - began)))

    def _take(self, message: str | bytes) -> None:
        """Answer a request, in its own time; what cannot be read, or comes too fast, is refused."""
        try:
            request = read_json(message)
        except ValueError:
            request = None
        if not isinstance(request, dict) or not isinstance(request.get("type"), str):
            self._answer(None, {"ok": False, "message": "a request is a JSON object with a type"})
            return
        number = request.get("id")
        number = number if isinstance(number, int) else None
        # A stop is never too much.
        if request["type"] != "stop" and not self._allowance.take():
            self._answer(number, {"ok": False, "message": "too many requests: wait a second"})
            return
        task = asyncio.ensure_future(self._handle(request))
        self._under_way.add(task)
        task.add_done_callback(lambda done: self._on_done(number, done))

    def _on_done(self, number: int | None, done: asyncio.Future[dict[str, Any]]) -> None:
        self._under_way.discard(done)
        if not done.cancelled():
            error = done.exception()
            self._answer(number, done.result() if error is None else _problem(error))

    def _answer(self, number: int | None, answer: dict[str, Any]) -> None:
        text = json.dumps({"type": "answer", "id": number, **answer}, allow_nan=False)
        task = asyncio.ensure_future(self._socket.send(text))
        self._under_way.add(task)
        task.add_done_callback(self._on_sent)

    def _on_sent(self, task: asyncio.Future[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # the page has gone: the loop over its messages ends by itself


def _problem(error: BaseException) -> dict[str, Any]:
    return {"ok": False, "message": str(error)[:2000] or repr(error)[:200]}


# The server of the page: files over HTTP and everything else over a WebSocket, in a thread of its
# own.
#
# The protocol is in docs/web.md. Requests are handled by whoever runs the server: live by the web
# node, in replay by the player; checking a mission as it is typed is done here, for both.


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
