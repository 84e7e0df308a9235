"""Jobs for the tests of workers: some end the process that does them."""

import os
import signal
import time
from pathlib import Path


def square(number: int) -> int:
    return number * number


def dies_once(number: int, marker: str) -> int:
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def counted(number: int, marker: str) -> list[int]:
    """Return a result that is no array and no document; each call leaves a mark."""
    with Path(marker).open("a") as file:
        file.write(f"{number} ")
    return [number]


def waits(marker: str) -> None:
    Path(marker).write_text(str(os.getpid()))
    time.sleep(600)
