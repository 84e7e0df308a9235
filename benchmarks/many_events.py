#!/usr/bin/env python3
"""Send events to a mission on a busy machine; count those acknowledged, and those that took effect.

    benchmarks/many_events.py --events 1000 --load 8

The real nodes run a patrol of the office, with a recorder; so many processes beside them compute and do
nothing else. A client sets events on and off, some at once, each by the service `set_event`; some are
set by a client of their own, which is started for one event, as `skm event` is. An event took effect if
the recording says that it was true, or false, in the state that the acknowledgement names, and
`skm verify` agrees with the recording. Ends with 1 unless all were acknowledged and took effect.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skm.srv import SetEvent

from skm_bench.processes import BenchSystem
from skm_cli.commands.verify import verify_missions
from skm_primitives.recording.files import read_recording, recorded_missions
from skm_ros import qos
from skm_ros.client.events import set_event
from skm_ros.client.mission_goal import MissionGoal, MissionRequest
from skm_ros.client.ros_client import RosClient

NAMES = ("call", "alarm", "low_battery")
MISSION = "G F A & G F B & G(call -> F coffee)"
PATIENCE_SECONDS = 60.0


def main() -> int:
    """Send, count, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--load", type=int, default=8, help="busy processes (default: 8)")
    parser.add_argument("--together", type=int, default=10, help="at once (default: 10)")
    parser.add_argument(
        "--alone", type=int, default=20, help="of them by clients of their own (default: 20)"
    )
    # In lock-step a starved recorder may miss states: the middleware keeps the latest 50.
    parser.add_argument("--mode", choices=("realtime", "lockstep"), default="realtime")
    parser.add_argument("--rate", type=float, default=20.0, help="in real time (default: 20)")
    args = parser.parse_args()
    burners = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(args.load)]
    with tempfile.TemporaryDirectory() as folder:
        for burner in burners:
            burner.start()
        try:
            sent, load = _send_all(args, Path(folder))
        finally:
            for burner in burners:
                burner.kill()
        print(json.dumps(found := _count(sent, Path(folder)) | {"load": load}, indent=1))
    whole = found["acknowledged"] == found["effective"] == args.events
    return 0 if whole and not found["disagreements"] else 1


def _burn() -> None:
    while True:
        pass


def _send_all(args: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], float]:
    """Return what was asked for with what was answered, and the load of the machine meanwhile."""
    arguments = {"mode": args.mode, "events": ",".join(NAMES), "record": str(folder)}
    patience = {"machine": {"resume_after": PATIENCE_SECONDS, "peer_timeout": PATIENCE_SECONDS}}
    with BenchSystem("office", args.rate, 0, parameters=patience, arguments=arguments) as system:
        client, rng = system.client, random.Random(0)
        goal = MissionGoal(client, MissionRequest(MISSION, max_steps=2**32 - 1).goal())
        goal.wait_ready(PATIENCE_SECONDS)
        goal.send(PATIENCE_SECONDS)
        service = client.node.create_client(SetEvent, "set_event", qos_profile=qos.REQUESTS)
        system.until(service.service_is_ready, PATIENCE_SECONDS, "the service")
        plan = [(rng.choice(NAMES), rng.random() < 0.5) for _ in range(args.events)]
        sent: list[dict[str, Any]] = []
        domain_id = client.node.context.get_domain_id()
        for name, value in plan[: args.alone]:
            with RosClient(domain_id=domain_id) as other:
                sent.append(set_event(other, name, value, PATIENCE_SECONDS))
            client.take_what_is_there()
        _send_together(system.until, service, plan[args.alone :], args.together, sent)
        system.check_running()
        load = os.getloadavg()[0]
        goal.cancel()
        system.until(lambda: goal.done, PATIENCE_SECONDS, "the mission's end")
        system.until(lambda: bool(_ended(folder)), PATIENCE_SECONDS, "the recording")
    return sent, load


def _send_together(
    until: Callable[[Callable[[], bool], float, str], None],
    service: Any,  # noqa: ANN401 - a client of rclpy
    plan: list[tuple[str, bool]],
    together: int,
    sent: list[dict[str, Any]],
) -> None:
    """Send the next whenever fewer than so many wait; a request without an answer is not sent again."""
    waiting: list[Any] = []

    def take() -> bool:
        for entry, future in [pair for pair in waiting if pair[1].done()]:
            waiting.remove((entry, future))
            answer = future.result()
            entry |= {"effective": answer.success, "reason": answer.message}
            entry |= {name: getattr(answer, name) for name in ("session", "episode", "step")}
            entry["seconds"] = time.monotonic() - entry.pop("at")
        return len(waiting) < together

    for name, value in plan:
        until(take, PATIENCE_SECONDS, "an answer")
        entry: dict[str, Any] = {"event": name, "value": value, "at": time.monotonic()}
        request = SetEvent.Request(name=name, value=value)
        waiting.append((entry, service.call_async(request)))
        sent.append(entry)
    until(lambda: take() and not waiting, PATIENCE_SECONDS, "the last answers")


def _ended(folder: Path) -> list[Path]:
    files = [read_recording(path, recover=True) for path in folder.glob("*.mcap")]
    return [file.path for file in files if file.complete and "skm.outcome" in file.metadata]


def _count(sent: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*.mcap")
    (mission,) = recorded_missions(read_recording(path))
    labels = {state.key: state.labels for state in mission.states}
    acknowledged = [entry for entry in sent if entry.get("effective")]
    effective = [
        entry
        for entry in acknowledged
        if (key := (entry["session"], entry["episode"], entry["step"])) in labels
        and (entry["event"] in labels[key]) == entry["value"]
    ]
    waits = sorted(entry["seconds"] for entry in sent if "seconds" in entry)
    judged = verify_missions(path, None, recover=False)
    return {
        "sent": len(sent),
        "acknowledged": len(acknowledged),
        "effective": len(effective),
        "steps of the mission": len(mission.states) - 1,
        "median milliseconds to the answer": round(1e3 * waits[len(waits) // 2], 1),
        "most milliseconds to the answer": round(1e3 * waits[-1], 1),
        "disagreements": [str(one) for found in judged for one in found.disagreements],
    }


if __name__ == "__main__":
    raise SystemExit(main())
