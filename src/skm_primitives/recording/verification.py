"""Judging a recorded mission again: its labels through its machine, whatever the node said.

The mission is compiled anew and stepped through the recorded labels. What the node said (the log of the
mission, the machine's states, the outcome, the actions) is then compared with that, and every difference
is a disagreement. Where a machine may choose (see `RewardMachine.options`), any choice is right.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np

from skm_machine.clocks import Clocks
from skm_machine.errors import SkmError
from skm_machine.logic.printer import labels_text
from skm_machine.mission import Mission
from skm_machine.monitor import is_fatal
from skm_machine.reward_machine import Outcome
from skm_machine.tracker import Transition, eager
from skm_primitives.recording.cdr import OUTCOMES, RESUMED, STOP, word
from skm_primitives.recording.episode_recorder import recorded_scenes
from skm_primitives.recording.files import RecordedAction, RecordedMission, stamp_of
from skm_primitives.recording.introduction import DISCRETE, NO_PLACE
from skm_sim.scene import Shape, robot_place

# What the verification of a recorded mission comes to, as values and as a document for programs.


SATISFIED, VIOLATED, POSSIBLE, UNKNOWN = "satisfied", "violated", "possible", "unknown"
"""Verdicts: by the labels alone. `possible`: neither; `unknown`: labels are missing."""

EXIT_CODES: Final = {"agrees": 0, "not satisfied": 1, "disagrees": 3, "incomplete": 4}
"""What `skm verify` ends with, besides 2 for what cannot be read."""


@dataclass(frozen=True)
class Disagreement:
    """Something that was recorded and cannot be so."""

    kind: str
    """Such as `wrong transition`: see docs/how-to/recording.md."""
    step: int | None
    """Of the mission; None if it is about the whole."""
    text: str


@dataclass(frozen=True)
class Closest:
    """How close the robot came to what was forbidden there and then."""

    distance: float
    step: int
    """Of the mission."""
    what: str
    """What was so close."""


@dataclass
class Verification:
    """What a replay of one recorded mission found."""

    mission: str
    domain: str
    verdict: str = UNKNOWN
    recorded: str = "unknown"
    """The outcome as it was recorded."""
    other: bool = False
    """Whether another mission was judged than the one that was run."""
    endless: bool = False
    """Whether it is a recurring mission, or a mission that starts over."""
    steps: int = 0
    rounds: int = 0
    seconds: float = 0.0
    """From the first state to the last."""
    transitions: list[tuple[Transition, float]] = field(default_factory=list)
    """The machine's moves by the replay, with the seconds since the first state."""
    names: tuple[str, ...] = ()
    """The names of the machine's states."""
    violations: list[tuple[int, frozenset[str]]] = field(default_factory=list)
    """The steps in which the mission failed, with what held."""
    nearest_steps: Closest | None = None
    nearest_metres: Closest | None = None
    stop_seconds: float | None = None
    """From the mission's last state to the stop."""
    disagreements: list[Disagreement] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """What is not in the recording, in sentences."""

    def disagree(self, kind: str, step: int | None, text: str) -> None:
        """Note a disagreement."""
        self.disagreements.append(Disagreement(kind, step, text))

    @property
    def satisfied(self) -> bool:
        """Whether it is: for good, or so far if it has no end, with rounds and nothing lost."""
        so_far = self.endless and self.verdict == POSSIBLE and self.rounds > 0
        return self.verdict == SATISFIED or so_far

    @property
    def result(self) -> str:
        """`agrees`, `not satisfied` (and agrees), `disagrees` or `incomplete`."""
        if self.disagreements:
            return "disagrees"
        if self.missing:
            return "incomplete"
        return "agrees" if self.satisfied else "not satisfied"

    def document(self) -> dict[str, Any]:
        """Return all of it for programs."""
        return {
            "mission": self.mission,
            "domain": self.domain,
            "result": self.result,
            "verdict": self.verdict,
            "satisfied": self.satisfied,
            "recorded_outcome": None if self.other else self.recorded,
            "steps": self.steps,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "transitions": [
                {
                    "step": move.step,
                    "seconds": seconds,
                    "source": self.names[move.source],
                    "target": self.names[move.target],
                    "labels": sorted(move.labels),
                    "reward": move.reward,
                }
                for move, seconds in self.transitions
            ],
            "violations": [
                {"step": step, "labels": sorted(labels)} for step, labels in self.violations
            ],
            "nearest_steps": _closest(self.nearest_steps),
            "nearest_metres": _closest(self.nearest_metres),
            "stop_seconds": self.stop_seconds,
            "disagreements": [
                {"kind": found.kind, "step": found.step, "text": found.text}
                for found in self.disagreements
            ],
            "missing": self.missing,
        }


