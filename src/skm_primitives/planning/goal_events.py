"""Events where goals are label sets: what they could spoil, what is owed, and what to wait for.

The plan is made of goals, and no goal shows an event: so the planner never counts on one. Three rules,
as where goals are places (`standing`):

- Goals at which events could make the mission fail, by the game on the machine in which the robot shows
  the label sets of its goals, are not pursued, as long as the mission can be kept at all.
- What is owed because the machine left its calm states is done first, by the goals that lead back.
- Where only an event can help, the robot waits for it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skm_machine.event_game import EventGame, subsets
from skm_machine.mission import Mission
from skm_machine.reward_machine import RewardMachine
from skm_primitives.goals import label_sets_of
from skm_primitives.planning.goal_outcomes import GoalOutcomes
from skm_primitives.primitives import Skills
from skm_sim.arrays import BoolArray


def without_risk(outcomes: GoalOutcomes, mission: Mission, skills: Skills) -> GoalOutcomes:
    """Return the outcomes without the goals at which an event could make the mission fail."""
    machine, goals = mission.machine, skills.goals
    label_sets = label_sets_of(goals)
    game = EventGame(machine, mission.events, label_sets={frozenset(), *label_sets})
    kept = {
        (state, labels): all(
            any(option.target in game.won for option in machine.options(state, labels | happening))
            for happening in game.events
        )
        for state in game.won - machine.terminal
        for labels in label_sets
    }
    safe: BoolArray = np.array(
        [
            [kept.get((state, goal.labels), True) for goal in goals]
            for state in range(machine.num_states)
        ]
    )
    return replace(outcomes, moves=outcomes.moves & safe)


def paying_debts(outcomes: GoalOutcomes, machine: RewardMachine) -> GoalOutcomes:
    """Return the outcomes of the mission to be where nothing is owed: 1 on arrival, then the end.

    Where a goal leads there at once, no other is gone to before it: what lies behind goals is known on
    average only, and would make detours look short.
    """
    calm = np.array([state in machine.calm for state in range(machine.num_states)])
    paying = outcomes.moves & calm[outcomes.target]
    owing = ~calm[:, None] & (paying | ~paying.any(axis=1, keepdims=True))
    idle = np.where(np.isfinite(outcomes.idle_reward), 0.0, -np.inf) + calm[outcomes.idle_target]
    arrived = calm[outcomes.passing[:, 2]].astype(np.float64)
    return replace(
        outcomes,
        moves=outcomes.moves & owing,
        reward=calm[outcomes.target].astype(np.float64),
        passing_reward=np.where(np.isfinite(outcomes.passing_reward), arrived, -np.inf),
        idle_reward=np.where(calm, -np.inf, idle),
    )


def hopeful(mission: Mission, skills: Skills) -> frozenset[int]:
    """Return the machine states from which goals, with the help of events, earn a reward."""
    machine = mission.machine
    happening = subsets(mission.events)
    own = {frozenset[str](), *label_sets_of(skills.goals)}
    shown = {labels | some for labels in own for some in happening}
    running = [s for s in range(machine.num_states) if s not in machine.terminal]
    found = frozenset[int]()
    while True:
        more = frozenset(
            state
            for state in running
            if any(
                option.reward > 0 or option.target in found
                for labels in shown
                for option in machine.options(state, labels)
            )
        )
        if more == found:
            return found
        found = more
