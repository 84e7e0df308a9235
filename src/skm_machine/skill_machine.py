"""Skill machines (Definition 3.2, SM) and the paper's planner (Algorithm 2, RM to SM).

For every state of the reward machine: which label sets to reach, and which constraints to keep on the
way, σ_P ∧ ¬σ_C. The skill itself is the composition of the primitives by that expression, which
`skm_primitives.skills.composition` compiles to a mask over the goals.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from skm_machine.automata.extremes import Extremes, values_of_choices
from skm_machine.logic.formula import FALSE, Formula, evaluate
from skm_machine.logic.normal_forms import negation_normal_form
from skm_machine.possible import Shown, possible_label, possible_outcomes
from skm_machine.reward_machine import Outcome, RewardMachine

# What the states and transitions of a reward machine are worth, exactly: the values of Algorithm
# 2.
#
# The paper iterates V(u) = max over σ of δ_r(u, σ) + γ · V(δ_u(u, σ)). Here choices are improved
# until none can be, and the value of choices is a sum, so that the values are those to which the
# paper's iteration converges. Only diagrams are walked, never all transitions.


TOLERANCE: Final = 1e-9
"""Values that differ by less than this share are a tie: a share, since γ^k is small where k is large."""
LEAST: Final = math.ulp(0.0)
"""What is worth less than any number is worth this: it must not be taken for what is worth nothing."""


def optimal_values(machine: RewardMachine, gamma: float) -> tuple[float, ...]:
    """Return V(u) for each state, by policy iteration from the fewest steps to a reward."""
    targets = [outcome.target for outcome in machine.outcomes]
    rewards = [outcome.reward for outcome in machine.outcomes]
    choices = _nearest_rewards(machine)
    values = values_of_choices(choices, targets, rewards, gamma)
    running = [state for state in range(machine.num_states) if state not in machine.terminal]
    improved = True
    while improved:
        improved = False
        worth = Worth(machine, tuple(values), gamma)
        for state in running:
            best, now = worth.of(state), values[state]
            if best > now + max(TOLERANCE * (1 - gamma) * abs(now), LEAST):
                choices[state] = worth.choice(state)
                improved = True
        values = values_of_choices(choices, targets, rewards, gamma)
    return tuple(values)


def _nearest_rewards(machine: RewardMachine) -> list[int]:
    """Return, for each state, the outcome to begin with on the shortest way to a reward; −1: none.

    Breadth-first and backwards on the diagrams, each part of which is walked once. Machines with
    commitments begin with no choice: what may be counted there depends on the commitment.
    """
    choices = [-1] * machine.num_states
    if machine.committed:
        return choices
    layout, above = machine.delta.layout, _parents(machine)
    states_at: dict[int, list[int]] = {}
    for state, root in enumerate(layout.roots):
        if state not in machine.terminal:
            states_at.setdefault(root, []).append(state)
    leaves_to: dict[int, list[int]] = {}
    level: list[tuple[int, int]] = []  # a part of the diagrams, and the leaf below it that counts
    for leaf, outcome in enumerate(layout.leaves):
        leaves_to.setdefault(machine.outcomes[outcome].target, []).append(leaf)
        if machine.outcomes[outcome].reward > 0:
            level.append((leaf, outcome))
    seen = {part for part, _ in level}
    while level:
        later: list[tuple[int, int]] = []
        for part, outcome in level:  # grows while it is walked
            for state in states_at.get(part, ()):
                choices[state] = outcome
                for leaf in leaves_to.get(state, ()):
                    if leaf not in seen:
                        seen.add(leaf)
                        later.append((leaf, layout.leaves[leaf]))
            for parent in above[part]:
                if parent not in seen:
                    seen.add(parent)
                    level.append((parent, outcome))
        level = later
    return choices


def _parents(machine: RewardMachine) -> list[list[int]]:
    """Return the nodes right above each leaf and node of the machine's diagrams."""
    layout = machine.delta.layout
    first = len(layout.leaves)
    above: list[list[int]] = [[] for _ in range(first + len(layout.nodes))]
    for index, children in enumerate(layout.nodes):
        for child in children:
            above[child].append(first + index)
    return above


def transition_value(
    machine: RewardMachine, state: int, outcome: Outcome, values: Sequence[float], gamma: float
) -> float:
    """Return Q(u, σ) = δ_r(u, σ) + γ · V(δ_u(u, σ)); breaking a commitment is worth nothing."""
    if not machine.keeps(state, outcome):
        return 0.0
    return outcome.reward + gamma * values[outcome.target]