def _closest(closest: Closest | None) -> dict[str, Any] | None:
    if closest is None:
        return None
    return {"distance": closest.distance, "step": closest.step, "what": closest.what}


# What the robot was told in a recorded mission: nothing after the end, a stop in time; and
# whether the labels fit what was observed.


LATE_SECONDS: Final = 2.0
"""A stop so much later than the mission's last state, or two periods more, was late."""


def check_conduct(
    recorded: RecordedMission,
    decided: int | None,
    found: Verification,
    ticked_after: float | None = None,
) -> None:
    """Note what the robot was told that it should not have been; `decided` is the mission's end.

    `ticked_after`: the seconds for which its last state had lasted, if the clock decided it.
    """
    _check_labels(recorded, found)
    _check_order(recorded, found)
    ended = recorded.ended
    if ended is None or ended.state < 0 or not recorded.states:
        return
    last = int(ended.mission_steps)
    over = last if decided is None else decided
    _check_stop(recorded, over, found, ticked_after)


def _check_order(recorded: RecordedMission, found: Verification) -> None:
    """Compare the times of states: each is later than the one before and, in lock-step, than its action.

    In front of a robot, two states may follow from one reading of its sensors.
    """
    robot = "bridge.domain" in recorded.file.metadata.get("skm.parameters", {})
    for before, after in pairwise(recorded.states):
        # A robot's bridge may enter two cells within one period: both states carry the same
        # reading.
        backwards = after.stamp < before.stamp or (after.stamp == before.stamp and not robot)
        seen, action = before.observation, before.action
        lockstep = seen is not None and seen.period == 0
        early = lockstep and action is not None and after.time <= action.time
        same = after.key[:2] == before.key[:2]
        if same and after.step == before.step + 1 and (backwards or early):
            text = "the state was shown before the robot can have got there"
            found.disagree("doubled step", after.step, text)
            return


def _check_stop(
    recorded: RecordedMission, over: int, found: Verification, ticked_after: float | None
) -> None:
    step_of = _steps(recorded)
    ended_at = next(when for when, entry in recorded.log if entry is recorded.ended)
    # By the times at which they were sent: both come from the machine, so these are in its order.
    before = [action for action in recorded.actions if action.time <= ended_at]
    after = [action for action in recorded.actions if action.time > ended_at]
    stops = [action for action in before if action.kind == STOP]
    for action in after:
        if action.kind != STOP:
            step = step_of(action)
            found.disagree(
                "action after the stop", step, "the mission had ended, the robot moved on"
            )
            break
    # A mission that was not decided, but cancelled or broken off, may have acted in its last state;
    # so may one that the clock decided while that state lasted.
    by_labels = found.verdict in (SATISFIED, VIOLATED) and ticked_after is None
    # An action that answers the deciding state itself is already one too many, if the labels
    # decided it.
    done = over if by_labels else over + 1
    # Before the log's end and yet for a state after the decision: the machine decided too late.
    late = next((a for a in before if a.kind != STOP and step_of(a) >= done), None)
    if late is not None:
        step = step_of(late)
        text = f"the mission was decided at step {over}; an action answered step {step}"
        found.disagree("late stop", step, text)
    elif (unheard := _unheard_restart(recorded, over)) is not None:
        found.missing.append(f"no action was recorded after the restart at step {unheard}")
    elif not stops or stops[-1] is not before[-1]:
        found.disagree("no stop", over, "the last action of the mission is not a stop")
    else:
        _measure_stop(recorded, stops[-1], over, found, ticked_after or 0.0)


def _unheard_restart(recorded: RecordedMission, over: int) -> int | None:
    """Return the step of the last restart if nothing that was done after it was heard; else None.

    Actions are not latched: a recorder that has not found the machine again by then misses them.
    """
    restarts = [(at, int(e.mission_steps)) for at, e in recorded.log if e.kind == RESUMED]
    if not restarts:
        return None
    at, step = restarts[-1]
    heard = any(action.time >= at for action in recorded.actions)
    return None if heard or over <= step else step


