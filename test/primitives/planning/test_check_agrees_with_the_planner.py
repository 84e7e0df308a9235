"""What `skm check` says of a mission in a domain, what the planner does, and a search of its own agree.

Random missions, with an event and without, in random finite worlds. The search shares nothing with the
planner but the machine: naive fixed points over sets of pairs, and breadth-first search.
`SKM_TRIALS=2000 pytest test/primitives/planning/test_check_agrees_with_the_planner.py` tries more of
them.
"""

import os
import signal
from collections import deque
from contextlib import contextmanager
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from lasso_semantics import random_formula
from skm_machine import SkmError, UnachievableMissionError, compile_mission
from skm_machine.events import subsets
from skm_machine.tracker import MissionTracker, Status
from skm_primitives.planning.outlook import outlook
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import GoalValues, RemoteSkills
from skm_sim.finite_world import Chances, FiniteWorld

TRIALS = int(os.environ.get("SKM_TRIALS", "240"))
BATCH = 40
TEMPLATES = (
    "F a & F b & G(e -> F a)",
    "G F a & G(e -> F b)",
    "G F a & G(e -> (!a U b))",
    "G F a & G F b & G(e -> X !a)",
    "F(a & X F b) & G !e",
    "F a & (!a U e)",
    "F(a & b) & G(e -> !b)",
    "G(e -> F G b) & G F a",
    "F a & G(e -> !a)",
    "F(a & X F b)",
    "G F a & G F b",
    "F G a",
    "F a & F b",
    "G F (a & X b)",
)


class World:
    """Some places with labels, and where each action leads."""

    def __init__(self, rng):
        size, actions = rng.randint(3, 7), rng.randint(1, 3)
        self.leads = [[rng.randrange(size) for _ in range(actions)] for _ in range(size)]
        kinds = [frozenset(), frozenset("a"), frozenset("b"), frozenset(), frozenset("ab")]
        self.labels = [rng.choice(kinds[: rng.choice((3, 4, 5))]) for _ in range(size)]

    def skills(self, known):
        size, successors = len(self.leads), np.array(self.leads)
        goals = tuple(Goal(labels, place=p) for p, labels in enumerate(self.labels))
        if known:
            sets = tuple(dict.fromkeys(self.labels))
            ids = np.array([sets.index(labels) for labels in self.labels])
            behind = FiniteWorld(successors, sets, ids)
        else:
            seen = {place: (labels,) for place, labels in enumerate(self.labels)}
            sure = np.ones(size, np.float32)
            behind = FiniteWorld.showing(range(size), successors, seen, goal_probability=sure)
        spaces = Discrete(size), Discrete(successors.shape[1])
        return RemoteSkills("random", "", "", ("a", "b"), (), goals, behind, 0.9, *spaces)

    def values(self, place):
        """Return what stopping is worth, for the planner of places: 1 where an action leads there."""
        stop = np.zeros((len(self.leads), len(self.leads[0])), np.float32)
        stop[self.leads[place], range(len(self.leads[0]))] = 1
        return GoalValues(np.zeros_like(stop), stop)


class Search:
    """The game and the shortest ways, by definition."""

    def __init__(self, mission, world, events):
        self.machine, self.world, self.events = mission.machine, world, subsets(events)
        machine = self.machine
        places = range(len(world.leads))
        self.nodes = [(u, p) for u in range(machine.num_states) for p in places]
        self.done = {(u, p) for u, p in self.nodes if u in machine.terminal - machine.failure}
        self.running = [n for n in self.nodes if n[0] not in machine.terminal | machine.failure]
        self.answers = {
            (u, p, q): [
                [
                    (outcome, (outcome.target, q))
                    for outcome in machine.options(u, world.labels[q] | some)
                    if machine.keeps(u, outcome)
                ]
                for some in self.events
            ]
            for u, p in self.running
            for q in world.leads[p]
        }  # fmt: skip

    def region(self, quantifier):
        """Return from where rewards come forever: whatever happens (all), or if events help (any)."""
        again = set(self.nodes)
        while True:
            reached = set(self.done)
            grown = True
            while grown:
                fresh = {
                    (u, p)
                    for u, p in self.running
                    if (u, p) not in reached
                    and any(
                        quantifier(
                            any((o.reward > 0 and n in again) or n in reached for o, n in options)
                            for options in self.answers[u, p, q]
                        )
                        for q in self.world.leads[p]
                    )
                }
                reached |= fresh
                grown = bool(fresh)
            if reached == again:
                return again
            again = reached

    def fewest_steps(self, start, events=(frozenset(),)):
        """Return the least number of steps to a reward; None: there is no way."""
        queue, seen = deque([(start, 0)]), {start}
        numbers = [self.events.index(some) for some in events]
        while queue:
            (u, p), steps = queue.popleft()
            if (u, p) not in self.running:
                continue
            for q in self.world.leads[p]:
                for number in numbers:
                    for outcome, node in self.answers[u, p, q][number]:
                        if outcome.reward > 0:
                            return steps + 1
                        if node not in seen:
                            seen.add(node)
                            queue.append((node, steps + 1))
        return None

    def can_show(self, trace, starts, events):
        """Tell whether a robot can walk so that its labels, and some events, are those of a trace."""
        there = set(starts)
        for labels in trace:
            own = labels - frozenset(events)
            there = {q for p in there for q in self.world.leads[p] if self.world.labels[q] == own}
        return bool(there)


