"""A mission's machine in a world that shows some label sets only: what can happen there.

`Shown` says which label sets can show in each machine state; states that it does not name are never
reached. The machine itself, and the names of its states, stay as they are: what cannot happen is only
not told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import product

from skm_machine.logic.formula import Formula
from skm_machine.logic.shortening import telling
from skm_machine.reward_machine import Outcome, RewardMachine

LabelSet = frozenset[str]
Shown = Mapping[int, Collection[LabelSet]]


def shown_everywhere(
    machine: RewardMachine,
    label_sets: Collection[LabelSet],
    events: Iterable[LabelSet] = (frozenset(),),
) -> dict[int, tuple[LabelSet, ...]]:
    """Return what can show where any of these label sets may follow on any other.

    `events` are the sets of events that may happen at the same time.
    """
    both = (labels | happening for labels, happening in product(label_sets, events))
    sets = tuple(sorted(set(both), key=lambda labels: (len(labels), sorted(labels))))
    shown: dict[int, tuple[LabelSet, ...]] = {}
    queue = [machine.initial]
    for state in queue:
        over = state in machine.terminal or state in machine.failure
        shown[state] = () if over else sets
        targets = {outcome.target for outcome in possible_outcomes(machine, state, shown)}
        queue += sorted({*targets, *machine.commitments(state)} - set(queue))
    return shown


def possible_outcomes(machine: RewardMachine, state: int, shown: Shown) -> list[Outcome]:
    """Return what can happen in a state, in the order of the machine's own outcomes."""
    possible = {o for labels in shown.get(state, ()) for o in machine.options(state, labels)}
    known = machine.successors(state) if possible else []
    return [*(o for o in known if o in possible), *sorted(possible.difference(known))]


def possible_label(
    machine: RewardMachine,
    state: int,
    outcomes: Collection[Outcome],
    label_sets: Collection[LabelSet],
) -> Formula:
    """Return which of the label sets that can show in a state lead to some outcomes, as a formula."""
    wanted: list[LabelSet] = []
    others: list[LabelSet] = []
    for labels in label_sets:
        leads = not set(machine.options(state, labels)).isdisjoint(outcomes)
        (wanted if leads else others).append(labels)
    return telling(wanted, others, machine.propositions)
