"""Jobs in processes of this machine: a lost one is replaced, and its job done again."""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.workers.jobs import MOST_LOSSES, Done, Job, call

SHUTDOWN_GRACE: Final = 60.0
"""Seconds that workers have, after an interrupt, to save what they are at."""


class _Worker:
    """A process that does one job after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, far_end = context.Pipe()
        self.process = context.Process(target=_work, args=(far_end,), daemon=True)
        usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:  # It inherits that: Ctrl-C is for the parent, even while the worker still begins.
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        far_end.close()
        self.job: Job | None = None

    def begin(self, job: Job) -> None:
        self.job = job
        with suppress(OSError):  # It may be gone: that is noticed where results are awaited.
            self.pipe.send(job)


def run_in_processes(jobs: Sequence[Job], count: int, done: Done) -> None:
    """Do all jobs in `count` processes; an interrupt lets them save and end, and is passed on."""
    waiting, losses = deque(jobs), Counter[str]()
    workers = [_Worker() for _ in range(count)]
    try:
        while waiting or any(worker.job for worker in workers):
            for worker in workers:
                if worker.job is None and waiting:
                    worker.begin(waiting.popleft())
            ready = wait([worker.pipe for worker in workers if worker.job])
            for worker in [worker for worker in workers if worker.pipe in ready]:
                job = worker.job
                assert job is not None
                try:
                    result = worker.pipe.recv()
                except (EOFError, OSError):
                    losses[job.key] += 1
                    if losses[job.key] >= MOST_LOSSES:
                        raise SkmError(
                            f"'{job.key}' was lost with its worker process {MOST_LOSSES} times;"
                            " is there enough memory?"
                        ) from None
                    waiting.appendleft(job)
                    workers[workers.index(worker)] = _Worker()
                    continue
                worker.job = None
                if isinstance(result, BaseException):
                    raise result
                done(job, result)
    finally:
        _end(workers)


def _end(workers: Sequence[_Worker]) -> None:
    """End idle workers at once, busy ones as soon as they have saved, and those that do not by force."""
    for worker in workers:
        worker.pipe.close()
        if worker.job is not None:
            worker.process.terminate()
    for worker in workers:
        worker.process.join(SHUTDOWN_GRACE)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _work(pipe: Connection[Any, Job]) -> None:
    """Do jobs until there are no more. The parent hears Ctrl-C and says when to end (SIGTERM)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        result: Any
        try:
            result = call(job)
        except KeyboardInterrupt:  # It was told to end, and has saved what it was at.
            return
        except SkmError as error:
            result = SkmError(str(error))
        except Exception as error:
            error.add_note(f"in the job '{job.key}'")
            result = error
        try:
            pipe.send(result)
        except OSError:
            return
