"""Why this action, on the topic `decision`: worked out after the action is out, and only if heard."""

from __future__ import annotations

import time
from typing import Final

from skm.msg import Decision, GoalInPlay

from skm_primitives.execution.explain import Explainer
from skm_primitives.execution.explain import GoalInPlay as GoalValue
from skm_primitives.execution.mission_run import MissionRun
from skm_ros import qos
from skm_ros.conversions import goal_message
from skm_ros.nodes.mission_interface import MissionView
from skm_ros.nodes.skm_node import SkmNode

LEAST_SECONDS: Final = 0.1
"""Between two decisions that are published, if the machine has not moved."""


class DecisionTopic:
    """Publishes decisions of the missions of a machine node."""

    def __init__(self, node: SkmNode) -> None:
        self._publisher = node.create_publisher(Decision, "decision", qos.LATCHED)
        self._explainer: Explainer | None = None
        self._run: MissionRun | None = None
        self._moves = -1
        self._published_at = 0.0

    def publish(self, mission: MissionView) -> None:
        """Publish why the last decision of a mission is as it is, if somebody listens."""
        steps = mission.steps
        if (
            steps is None
            or steps.run.values is None
            or not self._publisher.get_subscription_count()
        ):
            return
        run, now = steps.run, time.monotonic()
        moved = run is not self._run or run.tracker.moves != self._moves
        if not moved and now - self._published_at < LEAST_SECONDS:
            return
        if run is not self._run or self._explainer is None:
            self._run, self._explainer = run, Explainer(run)
        if moved:
            self._moves = run.tracker.moves
        self._published_at = now
        self._publisher.publish(self._message(mission, run, self._explainer))

    def _message(self, mission: MissionView, run: MissionRun, explainer: Explainer) -> Decision:
        steps = mission.steps
        assert steps is not None
        assert run.values is not None
        why = explainer.explain(run.values)
        message = Decision(
            goal_id=mission.handle.goal_id,
            mission_steps=run.tracker.steps,
            state=run.tracker.state,
            target="" if mission.text is None else mission.text.target,
            goals=[_in_play(run, goal) for goal in why.goals],
            other_goals=why.others,
            avoid=why.avoid,
            dangers=[_in_play(run, goal) for goal in why.dangers],
            waiting=why.waiting,
            veto=why.veto,
            vetoes=why.vetoes,
            lost_actions=list(why.lost_actions),
        )
        message.session, message.episode, message.step = steps.state.key
        if steps.state.observation is not None:
            message.header = steps.state.observation.header
        return message


def _in_play(run: MissionRun, goal: GoalValue) -> GoalInPlay:
    return GoalInPlay(
        goal=goal_message(run.skills.goals[goal.index]),
        index=goal.index,
        value=goal.value,
        weight=goal.weight,
        leads_to=goal.leads_to,
        pursued=goal.pursued,
    )
