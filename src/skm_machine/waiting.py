"""A machine to plan with where the clock helps: being somewhere, and waiting there, as one step.

A mission with bounds in seconds goes on by itself at times: "stay at the coffee for ten seconds" is
fulfilled when ten seconds are over. Planners know steps and labels, and no clock. So they are given a
machine in which a step into a state, where nothing but the clock can bring the mission on, leads at
once to where the clock will lead: if staying there, with the labels that hold, changes nothing before.
A robot that follows such a plan goes there, and stays: all the while, the best is to be there still.

Its states are those of the mission's machine, with the same numbers. What the clock makes worse, a
deadline that passes, is no part of it: until then, the robot is on its way.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from skm_machine.automata.mtbdd import DecisionTable, Diagrams
from skm_machine.reward_machine import Outcome, RewardMachine

MOST_TICKS: Final = 8
"""So many ticks are waited for in one place, one after the other."""


def waiting_machine(machine: RewardMachine, ticks: Collection[str]) -> RewardMachine:
    """Return the machine that waits for `ticks` where nothing else brings the mission on."""
    return _Waiting(machine, tuple(ticks)).machine()


class _Waiting:
    def __init__(self, machine: RewardMachine, ticks: tuple[str, ...]) -> None:
        self._machine = machine
        self._quiet = machine.delta.given(dict.fromkeys(ticks, False))
        self._ticking = [
            machine.delta.given({**dict.fromkeys(ticks, False), tick: True}) for tick in ticks
        ]
        self._diagrams = Diagrams()
        self._variables = range(len(machine.propositions))
        quiet = replace(machine, delta=self._quiet)
        self._stuck = quiet.failure - machine.failure
        """States in which only the clock helps."""
        self._index = {outcome: number for number, outcome in enumerate(machine.outcomes)}

    def machine(self) -> RewardMachine:
        roots = tuple(
            self._quiet.grafted(
                state, lambda outcome: self._after(outcome, 0), self._diagrams, self._variables
            )
            for state in range(self._machine.num_states)
        )
        delta = DecisionTable(self._machine.propositions, self._diagrams, roots)
        return replace(self._machine, delta=delta)

    def _after(self, number: int, waited: int) -> int:
        """Return the diagram of what an outcome comes to, by the labels with which it came about."""
        leaf = self._diagrams.leaf(number)
        target, reward = self._machine.outcomes[number]
        if reward > 0 or target not in self._stuck or waited == MOST_TICKS:
            return leaf
        stays = self._index.get(Outcome(target, 0.0))
        if stays is None or stays not in self._quiet.outcomes(target):
            return leaf
        stable = self._quiet.condition(target, stays, self._diagrams, self._variables)
        found = leaf
        for table in self._ticking:
            ticked = table.grafted(
                target,
                lambda other: self._ticked(target, other, leaf, waited),
                self._diagrams,
                self._variables,
            )
            if ticked != leaf:
                found = ticked
                break
        return self._diagrams.if_then_else(stable, found, leaf)

    def _ticked(self, state: int, number: int, leaf: int, waited: int) -> int:
        target, reward = self._machine.outcomes[number]
        lost = target in self._machine.failure and reward <= 0
        if lost or target == state:
            return leaf
        return self._after(number, waited + 1)
