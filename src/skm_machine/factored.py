"""Factored missions: a conjunction kept as one small automaton for each of its clauses.

`F p1 & … & F p20` has twenty automata of two states; their product, the one machine, has a million. The
product is never built here. A state is the tuple of the states of the parts, and gets its number when it
is asked for: `FactoredMachine` steps like any reward machine, so that the tracker, the monitor, a
recording and its verification run it as they run others. What walks over all states of a machine
(drawings, exports, the planners of small machines) cannot; `num_states` says how many there would be.

The meaning is that of the conjunction. A mission with an end succeeds at the first step at which every
part accepts, and a recurring one completes a round when every recurrence was seen and every other part
was accepted once more. Only one verdict comes later than by one machine: a mission that has become
impossible, while each part by itself is still possible, runs on. Clauses that share propositions are
therefore put into one part while its minimal automaton stays small.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from skm_machine.automata.dfa import Automaton
from skm_machine.automata.ldba import as_automaton, best_graph
from skm_machine.automata.limits import LimitReachedError, Limits, deep_diagrams_are_a_limit
from skm_machine.automata.ltlf import MAX_SECONDS, translated
from skm_machine.automata.mtbdd import DecisionTable, table_from_edges
from skm_machine.errors import UnsupportedMissionError
from skm_machine.logic.formula import FALSE, TRUE, Formula, conjunction, disjunction
from skm_machine.logic.normal_forms import seen_through
from skm_machine.recurrence import (
    AcceptanceMark,
    RecurrenceMonitor,
    monitor_finite,
    monitor_omega,
    recurring_machine,
    sort_clauses,
)
from skm_machine.reward_machine import Edge, Outcome, RewardMachine

Parts = tuple[int, ...]
"""The state of each part."""

ONE_MACHINE: Final = 1000
"""Larger machines than this are kept in parts where a mission is planned on a map.

Planning over 1000 states on a map of 1,736 cells takes 1 to 2 s, and grows with both.
"""
PART: Final = 32
"""Clauses that share propositions are put into one part of at most so many states.