def play(policy, world, place, happening, steps):
    """Run a policy under some events; return the tracker and the pairs (state, labels) that it met."""
    policy.start(place)
    tracker = MissionTracker(policy.mission.machine, ())
    tracker.start(world.labels[place])
    met = []
    for step in range(steps):
        if tracker.status is not Status.RUNNING:
            break
        place = world.leads[place][policy.choose(tracker.state, world.values(place)).action]
        labels = world.labels[place] | happening(step)
        met.append((tracker.state, labels))
        before, at = tracker.state, place
        tracker.update(labels, lambda state, options, at=at: policy.prefer(state, options, at))
        policy.entered(place, tracker.state != before)
    return tracker, met


def draw(rng):
    """Return a mission that has a machine of some states, and whether it has an event."""
    while True:
        events = ("e",) if rng.random() < 0.7 else ()
        if rng.random() < 0.5:
            text = rng.choice(TEMPLATES)
        else:
            text = str(
                random_formula(rng, rng.randint(3, 9), ["a", "b", "e"] if events else ["a", "b"])
            )
        if ("e" in text) != bool(events):
            continue
        try:
            mission = compile_mission(text, propositions=("a", "b"), events=events, max_states=40)
        except SkmError:
            continue
        if mission.machine.satisfiable and mission.machine.initial not in mission.machine.terminal:
            return mission


