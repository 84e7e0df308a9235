"""A mission on a running system: as JSON, and as lines for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from skm_machine.logic.printer import labels_text
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.conversions import OUTCOMES

SHOWN_TRANSITIONS = 20


class Progress:
    """Prints where a mission is; once rounds are completed, a line for each of them is enough."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._rounds = 0

    def show(self, machine: Any) -> None:  # noqa: ANN401 - skm/MachineState
        """Take feedback."""
        if machine.accepted > self._rounds:
            self._rounds = machine.accepted
            if machine.target:  # else it is over, and the outcome says so
                done = f"completed at step {machine.mission_steps}"
                self._out.print(f"  round {self._rounds:<5} {done}")
        elif not self._rounds:
            show_feedback(self._out, machine)


def show_feedback(out: Console, machine: Any) -> None:  # noqa: ANN401 - skm/MachineState
    """Print where a mission is."""
    if machine.phase != machine.RUNNING or not machine.target:
        return
    out.print(
        f"  step {machine.mission_steps:<5} {escape(machine.words or machine.target)}",
        soft_wrap=True,
    )


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
        out.print(f"  … {len(moves) - SHOWN_TRANSITIONS} earlier transitions")
    for move in moves[-SHOWN_TRANSITIONS:]:
        mark = "  ★" if move["reward"] > 0 else ""
        labels = escape(labels_text(move["labels"]))
        out.print(
            f"  step {move['step']:<5} state {move['source']} → {move['target']}  {labels}{mark}",
            soft_wrap=True,
        )
    steps, seconds = document["steps"], document["seconds"]
    rate = f" ({steps / seconds:.0f} steps/s)" if steps and seconds else ""
    out.print(f"[bold]{document['outcome']}[/bold] after {steps} steps, {seconds:.2f} s{rate}")
    if document["words"]:
        out.print(escape(document["words"]), soft_wrap=True)
    if document["reason"]:
        out.print(escape(document["reason"]), soft_wrap=True)
    if document.get("picture"):
        out.print(escape(f"picture of the run: {', '.join(document['picture'])}"), soft_wrap=True)