Enough for a dozen precedences in a row; a search over tuples looks at parts one by one, and is not
slowed down by this."""
ON_THE_WAY: Final = 10 * ONE_MACHINE
"""States that a translation may take on its way to a machine of `ONE_MACHINE`."""
_CLAUSE_SECONDS: Final = 30.0
_WHOLE_SECONDS: Final = 0.2 * MAX_SECONDS
"""Of computing, to find out whether one machine is small enough: a robot stands and waits for it."""
_LARGEST: Final = 2**31 - 1
"""Numbers of states are sent as int32."""


@dataclass(frozen=True, eq=False)
class Part:
    """One or a few clauses, and the automaton that follows them."""

    clause: Formula
    table: DecisionTable
    initial: int
    targets: tuple[int | None, ...]
    """The state that each outcome of the table leads to; None: all is lost."""
    accepting: frozenset[int]
    """States in which what came so far satisfies it; of a recurring mission, with no clause pending."""
    dead: frozenset[int]
    settled: frozenset[int] = frozenset()
    """Accepting states that every continuation keeps accepting."""
    marks: dict[tuple[int, int], AcceptanceMark] | None = None
    """What each move, state and outcome, is worth to the round (`recurrence`)."""

    def outcome(self, state: int, labels: Collection[str]) -> int:
        """Return the outcome of the table for a label set."""
        return self.table.outcome(state, labels)

    def after(self, outcome: int) -> int | None:
        """Return the state that an outcome leads to; None if nothing can be achieved there."""
        target = self.targets[outcome]
        return None if target is None or target in self.dead else target

    @property
    def num_states(self) -> int:
        """The number of its states."""
        return len(self.table)

    def fatal(self, state: int) -> Formula:
        """Return the label sets after which it has failed."""
        lost = [o for o in self.table.outcomes(state) if self.after(o) is None]
        return self.table.label(state, *lost) if lost else FALSE

    def moves_to(self, state: int, target: int | None) -> Formula:
        """Return the label sets that lead from one state to another; None: that lose it."""
        found = [o for o in self.table.outcomes(state) if self.after(o) == target]
        return self.table.label(state, *found) if found else FALSE

    def shortest_word(
        self, state: int, wanted: Callable[[int | None], bool]
    ) -> list[frozenset[str]] | None:
        """Return a shortest sequence of label sets from a state to a wanted one; None: there is none."""
        came_from: dict[int, tuple[int, int]] = {}
        queue, seen = deque([state]), {state}
        while queue:
            here = queue.popleft()
            for outcome in self.table.outcomes(here):
                target = self.after(outcome)
                if wanted(target):
                    word = [self.table.example(here, outcome)]
                    while here != state:
                        here, outcome = came_from[here]  # noqa: PLW2901
                        word.append(self.table.example(here, outcome))
                    return word[::-1]
                if target is not None and target not in seen:
                    seen.add(target)
                    came_from[target] = here, outcome
                    queue.append(target)
        return None


class Step(NamedTuple):
    """What a label set does to the parts: their next states, None if one has failed, and the reward."""

    parts: Parts | None
    reward: float


class _Names(Sequence[str]):
    """The names of states, each worked out when it is asked for."""

    def __init__(self, machine: FactoredMachine) -> None:
        self._machine = machine

    def __getitem__(self, state: int) -> str:  # type: ignore[override]
        return self._machine.name(state)

    def __len__(self) -> int:
        return self._machine.num_states


class FactoredMachine(RewardMachine):
    """The product of parts, one tuple at a time; deterministic, complete, and without commitments."""

    def __init__(
        self,
        parts: Sequence[Part],
        recurrences: Sequence[Part] = (),
        *,
        endless: bool = False,
        repeat: bool = False,
    ) -> None:
        """Make the machine of a mission with an end, or, `endless`, of a recurring one.

        `recurrences` are the p of each `G F p`, as parts of `F p` that start over with every round.
        With `repeat` a mission with an end starts over each time that it succeeds.
        """
        put = object.__setattr__  # RewardMachine is frozen
        marks = [part for part in parts if _needs_mark(part)]
        put(self, "watched", tuple(parts))
        put(self, "recurrences", tuple(recurrences))
        put(self, "parts", (*parts, *recurrences, *map(_mark_part, marks)))
        put(self, "_marked", tuple(number for number, part in enumerate(parts) if part in marks))
        put(self, "repeat", repeat)
        put(self, "endless", endless or repeat)
        put(self, "initial", 0)
        put(self, "epsilon_transitions", ())
        put(self, "committed", frozenset())
        put(self, "quiescent", frozenset())
        put(self, "_steps", {})
        total = math.prod(part.num_states for part in self.parts)
        # Two numbers are kept for the ends, `accepted` and `failed`.
        put(self, "_exact", total < _LARGEST - 2)
        put(self, "_total", min(total, _LARGEST - 2))
        start = tuple(part.initial for part in self.parts)
        put(self, "start", start)
        put(self, "_numbers", {start: 0})
        put(self, "_tuples", {0: start})
        finite = not self.endless
        put(self, "co_safe", finite and all(p.accepting <= p.settled for p in self.parts))
        put(self, "terminal", frozenset({self.failed, *((self.accepted,) if finite else ())}))

    watched: tuple[Part, ...]
    recurrences: tuple[Part, ...]
    parts: tuple[Part, ...]
    start: Parts
    repeat: bool
    _marked: tuple[int, ...]
    _exact: bool
    _total: int
    _numbers: dict[Parts, int]
    _tuples: dict[int, Parts]
    _steps: dict[tuple[int, frozenset[str]], Outcome]

    @property
    def delta(self) -> DecisionTable:
        """There is none: code that needs all states at once cannot use this machine."""
        raise self._too_large()

    def _too_large(self) -> UnsupportedMissionError:
        return UnsupportedMissionError(
            f"the mission is kept in {len(self.parts)} parts, for as one machine it would have"
            f" {self.size_text} states: it can be planned and run on a map, and monitored, but not"
            " drawn, exported or planned by label sets. Split it into several missions for that."
        )

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """There are too many: see `delta`."""
        raise self._too_large()

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that the parts read."""
        return tuple(dict.fromkeys(n for part in self.parts for n in part.table.propositions))

    @property
    def num_states(self) -> int:
        """How many states the product may have, with the two ends; at most what an int32 holds."""
        return self._total + 2

    @property
    def size_text(self) -> str:
        """How many states the product may have, as text."""
        total = math.prod(part.num_states for part in self.parts)
        return f"up to {total:,}" if total < 10**9 else f"up to 10^{math.floor(math.log10(total))}"

    @property
    def accepted(self) -> int:
        """The state in which a mission with an end has succeeded."""
        return self._total

    @property
    def failed(self) -> int:
        """The state in which a part has failed."""
        return self._total + 1

    @cached_property
    def failure(self) -> frozenset[int]:
        """The state in which a part has failed; the start, if one can never be achieved."""
        lost = any(part.initial in part.dead for part in self.parts)
        return frozenset({self.failed, self.initial} if lost else {self.failed})

    @property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """A name for each state: the states of its parts, or `accepted` or `failed`."""
        return _Names(self)

    def name(self, state: int) -> str:
        """Return the name of a state: the state of each part in turn, as `u0110`."""
        if state in (self.accepted, self.failed):
            return "accepted" if state == self.accepted else "failed"
        numbers = self.parts_of(state)[: len(self.watched) + len(self.recurrences)]
        return "u" + ("" if max(numbers) < 10 else ".").join(map(str, numbers))

    def number(self, parts: Parts) -> int:
        """Return the number of a tuple, the same in every process: what is recorded can be compared."""
        found = self._numbers.get(parts)
        if found is None:
            if self._exact:
                found = 0
                for part, state, first in zip(self.parts, parts, self.start, strict=True):
                    # Relative to the start, which is 0 whatever the parts call their first states.
                    found = found * part.num_states + (state - first) % part.num_states
            else:
                # Too many tuples to count through. A hash of the tuple, not a counter: the number
                # must not depend on which tuples this process has met before.
                from hashlib import blake2b  # noqa: PLC0415 (slow to load, and rarely needed)

                digest = blake2b(repr(parts).encode(), digest_size=8).digest()
                found = 1 + int.from_bytes(digest, "big") % (self._total - 1)
                # A collision: the next free number. Rare enough that recordings still compare.
                while found in self._tuples:
                    found = 1 + found % (self._total - 1)
            self._numbers[parts] = found
            self._tuples[found] = parts
        return found

    def parts_of(self, state: int) -> Parts:
        """Return the states of the parts; those of the ends cannot be told."""
        # The number came from elsewhere, a recording or another process: it is taken apart again.
        if state not in self._tuples and self._exact and 0 <= state < self._total:
            rest, found = state, []
            for part, first in zip(reversed(self.parts), reversed(self.start), strict=True):
                rest, digit = divmod(rest, part.num_states)
                found.append((digit + first) % part.num_states)
            self._tuples[state] = tuple(reversed(found))
            self._numbers[self._tuples[state]] = state
        return self._tuples[state]

    def advance(self, parts: Parts, labels: Collection[str]) -> Step:
        """Return what a label set does to a tuple."""
        after: list[int] = []
        # A round starts anew as soon as one part says so, whatever the others are worth.
        fresh, marked = False, set[int]()
        count = len(self.watched)
        for number in range(count):
            part, state = self.parts[number], parts[number]
            outcome = part.outcome(state, labels)
            target = part.after(outcome)
            if target is None:
                return Step(None, 0.0)
            after.append(target)
            if part.marks is not None:
                mark = part.marks[state, outcome]
                fresh = fresh or mark is AcceptanceMark.NONE
                if mark is AcceptanceMark.MARK:
                    marked.add(number)
        if not self.recurrences and not self._marked and not self.endless:
            done = all(s in p.accepting for p, s in zip(self.parts, after, strict=True))
            return Step(tuple(after), float(done))
        return self._round(parts, labels, after, marked, fresh)

    def _round(
        self,
        parts: Parts,
        labels: Collection[str],
        after: list[int],
        marked: set[int],
        fresh: bool,
    ) -> Step:
        """Return what a step does to the round under way; `fresh`: it starts anew."""
        count, waited = len(self.watched), len(self.recurrences)
        start = self.start[count:]
        if self.repeat:
            done = all(s in p.accepting for p, s in zip(self.parts, after, strict=True))
            return Step(self.start if done else tuple(after), float(done))
        if fresh:
            # What was seen in this round is forgotten; the parts themselves go on.
            return Step((*after, *start), 0.0)
        for number in range(count, count + waited):
            target = self.parts[number].after(self.parts[number].outcome(parts[number], labels))
            # `F p` cannot be lost; None only says that it was seen already.
            after.append(parts[number] if target is None else target)
        bits = parts[count + waited :]
        after += [bit or int(n in marked) for n, bit in zip(self._marked, bits, strict=True)]
        seen = zip(self.parts[count:], after[count:], strict=True)
        if all(state in part.accepting for part, state in seen):
            return Step((*after[:count], *start), 1.0)
        return Step(tuple(after), 0.0)

    def step(self, state: int, labels: Collection[str]) -> Outcome:
        """Return the next state and the reward on entering an environment state with `labels`."""
        if state in (self.accepted, self.failed):
            return Outcome(state, 0.0)
        key = state, frozenset(labels)
        if key not in self._steps:
            if len(self._steps) > 100_000:
                self._steps.clear()  # a recurring mission runs for days
            parts, reward = self.advance(self.parts_of(state), labels)
            if parts is None:
                found = Outcome(self.failed, 0.0)
            elif reward > 0 and not self.endless:
                found = Outcome(self.accepted, reward)
            else:
                found = Outcome(self.number(parts), reward)
            self._steps[key] = found
        return self._steps[key]

    def successors(self, state: int) -> list[Outcome]:
        """Return what can happen by the move of one part alone, the others staying as they are.

        Several may move in one step; these are not listed.
        """
        if state in (self.accepted, self.failed):
            return []
        here, found = self.parts_of(state), dict[Outcome, None]()
        for number, part in enumerate(self.parts):
            for outcome in part.table.outcomes(here[number]):
                target = part.after(outcome)
                if target is None:
                    found[Outcome(self.failed, 0.0)] = None
                elif target != here[number]:
                    moved = (*here[:number], target, *here[number + 1 :])
                    found[Outcome(self.number(moved), 0.0)] = None
        return list(found)

    def label(self, state: int, outcomes: Collection[Outcome]) -> Formula:
        """Return what the parts that move have to read for one of `outcomes`, as a short formula."""
        here, ways = self.parts_of(state), list[Formula]()
        for target, _ in outcomes:
            if target == self.failed:
                ways += [part.fatal(at) for part, at in zip(self.parts, here, strict=True)]
            elif target == self.accepted:
                missing = [
                    part.table.label(at, *done)
                    for part, at in zip(self.parts, here, strict=True)
                    if at not in part.accepting
                    and (
                        done := [
                            o for o in part.table.outcomes(at) if part.after(o) in part.accepting
                        ]
                    )
                ]
                ways.append(conjunction(*missing))
            else:
                there = zip(self.parts, here, self.parts_of(target), strict=True)
                ways.append(conjunction(*(p.moves_to(a, b) for p, a, b in there if a != b)))
        return disjunction(*(way for way in ways if way is not FALSE))

    def iterate_edges(self) -> Iterator[Edge]:
        """There are too many: see `delta`."""
        raise self._too_large()

    @cached_property
    def commitment_edges(self) -> tuple[Edge, ...]:
        """There are none."""
        return ()

    def begun_in(self, state: int) -> FactoredMachine:
        """Return the machine of what is left in a state: the same, but it begins there."""
        self.parts_of(state)
        machine = copy.copy(self)
        object.__setattr__(machine, "initial", state)
        return machine

    def repeating(self) -> FactoredMachine:
        """Return the machine that starts over at each success."""
        return FactoredMachine(self.watched, repeat=True)

    def pending_clauses(self, state: int) -> list[str]:
        """Return the clauses that are not satisfied yet by what came so far, as text."""
        if state in (self.accepted, self.failed):
            return []
        found = zip(self.parts, self.parts_of(state), strict=True)
        return [str(part.clause) for part, at in found if at not in part.accepting]

    def way_to_fail(self, state: int) -> list[frozenset[str]] | None:
        """Return a shortest sequence of label sets after which a part has failed; None: none can."""
        words = [
            word
            for part, at in zip(self.watched, self.parts_of(state), strict=False)
            if (word := part.shortest_word(at, lambda target: target is None)) is not None
        ]
        return min(words, key=len, default=None)

    def way_to_succeed(self, state: int) -> list[frozenset[str]] | None:
        """Return a sequence of label sets that earns the reward, shortest for each part; or None.

        All parts with a pending clause read what they need at the same time, while no other loses by
        it; else one after the other. None: none was found that way, which is no proof.
        """
        here, trace = self.parts_of(state), list[frozenset[str]]()
        # Each turn moves a part on; without a bound, two parts that undo each other would go on
        # forever.
        for _ in range(4 * sum(part.num_states for part in self.parts)):
            wanted = self._needs(here)
            together = frozenset().union(*wanted)
            # All at once is shortest; an empty step last, for parts that only wait for time to
            # pass.
            for labels in (together, *wanted, frozenset[str]()):
                after, reward = self.advance(here, labels)
                if after is not None and (reward > 0 or after != here):
                    break
            else:
                return None
            trace.append(frozenset(labels))
            if reward > 0:
                return trace
            assert after is not None
            here = after
        return None

    def _needs(self, here: Parts) -> list[frozenset[str]]:
        """Return, for each part that is not satisfied, what it has to read next."""
        found = []
        for part, at in zip(self.parts, here, strict=True):
            if at not in part.accepting:
                word = part.shortest_word(at, part.accepting.__contains__)
                if word:
                    found.append(word[0])
        return found


