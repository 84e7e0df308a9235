"""Visits of acceptance: how often a run passes the recurrences of a standing order, one after another.

A machine's *round* is complete when every p of a `G F p` was seen, in any order, and what stays true
counts for the next round at once. A Büchi automaton of the same formula waits for the recurrences in
turn, in the order in which they are written, and its acceptance is visited once in each turn. The two
agree on whether a run goes on for ever, not on how often: a robot that goes to and fro between a and b
completes a round of `G F a & G F b` each way, and visits acceptance with each return. Other systems
report visits; this counts them.
"""

from __future__ import annotations

from collections.abc import Collection

from skm_machine.logic.syntax import Formula, evaluate
from skm_machine.recurrence import sort_clauses


class Passes:
    """Takes the labels of every step; `count` is how often acceptance was visited."""

    def __init__(self, formula: Formula) -> None:
        self.recurrences = sort_clauses(formula).recurrences
        """What is waited for in turn; empty where the formula has no recurrence."""
        self.count = 0
        self._next = 0

    def step(self, labels: Collection[str]) -> None:
        """Take the labels of a step; acceptance is visited once at most."""
        shown = frozenset(labels)
        while self.recurrences and evaluate(self.recurrences[self._next], shown):
            self._next += 1
            if self._next == len(self.recurrences):
                self.count += 1
                self._next = 0
                return
