"""A mission's machine in a world that shows some label sets only: what cannot happen is left out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from skm_machine.logic.syntax import FALSE, Formula, conjunction, disjunction, negation
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine, from_edges


def ground(mission: Mission, label_sets: Collection[frozenset[str]]) -> Mission:
    """Return the mission with the states and edges only that these label sets lead to.

    On traces of these label sets it does as before. Label sets that never show go with the outcome
    that most of the others have. A machine with promises is left as it is.
    """
    machine = mission.machine
    if machine.jumps:
        return mission
    possible: dict[int, dict[Outcome, int]] = {}
    queue = [machine.initial]
    for state in queue:
        counts: dict[Outcome, int] = {}
        for labels in label_sets:
            outcome = machine.step(state, labels)
            counts[outcome] = counts.get(outcome, 0) + 1
        possible[state] = counts if state not in machine.terminal else {}
        targets = {outcome.target for outcome in possible[state]}
        queue += sorted(targets - set(queue))
    number = {state: index for index, state in enumerate(sorted(possible))}
    shown = frozenset(name for labels in label_sets for name in labels)
    rows = [_edges(machine, state, possible[state], number, shown) for state in sorted(possible)]
    grounded = from_edges(
        [name for name in machine.propositions if name in shown],
        rows,
        initial=number[machine.initial],
        terminal=[number[state] for state in machine.terminal if state in number],
        endless=machine.endless,
        co_safe=machine.co_safe,
    )
    return replace(mission, machine=grounded)


def _edges(
    machine: RewardMachine,
    state: int,
    outcomes: dict[Outcome, int],
    number: dict[int, int],
    shown: frozenset[str],
) -> list[tuple[Formula, Outcome]]:
    """Return the edges of a state; the commonest outcome has all that the others do not cover."""
    if not outcomes:
        return []
    commonest = max(outcomes, key=lambda outcome: outcomes[outcome])
    edges, covered = [], FALSE
    for outcome in outcomes:
        if outcome != commonest:
            label = _among(shown, machine.label(state, [outcome]))
            covered = disjunction(covered, label)
            edges.append((label, Outcome(number[outcome.target], outcome.reward)))
    return [*edges, (negation(covered), Outcome(number[commonest.target], commonest.reward))]


def _among(shown: frozenset[str], formula: Formula) -> Formula:
    """Return a Boolean formula with what never shows taken as false."""
    match formula.operator:
        case "prop":
            return formula if formula.name in shown else FALSE
        case "!":
            return negation(_among(shown, formula.operands[0]))
        case "&":
            return conjunction(*(_among(shown, operand) for operand in formula.operands))
        case "|":
            return disjunction(*(_among(shown, operand) for operand in formula.operands))
        case _:
            return formula
