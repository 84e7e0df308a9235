#!/usr/bin/env python3
"""Kill the recorder with SIGKILL, again and again, at a high rate, and see what its files have lost.

    benchmarks/recorder_kills.py FOLDER --kills 20 --rate 50

A patrol of the point robot runs through the real nodes. Each time the recorder is started, a mission is
sent, the recorder is killed at a moment drawn at random, and its file is repaired and verified. What it
should have had is what another subscriber was sent until then. The last one lives for half a minute:
its CPU time is what recording costs.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from skm.msg import Labels

from skm_cli.commands.verify import verify_file
from skm_primitives.recording.files import read_recording
from skm_ros import qos
from skm_ros.client.mission_goal import MissionGoal, MissionRequest
from skm_ros.client.private_domain import private_domain_id, private_environment
from skm_ros.client.ros_client import RosClient

MISSION = "G F button & G F region"
COST_SECONDS = 30.0


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process's threads have taken, by the scheduler's own clock.

    The kernel's ticks of 10 ms are too coarse for what wakes for microseconds.
    """
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def main() -> int:
    """Kill, repair, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--mission", default=MISSION, help="without end (default: %(default)s)")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    rng, rows = random.Random(0), []
    with private_domain_id() as number:
        environment = private_environment(number)
        command = [sys.executable, "-m", "skm_cli.main", "up", "safety", "--rate", str(args.rate)]
        command += ["--resume-after", "60", "--render", "none"]
        with (
            subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as system,
            RosClient(domain_id=number) as client,
        ):
            reports: list[str] = []
            heard: list[tuple[int, tuple[int, int, int]]] = []

            def on_labels(message: Labels, info: dict[str, int]) -> None:
                key = int(message.session), int(message.episode), int(message.step)
                heard.append((int(info["source_timestamp"]), key))

            def on_report(message: DiagnosticArray) -> None:
                reports.extend(s.name for s in message.status if s.name == "/skm/recorder")

            client.node.create_subscription(Labels, "labels", on_labels, qos.STATE)
            topic, profile = qos.DIAGNOSTICS_TOPIC, qos.DIAGNOSTICS
            client.node.create_subscription(DiagnosticArray, topic, on_report, profile)
            try:
                for kill in range(args.kills):
                    last = kill == args.kills - 1
                    seconds = COST_SECONDS if last else rng.uniform(3.0, 6.0)
                    folder = args.folder / f"kill_{kill}"
                    rows.append(
                        _one(client, environment, args.mission, folder, seconds, heard, reports)
                    )
                    print(json.dumps(rows[-1]), flush=True)
            finally:
                system.send_signal(signal.SIGINT)
                system.wait()
    print(
        json.dumps(
            {
                "kills": len(rows),
                "most missing": max(row["missing"] for row in rows),
                "all verify": all(row["result"] == "incomplete" for row in rows),
                "cpu share of a core": rows[-1]["cpu"] / rows[-1]["seconds"],
            }
        )
    )
    return 0


def _one(
    client: RosClient,
    environment: dict[str, str],
    mission: str,
    folder: Path,
    seconds: float,
    heard: list[tuple[int, tuple[int, int, int]]],
    reports: list[str],
) -> dict[str, object]:
    parameters = ["--ros-args", "-r", "__ns:=/skm", "-p", f"folder:={folder}"]
    command = [sys.executable, "-m", "skm_ros.nodes.recorder_node", *parameters]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as recorder:
        reports.clear()
        client.spin_until(lambda: len(reports) > 2, 180)  # it has been up for two seconds
        goal = MissionGoal(client, MissionRequest(mission, reset=True).goal())
        goal.wait_ready(120)
        heard.clear()
        goal.send(60)
        client.spin_until(lambda: len(list(folder.glob("*.mcap"))) > 0, 120)
        began, cpu = time.monotonic(), cpu_seconds(recorder.pid)
        client.spin_until(lambda: False, seconds)
        cpu, seconds = cpu_seconds(recorder.pid) - cpu, time.monotonic() - began
        recorder.kill()
        killed = time.time_ns()
        recorder.wait()
    goal.cancel()
    client.spin_until(lambda: goal.done, 60)
    goal.close()
    path = max(folder.glob("*.mcap"), key=lambda file: file.stat().st_mtime)
    file = read_recording(path, recover=True)
    there = {(m.value.session, m.value.episode, m.value.step) for m in file.messages("labels")}
    first = min(m.publish_time for m in file.messages("labels"))
    sent = {key for when, key in heard if first < when < killed}
    found = verify_file(path, None, recover=True)
    return {
        "messages": len(file.recorded),
        "states sent": len(sent),
        "missing": len(sent - there),
        "result": found.result,
        "steps": found.steps,
        "disagreements": [wrong.text for wrong in found.disagreements],
        "cpu": round(cpu, 3),
        "seconds": round(seconds, 3),
    }


if __name__ == "__main__":
    sys.exit(main())