class Worth:
    """Q(u, σ) of each transition, for given values of the states: the best, and those worth nothing.

    A state's transitions are also those under a commitment that can be made there; breaking a
    commitment is worth nothing.
    """

    def __init__(self, machine: RewardMachine, values: tuple[float, ...], gamma: float) -> None:
        self.machine = machine
        self.values = values
        possible = range(machine.num_states)  # outcomes that no state has may lead nowhere
        lost = machine.terminal | machine.failure
        self._worth = [
            (outcome.reward + gamma * values[outcome.target])
            or (0.0 if outcome.target in lost else LEAST)
            if outcome.target in possible
            else 0.0
            for outcome in machine.outcomes
        ]
        self._kept_worth = [
            value if outcome.target in machine.committed else 0.0
            for value, outcome in zip(self._worth, machine.outcomes, strict=True)
        ]
        self._plain = Extremes(machine.delta, self._worth)
        self._kept = Extremes(machine.delta, self._kept_worth) if machine.committed else self._plain

    @cached_property
    def _losses(self) -> tuple[Extremes, Extremes]:
        """The same upside down, in states without and with a commitment."""
        plain, kept = ([-value for value in worth] for worth in (self._worth, self._kept_worth))
        return Extremes(self.machine.delta, plain), Extremes(self.machine.delta, kept)

    def _ways(self, state: int) -> tuple[int, ...]:
        return (state, *self.machine.commitments(state))

    def _gains(self, way: int) -> Extremes:
        return self._kept if way in self.machine.committed else self._plain

    def of(self, state: int) -> float:
        """Return the greatest value of a transition from `state`."""
        return max(self._gains(way).best(way) for way in self._ways(state))

    def choice(self, state: int) -> int:
        """Return the index of an outcome of that value."""
        way = max(self._ways(state), key=lambda way: self._gains(way).best(way))
        return self._gains(way).best_outcome(way)

    def best(self, state: int) -> tuple[Outcome, ...]:
        """Return the outcomes of the greatest value: several, if they tie."""
        best = self.of(state)
        least = best - TOLERANCE * best
        found = ((way, self._gains(way).outcomes(way, least)) for way in self._ways(state))
        return self._outcomes(state, found)

    def nothing(self, state: int) -> tuple[Outcome, ...]:
        """Return the outcomes from which no reward can be had any more."""
        found = (
            (way, self._losses[way in self.machine.committed].outcomes(way, 0.0))
            for way in self._ways(state)
        )
        return self._outcomes(state, found)

    def _outcomes(self, state: int, found: Iterable[tuple[int, list[int]]]) -> tuple[Outcome, ...]:
        """Return the outcomes by their indices, without those that break a commitment just made."""
        outcomes = [
            (way, self.machine.outcomes[index]) for way, indices in found for index in indices
        ]
        possible = [o for way, o in outcomes if way == state or self.machine.keeps(way, o)]
        return tuple(dict.fromkeys(possible))


@dataclass(frozen=True, eq=False)
class Skill:
    """What to do in one state of the machine: reach `reach`, and keep the constraints of `avoid`.

    The formulas are for display and for masks; they are worked out when they are first asked for.
    """

    machine: RewardMachine
    """The reward machine that it is a skill of."""
    state: int
    """The machine's state that it is used in."""
    best: tuple[Outcome, ...]
    """The transitions of the greatest value: several, if they tie."""

    worthless: tuple[Outcome, ...]
    """The transitions with value zero, from which the mission cannot succeed."""

    value: float
    """The value of the machine state: γ^(transitions to go − 1), for missions that end."""

    shown: tuple[frozenset[str], ...] = ()
    """The label sets that can show in this state, if these are known: formulas say no more than what
    tells them apart."""

    events: frozenset[str] = frozenset()
    """Among them, what the robot does not control: no plan counts on it."""

    @cached_property
    def reach(self) -> Formula:
        """σ_P: the label sets of the best transitions, ties or-ed."""
        quiet = tuple(labels for labels in self.shown if not labels & self.events)
        possible = {o for labels in quiet for o in self.machine.options(self.state, labels)}
        if possible.isdisjoint(self.best):
            return self._label(self.best)
        return possible_label(self.machine, self.state, self.best, quiet)

    @cached_property
    def avoid(self) -> Formula:
        """σ_C: the label sets of the worthless transitions."""
        return self._label(self.worthless) if self.worthless else FALSE

    def _label(self, outcomes: tuple[Outcome, ...]) -> Formula:
        if not self.shown:
            return self.machine.label(self.state, outcomes)
        return possible_label(self.machine, self.state, outcomes, self.shown)

    @property
    def targets(self) -> tuple[int, ...]:
        """The states that the best transitions lead to."""
        return tuple(sorted({outcome.target for outcome in self.best}))

    @property
    def forbidden(self) -> tuple[int, ...]:
        """The states that the worthless transitions lead to."""
        return tuple(sorted({outcome.target for outcome in self.worthless}))

    @cached_property
    def violation(self) -> Formula:
        """σ̂_C: `avoid` with its literals read as constraints, p and ¬p alike as "p has changed"."""
        return as_constraints(self.avoid)

    @property
    def constraints(self) -> tuple[str, ...]:
        """The propositions that `avoid` uses as constraints."""
        return self.avoid.propositions()

    def satisfied_by(self, labels: Collection[str], violated: Collection[str]) -> bool:
        """Tell whether the goal `labels` ∪ `violated` satisfies σ_P ∧ ¬σ̂_C."""
        options = self.machine.options(self.state, labels)
        reached = any(outcome in self.best for outcome in options)
        return reached and not evaluate(self.violation, frozenset(violated))


