#!/usr/bin/env python3
"""Record many runs, verify them, mutate them, and see whether every mutation is caught and nothing else.

    benchmarks/recordings.py make FOLDER --runs 100   in process, over all domains, finite and recurring
    benchmarks/recordings.py ros FOLDER --runs 100   through the nodes (`skm up … --record`)
    benchmarks/recordings.py judge FOLDER --mutations 200

A label is flipped where it matters (where the machine then goes elsewhere), a step is left out or
doubled, the mission is changed, an action is added after the stop, the tail is cut off.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from mutations import KINDS, is_caught, mutate
from skm_cli.commands.verify import verify_file
from skm_machine.errors import SkmError
from skm_primitives.recording.files import read_recording

if TYPE_CHECKING:
    from skm_ros.client.ros_client import RosClient

MISSIONS = {
    "office": (
        "F(coffee & X F office) & G !decoration",
        "F mail & F coffee",
        "G F A & G F C & G !decoration",
        "F(A & X F(B & X F(C & X F D))) & G !decoration",
        "F(coffee & X F mail)",
        "G(battery_low -> F office) & G F A & G F B",
    ),
    "office_absorbing": ("F(coffee & X F office) & G !decoration", "F mail", "F A & F B"),
    "safety": (
        "F(button & X F cylinder) & G !region",
        "F cylinder",
        "G F button & G F region",
        "F(button & X F region)",
    ),
    "moving_targets": (
        "F(blue & square)",
        "G F(purple & circle) & G F blue",
        "F(square & X F circle) & G !beige",
    ),
    "zones": (
        "F(green & X F yellow) & G !blue",
        "F blue",
        "G F green & G F yellow",
    ),
    "hall": (
        "F(coffee & X F office) & G !wet_floor",
        "G F coffee & G F office",
        "F office",
    ),
}
EVENTS = {"battery_low": "battery_low@10-30"}


def make(folder: Path, runs: int, first: int) -> None:
    """Record runs in process; a file each."""
    from skm_cli.main import main  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    hall = folder / "hall"
    if not hall.exists():
        main(["map", "--example", "--no-picture", "--out", str(hall)])
    cases = [(domain, text) for domain, texts in MISSIONS.items() for text in texts]
    for number in range(first, first + runs):
        domain, text = cases[number % len(cases)]
        path = folder / f"process_{number:03d}_{domain}.mcap"
        if path.exists():
            continue
        events = [script for name, script in EVENTS.items() if name in text]
        steps = random.Random(number).choice((3, 40, 120, 300))
        place = str(hall) if domain == "hall" else domain
        command = ["run", place, text, "--seed", str(number), "--max-steps", str(steps)]
        command += ["--events", events[0]] if events else []
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123
            before, sys.stdout = sys.stdout, nowhere
            try:
                code = main([*command, "--record", str(path)])
            finally:
                sys.stdout = before
        print(path.name, code, flush=True)


def ros(folder: Path, runs: int) -> None:
    """Record runs through nodes: one system a domain, missions one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    from skm_ros.client.private_domain import private_domain_id, private_environment  # noqa: PLC0415
    from skm_ros.client.ros_client import RosClient  # noqa: PLC0415

    domains = [name for name in MISSIONS if name != "hall"] + ["hall"]
    for domain in domains:
        done = len(list(folder.glob(f"{domain}_*/*.mcap")))
        wanted = runs // len(domains)
        if done >= wanted:
            continue
        place = str(folder / "hall") if domain == "hall" else domain
        if domain == "hall" and not (folder / "hall").exists():
            example = ["map", "--example", "--no-picture", "--out", place]
            subprocess.run([sys.executable, "-m", "skm_cli.main", *example], check=True)
        with private_domain_id() as number:
            environment = private_environment(number)
            up = [sys.executable, "-m", "skm_cli.main", "up", "office", "--domain", place]
            up += ["--mode", "lockstep" if domain != "safety" else "realtime", "--rate", "20"]
            up += ["--render", "markers", "--render-rate", "0", "--events", "battery_low"]
            records = folder / f"{domain}_{int(time.time())}"
            up += ["--record", str(records)]
            with subprocess.Popen(up, env=environment, stderr=subprocess.DEVNULL) as system:
                try:
                    with RosClient(domain_id=number) as client:
                        for index in range(done, wanted):
                            text = MISSIONS[domain][index % len(MISSIONS[domain])]
                            send(client, text, index, random.Random(index).choice((3, 40, 120)))
                        wait_closed(client, records)
                finally:
                    system.send_signal(signal.SIGINT)
                    system.wait()


def wait_closed(client: RosClient, folder: Path) -> None:
    """Wait until the recorder, which goes on for a little while, has ended all its files."""

    def closed() -> bool:
        try:
            return all(read_recording(path).complete for path in folder.glob("*.mcap"))
        except SkmError:
            return False

    client.spin_until(closed, 60)


def send(client: RosClient, text: str, seed: int, steps: int) -> None:
    """Run one mission on a system that is up."""
    from skm_ros.client.mission_goal import MissionGoal, MissionRequest  # noqa: PLC0415

    goal = MissionGoal(client, MissionRequest(text, seed=seed, max_steps=steps).goal())
    goal.wait_ready(180)
    goal.send(60)
    client.spin_until(lambda: goal.done, 300)
    print(text, seed, goal.result.outcome, goal.result.steps, flush=True)
    goal.close()


def judge(folder: Path, mutations: int) -> int:
    """Verify all recordings of a folder, then mutations of them; return how much went wrong."""
    files = sorted(folder.rglob("*.mcap"))
    wrong, results, outcomes = 0, Counter[str](), Counter[str]()
    for path in files:
        found = verify_file(path, None, recover=False)
        results[found.result] += 1
        outcomes[found.recorded] += 1
        if found.disagreements or found.missing:
            wrong += 1
            print("FALSE ALARM", path, [vars(d) for d in found.disagreements], found.missing)
    made, caught, number = Counter[str](), Counter[str](), 0
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "mutated.mcap"
        while sum(made.values()) < mutations and number < 20 * mutations:
            kind, path = KINDS[number % len(KINDS)], files[(7 * number) % len(files)]
            number += 1
            if not mutate(path, kind, number, target):
                continue
            made[kind] += 1
            found, what = is_caught(target)
            caught[kind] += found
            if not found:
                wrong += 1
                kept = folder / f"missed_{number}.mutated"
                target.replace(kept)
                print("MISSED", kind, path, kept, what)
    document = {
        "recordings": len(files),
        "results": results,
        "outcomes": outcomes,
        "mutations": {kind: f"{caught[kind]} of {made[kind]} caught" for kind in KINDS},
        "wrong": wrong,
    }
    print(json.dumps(document, indent=2))
    return wrong


def main() -> int:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("make", "ros", "judge"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--mutations", type=int, default=200)
    args = parser.parse_args()
    if args.what == "make":
        make(args.folder, args.runs, args.first)
    elif args.what == "ros":
        ros(args.folder, args.runs)
    else:
        return 1 if judge(args.folder, args.mutations) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