def _needs_mark(part: Part) -> bool:
    return part.marks is not None and AcceptanceMark.WAITING in part.marks.values()


def _mark_part(part: Part) -> Part:
    """Return the two states of whether a part was accepted in this round; nothing moves it."""
    table = table_from_edges((), [[(TRUE, 0)], [(TRUE, 1)]], default=0)
    return Part(part.clause, table, 0, (0, 1), frozenset({1}), frozenset(), frozenset({1}))


def finite_part(clause: Formula, automaton: Automaton) -> Part:
    """Return the part that follows clauses on finite traces."""
    return Part(
        clause,
        automaton.table,
        automaton.initial,
        tuple(range(automaton.num_states)),
        automaton.accepting,
        automaton.dead,
        automaton.settled,
    )


def _monitoring_part(clause: Formula, monitor: RecurrenceMonitor) -> Part:
    """Return the part that watches a clause of a recurring mission."""
    return Part(
        clause,
        monitor.table,
        monitor.initial,
        monitor.targets,
        monitor.quiescent,
        monitor.dead,
        marks=monitor.marks,
    )


def clauses_of(formula: Formula) -> list[Formula]:
    """Return the conjuncts of a formula, each once."""
    found, stack = dict[Formula, None](), [formula]
    while stack:
        clause = stack.pop()
        if clause.operator == "&":
            stack.extend(reversed(clause.operands))
        else:
            found[clause] = None
    return list(found)