@dataclass(frozen=True)
class SkillMachine:
    """⟨U, u_0, δ_u, δ_Q⟩: the reward machine, with a skill for each state in which it goes on."""

    reward_machine: RewardMachine
    """The machine of the mission."""
    skills: dict[int, Skill]
    """The skill of each state in which there is something to do."""
    values: tuple[float, ...]
    """The value of each machine state."""

    planner: str
    """Which planner chose the skills."""
    gamma: float
    """The discount that they were chosen with."""


def as_constraints(formula: Formula) -> Formula:
    """Return σ̂: `formula` in negation normal form, each literal p or ¬p read as the constraint p̂."""
    forms: dict[Formula, Formula] = {}
    normal_form = negation_normal_form(formula)
    for sub in normal_form.subformulas():
        operands = tuple(forms[operand] for operand in sub.operands)
        forms[sub] = (
            operands[0] if sub.operator == "!" else Formula(sub.operator, operands, sub.name)
        )
    return forms[normal_form]


def plan_paper(machine: RewardMachine, gamma: float = 0.9) -> SkillMachine:
    """Return the skill machine of Algorithm 2, with ties between transitions or-ed."""
    worth = Worth(machine, optimal_values(machine, gamma), gamma)
    skills = {
        state: Skill(machine, state, worth.best(state), worth.nothing(state), worth.of(state))
        for state in range(machine.num_states)
        if state not in machine.terminal and state not in machine.failure
    }
    return SkillMachine(machine, skills, worth.values, "paper", gamma)


def plan_possible(
    machine: RewardMachine,
    shown: Shown,
    gamma: float,
    pursued: Shown | None = None,
    events: Collection[str] = (),
) -> SkillMachine:
    """Return the skill machine of Algorithm 2, planned over what can happen only.

    `pursued` are the label sets that a planner would go for in each state, if not all that can show.
    Its skills are of the states that can be reached, and from which success can be.
    """
    running = [u for u in shown if u not in machine.terminal and u not in machine.failure]
    outcomes = {u: possible_outcomes(machine, u, shown) for u in running}
    wanted = (
        outcomes
        if pursued is None
        else {
            u: [o for o in possible_outcomes(machine, u, pursued) if o in outcomes[u]]
            for u in running
        }
    )
    values = _possible_values(machine, wanted, gamma)
    skills = {}
    for state in running:
        worth = {o: transition_value(machine, state, o, values, gamma) for o in outcomes[state]}
        best = max((worth[o] for o in wanted[state]), default=0.0)
        if best > 0:
            skills[state] = Skill(
                machine,
                state,
                tuple(o for o in wanted[state] if worth[o] >= best - TOLERANCE * best),
                tuple(o for o in outcomes[state] if worth[o] <= 0),
                best,
                tuple(shown[state]),
                frozenset(events),
            )
    return SkillMachine(machine, skills, values, "possible", gamma)


def _possible_values(
    machine: RewardMachine, outcomes: Mapping[int, Sequence[Outcome]], gamma: float
) -> tuple[float, ...]:
    """Return V(u) for each state, over these outcomes: policy iteration."""
    index = {outcome: number for number, outcome in enumerate(machine.outcomes)}
    targets = [outcome.target for outcome in machine.outcomes]
    rewards = [outcome.reward for outcome in machine.outcomes]
    choices = [-1] * machine.num_states
    values = [0.0] * machine.num_states
    improved = True
    while improved:
        improved = False
        for state, some in outcomes.items():
            if not some:
                continue
            best = max(some, key=lambda o: transition_value(machine, state, o, values, gamma))
            worth = transition_value(machine, state, best, values, gamma)
            if worth > values[state] * (1 + TOLERANCE):
                choices[state], improved = index[best], True
        values = values_of_choices(choices, targets, rewards, gamma)
    return tuple(values)
