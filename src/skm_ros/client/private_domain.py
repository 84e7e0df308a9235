"""A ROS domain id that no other run of skm on this machine uses: for benchmarks and tests.

Systems on different domain ids never see each other, and what outlives their nodes (missions under way,
closed places) is kept apart, too: a benchmark that was killed leaves nothing to go on with. The ids are
handed out with file locks, which the kernel lets go of when their holder ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skm_machine.errors import SkmError
from skm_ros.middleware import NAMES, set_up_middleware

FIRST: Final = 100
LAST: Final = 200
_HELD: Final[set[int]] = set()
"""File descriptors of the locks that this process holds."""


@contextmanager
def private_domain_id() -> Iterator[int]:
    """Hold a domain id from `FIRST` to `LAST` that nobody else holds."""
    folder = _folder()
    folder.mkdir(exist_ok=True)
    count = LAST - FIRST + 1
    for offset in range(count):
        number = FIRST + (os.getpid() + offset) % count
        with (folder / f"{number}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(_state_home(number), ignore_errors=True)
            _HELD.add(lock.fileno())
            try:
                yield number
            finally:
                _HELD.discard(lock.fileno())
            return
    raise SkmError(f"all {count} ROS domain ids from {FIRST} to {LAST} are in use")


def private_environment(domain_id: int) -> dict[str, str]:
    """Return this process's environment for children on that domain id, seen on this machine only."""
    environment = {name: value for name, value in os.environ.items() if name not in NAMES}
    set_up_middleware(environment)
    return {
        **environment,
        "ROS_DOMAIN_ID": str(domain_id),
        "XDG_STATE_HOME": str(_state_home(domain_id)),
        "PYTHONUNBUFFERED": "1",
    }


def held_locks() -> tuple[int, ...]:
    """Return the locks for a child to inherit: an id is in use as long as anybody on it lives.

    Nodes that outlive a killed benchmark would else meet those of the next one on the same id.
    """
    return tuple(_HELD)


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"skm-domain-ids-{os.getuid()}"


def _state_home(number: int) -> Path:
    """Return where nodes on that domain id keep what outlives them; new for each holder of the id."""
    return _folder() / f"{number}.state"
