"""Few-shot learning of one task in tables (Algorithm 3), from the zero-shot level on."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from skm_machine import compile_mission
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission
from skm_primitives.evaluation.exact import IMPOSSIBLE, optimal_steps
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.few_shot.finetuning import one_task
from skm_primitives.planning.options import transition_deadlines
from skm_primitives.planning.paper import PaperPolicy
from skm_primitives.planning.planners import EVERY_PLANNER, make_policy
from skm_primitives.planning.policy import Decision, Policy, PolicyOnTop, log_of
from skm_primitives.planning.saved_policies import check_finetuned, check_primitives
from skm_primitives.skills import checkpoint
from skm_primitives.skills.checkpoint import Card
from skm_primitives.skills.goals import Histories, pack
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import AnyGoalValues, GoalValues, Primitives, Skills
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.spec import DomainSpec
from skm_sim.tabular import TabularModel, tabular_model

# A mission in a tabular world as arrays: everything that Algorithm 3 looks up in a step.
#
# A *situation* is all that decides what happens next: the machine state u, the violated
# constraints c and the state of the world, hidden counters included. Those that can occur are
# numbered. The agent itself sees ⟨cell, u⟩ only.


MAX_SITUATIONS: Final = 2_000_000


@dataclass(frozen=True, eq=False)
class TabularMission:
    """What each action does in each situation that can occur before the mission is over."""

    mission: Mission
    model: TabularModel
    machine_state: IntArray
    """`(situations,)`: u."""
    violated: IntArray
    """`(situations,)`: c, as bits over the constraints."""
    state: IntArray
    """`(situations,)`: the state of the world."""
    following: IntArray
    """`(situations, actions)`: the situation that the action leads to; 0 if the mission is over."""
    reward: FloatArray
    """`(situations, actions)`: δ_r."""
    ended: BoolArray
    """`(situations, actions)`: whether the action ends the mission, accepted or failed."""
    starts: IntArray
    """`(cells,)`: the situation in which an episode that starts in a cell begins."""

    @cached_property
    def optimal(self) -> IntArray:
        """`(cells,)`: the fewest steps to success from each start cell; −1 where there are none."""
        return optimal_steps(self.model, self.mission.machine)

    @property
    def rows(self) -> int:
        """The number of different ⟨cell, u⟩."""
        return self.model.num_cells * self.mission.machine.num_states

    @cached_property
    def seen(self) -> IntArray:
        """`(situations,)`: the row of Q(s, u, ·) for ⟨cell, u⟩, `cell · machine states + u`."""
        rows: IntArray = self.model.cells[self.state] * self.mission.machine.num_states
        return rows + self.machine_state

    @cached_property
    def markov(self) -> bool:
        """Whether ⟨cell, u⟩, which the agent sees, determines the row and reward that follow.

        If not (labels depend on hidden counters), Q(s, u, a) averages over what it cannot see.
        """
        for outcome in (np.where(self.ended, -1, self.seen[self.following]), self.reward):
            any_of_row = np.zeros((self.rows, outcome.shape[1]), outcome.dtype)
            any_of_row[self.seen] = outcome
            if not np.array_equal(any_of_row[self.seen], outcome):
                return False
        return True


def tabular_mission(
    mission: Mission, model: TabularModel, committer: Policy | None = None
) -> TabularMission:
    """Return the product of a mission, its constraint histories and a tabular world.

    Where a mission has commitments, what a step does is for a policy to say: the `committer`. A
    commitment that it gives up is the end, as it is for learners (`skm_primitives.baselines.problem`).
    """
    machine, histories = mission.machine, Histories(model.constraints)
    if machine.epsilon_transitions and committer is None:
        raise SkmError("a mission with commitments is not a plain product; this one has some.")
    shape = machine.num_states, histories.sets, model.num_states
    if np.prod(shape) > MAX_SITUATIONS:
        raise SkmError(
            f"the mission has {shape[0]} machine states x {shape[1]} constraint histories x"
            f" {shape[2]} states of the world, more than {MAX_SITUATIONS} situations in all."
        )
    target, reward, broken = _steps(mission, model, committer)
    over = np.array([u in machine.terminal or u in machine.failure for u in range(shape[0])])
    columns = [model.propositions.index(name) for name in model.constraints]
    true_constraints = pack(model.labels[:, columns])

    def act(codes: IntArray) -> tuple[IntArray, FloatArray, BoolArray]:
        """Return what follows, what it earns and whether that is the end, `(codes, actions)`."""
        u, violated, state = (part[:, None] for part in np.unravel_index(codes, shape))
        after = model.transitions[state[:, 0]]
        reached, earned = target[u[:, 0], state[:, 0]], reward[u[:, 0], state[:, 0]]
        # Constraints count from the last move of the machine on (Algorithm 3).
        moved_on = (reached != u) | (earned > 0)
        changed = true_constraints[state] ^ true_constraints[after]
        history = np.where(moved_on, 0, violated | changed)
        following = np.ravel_multi_index((reached, history, after), shape)
        return following, earned, over[reached] | broken[u[:, 0], state[:, 0]]

    first = np.ravel_multi_index((machine.initial, 0, model.start_states), shape)
    met = np.zeros(np.prod(shape), np.bool_)
    frontier = first
    while len(frontier):
        met[frontier] = True
        following, _, ended = act(frontier)
        continuation = np.unique(following[~ended])
        frontier = continuation[~met[continuation]]
    codes = np.flatnonzero(met)
    number = np.cumsum(met) - 1
    following, earned, ended = act(codes)
    u, violated, state = np.unravel_index(codes, shape)
    return TabularMission(
        mission=mission,
        model=model,
        machine_state=u,
        violated=violated,
        state=state,
        # After the end there is no situation; any index will do, since `ended` masks it.
        following=np.where(ended, 0, number[following]),
        reward=earned,
        ended=ended,
        starts=number[first],
    )


def _steps(
    mission: Mission, model: TabularModel, committer: Policy | None
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return δ_u, δ_r and whether a commitment is broken, `[u, state, action]`: as a policy prefers."""
    machine = mission.machine
    plain = machine.table(model.label_sets)
    entered = model.label_ids[model.transitions]
    target = np.array([[o.target for o in row] for row in plain], np.int64)[:, entered]
    reward = np.array([[o.reward for o in row] for row in plain], np.float64)[:, entered]
    broken = np.zeros(target.shape, np.bool_)
    if committer is None or not machine.epsilon_transitions:
        return target, reward, broken
    for state, path in _paths(model, committer).items():
        committer.start(path[0])
        for cell in path[1:]:
            committer.entered(cell, moved=False)
        for action, after in enumerate(model.transitions[state].tolist()):
            labels = model.label_sets[model.label_ids[after]]
            for u in set(range(machine.num_states)) - machine.terminal - machine.failure:
                options = machine.options(u, labels)
                chosen = options[0]
                if len(options) > 1:
                    chosen = committer.prefer(u, options, int(model.cells[after]))
                kept = machine.keeps(u, chosen)
                target[u, state, action] = chosen.target
                reward[u, state, action] = chosen.reward if kept else 0.0
                broken[u, state, action] = not kept
    return target, reward, broken


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """A zero-shot policy as arrays over situations."""

    composed: FloatArray
    """δ_Q(u)(⟨s,c⟩, a), `[situation, action]`; 0 where the policy refuses to begin."""
    action: IntArray
    """What the policy does, `[situation]`."""


