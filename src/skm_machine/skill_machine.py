"""Skill machines (Definition 3.2, SM) and the paper's planner (Algorithm 2, RM to SM).

For every state of the reward machine: which label sets to reach, and which constraints to keep on the
way, σ_P ∧ ¬σ_C. The skill itself is the composition of the primitives by that expression, which
`skm_primitives.composition` compiles to a mask over the goals.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from skm_machine.automata.extremes import values_of_choices
from skm_machine.logic.normal_form import negation_normal_form
from skm_machine.logic.syntax import FALSE, Formula, evaluate
from skm_machine.machine_values import TOLERANCE, Worth, optimal_values, transition_value
from skm_machine.possible import Shown, possible_label, possible_outcomes
from skm_machine.reward_machine import Outcome, RewardMachine


@dataclass(frozen=True, eq=False)
class Skill:
    """What to do in one state of the machine: reach `reach`, and keep the constraints of `avoid`.

    The formulas are for people, and for masks; they are worked out when they are first asked for.
    """

    machine: RewardMachine
    state: int
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
    skills: dict[int, Skill]
    values: tuple[float, ...]
    """The value of each machine state."""

    planner: str
    gamma: float


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
