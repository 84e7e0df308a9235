"""Algorithm 1 in tables: goal-oriented Q-learning of all goals, and how agents behave meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import AutoresetMode

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.skills.checkpoint import Card, WrongDomainError, load
from skm_primitives.skills.goals import pack
from skm_primitives.skills.model_confidence import Survey
from skm_primitives.skills.tabular_skills import (
    StepBatch,
    TabularSettings,
    TabularState,
    check_names,
)
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.faults import environment_faults
from skm_sim.spec import DomainSpec

# How the learning agents act: in pursuit of goals from the buffer, ε-greedily (Algorithm 1).


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
        """Choose actions: random ones, or the best for the goal, ties broken at random."""
        values = self._tables.action_values(state, self._violated, self._wanted, self._target)
        best = values == values.max(axis=1, keepdims=True)
        greedy = (best * self._tie_breaks[step]).argmax(axis=1)
        actions: IntArray = np.where(self._explores[step], self._random_actions[step], greedy)
        if self._survey is not None:
            draws = self._tie_breaks[step, self._surveys]
            # Without strays all agents would wait where wrong estimates predict the most.
            strays = draws[:, 0] < STRAY
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


# Algorithm 1 (Q-learning for skill primitives) for domains with discrete states and actions.
#
# As in the paper: Q_MAX over goals of a buffer that grows with what is achieved, every goal
# updated at every step, an episode's violated set drawn from 2^C, ε-greedy pursuit of a goal.
# What differs (goals are places, both terminate decisions are learned from each transition, full
# backups with replay, labels that vary at a place, exploration by label set first) is in
# docs/explanation/for_rl_researchers.md.
#
# Learning goes in *rounds*: a batch of agents, an episode each. A round is a function of the
# tables, the seed and the round's number alone, so a run that is stopped and resumed equals one
# that is not.


USUAL_STEPS: Final = 100_000
LIMIT_TIMES: Final = 10
LEAST_LIMIT: Final = 1_000_000
"""A run without a given length ends here, or at `LIMIT_TIMES` as many steps as tries are
wanted: some actions may be out of reach."""


class TabularLearner:
    """Learns the skill primitives of a domain with discrete observations and actions."""

    plans_ahead: ClassVar[bool] = False
    save_seconds: ClassVar[float] = 30.0
    settings_class: ClassVar[type[Any]] = TabularSettings
    status = ""

    def __init__(
        self, spec: DomainSpec, settings: TabularSettings, state: TabularState | None = None
    ) -> None:
        self.spec = spec
        self.settings = settings
        self.env = spec.make_batch(settings.agents)
        mode = self.env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if mode != AutoresetMode.NEXT_STEP:
            raise SkmError(f"{spec.env_id}: the batch must reset on the next step, not {mode}.")
        states = _size(self.env.single_observation_space, f"{spec.env_id}: its observations")
        actions = _size(self.env.single_action_space, f"{spec.env_id}: its actions")
        self.state = state or TabularState.blank(spec, settings, states, actions)
        if self.state.tables.next_state.shape != (states, actions):
            raise WrongDomainError(
                f"the checkpoint has {self.state.tables.next_state.shape} states and actions,"
                f" {spec.env_id} has {(states, actions)}; it was trained in another version of it."
            )
        self._constraint_columns = [spec.propositions.index(name) for name in spec.constraints]

    @classmethod
    def start(cls, spec: DomainSpec, options: Mapping[str, Any]) -> TabularLearner:
        """Return a learner that knows nothing yet; options are those of `TabularSettings`."""
        known = [entry.name for entry in fields(TabularSettings)]
        for name in options:
            if name not in known:
                hint = did_you_mean(name, known)
                raise SkmError(f"the tabular learner has no option '{name}'{hint}")
        return cls(spec, TabularSettings(**options))

    @classmethod
    def resume(cls, spec: DomainSpec, path: str | Path) -> TabularLearner:
        """Return the learner that a checkpoint was saved from, ready to go on."""
        state = TabularState.restore(*load(path, spec.name))
        check_names(state, spec)
        return cls(spec, state.settings, state)

    @property
    def options(self) -> dict[str, Any]:
        """The settings of the run, by name."""
        return asdict(self.settings)

    @property
    def round_steps(self) -> int:
        """Environment steps of one round; a run has whole rounds."""
        return self.settings.agents * self.spec.primitive_steps

    @property
    def steps(self) -> int:
        """Environment steps taken so far."""
        return self.state.rounds * self.round_steps

    @property
    def default_steps(self) -> int:
        """The usual steps; beyond them, as many as it takes until the model is known well enough.

        That is an estimate, which every round brings up to date; and there is a limit to it.
        """
        if self.steps < USUAL_STEPS or (confidence := self.state.confidence()) is None:
            return USUAL_STEPS
        if not confidence.uncertain:
            return self.steps
        limit = max(LEAST_LIMIT, LIMIT_TIMES * confidence.needed * confidence.relevant_pairs)
        missing = int(confidence.missing.sum())
        gained = max(confidence.needed * confidence.relevant_pairs - missing, 1)
        left = max(missing * self.steps // gained, self.round_steps)
        return min(limit, self.steps + left)

    def _survey(self) -> Survey | None:
        """Return where to try what was not tried often enough, where that is due.

        In the usual steps of a world that has not slipped, agents learn as in the paper.
        """
        if not self.state.tables.slipped and self.steps < USUAL_STEPS:
            return None
        confidence = self.state.confidence()
        return Survey(confidence) if confidence is not None and confidence.uncertain else None

    def save(self, path: str | Path, command: str) -> Card:
        """Write a checkpoint to serve or to resume from; return its card."""
        return self.state.save(path, command, self.steps)

    def run_round(self) -> None:
        """Let every agent live one episode, learn from each step, then replay."""
        tables, settings = self.state.tables, self.settings
        states = len(tables.next_state)
        seeds = np.random.SeedSequence([settings.seed, self.state.rounds])
        with environment_faults(self.spec.name, "reset()"):
            state, info = self.env.reset(seed=int(seeds.generate_state(1)[0] >> 1))
        constraints, _ = self._read_labels(info)
        random = np.random.default_rng(seeds)
        every = 2 if self.steps < USUAL_STEPS else 1  # Beyond these it is all that is left to do.
        episode = self.spec.primitive_steps
        behaviour = Behaviour(self.state, episode, random, self._survey(), every)
        everyone = np.arange(settings.agents)
        entered = np.zeros((settings.agents, states), np.int64)
        ended = np.zeros(settings.agents, np.bool_)
        log: list[tuple[IntArray, IntArray, IntArray]] = []
        for step in range(self.spec.primitive_steps):
            action = behaviour.act(state, step)
            with environment_faults(self.spec.name, "step()"):
                next_state, _, terminated, truncated, info = self.env.step(action)
            next_constraints, bits = self._read_labels(info)
            if ended.any():  # These agents were reset instead of stepped: nothing to learn.
                behaviour.restart(ended)
                entered[ended] = 0
            live = everyone[~ended]
            place = next_state[live]
            target = self._targets(place, bits[live])
            changed = (constraints ^ next_constraints)[live]
            after = np.where(terminated[live], states, place)
            batch = StepBatch(state[live], action[live], target, after, changed)
            tables.update(batch, settings.alpha)
            np.add.at(tables.ended, place[terminated[live]], 1)
            log.append((place, bits[live], entered[live, place]))
            entered[live, place] += 1
            behaviour.observe(live, target, changed, step)
            state, constraints, ended = next_state, next_constraints, terminated | truncated
        places, label_bits, visits = (np.concatenate(column) for column in zip(*log, strict=True))
        self.state.visits.record(places, label_bits, visits)
        if settings.alpha == 1:
            for _ in range(settings.replays):
                tables.replay()
        self.state.rounds += 1

    def _targets(self, places: IntArray, label_bits: IntArray) -> IntArray:
        """Return what was achieved by arriving there: the place, or the label set."""
        if self.settings.places:
            return places
        known = self.state.label_targets
        targets = [known.setdefault(bits, len(known)) for bits in label_bits.tolist()]
        self.state.tables.grow(len(known))
        return np.array(targets, np.int64)

    def _read_labels(self, info: dict[str, Any]) -> tuple[IntArray, IntArray]:
        """Return the true constraints and the true propositions of each agent, as bits."""
        labels = info["labels"]
        return pack(labels[:, self._constraint_columns]), pack(labels)


def _size(space: Space[Any], what: str) -> int:
    """Return the number of elements of a discrete space."""
    if not isinstance(space, Discrete) or space.start != 0:
        raise SkmError(f"{what} must be Discrete, from 0, for the tabular learner, not {space}.")
    return int(space.n)
