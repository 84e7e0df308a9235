"""Events: propositions that the robot does not control. Scripts of them, and the game against them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from random import Random
from typing import Any, Final

from skm_machine.errors import MissionError, UnsupportedMissionError
from skm_machine.reward_machine import Outcome, RewardMachine

# Events: propositions that the robot does not control, and scripts that say when they are true.
#
# A script is a list such as `battery_low@30-80, door_open@5-, person_near~0.02, alarm`: true in
# the steps 30 to 80, from step 5 on, in every step with the chance of 0.02, or only declared.
# Steps count from 1.


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


# Can events make a mission fail, whatever the robot does? A game on the machine, solved exactly.
#
# In each step the robot chooses any label set over its own propositions, then the events are
# chosen, then the robot decides on commitments. It wins if the mission succeeds; without end, if
# rounds are completed forever. What the robot can do in a world is less: the game says which
# missions are lost even so.


MAX_CHOICES: Final = 4096
"""Label sets and events together that are tried in each state."""

LabelSet = frozenset[str]


@dataclass(frozen=True)
class Counterexample:
    """How events defeat a robot that resists as long as it can: label sets, events among them."""

    steps: tuple[LabelSet, ...]
    forever: tuple[LabelSet, ...] = ()
    """What follows again and again, if the mission does not fail but never succeeds either."""

    @classmethod
    def along(cls, steps: Sequence[LabelSet], forever: Sequence[LabelSet] = ()) -> Counterexample:
        """Return the counterexample of a run, with no part of it repeated."""
        first, again = list(steps), list(forever)
        for length in range(1, len(again)):
            if again == again[:length] * (len(again) // length):
                again = again[:length]
                break
        while again and first and first[-1] == again[-1]:
            again = [first.pop(), *again[:-1]]
        return cls(tuple(first), tuple(again))


class EventGame:
    """The game of some events against the robot; other events never happen."""

    def __init__(
        self,
        machine: RewardMachine,
        events: Collection[str],
        absent: Collection[str] = (),
        label_sets: Collection[LabelSet] | None = None,
    ) -> None:
        """`label_sets` are those that the robot can show, if not all."""
        self.machine = machine
        self.events = subsets(sorted(set(events) & set(machine.propositions)))
        own = [p for p in machine.propositions if p not in events and p not in absent]
        if label_sets is None:
            if 2 ** len(own) * len(self.events) > MAX_CHOICES:
                raise UnsupportedMissionError(
                    f"the game against events has more than {MAX_CHOICES} choices in each step"
                )
            label_sets = subsets(own)
        self.rows = [self._row(state, label_sets) for state in range(machine.num_states)]
        self._dropped: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
        """How far the robot got with each state that it loses from: see `_won`."""
        self.won = self._won()

    def _row(
        self, state: int, label_sets: Collection[LabelSet]
    ) -> dict[tuple[tuple[Outcome, ...], ...], LabelSet]:
        """Return the robot's choices, as the options that each choice of events leaves; once each."""
        row: dict[tuple[tuple[Outcome, ...], ...], LabelSet] = {}
        if state in self.machine.terminal or state in self.machine.failure:
            return row
        for labels in label_sets:
            answers = tuple(
                self.machine.options(state, labels | happening) for happening in self.events
            )
            row.setdefault(answers, labels)
        return row

    @property
    def lost(self) -> bool:
        """Whether the events can defeat the robot from the start."""
        return self.machine.initial not in self.won

    def _won(self) -> frozenset[int]:
        """Return the states from which the robot wins: it is rewarded, and is there again."""
        states = range(self.machine.num_states)
        again = frozenset(states) - self.machine.failure
        while True:
            reached: frozenset[int] = frozenset()
            while True:
                more = frozenset(
                    state
                    for state in states
                    if any(
                        all(self._good(state, options, again, reached) for options in answers)
                        for answers in self.rows[state]
                    )
                )
                if more == reached:
                    break
                reached = more
            ends = self.machine.terminal - self.machine.failure
            reached |= ends
            if reached == again:
                return again
            for state in again - reached:
                self._dropped[state] = again, reached
            again = reached

    def _good(
        self,
        state: int,
        options: Iterable[Outcome],
        again: frozenset[int],
        reached: frozenset[int],
    ) -> bool:
        """Tell whether the robot has a good option; a commitment that events can break is none."""
        return any(
            (outcome.reward > 0 and outcome.target in again) or outcome.target in reached
            for outcome in options
            if self.machine.keeps(state, outcome)
        )

    def counterexample(self) -> Counterexample | None:
        """Return the shortest counterexample in which the events win against the best resistance."""
        if not self.lost:
            return None
        steps, state = self._failing()
        if state in self.machine.failure:
            return Counterexample.along(steps)
        seen: dict[int, int] = {}
        while state not in seen:
            seen[state] = len(steps)
            labels, state = self._withheld(state)
            steps.append(labels)
        return Counterexample.along(steps[: seen[state]], steps[seen[state] :])

    def _failing(self) -> tuple[list[LabelSet], int]:
        """Return the steps by which the events force failure, as far as they can, and its end."""
        rank = dict.fromkeys(self.machine.failure, 0)
        choice: dict[int, tuple[LabelSet, int]] = {}
        for length in range(1, self.machine.num_states + 1):
            before = dict(rank)
            for state, row in enumerate(self.rows):
                if state in before or not row:
                    continue
                plans = []
                for answers, labels in row.items():
                    forced = self._forcing(answers, before)
                    if forced is None:
                        break
                    plans.append((before[forced[1]], labels | forced[0], forced[1]))
                else:
                    rank[state] = length
                    _, labels, target = max(plans, key=lambda plan: (plan[0], -len(plan[1])))
                    choice[state] = labels, target
        state, steps = self.machine.initial, list[LabelSet]()
        while state in choice:
            labels, state = choice[state]
            steps.append(labels)
        return steps, state

    def _forcing(
        self, answers: tuple[tuple[Outcome, ...], ...], rank: dict[int, int]
    ) -> tuple[LabelSet, int] | None:
        """Return the fewest events that leave only ways to failure, with the robot's slowest one."""
        best: tuple[int, int, LabelSet, int] | None = None
        for happening, options in zip(self.events, answers, strict=True):
            if all(outcome.target in rank for outcome in options):
                slowest = max(options, key=lambda outcome: rank[outcome.target])
                found = (rank[slowest.target], len(happening), happening, slowest.target)
                best = found if best is None or found[:2] < best[:2] else best
        return None if best is None else (best[2], best[3])

    def _withheld(self, state: int) -> tuple[LabelSet, int]:
        """Return a step of the robot's, with events that keep it from winning."""
        plans = []
        for answers, labels in self.rows[state].items():
            for happening, options in zip(self.events, answers, strict=True):
                if not self._good(state, options, *self._dropped[state]):
                    outcome = options[0]
                    failing = outcome.target in self.machine.failure
                    plans.append(
                        (failing, -len(labels), len(happening), labels | happening, outcome)
                    )
                    break
        _, _, _, labels, outcome = min(plans, key=lambda plan: plan[:3])
        return labels, outcome.target


