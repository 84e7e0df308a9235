"""Labels from what other nodes say, described in a file: a battery, a door, a switch.

    labels:
      low_battery: {topic: /battery_state, when: "percentage < 0.2", hysteresis: 0.05, stale: event,
      timeout: 5} door_open: {topic: /doors/lab, type: std_msgs/msg/Bool, when: data}

Each is an event of the missions, a proposition that the robot does not control; unless an action of
the same file changes it (`skm_sim.maps.actions`): then it is the robot's, and the topic shows whether it
holds. `when` is a condition on the message (`predicates`). A condition that holds goes on to hold until
it is missed by more than `hysteresis`. Where nothing was heard for `timeout` seconds, `stale` says what
then: `keep` what was heard last, let the `event` be true, or `stop` the robot until something is heard.
There is no ROS here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from skm_sim.maps.actions import facts_of, read_actions
from skm_sim.maps.yaml_file import MapError, check_keys, number, read_yaml
from skm_sim.robots.predicates import Predicate, PredicateError, parse_predicate
from skm_sim.spec import name_problems

KEYS: Final = ("topic", "type", "when", "hysteresis", "stale", "timeout")
STALE: Final = ("keep", "event", "stop")


@dataclass(frozen=True)
class SignalSpec:
    """One label, as a file describes it."""

    name: str
    topic: str
    when: Predicate
    type: str = ""
    """Of the messages, such as std_msgs/msg/Bool; empty: as the topic has it."""
    hysteresis: float = 0.0
    stale: str = "keep"
    timeout: float = 10.0


def read_signals(path: Path | str) -> tuple[SignalSpec, ...]:
    """Read the labels of a file, which may describe actions, too, or say what is wrong with it."""
    path = Path(path)
    given = read_yaml(path)
    check_keys(given, ("labels", "actions"), str(path))
    if "labels" not in given and "actions" in given:
        return ()
    labels = given.get("labels")
    if not isinstance(labels, dict) or not labels:
        raise MapError(f"{path}: labels must be such as {{low_battery: {{topic: …, when: …}}}}.")
    if problems := name_problems(tuple(map(str, labels)), ()):
        raise MapError(f"{path}: {' '.join(problems)}")
    return tuple(_signal(str(name), entry, f"{path}: {name}") for name, entry in labels.items())


def read_events(path: Path | str) -> tuple[SignalSpec, ...]:
    """Read the labels of a file that no action of it changes."""
    facts = facts_of(read_actions(path))
    return tuple(spec for spec in read_signals(path) if spec.name not in facts)


def read_sensed_facts(path: Path | str) -> tuple[SignalSpec, ...]:
    """Read the labels of a file that an action of it changes: what the action did is seen there."""
    facts = facts_of(read_actions(path))
    return tuple(spec for spec in read_signals(path) if spec.name in facts)


def _signal(name: str, entry: Any, where: str) -> SignalSpec:  # noqa: ANN401 - YAML
    if not isinstance(entry, dict):
        raise MapError(
            f"{where} must be such as {{topic: /battery_state, when: percentage < 0.2}}."
        )
    check_keys(entry, KEYS, where)
    for key in ("topic", "when"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise MapError(f"{where} needs a {key}, as text.")
    stale = entry.get("stale", SignalSpec.stale)
    if stale not in STALE:
        raise MapError(f"{where}: stale must be one of {', '.join(STALE)}, not {stale!r}.")
    kind = str(entry.get("type", ""))
    if kind and kind.count("/") != 2:
        raise MapError(f"{where}: type must be such as std_msgs/msg/Bool, not {kind!r}.")
    try:
        when = parse_predicate(entry["when"])
    except PredicateError as error:
        raise MapError(f"{where}: {error}") from error
    slack = number(entry.get("hysteresis", 0.0), f"{where}: hysteresis")
    timeout = number(entry.get("timeout", SignalSpec.timeout), f"{where}: timeout", positive=True)
    if slack < 0:
        raise MapError(f"{where}: hysteresis must be 0 or more, not {slack}.")
    return SignalSpec(name, entry["topic"].strip(), when, kind, slack, stale, timeout)


class Signal:
    """Whether a label holds, from the messages of its topic; times are of a steady clock."""

    def __init__(self, spec: SignalSpec, now: float) -> None:
        self.spec = spec
        self._holds = False
        self._heard_at = now

    def hear(self, message: Any, now: float) -> None:  # noqa: ANN401
        """Take a message; one that does not fit the condition raises an error."""
        slack = self.spec.hysteresis if self._holds else 0.0
        self._holds = self.spec.when.holds(message, slack)
        self._heard_at = now

    def is_stale(self, now: float) -> bool:
        """Tell whether nothing was heard for too long."""
        return now - self._heard_at > self.spec.timeout

    def holds(self, now: float) -> bool:
        """Tell whether the label holds."""
        return self._holds or (self.spec.stale == "event" and self.is_stale(now))

    def stops(self, now: float) -> str:
        """Return why the robot must not move: nothing is heard of what it has to know; else nothing."""
        if self.spec.stale != "stop" or not self.is_stale(now):
            return ""
        silent = f"nothing was heard on {self.spec.topic} for {self.spec.timeout:g} s"
        return f"{silent}: {self.spec.name} is not known"
