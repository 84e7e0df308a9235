"""What is said about a mission over ROS: its result, and its part of the machine state."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Final

from builtin_interfaces.msg import Duration
from skm.action import ExecuteMission
from skm.msg import Goal, MachineState

from skm_machine.errors import MOST_QUOTED, MOST_TEXT
from skm_machine.logic.timed import NANOSECONDS
from skm_ros.conversions import goal_message, transition_message
from skm_ros.nodes.mission_interface import MissionView

Result = ExecuteMission.Result

NO_GOAL: Final = Goal()
said_of = lru_cache(maxsize=256)(goal_message)
"""A goal as a message, not to be changed: the few goals of a patrol recur."""


def mission_result(execution: MissionView) -> ExecuteMission.Result:
    """Return the result of a mission that has just ended."""
    result = Result(outcome=execution.outcome, reason=execution.reason, words=execution.words)
    if execution.outcome not in (Result.ACCEPTED, Result.SATISFIED_SO_FAR, Result.CANCELLED):
        result.error_code = Result.ERROR_OFFSET + execution.outcome
        result.error_msg = execution.reason
    if execution.steps is not None:
        tracker = execution.steps.run.tracker
        result.steps, result.accepted = tracker.steps, tracker.accepting_visits
        result.seconds = time.monotonic() - execution.began_at
        kept = tracker.transitions[-Result.MAX_TRANSITIONS :]
        result.transitions = [transition_message(step) for step in kept]
        result.dropped_transitions = tracker.moves - len(kept)
    return result


def duration(seconds: float) -> Duration:
    """Return seconds as a message."""
    whole = int(seconds)
    return Duration(sec=whole, nanosec=int((seconds - whole) * NANOSECONDS))


def describe_mission(execution: MissionView, state: MachineState) -> None:
    """Fill in what the machine state says about a mission."""
    state.goal_id = execution.handle.goal_id
    state.mission = execution.goal.mission[:MOST_TEXT]
    state.planner = execution.planner[:MOST_QUOTED]
    state.outcome, state.reason = execution.outcome, execution.reason
    if execution.steps is None:
        return
    run, tracker = execution.steps.run, execution.steps.run.tracker
    state.reason = execution.reason or execution.steps.stop_reason
    state.state, state.states = tracker.state, run.machine.num_states
    state.words, state.goal_steps = execution.words, execution.goal_steps
    if execution.text is not None:
        state.target = execution.text.target
        state.active_constraints = list(execution.text.active_constraints)
    state.violated_constraints = sorted(tracker.violated)
    if run.goal >= 0:
        state.goal_index, state.goal_value = run.goal, run.goal_value
        state.goal = said_of(run.skills.goals[run.goal])
    else:
        state.goal_index, state.goal_value, state.goal = MachineState.NONE, 0.0, NO_GOAL
    state.session, state.episode, state.step = execution.steps.state.key
    state.mission_steps, state.accepted = tracker.steps, tracker.accepting_visits
