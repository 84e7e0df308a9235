"""One page: what it is sent, as fast as it can take it, and what it may ask for."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from websockets.asyncio.server import ServerConnection

from skm_machine.documents import read_json
from skm_web.hub import Hub, Seen

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
