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
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from skm_machine.documents import read_json
from skm_machine.errors import SkmError
from skm_primitives.execution.german import translated
from skm_web.hub import Hub, Seen

# Who may talk to the page's server: loopback, or a token; and no page from elsewhere, ever.
#
# A browser lets any page of the web open connections to this machine. So the Host must be an
# address of this server (a foreign name that resolves to it is refused), and a WebSocket must
# come from a page that this server has served (its Origin). Beyond the loopback everyone needs
# the token, which the first visit puts into a cookie that scripts cannot read and that other
# sites' requests do not carry.
#
# A port in the Host is not compared with the server's own: who reaches it by a forwarded port
# names that one. Nothing is lost, since a foreign site can make a browser send a name of its own,
# never the port of somebody else together with the Origin that belongs to it.


TOKEN_VARIABLE: Final = "SKM_WEB_TOKEN"
"""The environment variable with a token to use; a server that is started again keeps it so."""


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def token_for(host: str, public_url: str = "") -> str:
    """Return the token that a server on this address asks for; empty where only this machine sees it.

    A proxy opens a server on the loopback to all clients of the proxy: then it takes a token, too.
    """
    if is_loopback(host) and (not public_url or is_loopback(PublicAddress(public_url).name)):
        return ""
    return os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(18)


class PublicAddress:
    """The address that people type where a proxy stands before the server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise SkmError(
                f"'{url}' is not an address for --public-url: it is what people type, such as "
                "https://robot.example or https://robot.local:8443/skm/"
            )
        self.name = parts.hostname.lower()
        host = f"[{self.name}]" if ":" in self.name else self.name
        # As browsers write an origin: without the port that goes without saying.
        plain = port is None or port == {"http": 80, "https": 443}[parts.scheme]
        self.origin = f"{parts.scheme}://{host}" + ("" if plain else f":{port}")
        self.url = self.origin + parts.path.rstrip("/") + "/"
        self.is_encrypted = parts.scheme == "https"


class Gate:
    """Decides on requests by their headers."""

    def __init__(self, host: str, port: int, token: str = "", public_url: str = "") -> None:
        self._host = host
        self._token = token
        self.public = PublicAddress(public_url) if public_url else None
        self.port = port

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies of one host are shared by all of its ports."""
        return f"skm_{self.port}"

    def host_is_ours(self, host: str) -> bool:
        """Tell whether a request names this server by an address or a name of its own."""
        name = _name(host)
        if is_loopback(name) or name == self._host.lower():
            return True
        if self.public is not None and name == self.public.name:
            return True
        if is_loopback(self._host):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            own = socket.gethostname().lower().removesuffix(".local")
            return name in (own, f"{own}.local")  # the second by multicast DNS, in a local network
        return True

    def origin_is_ours(self, origin: str, host: str) -> bool:
        """Tell whether a WebSocket comes from a page that this server has served.

        Under https only by the public address: a page of the same host's port 443 has the same name.
        """
        if self.public is not None and origin.lower() == self.public.origin:
            return True
        return origin.lower() == f"http://{host.lower()}"

    def client(self, address: str, forwarded: str) -> str:
        """Return who asks: the address, or what the proxy on this machine says that it serves."""
        if self.public is not None and is_loopback(address):
            # The last entry is the proxy's own; those before are whatever the client has sent.
            return forwarded.rpartition(",")[2].strip() or address
        return address

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
        secure = "; Secure" if self.public is not None and self.public.is_encrypted else ""
        return f"{self.cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/{secure}"


def _name(host: str) -> str:
    """Return the name in a Host header, in small letters; an address without brackets."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "").lower() if parts.port is None or parts.port else ""
    except ValueError:
        return ""


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
    """Return type and content of every file by its name."""
    found = {}
    for file in files("skm_web").joinpath("static").iterdir():
        suffix = "." + file.name.rpartition(".")[2]
        if suffix in TYPES:
            found[file.name] = TYPES[suffix], file.read_bytes()
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

ALIVE: Final = "alive"
"""A page's sign of life: it says the time of the latest news that it has had, and is not answered."""

