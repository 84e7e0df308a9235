"""A network that misbehaves before a server: a TCP proxy with delay, loss, and death."""

import asyncio
import random
import threading
from contextlib import suppress

RETRANSMISSION = 0.2
"""Seconds after which Linux sends a lost packet again, at the earliest; then twice as long each time."""


class FaultyNetwork:
    """Forwards to a port of this machine; `url` is where.

    `delay` is in seconds, each way. `loss` is the share of packets that get lost: TCP sends them again,
    so what is behind them waits, too. `cut` swallows everything and closes nothing: a network that is
    gone.
    """

    def __init__(self, port, seed=0):
        self._target = port
        self._random = random.Random(seed)
        self.delay, self.loss, self.cut = 0.0, 0.0, False
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def heal(self):
        """Be a good network again."""
        self.delay, self.loss, self.cut = 0.0, 0.0, False

    def _run(self):
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self):
        self._over, self._connections = asyncio.Event(), set()
        server = await asyncio.start_server(self._on_connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _on_connection(self, reader, writer):
        task = asyncio.current_task()
        self._connections.add(task)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
            try:
                await asyncio.gather(self._forward(reader, back), self._forward(there, writer))
            finally:
                back.close()
        except (OSError, asyncio.CancelledError):
            pass  # the server is not there: the browser is told so by the closed connection
        finally:
            self._connections.discard(task)
            writer.close()

    async def _forward(self, reader, writer):
        """Forward bytes in order, each packet when its time has come."""
        queue = asyncio.Queue()
        sender = asyncio.ensure_future(self._send(queue, writer))
        try:
            while data := await reader.read(1400):
                queue.put_nowait((self._loop.time() + self._held_up(), data))
        except OSError:
            pass
        finally:
            queue.put_nowait((self._loop.time() + self.delay, b""))
            with suppress(OSError):
                await sender

    def _held_up(self):
        lost, wait = 0.0, RETRANSMISSION
        while self._random.random() < self.loss:
            lost, wait = lost + wait, 2 * wait
        return self.delay + lost

    async def _send(self, queue, writer):
        while True:
            due, data = await queue.get()
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            if self.cut and data:
                continue
            if not data:
                with suppress(OSError):
                    writer.write_eof()
                return
            writer.write(data)
            await writer.drain()
