"""A mission planned for a robot: from the text of an action goal to a run that can begin.

Compiling and planning may take seconds: callers do so in a thread of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from skm.action import ExecuteMission

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.events import check_events
from skm_machine.factored import FactoredMachine
from skm_machine.mission import Mission, compile_mission
from skm_primitives.execution.explain import MissionText
from skm_primitives.execution.mission_run import MissionRun, usual_limit
from skm_primitives.execution.narration import RunNarrator
from skm_primitives.execution.phrases import chosen_language
from skm_primitives.execution.replanning import Plan, plan_from
from skm_primitives.planning.large_mission_policy import AGAIN_SECONDS, LargeMissionPolicy
from skm_primitives.planning.planners import make_policy, parts_for
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.planning.shield import make_shield
from skm_primitives.skills.values import RemoteSkills
from skm_ros.nodes.mission_interface import MissionNode
from skm_ros.step_time import step_seconds

NO_LIMIT: Final = 1 << 62
"""Steps of a mission without end: until it is cancelled."""
PLANS_AHEAD: Final = (ProductPolicy, LargeMissionPolicy)
"""Policies that work something out from where the mission will begin, best before it does."""


class UnresumableMissionError(SkmError):
    """A mission cannot go on from where it stood before a restart."""


@dataclass(frozen=True)
class PlannedMission:
    """A mission that can begin."""

    run: MissionRun
    text: MissionText
    """The texts about the run."""
    narrator: RunNarrator
    step_seconds: float | None
    """How long a step takes in a world that waits for actions; None where nothing says it."""


class MissionPlanning:
    """Plans one action goal; `plan` before it begins, `another_way` while it runs."""

    def __init__(self, node: MissionNode, goal: ExecuteMission.Goal, planner: str) -> None:
        self._node, self._goal, self._planner = node, goal, planner

    def plan(self, skills: RemoteSkills, stands: Mapping[str, Any] | None) -> PlannedMission:
        """Compile and plan the mission; `stands` is where it stood before a restart."""
        goal, node = self._goal, self._node
        period = node.states.period
        seconds = step_seconds(period, skills.domain)
        check_events(node.events.names, skills.propositions)
        mission = compile_mission(
            goal.mission,
            format=goal.format or "auto",
            propositions=skills.propositions,
            repeat=goal.repeat,
            horizon=goal.horizon or "auto",
            step_seconds=seconds,
            clock=period > 0 or seconds is not None,
            max_states=node.setting("max_states"),
            max_seconds=node.setting("translation_seconds"),
            events=node.events.names,
            parts=parts_for(skills),
        )
        mission = replace(mission, expected_step_seconds=node.step_times.expected)
        state = node.states.latest
        skills = self._open_skills(mission, skills)
        policy = make_policy(mission, skills, self._planner)
        mission = policy.mission
        if stands is not None:
            check_stands(stands, mission, skills, node.events.names)
            policy = make_policy(rest_from(mission, stands["tracker"]), skills, self._planner)
        if isinstance(policy, LargeMissionPolicy):
            policy.seconds = AGAIN_SECONDS  # the robot waits for it
        seen = state is not None and state.value is not None and not goal.reset
        if seen and state is not None and isinstance(policy, PLANS_AHEAD):
            policy.look_ahead_from(state.value)
        limit = usual_limit(policy, node.setting("max_steps"))
        usual = NO_LIMIT if mission.machine.endless else limit
        shield = make_shield(mission, skills) if node.setting("shield") else None
        run = MissionRun(policy, skills, int(goal.max_steps) or usual, shield)
        text = MissionText(run)
        text.study()

        def pace() -> float:
            """Return the duration of a step: the world's own in lock-step, else as measured."""
            return seconds or node.step_times.expected or 0.0

        language = node.setting("language") or chosen_language()
        return PlannedMission(run, text, RunNarrator(run, pace, language), seconds)

    def _open_skills(self, mission: Mission, skills: RemoteSkills) -> RemoteSkills:
        """Return the skills without ways that are blocked, if the mission can be done so; else with."""
        robot, state = self._node.robot, self._node.states.latest
        free, status = robot.open_ways(skills), robot.status
        if (status.blocked or status.unavailable) and state is not None and state.value is not None:
            initial = mission.machine.initial
            try:
                plan_from(mission, free, self._planner, initial, state.value, shield=False)
            except UnachievableMissionError:
                return robot.open_ways(skills, blocked=False)
        return free

    def another_way(
        self,
        run: MissionRun,
        skills: RemoteSkills,
        state: int,
        observation: Any,  # noqa: ANN401 - whatever the domain observes
    ) -> Plan:
        """Plan the rest of a mission, from a state of its machine, for the ways that are open now."""
        free, shield = self._node.robot.open_ways(skills), self._node.setting("shield")
        mission = run.policy.mission
        return plan_from(mission, free, self._planner, state, observation, shield=shield)

    def is_closed_off(
        self,
        run: MissionRun,
        skills: RemoteSkills,
        observation: Any,  # noqa: ANN401
    ) -> bool:
        """Tell whether the mission cannot be done for closed places alone: those do not go away."""
        free = self._node.robot.open_ways(skills, blocked=False)
        mission, state = run.policy.mission, run.tracker.state
        try:
            plan_from(mission, free, self._planner, state, observation, shield=False)
        except UnachievableMissionError:
            return True
        return False


def check_stands(
    stands: Mapping[str, Any], mission: Mission, skills: RemoteSkills, events: tuple[str, ...]
) -> None:
    """Refuse a mission that cannot go on from where it stood."""
    why = ""
    if (stands["domain"], stands["digest"]) != (skills.domain, skills.digest):
        why = f"it was begun with other skills, of {stands['domain']}"
    elif list(stands["events"]) != list(events):
        why = "the machine had other events"
    elif stands["states"] != mission.machine.num_states:
        why = "it is translated into another machine now"
    if why:
        raise UnresumableMissionError(f"the mission cannot go on after the restart: {why}")


def rest_from(mission: Mission, tracker: Mapping[str, Any]) -> Mission:
    """Return a mission that begins in the state of its machine in which a tracker stood."""
    machine, state = mission.machine, int(tracker["state"])
    if isinstance(machine, FactoredMachine) and tracker["parts"] is not None:
        state = machine.number(tuple(tracker["parts"]))
    return replace(mission, machine=machine.begun_in(state))
