"""Algorithm 3 (few-shot Q-learning with skill machines) for tabular domains.

As printed: Q(s, u, a) over cell × machine state × action; an action is random with probability ε, else
argmax_a max{γQ(s,u,a), (1−γ)δ_Q(u)(⟨s,c⟩,a)}; Q-learning with step size α; an episode ends with the
mission. Ties of the argmax are drawn at random (where δ_Q is 0 everywhere, a fixed choice would never
explore), and an episode that leads nowhere is cut off, which counts as no end of the mission.

**What the printed rule converges to.** Q takes over where γQ > (1−γ)δ_Q. Next to the goal of a skill
δ_Q is 1, so with γ = 0.9 that takes Q > 1/9: whatever is still over 21 steps from success is left to
the zero-shot skill, *however exact Q is*. With Q = Q*, the rule earns 0.96 and 0.97 of the optimal
return on two of the paper's tasks (docs/planning.md says which), and still walks into a dead end. So
the rule is used where the paper has it, to behave while learning, and not as what is learned.

**What is returned instead** (`FinetunedPolicy`): argmax_a Q(s,u,a) where max_a Q(s,u,a) > 0, zero-shot
elsewhere. Q begins at 0 and rewards are not negative, so in a deterministic world, with any α,
Q(s,u,a) ≤ r + γ max_a' Q(s',u',a') at all times (by induction: the right-hand side never falls, and
each update moves Q to at most it). Hence Q never exceeds what its own greedy policy earns: a positive Q
is a *certificate* of success, within 1 + log_γ Q steps. To follow zero-shot until certified, and Q from
there on, succeeds wherever zero-shot does. The return can still dip where Q has only seen a detour, so
the best Q by exact evaluation is kept; the first candidate is Q = 0, which *is* zero-shot, so the result
never ends below where it started.

The argument needs ⟨cell, u⟩ to be Markov. Where labels change with the visits it is not (how often the
mail was fetched shows in no observation, but may matter to the mission): there, Q is no certificate,
and only the last sentence protects (`TabularMission.markov` tells).

α defaults to 1, exact in deterministic worlds: values travel one step a visit instead of about ten. The
paper has 0.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from skm_machine import compile_mission
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_primitives import checkpoint
from skm_primitives.finetuning import check_finetuned, check_primitives, one_task
from skm_primitives.loading import load_primitives
from skm_primitives.planning.planners import EVERY_PLANNER, make_policy
from skm_primitives.primitives import Primitives
from skm_primitives.tabular.finetuned_policy import LEARNER, FinetunedPolicy
from skm_primitives.tabular.mission_arrays import Score, score, tabular_mission, tabulate
from skm_primitives.tabular.optimum import IMPOSSIBLE
from skm_sim.domain import DomainSpec
from skm_sim.tabular import tabular_model

ROUND_STEPS: Final = 4000
"""Environment steps between two evaluations."""

COLUMNS: Final = (
    "steps",
    "episodes",
    "return_ratio",
    "success",
    "mean_steps",
    "printed_rule_ratio",
)
"""Of the learning curve; `printed_rule_ratio` is argmax max{γQ, (1−γ)δ_Q}, for comparison."""


@dataclass(frozen=True)
class FinetuneSettings:
    """The choices of a run; a resumed run keeps those that it was started with."""

    task: str = ""
    """A task of the domain; or none, and a `mission`."""
    mission: str = ""
    repeat: bool = False
    planner: str = "paper"
    seed: int = 0
    alpha: float = 1.0
    """Step size; the paper has 0.1."""
    epsilon: float = 0.5
    """How often an action is random while learning."""
    episode_steps: int = 200
    """Steps after which an episode is cut off (no end of the mission: only a new start). With the
    tasks' own limit of 1000, most steps would go by in the coffee that cannot be left."""
    checkpoint: str | None = None
    """The primitives to begin with; None: those that come with skm."""

    def __post_init__(self) -> None:
        if self.planner not in EVERY_PLANNER:
            raise SkmError(
                f"unknown planner '{self.planner}'; there are {', '.join(EVERY_PLANNER)}."
            )
        if not 0 < self.alpha <= 1:
            raise SkmError(f"alpha is {self.alpha}; it must be above 0 and at most 1.")
        if not 0 <= self.epsilon <= 1:
            raise SkmError(f"epsilon is {self.epsilon}; it must be from 0 to 1.")
        for name, least in (("seed", 0), ("episode_steps", 1)):
            if getattr(self, name) < least:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least {least}.")