Handle = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
_STOPS: Final[set[asyncio.Future[Any]]] = set()
"""Stops under way, of all pages, also of those that are gone."""


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

    def __init__(
        self,
        socket: ServerConnection,
        hub: Hub,
        handle: Handle,
        on_alive: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._socket = socket
        self._hub = hub
        self._handle = handle
        self._on_alive = on_alive
        self._allowance = Allowance(MOST_REQUESTS)
        self._under_way: set[asyncio.Future[Any]] = set()
        self._image = 0

    async def run(self) -> None:
        """Serve the page until it goes."""
        feed = asyncio.create_task(self._feed())
        feed.add_done_callback(self._on_fed)
        try:
            async for message in self._socket:
                self._take(message)
        finally:
            feed.cancel()
            for task in self._under_way:
                task.cancel()

    def _on_fed(self, feed: asyncio.Future[None]) -> None:
        """Let a page go that cannot be fed any more: one that hears nothing shows the past."""
        if not feed.cancelled():
            feed.exception()
            task = asyncio.ensure_future(self._socket.close(1011, "the server has nothing to say"))
            self._under_way.add(task)
            task.add_done_callback(self._on_sent)

    async def close(self, code: int, reason: str) -> None:
        """End the connection, and say why."""
        await self._socket.close(code, reason)

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
        if request["type"] == ALIVE:
            heard = request.get("time")
            self._on_alive(float(heard) if isinstance(heard, int | float) else 0.0)
            return
        # A stop is exempt from the rate limit, and is carried out also when its page has disconnected:
        # an operator who loses the connection after pressing it still wants the robot to stop.
        is_stop = request["type"] == "stop"
        if not is_stop and not self._allowance.take():
            self._answer(number, {"ok": False, "message": "too many requests: wait a second"})
            return
        task = asyncio.ensure_future(self._handle(request))
        (_STOPS if is_stop else self._under_way).add(task)
        task.add_done_callback(lambda done: self._on_done(number, done))

    def _on_done(self, number: int | None, done: asyncio.Future[dict[str, Any]]) -> None:
        self._under_way.discard(done)
        _STOPS.discard(done)
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
# The protocol is in docs/how-to/web.md. Requests are handled by the server's owner: live by the web
# node, in replay by the player; checking a mission as it is typed is done here, for both.


SOCKET: Final = "socket"
MOST_PAGES: Final = 32
MOST_OF_ONE: Final = 8
"""Pages of one client. Its newest ones are kept: so a client that opens pages without end, or forgets
them, takes no slot from somebody who opens one to stop the robot."""
REPLACED: Final = 4008
"""The close code of a page that had to go for a newer one of the same client: it does not come back by
itself, since the two would replace each other forever."""
LATE_SECONDS: Final = 1.0
"""A sign of life that answers older news does not count: a stop would take as long. News come at least
every `HEARTBEAT_SECONDS`, so half a second is left for both ways."""
MOST_BYTES: Final = 64 * 1024
"""Of a request: the largest is a mission."""
START_SECONDS: Final = 10.0

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
READING: Final = frozenset(
    {"check", "machine", "play", "pause_replay", "seek", "speed"}
    | {"runs", "open_run", "compare_run", "verify_run"}
)
"""Requests that change nothing outside of the page."""


Download = Callable[[str], tuple[str, bytes] | None]
"""Returns type and content of a file that is made for a page, by its path; None if there is none."""


class Visit(Protocol):
    """What one page sees where each has something of its own."""

    hub: Hub

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of the page."""
        ...

    def close(self) -> None:
        """The page has gone."""
        ...


@dataclass(frozen=True)
class Application:
    """What is served below one path: its page, what it shows, who answers it, and its further files."""

    hub: Hub
    handler: Handler
    root: str = "index.html"
    downloads: Download | None = None
    visit: Callable[[], Visit] | None = None
    """Returns what a page that comes sees instead of the hub that all share."""


class PageServer:
    """Serves one hub, and others below it; use it in a `with` statement, or `start` and `stop` it."""

    def __init__(
        self,
        hub: Hub,
        handler: Handler,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        read_only: bool = False,
        source: str = "",
        public_url: str = "",
        root: str = "index.html",
        downloads: Download | None = None,
        visit: Callable[[], Visit] | None = None,
        below: Mapping[str, Application] | None = None,
    ) -> None:
        """`source` says what is shown; `public_url` the address before a proxy.

        `below` has further pages by the folder that they are in, such as `runs`.
        """
        main = Application(hub, handler, root, downloads, visit)
        folders = {f"/{name}/": application for name, application in (below or {}).items()}
        self._applications = {**folders, "/": main}
        self._hub = hub
        self._host = host
        self._wanted_port = port
        self._read_only = read_only
        self._source = source
        self._token = token_for(host, public_url)
        self._gate = Gate(host, port, self._token, public_url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="pages", daemon=True)
        self._started: threading.Event = threading.Event()
        self._error: Exception | None = None
        self._stopping: asyncio.Event
        self._open: list[tuple[str, PageConnection]] = []
        """The pages and whose they are, the oldest first."""
        self._alive_at = -1e9

    @property
    def pages(self) -> int:
        """How many are open."""
        return len(self._open)

    @property
    def watched(self) -> bool:
        """Whether somebody looks at a page now that hears the server, and is heard, without delay."""
        return time.monotonic() - self._alive_at < LATE_SECONDS

    @property
    def url(self) -> str:
        """Where the page is; with the token, if it takes one."""
        name = socket.gethostname() if self._host in ("0.0.0.0", "::", "") else self._host
        host = f"[{name}]" if ":" in name else name
        public = self._gate.public
        address = f"http://{host}:{self._gate.port}/" if public is None else public.url
        return f"{address}?token={self._token}" if self._token else address

    def start(self) -> None:
        """Begin to serve; an address that cannot be had is an error."""
        for application in self._applications.values():
            self._introduce(application.hub)
        self._thread.start()
        if not self._started.wait(START_SECONDS) or self._error is not None:
            reason = str(self._error or "it does not start").rstrip(".")
            raise SkmError(
                f"the page cannot be served on {self._host}, port {self._wanted_port}: "
                f"{reason}; another port is --port, any is 0"
            )

    def _introduce(self, hub: Hub) -> None:
        about = {"read_only": self._read_only, "source": self._source}
        hub.put("server", {**about, **(hub.value("server") or {})})

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
        folder, application = self._application(target.path)
        path = target.path.removeprefix(folder)
        if path == SOCKET:
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
            # Relative: a proxy may serve the page below a folder of its own.
            return response(HTTPStatus.SEE_OTHER, "", Location="./", Set_Cookie=cookie)
        made = None if application.downloads is None else application.downloads(unquote(path))
        if made is not None:
            return response(HTTPStatus.OK, made[1], made[0])
        kind, content = page_files().get(path or application.root, ("", b""))
        if not kind:
            return response(HTTPStatus.NOT_FOUND, "There is no such file.\n")
        return response(HTTPStatus.OK, content, kind)

    def _application(self, path: str) -> tuple[str, Application]:
        """Return what is served at a path, and the folder that it is in."""
        return next(entry for entry in self._applications.items() if path.startswith(entry[0]))

    async def _on_page(self, connection: ServerConnection) -> None:
        request = connection.request
        headers = Headers() if request is None else request.headers
        application = self._application("/" if request is None else urlsplit(request.path).path)[1]
        forwarded = ", ".join(headers.get_all("X-Forwarded-For"))
        client = self._gate.client(str((connection.remote_address or ("",))[0]), forwarded)
        hub, handler = application.hub, application.handler
        visit = None
        if application.visit is not None:
            visit = await asyncio.to_thread(application.visit)
            hub, handler = visit.hub, visit.handle
            self._introduce(hub)

        async def on_asked(request: dict[str, Any]) -> dict[str, Any]:
            if self._read_only and request["type"] not in READING:
                answer = {"ok": False, "message": "this page only shows: the server is read-only"}
            else:
                try:
                    answer = await handler(request)
                except SkmError as error:
                    answer = _problem(error)
            language, message = request.get("language"), answer.get("message")
            if language and isinstance(message, str):
                answer = {**answer, "message": translated(message, str(language))}
            return answer

        page = PageConnection(connection, hub, on_asked, self._on_alive)
        theirs = [opened for whose, opened in self._open if whose == client]
        self._open.append((client, page))
        if len(theirs) >= MOST_OF_ONE:
            oldest = theirs[0]
            self._open.remove((client, oldest))  # at once: its farewell may take a second
            closing = asyncio.ensure_future(oldest.close(REPLACED, "too many pages of one client"))
            closing.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            with suppress(ConnectionClosed):
                await page.run()
        finally:
            if (client, page) in self._open:
                self._open.remove((client, page))
            if visit is not None:
                visit.close()

    def _on_alive(self, heard: float) -> None:
        """Take a sign of life of a page that has heard the news of this time."""
        if abs(time.time() - heard) < LATE_SECONDS:
            self._alive_at = time.monotonic()
