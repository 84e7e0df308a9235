"""The policy that few-shot learning with networks returns, and the one that it explores with.

Both begin as the skill machine's. They leave it for the skill of one goal where Q(s, u, goal) is greater
than Q(s, u, skill machine) in the eyes of both networks, for `hold` steps or until the machine moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skm_primitives.deep.served_network import ServedMLP
from skm_primitives.deep.skill_choices import SKILL_MACHINE, SkillChoices
from skm_primitives.deep.task_features import TaskFeatures
from skm_primitives.planning.on_top import PolicyOnTop
from skm_primitives.planning.policy import Decision, Policy, best_of_goals, noise_of
from skm_primitives.primitives import AnyGoalValues, ContinuousGoalValues, Skills
from skm_sim.arrays import BoolArray, Float32Array


class SkillChoicePolicy(PolicyOnTop):
    """The skill machine, but where a single skill has proved better; fits `Policy`."""

    def __init__(
        self,
        zero_shot: Policy,
        skills: Skills,
        features: TaskFeatures,
        network: ServedMLP | None,
        *,
        hold: int,
        margin: float,
    ) -> None:
        super().__init__(zero_shot)
        self.choices = SkillChoices(self.mission.machine, skills.goals)
        self._skills = skills
        self._features = features
        self._network = network
        self._hold = hold
        self._margin = margin
        self._observation: Any = None
        self._choice = SKILL_MACHINE
        self._left = 0
        self._doubted = False

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin an episode with the skill machine."""
        self.zero_shot.start(observation)
        self._observation = observation
        self._left = 0
        self._doubted = False

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Note the state that a step has ended in; once the machine has moved, choose afresh."""
        self.zero_shot.entered(observation, moved)
        self._observation = observation
        if moved:
            self._left = 0
            self._doubted = False

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return what the skill machine does, or the best action of the goal that was chosen."""
        return self._decide(state, values, self.zero_shot.choose(state, values))

    def _decide(self, state: int, values: AnyGoalValues, own: Decision) -> Decision:
        if self._network is None or self._doubted or own.waiting:
            return own
        possible = self.choices.possible(state, values)
        if self._left == 0 or not possible[self._choice]:
            inputs = self._features(self._observation, values)
            self._choice, self._left = self._chosen(state, inputs, possible), self._hold
        self._left -= 1
        return own if self._choice == SKILL_MACHINE else self._pursuing(self._choice - 1, values)

    def _chosen(self, state: int, inputs: Float32Array, possible: BoolArray) -> int:
        """Return the best choice, if both networks say that it is better than the skill machine."""
        q = self.values(inputs)[:, state]
        best = int(np.where(possible, q.mean(axis=0), -1.0).argmax())
        better = q[:, best] > (1 + self._margin) * q[:, SKILL_MACHINE]
        return best if better.all() else SKILL_MACHINE

    def values(self, inputs: Float32Array) -> NDArray[Any]:
        """Return Q of both networks, `[network, machine state, choice]`, as shares of the greatest."""
        assert self._network is not None
        logits = self._network(inputs[None])
        shaped = logits.reshape(len(logits), -1, self.choices.count)
        shares: NDArray[Any] = 1 / (1 + np.exp(-shaped))
        return shares

    def _pursuing(self, goal: int, values: AnyGoalValues) -> Decision:
        actions, reached = best_of_goals(values)
        spread = float(values.spread[goal]) if isinstance(values, ContinuousGoalValues) else 0.0
        return Decision(actions[goal], goal, float(reached[goal]), noise_of(self._skills, spread))

    def doubt(self) -> None:
        """Leave it to the skill machine until the machine moves: what was learned led nowhere."""
        if self._doubted or self._choice == SKILL_MACHINE:
            self.zero_shot.doubt()
        else:
            self._doubted = True


@dataclass
class Trail:
    """What was seen and done in one episode, a row a step."""

    inputs: list[Float32Array] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    choices: list[BoolArray] = field(default_factory=list)
    """All that would have taken the same action."""


class ExploringPolicy(SkillChoicePolicy):
    """The same with ε: now and then it pursues any goal that is on offer; it leaves a trail."""

    def __init__(
        self,
        zero_shot: Policy,
        skills: Skills,
        features: TaskFeatures,
        network: ServedMLP | None,
        *,
        hold: int,
        epsilon: float,
        random: np.random.Generator,
    ) -> None:
        super().__init__(zero_shot, skills, features, network, hold=hold, margin=0.0)
        self._epsilon = epsilon
        self._random = random
        self.trail = Trail()

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin an episode, and a new trail."""
        super().start(observation)
        self.trail = Trail()

    def _decide(self, state: int, values: AnyGoalValues, own: Decision) -> Decision:
        decision = super()._decide(state, values, own)
        self.trail.inputs.append(self._features(self._observation, values))
        self.trail.states.append(state)
        self.trail.choices.append(self.choices.agreeing(values, own.action, decision.action))
        return decision

    def _chosen(self, state: int, inputs: Float32Array, possible: BoolArray) -> int:
        if self._random.random() < self._epsilon:
            return int(self._random.choice(np.flatnonzero(possible)))
        return super()._chosen(state, inputs, possible)
