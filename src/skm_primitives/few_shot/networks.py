"""Few-shot learning of one task where skills are networks: Algorithm 3's idea, beyond tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.evaluation.task_trials import Comparison, Outcomes, run_worlds, task_trials
from skm_primitives.execution.episodes import Episode, run_episode
from skm_primitives.few_shot.finetuning import one_task
from skm_primitives.learning.dqn import Arrays
from skm_primitives.learning.networks import (
    EnsembleMLP,
    TrainedNetwork,
    to_arrays,
)
from skm_primitives.learning.trainer import DeepLearner, TrainerSettings
from skm_primitives.planning.options import transition_deadlines
from skm_primitives.planning.planners import EVERY_PLANNER, make_policy
from skm_primitives.planning.policy import (
    Decision,
    Expectation,
    Policy,
    PolicyOnTop,
    best_of_goals,
    log_of,
)
from skm_primitives.planning.saved_policies import check_primitives
from skm_primitives.skills.checkpoint import Card
from skm_primitives.skills.encoders import ObservationEncoder, VectorEncoder, encoder_for
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.networks import ServedMLP
from skm_primitives.skills.values import AnyGoalValues, GoalValues, Skills
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.observations import is_image
from skm_sim.spec import DomainSpec
from skm_sim.trials import SeededTrials, TaskTrials, TrialSet

# The choices of a few-shot run with networks.


@dataclass(frozen=True)
class TaskSettings(TrainerSettings):
    """Everything about a run; a resumed run keeps what it was started with."""

    validate_rounds: int = 20
    """Rounds between two validations."""
    task: str = ""
    """A task of the domain; or none, and a `mission`."""
    mission: str = ""
    repeat: bool = False
    """Whether the mission starts over at success."""
    planner: str = "product"
    """Of the skill machine that it begins as."""
    checkpoint: str | None = None
    """The primitives to begin with; None: those that come with skm."""
    epsilon: float = 0.3
    """How often a choice is random while learning."""
    gamma: float = 0.0
    """The discount while learning; 0: such that what the skill machine takes counts for a fifth."""
    first_rounds: int = 10
    """Rounds in which the skill machine is watched, before anything else is tried."""
    hold: int = 8
    """Steps for which a choice is kept, unless the machine moves."""
    margin: float = 0.02
    """How much better than the skill machine a choice must be to be taken, as a share."""
    hidden: tuple[int, ...] = (128, 128)
    batch: int = 256
    update_every: int = 4
    """Environment steps to one update of the networks."""
    learning_rate: float = 5e-4
    average_rate: float = 0.01
    memory: int = 60_000
    """Steps remembered."""
    episodes: int = 20
    """Episodes of a round."""
    validation_worlds: int = 200
    proof_worlds: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.task) == bool(self.mission):
            raise SkmError("few-shot learning is for one task or one mission; name one of them.")
        if self.repeat and self.task:
            raise SkmError("repeat goes with a mission; a task says itself whether it repeats.")
        if self.planner not in EVERY_PLANNER:
            raise SkmError(
                f"unknown planner '{self.planner}'; there are {', '.join(EVERY_PLANNER)}."
            )
        if not 0 <= self.epsilon <= 1:
            raise SkmError(f"epsilon is {self.epsilon}; it must be from 0 to 1.")
        if not 0 <= self.gamma < 1:
            raise SkmError(f"gamma is {self.gamma}; it must be below 1, and at least 0.")
        for name in ("first_rounds", "hold", "batch", "update_every", "memory", "episodes"):
            if getattr(self, name) < 1:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        for name in ("validation_worlds", "proof_worlds"):
            if getattr(self, name) < 2:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 2.")


# A memory of single steps in pursuit of one task: one episode after the other, the oldest
# forgotten.


MemoryArrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class TaskBatch:
    """Steps drawn from the memory; `(n, …)` each."""

    inputs: Float32Array
    state: IntArray
    """Of the machine."""
    choices: BoolArray
    """`(n, choices)`: those that would have taken the action that was taken."""
    reward: Float32Array
    earned: Float32Array
    """What was earned from this step on, discounted."""
    moved: BoolArray
    """Whether the machine moved with this step."""
    over: BoolArray
    """Whether the mission, or the world, ended with this step."""
    next_inputs: Float32Array
    next_state: IntArray


class TaskMemory:
    """A ring of steps. What follows a step lies behind it, but for the last one of an episode."""

    def __init__(self, size: int, inputs: int, choices: int) -> None:
        # Half precision: inputs are shares of 1 and scaled observations, and most of the memory.
        self._inputs = np.zeros((size, inputs), np.float16)
        self._states = np.zeros(size, np.int64)
        self._choices = np.zeros((size, choices), np.bool_)
        self._rewards = np.zeros(size, np.float32)
        self._earned = np.zeros(size, np.float32)
        self._moved = np.zeros(size, np.bool_)
        self._over = np.zeros(size, np.bool_)
        self._usable = np.zeros(size, np.bool_)
        """Not so the last step of an episode that was cut off: what it led to is unknown."""
        self.stored = 0
        """Steps put in so far."""

    @property
    def filled(self) -> int:
        """How many steps are there to draw from."""
        return min(self.stored, len(self._states))

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw from yet."""
        return not self._usable[: self.filled].any()

    def add(
        self,
        inputs: Float32Array,
        states: IntArray,
        choices: BoolArray,
        rewards: Float32Array,
        earned: Float32Array,
        moved: BoolArray,
        over: bool,
    ) -> None:
        """Put an episode in; `over` says whether its last step ended the mission or the world."""
        size = len(self._states)
        rows = (self.stored + np.arange(len(states))) % size
        self._inputs[rows], self._states[rows], self._choices[rows] = inputs, states, choices
        self._rewards[rows], self._earned[rows], self._moved[rows] = rewards, earned, moved
        self._over[rows], self._usable[rows] = False, True
        # Cut off by the limit of steps, the last step has no successor in the ring: it is not
        # drawn.
        self._over[rows[-1]] = self._usable[rows[-1]] = over
        self.stored += len(states)

    def sample(self, random: np.random.Generator, count: int) -> TaskBatch:
        """Draw steps uniformly."""
        usable = np.flatnonzero(self._usable[: self.filled])
        rows = usable[random.integers(len(usable), size=count)]
        # The step behind is that of the same episode, but for the last one, whose successor is
        # masked by `over`.
        following = (rows + 1) % len(self._states)
        return TaskBatch(
            self._inputs[rows].astype(np.float32),
            self._states[rows],
            self._choices[rows],
            self._rewards[rows],
            self._earned[rows],
            self._moved[rows],
            self._over[rows],
            self._inputs[following].astype(np.float32),
            self._states[following],
        )

    def arrays(self) -> MemoryArrays:
        """Return what is stored, for a checkpoint."""
        parts = {f"memory/{name}": getattr(self, f"_{name}")[: self.filled] for name in _PARTS}
        return {**parts, "memory/stored": np.array(self.stored)}

    def restore(self, arrays: MemoryArrays) -> None:
        """Take back what `arrays` gave."""
        self.stored = int(arrays["memory/stored"])
        for name in _PARTS:
            getattr(self, f"_{name}")[: self.filled] = arrays[f"memory/{name}"]


