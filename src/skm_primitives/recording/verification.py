"""Judging a recorded mission again: its labels through its machine, whatever the node said.

The mission is compiled anew and stepped through the recorded labels. What the node said (the log of the
mission, the machine's states, the outcome, the actions) is then compared with that, and every difference
is a disagreement. Where a machine may choose (see `RewardMachine.options`), any choice is right.
"""

from __future__ import annotations

from typing import Any, Final

from skm_machine.clocks import Clocks
from skm_machine.errors import SkmError
from skm_machine.logic.labels import labels_text
from skm_machine.mission import Mission
from skm_machine.monitor import is_fatal
from skm_machine.recent_transitions import Transition
from skm_machine.reward_machine import Outcome
from skm_machine.tracker import eager
from skm_primitives.recording.conduct import check_conduct
from skm_primitives.recording.findings import (
    POSSIBLE,
    SATISFIED,
    UNKNOWN,
    VIOLATED,
    Verification,
)
from skm_primitives.recording.message_words import OUTCOMES, word
from skm_primitives.recording.missions import RecordedMission
from skm_primitives.recording.nearness import nearest

IN_TIME_SECONDS: Final = 0.5
"""A time limit counts as reached so much earlier: clocks are read at different moments."""


def verify_mission(recorded: RecordedMission, other: str | None = None) -> Verification:
    """Replay a recorded mission, or another one on the same labels, and say what was found."""
    found = Verification(other or recorded.text, recorded.domain, recorded=recorded.outcome)
    found.other = other is not None
    _say_what_is_missing(recorded, found)
    try:
        mission = recorded.compiled(other)
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
        began = states[0].time
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
            if entry.versions > 1:
                text = f"{entry.versions} different label sets were recorded for one state"
                found.disagree("doubled step", entry.step, text)
            found.steps, found.seconds = entry.step, (entry.time - began) / 1e9
            if self._clocks is not None and entry.clock is not None:
                found.seconds = (entry.clock - (states[0].clock or 0)) / 1e9
            if entry.step and self.end is None:
                state = self._tick(state, labels, entry.step - 1, entry.clock, entering=True)
                if self.end is None:
                    state = self._step(state, entry.step, entry.labels, found.seconds, entry.clock)
                else:
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
        recorded = self._moves.get((step, labels))
        said = recorded.pop(0) if recorded else self._odd_move(step, labels)
        took = eager(machine, state, options)
        stays = Outcome(state, 0.0)
        if step > self._heard:
            pass  # nobody has said what the machine did there
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
    told = recorded.file.metadata.get("skm.mission", {}).get("mission")
    if len(texts | ({told} if told is not None else set())) > 1:
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
    told = recorded.file.metadata.get("skm.outcome", {}).get("outcome", outcome)
    if told != outcome:
        found.disagree("wrong outcome", None, f"the metadata say {told}, the log says {outcome}")
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
    right = ["cancelled", "preempted", "error", "no progress"]
    if late or 0 < ended.max_steps <= found.steps:
        kept = mission.machine.endless and found.rounds > 0
        right.append("satisfied so far" if kept else "timed out")
    shielded = ended.shield and str(ended.reason).startswith("stopped by the shield")
    if over or shielded:
        right.append("failed")
    return (outcome,) if outcome in right else tuple(right)