def _steps(recorded: RecordedMission) -> Callable[[RecordedAction], int]:
    """Return what tells which step of the mission an action answers; −1: one that does not count."""
    steps = {state.key: state.step for state in recorded.states}
    last = recorded.states[-1]

    def step_of(action: RecordedAction) -> int:
        # States after the mission's last one are no part of it, but actions that answer them have
        # to be placed.
        later = action.key[:2] == last.key[:2] and action.key[2] > last.key[2]
        return last.step + action.key[2] - last.key[2] if later else steps.get(action.key, -1)

    return step_of


def _measure_stop(
    recorded: RecordedMission,
    stop: RecordedAction,
    over: int,
    found: Verification,
    lasted: float,
) -> None:
    if _steps(recorded)(stop) != over:
        text = f"the mission was decided at step {over}, the stop came later"
        found.disagree("late stop", over, text)
    state = next((state for state in recorded.states if state.step == over), None)
    if state is None or found.verdict not in ("satisfied", "violated"):
        return
    found.stop_seconds = max(0.0, (stop.time - state.time) / 1e9 - lasted)
    period = 0.0 if state.observation is None else float(state.observation.period)
    if found.stop_seconds > LATE_SECONDS + 2 * period:
        found.disagree("late stop", over, f"the stop came after {found.stop_seconds:.2f} s")


def _check_labels(recorded: RecordedMission, found: Verification) -> None:
    """Compare labels with what the observed place is known to show, where places are known."""
    known = known_labels(recorded)
    if not known:
        return
    events = frozenset(() if recorded.about is None else recorded.about.events)
    for state in recorded.states:
        seen = state.observation
        if seen is None or seen.kind != DISCRETE or int(seen.discrete) not in known:
            continue
        always, sometimes = known[int(seen.discrete)]
        shown = state.labels - events
        # Labels may depend on the visit (the mail is there once), so there is a least and a most.
        if not always - events <= shown or not shown <= sometimes:
            text = f"place {seen.discrete} shows {labels_text(always)}, not {labels_text(shown)}"
            found.disagree("labels contradict the observation", state.step, text)
            return


def known_labels(recorded: RecordedMission) -> dict[int, tuple[frozenset[str], frozenset[str]]]:
    """Return what is always, and what may be, shown at each place; nothing where it is not known.

    In front of a robot with a map the labels are those of its pose, not of the cell around it.
    """
    info, parameters = recorded.info, recorded.file.metadata.get("skm.parameters", {})
    if info is None or info.observation_kind != DISCRETE or "bridge.domain" in parameters:
        return {}
    known: dict[int, tuple[frozenset[str], frozenset[str]]] = {}
    for place, shown in shown_at(info).items():
        known[place] = frozenset.intersection(*shown), frozenset.union(*shown)
    return known


def shown_at(info: Any) -> dict[int, list[frozenset[str]]]:  # noqa: ANN401 - PrimitivesInfo
    """Return the label sets that each place shows, at one visit or another."""
    if len(info.state_goals):
        sets = [frozenset(goal.labels) for goal in info.goals]
        return {cell: [sets[goal]] for cell, goal in enumerate(np.asarray(info.state_goals))}
    shown: dict[int, list[frozenset[str]]] = {}
    for entry in info.place_labels:
        shown.setdefault(int(entry.place), []).append(frozenset(entry.labels))
    for goal in info.goals:
        if goal.place != NO_PLACE and int(goal.place) in shown:
            shown[int(goal.place)].append(frozenset(goal.labels))
    return shown


# How close a recorded run came to what was forbidden: in steps of the robot, and in metres.
#
# Steps where the recording holds the world as places with their neighbours; metres where it has
# scenes. What is forbidden is asked of the machine, state by state: label sets after which it can
# only fail.


def nearest(
    recorded: RecordedMission, mission: Mission, before: Sequence[int]
) -> tuple[Closest | None, Closest | None]:
    """Return the closest in steps and the closest in metres; `before`: machine state by step."""
    forbidden = _Forbidden(mission)
    return _in_steps(recorded, forbidden, before), _in_metres(recorded, forbidden, before)


