"""Why this action, for the page: what the machine weighed, from the message that says so."""

from __future__ import annotations

import math
from typing import Any


def why_document(decision: Any, gamma: float) -> dict[str, Any]:  # noqa: ANN401 - a Decision
    """Return the goals in play, the dangers and the shield's veto."""
    return {
        "goal": bytes(decision.goal_id.uuid).hex(),
        "step": int(decision.mission_steps),
        "state": int(decision.state),
        "target": decision.target,
        "goals": [_goal(goal, gamma) for goal in decision.goals],
        "others": int(decision.other_goals),
        "keep_off": decision.keep_off,
        "dangers": [_goal(goal, gamma) for goal in decision.dangers],
        "waiting": bool(decision.waiting),
        "veto": decision.veto,
        "vetoes": int(decision.vetoes),
        "lost_actions": list(decision.lost_actions),
    }


def _goal(entry: Any, gamma: float) -> dict[str, Any]:  # noqa: ANN401 - a GoalInPlay
    value, weight = float(entry.value), float(entry.weight)
    return {
        "labels": list(entry.goal.labels),
        "place": int(entry.goal.place),
        "value": round(value, 4),
        "weight": round(weight, 4),
        "worth": round(value * weight, 4),
        "steps": _steps(value, gamma),
        "leads_to": int(entry.leads_to),
        "pursued": bool(entry.pursued),
    }


def _steps(value: float, gamma: float) -> int | None:
    """Return how many steps away a goal of this value is, 1 or more; None: out of reach."""
    if value <= 0 or not 0 < gamma < 1:
        return None
    return 1 + max(0, round(math.log(min(1.0, value)) / math.log(gamma)))
