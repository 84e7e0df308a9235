"""Random finite worlds and missions, and what can be done in them: searched by definition.

Nothing here is shared with the planners: worlds are dictionaries, and the product of a world with a
mission's machine is explored node by node. A node is (machine state, place, visits of each place).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Discrete

from skm_machine import SkmError, Status, UnachievableMissionError, compile_mission
from skm_machine.tracker import MissionTracker
from skm_primitives import make_policy
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.values import GoalValues, RemoteSkills
from skm_sim.finite_world import Chances, FiniteWorld

NAMES = ("a", "b", "c", "d")
KINDS = ("deterministic", "stochastic", "terminal", "absorbing", "visits", "cells", "corridor")
DISCOUNTS = (0.5, 0.9, 0.99)
END = -1
"""Stands for where the world has ended."""


@dataclass(frozen=True)
class World:
    """`moves[place][action]`: the places that it may lead to, with their chances; () if nobody knows."""

    kind: str
    gamma: float
    moves: tuple
    labels: tuple
    """`labels[place]`: what is shown at the first, second, … visit; the last holds from then on."""
    ends: frozenset = frozenset()
    """Places on arriving at which the world ends; a run that begins there goes on."""

    @property
    def deterministic(self):
        return all(len(found) <= 1 for row in self.moves for found in row)

    def arrivals(self, place, visits, action):
        """Yield the place, the labels and the visits after each way that an action may go."""
        for after, _ in self.moves[place][action]:
            yield after, *self.arrival(after, visits)

    def arrival(self, place, visits):
        """Return what is shown on entering a place, and the visits then."""
        shown = self.labels[place]
        seen = visits[place]
        more = min(seen + 1, len(shown) - 1)
        return shown[seen], (*visits[:place], more, *visits[place + 1 :])

    @property
    def unvisited(self):
        return (0,) * len(self.labels)


def random_world(rng, number):
    """Return a world of one of the kinds, in turn."""
    kind = KINDS[number % len(KINDS)]
    places = 60 if kind == "corridor" else int(rng.integers(4, 13))
    actions = int(rng.integers(2, 4))
    ends = {int(p) for p in rng.integers(places, size=2)} if kind == "terminal" else set()
    stuck = {int(p) for p in rng.integers(places, size=2)} if kind == "absorbing" else set()
    moves = []
    for place in range(places):
        row = []
        for action in range(actions):
            if kind == "terminal" and rng.random() < 0.1:
                row.append(())
            elif place in stuck:
                row.append(((place, 1.0),))
            elif kind == "corridor":
                row.append(((min(max(place + (1 if action else -1), 0), places - 1), 1.0),))
            elif kind == "stochastic":
                found = sorted({int(p) for p in rng.integers(places, size=3)})
                row.append(tuple((p, 1 / len(found)) for p in found))
            else:
                row.append(((int(rng.integers(places)), 1.0),))
        moves.append(tuple(row))
    labels = []
    for place in range(places):
        visits = int(rng.integers(1, 3)) if kind == "visits" and place < 4 else 1
        likely = 0.03 if kind == "corridor" else 0.25
        labels.append(
            tuple(frozenset(n for n in NAMES if rng.random() < likely) for _ in range(visits))
        )
    gamma = float(rng.choice(DISCOUNTS))
    return World(kind, gamma, tuple(moves), tuple(labels), frozenset(ends))


def skills_of(world):
    """Return the world as the planners get it."""
    places, actions = len(world.moves), len(world.moves[0])
    tried = np.array([[bool(found) for found in row] for row in world.moves])
    likeliest = np.array(
        [
            [max(found, key=lambda entry: entry[1])[0] if found else place for found in row]
            for place, row in enumerate(world.moves)
        ]
    )
    common = ("", "", NAMES, ())
    spaces = Discrete(places), Discrete(actions)
    if world.kind == "cells":
        sets = tuple(dict.fromkeys(shown[0] for shown in world.labels))
        ids = np.array([sets.index(shown[0]) for shown in world.labels])
        goals = tuple(Goal(labels, frozenset(), None) for labels in sets)
        behind = FiniteWorld(likeliest, sets, ids)
    else:
        goals = tuple(
            dict.fromkeys(
                Goal(labels, frozenset(), place)
                for place, shown in enumerate(world.labels)
                for labels in shown
            )
        )
        chances = None
        if not world.deterministic:
            table = np.zeros((places, actions, places), np.float32)
            for place, row in enumerate(world.moves):
                for action, found in enumerate(row):
                    for after, chance in found or ((place, 1.0),):
                        table[place, action, after] = chance
            chances = Chances.of_table(table)
        behind = FiniteWorld.showing(
            range(places),
            likeliest,
            dict(enumerate(world.labels)),
            goal_probability=np.ones(len(goals), np.float32),
            chances=chances,
            tried=None if tried.all() else tried,
            ended=np.isin(range(places), sorted(world.ends)) if world.ends else None,
        )
    return RemoteSkills("world", *common, goals, behind, world.gamma, *spaces)


def random_mission(rng):
    """Return the text of a mission: of everyday forms, of any, with bounds, or recurring."""

    def atom():
        name = str(rng.choice(NAMES))
        return f"!{name}" if rng.random() < 0.25 else name

    def state(depth=2):
        if depth == 0 or rng.random() < 0.5:
            return atom()
        return f"({state(depth - 1)} {rng.choice(['&', '|'])} {state(depth - 1)})"

    def formula(depth):
        if depth == 0:
            return atom()
        sub = formula(depth - 1)
        match int(rng.integers(8)):
            case 0:
                return f"F({sub})"
            case 1:
                return f"G({sub})"
            case 2:
                return f"X({sub})"
            case 3:
                return f"({sub}) U ({formula(depth - 1)})"
            case 4:
                return f"({sub}) & ({formula(depth - 1)})"
            case 5:
                return f"({sub}) | ({formula(depth - 1)})"
            case 6:
                low = int(rng.integers(4))
                return f"F[{low},{low + int(rng.integers(5))}]({sub})"
            case _:
                return f"!({sub})"

    def sequence(length):
        text = f"F {state()}"
        for _ in range(length - 1):
            text = f"F({state()} & X {text})"
        return text

    avoided = f" & G !{rng.choice(NAMES)}" if rng.random() < 0.4 else ""
    match int(rng.integers(8)):
        case 0:
            return sequence(int(rng.integers(1, 5))) + avoided
        case 1:
            return sequence(int(rng.integers(10, 40)))
        case 2:
            return f"F[{int(rng.integers(1, 120))},] ({state()})" + avoided
        case 3:
            return " & ".join(f"G F {state()}" for _ in range(int(rng.integers(1, 4)))) + avoided
        case 4:
            return f"F G {state()}" + avoided
        case 5:
            return f"G({atom()} -> F {atom()}) & G F {atom()}" + avoided
        case _:
            return formula(int(rng.integers(1, 5)))


class Product:
    """The product of a world with a mission's machine, explored from every place."""

    def __init__(self, world, machine):
        self.world, self.machine = world, machine
        self.starts = [(machine.initial, p, world.unvisited) for p in range(len(world.moves))]
        self.steps = {}
        """For each node, (action, node after, reward) of every step with a positive probability."""
        queue = deque(self.starts)
        self.steps.update(dict.fromkeys(self.starts, ()))
        while queue:
            node = queue.popleft()
            self.steps[node] = tuple(self._from(node))
            for _, after, _ in self.steps[node]:
                if after not in self.steps:
                    self.steps[after] = ()
                    queue.append(after)

    def _from(self, node):
        state, place, visits = node
        if state in self.machine.terminal or place == END:
            return
        for action in range(len(self.world.moves[place])):
            for after, labels, seen in self.world.arrivals(place, visits, action):
                for outcome in self.machine.options(state, labels):
                    over = after in self.world.ends
                    node = outcome.target, END if over else after, seen
                    if self.machine.keeps(state, outcome):
                        yield action, node, outcome.reward

    def fewest_steps(self):
        """Return, for each node from which a run is accepted, the fewest steps that it takes."""
        before = {}
        found = {}
        for node, steps in self.steps.items():
            for _, after, reward in steps:
                before.setdefault(after, []).append(node)
                if reward > 0:
                    found[node] = 1
        queue = deque(found)
        while queue:
            node = queue.popleft()
            for earlier in before.get(node, ()):
                if earlier not in found:
                    found[earlier] = found[node] + 1
                    queue.append(earlier)
        return found

    def lassos(self):
        """Return the nodes from which some run has rewards without end: it comes to a cycle with one."""
        component = components({n: [after for _, after, _ in s] for n, s in self.steps.items()})
        good = {
            node
            for node, steps in self.steps.items()
            for _, after, reward in steps
            if reward > 0 and component[node] == component[after]
        }
        before = {}
        for node, steps in self.steps.items():
            for _, after, _ in steps:
                before.setdefault(after, []).append(node)
        queue = deque(good)
        while queue:
            for earlier in before.get(queue.popleft(), ()):
                if earlier not in good:
                    good.add(earlier)
                    queue.append(earlier)
        return good


