#!/usr/bin/env python3
"""Record many runs, verify them, mutate them, and see whether every mutation is caught and nothing else.

    tools/recordings.py make FOLDER --runs 100       in process, over all domains, finite and standing
    tools/recordings.py ros FOLDER --runs 100        through the nodes (`skm up … --record`)
    tools/recordings.py judge FOLDER --mutations 200

A label is flipped where it matters (where the machine then goes elsewhere), a step is left out or
doubled, the mission is changed, an action is added after the stop, the tail is cut off.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skm_cli.commands.verify import verify_file
from skm_machine.errors import SkmError
from skm_machine.monitor import is_fatal
from skm_primitives.recording.cdr import Message, codec_of
from skm_primitives.recording.files import Recorded, RunFile, read_recording
from skm_primitives.recording.message_words import ENDED
from skm_primitives.recording.missions import recorded_missions
from skm_primitives.recording.writer import RunWriter

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
    from skm_ros.bench.private_domain import private_domain_id, private_environment  # noqa: PLC0415
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
            up += ["--record", str(folder / f"{domain}_{int(time.time())}")]
            with subprocess.Popen(up, env=environment, stderr=subprocess.DEVNULL) as system:
                try:
                    with RosClient(domain_id=number) as client:
                        for index in range(done, wanted):
                            text = MISSIONS[domain][index % len(MISSIONS[domain])]
                            send(client, text, index, random.Random(index).choice((3, 40, 120)))
                    time.sleep(4)  # the recorder goes on for a little while
                finally:
                    system.send_signal(signal.SIGINT)
                    system.wait()


def send(client: RosClient, text: str, seed: int, steps: int) -> None:
    """Run one mission on a system that is up."""
    from skm_ros.client.mission_goal import MissionGoal, MissionRequest  # noqa: PLC0415

    goal = MissionGoal(client, MissionRequest(text, seed=seed, max_steps=steps).goal())
    goal.wait_ready(180)
    goal.send(60)
    client.spin_until(lambda: goal.done, 300)
    print(text, seed, goal.result.outcome, goal.result.steps, flush=True)
    goal.close()


# Mutations: each takes a recording and writes another, or says that it cannot be done here.

Mutation = Callable[[RunFile, random.Random], "list[Recorded] | None"]


def encoded(message: Recorded, value: Message) -> Recorded:
    """Return a message with another value."""
    data = codec_of(message.channel.type).encode(_plain(value))
    return replace(message, data=data)


def _plain(value: object) -> object:
    if isinstance(value, Message):
        return {name: _plain(part) for name, part in vars(value).items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def flip_label(file: RunFile, rng: random.Random) -> list[Recorded] | None:
    """Flip a label of one state such that the machine goes another way."""
    mission = recorded_missions(file)[0]
    machine, state, places = mission.compiled().machine, None, []
    moves = {int(m.step): int(m.to_state) for _, entry in mission.log for m in entry.transitions}
    state = machine.initial
    for entry in mission.states[1:]:
        for name in machine.propositions:
            if name in mission.names:
                now, then = entry.labels, entry.labels ^ {name}
                if set(machine.options(state, now)).isdisjoint(machine.options(state, then)):
                    places.append((entry.key, name))
        state = moves.get(entry.step, state)
        if state in machine.terminal or state in machine.failure:
            break
    if not places:
        return None
    key, name = rng.choice(places)
    return _with_labels(file, key, name)


def _with_labels(file: RunFile, key: tuple[int, int, int], name: str) -> list[Recorded]:
    changed = []
    for message in file.recorded:
        if message.name == "labels":
            value = message.value
            if (value.session, value.episode, value.step) == key:
                values = value.values.copy()
                values[value.names.index(name)] ^= True
                message = encoded(message, Message(**{**vars(value), "values": values}))  # noqa: PLW2901
        changed.append(message)
    return changed


def leave_out_step(file: RunFile, rng: random.Random) -> list[Recorded] | None:
    """Leave the labels and the observation of a step out."""
    states = recorded_missions(file)[0].states
    if len(states) < 3:
        return None
    gone = rng.choice(states[1:]).key

    def is_gone(message: Recorded) -> bool:
        if message.name not in ("labels", "observation"):
            return False
        return (message.value.session, message.value.episode, message.value.step) == gone

    return [message for message in file.recorded if not is_gone(message)]


def double_step(file: RunFile, rng: random.Random) -> list[Recorded] | None:
    """Show a state twice, as if the robot had stayed there for a step: what follows comes later."""
    states = recorded_missions(file)[0].states
    if len(states) < 3:
        return None
    session, episode, step = rng.choice(states[:-1]).key
    changed = []
    for message in file.recorded:
        if message.name not in ("labels", "observation"):
            changed.append(message)
            continue
        value = message.value
        later = (value.session, value.episode) == (session, episode) and value.step >= step
        if not later or value.step == step:
            changed.append(message)
        if later:
            moved = Message(**{**vars(value), "step": value.step + 1})
            changed.append(encoded(message, moved))
    return changed


def change_mission(file: RunFile, rng: random.Random) -> list[Recorded] | None:
    """Say everywhere that another mission was run."""
    mission = recorded_missions(file)[0]
    names = [name for name in mission.compiled().machine.propositions if name in mission.names]
    others = [name for name in mission.names if name not in names]
    if not names or not others:
        return None
    old, new = rng.choice(names), rng.choice(others)
    text = re.sub(rf"\b{re.escape(old)}\b", new, mission.text)
    if not _differs(mission, text):
        return None
    changed = []
    for message in file.recorded:
        if message.name in ("mission_log", "machine_state"):
            told = Message(**{**vars(message.value), "mission": text})
            message = encoded(message, told)  # noqa: PLW2901
        changed.append(message)
    file.metadata.get("skm.mission", {})["mission"] = text
    return changed


def _differs(mission: object, text: str) -> bool:
    """Tell whether another mission goes another way on these labels: else nobody can tell them apart."""
    ways = []
    for one in (None, text):
        machine = mission.compiled(one).machine  # type: ignore[attr-defined]
        state, way = machine.initial, [machine.num_states]
        for entry in mission.states[1:]:  # type: ignore[attr-defined]
            if state in machine.terminal or state in machine.failure:
                break
            outcome = machine.options(state, entry.labels)[-1]
            way.append((outcome, is_fatal(machine, outcome)))
            state = outcome.target
        ways.append(way)
    return ways[0] != ways[1]


def act_after_stop(file: RunFile, rng: random.Random) -> list[Recorded] | None:  # noqa: ARG001
    """Move the robot on after the mission's last stop."""
    mission = recorded_missions(file)[0]
    moved = [m for m in file.recorded if m.name == "action" and m.value.kind != 0]
    ended = [m for m in file.messages("mission_log") if m.value.kind == ENDED]
    if not moved or not ended or mission.ended is None:
        return None
    when = ended[0].publish_time + 1_000_000
    last = mission.ended
    key = {"session": last.session, "episode": last.episode, "step": last.step}
    again = encoded(moved[-1], Message(**{**vars(moved[-1].value), **key}))
    return [*file.recorded, replace(again, publish_time=when, log_time=when)]


