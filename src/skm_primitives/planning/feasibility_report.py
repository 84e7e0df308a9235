"""Feasibility report: avoidances that no skill was learned for, and missions out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skm_machine.errors import UnachievableMissionError
from skm_machine.logic.normal_forms import negation_normal_form
from skm_machine.mission import Mission
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Policy
from skm_primitives.skills.values import GoalToGoal, Skills


@dataclass(frozen=True)
class FeasibilityReport:
    """What is to be said of a mission before it is run with some skills."""

    unlearned: tuple[str, ...]
    """What it must avoid though no skill was learned to; empty where plans are exact."""
    blocked: str = ""
    """Why it cannot be achieved at all."""
    policy: Policy | None = None
    """What would carry it out."""

    def document(self) -> dict[str, Any]:
        """Return the same for programs."""
        return {
            "achievable": not self.blocked,
            "why": self.blocked or None,
            "unlearned": list(self.unlearned),
        }

    @property
    def sentences(self) -> list[str]:
        """The same as a sentence."""
        said = [self.blocked] if self.blocked else []
        if self.unlearned:
            names = ", ".join(self.unlearned)
            said.append(f"no skill was learned to avoid {names}: the robot may touch it on its way")
        return said


def feasibility_report(
    mission: Mission, skills: Skills, planner: str = "product"
) -> FeasibilityReport:
    """Say what the skills cannot do of a mission."""
    missing = unlearned(mission, skills)
    try:
        return FeasibilityReport(missing, policy=make_policy(mission, skills, planner))
    except UnachievableMissionError as error:
        return FeasibilityReport(missing, str(error))


def unlearned(mission: Mission, skills: Skills) -> tuple[str, ...]:
    """Return the propositions that a mission must avoid and that are no constraint of the skills.

    Skills of places, and of worlds that are known, take any avoid set.
    """
    if not isinstance(skills.world_model, GoalToGoal):
        return ()
    mission = mission.whole
    machine, found = mission.machine, dict[str, None]()
    for state in range(machine.num_states):
        if state in machine.terminal or state in machine.failure:
            continue
        fatal = [o for o in machine.successors(state) if o.target in machine.failure]
        if fatal:
            label = negation_normal_form(machine.label(state, fatal))
            negated = {sub.operands[0] for sub in label.subformulas() if sub.operator == "!"}
            positive = [
                sub.name
                for sub in label.subformulas()
                if sub.operator == "prop" and sub not in negated
            ]
            found.update(dict.fromkeys(positive))
    ticks = () if mission.clocks is None else mission.clocks.names
    uncontrolled = {*skills.constraints, *mission.events, *ticks}
    return tuple(name for name in found if name not in uncontrolled)
