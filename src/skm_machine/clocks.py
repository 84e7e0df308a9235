"""The clocks of a mission with bounds in seconds: which ticks are due, and when.

Times are whole nanoseconds of whatever clock the states are stamped by. The machine of the mission reads
ticks like labels (`skm_machine.automata.timed`); its caller asks here which ones come
first. See `MissionTracker`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, TypeAlias

from skm_machine.automata.timed import NEW, ClockTable, Tick

Stand: TypeAlias = tuple[int, tuple[tuple[int, ...], ...]]
"""How clocks stand: see `Clocks.stand`."""


class Due(NamedTuple):
    """A tick, and when it comes."""

    time: int
    tick: Tick


class Clocks:
    """The clocks that run, and where the automaton that starts and drops them is."""

    def __init__(self, table: ClockTable, time: int) -> None:
        """Begin at a time: what the mission asks for as a whole counts from then on."""
        self._table = table
        self._state = 0
        self._started: list[list[int]] = [[time] * len(clocks) for clocks in table.open[0]]

    @classmethod
    def at(cls, table: ClockTable, stand: Stand) -> Clocks:
        """Return clocks that stand as others did."""
        clocks = cls(table, 0)
        clocks._state, started = stand
        clocks._started = [list(times) for times in started]
        return clocks

    @property
    def stand(self) -> Stand:
        """How the clocks stand: the state of their automaton, and when each was started."""
        return self._state, tuple(tuple(times) for times in self._started)

    def due(self, time: int, *, entering: bool = False) -> Due | None:
        """Return the tick that comes first, if it has come by `time`.

        A window is open from its first moment to its last, both included: so it closes after the last.
        It opens at the first, unless another state is entered just then: see `opening`.
        """
        found = [
            Due(end, tick)
            for tick in self._table.ticks
            if (end := self.end(tick)) is not None
            and (end < time or (end == time and tick.kind == "opens" and not entering))
        ]
        return min(found, default=None, key=lambda due: (due.time, due.tick.kind == "closes"))

    def end(self, tick: Tick) -> int | None:
        """Return when the next tick of this kind comes, if one does; not those as a state is entered."""
        started, opened = self._started[tick.operator], self._table.open[self._state][tick.operator]
        window = self._table.windows[tick.operator]
        if tick.kind == "opens" and False in opened:
            return started[opened.index(False)] + window.first
        if tick.kind == "closes" and True in opened and window.last is not None:
            return started[0] + window.last
        return None

    def opening(self, time: int) -> Tick | None:
        """Return the tick of a window that opens just when a state is entered, if there is one."""
        for tick in self._table.ticks:
            twin = tick._replace(kind="opens")
            if tick.kind == "opens as entered" and self.end(twin) == time:
                return tick
        return None

    def step(self, labels: Collection[str], time: int) -> None:
        """Take what the machine reads: the labels that hold, with the tick if it is one."""
        move = self._table.table.outcome(self._state, labels)
        self._state, kept = self._table.moves[move]
        self._started = [
            [time if number == NEW else started[number] for number in numbers]
            for started, numbers in zip(self._started, kept, strict=True)
        ]

    @property
    def running(self) -> tuple[tuple[str, int], ...]:
        """What is pending, as it is written, and since when."""
        return tuple(
            (text, since)
            for text, started in zip(self._table.texts, self._started, strict=True)
            for since in started
        )