_PARTS = ("inputs", "states", "choices", "rewards", "earned", "moved", "over", "usable")


# The values of one task, learned off-policy: Q(s, u, choice) by double, intra-option Q-learning.
#
# A choice (the skill machine, or the skill of one goal) is an option in the sense of Sutton,
# Precup and Singh (1999): it is left when the machine moves, else with the chance h = 1/`hold` a
# step. So
#
#     Q(s, u, o) ← r + γ · [ max_o' Q(s', u', o')                              if the machine moved
#                            (1 − h) · Q(s', u', o) + h · max_o' Q(s', u', o')  else ]
#
# for every o that would have taken the action that was taken, whatever was meant. With hold = 1
# that is Algorithm 3's update, over the actions that skills propose. Q begins, for every choice,
# at what the skill machine earns. Two networks; the smaller value of their averaged copies
# bootstraps. Values are shares of the greatest return, fitted by cross-entropy.


MEMBERS = 2


class TaskValues:
    """Networks, their averaged copies and the optimiser."""

    def __init__(
        self, inputs: int, offered: BoolArray, most: float, gamma: float, settings: TaskSettings
    ) -> None:
        """Make them; `offered` is `[machine state, choice]`, `most` the greatest return there is."""
        self._shape = offered.shape
        self._offered = torch.from_numpy(offered)
        self._most = most
        self._gamma = gamma
        self._settings = settings
        generator = torch.Generator().manual_seed(settings.seed)
        # A head for every machine state and choice: the state is not an input, so states share what
        # is seen.
        outputs = self._shape[0] * self._shape[1]
        self.network = EnsembleMLP(inputs, settings.hidden, outputs, MEMBERS, generator)
        self._trained = TrainedNetwork(self.network, lr=settings.learning_rate)
        self.average = self._trained.average

    def begin(self, batch: TaskBatch) -> None:
        """Learn what the skill machine earns, as the value of every choice: where all begin."""
        target = torch.from_numpy(batch.earned)[:, None] / self._most
        offered = self._offered[torch.from_numpy(batch.state)].float()
        self._fit(batch, target.clamp(0, 1).expand(-1, self._shape[1]), offered)

    def update(self, batch: TaskBatch) -> None:
        """Learn from steps, for every choice that would have taken them."""
        following, rows = torch.from_numpy(batch.next_state), torch.arange(len(batch.state))
        with torch.no_grad():
            # The smaller of two values: the maximum over choices would otherwise pick out
            # overestimates.
            low = self.average(torch.from_numpy(batch.next_inputs)).amin(0)
            after = low.reshape(len(rows), *self._shape)[rows, following].sigmoid()
            best = torch.where(self._offered[following], after, 0.0).amax(1, keepdim=True)
            leave = torch.from_numpy(batch.moved)[:, None].float()
            # A choice is held for `hold` steps on the mean: as a chance per step, the update needs
            # no counter.
            leave = leave + (1 - leave) / self._settings.hold
            after = self._gamma * ((1 - leave) * after + leave * best)
            after = torch.where(torch.from_numpy(batch.over)[:, None], 0.0, after)
            reward = torch.from_numpy(batch.reward)[:, None] / self._most
        self._fit(batch, (reward + after).clamp(0, 1), torch.from_numpy(batch.choices).float())

    def _fit(self, batch: TaskBatch, target: Tensor, weight: Tensor) -> None:
        """Take one step of Adam on the cross-entropy of values and targets `(n, choices)`."""
        count, rows = len(batch.state), torch.arange(len(batch.state))
        logits = self.network(torch.from_numpy(batch.inputs)).reshape(MEMBERS, count, *self._shape)
        loss = functional.binary_cross_entropy_with_logits(
            logits[:, rows, torch.from_numpy(batch.state)],
            target.expand(MEMBERS, -1, -1),
            weight=weight.expand(MEMBERS, -1, -1),
            reduction="sum",
        ) / weight.sum().clamp(min=1)
        self._trained.descend(loss)
        self._trained.follow(self._settings.average_rate)

    def served_arrays(self) -> Arrays:
        """Return the averaged networks."""
        return dict(to_arrays("network", self.average.state_dict()))

    def training_arrays(self) -> Arrays:
        """Return networks, averaged networks and the optimiser's moments."""
        return self._trained.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `training_arrays` gave."""
        self._trained.restore(arrays)


# What a few-shot learner sees of a state: how near every goal is, and what the robot observes.
#
# How near goals are is what the skills know already, so little is left to learn. Where
# observations are numbers, they are added as the network learner of the domain sees them;
# pictures are seen through the skills alone.


NEAR: Final = (0.95, 0.8)
"""A goal k steps away is seen as these to the power of k: what is far, and what is near."""


class TaskFeatures:
    """Turns observations and the values of goals into the inputs of a network."""

    def __init__(self, spec: DomainSpec, gamma: float) -> None:
        env = spec.make()
        picture = is_image(env.observation_space)
        env.close()
        self._encoder: ObservationEncoder | None = None if picture else encoder_for(spec)
        self._powers = [np.float32(np.log(base) / np.log(gamma)) for base in NEAR]

    def __call__(self, observation: NDArray[Any], values: AnyGoalValues) -> Float32Array:
        """Return the inputs for one state."""
        if isinstance(values, GoalValues):
            known = [np.maximum(values.move, values.stop)]
            known += [] if values.continuation is None else [values.continuation]
        else:
            known = [best_of_goals(values)[1]]
        # Learned values may lie slightly outside of [0, 1], where powers are not defined.
        flat = np.clip(np.concatenate([part.reshape(-1) for part in known]), 0, 1)
        parts = [flat**power for power in self._powers]
        if self._encoder is not None:
            parts.append(self._encoder.features(np.asarray(observation)[None])[0])
        return np.concatenate(parts).astype(np.float32)

    def look(self, observations: NDArray[Any]) -> None:
        """Find out in what range observations are, where the domain does not say."""
        if isinstance(self._encoder, VectorEncoder):
            self._encoder.look(observations)

    def arrays(self) -> dict[str, Float32Array]:
        """Return that range, for a checkpoint."""
        return self._encoder.arrays() if isinstance(self._encoder, VectorEncoder) else {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `arrays` gave."""
        if isinstance(self._encoder, VectorEncoder):
            self._encoder.restore(arrays)


