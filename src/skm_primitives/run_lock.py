"""One run at a time for a checkpoint: two trainings with the same `--out` would undo each other."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skm_primitives.checkpoint import CheckpointError


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the lock of a checkpoint, in a file beside it; whoever comes second is refused.

    The kernel lets go of it when the process ends, however that happens, so no lock is left behind.
    """
    path = out.with_name(f"{out.stem}.lock")
    descriptor = _acquire(path, out)
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, out: Path) -> int:
    """Return the locked file; one that its owner has just removed is taken anew."""
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise CheckpointError(
                f"another run (process {owner or 'unknown'}) is writing {out}; wait for its end, or"
                " train into another file with --out."
            ) from None
        if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
        os.close(descriptor)