def components(following):
    """Return a representative of the strongly connected component of each node (Kosaraju)."""
    order, seen = [], set()
    for root in following:
        stack = [] if root in seen else [(root, iter(following[root]))]
        seen.add(root)
        while stack:
            node, rest = stack[-1]
            after = next((n for n in rest if n not in seen), None)
            if after is None:
                stack.pop()
                order.append(node)
            else:
                seen.add(after)
                stack.append((after, iter(following[after])))
    before = {}
    for node, rest in following.items():
        for after in rest:
            before.setdefault(after, []).append(node)
    component = {}
    for root in reversed(order):
        stack = [] if root in component else [root]
        component.setdefault(root, root)
        while stack:
            for earlier in before.get(stack.pop(), ()):
                if earlier not in component:
                    component[earlier] = root
                    stack.append(earlier)
    return component


def values_of(skills):
    """Return values that say nothing: the planners of finite worlds go by the world."""
    nothing = np.zeros((len(skills.goals), int(skills.action_space.n)), np.float32)
    return GoalValues(nothing, nothing)


def follow(world, policy, skills, place, rng, most):
    """Run a policy from a place; return its tracker, and the nodes that it passed with their rewards."""
    tracker = MissionTracker(policy.mission.machine, ())
    tracker.start(world.labels[place][0])
    policy.start(place)
    visits, passed, values = world.unvisited, [], values_of(skills)
    while tracker.status is Status.RUNNING and len(passed) < most:
        decision = policy.choose(tracker.state, values)
        found = world.moves[place][decision.action]
        if not found:
            break
        number = int(rng.choice(len(found), p=[chance for _, chance in found]))
        after = found[number][0]
        labels, visits = world.arrival(after, visits)
        before = tracker.state, place
        accepted, moves = tracker.accepting_visits, tracker.moves
        tracker.update(labels, lambda state, options, at=after: policy.prefer(state, options, at))
        policy.entered(after, tracker.moves > moves)
        place = after
        passed.append((before, tracker.accepting_visits - accepted))
        if place in world.ends:
            break
    return tracker, passed