@pytest.mark.parametrize("batch", range(max(1, TRIALS // BATCH)))
def test_check_planner_and_an_independent_search_agree(batch):
    rng = Random(batch)
    for _ in range(BATCH):
        mission, world = draw(rng), World(rng)
        known = rng.random() < 0.4 and (bool(mission.events) or not mission.machine.endless)
        case = Case(mission, world, world.skills(known))
        case.is_taken_on_where_some_run_carries_it_out()
        if case.policy is not None:
            case.has_the_risks_of_the_game()
            case.has_traces_of_the_world()
            case.is_done_in_the_fewest_steps()
            case.is_kept_where_it_can_be(rng)


class Case:
    """A mission in a world: what check says, what the planner does, what the search finds."""

    def __init__(self, mission, world, skills):
        self.mission, self.machine, self.world = mission, mission.machine, world
        self.events = mission.events
        self.named = [name for name in self.events if name in self.machine.propositions]
        self.search = Search(mission, world, self.events)
        self.places = range(len(world.leads))
        possible, kept = self.search.region(any), self.search.region(all)
        self.starts = [p for p in self.places if (self.machine.initial, p) in possible]
        self.unkept = [p for p in self.starts if (self.machine.initial, p) not in kept]
        self.found = outlook(mission, skills)
        self.policy = self.found.policy
        self.told = f"{mission.text} in {world.leads} {list(map(sorted, world.labels))}"

    def is_taken_on_where_some_run_carries_it_out(self):
        """Some run, with events that help; from everywhere else it is refused."""
        assert self.found.possible == (self.policy is not None) == bool(self.starts), self.told
        if self.policy is None:
            assert self.found.blocked
            assert self.found.analysis.witness is None
            return
        assert self.found.starts == (len(self.starts), len(self.places)), self.told
        for place in self.places:
            if place in self.starts:
                self.policy.start(place)
            else:
                with pytest.raises(UnachievableMissionError):
                    self.policy.start(place)

    def has_the_risks_of_the_game(self):
        """Events can make it fail just where they win the game, and the counterexample of how is one."""
        if not self.named:
            assert self.found.verdict.risks == ()
            return
        policy, machine = self.policy, self.machine
        assert isinstance(policy, ProductPolicy)
        for place in self.starts:
            assert policy.game.kept[machine.initial, place, 0] == (place not in self.unkept)
            assert (policy.risk_from(place) is None) == (place not in self.unkept), self.told
        counted = [(len(self.unkept), len(self.starts))] if self.unkept else []
        assert [risk.starts for risk in self.found.verdict.risks] == counted, self.told
        counterexamples = [risk.counterexample for risk in self.found.verdict.risks]
        counterexamples += [policy.risk_from(place).counterexample for place in self.unkept]
        for counterexample in counterexamples:
            steps = [*counterexample.steps, *counterexample.forever, *counterexample.forever]
            assert self.search.can_show(steps, self.places, self.events), self.told
            if not machine.epsilon_transitions:
                self.is_lost(steps, len(counterexample.forever))

    def is_lost(self, steps, forever):
        """Check that a counterexample ends in failure, or goes on forever without a reward."""
        state, rewards = self.machine.initial, []
        for labels in steps:
            state, reward = self.machine.step(state, labels)
            rewards.append(reward > 0)
        lost = not any(rewards[-forever:]) if forever else state in self.machine.failure
        assert lost, self.told

    def has_traces_of_the_world(self):
        analysis = self.found.analysis
        assert analysis.witness is not None, self.told
        for trace in (analysis.witness, analysis.counterexample):
            if trace is not None:
                assert self.search.can_show(trace, self.starts, self.events), self.told

    def is_done_in_the_fewest_steps(self):
        """The shortest success is what the search finds, and what the planner takes."""
        if self.named or self.machine.endless:
            return
        fewest = {p: self.search.fewest_steps((self.machine.initial, p)) for p in self.starts}
        assert len(self.found.analysis.witness) == min(fewest.values()), self.told
        for place in self.starts:
            tracker, _ = play(self.policy, self.world, place, lambda _: frozenset(), 300)
            assert (tracker.status, tracker.steps) == (Status.ACCEPTED, fewest[place]), self.told

    def is_kept_where_it_can_be(self, rng):
        """What can be kept is kept, whatever happens; what shows is among what check says can show."""
        for place in self.starts:
            for chance in (0.0, 0.4) if self.named else (0.0,):
                dice = Random(rng.random())

                def happening(_, dice=dice, chance=chance):
                    return frozenset("e") if dice.random() < chance else frozenset()

                tracker, met = play(self.policy, self.world, place, happening, 40)
                assert all(labels in self.found.shown[state] for state, labels in met), self.told
                if place not in self.unkept:
                    assert tracker.status is not Status.FAILED, self.told
                    assert tracker.accepting_visits > 0 or chance > 0, self.told


def test_planning_against_events_ends_where_actions_slip():
    """Choices were judged by the mean over where actions lead, and kept to as if they did not slip."""
    world = World(Random(0))
    world.leads = [[2, 4], [0, 5], [3, 1], [3, 4], [1, 5], [0, 5]]
    astray = [[0, 0], [5, 1], [5, 3], [4, 1], [5, 2], [4, 3]]
    world.labels = [frozenset(names) for names in ("a", "", "ab", "b", "a", "a")]
    table = np.zeros((6, 2, 6), np.float32)
    for place, action in np.ndindex(6, 2):
        table[place, action, world.leads[place][action]] += 0.75
        table[place, action, astray[place][action]] += 0.25
    skills = world.skills(known=False)
    slippery = replace(skills.world_model, chances=Chances.of_table(table))
    text = "G F a & G F b & G(e -> X !a)"
    mission = compile_mission(text, propositions=("a", "b"), events=("e",))
    with limited(20):
        found = outlook(mission, replace(skills, world_model=slippery))
    assert found.possible
    assert "if actions lead where they do as a rule" in found.verdict.proved_for


@contextmanager
def limited(seconds):
    """Raise an error if what is done takes longer."""

    def late(*_):
        raise TimeoutError(f"not done within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
