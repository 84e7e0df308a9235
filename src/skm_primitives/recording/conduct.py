"""What the robot was told in a recorded mission: nothing after the end, a stop in time; and whether the
labels fit what was observed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np

from skm_machine.logic.labels import labels_text
from skm_primitives.recording.findings import SATISFIED, VIOLATED, Verification
from skm_primitives.recording.introduction import DISCRETE, NO_PLACE
from skm_primitives.recording.message_words import STOP
from skm_primitives.recording.missions import RecordedAction, RecordedMission

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
    last = int(ended.step) - recorded.states[0].key[2]
    over = last if decided is None else decided
    _check_stop(recorded, over, found, ticked_after)


def _check_order(recorded: RecordedMission, found: Verification) -> None:
    """Compare the times of states: each is later than the one before and, in lock-step, than its action.

    In front of a robot, two states may follow from one reading of its sensors.
    """
    robot = "bridge.domain" in recorded.file.metadata.get("skm.parameters", {})
    for before, after in pairwise(recorded.states):
        backwards = after.stamp < before.stamp or (after.stamp == before.stamp and not robot)
        seen, action = before.observation, before.action
        lockstep = seen is not None and seen.period == 0
        early = lockstep and action is not None and after.time <= action.time
        if after.step == before.step + 1 and (backwards or early):
            text = "the state was shown before the robot can have got there"
            found.disagree("doubled step", after.step, text)
            return


def _check_stop(
    recorded: RecordedMission, over: int, found: Verification, ticked_after: float | None
) -> None:
    first = recorded.states[0].key[2]
    ended_at = next(when for when, entry in recorded.log if entry is recorded.ended)
    before = [action for action in recorded.actions if action.time <= ended_at]
    after = [action for action in recorded.actions if action.time > ended_at]
    stops = [action for action in before if action.kind == STOP]
    for action in after:
        if action.kind != STOP:
            step = action.key[2] - first
            found.disagree(
                "action after the stop", step, "the mission had ended, the robot moved on"
            )
            break
    # A mission that was not decided, but cancelled or broken off, may have acted in its last state;
    # so may one that the clock decided while that state lasted.
    by_labels = found.verdict in (SATISFIED, VIOLATED) and ticked_after is None
    done = over if by_labels else over + 1
    late = next((a for a in before if a.kind != STOP and a.key[2] - first >= done), None)
    if late is not None:
        step = late.key[2] - first
        text = f"the mission was decided at step {over}; an action answered step {step}"
        found.disagree("late stop", step, text)
    elif not stops or stops[-1] is not before[-1]:
        found.disagree("no stop", over, "the last action of the mission is no stop")
    else:
        _measure_stop(recorded, stops[-1], over, found, ticked_after or 0.0)


def _measure_stop(
    recorded: RecordedMission,
    stop: RecordedAction,
    over: int,
    found: Verification,
    lasted: float,
) -> None:
    if stop.key[2] - recorded.states[0].key[2] != over:
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