# What a few-shot learner of one task chooses among: the skill machine itself, or the skill of one
# goal.
#
# Choice 0 is to do what the skill machine does; choice 1 + g is to pursue goal g of the goal
# buffer. In a machine state, those goals are on offer whose labels move the machine, and not into
# failure.


SKILL_MACHINE: Final = 0
"""The choice that is the zero-shot policy."""


class SkillChoices:
    """The choices in every state of a machine."""

    def __init__(self, machine: RewardMachine, goals: tuple[Goal, ...]) -> None:
        self.count = 1 + len(goals)
        self.offered: BoolArray = np.zeros((machine.num_states, self.count), np.bool_)
        """`[machine state, choice]`"""
        self.offered[:, SKILL_MACHINE] = True
        for state in set(range(machine.num_states)) - machine.terminal:
            for index, goal in enumerate(goals):
                outcomes = machine.options(state, goal.labels)
                self.offered[state, 1 + index] = any(
                    _leads_on(machine, state, outcome) for outcome in outcomes
                )

    def possible(self, state: int, values: AnyGoalValues) -> BoolArray:
        """Return which choices there are here: goals that are on offer and within reach."""
        found: BoolArray = self.offered[state].copy()
        found[1:] &= best_of_goals(values)[1] > 0
        return found

    def agreeing(self, values: AnyGoalValues, own: Any, action: Any) -> BoolArray:  # noqa: ANN401
        """Return which choices would have taken this action; `own` is the skill machine's."""
        actions = np.asarray(best_of_goals(values)[0]).reshape(self.count - 1, -1)
        same: BoolArray = np.zeros(self.count, np.bool_)
        same[SKILL_MACHINE] = np.array_equal(own, action)
        same[1:] = (actions == np.reshape(action, -1)).all(axis=1)
        return same


