"""A mission under way in plain words: what the robot does, what comes next, what it avoids, its end.

This is the one place that makes these sentences; `skm mission`, `skm status`, feedback messages,
recordings and the page show them. Nothing is said that does not follow from the mission's machine and
the label sets that the world shows: where the order of what comes next is open, it is left open here.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from skm_machine.events import subsets
from skm_machine.logic.shortening import telling
from skm_machine.logic.timed import seconds_text
from skm_machine.mission import Mission
from skm_machine.monitor import is_fatal
from skm_machine.reward_machine import Outcome
from skm_machine.tracker import Transition
from skm_primitives.execution.explain import Weighing
from skm_primitives.execution.german import translated
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.phrases import Phrases
from skm_primitives.planning.policy import Expectation, best_of_goals
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.values import GoalToGoal, Skills, hold_of
from skm_sim.finite_world import FiniteWorld

LabelSet = frozenset[str]

MOST_READ: Final = 200_000
"""Machine states × label sets that are gone through to know what comes next; of larger machines only the
present state is described. One takes about 2 µs."""
MOST_EVENTS: Final = 4
"""Events whose every combination is looked at."""
MOST_NEXT: Final = 4
"""Things that are said to come next; of longer ways the number of the rest."""
MOST_NAMES: Final = 5
MOST_MILESTONES: Final = 6
MOST_MOVES: Final = 50
"""Moves of the machine, the last ones, among which milestones are looked for."""
LEAST_STANDING: Final = 1.0
"""Seconds for which a robot was stopped that are worth a sentence."""
OVERDUE: Final = 10
"""Steps after which something is said to be overdue: estimates are often wrong by a few."""
MOST_TOLD: Final = 1000
"""Situations whose sentences are kept."""


@dataclass(frozen=True)
class Situation:
    """Where a mission is, as a run or a message says it."""

    state: int
    """The machine's."""
    goal: LabelSet | None = None
    """What is in pursuit; None: nothing in particular."""
    steps: int | None = None
    """To that goal."""
    step_seconds: float = 0.0
    """How long a step takes; 0 if unknown."""
    events: LabelSet = frozenset()
    """Those that are true."""
    nearest: int | None = None
    """Steps to the nearest of what would fail the mission; None: not known, or out of reach."""
    rounds: int = 0
    waiting: bool = False
    overdue: int = 0
    """Steps since the machine was to have moved, by the best that was expected; see `Approach`."""


@dataclass(frozen=True)
class Ending:
    """How a mission ended."""

    outcome: str
    """A word of `skm_primitives.recording.cdr.OUTCOMES`."""
    steps: int = 0
    seconds: float = 0.0
    moves: Sequence[Transition] = ()
    rounds: int = 0
    shielded: bool = True
    began: bool = True
    nearest: int | None = None
    """Steps to the nearest of what would fail the mission, as it was last told; None: not known."""
    pursued: tuple[int, LabelSet] | None = None
    """The machine's state at the end, and what the robot was going for."""
    left: int | None = None
    """Steps that were left to that, as they were last told; None: not known."""
    overdue: int = 0
    """As in `Situation`."""
    stood: tuple[float, str] = (0.0, "")
    """See `Standing`."""


