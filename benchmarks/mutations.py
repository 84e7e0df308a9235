"""What can be wrong with a recording, done to one: for benchmarks/recordings.py and the tests.

Each mutation takes a recording and gives another one's messages, or says that it cannot be done here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from skm_cli.commands.verify import verify_file
from skm_machine.errors import SkmError
from skm_machine.monitor import is_fatal
from skm_primitives.recording.cdr import ENDED, Message, codec_of
from skm_primitives.recording.files import (
    Recorded,
    RecordedMission,
    RunFile,
    RunWriter,
    read_recording,
    recorded_missions,
)

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
            value = Message(**{**vars(message.value), "mission": text})
            message = encoded(message, value)  # noqa: PLW2901
        changed.append(message)
    file.metadata.get("skm.mission", {})["mission"] = text
    return changed


def _differs(mission: RecordedMission, text: str) -> bool:
    """Tell whether another mission goes another way on these labels: else nobody can tell them apart."""
    ways = []
    for one in (None, text):
        machine = mission.compiled(one).machine
        state = machine.initial
        way: list[object] = [machine.num_states]
        for entry in mission.states[1:]:
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


KINDS = (*MUTATIONS, "tail cut off", "end left out")
"""All that `mutate` can do."""


def write(file: RunFile, messages: list[Recorded], path: Path) -> None:
    """Write a recording anew, whole and closed."""
    with RunWriter(path, overwrite=True) as writer:
        for name, values in file.metadata.items():
            writer.metadata(name, values)
        for message in messages:
            writer.channel(message.topic, message.channel.type)
            writer.write(message.topic, message.data, message.log_time, message.publish_time)


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


def is_caught(path: Path) -> tuple[bool, str]:
    """Tell whether `skm verify` finds something wrong, and what."""
    try:
        found = verify_file(path, None, recover=False)
    except SkmError as error:
        return True, f"unreadable: {error}"
    kinds = [wrong.kind for wrong in found.disagreements] + found.missing
    return bool(kinds), ", ".join(kinds)