def _leads_on(machine: RewardMachine, state: int, outcome: Outcome) -> bool:
    if outcome.reward > 0:
        return True
    lost = outcome.target in machine.failure or outcome.target in machine.terminal
    return outcome.target != state and not lost


# The policy that few-shot learning with networks returns, and the one that it explores with.
#
# Both begin as the skill machine's. They leave it for the skill of one goal where Q(s, u, goal)
# is greater than Q(s, u, skill machine) in the eyes of both networks, for `hold` steps or until
# the machine moves.


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
        self._features = features
        self._network = network
        self._hold = hold
        self._margin = margin
        self._observation: Any = None
        self._choice = SKILL_MACHINE
        self._left = 0
        self._deadlines = transition_deadlines(skills.gamma, len(skills.goals))

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin an episode with the skill machine."""
        self.zero_shot.start(observation)
        self._observation = observation
        self._left = 0
        self._deadlines.restart()

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Note the state that a step has ended in; once the machine has moved, choose afresh."""
        self.zero_shot.entered(observation, moved)
        self._observation = observation
        if moved:
            self._left = 0
            self._deadlines.restart()

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return what the skill machine does, or the best action of the goal that was chosen."""
        return self._decide(state, values, self.zero_shot.choose(state, values))

    def _decide(self, state: int, values: AnyGoalValues, own: Decision) -> Decision:
        if self._network is None or own.expectation is Expectation.WAITING:
            return own
        if self._deadlines.missed.any():  # What was learned led nowhere.
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
        # Both networks must agree: the best of many noisy values is too high on the mean, and zero-
        # shot is safe.
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
        self._deadlines.watch_one(goal, log_of(float(reached[goal])))
        return Decision(actions[goal], goal, float(reached[goal]))


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


# The policy of a few-shot run with networks, from its checkpoint; and the worlds of its task.


LEARNER: Final = "task"
PROOF: Final = "proved"
"""The array that says whether the networks did better than zero-shot in the worlds of the proof."""


class TaskWorlds:
    """A task of a domain, or a mission of one's own, and the worlds to try it in."""

    def __init__(
        self, spec: DomainSpec, task: str, mission: str = "", repeat: bool = False
    ) -> None:
        """Take a task by name, or else a mission.

        A task is in worlds that the domain draws for it, a mission in worlds as they come.
        """
        self.task = one_task(spec, task, mission, repeat=repeat)
        self._trials: TaskTrials = task_trials(spec) if task else SeededTrials()
        self.mission: Mission = compile_mission(
            self.task.formula,
            propositions=spec.propositions,
            repeat=self.task.repeat,
            events=spec.events,
        )

    def draw(self, count: int, seed: int) -> TrialSet:
        """Return worlds, the same ones for the same seed."""
        return self._trials.draw(self.task, count, seed, self._trials.variants[0])


