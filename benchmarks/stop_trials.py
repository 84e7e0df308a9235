"""STOP on the page under faults, many times: the robot comes to rest, or an alarm says that it did not.

    python benchmarks/stop_trials.py --trials 200

Runs the office with its page, a real Chromium, and a network that misbehaves between them
(test/ros/stop_trials.py describes a trial), the kinds of fault in turn, by Escape on one
page and by touch on that of a phone. Prints a line for each trial and
a table; exits with 1 if one of them failed. Takes about 6 s a trial.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "test" / "helpers"), str(ROOT / "test" / "ros")]

from office_page import Office  # noqa: E402 - after the path of the tests

from browser import chromium, page_at  # noqa: E402
from faulty_network import FaultyNetwork  # noqa: E402
from skm_ros.client.private_domain import private_domain_id  # noqa: E402
from stop_trials import StopTrials, Trial  # noqa: E402

PHONE = {"viewport": {"width": 390, "height": 840}, "has_touch": True, "is_mobile": True}


def main() -> int:
    """Run the trials and print what they have shown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found: list[Trial] = []
    with private_domain_id() as number:
        office = Office(number)
        try:
            office.wait_ready()
            with (
                FaultyNetwork(office.port, args.seed) as network,
                chromium() as browser,
                page_at(browser, network.url) as page,
                page_at(browser, network.url, **PHONE) as phone,
            ):
                trials = StopTrials(office, network, page, args.seed, phone)
                trials.begin()
                for turn in range(args.trials):
                    began = time.monotonic()
                    whose = ("desk", "phone")[turn % 2]
                    trial = trials.run(StopTrials.KINDS[turn % len(StopTrials.KINDS)], whose)
                    found.append(trial)
                    print(f"{turn + 1:4} {time.monotonic() - began:5.1f} s  {trial}", flush=True)
        finally:
            office.discard()
    for kind in StopTrials.KINDS:
        mine = [trial for trial in found if trial.kind == kind]
        alarms = [trial.alarm_after for trial in mine if trial.alarm_after is not None]
        worst = (
            f"alarm after {statistics.median(alarms):.3f} s, at most {max(alarms):.3f} s"
            if alarms
            else ""
        )
        passed = sum(trial.passed for trial in mine)
        print(f"{kind:14} {passed} of {len(mine)} passed; {len(alarms)} alarms; {worst}")
    return int(not all(trial.passed for trial in found))


if __name__ == "__main__":
    sys.exit(main())