class Standing:
    """For how long a robot was stopped during a mission, and for which reason for the longest."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._since: tuple[str, float] = "", 0.0

    def note(self, reason: str, at: float) -> None:
        """Take why it is stopped at a moment; empty: it is not."""
        before, since = self._since
        if before:
            self._seconds[before] = self._seconds.get(before, 0.0) + max(0.0, at - since)
        self._since = reason, at

    def told(self, at: float) -> tuple[float, str]:
        """Return the seconds in all up to a moment, and the reason of most of them."""
        self.note(self._since[0], at)
        most = max(self._seconds, key=lambda reason: self._seconds[reason], default="")
        return sum(self._seconds.values()), most


class Approach:
    """When the machine was to move, by what was said of it, and for how long that is over.

    Learned skills expect what they have seen in training. Where the world has nothing of the kind,
    they go on expecting it, and the robot looks for it: then the first expectation tells more than
    the last.
    """

    def __init__(self) -> None:
        self._state: tuple[object, ...] = ()
        self._arrival: int | None = None

    def overdue(self, steps: int | None, now: int, *state: object) -> int:
        """Take how many steps are to go at a step of the mission in this state; return steps overdue."""
        if state != self._state:
            self._state, self._arrival = state, None
        if steps is not None and (self._arrival is None or now + steps < self._arrival):
            self._arrival = now + steps
        late = 0 if self._arrival is None else now - self._arrival
        return late if late >= OVERDUE else 0


def steps_away(value: float, gamma: float, hold: int = 1) -> int | None:
    """Return how many steps away a goal of this value is, 1 or more; None: out of reach.

    A value is discounted once for each decision, which is held for `hold` steps.
    """
    if value <= 0 or not 0 < gamma < 1:
        return None
    return hold * (1 + max(0, round(math.log(min(1.0, value)) / math.log(gamma))))


class Narrator:
    """Tells one mission in a world that shows some label sets."""

    def __init__(
        self,
        mission: Mission,
        label_sets: Collection[LabelSet],
        learned: Collection[str] | None = None,
    ) -> None:
        """Tell what skills believe as that, where they are all that is known of the world.

        `learned` is what they have learned to avoid then; None: ways are planned.
        """
        self._mission = mission
        self._learned = None if learned is None else frozenset(learned)
        self._machine = machine = mission.planned.machine
        self._ticks = frozenset(() if mission.clocks is None else mission.clocks.names)
        self._names = [name for name in machine.propositions if name not in self._ticks]
        read: set[LabelSet] = {frozenset()}
        read.update(labels.intersection(self._names) for labels in label_sets)
        events = [event for event in mission.events if event in self._names]
        happening = subsets(events) if len(events) <= MOST_EVENTS else [frozenset[str]()]
        self._events = frozenset(events)
        both = {labels | event for labels in read for event in happening}
        self._sets = sorted(both, key=lambda labels: (len(labels), sorted(labels)))
        self._moves: dict[int, dict[Outcome, list[LabelSet]]] = {}
        self._named: dict[tuple[int, Outcome], str] = {}
        small = machine.num_states * len(self._sets) <= MOST_READ
        self._far = self._distances() if small else {}

    # The machine, as far as it can move here

    def _outcomes(self, state: int) -> dict[Outcome, list[LabelSet]]:
        """Return what can happen in a state, each with the label sets that bring it about."""
        if state not in self._moves:
            found: dict[Outcome, list[LabelSet]] = {}
            if state not in self._machine.terminal and state not in self._machine.failure:
                for labels in self._sets:
                    for outcome in self._machine.options(state, labels):
                        found.setdefault(outcome, []).append(labels)
            self._moves[state] = found
        return self._moves[state]

    def _is_fatal(self, outcome: Outcome) -> bool:
        return is_fatal(self._machine, outcome)

    def _distances(self) -> dict[int, int]:
        """Return the fewest moves to success, or to the next round, of every state that has any."""
        before: dict[int, set[int]] = {}
        queue: deque[int] = deque()
        far: dict[int, int] = {}
        for state in range(self._machine.num_states):
            for outcome in self._outcomes(state):
                if outcome.reward > 0:
                    far.setdefault(state, 1)
                elif not self._is_fatal(outcome) and outcome.target != state:
                    before.setdefault(outcome.target, set()).add(state)
            if state in far:
                queue.append(state)
        while queue:
            state = queue.popleft()
            for source in before.get(state, ()):
                if source not in far:
                    far[source] = far[state] + 1
                    queue.append(source)
        return far

    def _continuation(self, state: int) -> list[Outcome]:
        """Return the moves that bring the mission nearer to success, each outcome once."""
        here = self._far.get(state)
        if here is None:
            return []
        return [
            outcome
            for outcome in self._outcomes(state)
            if outcome.reward > 0
            or (not self._is_fatal(outcome) and self._far.get(outcome.target, here) < here)
        ]

    def _count(self, state: int) -> tuple[int, int] | None:
        """Return which part of how many the robot is at; None: there is but one, or it is unknown."""
        here = self._far.get(state)
        if here is None:
            return None
        all_parts = max(here, self._far.get(self._machine.initial, 0))
        return (all_parts - here + 1, all_parts) if all_parts > 1 else None

    # Names

    def _told(self, labels: LabelSet, others: Collection[LabelSet], phrases: Phrases) -> str:
        """Return what tells a label set from others: what holds in it, or else what does not."""
        held, missing = self._telling(labels, others)
        if held:
            return phrases.joined(held, "with")
        return phrases("without", names=phrases.joined(missing, "or")) if missing else ""

    def _telling(
        self, labels: LabelSet, others: Collection[LabelSet]
    ) -> tuple[list[str], list[str]]:
        """Return the names that tell a label set from others: those that hold, those that do not."""
        read = labels.intersection(self._names)
        named = telling([read], [o for o in others if o != read], self._names).propositions()
        listed = [name for name in self._names if name in named]
        held = [_plain(name) for name in listed if name in read]
        return held, [_plain(name) for name in listed if name not in read]

    def _name(self, state: int, outcome: Outcome, phrases: Phrases) -> str:
        """Return what brings an outcome about: alternatives, the simplest ones."""
        found: list[str] = []
        outcomes = self._outcomes(state)
        others = [s for other, sets in outcomes.items() if other != outcome for s in sets]
        others = [labels for labels in others if labels not in outcomes[outcome]]
        kept: list[LabelSet] = []
        # The robot goes for what it can bring about itself, if there is such a way.
        own = [labels for labels in outcomes[outcome] if not labels & self._events]
        for labels in own or outcomes[outcome]:
            if any(simpler <= labels for simpler in kept):
                continue  # what shows more is no other way
            kept.append(labels)
            text = self._told(labels, others, phrases)
            if text and text not in found:
                found.append(text)
        return phrases.joined(found[:MOST_NAMES], "or")

    def _goal_name(self, state: int, goal: LabelSet, phrases: Phrases) -> str:
        """Return what a label set in pursuit is about, in words."""
        return phrases.joined([_plain(name) for name in self.named(state, goal)], "with")

    def named(self, state: int, goal: LabelSet) -> list[str]:
        """Return what of a label set in pursuit is said: as little as moves the machine so."""
        read = goal.intersection(self._names)
        outcomes = self._outcomes(state)
        leads = set(self._machine.options(state, read))
        moving = {o for o in leads if o.target != state or o.reward > 0}
        others = [s for o, sets in outcomes.items() if o not in moving for s in sets]
        named = telling([read], [s for s in others if s != read], self._names).propositions()
        held = [name for name in self._names if name in named and name in read - self._events]
        return held if moving else []

    # Sentences

    def where(self, now: Situation, language: str = "en") -> str:
        """Return what the robot is doing, what comes next, and what it avoids."""
        phrases = Phrases(language)
        state, machine = now.state, self._machine
        if state in machine.terminal or state in machine.failure or state < 0:
            return ""
        count = self._count(state)
        head = phrases("count", k=count[0], n=count[1]) if count else ""
        if machine.endless or now.rounds:
            head = phrases("round", round=now.rounds + 1) + head
        if now.waiting:
            said = head + self._waiting(state, now.events, phrases)
        else:
            said = head + self._doing(now, phrases)
        return said[:1].upper() + said[1:] + "." + self._avoided(now, phrases)

    def _doing(self, now: Situation, phrases: Phrases) -> str:
        state, after = now.state, None
        goal = "" if now.goal is None else self._goal_name(state, now.goal | now.events, phrases)
        if goal and now.goal is not None:
            read = (now.goal | now.events).intersection(self._names)
            after = self._machine.options(state, read)[0]
            said = phrases("going", goal=goal)
        elif now.goal is not None:
            # A move that no place is gone for: the machine only takes note of what is not there.
            return phrases("getting on")
        else:
            continuation = self._continuation(state)
            names = list(dict.fromkeys(self._name(state, o, phrases) for o in continuation))
            names = [name for name in names if name]
            after = continuation[0] if len(continuation) == 1 else None
            if not names:
                said = phrases("getting on")
            elif len(names) == 1:
                said = phrases("going", goal=names[0])
            else:
                said = phrases("quickest", goal=phrases.joined(names[:MOST_NAMES], "or"))
        if now.steps is not None:
            steps = self._far_away(now.steps, phrases)
            if now.step_seconds > 0:
                seconds = now.steps * now.step_seconds
                # One "about" is enough.
                time = phrases.time(seconds) if self._learned is None else phrases.span(seconds)
                said += phrases("to go in", steps=steps, time=time)
            else:
                said += phrases("to go", steps=steps)
            if now.overdue and self._learned is not None:
                said += phrases("overdue", steps=phrases.after(now.overdue))
        return said + ("" if after is None else self._following(after, phrases))

    def _far_away(self, steps: int, phrases: Phrases) -> str:
        """Return a distance: as planned, or about as the skills believe."""
        said = phrases.steps(steps)
        return said if self._learned is None else phrases("about", steps=said)

    def _following(self, after: Outcome, phrases: Phrases) -> str:
        """Return what comes after a move, as far as the machine settles it."""
        found: list[str] = []
        while after.reward <= 0 and after.target in self._far:
            state = after.target
            continuation = self._continuation(state)
            rest = self._far[state]
            if len(continuation) > 1:
                names = self._open(state, phrases)
                open_names = phrases("any order", names=phrases.joined(names)) if names else ""
                found.append(open_names or phrases("more", n=rest))
                break
            name = self._name(state, continuation[0], phrases) if continuation else ""
            if not name or (len(found) + 1 == MOST_NEXT and rest > 1):
                found.append(phrases("more", n=rest))
                break
            found.append(name)
            after = continuation[0]
        if not found:
            return ""
        return phrases("then", next=found[0]) + "".join(phrases("next", next=n) for n in found[1:])

    def _open(self, state: int, phrases: Phrases) -> list[str]:
        """Return what is left to do from a state where it can be done in any order; else nothing."""
        names: dict[str, None] = {}
        queue, seen = [state], {state}
        for each in queue:
            for outcome in self._continuation(each):
                names.setdefault(self._name(each, outcome, phrases))
                if outcome.reward <= 0 and outcome.target not in seen:
                    seen.add(outcome.target)
                    queue.append(outcome.target)
            if len(names) > MOST_NAMES:
                return []
        # As many moves as names: each of them is one of the tasks, whichever comes first.
        return list(names) if len(names) == self._far[state] else []

    def avoided(self, state: int, true: LabelSet = frozenset()) -> frozenset[str]:
        """Return the propositions any one of which would fail the mission if it showed now."""
        if state < 0 or state in self._machine.terminal or state in self._machine.failure:
            return frozenset()
        quiet = true.intersection(self._names)
        if self._fails(state, quiet):
            return frozenset()
        names = [name for name in self._names if name not in self._events]
        return frozenset(name for name in names if self._fails(state, quiet | {name}))

    def _fails(self, state: int, labels: LabelSet) -> bool:
        return all(self._is_fatal(outcome) for outcome in self._machine.options(state, labels))

    def _avoided(self, now: Situation, phrases: Phrases) -> str:
        """Return what would fail the mission in the present state."""
        outcomes = self._outcomes(now.state)
        fatal = [labels for o, sets in outcomes.items() if self._is_fatal(o) for labels in sets]
        safe = [labels for o, sets in outcomes.items() if not self._is_fatal(o) for labels in sets]
        fatal = [labels for labels in fatal if labels - now.events == labels or labels in safe]
        said, stays, happening = [], [], dict[str, None]()
        for labels in dict.fromkeys(fatal):
            named = telling([labels], safe, self._names).propositions()
            if named and self._events.issuperset(named):
                happening.update((_plain(name), None) for name in named if name in labels)
                continue  # what the robot does not control it cannot avoid
            held = [_plain(name) for name in self._names if name in named and name in labels]
            missing = [_plain(name) for name in self._names if name in named and name not in labels]
            text = phrases.joined(held, "with")
            if held and text not in said:
                said.append(text)
            elif not held and missing:
                stays += [name for name in missing if name not in stays]
        sentence = ""
        if said:
            # What is avoided by itself needs no mention together with something else.
            single = {name for name in said if name in map(_plain, self._names)}
            named_once = [n for n in said if n in single or not any(s in n for s in single)]
            names = phrases.joined(named_once[:MOST_NAMES])
            if now.nearest is None:
                sentence = phrases("avoiding", names=names)
            else:
                steps = self._far_away(now.nearest, phrases)
                sentence = phrases("avoiding near", names=names, steps=steps)
        if stays and not said:
            sentence = phrases("staying", names=phrases.joined(stays[:MOST_NAMES], "or"))
        if happening:
            names = phrases.joined(list(happening)[:MOST_NAMES], "or")
            sentence += phrases("would fail", names=names[:1].upper() + names[1:])
        return sentence

    def _waiting(self, state: int, true: LabelSet, phrases: Phrases) -> str:
        """Return what is waited for: an event that moves the machine, or time."""
        still = self._machine.options(state, true.intersection(self._names))
        awaited = [
            _plain(event)
            for event in sorted(self._events - true)
            if self._machine.options(state, (true | {event}).intersection(self._names)) != still
        ]
        if awaited:
            return phrases("waiting event", names=phrases.joined(awaited, "or"))
        return phrases("waiting time")

    def move(self, move: Transition, language: str = "en", rounds: int = 0) -> str:
        """Return what a move of the machine means; `rounds` have been completed with it."""
        phrases = Phrases(language)
        if move.labels & self._ticks and not move.reward:
            return phrases("clock")
        goal = self._reached(move, phrases)
        if not goal:
            return phrases("moved")
        if move.reward > 0:
            ended = move.target in self._machine.terminal
            return phrases("accomplished" if ended else "round complete", goal=goal, round=rounds)
        if self._is_fatal(Outcome(move.target, move.reward)):
            return phrases("fatal", goal=goal)
        source, target = self._far.get(move.source), self._far.get(move.target)
        count = self._count(move.source)
        if source is None or target is None or target >= source or count is None:
            return phrases("reached", goal=goal)
        return phrases("reached count", goal=goal, k=count[0], n=count[1])

    def _reached(self, move: Transition, phrases: Phrases) -> str:
        return self._told(move.labels, self._elsewhere(move), phrases)

    def _elsewhere(self, move: Transition) -> list[LabelSet]:
        """Return the label sets that would have led the machine elsewhere."""
        outcome, sets = Outcome(move.target, move.reward), self._outcomes(move.source)
        others = [s for o, found in sets.items() if o != outcome for s in found]
        read = move.labels.intersection(self._names)
        # What a move needed is what it would not have been made without. The world's own label sets
        # do not always say that: several robots show theirs together.
        lesser = (read - {name} for name in read)
        others += [s for s in lesser if outcome not in self._machine.options(move.source, s)]
        return [s for s in others if s not in sets.get(outcome, ())]

    def ended(self, end: Ending, language: str = "en") -> str:
        """Return how a mission ended: what was reached and when, or what failed it, and why."""
        phrases = Phrases(language)
        said = self._told_of_end(end, phrases)
        seconds, reason = end.stood
        good = end.outcome in ("accepted", "satisfied so far")
        if seconds < LEAST_STANDING or good or not end.began:
            return said
        reason = translated(reason.removeprefix("the robot is stopped: "), language)
        return said + phrases("stood", time=phrases.span(seconds), reason=reason)

    def _told_of_end(self, end: Ending, phrases: Phrases) -> str:
        outcome = phrases("outcome failed" if end.outcome == "failed" else end.outcome)
        if not end.began:
            return phrases("never began", outcome=outcome) + "."
        length = phrases.after(end.steps)
        if end.seconds > 0:
            length += f" ({phrases.number(end.seconds)} s)"
        fatal = [m for m in end.moves if self._is_fatal(Outcome(m.target, m.reward))]
        reached = [m for m in end.moves if m not in fatal and self._counts(m)]
        visited = [
            phrases("at step", goal=self._reached(move, phrases), step=move.step)
            for move in reached[-MOST_MILESTONES:]
            if self._reached(move, phrases)
        ]
        if end.outcome == "failed" and fatal:
            return phrases("failed", length=length) + self._blame(fatal[-1], end, visited, phrases)
        if end.outcome == "accepted" and end.rounds <= 1:
            said = phrases("done", length=length)
            return said + (phrases("list", names=", ".join(visited)) if visited else "") + "."
        if end.outcome in ("accepted", "satisfied so far"):
            key = "round done" if end.rounds == 1 else "rounds done"
            return phrases(key, length=length, n=end.rounds) + "."
        if end.outcome == "failed":
            return phrases("failed", length=length) + "."
        said = phrases("ended", length=length, outcome=outcome) + "."
        if end.rounds:
            visited = []  # of many rounds, how many says more than where it was last
            said += phrases("rounds before" if end.rounds > 1 else "round before", n=end.rounds)
        said += phrases("until then", names=", ".join(visited)) if visited else ""
        goal = "" if end.pursued is None else self._goal_name(*end.pursued, phrases)
        if goal and end.overdue and self._learned is not None:
            return said + phrases("sought", goal=goal, steps=phrases.steps(end.overdue))
        return said + (phrases("pursued", goal=goal) if goal else "")

    def _counts(self, move: Transition) -> bool:
        """Tell whether a move brought the mission nearer to success."""
        source = self._far.get(move.source, 0)
        return move.reward > 0 or self._far.get(move.target, source) < source

    def _blame(self, move: Transition, end: Ending, visited: list[str], phrases: Phrases) -> str:
        """Return what failed a mission, which clause forbids it, and what would have been better."""
        late = self._too_late(move, phrases)
        if late:
            if end.left is not None:
                late += phrases("left", steps=self._far_away(end.left, phrases))
            return late + (phrases("until then", names=", ".join(visited)) if visited else "")
        goal = self._reached(move, phrases)
        if not goal:
            return "."
        clause = self._clause(move)
        held, missing = self._telling(move.labels, self._elsewhere(move))
        what = "forbidden" if held else "missed"
        names = phrases.joined(missing, "or")
        if clause:
            said = phrases(what, goal=goal, names=names, step=move.step, clause=clause) + "."
        else:
            said = phrases(f"{what} there", goal=goal, names=names, step=move.step) + "."
        if visited:
            said += phrases("until then", names=", ".join(visited))
        if not held:
            return said
        named = self._told_apart_by(move)
        if named and named <= self._events:
            return said + phrases("not controlled", goal=goal)
        if any(not self._is_fatal(outcome) for outcome in self._outcomes(move.source)):
            said += phrases("instead", goal=goal)
        if self._learned is None:
            return said + ("" if end.shielded else phrases("no shield"))
        return said + self._mistaken(goal, named, end, phrases)

    def _too_late(self, move: Transition, phrases: Phrases) -> str:
        """Return what was not done in time, where a clock has failed the mission; else nothing."""
        clocks, formula = self._mission.clocks, self._mission.formula
        if clocks is None or formula is None or not move.labels & self._ticks:
            return ""
        tick = next(tick for tick in clocks.ticks if tick.name in move.labels)
        window, clause = clocks.windows[tick.operator], clocks.texts[tick.operator]
        about = next((sub for sub in formula.subformulas() if str(sub) == clause), None)
        names = [] if about is None else list(map(_plain, about.propositions()))
        if window.last is None or not names:
            return ""
        time = seconds_text(window.last).replace("s", " s")
        return phrases("too late", names=phrases.joined(names), time=time, clause=clause) + "."

    def _mistaken(self, goal: str, named: frozenset[str], end: Ending, phrases: Phrases) -> str:
        """Return how skills that were learned come to fail a mission, and what can be done about it."""
        missing = [_plain(name) for name in sorted(named - (self._learned or frozenset()))]
        if missing:
            return phrases("not learned", names=phrases.joined(missing, "or"))
        if end.nearest is None:
            return phrases("mistaken", goal=goal)
        steps = self._far_away(end.nearest, phrases)
        return phrases("mistaken by", goal=goal, steps=steps)

    def _clause(self, move: Transition) -> str:
        """Return the one clause of the mission that speaks of what has failed it; else nothing."""
        formula = self._mission.formula
        if formula is None or formula.operator != "&":
            return ""
        named = self._told_apart_by(move)
        about = [part for part in formula.operands if named & set(part.propositions())]
        return str(about[0]) if len(about) == 1 else ""

    def _told_apart_by(self, move: Transition) -> frozenset[str]:
        """Return the propositions that tell what has failed a mission from what would not have."""
        safe = [
            labels
            for outcome, sets in self._outcomes(move.source).items()
            if not self._is_fatal(outcome)
            for labels in sets
        ]
        read = move.labels.intersection(self._names)
        shortest = telling([read], [s for s in safe if s != read], self._names)
        return frozenset(shortest.propositions())


def learned_constraints(skills: Skills) -> Collection[str] | None:
    """Return what skills have learned to avoid, if they are all that is known of the world."""
    return skills.constraints if isinstance(skills.world_model, GoalToGoal) else None


def shown_sets(skills: Skills) -> set[LabelSet]:
    """Return the label sets that a world shows, as far as its skills know it."""
    behind = skills.world_model
    known = behind.label_sets if isinstance(behind, FiniteWorld) else ()
    return {frozenset(), *label_sets_of(skills.goals), *known}


class RunNarrator:
    """Tells a run in this process."""

    def __init__(
        self, run: MissionRun, pace: Callable[[], float] = lambda: 0.0, language: str = "en"
    ) -> None:
        """`pace` says how long a step takes now, in seconds; 0 if unknown."""
        self._run, self._pace, self._language = run, pace, language
        self._narrator = Narrator(
            run.policy.mission, shown_sets(run.skills), learned_constraints(run.skills)
        )
        self._approach = Approach()
        self._last_nearest: int | None = None
        self._last_steps: int | None = None
        self._overdue = 0
        self._dangers: dict[int, list[int]] = {}
        self._alike: dict[tuple[int, int], list[list[int]]] = {}
        self._told: dict[Situation, str] = {}

    @property
    def where(self) -> str:
        """What the robot does now, what comes next, and what it avoids."""
        run, tracker = self._run, self._run.tracker
        decision, skills = run.decision, run.skills
        steps, self._last_nearest = self.steps, self._nearest()
        self._last_steps = steps
        state = tracker.state, tracker.accepting_visits
        self._overdue = self._approach.overdue(steps, tracker.steps, *state)
        now = Situation(
            state=tracker.state,
            goal=skills.goals[run.goal].labels if run.goal >= 0 else None,
            steps=steps,
            step_seconds=round(self._pace(), 2),
            events=tracker.labels & frozenset(run.policy.mission.events),
            nearest=self._last_nearest,
            rounds=tracker.accepting_visits,
            waiting=run.waiting
            or (decision is not None and decision.expectation is Expectation.WAITING),
            overdue=self._overdue,
        )
        if now not in self._told:
            if len(self._told) > MOST_TOLD:
                self._told.clear()
            self._told[now] = self._narrator.where(now, self._language)
        return self._told[now]

    @property
    def named(self) -> list[str]:
        """The propositions that `where` says the robot goes for; none, where it names no goal."""
        run = self._run
        if run.goal < 0:
            return []
        events = run.tracker.labels & frozenset(run.policy.mission.events)
        return self._narrator.named(run.tracker.state, run.skills.goals[run.goal].labels | events)

    @property
    def steps(self) -> int | None:
        """Steps to the goal in pursuit, as planned; None: there is none, or it is out of reach.

        Where the policy does not say it, it follows from values: the plan is worth γ to the steps there
        times what arriving is worth. Where chance decides which of several label sets the same place
        shows, weights are mixed with it: then the values of all of them together say how far the place
        is, but not by which way around what has to be avoided.
        """
        run, decision = self._run, self._run.decision
        if run.goal < 0 or decision is None or run.values is None:
            return None
        if decision.steps:
            return decision.steps
        gamma, hold = run.skills.gamma, hold_of(run.skills)
        same = self._same_place(run.tracker.state, run.goal)
        if len(same) > 1:
            best = best_of_goals(run.values)[1]
            return steps_away(sum(float(best[alike].max()) for alike in same), gamma, hold)
        if isinstance(run.policy, Weighing):
            weights = run.policy.weights_of_goals(run.tracker.state, run.values)
            weight = float(weights[run.goal])
            if weight > 0 and decision.value > 0:
                return steps_away(decision.value / weight, gamma, hold)
        return steps_away(run.goal_value, gamma, hold)

    def _same_place(self, state: int, number: int) -> list[list[int]]:
        """Return the goals of the same place that move the machine as this one does, by label set."""
        if (state, number) not in self._alike:
            goals, machine = self._run.skills.goals, self._run.machine
            goal = goals[number]
            outcome = machine.step(state, goal.labels)
            found: dict[LabelSet, list[int]] = {goal.labels: [number]}
            for other, each in enumerate(goals):
                same = goal.place is not None and each.place == goal.place
                if same and machine.step(state, each.labels) == outcome:
                    found.setdefault(each.labels, []).append(other)
            self._alike[state, number] = list(found.values())
        return self._alike[state, number]

    def _nearest(self) -> int | None:
        """Return the steps to the nearest goal that would fail the mission; None: none in reach."""
        run, state = self._run, self._run.tracker.state
        if run.values is None:
            return None
        if state not in self._dangers:
            self._dangers[state] = [
                number
                for number, goal in enumerate(run.skills.goals)
                if is_fatal(run.machine, run.machine.step(state, goal.labels))
            ]
        near = self._dangers[state]
        if not near:
            return None
        nearest = float(best_of_goals(run.values)[1][near].max())
        return steps_away(nearest, run.skills.gamma, hold_of(run.skills))

    def ended(
        self, outcome: str, seconds: float = 0.0, stood: tuple[float, str] = (0.0, "")
    ) -> str:
        """Return how the run ended; `stood`: see `Standing`."""
        run, tracker = self._run, self._run.tracker
        goal = run.skills.goals[run.goal].labels if run.goal >= 0 else None
        end = Ending(
            outcome=outcome,
            steps=tracker.steps,
            seconds=seconds,
            moves=tracker.transitions[-MOST_MOVES:],
            rounds=tracker.accepting_visits,
            shielded=run.shield is not None,
            nearest=self._last_nearest,
            pursued=None if goal is None else (tracker.state, goal),
            left=self._last_steps,
            overdue=self._overdue,
            stood=stood,
        )
        return self._narrator.ended(end, self._language)


def _plain(name: str) -> str:
    return name.replace("_", " ")
