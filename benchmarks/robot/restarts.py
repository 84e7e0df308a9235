#!/usr/bin/env python3
"""Kill nodes at random moments of missions, start them again; judge by the recordings what became of it.

    benchmarks/robot/restarts.py --trials 100 --realtime 12 --robot 8

Half of the trials are a tour of twelve stations in the office, half a patrol with an event that comes
and goes; in each, machine, primitives, the robot's side or all three are killed (SIGKILL) once, after a
random number of steps, and started again. The robot's side is the simulator; in `--robot` of the trials
it is the bridge, which drives the Car through a room. A mission has gone on if
it comes to its end, `skm verify` agrees with its one recording, and the machine's moves are one unbroken
sequence: nothing twice, nothing skipped. Lock-step is the fast clock; `--realtime` of the trials run at
50 steps a second, and those on the robot at its own pace. Prints a line a trial, and ends with 1 unless
all have gone on.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import yaml
from PIL import Image
from skm.action import ExecuteMission

from skm_bench.captured_process import CapturedProcess
from skm_machine.errors import SkmError
from skm_primitives.planning.map_domains import make_map_domain
from skm_primitives.recording.files import read_recording, recorded_missions
from skm_primitives.recording.verification import verify_mission
from skm_ros.client.events import set_event
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.monitoring import Heard
from skm_ros.client.private_domain import private_domain_id, private_environment
from skm_ros.client.ros_client import RosClient

Result = ExecuteMission.Result
STATIONS = ("A", "D", "B", "mail", "A", "C", "coffee", "office", "A", "B", "C", "D")
PATROL = "G F A & G F C & G(call -> F coffee) & G !decoration"
PATIENCE_SECONDS = 240.0


def tour(stations: Sequence[str]) -> str:
    """Return the mission to go to all stations in turn."""
    text = f"F {stations[-1]}"
    for station in reversed(stations[:-1]):
        text = f"F({station} & X {text})"
    return text


@dataclass(frozen=True)
class Kind:
    """What is run, and what is killed."""

    name: str
    tour: str
    patrol: str
    patrol_steps: int
    killed: tuple[str, ...]
    """The nodes that are killed; others go on."""

    def parameters(self, folder: Path) -> dict[str, dict[str, object]]:
        """Return the nodes with their parameters."""
        kept = {"resume": "always", "state_folder": folder / "state", "events": "call"}
        common = {"machine": kept, "recorder": {"folder": folder / "runs"}}
        if self.name == "robot":
            room = folder / "room"
            make_room(room)
            driven = {"domain": room, "turn": 3.0, "axle": 0.1}
            car = {"domain": room, "start": "1.5 1.5 0.0", "rate": 20.0}
            return {"car": car, "bridge": driven, "primitives": {"domain": room}, **common}
        mode = {"mode": "realtime", "rate": 50.0} if self.name == "real time" else {}
        return {"sim": {"seed": 3, **mode}, "primitives": {}, **common}


SIDE = 3.0
"""Metres of the room: a robot needs a minute and a half for twelve stations in it."""


def make_room(folder: Path) -> None:
    """Make a domain of a room with a station in each corner."""
    near, far = 0.75, SIDE - 0.75
    corners = {"A": (near, near), "B": (far, near), "C": (far, far), "D": (near, far)}
    places = {name: [{"circle": [x, y, 0.35]}] for name, (x, y) in corners.items()}
    pixels = np.full((60, 60), 255, np.uint8)
    pixels[[0, -1], :] = pixels[:, [0, -1]] = 0
    folder.parent.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(folder.parent / "room.png")
    about = {"image": "room.png", "resolution": SIDE / 60, "origin": [0, 0, 0], "negate": 0}
    about |= {"occupied_thresh": 0.65, "free_thresh": 0.25}
    (folder.parent / "room.yaml").write_text(yaml.safe_dump(about))
    given = {"places": places, "robot": {"radius": 0.22, "speed": 0.4}, "cell": 0.25}
    (folder.parent / "room.places.yaml").write_text(yaml.safe_dump(given))
    files = folder.parent / "room.yaml", folder.parent / "room.places.yaml"
    make_map_domain(*files, folder, picture=False)


OFFICE = (
    f"{tour(STATIONS)} & G !decoration",
    "G F A & G F C & G(call -> F coffee) & G !decoration",
    400,
    ("sim", "primitives", "machine"),
)
KINDS = (
    Kind("lock-step", *OFFICE),
    Kind("real time", *OFFICE),
    Kind(
        "robot",
        tour("ABCD" * 3),
        "G F A & G F C & G(call -> F B)",
        120,
        ("bridge", "primitives", "machine"),
    ),
)


class System:
    """The nodes in processes of their own, and what they leave behind."""

    def __init__(self, domain_id: int, folder: Path, kind: Kind) -> None:
        self._domain_id, self.runs, self.kind = domain_id, folder / "runs", kind
        self._parameters = kind.parameters(folder)
        self._processes: dict[str, CapturedProcess] = {}
        for name in self._parameters:
            self.start(name)

    def start(self, name: str) -> None:
        """Start a node."""
        command = [
            sys.executable,
            "-m",
            f"skm_ros.nodes.{name}_node",
            "--ros-args",
            "-r",
            "__ns:=/skm",
        ]
        for key, value in self._parameters[name].items():
            command += ["-p", f"{key}:={value}"]
        self._processes[name] = CapturedProcess(command, private_environment(self._domain_id))

    def kill(self, name: str) -> None:
        """End a node with no chance to say goodbye."""
        process = self._processes.pop(name)
        process.signal_group(signal.SIGKILL)
        process.stop()

    def close(self) -> None:
        """End all of it."""
        for process in self._processes.values():
            process.stop()


def recorder_listens(client: RosClient) -> bool:
    """Tell whether the recorder hears all that it needs; the machine listens to some of it, too."""
    count = client.node.count_subscribers
    return bool(count("/skm/mission_log") > 0 and count("/skm/labels") > 1)


def trial(
    system: System, client: RosClient, heard: Heard, draw: random.Random, *, patrol: bool
) -> str:
    """Run one mission with one kill; return what went wrong, else nothing."""
    kind = system.kind
    goal = ExecuteMission.Goal(mission=kind.patrol if patrol else kind.tour)
    goal.max_steps = kind.patrol_steps if patrol else 0
    mission = MissionGoal(client, goal)
    mission.wait_ready(PATIENCE_SECONDS)
    mission.send(PATIENCE_SECONDS)
    when = draw.randrange(1, 60 if kind.name == "robot" else 100)
    victims = draw.choice([*((name,) for name in kind.killed), kind.killed])

    def steps() -> int:
        state = heard.machine
        own = state is not None and bytes(state.goal_id.uuid).hex() == mission.goal_id
        return int(state.mission_steps) if own else -1

    client.spin_until(lambda: steps() >= when or mission.done, PATIENCE_SECONDS)
    if mission.done:
        mission.close()
        over = mission.result.outcome in (Result.ACCEPTED, Result.SATISFIED_SO_FAR)
        return "over before the kill" if over else f"before the kill: {mission.result.reason}"
    for name in victims:
        system.kill(name)
    for name in victims:
        system.start(name)
    what = f"{'+'.join(victims)} at step {when}"
    if patrol:
        client.spin_until(lambda: steps() > when + 20 or mission.done, PATIENCE_SECONDS)
        if not mission.done:
            for value in (True, False):
                set_event(client, "call", value, PATIENCE_SECONDS)
    if not client.spin_until(lambda: mission.done, PATIENCE_SECONDS):
        mission.cancel()
        client.spin_until(lambda: mission.done, 10.0)
        return f"{what}: it did not come to its end"
    wanted = Result.SATISFIED_SO_FAR if patrol else Result.ACCEPTED
    result = mission.result
    mission.close()
    if result.outcome != wanted:
        return f"{what}: {result.reason}"
    problem = judged(system, client, mission.goal_id, patrol=patrol)
    return f"{what}: {problem}" if problem else ""


def judged(system: System, client: RosClient, goal_id: str, *, patrol: bool) -> str:
    """Return what is wrong with the recording of a mission, else nothing."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        client.take_what_is_there()
        newest = sorted(system.runs.glob("*.mcap"))[-1:]
        file = read_recording(newest[0], recover=True) if newest else None
        missions = [] if file is None else recorded_missions(file)
        found = [one for one in missions if one.goal_id == goal_id]
        if file is not None and file.complete and found and found[0].ended is not None:
            break
        time.sleep(0.1)
    else:
        return "there is no whole recording of it"
    verification = verify_mission(found[0])
    if verification.result != "agrees":
        said = [*verification.disagreements, *verification.missing]
        return f"verify: {verification.result}: {said[:2]}"
    moves = [move for move, _ in verification.transitions]
    if any(before.target != after.source for before, after in pairwise(moves)):
        return "the machine's moves are no sequence"
    chain = [(move.source, move.target) for move in moves]
    if not patrol and chain != [(number, number + 1) for number in range(12)]:
        return f"stations were done twice or skipped: {chain}"
    if patrol and not any("call" in state.labels for state in found[0].states):
        return "the event is not in the recording"
    for path in system.runs.glob("*.mcap"):
        path.unlink()
    return ""


