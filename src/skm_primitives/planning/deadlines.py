"""Deadlines in a deterministic finite world: the soonest success, with every clock running.

The plan of `policies` takes the shortest way, and knows no time. Where the clock can make a mission
fail, its way is sought here instead: forwards from where the robot is, one step after the other, each as
long as a step takes. What is kept is every pair of a cell and what the mission has come to there, its
clocks included; so the first success is the soonest, and if nothing is left before one is found, no way
is fast enough. The robot may also stand still, as long as it likes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from skm_machine.clocks import Clocks, Stand
from skm_machine.errors import UnachievableMissionError
from skm_machine.logic.timed import NANOSECONDS
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome
from skm_sim.arrays import BoolArray
from skm_sim.finite_world import FiniteWorld

MOST_SECONDS: Final = 1.5
"""Of computing; what is not found by then is not known."""
WHILE_IT_WAITS: Final = 0.1
"""The same when a robot is about to begin: its node has other things to do."""


class _Stand(NamedTuple):
    """What a mission has come to: the machine's state, and how its clocks stand."""

    state: int
    clocks: Stand


class _Move(NamedTuple):
    """Robots that got from one layer to the next in the same way."""

    earlier: _Stand
    since: _Stand
    """What it had come to when the step ended: the clock may have moved it meanwhile."""
    left: BoolArray
    later: _Stand
    arrived: BoolArray
    stood: bool
    """Whether they stood still: then nothing was entered."""


@dataclass(frozen=True)
class Forecast:
    """The soonest success that was found."""

    seconds: float | None
    """How long it takes; None: no way is fast enough, or none was found in time."""
    impossible: bool
    """Whether no way is fast enough, if steps take as long as they are said to."""
    actions: dict[tuple[int, int], int]
    """On its way: the action in each machine state and cell."""


def can_be_late(mission: Mission) -> bool:
    """Tell whether the clock can make the mission fail, and it has an end."""
    machine, clocks = mission.machine, mission.clocks
    if clocks is None or machine.endless or machine.epsilon_transitions:
        return False
    closing = [tick.name for tick in clocks.ticks if tick.kind == "closes"]
    for name in closing:
        table = machine.delta.given({name: True})
        for state in range(machine.num_states):
            if state in machine.terminal or state in machine.failure:
                continue
            targets = {machine.outcomes[index].target for index in table.outcomes(state)}
            if targets & machine.failure:
                return True
    return False


class Deadlines:
    """The deadlines of a mission in a world: what its policy asks before it begins, and on the way."""

    def __init__(self, timed: Mission, world: FiniteWorld) -> None:
        self.timed, self._world = timed, world
        self._late = can_be_late(timed)
        self._pace = timed.step_seconds or timed.expected_step_seconds
        self._forecasts: dict[int, Forecast] = {}
        self.actions: dict[tuple[int, int], int] = {}
        """The action in each machine state and cell of a way that is fast enough."""
        self.warning = ""
        """What is to be feared of the clock, as a sentence; empty if nothing is."""

    def look_ahead_from(self, cell: int) -> None:
        """Look for a way in time from where the mission will begin, while there is time for that."""
        if self._late and self._pace:
            self._forecasts[cell] = soonest(self.timed, self._world, cell, self._pace)

    def share_in_time(self, cells: Sequence[int], step_seconds: float) -> float | None:
        """Return the share of these cells from which no deadline passes; None if there is none."""
        if not self._late or not len(cells):
            return None
        found = [soonest(self.timed, self._world, cell, step_seconds) for cell in cells]
        return sum(each.seconds is not None for each in found) / len(found)

    def plan_from(self, cell: int, steps: float) -> None:
        """Look for a way on which no deadline passes, and say so if there is none.

        `steps` are those of the shortest way, whatever the clock says.
        """
        self.actions, self.warning = {}, ""
        if not self._late or not self._pace:
            return
        exact = self.timed.step_seconds
        if cell not in self._forecasts:
            patience = MOST_SECONDS if exact else WHILE_IT_WAITS
            found = soonest(self.timed, self._world, cell, self._pace, patience)
            self._forecasts[cell] = found
        self.actions = self._forecasts[cell].actions
        if self._forecasts[cell].impossible:
            text = (
                f"from here (cell {cell}) the mission cannot be achieved in time: without its"
                f" deadlines it takes {steps:.0f} steps, {steps * self._pace:.1f} s of"
                f" {self._pace:.2g} s a step"
            )
            if exact:
                raise UnachievableMissionError(text)
            self.warning = text.replace("cannot be", "is not expected to be")