class FinetuneLearner:
    """Learns one task of a tabular domain, beginning at the level of the zero-shot policy.

    Learning goes in rounds of `ROUND_STEPS` steps, each followed by an exact evaluation. A round is a
    function of what a checkpoint holds, so a run that is stopped and resumed equals one that is not.
    """

    plans_ahead: ClassVar[bool] = False
    save_seconds: ClassVar[float] = 30.0
    settings_class: ClassVar[type[Any]] = FinetuneSettings
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    default_steps = 400_000

    def __init__(
        self, spec: DomainSpec, primitives: Primitives, settings: FinetuneSettings
    ) -> None:
        self.spec = spec
        self.settings = settings
        self.primitives = primitives
        self.task = one_task(spec, settings.task, settings.mission, repeat=settings.repeat)
        mission = compile_mission(
            self.task.formula, propositions=spec.propositions, repeat=self.task.repeat
        )
        if mission.machine.endless:
            raise SkmError("few-shot learning is for missions that end; this one has no end.")
        self._policy = make_policy(mission, primitives, settings.planner)
        self._world = tabular_mission(mission, tabular_model(spec))
        if (self._world.optimal == IMPOSSIBLE).all():
            raise UnachievableMissionError(
                f"the task '{self.task.name}' cannot be achieved from any start in '{spec.name}'."
            )
        self._zero_shot = tabulate(self._world, self._policy, primitives)
        # Lists, since reading one element of an array costs several times as much.
        self._following: list[list[int]] = self._world.following.tolist()
        self._reward: list[list[float]] = self._world.reward.tolist()
        self._ended: list[list[bool]] = self._world.ended.tolist()
        self._seen: list[int] = self._world.seen.tolist()
        self._weighted: list[list[float]] = (
            (1 - primitives.gamma) * self._zero_shot.composed
        ).tolist()

        self.q: list[list[float]] = np.zeros(self._shape).tolist()
        """Q(s, u, a), `[cell · machine states + u][action]`."""
        self.best_q = np.zeros(self._shape)
        """The Q whose policy evaluated best; 0 to begin with."""
        self.rounds = 0
        self.episodes = 0
        self._situation = -1
        self._elapsed = 0
        self.planner = settings.planner
        self.curve: list[tuple[float, ...]] = []
        self.best = self._evaluate()

    @property
    def _shape(self) -> tuple[int, int]:
        return self._world.rows, self._world.model.num_actions

    @property
    def markov(self) -> bool:
        """Whether the agent sees all that matters to the task."""
        return self._world.markov

    @property
    def remark(self) -> str:
        """A warning where learning may not help."""
        if self.markov:
            return ""
        return (
            f"in the task '{self.task.name}', what matters is not all observed; learning may not"
            " help, and the zero-shot policy is kept where it does not."
        )

    def remarks(self) -> dict[str, Any]:
        """Return how soon it was near the optimum, and whether all that matters is observed."""
        return {"steps_to_99": self.steps_to(0.99), "markov": self.markov}

    @property
    def steps(self) -> int:
        """Environment steps taken so far."""
        return self.rounds * ROUND_STEPS

    @property
    def status(self) -> str:
        """The latest return, beside the optimum's."""
        return f"return {self.current['return_ratio']:.3f} of the optimum"

    @property
    def current(self) -> dict[str, float]:
        """The latest point of the learning curve, by column."""
        return dict(zip(COLUMNS, self.curve[-1], strict=True))

    @property
    def options(self) -> dict[str, Any]:
        """The settings of the run, by name."""
        return asdict(self.settings)

    @property
    def policy(self) -> FinetunedPolicy:
        """The best policy so far."""
        cells, states = self._world.model.num_cells, self._world.mission.machine.num_states
        return FinetunedPolicy(self._policy, self.best_q.reshape(cells, states, -1).copy())

    def run_round(self) -> None:
        """Learn for `ROUND_STEPS` steps, then evaluate, and keep Q if it is the best so far."""
        settings, gamma = self.settings, self.primitives.gamma
        rng = np.random.default_rng([settings.seed, self.rounds])
        actions = self._world.model.num_actions
        explores = (rng.random(ROUND_STEPS) < settings.epsilon).tolist()
        random_actions = rng.integers(actions, size=ROUND_STEPS).tolist()
        ties = rng.random(ROUND_STEPS).tolist()
        starts = rng.choice(self._world.starts, ROUND_STEPS).tolist()
        alpha, limit = settings.alpha, settings.episode_steps
        q, seen, weighted = self.q, self._seen, self._weighted
        following, rewards, ended = self._following, self._reward, self._ended
        situation, elapsed = self._situation, self._elapsed
        for step in range(ROUND_STEPS):
            if situation < 0:
                situation, elapsed = starts[step], 0
                self.episodes += 1
            row = q[seen[situation]]
            if explores[step]:
                action = random_actions[step]
            else:
                values = [
                    max(gamma * known, skill)
                    for known, skill in zip(row, weighted[situation], strict=True)
                ]
                best = max(values)
                action = values.index(best)
                if (tied := values.count(best)) > 1:
                    action = [a for a in range(actions) if values[a] == best][
                        int(ties[step] * tied)
                    ]
            after = following[situation][action]
            target = rewards[situation][action]
            over = ended[situation][action]
            if not over:
                target += gamma * max(q[seen[after]])
            row[action] = (1 - alpha) * row[action] + alpha * target
            elapsed += 1
            situation = -1 if over or elapsed >= limit else after
        self._situation, self._elapsed = situation, elapsed
        self.rounds += 1
        result = self._evaluate()
        if result.return_ratio > self.best.return_ratio:
            self.best, self.best_q = result, np.array(self.q)

    def _evaluate(self) -> Score:
        """Score the policy that Q gives now, and the printed rule beside it, on the curve."""
        gamma, seen = self.primitives.gamma, self._world.seen
        known = np.array(self.q)[seen]
        skill = self._zero_shot.action
        certified = np.where(known.max(axis=1) > 0, known.argmax(axis=1), skill)
        values = np.maximum(gamma * known, (1 - gamma) * self._zero_shot.composed)
        tied = values[np.arange(len(skill)), skill] >= values.max(axis=1)
        printed = np.where(tied, skill, values.argmax(axis=1))
        result, rule = (
            score(self._world, actions, gamma, self.task.max_steps)
            for actions in (certified, printed)
        )
        point = (result.return_ratio, result.success, result.mean_steps, rule.return_ratio)
        self.curve.append((float(self.steps), float(self.episodes), *point))
        return result

    def scores(self) -> dict[str, float]:
        """Return where the run began, where it is, and the best, which is what it returns."""
        first, last = dict(zip(COLUMNS, self.curve[0], strict=True)), self.current
        return {
            "zero_shot_return_ratio": first["return_ratio"],
            "zero_shot_success": first["success"],
            "return_ratio": self.best.return_ratio,
            "success": self.best.success,
            "mean_steps": self.best.mean_steps,
            "latest_ratio": last["return_ratio"],
            "lowest_ratio": min(point[COLUMNS.index("return_ratio")] for point in self.curve),
            "printed_rule_ratio": last["printed_rule_ratio"],
        }

    def steps_to(self, ratio: float) -> int | None:
        """Return after how many steps the return first was that share of the optimum, if ever."""
        column = COLUMNS.index("return_ratio")
        return next((int(point[0]) for point in self.curve if point[column] >= ratio), None)

    def save(self, path: str | Path, command: str) -> checkpoint.Card:
        """Write a checkpoint to run or to resume from; return its card."""
        cells, states = self._world.model.num_cells, self._world.mission.machine.num_states
        arrays: dict[str, NDArray[Any]] = {
            "q": np.array(self.q).reshape(cells, states, -1),
            "best_q": self.best_q.reshape(cells, states, -1),
            "agent": np.array([self._situation, self._elapsed, self.episodes], np.int64),
            "curve": np.array(self.curve),
        }
        details = {
            "settings": asdict(self.settings),
            "rounds": self.rounds,
            "formula": self.task.formula,
            "primitives": self.primitives.digest,
            "best": asdict(self.best),
        }
        card = checkpoint.Card(
            domain=self.spec.name,
            learner=LEARNER,
            command=command,
            seed=self.settings.seed,
            steps=self.steps,
            scores=self.scores(),
            details=details,
        )
        return checkpoint.save(path, arrays, card)

    @classmethod
    def start(cls, spec: DomainSpec, options: Mapping[str, Any]) -> FinetuneLearner:
        """Return a learner at the zero-shot level; options are those of `FinetuneSettings`."""
        settings = FinetuneSettings(**options)
        return cls(spec, load_primitives(spec, settings.checkpoint), settings)

    @classmethod
    def resume(cls, spec: DomainSpec, path: str | Path) -> FinetuneLearner:
        """Return the learner that a checkpoint was saved from, ready to go on."""
        arrays, card = checkpoint.load(path, spec.name)
        check_finetuned(card, path)
        learner = cls.start(spec, card.details["settings"])
        check_primitives(card.details, learner.primitives, path)
        if card.details["formula"] != learner.task.formula or arrays["q"].size != np.prod(
            learner._shape
        ):
            raise SkmError(
                f"{path} is of another version of the task '{learner.task.name}'; start anew."
            )
        learner.q = arrays["q"].reshape(learner._shape).tolist()
        learner.best_q = arrays["best_q"].reshape(learner._shape)
        learner._situation, learner._elapsed, learner.episodes = arrays["agent"].tolist()
        learner.curve = [tuple(point) for point in arrays["curve"].tolist()]
        learner.best = Score(**card.details["best"])
        learner.rounds = card.details["rounds"]
        return learner
