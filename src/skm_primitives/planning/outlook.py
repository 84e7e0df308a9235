"""The outlook of a mission in a world, before anything moves: what the planner will do.

Where goals are places or the world is known, all of it is read off the product that the planner solves:
which label sets can show in which machine state, the shortest success and failure, what the plan goes
for, what events can do. Where goals are label sets, any of these may follow on any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from skm_machine.analysis import Analysis, Trace, analyse, possible_failures
from skm_machine.errors import SkmError
from skm_machine.events import EventVerdict, Risk, event_verdict, sets_to_blame, subsets
from skm_machine.mission import Mission
from skm_machine.possible import LabelSet, possible_outcomes, shown_everywhere
from skm_machine.reward_machine import Outcome
from skm_machine.skill_machine import TOLERANCE, Skill, SkillMachine, plan_possible
from skm_primitives.planning.feasibility_report import FeasibilityReport, feasibility_report
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.planning.policy import Policy, WantsGoals
from skm_primitives.planning.product import Node, Product, mission_product
from skm_primitives.planning.solvers import (
    FAR,
    EventGame,
    event_game,
    first_steps,
    paid_in,
    recurring,
    steps_to,
    without_events,
)
from skm_primitives.skills.goals import label_sets_of
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import GoalToGoal, Skills
from skm_sim.arrays import BoolArray, IntArray
from skm_sim.finite_world import FiniteWorld
from skm_sim.spec import DomainSpec

MOST_NODES: Final = 300_000
"""Machine states × places that are gone through; beyond, label sets are taken to follow at will."""
OF_SKILLS: Final = "where the robot shows what its skills achieve"
FROM_ANYWHERE: Final = "from any place where it can be begun"
AS_A_RULE: Final = f"{FROM_ANYWHERE}, if actions lead where they do as a rule"


@dataclass(frozen=True)
class Outlook:
    """What can happen to a mission in a world, and what the planner will do."""

    shown: dict[int, tuple[LabelSet, ...]]
    """The label sets that can show in each machine state that can be reached, events among them."""
    analysis: Analysis
    skills: SkillMachine
    verdict: EventVerdict
    blocked: str = ""
    """Why the mission cannot be achieved at all."""
    starts: tuple[int, int] | None = None
    """From how many places it can be achieved, and how many there are."""
    steps: dict[int, tuple[int, int]] = field(default_factory=dict)
    """In each machine state, the least and the most steps to success, or to the next round."""
    waits: tuple[int, ...] = ()
    """Machine states in which the robot may have to wait for an event."""
    unlearned: tuple[str, ...] = ()
    """What the mission must avoid though no skill was learned to."""
    policy: Policy | None = None
    """What would carry it out."""

    @property
    def possible(self) -> bool:
        """Whether the planner takes the mission on."""
        return not self.blocked

    def document(self) -> dict[str, Any]:
        """Return what is to be said of it besides, for programs."""
        names = self.skills.reward_machine.names
        document = FeasibilityReport(self.unlearned, self.blocked).document()
        if self.starts is not None:
            document["starts"] = {"possible": self.starts[0], "all": self.starts[1]}
        if self.steps:
            document["steps"] = {
                names[state]: {"least": least, "most": most}
                for state, (least, most) in self.steps.items()
            }
        document["waits"] = [names[state] for state in self.waits]
        return document

    @property
    def sentences(self) -> list[str]:
        """The same as a sentence."""
        names = self.skills.reward_machine.names
        said = FeasibilityReport(self.unlearned, self.blocked).sentences
        if self.starts is not None and 0 < self.starts[0] < self.starts[1]:
            said.append(f"it can be achieved from {self.starts[0]} of {self.starts[1]} places")
        if self.waits:
            states = ", ".join(names[state] for state in self.waits)
            said.append(f"the robot waits for an event in {states}, where it can do nothing else")
        return said


def outlook(mission: Mission, skills: Skills) -> Outlook:
    """Say what a mission comes to with these skills, by the product planner."""
    kept = feasibility_report(mission, skills)
    if mission.in_parts and kept.policy is not None:
        mission = kept.policy.mission  # one machine, where the planner needs that
    if mission.in_parts:
        skills_of = SkillMachine(mission.machine, {}, (), "product", skills.gamma)
        verdict = EventVerdict((), (), "")
        said = analyse(mission)
        if kept.blocked:
            said = _with(said, witness=None)
        return Outlook({}, said, skills_of, verdict, kept.blocked, policy=kept.policy)
    found = _found(mission.planned, skills, kept.policy, kept.blocked)
    if mission.clocks is not None:
        found = _with_clocks(found, mission, skills)
    return replace(found, unlearned=kept.unlearned, policy=kept.policy)


def _with_clocks(found: Outlook, mission: Mission, skills: Skills) -> Outlook:
    """Return the outlook on a mission with clocks, from that on the mission which is planned.

    What the planner goes for is as planned; what can happen to it, ticks of its clocks among it, is
    told of the machine itself, where any label set may follow on any other.
    """
    behind = skills.world_model
    cells = isinstance(behind, FiniteWorld) and behind.goal_probability is None
    own = behind.present if isinstance(behind, FiniteWorld) and cells else _own(skills)
    ticks = () if mission.clocks is None else mission.clocks.names
    happening = [*subsets(_named_events(mission)), *(frozenset({tick}) for tick in ticks)]
    shown = shown_everywhere(mission.machine, own, happening)
    analysis = analyse(mission, shown)
    if found.blocked:
        analysis = _with(analysis, witness=None)
    return replace(found, analysis=analysis, shown=shown)


def outlook_in(spec: DomainSpec, mission: Mission) -> Outlook | None:
    """Say it of the skills that come with a domain; None if it has none that load here."""
    try:
        skills = load_primitives(spec)
    except SkmError:
        return None
    return outlook(mission, skills)


def risks_from(policy: Policy, skills: Skills, observation: Any) -> tuple[Risk, ...]:  # noqa: ANN401
    """Return how events can make a mission fail from an observed place, whatever the robot does."""
    mission = policy.mission
    if isinstance(policy, ProductPolicy):
        risk = policy.risk_from(observation)
        return () if risk is None else (risk,)
    if not _named_events(mission) or not isinstance(skills.world_model, GoalToGoal):
        return ()
    return event_verdict(mission.machine, mission.events, _own(skills)).risks


def _own(skills: Skills) -> list[LabelSet]:
    """Return the label sets that skills achieve, and the empty one, which shows in between."""
    found = {frozenset[str](), *label_sets_of(skills.goals)}
    return sorted(found, key=lambda labels: (len(labels), sorted(labels)))


def _found(mission: Mission, skills: Skills, policy: Policy | None, blocked: str) -> Outlook:
    behind = skills.world_model
    if isinstance(behind, GoalToGoal):
        return _of_label_sets(mission, skills, policy, blocked, _own(skills))
    cells = behind.goal_probability is None
    if cells and mission.machine.num_states * behind.states > MOST_NODES:
        return _of_label_sets(mission, skills, policy, blocked, behind.present)
    return _InPlaces(mission, skills, behind, policy, blocked).outlook()


def _of_label_sets(
    mission: Mission,
    skills: Skills,
    policy: Policy | None,
    blocked: str,
    own: Sequence[LabelSet],
) -> Outlook:
    """Say it where any label set may follow on any other."""
    machine = mission.machine
    happening = subsets(_named_events(mission))
    shown = shown_everywhere(machine, own, happening)
    analysis = analyse(mission, shown)
    if len(happening) > 1:  # The planner never counts on an event, unless it has to.
        without = analyse(mission, shown_everywhere(machine, own)).witness
        analysis = _with(analysis, witness=without or analysis.witness)
    pursued = None
    if isinstance(policy, WantsGoals):
        pursued = {
            state: [skills.goals[g].labels for g in np.flatnonzero(policy.wanted(state)).tolist()]
            for state in shown
            if state not in machine.terminal
        }
    planned = plan_possible(machine, shown, skills.gamma, pursued, mission.events)
    if isinstance(policy, ProductPolicy) and (shortest := policy.shortest_trace()) is not None:
        analysis = _with(analysis, witness=shortest)
    if blocked:
        analysis = _with(analysis, witness=None)
        planned = SkillMachine(machine, {}, planned.values, planned.planner, planned.gamma)
    verdict = event_verdict(machine, mission.events, own, OF_SKILLS)
    return Outlook(shown, analysis, planned, verdict, blocked)


def _named_events(mission: Mission) -> tuple[str, ...]:
    return tuple(name for name in mission.events if name in mission.machine.propositions)


def _with(analysis: Analysis, *, witness: Trace | None) -> Analysis:
    return Analysis(
        analysis.satisfiable, analysis.can_fail, witness, analysis.counterexample, analysis.failures
    )


class _InPlaces:
    """The same, exactly, on machine × places × visit counts."""

    def __init__(
        self,
        mission: Mission,
        skills: Skills,
        world: FiniteWorld,
        policy: Policy | None,
        blocked: str,
    ) -> None:
        self.mission, self.machine, self.skills = mission, mission.machine, skills
        self.world, self.blocked = world, blocked
        self.policy = policy if isinstance(policy, ProductPolicy) else None
        events = _named_events(mission)
        self.game = None if self.policy is None else self.policy.game
        self.product = (
            mission_product(self.machine, world, subsets(events), always_paid=True)
            if self.game is None
            else self.game.product
        )
        self.happenings = self.product.happenings
        self.shape = self.product.shape
        self.achievable = recurring(self.product)
        """From where the mission can be done at all, if events were to help."""
        self.starts = np.flatnonzero(self._possible()[self.machine.initial, :, 0])

    def _possible(self) -> BoolArray:
        return self.achievable if self.game is None or self.policy is None else self.policy.possible

    def outlook(self) -> Outlook:
        machine = self.machine
        begun = np.zeros(self.shape, np.bool_)
        begun[machine.initial, self.starts if len(self.starts) else slice(None), 0] = True
        nodes, arrivals = self.product.gone_through(begun)
        shown = self._shown(nodes, arrivals)
        steps, witness = self._success()
        counterexample = self._failure()
        analysis = Analysis(
            machine.satisfiable,
            counterexample is not None,
            None if self.blocked else witness,
            counterexample,
            possible_failures(machine, shown),
        )
        skills: dict[int, Skill] = {}
        spans: dict[int, tuple[int, int]] = {}
        waits: list[int] = []
        if not self.blocked and self.policy is not None:
            there = nodes & self._possible()
            worth = plan_possible(machine, shown, self.skills.gamma).values
            for state in sorted(shown):
                if state in machine.terminal or state in machine.failure:
                    continue
                found = steps[state][there[state]]
                found = found[found < FAR]
                if len(found):
                    spans[state] = int(found.min()), int(found.max())
                best = self._gone_for(state, there[state])
                # A move that is worth nothing by itself is on the way to one that is, if there is one.
                least = worth[state] * (1 + TOLERANCE)
                leading = [o for o in best if o.reward > 0 or worth[o.target] > least]
                best = tuple(leading) or best
                if best:
                    value = self.skills.gamma ** (spans[state][0] - 1) if state in spans else 0.0
                    outcomes = possible_outcomes(machine, state, shown)
                    lost = [o for o in outcomes if o.target in machine.failure]
                    skills[state] = Skill(
                        machine,
                        state,
                        best,
                        tuple(lost),
                        value,
                        tuple(shown[state]),
                        frozenset(self.mission.events),
                    )
                if self.game is not None and (self.policy.waiting[state] & there[state]).any():
                    waits.append(state)
        values = tuple(skills[u].value if u in skills else 0.0 for u in range(machine.num_states))
        planned = SkillMachine(machine, skills, values, "product", self.skills.gamma)
        counted = None if self.blocked else (len(self.starts), self.shape[1])
        return Outlook(
            shown,
            analysis,
            planned,
            self._verdict(),
            self.blocked,
            counted,
            spans,
            tuple(waits),
        )

    def _shown(self, nodes: BoolArray, arrivals: BoolArray) -> dict[int, tuple[LabelSet, ...]]:
        shown: dict[int, tuple[LabelSet, ...]] = {}
        for state in np.flatnonzero(nodes.any(axis=(1, 2))).tolist():
            ids = np.unique(self.product.label_ids[arrivals[state]]).tolist()
            found = {self.world.label_sets[i] | some for i in ids for some in self.happenings}
            shown[state] = tuple(sorted(found, key=lambda labels: (len(labels), sorted(labels))))
        return shown

    def _success(self) -> tuple[IntArray, Trace | None]:
        """Return the least steps to a reward by the actions of the plan, and the shortest such trace.

        Without events, if that can be; without risk, if that can be.
        """
        everything = self.product
        ways = [without_events(everything)]
        if self.game is not None:
            careful = replace(everything, allowed=self.game.allowed)
            ways = [self.game.quiet, *ways, careful, everything]
        steps = np.full(self.shape, FAR)
        trace: Trace | None = None
        for product in ways:
            region = recurring(product)
            paid = paid_in(product, region)
            found, arriving = steps_to(product, paid=paid, any_outcome=True)
            steps = np.where(steps >= FAR, found, steps)
            first = found[self.machine.initial, self.starts, 0]
            if trace is None and len(first) and first.min() < FAR:
                start = self.machine.initial, int(self.starts[first.argmin()]), 0
                trace = self._followed(product, start, found, arriving, region)
        shortest = None if self.policy is None else self.policy.shortest_trace()
        return steps, trace if shortest is None else shortest

    def _failure(self) -> Trace | None:
        """Return a shortest trace after which the mission cannot succeed any more."""
        if not len(self.starts):
            return None
        machine = self.machine
        lost = np.zeros(self.shape, np.bool_)
        lost[sorted(machine.failure)] = True
        if not machine.epsilon_transitions:
            lost |= ~self.achievable
        plain = replace(self.product, commitments=())
        found, arriving = steps_to(plain, lost, keep_commitments=False, any_outcome=True)
        first = found[machine.initial, self.starts, 0]
        if first.min() >= FAR:
            return None
        start = machine.initial, int(self.starts[first.argmin()]), 0
        return self._followed(plain, start, found, arriving)

    def _followed(
        self,
        product: Product,
        start: Node,
        steps: IntArray,
        arriving: IntArray,
        again: BoolArray | None = None,
    ) -> Trace:
        """Return the labels of a shortest way, few in each step, and few events."""
        trace, node = [], start
        while steps[node] > 0:
            shown = [
                (product.labels(place, node[2]) | self.happenings[number], after)
                for place, number, after in first_steps(product, node, steps, arriving, again)
            ]
            labels, after = min(shown, key=lambda way: (len(way[0]), sorted(way[0])))
            trace.append(labels)
            if after is None:
                break
            node = after
        return trace

    def _gone_for(self, state: int, there: BoolArray) -> tuple[Outcome, ...]:
        """Return what the plan makes the machine do next, from one node or another."""
        product = self.product
        if self.policy is None:
            return ()
        actions = self.policy.actions_in(state)
        place, counter = np.nonzero(there)
        arrived = self.world.successors[place, actions[place, counter]]
        found: dict[Outcome, None] = {}
        for way in (state, *self.machine.commitments(state)):
            readings = product.reading(way, arrived, counter)
            readings = readings[product.keeps(readings)]
            after = product.lands(readings) // (self.shape[1] * self.shape[2])
            pairs = np.stack([after, product.pays(readings) > 0], axis=1)
            for target, rewarded in np.unique(pairs, axis=0).tolist():
                if target in self.machine.failure:
                    continue
                if rewarded or (target != state and way == state):
                    reward = [
                        o.reward
                        for o in self.machine.successors(state)
                        if o.target == target and (o.reward > 0) == bool(rewarded)
                    ]
                    found.update(dict.fromkeys(Outcome(target, r) for r in reward))
        return tuple(found)

    def _verdict(self) -> EventVerdict:
        events = self.mission.events
        if not _named_events(self.mission) or self.game is None:
            return EventVerdict(events, (), FROM_ANYWHERE)
        proved = FROM_ANYWHERE if self.world.chances is None else AS_A_RULE
        risks: list[Risk] = []
        if len(self._unkept(self.game)):
            named = _named_events(self.mission)
            for some in sets_to_blame(named):
                if len(some) > 1 and risks:
                    continue
                game = self.game if some == named else event_game(self.machine, self.world, some)
                unkept = self._unkept(game)
                if len(unkept):
                    risks.append(self._risk(some, game, unkept))
        return EventVerdict(events, tuple(risks), proved)

    def _unkept(self, game: EventGame) -> IntArray:
        """Return the places from which the mission can be begun, but not kept whatever happens."""
        unkept: IntArray = self.starts[~game.kept[self.machine.initial, self.starts, 0]]
        return unkept

    def _risk(self, events: tuple[str, ...], game: EventGame, unkept: IntArray) -> Risk:
        """Return the counterexample from where the robot is lost soonest."""
        assert self.policy is not None
        doom = game.doom[self.machine.initial, unkept, 0]
        node = self.machine.initial, int(unkept[doom.argmin()]), 0
        counterexample = game.counterexample(node, self.policy.action_at)
        return Risk(events, counterexample, (len(unkept), len(self.starts)))