class _Forbidden:
    """Whether label sets are forbidden in a state of the machine."""

    def __init__(self, mission: Mission) -> None:
        self._machine = mission.machine
        self._known: dict[tuple[int, frozenset[str]], bool] = {}

    def __call__(self, state: int, labels: frozenset[str]) -> bool:
        machine, key = self._machine, (state, labels)
        if key not in self._known:
            over = state in machine.terminal or state in machine.failure
            # Every recorded state asks this for every place: machines are small, recordings are
            # long.
            self._known[key] = not over and is_fatal(machine, machine.step(state, labels))
        return self._known[key]


def _in_steps(
    recorded: RecordedMission, forbidden: _Forbidden, before: Sequence[int]
) -> Closest | None:
    info = recorded.info
    if info is None or info.observation_kind != DISCRETE:
        return None
    shown = shown_at(info)
    places = sorted(shown)
    neighbours = _neighbours(info, places)
    if neighbours is None:
        return None
    ways: dict[int, dict[int, int]] = {}
    best: Closest | None = None
    for entry, state in zip(recorded.states, before, strict=False):
        seen = entry.observation
        if seen is None or seen.kind != DISCRETE:
            continue
        if state not in ways:
            goals = [p for p in places if any(forbidden(state, labels) for labels in shown[p])]
            ways[state] = _distances(goals, neighbours)
        distance = ways[state].get(int(seen.discrete))
        if distance is not None and (best is None or distance < best.distance):
            best = Closest(distance, entry.step, "")
    return best


def _neighbours(info: Any, places: Sequence[int]) -> dict[int, list[int]] | None:  # noqa: ANN401
    """Return the places from which each place is reached in one step."""
    flat = info.state_successors if len(info.state_successors) else info.place_successors
    table = np.asarray(flat, np.int64)
    if not len(places) or table.size != len(places) * int(info.action_count):
        return None
    back: dict[int, list[int]] = {}
    for row, targets in enumerate(table.reshape(len(places), -1)):
        for target in targets:
            if 0 <= target < len(places):
                back.setdefault(places[target], []).append(places[row])
    return back


def _distances(goals: Sequence[int], back: dict[int, list[int]]) -> dict[int, int]:
    distance = dict.fromkeys(goals, 0)
    queue = deque(goals)
    while queue:
        place = queue.popleft()
        for other in back.get(place, ()):
            if other not in distance:
                distance[other] = distance[place] + 1
                queue.append(other)
    return distance


def _in_metres(
    recorded: RecordedMission, forbidden: _Forbidden, before: Sequence[int]
) -> Closest | None:
    scenes = dict(recorded_scenes(recorded.file))
    best: Closest | None = None
    names = frozenset(recorded.propositions)
    for entry, state in zip(recorded.states, before, strict=False):
        if entry.observation is None:
            continue
        scene = scenes.get(stamp_of(entry.observation.header))
        robot = None if scene is None else robot_place(scene)
        if scene is None or robot is None:
            continue
        for shape in scene:
            words = frozenset(shape.group.replace("_", " ").split()) | {shape.group}
            if shape.kind != "text" and forbidden(state, words & names) and words & names:
                distance = distance_to(shape, robot)
                if best is None or distance < best.distance:
                    best = Closest(distance, entry.step, shape.group)
    return best


def distance_to(shape: Shape, point: tuple[float, float]) -> float:
    """Return how far a point is from a shape, seen from above; 0 inside."""
    across, up = point[0] - shape.position[0], point[1] - shape.position[1]
    cosine, sine = np.cos(shape.heading), np.sin(shape.heading)
    x, y = across * cosine + up * sine, up * cosine - across * sine
    if shape.kind in ("sphere", "cylinder"):
        return max(0.0, float(np.hypot(x, y)) - shape.size[0] / 2)
    beyond = max(0.0, abs(x) - shape.size[0] / 2), max(0.0, abs(y) - shape.size[1] / 2)
    return float(np.hypot(*beyond))


IN_TIME_SECONDS: Final = 0.5
"""A time limit counts as reached so much earlier: clocks are read at different moments."""