def in_parts(formula: Formula, *, through: bool = False) -> FactoredMachine:
    """Return the parts of a mission with an end, one for each clause, whatever its size."""
    form = seen_through if through else _unchanged
    limits = Limits(ON_THE_WAY, _CLAUSE_SECONDS)
    return FactoredMachine(
        [finite_part(clause, translated(form(clause), limits)) for clause in clauses_of(formula)]
    )


class Factored(NamedTuple):
    """A mission in parts, and whether it may fit one machine of the size that was asked for."""

    machine: FactoredMachine
    may_fit: bool


def factored(formula: Formula, through: bool, most: int) -> Factored | None:
    """Return the parts of a mission with an end; None if one machine of `most` states will do.

    `through`: bounds are seen through, as `translate` says. None, too, where there are no parts, or one
    of them is too large by itself. Whether a machine of many states will do is not found out: that is
    the translation itself, and takes as long.
    """
    clauses = clauses_of(formula)
    if len(clauses) < 2:
        return None
    form = seen_through if through else _unchanged

    def part(clause: Formula, limit: int, seconds: float = _CLAUSE_SECONDS) -> Part:
        return finite_part(clause, translated(form(clause), Limits(limit, seconds)))

    try:
        found = [part(clause, ON_THE_WAY) for clause in clauses]
        if math.prod(each.num_states for each in found) <= min(most, ONE_MACHINE):
            return None
        parts = _grouped(found, part)
    except LimitReachedError:
        return None  # One clause alone is too large: the translation of the whole says which.
    if len(parts) == 1:
        return None
    may_fit = _may_fit(parts, most)
    if may_fit and most <= ONE_MACHINE:
        try:
            if part(formula, ON_THE_WAY, _WHOLE_SECONDS).num_states <= most:
                return None
        except LimitReachedError:
            may_fit = False
    return Factored(FactoredMachine(parts), may_fit)


