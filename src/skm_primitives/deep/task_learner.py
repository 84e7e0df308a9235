"""Few-shot learning of one task where skills are networks: Algorithm 3's idea, beyond tables.

As in Algorithm 3, the learner begins as the skill machine, learns the values of the task itself
off-policy, and acts by whichever of the two is better. What differs: it chooses among skills (the skill
machine's composition, or the skill of a single goal), held for a few steps, instead of among actions.
Every choice is competent from the start, and a choice held for a few steps changes a return by more
than networks err; a single action of a robot does not.

**It never ends below where it began**, in this sense. Every `validate_rounds` rounds the policy and the
zero-shot one run in the same validation worlds. It becomes the candidate if it succeeds in no fewer
worlds, fails in no more, and the lower end of the 95 % interval of its gain in score (discounted
return; rounds of a mission without end) is above 0 and not below that of the candidate before. When the
run is saved, the candidate must be better in the same sense in other worlds, which nothing was chosen
by (the proof). Without a proof, what is saved *is* the zero-shot policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from skm_machine.mission import Mission
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.checkpoint import Card
from skm_primitives.deep.finetuned_network import LEARNER, PROOF, TaskWorlds
from skm_primitives.deep.served_network import ServedMLP
from skm_primitives.deep.skill_choice_policy import ExploringPolicy, SkillChoicePolicy, Trail
from skm_primitives.deep.skill_choices import SkillChoices
from skm_primitives.deep.task_features import TaskFeatures
from skm_primitives.deep.task_memory import TaskMemory
from skm_primitives.deep.task_settings import TaskSettings
from skm_primitives.deep.task_values import TaskValues
from skm_primitives.deep.trainer import Arrays, DeepLearner
from skm_primitives.episodes import Episode, run_episode
from skm_primitives.evaluation.paired_trials import Comparison, Outcomes, run_worlds
from skm_primitives.finetuning import check_primitives
from skm_primitives.loading import load_primitives
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policy import Decision
from skm_sim.arrays import FloatArray
from skm_sim.domain import DomainSpec
from skm_sim.trials import TrialSet

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
        self._taken = self._owed = 0
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
            None if watching else ServedMLP("network", self.values.served_arrays()),
            hold=settings.hold,
            epsilon=settings.epsilon,
            random=random,
        )
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
        self._owed += episode.steps

    def improve(self, random: np.random.Generator) -> None:
        """Update the networks, once for every `update_every` steps gathered."""
        updates, self._owed = divmod(self._owed, self.settings.update_every)
        watching = self.rounds < self.settings.first_rounds
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
            "counts": [self._taken, self._owed, self.episodes],
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
        self._taken, self._owed, self.episodes = details["counts"]


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
    ends = all(o.target in machine.terminal for o in machine.outcomes if o.reward > 0)
    return most if ends else most / (1 - gamma)