def verify_mission(recorded: RecordedMission, other: str | None = None) -> Verification:
    """Replay a recorded mission, or another one on the same labels, and say what was found."""
    found = Verification(other or recorded.text, recorded.domain, recorded=recorded.outcome)
    found.other = other is not None
    _say_what_is_missing(recorded, found)
    try:
        mission = recorded.compiled(other)
        begun = recorded.began
        # A number of states that differs is not yet a contradiction: see below.
        if begun is not None and not found.other and begun.states != mission.machine.num_states:
            # A robot may have kept it in parts where one machine would do, or needed that one machine.
            other_form = "never" if mission.in_parts else "if large"
            mission = recorded.compiled(parts=other_form)
    except SkmError as error:
        if other is not None:
            raise
        found.disagree("wrong mission", None, f"the mission cannot be compiled: {error}")
        return found
    found.endless, found.names = mission.machine.endless, mission.machine.names
    replay = Replay(mission, recorded, found)
    replay.run()
    if not found.other:
        _check_record(recorded, replay, found)
        _check_outcome(recorded, mission, found)
        check_conduct(recorded, replay.end, found, replay.ticked_after)
    found.nearest_steps, found.nearest_metres = nearest(recorded, mission, replay.before)
    return found


class Replay:
    """The machine's way through the recorded labels."""

    def __init__(self, mission: Mission, recorded: RecordedMission, found: Verification) -> None:
        self.mission, self.recorded, self._found = mission, recorded, found
        self.machine = mission.machine
        self.before: list[int] = []
        """The machine's state when the robot was in each recorded state, as far as it is known."""
        self.end: int | None = None
        """The step at which the mission was decided, by the labels."""
        self.held: list[list[tuple[int, int]]] = []
        """For each recorded state, the machine's states and the rounds completed while it lasted."""
        self.ticked_after: float | None = None
        """Seconds after the last state at which the clock decided the mission; None: it did not."""
        self._clocks: Clocks | None = None
        self._moves = {} if found.other else _recorded_moves(recorded)
        self._heard = -1 if found.other else _heard(recorded)

    def run(self) -> None:
        """Step through the labels; note transitions and disagreements."""
        found, machine = self._found, self.machine
        states = self.recorded.states
        # A mission that nothing can satisfy is lost before the first label.
        found.verdict = POSSIBLE if machine.satisfiable else VIOLATED
        if not states:
            found.verdict = UNKNOWN
            return
        if self.mission.clocks is not None:
            if states[0].clock is None:
                found.missing.append("when states were entered: nothing says how long a step took")
                found.verdict = UNKNOWN
                return
            self._clocks = Clocks(self.mission.clocks, states[0].clock)
        # A robot at rest shows its state again and again: the mission begins when its log says so.
        began = max(states[0].time, self.recorded.began_at or 0)
        state, labels = machine.initial, states[0].labels
        for expected, entry in enumerate(states):
            if entry.step and not expected:
                steps = f"steps 0 to {entry.step - 1} were not recorded"
                found.missing.append(f"{steps}: how the mission began is unknown")
                found.verdict = UNKNOWN
                return
            if entry.step != expected:
                gap = f"{expected} to {entry.step - 1}" if entry.step > expected + 1 else expected
                found.disagree("missing step", expected, f"no labels of step {gap} were recorded")
                found.verdict = UNKNOWN
                return
            # Lock-step repeats states, but always with the same labels.
            if entry.versions > 1:
                text = f"{entry.versions} different label sets were recorded for one state"
                found.disagree("doubled step", entry.step, text)
            found.steps, found.seconds = entry.step, max(0, entry.time - began) / 1e9
            if self._clocks is not None and entry.clock is not None:
                found.seconds = (entry.clock - (states[0].clock or 0)) / 1e9
            # The first state is not read: missions begin with the first step.
            if entry.step and self.end is None:
                state = self._tick(state, labels, entry.step - 1, entry.clock, entering=True)
                if self.end is None:
                    state = self._step(state, entry.step, entry.labels, found.seconds, entry.clock)
                else:
                    # The clock decided before this state was entered, so nothing of it counts any
                    # more, but it was there.
                    self.end, self.ticked_after = entry.step, None  # the state came too late
            labels = entry.labels
            self.before.append(state)
            self.held.append([(state, found.rounds)])
        last = states[-1]
        if self.end is None and self.recorded.ended_at is not None and last.clock is not None:
            self._tick(state, labels, last.step, self.recorded.ended_at, entering=False)

    def _tick(
        self, state: int, labels: frozenset[str], step: int, time: int | None, *, entering: bool
    ) -> int:
        """Step the machine for the windows that opened or closed until then; return its state."""
        found = self._found
        if self._clocks is None or time is None:
            return state
        began, shown = self.recorded.states[0].clock, self.recorded.states[step].stamp
        assert began is not None

        def ticked(state: int, name: str, at: int) -> int:
            state = self._step(state, step, labels | {name}, (at - began) / 1e9, at)
            self.held[step].append((state, found.rounds))
            if self.end is not None:
                self.ticked_after = (at - shown) / 1e9
                found.seconds = (at - began) / 1e9
            return state

        # First windows that close, in the order of time; then those that open with the state
        # itself.
        while self.end is None and (due := self._clocks.due(time, entering=entering)) is not None:
            state = ticked(state, due.tick.name, due.time)
        while entering and self.end is None and (tick := self._clocks.opening(time)) is not None:
            state = ticked(state, tick.name, time)
        return state

    def _step(
        self, state: int, step: int, labels: frozenset[str], seconds: float, time: int | None
    ) -> int:
        """Step the machine for what it reads: the labels of a state, or with the tick of a clock."""
        found, machine = self._found, self.machine
        options = machine.options(state, labels)
        # Several moves may be recorded for one step (ticks of the clock): they are taken in their
        # order.
        recorded = self._moves.get((step, labels))
        # What was recorded for this step on other labels is a disagreement as well, not a missing
        # move.
        said = recorded.pop(0) if recorded else self._odd_move(step, labels)
        # Where an ε-transition leaves a choice, the machine's own rule decides, unless it recorded
        # another.
        took = eager(machine, state, options)
        stays = Outcome(state, 0.0)
        if step > self._heard:
            pass  # what the machine did there is not recorded
        elif said is not None:
            claimed = Outcome(said.target, said.reward)
            if said.source != state or claimed not in options or said.labels != labels:
                found.disagree("wrong transition", step, _difference(found, said, labels, took))
            else:
                took = claimed
        elif stays in options:
            took = stays
        else:
            text = f"on {labels_text(labels)} the machine moves; no transition was recorded"
            found.disagree("wrong transition", step, text)
        if took.target != state or took.reward > 0:
            move = Transition(step, state, took.target, labels, took.reward)
            found.transitions.append((move, seconds))
        found.rounds += took.reward > 0
        if is_fatal(machine, took):
            found.verdict, self.end = VIOLATED, step
            found.violations.append((step, labels))
        elif took.target in machine.terminal:
            found.verdict, self.end = SATISFIED, step
        if self._clocks is not None and self.mission.clocks is not None and time is not None:
            self._clocks.step(labels, time)
            if took.reward > 0 and self.mission.clocks.repeats:
                self._clocks = Clocks(self.mission.clocks, time)
        return took.target

    def _odd_move(self, step: int, labels: frozenset[str]) -> Transition | None:
        """Return a move that was recorded for this step, on labels that nothing here reads."""
        ticks = frozenset(() if self.mission.clocks is None else self.mission.clocks.names)
        if ticks & labels:
            return None
        odd = [
            moves for (at, read), moves in self._moves.items() if at == step and not ticks & read
        ]
        return next((moves.pop(0) for moves in odd if moves), None)