def _unchanged(formula: Formula) -> Formula:
    return formula


def _grouped(parts: Sequence[Part], join: Callable[[Formula, int], Part]) -> list[Part]:
    """Put parts that share propositions into one, while its minimal automaton is small enough."""
    groups = list(parts)
    number = 0
    while number < len(groups):
        mine = groups[number]
        names = set(mine.table.propositions)
        for other in groups[number + 1 :]:
            sizes = mine.num_states * other.num_states
            # Parts without a proposition in common only multiply.
            if names.isdisjoint(other.table.propositions) or sizes > 8 * PART:
                continue
            try:
                # Translated anew: the minimal automaton is often much smaller than the product of
                # the two.
                both = join(conjunction(mine.clause, other.clause), 16 * PART)
            except LimitReachedError:
                continue
            if both.num_states <= PART:
                mine = groups[number] = both
                names |= set(other.table.propositions)
                groups.remove(other)
        number += 1
    return groups


def _may_fit(parts: Sequence[Part], most: int) -> bool:
    """Tell whether one machine may be small: where parts have no proposition in common, it is not.

    Then each can be brought into any state that lasts while nothing shows, so into all pairs of them.
    States that do not last, as those of a counter, need not multiply: counters go along together.
    """
    least, taken = 1, set[str]()
    # Largest first: of parts that share propositions only one is counted.
    for part in sorted(parts, key=lambda part: -part.num_states):
        if taken.isdisjoint(part.table.propositions):
            taken |= set(part.table.propositions)
            live = [state for state in range(part.num_states) if state not in part.dead]
            least *= max(1, sum(part.after(part.outcome(s, ())) == s for s in live))
    return least <= most


