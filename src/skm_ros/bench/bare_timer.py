"""How punctual the machine itself is: a thread that only sleeps, at a fixed rate."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

import numpy as np


class BareTimer:
    """Sleeps from one multiple of a period to the next while it is entered; notes how late it woke.

    What this shows beside a measurement in real time is not the doing of whatever was measured.
    """

    def __init__(self, rate: float) -> None:
        self._period = 1 / rate
        self._late: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bare timer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._over.is_set():
            due += self._period
            time.sleep(max(0.0, due - time.monotonic()))
            self._late.append(time.monotonic() - due)

    @property
    def late_ms(self) -> dict[str, float]:
        """By how many milliseconds it woke too late."""
        late = 1e3 * np.array(self._late or [0.0])
        median, p99, worst = np.percentile(late, [50, 99, 100]).round(3).tolist()
        return {"median": median, "p99": p99, "worst": worst}
