"""A mission on a running system: as JSON, and as lines of text."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from rich.console import Console
from rich.control import Control
from rich.markup import escape
from rich.segment import ControlType
from rich.text import Text

from skm_cli.language import said
from skm_machine.logic.printer import labels_text
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.conversions import OUTCOMES

SHOWN_TRANSITIONS = 20
CLEAR = (ControlType.ERASE_IN_LINE, 2)
LASTING: Final = 2.0
"""Seconds after which a stop gets a line of its own where lines stay: most are over sooner."""


class Progress:
    """Shows where a mission is: on a terminal one line that changes, elsewhere a line where it moves on.

    Once rounds are completed, a line for each of them is enough.
    """

    def __init__(self, out: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._rounds = 0
        self._before: tuple[int, str] | None = None
        self._stopped_at: float | None = None
        self._line = False

    def show(self, machine: Any) -> None:  # noqa: ANN401 - skm/MachineState
        """Take feedback."""
        if machine.accepted > self._rounds:
            self._rounds = machine.accepted
            if machine.target:  # else it is over, and the outcome says so
                self.clear()
                done = said(f"completed at step {machine.mission_steps}")
                self._out.print(said(f"  round {self._rounds:<5}") + f" {done}")
        stopped = machine.phase == machine.STOPPED
        if machine.phase not in (machine.RUNNING, machine.STOPPED) or not machine.target:
            return
        where = said(f"  step {machine.mission_steps:<5}")
        if stopped:  # what it waits for may be the person who reads this
            text = f"{where} {said(f'stopped: {machine.reason}')}"
        else:
            text = f"{where} {machine.words or machine.target}"
        now = self._clock()
        self._stopped_at = None if not stopped else self._stopped_at or now
        if self._out.is_terminal:
            self._line = True
            shown = Text(text, no_wrap=True)
            shown.truncate(self._out.width - 1, overflow="ellipsis")
            self._out.print(Control((ControlType.CARRIAGE_RETURN,), CLEAR), shown, sep="", end="")
            return
        if self._stopped_at is not None and now - self._stopped_at < LASTING:
            return
        said_of = (machine.state, machine.reason if stopped else machine.target)
        if (stopped or not self._rounds) and self._before != said_of:
            self._before = said_of
            self._out.print(escape(text), soft_wrap=True)

    def clear(self) -> None:
        """Take the line that changes away: something else is to be printed."""
        if self._line:
            self._line = False
            self._out.print(Control((ControlType.CARRIAGE_RETURN,), CLEAR), end="")


def mission_document(mission: MissionGoal) -> dict[str, Any]:
    """Return what happened, for programs."""
    result = mission.result
    return {
        "mission": mission.text,
        "goal_id": mission.goal_id,
        "outcome": OUTCOMES[result.outcome],
        "reason": result.reason,
        "words": result.words,
        "steps": result.steps,
        "accepted": result.accepted,
        "seconds": result.seconds,
        "transitions": [
            {
                "step": move.step,
                "source": move.from_state,
                "target": move.to_state,
                "labels": list(move.labels),
                "reward": move.reward,
            }
            for move in result.transitions
        ],
        "dropped_transitions": result.dropped_transitions,
    }


def show_result(out: Console, document: dict[str, Any]) -> None:
    """Print the last moves of the machine and the outcome."""
    moves = document["transitions"]
    if document["accepted"] > 1:  # its rounds were printed as they came
        moves = [move for move in moves if move["reward"] > 0]
    if len(moves) > SHOWN_TRANSITIONS:
        out.print(said(f"  … {len(moves) - SHOWN_TRANSITIONS} earlier transitions"))
    for move in moves[-SHOWN_TRANSITIONS:]:
        mark = "  ★" if move["reward"] > 0 else ""
        labels = escape(labels_text(move["labels"]))
        where = said(f"  step {move['step']:<5} state {move['source']}")
        out.print(f"{where} → {move['target']}  {labels}{mark}", soft_wrap=True)
    steps, seconds = document["steps"], document["seconds"]
    rate = said(f" ({steps / seconds:.0f} steps/s)") if steps and seconds else ""
    ended = said(f"after {steps} steps, {seconds:.2f} s")
    out.print(f"[bold]{said(document['outcome'])}[/bold] {ended}{rate}")
    if document["words"]:
        out.print(escape(document["words"]), soft_wrap=True)
    if document["reason"]:
        out.print(escape(said(document["reason"])), soft_wrap=True)
    if document.get("picture"):
        files = ", ".join(document["picture"])
        out.print(escape(said(f"picture of the run: {files}")), soft_wrap=True)