def _recorded_moves(
    recorded: RecordedMission,
) -> dict[tuple[int, frozenset[str]], list[Transition]]:
    """Return the moves by their step and by what the machine read."""
    found: dict[tuple[int, frozenset[str]], list[Transition]] = {}
    for _, entry in recorded.log:
        for move in entry.transitions:
            read = frozenset(move.labels)
            found.setdefault((int(move.step), read), []).append(
                Transition(
                    int(move.step),
                    int(move.from_state),
                    int(move.to_state),
                    read,
                    float(move.reward),
                )
            )
    return found


def _heard(recorded: RecordedMission) -> int:
    """Return the last step of which the machine's word was recorded: of a killed file, not the last."""
    if recorded.ended is not None:
        # All of it was heard: no step lies beyond.
        return 1 << 62
    said: list[Any] = [entry for _, entry in recorded.log]
    said += [state for _, state in recorded.machine_states]
    return max((int(message.mission_steps) for message in said), default=-1)


def _difference(
    found: Verification, said: Transition, labels: frozenset[str], took: Outcome
) -> str:
    def name(state: int) -> str:
        return found.names[state] if 0 <= state < len(found.names) else str(state)

    recorded = f"{name(said.source)} → {name(said.target)} on {labels_text(said.labels)}"
    return f"recorded was {recorded}; the labels {labels_text(labels)} lead to {name(took.target)}"