def tabulate(world: TabularMission, policy: Policy, primitives: Primitives) -> ZeroShot:
    """Ask the policy once in every situation; the paper's sees the cell of the world's state only,

    and of all planners it alone sees the violated constraints.

    A policy may count visits, so it is led to each state of the world along a shortest path. What it
    knows there must depend on that state alone, which holds for counters of visits.
    """
    paper = isinstance(policy, PaperPolicy)
    sees = world.model.cells[world.state] if paper else world.state
    history = world.violated if paper else np.zeros_like(world.violated)
    views = np.stack([world.machine_state, history, sees], axis=1)
    _, asked, view = np.unique(views, axis=0, return_index=True, return_inverse=True)
    histories = Histories(world.model.constraints)
    composed = np.zeros((len(asked), world.model.num_actions))
    action = np.zeros(len(asked), np.int64)
    run = MissionRun(policy, primitives, max_steps=1)
    paths = _paths(world.model, policy)
    here = IMPOSSIBLE
    # In the order of states: the policy is led to each of them once.
    for index in np.argsort(world.state[asked]).tolist():
        situation = asked[index]
        state = int(world.state[situation])
        if state not in paths:
            continue
        if state != here:
            policy.start(paths[state][0])
            for cell in paths[state][1:]:
                policy.entered(cell, moved=False)
            here = state
        u = int(world.machine_state[situation])
        run.visit(u, histories.names(int(world.violated[situation])))
        values = primitives.values(paths[state][-1], run.history)
        assert isinstance(values, GoalValues), "tabular worlds have discrete actions"
        composed[index] = policy.composed(u, values)
        action[index] = run.decide(values).action
    return ZeroShot(composed[view.reshape(-1)], action[view.reshape(-1)])


def _paths(model: TabularModel, policy: Policy) -> dict[int, list[int]]:
    """Return the cells of a shortest path to each state, from starts that the policy accepts."""
    paths = {}
    for cell, start in enumerate(model.start_states.tolist()):
        try:
            policy.start(cell)
        except UnachievableMissionError:
            continue
        paths[start] = [cell]
    queue = deque(paths)
    transitions, cells = model.transitions.tolist(), model.cells.tolist()
    while queue:
        state = queue.popleft()
        for after in transitions[state]:
            if after not in paths:
                paths[after] = [*paths[state], cells[after]]
                queue.append(after)
    return paths


