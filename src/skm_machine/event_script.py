"""Events: propositions that the robot does not control, and scripts that say when they are true.

A script is a list such as `battery_low@30-80, door_open@5-, person_near~0.02, alarm`: true in the steps
30 to 80, from step 5 on, in every step with the chance of 0.02, or only declared. Steps count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from random import Random

from skm_machine.errors import MissionError

_ENTRY = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(@(?P<first>\d+)(?P<dash>-(?P<last>\d+)?)?|~(?P<rate>\d*\.?\d+))?"
)


@dataclass(frozen=True)
class _Entry:
    name: str
    first: int = 0
    last: float = -1
    rate: float = 0.0


class EventScript:
    """Which events are declared, and which are true in each step; those with a rate go by `seed`."""

    def __init__(self, text: str, seed: int = 0) -> None:
        self._entries = [_entry(part.strip(), text) for part in text.split(",") if part.strip()]
        self.names = tuple(dict.fromkeys(entry.name for entry in self._entries))
        self._seed = seed

    def at(self, step: int) -> frozenset[str]:
        """Return the events that are true in a step: the same each time it is asked for."""
        return frozenset(
            entry.name
            for number, entry in enumerate(self._entries)
            if entry.first <= step <= entry.last or self._happens(number, entry.rate, step)
        )

    def _happens(self, number: int, rate: float, step: int) -> bool:
        return step > 0 and rate > 0 and Random(f"{self._seed} {number} {step}").random() < rate


def _entry(part: str, text: str) -> _Entry:
    found = _ENTRY.fullmatch(part)
    if found is None:
        raise MissionError(
            f"cannot read the event '{part}'; write name, name@STEP, name@FIRST-LAST, name@FIRST- or "
            "name~CHANCE",
            text,
            text.find(part),
        )
    if found["rate"] is not None:
        rate = float(found["rate"])
        if rate > 1:
            said = (
                f"the chance of the event '{part}' must be from 0 to 1, as in {found['name']}~0.02"
            )
            raise MissionError(said, text, text.find(part))
        return _Entry(found["name"], rate=rate)
    if found["first"] is None:
        return _Entry(found["name"])
    first = int(found["first"])
    if found["dash"] is None:
        return _Entry(found["name"], first, first)
    last = float(found["last"] or "inf")
    if last < first:
        raise MissionError(f"the event '{part}' ends before it begins", text, text.find(part))
    return _Entry(found["name"], first, last)


def check_events(events: Collection[str], propositions: Collection[str]) -> None:
    """Refuse events that the robot brings about itself."""
    for name in events:
        if name in propositions:
            raise MissionError(
                f"'{name}' is a proposition of the domain, which the robot's own steps make true; an "
                "event needs a name of its own"
            )
