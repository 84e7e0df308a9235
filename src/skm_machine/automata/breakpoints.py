"""Recurrence formulas: no F, U or M has a G, R or W below it, as in `G(a -> F(b & X c))`.

They have deterministic Büchi automata without any search. A state is the residual ψ together with what
it waits for: first ψ with every G, R and W replaced by true, which is co-safe, then what remains of
that. When it has come true, the edge is marked and the waiting starts anew.

If w satisfies the formula, it satisfies every residual and so what is waited for, which comes true in
finite time. If it does not, it satisfies the negation, in which every F, U and M is fulfilled after
finitely many steps. From then on, w satisfies the negated residual with all of them replaced by false:
what is waited for never comes. (The residuals must be propositional here: no laws may be used.)
"""

from __future__ import annotations

from skm_machine.automata.bdd import ONE, ZERO
from skm_machine.automata.limits import Limits
from skm_machine.automata.loops import Loops
from skm_machine.automata.promises import Promises
from skm_machine.automata.reduction import Graph, MarkedEdge
from skm_machine.automata.residuals import Residuals
from skm_machine.logic.syntax import Formula


def recurrence_graph(formula: Formula, limits: Limits) -> Graph | None:
    """Return a deterministic automaton of a recurrence formula; None if it is not one by its form."""
    residuals = Residuals(formula.propositions(), limits)
    initial = residuals.function(formula)
    if not _is_recurrence(Loops(residuals), initial):
        return None
    promises = Promises(residuals)
    numbers = {(initial, promises.if_all_lasts(initial)): 0}
    order = list(numbers)
    graph = Graph(residuals.diagrams, [])
    for residual, awaited in order:  # grows while it is walked
        limits.check(len(order))
        row: list[MarkedEdge] = []
        roots = (residuals.successor(residual), residuals.successor(awaited))
        for (after, still_awaited), label in residuals.split(roots).items():
            marked = still_awaited == ONE and after != ZERO
            node = (after, promises.if_all_lasts(after) if marked else still_awaited)
            node = (ZERO, ZERO) if ZERO in node else node
            if node not in numbers:
                numbers[node] = len(order)
                order.append(node)
            row.append((label, numbers[node], marked))
        graph.rows.append(graph.joined(row))
    return graph


def _is_recurrence(loops: Loops, function: int) -> bool:
    """Tell whether no F, U or M of `function` has a G, R or W below it, with negations resolved."""
    diagrams = loops.diagrams
    seen, stack = {ZERO, ONE}, [function]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        low, high = diagrams.low[node], diagrams.high[node]
        stack += (low, high)
        if not diagrams.implies(high, low) and loops.obligation_signs(diagrams.variable[node])[1]:
            return False
        if not diagrams.implies(low, high):
            operator, left, right = loops.residuals.obligation_below_next(diagrams.variable[node])
            if operator != "prop":
                stack.append(diagrams.negation(left))
            if operator == "U":
                stack.append(diagrams.negation(right))
    return True