def _say_what_is_missing(recorded: RecordedMission, found: Verification) -> None:
    file = recorded.file
    if not file.complete:
        tail = f", {file.lost_bytes} bytes of an unfinished record left out"
        found.missing.append(f"the file has no end{tail if file.lost_bytes else ''}")
    if recorded.began is None:
        found.missing.append("the beginning of the mission was not recorded")
    if recorded.ended is None:
        found.missing.append("the end of the mission was not recorded")


def _check_record(recorded: RecordedMission, replay: Replay, found: Verification) -> None:
    """Compare all that the node said about itself with the replay."""
    states, begun = replay.before, recorded.began
    if begun is not None and begun.states != replay.machine.num_states:
        text = (
            f"the machine had {begun.states} states; this mission's has {replay.machine.num_states}"
        )
        found.disagree("wrong mission", None, text)
    for number, (_, entry) in enumerate(recorded.log):
        if entry.number != number:
            found.disagree("missing log entry", None, f"entry {number} of the mission's log")
            break
    texts = {str(entry.mission) for _, entry in recorded.log}
    texts |= {str(state.mission) for _, state in recorded.machine_states}
    stated = recorded.file.metadata.get("skm.mission", {}).get("mission")
    if len(texts | ({stated} if stated is not None else set())) > 1:
        found.disagree("wrong mission", None, "the recording names different missions")
    said: list[Any] = [entry for _, entry in recorded.log if entry.state >= 0]
    said += [state for _, state in recorded.machine_states]
    for message in said:
        step = int(message.mission_steps)
        if step >= len(states):
            if found.verdict != UNKNOWN and recorded.file.complete:
                text = f"the machine was at step {step}; labels were recorded up to {found.steps}"
                found.disagree("missing step", step, text)
                break
        # While a state lasts, ticks may move the machine: any of the states that it was in then is
        # right.
        elif (message.state, message.accepted) not in replay.held[step]:
            state, rounds = replay.held[step][-1]
            text = (
                f"the machine said state {message.state} with {message.accepted} rounds; by the "
                f"labels it is {state} with {rounds}"
            )
            found.disagree("wrong state", step, text)
            break


def _check_outcome(recorded: RecordedMission, mission: Mission, found: Verification) -> None:
    """Compare the outcome that was recorded with what the labels come to."""
    ended = recorded.ended
    if ended is None or ended.state < 0 or found.verdict == UNKNOWN:
        return
    outcome = word(OUTCOMES, ended.outcome)
    stated = recorded.file.metadata.get("skm.outcome", {}).get("outcome", outcome)
    if stated != outcome:
        found.disagree("wrong outcome", None, f"the metadata say {stated}, the log says {outcome}")
    if int(ended.mission_steps) != found.steps:
        text = f"the mission took {ended.mission_steps} steps; {found.steps} were recorded"
        found.disagree("missing step", None, text)
    expected = _expected(recorded, mission, found, outcome)
    if outcome not in expected:
        text = f"recorded was {outcome}; by the labels it is {' or '.join(expected)}"
        found.disagree("wrong outcome", found.steps, text)


def _expected(
    recorded: RecordedMission, mission: Mission, found: Verification, outcome: str
) -> tuple[str, ...]:
    """Return the outcomes that are right."""
    if found.verdict == SATISFIED:
        return ("accepted",)
    if found.verdict == VIOLATED:
        return ("failed",)
    ended: Any = recorded.ended
    last = recorded.states[-1].observation
    over = last is not None and bool(last.terminated or last.truncated)
    # Time ran from when the mission was taken, in recordings of before it ran from its first state.
    up = str(ended.reason).startswith(f"{ended.max_seconds:g} s were up")
    late = 0 < ended.max_seconds <= ended.seconds + IN_TIME_SECONDS or over or up
    # These do not follow from labels, so no replay can contradict them.
    right = ["cancelled", "preempted", "error", "no progress"]
    if late or 0 < ended.max_steps <= found.steps:
        kept = mission.machine.endless and found.rounds > 0
        right.append("satisfied so far" if kept else "timed out")
    shielded = ended.shield and str(ended.reason).startswith("stopped by the shield")
    if over or shielded:
        right.append("failed")
    return (outcome,) if outcome in right else tuple(right)