@dataclass(frozen=True)
class Score:
    """How well a policy does from all starts from which the mission can be done."""

    return_ratio: float
    """Mean discounted return / mean optimal return."""
    success: float
    mean_steps: float
    """Over the runs that succeed; 0 if none does."""


def score(world: TabularMission, actions: IntArray, gamma: float, max_steps: int) -> Score:
    """Run `actions[situation]` from every start at once, exactly.

    A run that comes back to a situation will do so forever: it is given up at once.
    """
    solvable = world.optimal != IMPOSSIBLE
    situation = world.starts[solvable]
    running = np.arange(len(situation))
    succeeded = np.zeros(len(situation), np.int64)
    landmark, next_landmark = situation, 1
    for step in range(1, max_steps + 1):
        chosen = actions[situation]
        rewarded = world.reward[situation, chosen] > 0
        succeeded[running[rewarded]] = step
        after = world.following[situation, chosen]
        # Brent's cycle detection: a run that meets its landmark goes in circles.
        going = ~world.ended[situation, chosen] & (after != landmark)
        running, situation, landmark = running[going], after[going], landmark[going]
        if not len(running):
            break
        if step == next_landmark:
            # Landmarks at powers of two, so that cycles of any length are found.
            landmark, next_landmark = situation, 2 * step
    won = succeeded > 0
    optimal = world.optimal[solvable].astype(np.float64)
    nearest = optimal.min(initial=np.inf)  # Of far missions, γ to the steps is not a number.
    returns = np.where(won, gamma ** (succeeded - nearest), 0.0)
    best = gamma ** (optimal - nearest)
    steps = float(succeeded[won].mean()) if won.any() else 0.0
    return Score(float(returns.mean() / best.mean()), float(won.mean()), steps)


# The policy that few-shot learning returns: the learned Q where it is known to succeed.


LEARNER = "finetune"


class FinetunedPolicy(PolicyOnTop):
    """argmax_a Q(s, u, a) wherever max_a Q(s, u, a) > 0, and the zero-shot policy elsewhere.

    Why that is safe is said in `skm_primitives.few_shot.tabular`.
    """

    def __init__(self, zero_shot: Policy, q: FloatArray, gamma: float) -> None:
        super().__init__(zero_shot)
        self._q = q
        self._cell = 0
        self._deadlines = transition_deadlines(gamma, 1)

    def start(self, observation: Any) -> None:  # noqa: ANN401
        """Begin an episode in the cell that is observed."""
        self.zero_shot.start(observation)
        self._cell = int(observation)
        self._deadlines.restart()

    def entered(self, observation: Any, moved: bool) -> None:  # noqa: ANN401
        """Note the cell that a step has ended in."""
        self.zero_shot.entered(observation, moved)
        self._cell = int(observation)
        if moved:
            self._deadlines.restart()

    def choose(self, state: int, values: AnyGoalValues) -> Decision:
        """Return the best action; with Q, no single goal of the buffer is in pursuit (−1).

        Once Q has missed a deadline that it set, the zero-shot policy goes on until the machine moves.
        """
        row = self._q[self._cell, state]
        action = int(row.argmax())
        if row[action] > 0 and not self._deadlines.missed.any():
            self._deadlines.watch_one(0, log_of(float(row[action])))
            return Decision(action, -1, float(row[action]))
        return self.zero_shot.choose(state, values)


def from_checkpoint(
    arrays: Mapping[str, NDArray[Any]], card: Card, spec: DomainSpec, skills: Skills
) -> FinetunedPolicy:
    """Return the policy of a checkpoint; the entry in `skm_primitives.planning.saved_policies`."""
    mission = compile_mission(card.details["formula"], propositions=spec.propositions)
    zero_shot = make_policy(mission, skills, card.details["settings"]["planner"])
    return FinetunedPolicy(zero_shot, arrays["best_q"], skills.gamma)


# Algorithm 3 (few-shot Q-learning with skill machines) for tabular domains.
#
# The printed rule, argmax_a max{γQ(s,u,a), (1−γ)δ_Q(u)(⟨s,c⟩,a)}, chooses actions while learning.
# It does not converge to the optimum, so what is returned (`FinetunedPolicy`) follows Q where
# max_a Q > 0 and the zero-shot skill elsewhere. Q begins at 0, and in a deterministic world never
# exceeds what its own greedy policy earns: a positive Q is a certificate of success. The best Q
# by exact evaluation is kept, and the first candidate is Q = 0, which is zero-shot: the result is
# never worse. The argument, and where ⟨cell, u⟩ is not Markov:
# docs/explanation/for_rl_researchers.md.
#
# α defaults to 1, exact in deterministic worlds: values travel one step a visit instead of about
# ten (the paper: 0.1). Ties are drawn at random; an episode that leads nowhere is cut off, which
# is not an end.


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
        q = self.best_q.reshape(cells, states, -1).copy()
        return FinetunedPolicy(self._policy, q, self.primitives.gamma)

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