@dataclass(frozen=True)
class Risk:
    """Events that can make a mission fail whatever the robot does, and how."""

    events: tuple[str, ...]
    counterexample: Counterexample
    starts: tuple[int, int] | None = None
    """From how many places they can, and from how many the mission can be begun; None: from all."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "events": list(self.events),
            "counterexample": [sorted(labels) for labels in self.counterexample.steps],
            "forever": [sorted(labels) for labels in self.counterexample.forever],
            "starts": None
            if self.starts is None
            else {"lost": self.starts[0], "possible": self.starts[1]},
        }


@dataclass(frozen=True)
class EventVerdict:
    """What events can do to a mission, and what that was proved for."""

    declared: tuple[str, ...]
    risks: tuple[Risk, ...]
    proved_for: str
    """The robots or the places for which the declared events that are no risk are none."""


ANY_LABELS: Final = "if the robot could show any labels (--domain says what it can do)"


def event_verdict(
    machine: RewardMachine,
    events: Collection[str],
    label_sets: Collection[LabelSet] | None = None,
    proved_for: str = ANY_LABELS,
) -> EventVerdict:
    """Return what events can do to a robot that shows any label set at any time, or any of these."""
    risks = event_risks(machine, events, label_sets)
    return EventVerdict(tuple(events), risks, proved_for)


def event_risks(
    machine: RewardMachine,
    events: Collection[str],
    label_sets: Collection[LabelSet] | None = None,
) -> tuple[Risk, ...]:
    """Return which events can make a mission fail: each alone, or else all of them together.

    `label_sets` are those that the robot can show, if not all.
    """
    named = tuple(name for name in events if name in machine.propositions)
    risks: list[Risk] = []
    for some in sets_to_blame(named):
        absent = [name for name in named if name not in some]
        if (len(some) == 1 or not risks) and (
            counterexample := EventGame(machine, some, absent, label_sets).counterexample()
        ):
            risks.append(Risk(some, counterexample))
    return tuple(risks)


def sets_to_blame(events: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the sets of events that are tried: each alone, then all of them together."""
    together = [events] if len(events) > 1 else []
    return [*((name,) for name in events), *together]


def subsets(names: Collection[str]) -> tuple[LabelSet, ...]:
    """Return all subsets, the small ones first."""
    sizes = (combinations(names, size) for size in range(len(names) + 1))
    return tuple(map(frozenset, chain.from_iterable(sizes)))
