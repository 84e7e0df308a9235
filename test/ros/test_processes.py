"""Children with a common end: no interrupt is lost, none hangs, and no output holds them up."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from skm_ros.client import private_domain
from skm_ros.processes import Processes

AT_EVERY_LINE = """
import faulthandler, signal, sys

from skm_ros.processes import Processes

faulthandler.dump_traceback_later(20, exit=True)  # hangs: says where, with exit code 1
number, left = 0, 0

def on_line(frame, event, _):
    global left
    if event == "line":
        left -= 1
        if left == 0:
            signal.raise_signal(signal.SIGTERM)
    return on_line

def wait():
    with Processes({}) as processes:
        sys.settrace(on_line)
        processes.wait(lambda: True)

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what comes after the wait
while left <= 0:  # until a wait has fewer lines
    number += 1
    left = number
    wait()
    sys.settrace(None)
print(number, "lines")
"""


def test_an_interrupt_at_any_line_of_a_wait_hangs_nothing():
    """A handler that asks for a lock of the wait would wait for itself: `skm up` hung so, deaf."""
    found = subprocess.run(
        [sys.executable, "-c", AT_EVERY_LINE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout.split()[-2]) > 5


def test_a_child_is_deaf_to_ctrl_c_until_it_listens_and_the_parent_never_is():
    """To start one changes nothing in how this process takes signals, not even for a moment."""
    with Processes() as processes:
        before = signal.getsignal(signal.SIGINT)
        seen = []
        sys.setprofile(lambda *_: seen.append(signal.getsignal(signal.SIGINT)))
        try:
            child = processes.start("child", [sys.executable, "-c", LISTENS])
        finally:
            sys.setprofile(None)
        assert set(seen) == {before}
        deadline = time.monotonic() + 30
        program = Path(f"/proc/{child.process.pid}/exe")
        while program.resolve() != Path(sys.executable).resolve():
            assert time.monotonic() < deadline
        while not child.last_lines and time.monotonic() < deadline:  # at first it does not listen
            child.process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        child.process.wait(30)
    assert (list(child.last_lines), child.exit_code) == (["heard it"], 7)


LISTENS = """
import signal, sys, time

def hear(*_):
    print("heard it", flush=True)
    sys.exit(7)

signal.signal(signal.SIGINT, hear)
while True:
    time.sleep(0.05)
"""


def test_output_that_cannot_be_printed_holds_up_no_child(monkeypatch):
    """A child whose output nobody reads any more would stop at a full pipe: a robot's node, too."""
    lines = 20_000  # more than a pipe holds
    full = Path("/dev/full").open("w")  # noqa: SIM115 - it cannot even be closed
    with Processes() as processes:
        monkeypatch.setattr(sys, "stderr", full)
        command = [sys.executable, "-c", f"for n in range({lines}): print('line', n)"]
        child = processes.start("child", command)
        child.process.wait(60)
        child.join()
        assert child.last_lines[-1] == f"line {lines - 1}"
        monkeypatch.undo()
    with suppress(OSError):
        full.close()


KILLED_WITH_A_CHILD = """
import os, signal, sys

from skm_bench.captured_process import CapturedProcess
from skm_ros.client.private_domain import private_domain_id

with private_domain_id() as number:
    child = CapturedProcess([sys.executable, "-c", "input()"], os.environ)
    print(number, child.pid, flush=True)
    input()
"""


def test_a_domain_id_is_in_use_as_long_as_a_node_on_it_lives():
    """What a killed run leaves behind would else meet the nodes of the next one."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", KILLED_WITH_A_CHILD], stdin=pipe, stdout=pipe, text=True
    ) as run:
        number, child = (int(word) for word in run.stdout.readline().split())
        os.kill(child, signal.SIGSTOP)  # it would end with its input
        run.kill()
        run.wait()
    lock = private_domain._folder() / f"{number}.lock"
    try:
        with lock.open("w") as again, pytest.raises(BlockingIOError):
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(child, signal.SIGKILL)
    with lock.open("w") as again:
        fcntl.flock(again, fcntl.LOCK_EX)  # waits until the child has gone
