"""A flag for signal handlers to set, and for the main thread to wait for."""

from __future__ import annotations

import time
from typing import Final

POLL_SECONDS: Final = 0.1


class InterruptFlag:
    """Whether an interrupt has come. Any handler may set it, whatever the main thread is doing.

    It takes no lock, unlike `threading.Event`: a handler runs in the main thread, between two lines of
    it. One that sets an event while that thread is inside of the event's `wait` waits for a lock that
    its own thread holds: forever, and deaf to all further signals.
    """

    def __init__(self) -> None:
        self._made = False

    def set(self) -> None:
        """Note an interrupt."""
        self._made = True

    def is_set(self) -> bool:
        """Tell whether there was one."""
        return self._made

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for one, for so long at most; tell whether there was one."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._made:
            left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(left, POLL_SECONDS))
        return self._made