def factored_recurring(formula: Formula, most: int) -> Factored | None:
    """Return the parts of a recurring mission; None if one machine of `most` states will do.

    None, too, where a clause takes commitments: these are only known to one machine.
    """
    clauses = sort_clauses(formula)
    if len(clauses.recurrences) + len(clauses.others) < 2:
        return None
    limits = Limits(ON_THE_WAY, _CLAUSE_SECONDS)
    try:
        with deep_diagrams_are_a_limit():
            recurrences = [
                finite_part(p, translated(Formula("F", (p,)), limits)) for p in clauses.recurrences
            ]
            parts = []
            for clause, finite in clauses.others:
                if finite is not None:
                    monitor = monitor_finite(translated(finite, limits))
                else:
                    graph = best_graph(clause, limits)
                    monitor = monitor_omega(as_automaton(graph, clause.propositions()))
                if monitor.epsilon_transitions:
                    return None
                parts.append(_monitoring_part(clause, monitor))
    except LimitReachedError:
        return None
    if math.prod(part.num_states for part in (*parts, *recurrences)) <= min(most, ONE_MACHINE):
        return None
    may_fit = _may_fit([*parts, *recurrences], most)
    if may_fit and most <= ONE_MACHINE:
        try:
            one = recurring_machine(formula, max_states=ON_THE_WAY, max_seconds=_WHOLE_SECONDS)
            if one.num_states <= most:
                return None
        except UnsupportedMissionError:
            may_fit = False
    return Factored(FactoredMachine(parts, recurrences, endless=True), may_fit)