def from_checkpoint(
    arrays: Mapping[str, NDArray[Any]], card: Card, spec: DomainSpec, skills: Skills
) -> SkillChoicePolicy:
    """Return the policy of a checkpoint: the zero-shot one, if nothing was proved better."""
    settings = card.details["settings"]
    worlds = TaskWorlds(spec, settings["task"], settings["mission"], settings["repeat"])
    features = TaskFeatures(spec, skills.gamma)
    features.restore(arrays)
    proved = bool(arrays.get(PROOF, False))
    return SkillChoicePolicy(
        make_policy(worlds.mission, skills, settings["planner"]),
        skills,
        features,
        ServedMLP("network", arrays) if proved else None,
        hold=settings["hold"],
        margin=settings["margin"],
    )


# Few-shot learning of one task where skills are networks: Algorithm 3's idea, beyond tables.
#
# As in Algorithm 3, the learner begins as the skill machine, learns the values of the task itself
# off-policy, and acts by whichever of the two is better. What differs: it chooses among skills
# (the skill machine's composition, or the skill of a single goal), held for a few steps, instead
# of among actions. Every choice is competent from the start, and a choice held for a few steps
# changes a return by more than networks err; a single action of a robot does not.
#
# **It never ends below where it began**, in this sense. Every `validate_rounds` rounds the policy
# and the zero-shot one run in the same validation worlds. It becomes the candidate if it succeeds in
# no fewer worlds, fails in no more, and the lower end of the 95 % interval of its gain in score
# (discounted return; rounds of a mission without end) is above 0 and not below that of the candidate
# before. When the run is saved, the candidate must be better in the same sense in other worlds, which
# nothing was chosen by (the proof). Without a proof, what is saved *is* the zero-shot policy.


LOOKING_SEED, VALIDATION_SEED, PROOF_SEED, TRAINING_SEED = 40_009, 60_013, 70_001, 1_000_003
"""Where the seeds of worlds begin; reports use small ones."""
LOOKING_EPISODES = 20
A_FIFTH = 0.2
COLUMNS = ("steps", "episodes", "success", "score", "gain", "gain_low", "gain_high")
"""Of the learning curve, one row a validation; the gain is that over zero-shot."""


