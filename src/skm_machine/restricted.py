"""Algorithm 2 on a machine restricted to label sets that occur.

The paper assumes that every transition of the machine can be achieved from every state of the world.
Where the shortest way through the machine takes a label set that no state shows, say three colours at
once, Algorithm 2 has nothing to go for. Here transitions that no label set takes are left out of the
values, of σ_P and of σ_C.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from skm_machine.automata.extremes import values_of_choices
from skm_machine.logic.syntax import FALSE, Formula, conjunction, disjunction, negation, proposition
from skm_machine.machine_values import TOLERANCE, transition_value
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.skill_machine import Skill, SkillMachine


@dataclass(frozen=True, eq=False)
class RestrictedSkill(Skill):
    """A skill whose formulas tell apart the label sets that occur, and say no more."""

    label_sets: tuple[frozenset[str], ...]

    @cached_property
    def reach(self) -> Formula:
        """σ_P: the label sets of the best transitions, ties or-ed."""
        return self._label(self.best)

    @cached_property
    def avoid(self) -> Formula:
        """σ_C: the label sets of the worthless transitions."""
        return self._label(self.worthless)

    def _label(self, outcomes: tuple[Outcome, ...]) -> Formula:
        read = frozenset(self.machine.propositions)
        taken: dict[frozenset[str], bool] = {}
        for labels in self.label_sets:
            options = self.machine.options(self.state, labels)
            taken[labels & read] = any(each in outcomes for each in options)
        return separating(
            [labels for labels, yes in taken.items() if yes],
            [labels for labels, yes in taken.items() if not yes],
        )


def plan_restricted(
    machine: RewardMachine, gamma: float, label_sets: Collection[frozenset[str]]
) -> SkillMachine:
    """Return the skill machine of Algorithm 2, of the machine restricted to these label sets.

    A state from which they lead to no reward has a skill that nothing satisfies.
    """
    taken = [
        tuple(dict.fromkeys(each for labels in label_sets for each in machine.options(u, labels)))
        for u in range(machine.num_states)
    ]
    values = _values(machine, gamma, taken)
    skills: dict[int, Skill] = {}
    for state in range(machine.num_states):
        if state in machine.terminal or state in machine.failure:
            continue
        worth = {o: transition_value(machine, state, o, values, gamma) for o in taken[state]}
        best = max(worth.values(), default=0.0)
        skills[state] = RestrictedSkill(
            machine,
            state,
            tuple(o for o, value in worth.items() if best > 0 and value >= best * (1 - TOLERANCE)),
            tuple(o for o, value in worth.items() if value <= 0),
            best,
            tuple(label_sets),
        )
    return SkillMachine(machine, skills, values, "paper", gamma)


def _values(
    machine: RewardMachine, gamma: float, taken: list[tuple[Outcome, ...]]
) -> tuple[float, ...]:
    """Return V(u) for each state over these outcomes: choices are improved until none can be."""
    index = {outcome: number for number, outcome in enumerate(machine.outcomes)}
    targets = [outcome.target for outcome in machine.outcomes]
    rewards = [outcome.reward for outcome in machine.outcomes]
    choices, values = [-1] * machine.num_states, [0.0] * machine.num_states
    improved = True
    while improved:
        improved = False
        for state, outcomes in enumerate(taken):
            worth = {o: transition_value(machine, state, o, values, gamma) for o in outcomes}
            best = max(worth, key=lambda each: worth[each], default=None)
            # A share, since γ^k is small where k is large.
            if best is None or state in machine.terminal or worth[best] <= 0:
                continue
            if worth[best] > values[state] * (1 + TOLERANCE * (1 - gamma)):
                choices[state] = index[best]
                improved = True
        values = values_of_choices(choices, targets, rewards, gamma)
    return tuple(values)


def separating(inside: Collection[frozenset[str]], outside: Collection[frozenset[str]]) -> Formula:
    """Return a disjunction of short conjunctions that holds on all of `inside`, on none of `outside`.

    Literals are dropped from each label set as long as no set outside satisfies what is left, negative
    ones first: of things that never show together, `magenta` is enough where `magenta & !blue` would do.
    """
    names = sorted(frozenset[str]().union(*inside, *outside))
    terms: list[tuple[frozenset[str], frozenset[str]]] = []
    for labels in sorted(inside, key=lambda each: (len(each), sorted(each))):
        if any(_holds(term, labels) for term in terms):
            continue
        term = labels, frozenset(names) - labels
        for kept in (1, 0):
            for name in names:
                shorter = list(term)
                shorter[kept] -= {name}
                candidate = shorter[0], shorter[1]
                if not any(_holds(candidate, other) for other in outside):
                    term = candidate
        terms.append(term)
    return disjunction(*(_formula(term) for term in terms)) if terms else FALSE


def _holds(term: tuple[frozenset[str], frozenset[str]], labels: frozenset[str]) -> bool:
    true, false = term
    return true <= labels and not false & labels


def _formula(term: tuple[frozenset[str], frozenset[str]]) -> Formula:
    true, false = term
    positive = [proposition(name) for name in sorted(true)]
    return conjunction(*positive, *(negation(proposition(name)) for name in sorted(false)))
