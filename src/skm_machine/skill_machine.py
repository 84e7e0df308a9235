"""Skill machines (Definition 3.2, SM) and the paper's planner (Algorithm 2, RM to SM).

For every state of the reward machine: which label sets to reach, and which constraints to keep on the
way, σ_P ∧ ¬σ_C. The skill itself is the composition of the primitives by that expression, which
`skm_primitives.composition` compiles to a mask over the goals.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from skm_machine.logic.normal_form import negation_normal_form
from skm_machine.logic.syntax import FALSE, Formula, evaluate
from skm_machine.machine_values import Worth, optimal_values
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

    @cached_property
    def reach(self) -> Formula:
        """σ_P: the label sets of the best transitions, ties or-ed."""
        return self.machine.label(self.state, self.best)

    @cached_property
    def avoid(self) -> Formula:
        """σ_C: the label sets of the worthless transitions."""
        return self.machine.label(self.state, self.worthless) if self.worthless else FALSE

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
