"""Adding a mission to one under way: what is left of that, and the other, as one formula."""

from __future__ import annotations

from collections.abc import Collection

from skm_machine.errors import SkmError
from skm_machine.logic.formula import FALSE, TRUE, Formula, conjunction
from skm_machine.logic.parser import parse
from skm_machine.logic.plain_words import read_words
from skm_machine.logic.progression import what_is_left
from skm_machine.mission import Mission, detect_format
from skm_machine.tracker import MissionTracker


def rest_of(mission: Mission, tracker: MissionTracker) -> Formula:
    """Return what is left of a mission under way, as a formula; refuses what is none.

    The trace is that of the machine's moves: what does not move it changes nothing that is left.
    """
    if mission.formula is None:
        raise SkmError("the mission under way is an automaton, and has no formula to add to")
    if mission.clocks is not None or mission.timed is not None:
        raise SkmError(
            "the mission under way has bounds in seconds: what is left of it depends on the clock, and"
            " nothing can be added to it; put the other mission into the queue"
        )
    if mission.machine.endless and not mission.recurring:
        raise SkmError("the mission under way starts over each time it succeeds: it is never left")
    moves = tracker.transitions
    if len(moves) < tracker.moves:
        raise SkmError(f"the mission under way has made {tracker.moves} moves: too many to add to")
    left = what_is_left(mission.formula, (move.labels for move in moves))
    assert left is not FALSE, "it would have failed"
    return left


def joined_text(
    mission: Mission,
    tracker: MissionTracker,
    added: str,
    format: str,
    propositions: Collection[str],
) -> str:
    """Return what is left of a mission, and another one, as the text of one."""
    known = detect_format(added, propositions) if format in ("", "auto") else format
    if known not in ("ltl", "words"):
        raise SkmError(
            "only a formula, or plain words, can be added to a mission: not an automaton"
        )
    read = parse if known == "ltl" else read_words
    other = read(added, propositions)
    left = rest_of(mission, tracker)
    return str(other if left is TRUE else conjunction(left, other))
