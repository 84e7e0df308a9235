"""Algorithm 1 with networks, for domains that observe vectors or pictures and act by choices or boxes.

What is as in the paper: goals of a buffer that grows with what is achieved, every goal learned from
every step, an agent that pursues goals and explores. What differs, and why it is sound:

- **The terminate action is not learned**: what it gives is known (`goal_space`). Q_MIN is 0 with
  r_min = 0, so it is not learned either.
- **No constraint history in the input.** What a violated constraint changes is which goals are
  still possible, and that is known: strict goals are worth 0 from then on. They are masked.
- **An episode goes on** when its goal is reached, with a new goal, so that what is learned holds
  where missions begin their next skill: on buttons, in regions.
- **Worlds may end.** What was not achieved by the step that ends a world is worth 0 from there. A
  time limit is no end: values go on, and so does learning, in a new episode.
- **Known lower bounds**: the steps in which a goal was really achieved (`steps_to_goals`).
- **Sets of goals** are pursued half of the time, as composed skills will.
- **Reach and avoid sets** are outputs of the network or inputs, whichever the domain's observations
  allow (`skills.goal_encoding`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from skm_primitives.learning.dqn import Algorithm, Arrays, GoalConditionedDQN, grown
from skm_primitives.learning.exploration import ReturnAndExplore, UntriedActions
from skm_primitives.learning.replay import ReplayBuffer
from skm_primitives.learning.settings import DeepSettings, for_actions
from skm_primitives.learning.td3 import Td3
from skm_primitives.learning.trainer import MORE_STEPS, DeepLearner, ScoreCurve, SkillRow
from skm_primitives.learning.validation import Validator
from skm_primitives.skills.checkpoint import Card
from skm_primitives.skills.encoders import ImageEncoder, VectorEncoder, encoder_for
from skm_primitives.skills.goal_encoding import GoalEncoding, goal_encoding
from skm_primitives.skills.goal_space import ObjectGoals, goal_space
from skm_sim.arrays import BoolArray, ByteArray, Float32Array, IntArray
from skm_sim.faults import check_finite, environment_faults
from skm_sim.object_centric import ObjectKinds, ObjectSets
from skm_sim.spec import DomainSpec

NEW_MASK = 0.02
"""How often an agent gives up its goals for others, each step."""
MOST_WORLDS = 256
"""Worlds in which what lies behind goals is measured."""
LEAST_UPDATE_EVERY = 4
"""Environment steps to one update, in the slowest world: with fewer, the same is learned forever."""
FRAME_BYTES = 1 << 30
"""The most that remembered pictures may take."""


class GoalConditionedLearner(DeepLearner):
    """Learns the skill primitives of a robot that observes a vector of numbers."""

    learner = "box"
    settings_class = DeepSettings
    settings: DeepSettings

    def __init__(self, spec: DomainSpec, settings: DeepSettings) -> None:
        super().__init__(spec, settings)
        torch.set_num_threads(1)
        self.settings = settings
        self.encoder = encoder_for(spec)
        if isinstance(self.encoder, VectorEncoder) and settings.waves:
            self.encoder.sharpen(settings.waves)
        if isinstance(self.encoder, ImageEncoder):
            self.encoder.shrink(settings.pixels)
        self._episode = settings.episode or spec.primitive_steps
        self.env = spec.make_batch(settings.agents, settings.episode or None)
        relative = isinstance(spec.objects, ObjectSets) and settings.algorithm == "dqn"
        meant = settings.sets, settings.momentary
        self.space = goal_space(spec, settings.slots, relative, *meant)
        self._outputs = self._encoding().outputs
        self.algorithm: Algorithm = _algorithm(self)
        pictures = isinstance(self.encoder, ImageEncoder)
        features = np.zeros(self.encoder.inputs, np.uint8 if pictures else np.float16)
        rounds = settings.replay // self.round_steps
        if pictures:
            rounds = min(rounds, FRAME_BYTES // (features.nbytes * self.round_steps))
        self.replay = ReplayBuffer(
            max(1, rounds),
            self._episode,
            settings.agents,
            features,
            self.algorithm.action_example,
            self.space.outputs,
        )
        self.goal_seen: IntArray = np.zeros((settings.slots, self.space.heads), np.int64)
        """How often each goal was achieved: by steps that arrived there from elsewhere."""
        self._untried: UntriedActions | None = None
        if (settings.untried or settings.returns) and settings.algorithm == "dqn":
            self._untried = UntriedActions(settings.agents, len(self.encoder.actions))
        self._returns: ReturnAndExplore | None = None
        if settings.returns:
            self._returns = ReturnAndExplore(settings.agents, settings.returns, self._episode)
        exploring = settings.untried and settings.algorithm == "dqn" and pictures
        self._explorers = int(settings.explorers * (settings.agents - 1)) if exploring else 0
        self.curve = ScoreCurve()
        self._due = 0
        self._validator: Validator | None = None

    @classmethod
    def start(cls, spec: DomainSpec, options: Mapping[str, Any]) -> Self:
        """Return a learner that knows nothing yet, but has looked around."""
        learner = super().start(spec, for_actions(options, spec))
        learner._look()
        return learner

    def _look(self) -> None:
        """Find out in what range observations are, by one episode of random actions."""
        if not isinstance(self.encoder, VectorEncoder):
            return
        seed = self.settings.seed
        self.env.action_space.seed(seed)
        with environment_faults(self.spec.name, "reset() or step()"):
            seen = [self.env.reset(seed=seed)[0]]
            for _ in range(self.spec.primitive_steps):
                seen.append(self.env.step(self.env.action_space.sample())[0])
        looked = np.concatenate(seen)
        check_finite(looked, self.spec.name, "reset() or step()")
        self.encoder.look(looked)
        if isinstance(self.encoder, ImageEncoder):  # The planes of its network are known only now.
            self.algorithm = _algorithm(self)

    @property
    def default_steps(self) -> int:
        """Environment steps that the run is planned for; fewer, where nothing gets better any more."""
        planned = self.settings.horizon
        since_best = self.steps - self._best_steps if self._best else 0
        return self.steps if since_best > self.settings.patience * planned else planned

    def plan(self, steps: int) -> None:
        """Plan the run for so many steps: a step size that has not begun to fall falls accordingly.

        Where most of the time goes into the world, there are more updates a step, until half of it goes
        into learning; in exchange there are fewer steps.
        """
        most, every = self.settings.update_every, self.settings.update_every
        if self.learning_seconds < self.world_seconds:
            share = self.learning_seconds / self.world_seconds
            every = max(min(most, LEAST_UPDATE_EVERY), int(most * share))
            more = self.learning_seconds * (most / every - 1)
            spent = self.world_seconds + self.learning_seconds
            steps = int(steps * spent / (spent + more))
        least = max(2 * self.steps, self.round_steps)
        self._settings = self.settings = replace(
            self.settings, horizon=max(steps, least), update_every=every
        )

    def skill_rows(self) -> list[SkillRow]:
        """Return how good each skill is, and how often its proposition was come upon."""
        bits = np.array(self.space.label_bits, np.int64)
        arrivals: IntArray = np.max(self.goal_seen, axis=1)[: len(bits)]
        rows = []
        for name, rate in self._best_scores.items():
            if name == "validation":
                continue
            reached = None
            if name in self.spec.propositions:
                bit = self.spec.propositions.index(name)
                reached = int(arrivals[(bits >> bit & 1).astype(np.bool_)].sum())
            rows.append(SkillRow(name, rate, reached))
        return rows

    @property
    def round_steps(self) -> int:
        """Environment steps of one round: an episode of every agent."""
        return self.settings.agents * self._episode

    def collect(self, random: np.random.Generator) -> None:
        """Let every agent live one episode, in pursuit of goals."""
        agents, steps = self.settings.agents, self._episode
        seed = int(random.integers(1 << 31))
        options = self.encoder.reset_options(random, agents)
        with environment_faults(self.spec.name, "reset()"):
            observation, info = self.env.reset(seed=seed, options=options or None)
        features = self._features(observation, "reset()")
        slots = np.empty((steps + 1, agents), np.int64)
        slots[0] = self._discover(info)
        ended, over, between = np.zeros((3, steps, agents), np.bool_)
        states = np.empty((steps + 1, agents, self.encoder.inputs), features.dtype)
        states[0] = features
        example = self.algorithm.action_example
        actions = np.empty((steps, agents, *example.shape), example.dtype)
        masks = self.space.random_masks(random, agents)
        chosen = np.zeros((agents, *example.shape), example.dtype)
        if self._untried is not None:
            self._untried.start()
        if self._returns is not None:
            self._returns.start(self.space, self.goal_seen, random)
        for step in range(steps):
            masks = self.space.fit(masks)
            if self._returns is not None:
                masks = self._returns.masks(masks, self.space)
            chosen[self._explorers :] = self.algorithm.choose(
                features[self._explorers :], masks[self._explorers :]
            )
            shares = None if self._returns is None else self._returns.shares()
            chosen = self.algorithm.explore(chosen, random, step, shares)
            if self._untried is not None:
                some = None
                if self._returns is not None and not self.settings.untried:
                    some = self._returns.exploring
                avoided = self._avoided(features)
                chosen = self._untried.instead(chosen, features, random, avoided, some)
            acts = self.algorithm.to_environment(chosen)
            with environment_faults(self.spec.name, "step()"):
                observation, _, ended[step], cut, info = self.env.step(acts)
            over[step] = ended[step] | cut
            between[step] = over[step - 1] if step else False
            features = self._features(observation, "step()")
            actions[step], states[step + 1] = chosen, features
            slots[step + 1] = self._discover(info)
            masks = self._next_masks(masks, slots[step], slots[step + 1], over[step], random)
            if self._returns is not None:
                self._returns.step(self.space, self.goal_seen, slots[step + 1], over[step], random)
        self._count(slots, over, between)
        to_goals = self.space.steps_to_goals(slots, over, self._clearance_steps(states, slots))
        self.replay.add(states, actions, slots, to_goals, ended, between)

    def _clearance_steps(self, states: NDArray[Any], slots: IntArray) -> ByteArray | None:
        """Return what each step of a round counts besides, for each goal, where the encoder tells."""
        if not isinstance(self.algorithm, GoalConditionedDQN) or self.algorithm.clearance is None:
            return None
        arrived = states[1:].astype(np.float32).reshape(-1, states.shape[-1])
        more = self.algorithm.clearance.steps(arrived, slots[1:].reshape(-1))
        return more.reshape(*slots[1:].shape, self.space.capacity, self.space.heads)

    def _avoided(self, features: NDArray[Any]) -> BoolArray:
        """Return the actions that explorers, who come first, avoid: those that show a label."""
        if not self._explorers or not isinstance(self.algorithm, GoalConditionedDQN):
            return np.zeros((0, len(self.encoder.actions)), np.bool_)
        return self.algorithm.shows(features[: self._explorers])

    def _discover(self, info: dict[str, Any]) -> IntArray:
        """Return the slots of the labels seen; where there are more than ever, everything grows."""
        slots = self.space.discover(info["labels"])
        if self.space.capacity != len(self.goal_seen):
            self._grow()
        return slots

    def _encoding(self) -> GoalEncoding:
        """Return which part of a goal is an input, with as many goals as there are now."""
        settings = self.settings
        return goal_encoding(self.spec, self.encoder, self.space, settings.algorithm, settings.legs)

    def _grow(self) -> None:
        """Make room for the goals of the goal space, in the networks and in the memory."""
        self.replay.grow(self.space.outputs)
        goals = self._encoding()
        if goals.outputs != self._outputs:
            self._outputs = goals.outputs
            self.algorithm = grown(self.algorithm, _algorithm(self))
        elif isinstance(self.algorithm, GoalConditionedDQN | Td3):
            self.algorithm.goals = goals  # The network is as it was; there is more to ask it for.
        self.goal_seen = self.space.fit(self.goal_seen)

    def _features(self, observation: NDArray[Any], where: str) -> Float32Array:
        """Return the networks' inputs; observations that are not numbers end the run."""
        check_finite(observation, self.spec.name, where)
        return self.encoder.features(observation)

    def _next_masks(
        self,
        masks: BoolArray,
        slots: IntArray,
        next_slots: IntArray,
        over: BoolArray,
        random: np.random.Generator,
    ) -> BoolArray:
        """Return the goals still pursued; new ones for agents that are done, lost, or tired."""
        achieved, alive = self.space.outcomes(slots, next_slots)
        masks = self.space.fit(masks)
        left = masks & alive
        done = (masks & achieved).any((1, 2)) | ~left.any((1, 2)) | over
        done |= random.random(len(masks)) < NEW_MASK
        return np.where(done[:, None, None], self.space.random_masks(random, len(masks)), left)

    def _count(self, slots: IntArray, over: BoolArray, between: BoolArray) -> None:
        """Count arrivals at goals: those that allow what was violated before."""
        moved = (slots[1:] != slots[:-1]) & ~between
        changed = np.where(between, 0, self.space.changed(slots[:-1], slots[1:]))
        violated = np.zeros(slots.shape[1], np.int64)
        for step, there in enumerate(slots[1:]):
            allowed = self.space.allowed(violated[moved[step]])
            np.add.at(self.goal_seen, there[moved[step]], allowed.astype(np.int64))
            violated = np.where(over[step], 0, violated | changed[step])

    def improve(self, random: np.random.Generator) -> None:
        """Update the networks, once for every `update_every` steps gathered."""
        self._due += self.round_steps
        updates, self._due = divmod(self._due, self.settings.update_every)
        progress = self.steps / self.settings.horizon
        rate = self.settings.learning_rate * float(np.clip(2 * (1 - progress), 0.05, 1))
        for _ in range(updates):
            if self.settings.backup == "episode" and isinstance(self.algorithm, GoalConditionedDQN):
                count = max(1, self.settings.batch // self._episode)
                self.algorithm.learn_episodes(self.replay.episodes(random, count), rate)
                continue
            batch = self.replay.sample(random, self.settings.batch)
            self.algorithm.update(batch, random, rate)

    def validate(self) -> dict[str, float]:
        """Return the success of the domain's skills on validation worlds."""
        if self._validator is None:
            self._validator = Validator(self.spec, self.settings.validation_layouts)
        with environment_faults(self.spec.name, "reset() or step()"):
            scores = self._validator.scores(self.algorithm, self.encoder, self.space)
        self.curve.add(self.steps, scores)
        return scores

    def save(self, path: str | Path, command: str) -> Card:
        """Write the checkpoints, and the learning curve beside them as `NAME.curve.csv`."""
        card = super().save(path, command)
        self.curve.write(path)
        return card

    def what_helps(self) -> str:
        """Return, as a sentence, what to change: labels and starts of what was never seen, or steps."""
        bits, shown = 0, np.flatnonzero(np.any(self.goal_seen, axis=1)).tolist()
        for slot in shown:
            bits |= self.space.label_bits[slot]
        unseen = [n for i, n in enumerate(self.spec.propositions) if not bits >> i & 1]
        if not unseen:
            return MORE_STEPS
        return (
            f"In {self.steps} steps no state showed {', '.join(unseen)}, so there was nothing to learn"
            " it from: check its predicate, start episodes nearer to it, or let them be longer"
            f" (primitive_steps of the spec). For the others: {MORE_STEPS[0].lower()}{MORE_STEPS[1:]}"
        )

    def served_arrays(self) -> Arrays:
        """Return the averaged networks, and how often each goal was achieved."""
        seen = self.goal_seen.reshape(-1)[self.space.served()]
        scaled = self.encoder.arrays() if isinstance(self.encoder, VectorEncoder) else {}
        return {**self.algorithm.served_arrays(), **scaled, "goal_seen": seen.copy()}

    def finish(self, arrays: Arrays, card: Card) -> Arrays:
        """Add what lies behind each goal, measured once for what is served."""
        if "goal_to_goal" in arrays or not len(self.space):
            return arrays
        from skm_primitives.learning.validation import goal_to_goal  # noqa: PLC0415
        from skm_primitives.skills.network_skills import NetworkSkills  # noqa: PLC0415

        primitives = NetworkSkills(arrays, card, self.spec)
        primitives.pursued[:] = True  # All goals are measured here; when served, some are left out.
        worlds = min(4 * self.settings.validation_layouts, MOST_WORLDS)
        with environment_faults(self.spec.name, "step()"):
            behind, ends, avoiding = goal_to_goal(primitives, self.spec, worlds)
        known: Arrays = {"goal_ends": ends.astype(np.uint8)} if ends.any() else {}
        if avoiding is not None:
            known["goal_to_goal_avoiding"] = avoiding
        return {**arrays, "goal_to_goal": behind, **known}

    def served_details(self) -> dict[str, Any]:
        """Return sizes, the label sets, and both discounts."""
        return {
            "algorithm": self.settings.algorithm,
            "label_bits": list(self.space.label_bits),
            "slots": self.space.capacity,
            "gamma": self.spec.gamma,
            "learning_gamma": self.settings.gamma,
            "pending_updates": self._due,
            **self.curve.details(),
            "sets": self.settings.sets,
            **({"legs": self.settings.legs} if self.settings.legs > 1 else {}),
            "momentary": self.settings.momentary,
            **({"relative": True} if isinstance(self.space, ObjectGoals) else {}),
        }

    def training_arrays(self) -> Arrays:
        """Return networks, optimisers, replay and counts."""
        return {
            **self.algorithm.training_arrays(),
            **self.replay.arrays(),
            **(self.encoder.arrays() if isinstance(self.encoder, VectorEncoder) else {}),
            **({} if self._returns is None else self._returns.arrays()),
            "seen": self.goal_seen,
        }

    def restore(self, arrays: Arrays, details: Mapping[str, Any]) -> None:
        """Take back what was saved."""
        for bits in details["label_bits"][len(self.space) :]:
            self.space.add(bits)
        if self.space.capacity != len(self.goal_seen):
            self._grow()
        if isinstance(self.encoder, VectorEncoder):
            self.encoder.restore(arrays)
        if isinstance(self.encoder, ImageEncoder):
            self.algorithm = _algorithm(self)
        self.algorithm.restore(arrays)
        self.replay.restore(arrays)
        self.goal_seen = np.array(arrays["seen"])
        if self._returns is not None:
            self._returns.restore(arrays)
        self._due = details.get("pending_updates", details.get("owed"))
        self.curve.restore(details)


def _algorithm(learner: GoalConditionedLearner) -> Algorithm:
    spec, encoder, settings = learner.spec, learner.encoder, learner.settings
    if settings.algorithm == "td3":
        return Td3(encoder, learner._encoding(), settings)
    kinds = spec.objects if isinstance(spec.objects, ObjectKinds) else None
    return GoalConditionedDQN(encoder, learner._encoding(), settings, kinds)
