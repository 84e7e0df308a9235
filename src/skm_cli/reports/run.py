"""One run of a mission: as JSON, and as lines of text."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from skm_cli.language import said
from skm_cli.output import console, counted
from skm_machine import Mission
from skm_machine.logic.printer import labels_text
from skm_primitives import Episode, Policy, Primitives
from skm_primitives.execution.narration import (
    Ending,
    Narrator,
    learned_constraints,
    shown_sets,
)
from skm_primitives.execution.phrases import chosen_language


def run_document(policy: Policy, primitives: Primitives, episode: Episode) -> dict[str, Any]:
    """Return what happened, for programs."""
    mission = policy.mission
    names = mission.machine.names
    plan = getattr(policy, "first_plan", None)  # of a mission in parts
    planned = {} if plan is None else {"plan": _plan_document(plan)}
    return {
        **planned,
        "reading": None if mission.reading is None else mission.reading.document(),
        "outcome": episode.outcome,
        "words": _words(policy, primitives, episode),
        "steps": episode.steps,
        "accepting_visits": episode.accepting_visits,
        "discounted_return": episode.discounted_return,
        "transitions": [
            {
                "step": move.step,
                "source": names[move.source],
                "target": names[move.target],
                "labels": sorted(move.labels),
                "reward": move.reward,
            }
            for move in episode.transitions
        ],
        "actions": [_plain(decision.action) for decision in episode.decisions],
        "goals": [
            str(primitives.goals[decision.goal]) if decision.goal >= 0 else None
            for decision in episode.decisions
        ],
        "values": [decision.value for decision in episode.decisions],
        "checkpoint": primitives.digest,
    }


def _words(policy: Policy, primitives: Primitives, episode: Episode) -> str:
    """Return how the run ended, in words: those of the nodes, too."""
    ending = Ending(
        outcome=episode.outcome,
        steps=episode.steps,
        moves=episode.transitions,
        rounds=episode.accepting_visits,
        pursued=_pursued(policy, primitives, episode),
    )
    narrator = Narrator(policy.mission, shown_sets(primitives), learned_constraints(primitives))
    return narrator.ended(ending, chosen_language())


def _pursued(
    policy: Policy, primitives: Primitives, episode: Episode
) -> tuple[int, frozenset[str]] | None:
    """Return the machine's last state, and what the robot was going for in it."""
    goal = episode.decisions[-1].goal if episode.decisions else -1
    moves, machine = episode.transitions, policy.mission.machine
    state = moves[-1].target if moves else machine.initial
    return None if goal < 0 else (state, primitives.goals[goal].labels)


def _plan_document(plan: Any) -> dict[str, Any]:  # noqa: ANN401 - a `large_missions.Plan`
    """Return how good the plan of a mission in parts is, for programs."""
    return {"steps": plan.steps, "at_least": plan.at_least, "cpu_seconds": plan.seconds}


def _plain(action: Any) -> Any:  # noqa: ANN401 - an integer, or a list of numbers
    return action.tolist() if hasattr(action, "tolist") else action


def print_run(mission: Mission, document: dict[str, Any]) -> None:
    """Print the machine's moves, of a mission without end its rounds and events, and the outcome."""
    out = console()
    out.print(f"[bold]{escape(str(mission.formula or mission.format))}[/bold]")
    if mission.reading is not None:
        out.print(escape(said(f"  read as {mission.reading}")), soft_wrap=True)
    if "plan" in document:
        plan = document["plan"]
        known = plan["steps"] <= plan["at_least"]
        best = "the fewest possible" if known else f"at least {plan['at_least']}"
        out.print(said(f"  planned: {counted(plan['steps'], 'step')}, {best}"))
    rounds = began = 0
    for move in _told(mission, document["transitions"]):
        labels = escape(labels_text(move["labels"]))
        mark = "  ★" if move["reward"] > 0 else ""
        if mission.machine.endless and mark:
            rounds, taken = rounds + 1, said(f"in {counted(move['step'] - began, 'step')}")
            where = said(f"  round {rounds:<4} step {move['step']:<5}")
            out.print(f"{where} {taken:<13} {labels}{mark}")
            began = move["step"]
        else:
            way = f"{move['source']} → {move['target']:<10}"
            out.print(said(f"  step {move['step']:<4}") + f" {way} {labels}{mark}")
    visits = document["accepting_visits"]
    completed = f", {counted(visits, 'round')} completed" if mission.machine.endless else ""
    if document["outcome"] == "failed":
        out.print(f"  {escape(document['words'])}", soft_wrap=True)
    out.print(said(f"{document['outcome']} after {counted(document['steps'], 'step')}{completed}"))


def _told(mission: Mission, moves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the moves that people want to read of: without end, rounds, failure, events and answers."""
    if not mission.machine.endless:
        return moves
    events = frozenset(mission.events)
    quiescent = {mission.machine.names[state] for state in mission.machine.quiescent}
    return [
        move
        for move in moves
        if not events.isdisjoint(move["labels"])
        or (events and move["source"] not in quiescent and move["target"] in quiescent)
        or move["reward"] > 0
        or move["target"].startswith("fail")
    ]