def main() -> int:
    """Run the trials, print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--realtime", type=int, default=20, help="of them in real time")
    parser.add_argument("--robot", type=int, default=0, help="of them on the Car, by the bridge")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw, failed, done = random.Random(args.seed), 0, 0
    counts = args.trials - args.realtime - args.robot, args.realtime, args.robot
    for kind, count in zip(KINDS, counts, strict=True):
        if not count:
            continue
        with tempfile.TemporaryDirectory() as folder, private_domain_id() as domain_id:
            system = System(domain_id, Path(folder), kind)
            try:
                with RosClient(domain_id=domain_id) as client:
                    heard = Heard(client)
                    client.spin_until(partial(recorder_listens, client), PATIENCE_SECONDS)
                    number = 0
                    while number < count:
                        patrol = number % 2 == 1
                        try:
                            problem = trial(system, client, heard, draw, patrol=patrol)
                        except SkmError as error:
                            problem = str(error)
                        if problem == "over before the kill":
                            continue
                        number, done, failed = number + 1, done + 1, failed + bool(problem)
                        what = f"{kind.name} {'patrol' if patrol else 'tour'}"
                        print(f"{done:4} {what}: {problem or 'went on'}", flush=True)
            finally:
                system.close()
    print(f"{done - failed} of {done} went on: nothing twice, nothing skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
