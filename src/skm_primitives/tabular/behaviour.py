"""How the learning agents act: in pursuit of goals from the buffer, ε-greedily (Algorithm 1)."""

from __future__ import annotations

import numpy as np

from skm_primitives.tabular.learned_state import TabularState
from skm_primitives.tabular.model_confidence import Survey
from skm_sim.arrays import BoolArray, FloatArray, IntArray

ENTER_AGAIN = 0.5
"""How often an agent goes for the place that it has just reached a second time."""
STRAY = 0.1
"""How often an agent that surveys does something else."""


class Behaviour:
    """The violated sets and the goals of a batch of agents, through one round.

    With a `survey`, one agent in `every` goes where actions were not tried often enough instead.

    A goal is drawn by label set first and by place second, so that the few labelled places are
    entered as often as the paper's goals would have them, and more than once in an episode.
    """

    def __init__(
        self,
        state: TabularState,
        steps: int,
        random: np.random.Generator,
        survey: Survey | None = None,
        every: int = 2,
    ) -> None:
        agents = state.settings.agents
        self._survey = survey
        self._surveys = np.arange(agents) % every == 0
        self._tables = state.tables
        self._random = random
        self._targets = state.variant_targets()
        self._cumulative = _by_label_set(state.visits.label_bits)
        actions = state.tables.next_state.shape[1]
        epsilon = state.settings.epsilon if len(self._targets) else 1.0
        self._explores = random.random((steps, agents)) < epsilon
        self._random_actions = random.integers(actions, size=(steps, agents))
        self._tie_breaks = 1.0 - random.random((steps, agents, actions), np.float32)
        self._enters_again = random.random((steps, agents)) < ENTER_AGAIN
        self._violated: IntArray = np.zeros(agents, np.int64)
        self._wanted: IntArray = np.zeros(agents, np.int64)
        self._target: IntArray = np.zeros(agents, np.int64)
        self.restart(np.ones(agents, np.bool_))

    def restart(self, agents: BoolArray) -> None:
        """Begin an episode: draw c from 2^C, and a goal."""
        count = np.count_nonzero(agents)
        self._violated[agents] = self._random.integers(self._tables.histories.sets, size=count)
        self._draw_target(np.flatnonzero(agents))
        self._draw_wanted(np.flatnonzero(agents))

    def act(self, state: IntArray, step: int) -> IntArray:
        """Choose actions: random ones, or the best for the goal, ties broken by chance."""
        values = self._tables.action_values(state, self._violated, self._wanted, self._target)
        best = values == values.max(axis=1, keepdims=True)
        greedy = (best * self._tie_breaks[step]).argmax(axis=1)
        actions: IntArray = np.where(self._explores[step], self._random_actions[step], greedy)
        if self._survey is not None:
            draws = self._tie_breaks[step, self._surveys]
            strays = draws[:, 0] < STRAY  # lest all agents wait for what the estimates promise
            toward = self._survey.act(state[self._surveys], draws)
            actions[self._surveys] = np.where(strays, actions[self._surveys], toward)
        return actions

    def observe(self, live: IntArray, achieved: IntArray, changed: IntArray, step: int) -> None:
        """Take note of what the live agents achieved, and renew goals that are reached or lost."""
        violated, wanted = self._violated[live], self._wanted[live]
        reached = (achieved == self._target[live]) & (violated == wanted)
        violated = violated | changed
        self._violated[live] = violated
        self._draw_target(live[reached & ~self._enters_again[step, live]])
        self._draw_wanted(live[reached | (violated & ~wanted != 0)])

    def _draw_target(self, agents: IntArray) -> None:
        if len(agents) and len(self._targets):
            draw = np.searchsorted(self._cumulative, self._random.random(len(agents)), "right")
            self._target[agents] = self._targets[np.minimum(draw, len(self._targets) - 1)]

    def _draw_wanted(self, agents: IntArray) -> None:
        """Want a history that can still come about: what is violated, and perhaps more."""
        if len(agents):
            more = self._random.integers(self._tables.histories.sets, size=len(agents))
            self._wanted[agents] = self._violated[agents] | more


def _by_label_set(label_bits: IntArray) -> FloatArray:
    """Return cumulative probabilities of the variants: equal for label sets, then for places."""
    if not len(label_bits):
        return np.zeros(0)
    _, inverse, counts = np.unique(label_bits, return_inverse=True, return_counts=True)
    return np.cumsum(1 / (len(counts) * counts[inverse]))
