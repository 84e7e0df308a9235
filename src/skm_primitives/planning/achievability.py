"""Why a mission cannot be achieved: the clause that no state of the world satisfies."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from skm_machine.logic.formula import TRUE, Formula, evaluate
from skm_machine.logic.normal_forms import negation_normal_form
from skm_machine.mission import Mission
from skm_machine.skill_machine import optimal_values


def blocking_clause(mission: Mission, shown: Mapping[int, Collection[frozenset[str]]]) -> str:
    """Return what stands in the way of a mission.

    `shown` are the label sets that can show in each machine state that can be reached. The answer is
    the first condition in the formula that none of them satisfies; failing that, the first step of
    the machine towards success that none of them takes.
    """
    machine = mission.machine
    if not machine.satisfiable:
        return "it contradicts itself, so that nothing satisfies it"
    everywhere = {labels for found in shown.values() for labels in found}
    if mission.formula is not None:
        for clause in _conditions(negation_normal_form(mission.formula)):
            if not any(evaluate(clause, labels) for labels in everywhere):
                return f"nothing that the robot can reach satisfies '{clause}'"
    values = optimal_values(machine, 0.9)
    for state, found in shown.items():
        continuation = [
            outcome
            for outcome in machine.successors(state)
            if outcome.reward > 0 or values[outcome.target] > values[state]
        ]
        options = {option for labels in found for option in machine.options(state, labels)}
        if continuation and options.isdisjoint(continuation):
            label, name = machine.label(state, continuation), machine.names[state]
            return f"once it is in {name}, nothing that the robot can reach satisfies '{label}'"
    for state in shown:
        for commitment in machine.commitments(state):
            label = machine.commitment_label(commitment)
            if label is not TRUE:
                return f"nothing that the robot can do keeps '{label}' forever"
    return "the steps that it takes cannot be done one after the other"


def _conditions(formula: Formula) -> list[Formula]:
    """Return the largest Boolean parts of a formula in negation normal form, in order."""
    conditions: list[Formula] = []
    stack = [formula]
    while stack:
        sub = stack.pop()
        if sub.is_boolean():
            conditions.append(sub)
        elif sub.operator == "&":
            boolean = [operand for operand in sub.operands if operand.is_boolean()]
            if boolean:
                conditions.append(Formula("&", tuple(boolean)))
            stack.extend(reversed([operand for operand in sub.operands if operand not in boolean]))
        else:
            stack.extend(reversed(sub.operands))
    return conditions