def soonest(
    mission: Mission,
    world: FiniteWorld,
    cell: int,
    step_seconds: float,
    patience: float = MOST_SECONDS,
) -> Forecast:
    """Return the soonest success from a cell, where every step takes so long.

    `patience`: seconds of computing after which it is given up.
    """
    return _Search(mission, world, step_seconds, patience).from_cell(cell)


class _Search:
    def __init__(
        self, mission: Mission, world: FiniteWorld, step_seconds: float, patience: float
    ) -> None:
        assert mission.clocks is not None
        self._patience = patience
        self._machine, self._table, self._world = mission.machine, mission.clocks, world
        self._pace = round(step_seconds * NANOSECONDS)
        self._known: dict[tuple[int, int, str], Outcome] = {}

    def from_cell(self, cell: int) -> Forecast:
        """Search forwards."""
        here: BoolArray = np.zeros(len(self._world.successors), np.bool_)
        here[cell] = True
        layer = {_Stand(self._machine.initial, Clocks(self._table, 0).stand): here}
        moves: list[list[_Move]] = []
        give_up = time.thread_time() + self._patience
        while layer and time.thread_time() < give_up:
            now = (len(moves) + 1) * self._pace
            made: list[_Move] = []
            following: dict[_Stand, BoolArray] = {}
            for move, won in self._moves(layer, now):
                if won:
                    return self._found(moves, move, now)
                made.append(move)
                seen = following.get(move.later)
                following[move.later] = move.arrived if seen is None else seen | move.arrived
            moves.append(made)
            layer = following
        return Forecast(None, not layer, {})

    def _moves(self, layer: dict[_Stand, BoolArray], now: int) -> Iterator[tuple[_Move, bool]]:
        """Yield all that can happen until `now`, and whether it is a success."""
        for stand, there in layer.items():
            for since, left, won in self._ticked(stand, there, now):
                yield _Move(stand, since, left, since, left, True), won
                if won:
                    return
                arrived: BoolArray = np.zeros(len(there), np.bool_)
                arrived[self._world.successors[left]] = True
                for later, where, done in self._entered(since, arrived, now):
                    yield _Move(stand, since, left, later, where, False), done

    def _ticked(
        self, stand: _Stand, there: BoolArray, now: int
    ) -> Iterator[tuple[_Stand, BoolArray, bool]]:
        """Yield what becomes of robots that are there until a state is entered at `now`."""
        clocks = Clocks.at(self._table, stand.clocks)
        due = clocks.due(now, entering=True)
        if due is None:
            yield stand, there, False
            return
        for label in np.unique(self._world.label_ids[there]).tolist():
            share: BoolArray = there & (self._world.label_ids == label)
            outcome = self._step(stand.state, label, due.tick.name)
            if outcome.reward > 0:
                yield stand, share, True
            elif outcome.target not in self._machine.failure:
                after = Clocks.at(self._table, stand.clocks)
                after.step(self._labels(label) | {due.tick.name}, due.time)
                yield from self._ticked(_Stand(outcome.target, after.stand), share, now)

    def _entered(
        self, stand: _Stand, arrived: BoolArray, now: int
    ) -> Iterator[tuple[_Stand, BoolArray, bool]]:
        """Yield what becomes of robots that enter these cells."""
        for label in np.unique(self._world.label_ids[arrived]).tolist():
            where: BoolArray = arrived & (self._world.label_ids == label)
            outcome = self._step(stand.state, label, "")
            if outcome.reward > 0:
                yield stand, where, True
            elif outcome.target not in self._machine.failure:
                after = Clocks.at(self._table, stand.clocks)
                after.step(self._labels(label), now)
                yield _Stand(outcome.target, after.stand), where, False

    def _labels(self, label: int) -> frozenset[str]:
        return self._world.label_sets[label]

    def _step(self, state: int, label: int, tick: str) -> Outcome:
        key = state, label, tick
        if key not in self._known:
            read = self._labels(label) | {tick} if tick else self._labels(label)
            self._known[key] = self._machine.step(state, read)
        return self._known[key]

    def _found(self, moves: list[list[_Move]], last: _Move, now: int) -> Forecast:
        """Follow a way back to the start; return it with the time that it takes."""
        actions: dict[tuple[int, int], int] = {}
        cell = int(np.flatnonzero(last.arrived)[0])
        move = last
        for made in [*reversed(moves), []]:
            if not move.stood:
                leads = (self._world.successors == cell) & move.left[:, None]
                cell, action = np.argwhere(leads)[0].tolist()
                actions.setdefault((move.since.state, cell), action)
            came = [other for other in made if other.later == move.earlier and other.arrived[cell]]
            if came:  # one that stood still, if there is: who is early waits
                move = max(came, key=lambda other: other.stood)
        return Forecast(now / NANOSECONDS, False, actions)