def can_succeed(world, policy, skills, start):
    """Tell whether a run that does what the policy says is accepted with a positive probability."""
    machine, values = policy.mission.machine, values_of(skills)
    seen, queue = {start}, deque([start])
    while queue:
        state, place, visits = queue.popleft()
        policy.entered(place, moved=True)
        action = policy.choose(state, values).action
        for after, labels, then in world.arrivals(place, visits, action):
            outcome = machine.step(state, labels)
            if outcome.reward > 0:
                return True
            node = outcome.target, after, then
            if outcome.target not in machine.terminal and node not in seen:
                seen.add(node)
                queue.append(node)
    return False


def check(world, skills, text, rng):
    """Return what is wrong with the answers of the planner for a mission in a world; and the answers.

    A refusal is wrong where a search finds an accepting run; no refusal where it finds none. In a
    deterministic world, what is not refused must be done, in the fewest steps or forever.
    """
    try:
        mission = compile_mission(text, propositions=NAMES)
    except SkmError as error:
        return [], f"not compiled: {type(error).__name__}"
    machine = mission.machine
    product = Product(world, machine)
    fewest = product.fewest_steps()
    able = product.lassos() if machine.endless else fewest
    expected = [start in able for start in product.starts]
    try:
        policy = make_policy(mission, skills)
    except UnachievableMissionError as error:
        return [f"refused: {error}"] if any(expected) else [], "refused"
    wrong = []
    for start, possible in zip(product.starts, expected, strict=True):
        place = start[1]
        try:
            policy.start(place)
            refused = False
        except UnachievableMissionError:
            refused = True
        if refused == possible:
            wrong.append(f"place {place}: refused {refused}, possible {possible}")
    runs = [start for start, possible in zip(product.starts, expected, strict=True) if possible]
    if world.deterministic and runs and not wrong:
        start = runs[int(rng.integers(len(runs)))]
        most = 400 if machine.endless else fewest[start]
        tracker, passed = follow(world, policy, skills, start[1], rng, most)
        if machine.endless:
            late = sum(reward for _, reward in passed[most // 2 :])
            if len(passed) < most or tracker.status is Status.FAILED or late == 0:
                wrong.append(f"place {start[1]}: {tracker.status}, {late} rounds at last")
        elif tracker.status is not Status.ACCEPTED:
            wrong.append(f"place {start[1]}: {tracker.status} after the fewest steps, {most}")
    if not world.deterministic and not machine.endless and not wrong:
        wrong += [
            f"place {start[1]}: no run of the plan is accepted"
            for start in runs[:3]
            if not can_succeed(world, policy, skills, start)
        ]
    return wrong, "planned" if all(expected) else "planned from some places"
