"""An end that is sure to come: the process exits in time even where the middleware hangs in C.

The middleware has been seen, rarely and on a busy machine, never to return from taking its entities
down, perhaps with Python's lock. So the one who ends the process must not need Python: a timer of POSIX,
whose thread calls `_exit`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

CLOCK_MONOTONIC = 1
SIGEV_THREAD = 2


class _Event(ctypes.Structure):
    """`struct sigevent`, of a timer that calls a function."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_char * 32),
    )


class _Times(ctypes.Structure):
    """`struct itimerspec`: interval and first time, in seconds and nanoseconds."""

    _fields_ = (("numbers", ctypes.c_long * 4),)


def exit_after(seconds: float, code: int) -> Callable[[], object]:
    """Exit with that code when the time is up, whatever goes on; what is returned calls it off."""
    libc = ctypes.CDLL(None)
    function = ctypes.cast(libc._exit, ctypes.c_void_p)
    event = _Event(value=code, notify=SIGEV_THREAD, function=function)
    timer = ctypes.c_void_p()
    whole, rest = divmod(seconds, 1)
    times = _Times((ctypes.c_long * 4)(0, 0, int(whole), int(rest * 1e9)))
    if libc.timer_create(CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) != 0:
        return lambda: None
    libc.timer_settime(timer, 0, ctypes.byref(times), None)
    return lambda: libc.timer_delete(timer)
