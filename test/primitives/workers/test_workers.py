"""Jobs in processes: results, errors, lost workers and interrupts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skm_machine.errors import SkmError
from skm_primitives.workers import Job, check_workers, run_jobs, run_kept

HERE = "lost_jobs"


def done_by(jobs, workers):
    results = {}
    run_jobs(jobs, workers, lambda job, found: results.update({job.key: found}))
    return results


def test_a_job_whose_worker_is_killed_is_done_again(tmp_path):
    jobs = [Job(str(n), f"{HERE}:square", {"number": n}) for n in range(4)]
    marker = str(tmp_path / "died")
    jobs.insert(1, Job("lost", f"{HERE}:dies_once", {"number": 5, "marker": marker}))
    assert done_by(jobs, 2) == {"0": 0, "1": 1, "2": 4, "3": 9, "lost": 25}
    assert Path(marker).exists()


def test_a_job_that_kills_every_worker_is_given_up():
    jobs = [Job("fatal", f"{HERE}:dies"), Job("1", f"{HERE}:square", {"number": 1})]
    with pytest.raises(SkmError, match="'fatal' was lost with its worker process 3 times"):
        done_by(jobs, 2)


def test_an_error_of_a_job_is_an_error_here():
    jobs = [
        Job("bad", f"{HERE}:square", {"number": "x"}),
        Job("1", f"{HERE}:square", {"number": 1}),
    ]
    with pytest.raises(TypeError):
        done_by(jobs, 2)


def test_an_interrupt_ends_the_workers_too(tmp_path):
    marker = tmp_path / "pid"
    script = (
        "from skm_primitives.workers import Job, run_jobs\n"
        "if __name__ == '__main__':\n"
        f"    jobs = [Job(str(n), '{HERE}:waits', {{'marker': {str(marker)!r} + str(n)}})"
        " for n in range(2)]\n"
        "    run_jobs(jobs, 2, print)\n"
    )
    path = tmp_path / "script.py"
    path.write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "helpers")}
    begin = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    begin += "os.execv(sys.executable, [sys.executable, sys.argv[1]])"
    parent = subprocess.Popen(  # Who was started in the background is deaf to interrupts.
        [sys.executable, "-c", begin, str(path)], env=environment, stderr=subprocess.DEVNULL
    )
    markers = [Path(f"{marker}{number}") for number in range(2)]
    deadline = time.monotonic() + 60
    while not all(m.exists() and m.read_text() for m in markers) and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.send_signal(signal.SIGINT)
    parent.wait(60)
    for each in markers:
        with pytest.raises(ProcessLookupError):
            os.kill(int(each.read_text()), 0)


def test_what_is_kept_is_not_done_again_and_other_arguments_are_other_jobs(tmp_path):
    marker, keep = tmp_path / "calls", tmp_path / "kept"
    found = []
    for numbers in ([1], [1, 2], [3, 2]):
        jobs = [
            Job(f"job {n % 2}", f"{HERE}:counted", {"number": n, "marker": str(marker)})
            for n in numbers
        ]
        run_kept(jobs, 1, keep, lambda job, result: found.append(result))
    assert sorted(found) == [[1], [1], [2], [2], [3]]
    assert marker.read_text() == "1 2 3 "


def test_workers_are_a_number_or_a_cluster():
    assert check_workers("3") == 3
    assert check_workers("ray://head:10001") == "ray://head:10001"
    with pytest.raises(SkmError, match="not 'rya'"):
        check_workers("rya")