class TaskLearner(DeepLearner):
    """Learns one task of a domain whose skills are networks; see the module."""

    learner = LEARNER
    settings_class = TaskSettings
    settings: TaskSettings
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    save_seconds = 600.0
    default_steps = 100_000
    remark = ""

    def __init__(self, spec: DomainSpec, settings: TaskSettings) -> None:
        super().__init__(spec, settings)
        torch.set_num_threads(1)
        self.settings = settings
        self.primitives = load_primitives(spec, settings.checkpoint)
        self.worlds = TaskWorlds(spec, settings.task, settings.mission, settings.repeat)
        self.task, mission = self.worlds.task, self.worlds.mission
        self.zero_shot = make_policy(mission, self.primitives, settings.planner)
        self.features = TaskFeatures(spec, self.primitives.gamma)
        self._env = spec.make()
        inputs, self.gamma = self._look()
        choices = SkillChoices(mission.machine, self.primitives.goals)
        self.memory = TaskMemory(settings.memory, inputs, choices.count)
        most = greatest_return(mission, self.gamma)
        self.values = TaskValues(inputs, choices.offered, most, self.gamma, settings)
        self.episodes = 0
        self._taken = self._due = 0
        self._validation: tuple[TrialSet, Outcomes] | None = None
        self.planner = settings.planner
        self.curve: list[tuple[float, ...]] = []
        """A row of `COLUMNS` for every validation."""
        self._best_score = 0.0
        self.status = "at the zero-shot level"

    def remarks(self) -> dict[str, Any]:
        """Return what is compared, and whether anything was found in validation."""
        endless = self.worlds.mission.machine.endless
        kind = "rounds" if endless else "discounted return"
        return {"score_is": kind, "candidate": bool(self._best)}

    @property
    def round_steps(self) -> int:
        """Environment steps that a round takes at most; `steps` counts them."""
        return self.settings.episodes * self.task.max_steps

    @property
    def steps(self) -> int:
        """Environment steps taken so far."""
        return self._taken

    def _look(self) -> tuple[int, float]:
        """Watch the skill machine; return how many inputs there are, and the discount to learn with."""
        seen: list[Any] = []
        steps, times = 0, 0
        for world in self._drawn(LOOKING_EPISODES, LOOKING_SEED):
            episode = run_episode(self._env, self.primitives, self.zero_shot, **world)
            seen += episode.observations
            steps, times = steps + episode.steps, times + episode.accepting_visits
        self.features.look(np.stack(seen))
        values = self.primitives.values(seen[0], frozenset())
        # Steps to one success (or round) of the skill machine: its value is then a fifth, far from
        # both 0 and 1.
        once = max(steps, 2) / max(times, 1)
        gamma = self.settings.gamma or A_FIFTH ** (1 / once)
        return len(self.features(seen[0], values)), gamma

    def _drawn(self, count: int, seed: int) -> Iterator[dict[str, Any]]:
        """Yield how to run an episode in each of some worlds."""
        drawn = self.worlds.draw(count, seed)
        for world, options in zip(drawn.seeds, drawn.options, strict=True):
            yield {"max_steps": self.task.max_steps, "seed": world, "options": options}

    def collect(self, random: np.random.Generator) -> None:
        """Run some episodes: first as the skill machine does, then exploring."""
        settings = self.settings
        watching = self.rounds < settings.first_rounds
        policy = ExploringPolicy(
            self.zero_shot,
            self.primitives,
            self.features,
            # Served copies in NumPy: for single states they are faster than torch.
            None if watching else ServedMLP("network", self.values.served_arrays()),
            hold=settings.hold,
            epsilon=settings.epsilon,
            random=random,
        )
        # Seeds of training, validation and proof are far apart: no world is in two of them.
        first = TRAINING_SEED * (1 + settings.seed) + self.rounds
        for world in self._drawn(settings.episodes, first):
            counts = [(0.0, 0)]

            def watch(tracker: MissionTracker, _: Decision, to: list[Any] = counts) -> None:
                to.append((tracker.total_reward, tracker.moves))

            episode = run_episode(self._env, self.primitives, policy, watch=watch, **world)
            self.episodes += 1
            self._taken += episode.steps
            if episode.steps:
                self._remember(policy.trail, np.array(counts), episode)

    def _remember(self, trail: Trail, counts: FloatArray, episode: Episode) -> None:
        """Put an episode in the memory; `counts` are rewards and moves so far, before each step."""
        rewards, moves = np.diff(counts, axis=0).T
        over = episode.status is not Status.RUNNING or episode.world_ended
        later = 0.0
        # A recurring mission that is cut off has not failed: without this, late steps would look
        # worthless.
        if not over and self.worlds.mission.machine.endless:  # It would have gone on like this.
            later = float(rewards.mean()) / (1 - self.gamma)
        earned = np.zeros(len(rewards), np.float32)
        for step in reversed(range(len(rewards))):
            earned[step] = later = float(rewards[step]) + self.gamma * later
        self.memory.add(
            np.stack(trail.inputs),
            np.array(trail.states),
            np.stack(trail.choices),
            rewards.astype(np.float32),
            earned,
            moves > 0,
            over,
        )
        self._due += episode.steps

    def improve(self, random: np.random.Generator) -> None:
        """Update the networks, once for every `update_every` steps gathered."""
        updates, self._due = divmod(self._due, self.settings.update_every)
        watching = self.rounds < self.settings.first_rounds
        # First the returns of the skill machine, by regression: bootstrapping from random values
        # would forget where it began.
        update = self.values.begin if watching else self.values.update
        for _ in range(0 if self.memory.empty else updates):
            update(self.memory.sample(random, self.settings.batch))

    def validate(self) -> dict[str, float]:
        """Compare what the networks would do now with zero-shot, in the validation worlds."""
        drawn, before = self._validated()
        found = Comparison(before, self._run(self.values.served_arrays(), drawn))
        row = (found.after.success, float(found.after.score.mean()), found.gain, *found.interval)
        self.curve.append((float(self.steps), float(self.episodes), *row))
        named = dict(zip(COLUMNS[2:], row, strict=True))
        # The trainer keeps the greatest `validation`: what is not better must never become the
        # candidate.
        return {"validation": found.interval[0] if found.better else -1.0, **named}

    def _validated(self) -> tuple[TrialSet, Outcomes]:
        """Return the validation worlds, and what zero-shot does in them."""
        if self._validation is None:
            drawn = self.worlds.draw(self.settings.validation_worlds, VALIDATION_SEED)
            self._validation = drawn, self._run(None, drawn)
        return self._validation

    def _run(self, arrays: Arrays | None, drawn: TrialSet) -> Outcomes:
        """Run the task in worlds, with these networks or zero-shot."""
        policy = SkillChoicePolicy(
            self.zero_shot,
            self.primitives,
            self.features,
            None if arrays is None else ServedMLP("network", arrays),
            hold=self.settings.hold,
            margin=self.settings.margin,
        )
        return run_worlds(self.spec, self.primitives, policy, self.task, drawn)

    def save(self, path: str | Path, command: str) -> Card:
        """Write the checkpoints; a candidate is proved first, in worlds of its own."""
        if not self._best:
            outcomes = self._validated()[1]
            self._best_scores = _scores(Comparison(outcomes, outcomes))
        elif PROOF not in self._best:
            # Other worlds for each candidate: one that failed its proof must not be retried in the
            # same ones until it passes.
            drawn = self.worlds.draw(self.settings.proof_worlds, PROOF_SEED + self._best_steps)
            found = Comparison(self._run(None, drawn), self._run(self._best, drawn))
            self._best[PROOF] = np.array(found.better)
            self._best_scores = _scores(found)
        return super().save(path, command)

    def warnings(self) -> list[str]:
        """Return nothing: its scores are not of skills, and it is kept only if it is better."""
        return []

    def served_arrays(self) -> Arrays:
        """Return the averaged networks, and the range of observations."""
        return {**self.values.served_arrays(), **self.features.arrays()}

    def served_details(self) -> dict[str, Any]:
        """Return the mission, what it was learned on top of, and counts."""
        return {
            "formula": self.task.formula,
            "primitives": self.primitives.digest,
            "counts": [self._taken, self._due, self.episodes],
        }

    def training_arrays(self) -> Arrays:
        """Return networks, optimiser, memory, the range of observations and the curve."""
        curve = np.array(self.curve).reshape(-1, len(COLUMNS))
        seen = self.features.arrays()
        return {**self.values.training_arrays(), **self.memory.arrays(), **seen, "curve": curve}

    def restore(self, arrays: Arrays, details: Mapping[str, Any]) -> None:
        """Take back what was saved."""
        check_primitives(details, self.primitives)
        self.values.restore(arrays)
        self.memory.restore(arrays)
        self.features.restore(arrays)
        self.curve = [tuple(row) for row in arrays["curve"].tolist()]
        self._taken, self._due, self.episodes = details["counts"]


def _scores(found: Comparison) -> dict[str, float]:
    """Return a comparison by name, for a card."""
    return {
        "zero_shot_success": found.before.success,
        "zero_shot_score": float(found.before.score.mean()),
        "success": found.after.success if found.better else found.before.success,
        "score": float((found.after if found.better else found.before).score.mean()),
        "candidate_success": found.after.success,
        "gain": found.gain,
        "gain_low": found.interval[0],
        "gain_high": found.interval[1],
        "proved": float(found.better),
        "worlds": float(len(found.before.score)),
    }


def greatest_return(mission: Mission, gamma: float) -> float:
    """Return what no discounted return of a mission exceeds."""
    machine = mission.machine
    most = max(outcome.reward for outcome in machine.outcomes)
    # A reward that ends the mission is paid once; others may come at every step.
    ends = all(o.target in machine.terminal for o in machine.outcomes if o.reward > 0)
    return most if ends else most / (1 - gamma)
