"""All of LTL over infinite traces: from a formula to its automaton, within limits."""

from __future__ import annotations

from typing import Final

from skm_machine.automata.decision import DecisionTable
from skm_machine.automata.growth import too_large
from skm_machine.automata.limit_deterministic import Translation
from skm_machine.automata.limits import (
    LimitReachedError,
    Limits,
    TooManyStatesError,
    deep_diagrams_are_a_limit,
)
from skm_machine.automata.omega import MARK, Move, OmegaAutomaton
from skm_machine.automata.reduction import Graph
from skm_machine.logic.syntax import Formula

MAX_STATES: Final = 5_000
MAX_SECONDS: Final = 6.0


def omega_automaton(
    formula: Formula, *, max_states: int = MAX_STATES, max_seconds: float = MAX_SECONDS
) -> OmegaAutomaton:
    """Return a Büchi automaton of the infinite traces that satisfy `formula`.

    See `skm_machine.translate_omega`.
    """
    try:
        with deep_diagrams_are_a_limit():
            graph = best_graph(formula, Limits(max_states, max_seconds))
            return as_automaton(graph, formula.propositions())
    except LimitReachedError as problem:
        raise too_large(formula, problem, _count) from problem


def best_graph(formula: Formula, limits: Limits) -> Graph:
    """Return the automaton; a plain one if looking for a better one takes too much."""
    names = formula.propositions()
    half = limits.half()
    try:
        graph = Translation(names, half).graph(formula)
        half.deadline = limits.deadline  # whoever goes on with its diagrams has all of the time
        return graph
    except TooManyStatesError:
        raise
    except LimitReachedError:
        return Translation(names, limits, plain=True).graph(formula)


def _count(formula: Formula, limits: Limits) -> int:
    with deep_diagrams_are_a_limit():
        return len(Translation(formula.propositions(), limits).graph(formula).rows)


def as_automaton(graph: Graph, names: tuple[str, ...]) -> OmegaAutomaton:
    """Return the graph as an automaton, with diagrams of its own."""
    diagrams = graph.diagrams
    outcomes: dict[tuple[Move, ...], int] = {} if not graph.jumps else {(): 0}
    roots = []
    for row in graph.rows:
        root = diagrams.leaf(0)
        for label, target, marked in row:
            moves = (Move(target, MARK if marked else frozenset()),)
            leaf = diagrams.leaf(outcomes.setdefault(moves, len(outcomes)))
            root = diagrams.if_then_else(label, leaf, root)
        roots.append(root)
    table = DecisionTable(names, diagrams, tuple(roots)).mapped(range(len(roots)), int)
    return OmegaAutomaton(table, tuple(outcomes), 0, tuple(graph.jumps))