def drop_stop(file: RunFile, rng: random.Random) -> list[Recorded] | None:  # noqa: ARG001
    """Leave the last stop out."""
    stops = [m for m in file.recorded if m.name == "action" and m.value.kind == 0]
    return [m for m in file.recorded if m not in stops] if stops else None


MUTATIONS: dict[str, Mutation] = {
    "label flipped": flip_label,
    "step left out": leave_out_step,
    "step doubled": double_step,
    "mission changed": change_mission,
    "action after the stop": act_after_stop,
    "no stop": drop_stop,
}


def write(file: RunFile, messages: list[Recorded], path: Path) -> None:
    """Write a recording anew, whole and closed."""
    with RunWriter(path) as writer:
        for name, values in file.metadata.items():
            writer.metadata(name, values)
        for message in messages:
            writer.channel(message.topic, message.channel.type)
            writer.write(message.topic, message.data, message.log_time, message.publish_time)


def is_caught(path: Path) -> tuple[bool, str]:
    """Tell whether `skm verify` finds something wrong, and what."""
    try:
        found = verify_file(path, None, recover=False)
    except SkmError as error:
        return True, f"unreadable: {error}"
    kinds = [wrong.kind for wrong in found.disagreements] + found.missing
    return bool(kinds), ", ".join(kinds)


def mutate(path: Path, kind: str, seed: int, target: Path) -> bool:
    """Write a mutated recording; tell whether this mutation can be made of it."""
    rng = random.Random(seed)
    if kind == "tail cut off":
        data = path.read_bytes()
        target.write_bytes(data[: rng.randrange(len(data) // 2, len(data) - 1)])
        return True
    if kind == "end left out":
        file = read_recording(path)
        keep = rng.randrange(len(file.recorded) // 2, len(file.recorded))
        mission = recorded_missions(file)[0]  # those that came after it are in the file, too
        logged = [n for n, m in enumerate(file.recorded) if m.name == "mission_log"]
        ended = [n for n in logged if file.recorded[n].value is mission.ended]
        if not ended:
            return False
        write(file, file.recorded[: min(keep, ended[0])], target)
        return True
    file = read_recording(path)
    changed = MUTATIONS[kind](file, rng)
    if changed is None:
        return False
    write(file, changed, target)
    return True


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
    kinds = [*MUTATIONS, "tail cut off", "end left out"]
    made, caught, number = Counter[str](), Counter[str](), 0
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "mutated.mcap"
        while sum(made.values()) < mutations and number < 20 * mutations:
            kind, path = kinds[number % len(kinds)], files[(7 * number) % len(files)]
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
        "mutations": {kind: f"{caught[kind]} of {made[kind]} caught" for kind in kinds},
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
