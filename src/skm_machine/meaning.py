"""What a mission means in sentences: how it succeeds, how it fails, what events can do to it."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from skm_machine.analysis import Analysis, Trace
from skm_machine.event_game import EventVerdict, Story, event_verdict
from skm_machine.logic.labels import labels_text
from skm_machine.logic.syntax import TRUE
from skm_machine.mission import Mission
from skm_machine.possible import Shown
from skm_machine.reward_machine import Edge, RewardMachine

MOST_PROMISES: Final = 6
MANY_STEPS: Final = 4
"""So many equal steps in a row are told by their number."""


def meaning(
    mission: Mission,
    analysis: Analysis,
    verdict: EventVerdict | None = None,
    shown: Shown | None = None,
) -> list[str]:
    """Return, in sentences, how the mission succeeds and fails.

    `verdict` and `shown` are what events can do, and what can show, in the world that it is for.
    """
    machine = mission.machine
    states = "1 state" if machine.num_states == 1 else f"{machine.num_states} states"
    if shown is not None and len(shown) < machine.num_states:
        states = f"{len(shown)} of its {states}, the others cannot be reached,"
    count = f"{states} over {', '.join(mission.propositions) or 'no propositions'}"
    if not analysis.satisfiable:
        return [count, "unsatisfiable: no trace can ever succeed"]
    lines = [count]
    if machine.endless:
        lines.append("has no end: every completed round counts 1")
        lines += [
            f"may promise in {machine.names[edge.source]}, to be in {machine.names[edge.target]}: "
            + _promised(machine, edge)
            for edge in machine.promise_edges[:MOST_PROMISES]
        ]
    elif machine.co_safe:
        lines.append("success is for good (co-safe): nothing that follows could undo it")
    else:
        lines.append("success is 'so far': the mission ends at its first accepting step")
    if analysis.witness is not None:
        what = "shortest round:   " if machine.endless else "shortest success: "
        lines.append(f"{what} {trace_text(analysis.witness)}")
    if analysis.counterexample is not None:
        lines.append(f"shortest failure:  {trace_text(analysis.counterexample)}")
        lines.append(f"can fail by:       {'  or  '.join(map(str, analysis.failures))}")
    elif analysis.witness is not None:
        lines.append("cannot fail: success stays possible whatever happens")
    if mission.events:
        lines += _events_meaning(verdict or event_verdict(machine, mission.events))
    return lines


def _promised(machine: RewardMachine, edge: Edge) -> str:
    """Return what a promise says: what is to hold always, or else what is to come again and again."""
    if edge.label is not TRUE:
        return f"always {edge.label}"
    state = edge.target
    outcomes = [o for o in machine.successors(state) if machine.keeps(state, o)]
    paid = [o for o in outcomes if o.reward > 0]
    if not paid or any(o.target != state for o in outcomes):
        return f"only what {machine.names[state]} asks for"
    return f"{machine.label(state, paid)}, again and again"


def _events_meaning(verdict: EventVerdict) -> list[str]:
    """Return, in sentences, what events can do to the mission."""
    lines = []
    for risk in verdict.risks:
        where = ""
        if risk.starts is not None:
            lost, possible = risk.starts
            where = (
                f", from {lost} of {possible} places" if lost < possible else ", from every place"
            )
        names = " and ".join(risk.events)
        lines.append(
            f"{names} can make it fail whatever the robot does{where}: {story_text(risk.story)}"
        )
    blamed = {name for risk in verdict.risks for name in risk.events}
    others = [name for name in verdict.declared if name not in blamed]
    if others:
        what = "no other event alone" if blamed else "no event"
        lines.append(f"{what} can make it fail {verdict.proved_for}, of: {', '.join(others)}")
    return lines


def story_text(story: Story) -> str:
    """Return on one line how events defeat the robot."""
    parts = [trace_text(list(part)) for part in (story.steps, story.forever) if part]
    if story.forever:
        parts[-1] += ", and so for ever"
    return " ; then ".join(parts)


def trace_text(trace: Trace) -> str:
    """Return a trace on one line; of many equal steps in a row, how many there are."""
    parts: list[str] = []
    for labels, group in groupby(map(labels_text, trace)):
        count = len(list(group))
        parts += [f"{labels} × {count}"] if count >= MANY_STEPS else [labels] * count
    return " ; ".join(parts)
