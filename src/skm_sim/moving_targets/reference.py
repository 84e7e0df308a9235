"""The reference for Moving Targets, computed on the true state: shortest paths on the product.

**What it is.** Where respawns are random there is no single number that all policies must stay below
on a given board. The reference is a policy: *at every step, go on along a shortest path to the next
success of the mission, by the true positions of all objects now*. Paths are in the product of the
agent's cell, the state of the reward machine, and the set of objects that the path has already
collected. Where those will be is not known before it happens, so one that is needed again counts as
`MEAN_DISTANCE` steps away (exact: the mean over all pairs of cells), and so does every object after
it. The path is planned anew as soon as something is collected (nothing else changes what is known),
and the policy is run in the true simulator on the boards that it is compared on. Where the machine makes
commitments, the path says which, and when; what was promised is kept, unless that is impossible.

**Why that one.** It knows the true state and not the future, and each round is as short as can be
promised from what is known: it is the paper's "optimal policy" wherever that is well defined (for a
mission of one object it is exactly the least number of steps). Of equally short paths it takes one
that leaves the next round shortest. What it leaves out is longer preparation for rounds to come
(minimising the length of two rounds instead of one was tried: −4 %, +1 %, +1 %, +4 % rounds on tasks
1 to 4, 100 boards, standard error 1 to 2 %, in up to ten times the time) and respawns that may turn
out well; when one does, the new plan uses it. A policy may thus beat it, at random or by a little,
hence ratios are of means over boards.
The true optimum is a 50-step decision problem over all respawns, with some 58!/51! boards.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from skm_machine.reward_machine import RewardMachine
from skm_sim.arrays import BoolArray, ByteArray
from skm_sim.moving_targets import env as board
from skm_sim.moving_targets.env import (
    AGENT,
    COLLECTED,
    KINDS,
    NUM_CELLS,
    OBJECTS,
    TRANSITIONS,
    States,
)

UNREACHABLE = 255
"""In `distances`: no way leads there."""
_MOVES: list[list[int]] = TRANSITIONS.tolist()
_KIND_LABELS = tuple(frozenset(kind) for kind in KINDS)
_NO_LABELS = frozenset[str]()


def distances(targets: BoolArray, blocked: BoolArray) -> ByteArray:
    """Return how many steps it takes from each cell to enter a target, `(n, 58)`.

    `targets` and `blocked` are `(n, 58)`; blocked cells are never entered. From a target itself it is
    the steps to enter one (again, or another).
    """
    entered = np.where(targets & ~blocked, np.uint8(0), np.uint8(UNREACHABLE))
    steps = np.full_like(entered, UNREACHABLE)
    for _ in range(NUM_CELLS):
        continuation = np.minimum(entered, np.where(blocked, np.uint8(UNREACHABLE), steps))
        best = continuation[:, TRANSITIONS].min(axis=2)
        longer = np.where(best == UNREACHABLE, best, best + 1).astype(np.uint8)
        if np.array_equal(longer, steps):
            break
        steps = longer
    return steps


def goal_distances(
    states: States, wanted: Sequence[int], forbidden: Sequence[int] = ()
) -> ByteArray:
    """Return the least number of steps in which each agent collects one of the kinds `wanted`,

    without touching any kind in `forbidden` before; `UNREACHABLE` if that can't be done. Objects that
    are neither may be walked over.
    """
    rows = np.arange(len(states))
    targets = np.zeros((len(states), NUM_CELLS), np.bool_)
    blocked = np.zeros_like(targets)
    objects = states[:, OBJECTS]
    for kind in forbidden:
        blocked[rows, objects[:, kind]] = True
    for kind in wanted:
        targets[rows, objects[:, kind]] = True
        blocked[rows, objects[:, kind]] = False
    steps: ByteArray = distances(targets, blocked)[rows, states[:, AGENT]]
    return steps


def _mean_distance() -> float:
    """Return the mean number of steps between two different cells, over all pairs."""
    nowhere = np.zeros((NUM_CELLS, NUM_CELLS), np.bool_)
    steps = distances(np.eye(NUM_CELLS, dtype=np.bool_), nowhere).astype(np.float64)
    return float(steps[~np.eye(NUM_CELLS, dtype=np.bool_)].mean())


MEAN_DISTANCE = _mean_distance()

_Node: TypeAlias = tuple[int, int, int]
"""Cell, machine state, and the kinds collected on the way as bits."""

Move: TypeAlias = tuple[int, int]
"""An action, and the machine state that it leads to: commitments are choices of the path."""


class _Found(NamedTuple):
    """What a search found: the steps to success, and where it ends."""

    cost: float
    ends: dict[_Node, tuple[_Node, int]]
    """Nodes just after a success, with the node before and the last action."""
    came: dict[_Node, tuple[_Node, int]]
    """Each node on the way, with the node before and the action."""
    open_end: _Node
    """Without ends: the node after which the first object that is gone is needed."""


class Planner:
    """Shortest paths to the next success of a mission, on one board after another."""

    def __init__(self, machine: RewardMachine) -> None:
        self.machine = machine
        touched = (*_KIND_LABELS, _NO_LABELS)
        self.outcomes: list[list[tuple[tuple[int, bool], ...]]] = [
            [
                tuple(
                    (outcome.target, outcome.reward > 0)
                    for outcome in machine.options(state, labels)
                    if outcome.target in machine.committed or state not in machine.committed
                )
                for labels in touched
            ]
            for state in range(machine.num_states)
        ]
        """For each machine state and kind touched, what may come of it that breaks no commitment:

        the next machine state, and whether that is a success.
        """
        self.lost = machine.terminal | machine.failure
        self._to_go = self._objects_to_go()

    def _objects_to_go(self) -> list[float]:
        """Return for each machine state how many objects it takes at least to succeed."""
        to_go = [math.inf] * self.machine.num_states
        for _ in to_go:
            for state, row in enumerate(self.outcomes):
                if state not in self.lost:
                    entries = [entry for kind in row[:-1] for entry in kind]
                    to_go[state] = min((self._after(e, to_go) for e in entries), default=math.inf)
        return to_go

    def _after(self, entry: tuple[int, bool], to_go: Sequence[float]) -> float:
        """Return the number of objects it takes to succeed if the next one has that outcome."""
        target, succeeds = entry
        return 1 if succeeds else 1 + to_go[target]

    def path(self, state: ByteArray, machine_state: int) -> list[Move]:
        """Return the moves of a shortest path to the next success; none if there is no path.

        Of several, one that leaves the next round shortest. Where objects that are gone are needed
        again, the path ends before the first of them.
        """
        kind_at = [len(KINDS)] * NUM_CELLS
        for kind, cell in enumerate(state[OBJECTS].tolist()):
            kind_at[cell] = kind
        found = self._search(kind_at, (int(state[AGENT]), machine_state, 0))
        if not found.ends:
            return _walk(found.came, found.open_end)
        ends = list(found.ends)
        if self.machine.endless and len(ends) > 1:
            ends.sort(key=lambda after: self._search(kind_at, after).cost)
        node, action = found.ends[ends[0]]
        return [*_walk(found.came, node), (action, ends[0][1])]

    def _search(self, kind_at: list[int], start: _Node) -> _Found:
        """Search breadth first for the next success, all that are as near as the nearest."""
        came: dict[_Node, tuple[_Node, int]] = {}
        depth = {start: 0}
        queue = deque([start])
        best, open_end = math.inf, start
        ends: dict[_Node, tuple[_Node, int]] = {}
        while queue and depth[queue[0]] < best:
            node = queue.popleft()
            cell, mission, gone = node
            for action, entered in enumerate(_MOVES[cell]):
                kind = kind_at[entered]
                if kind < len(KINDS) and gone >> kind & 1:
                    kind = len(KINDS)
                for target, succeeds in self.outcomes[mission][kind]:
                    after = (entered, target, gone | 1 << kind if kind < len(KINDS) else gone)
                    if succeeds:
                        if depth[node] + 1 <= best:
                            best = depth[node] + 1
                            ends.setdefault(after, (node, action))
                        continue
                    if target in self.lost or after in depth:
                        continue
                    came[after], depth[after] = (node, action), depth[node] + 1
                    queue.append(after)
                    if kind < len(KINDS):
                        cost = depth[after] + MEAN_DISTANCE * self._to_go_by_gone(target, after[2])
                        if cost < best:
                            best, open_end = cost, after
        return _Found(best, ends, came, open_end)

    def _to_go_by_gone(self, mission: int, gone: int) -> float:
        """Return how many objects it takes to succeed if the next one is one that is gone.

        Only those count that bring the mission forward; infinite if there are none.
        """
        row = self.outcomes[mission]
        gone_kinds = [kind for kind in range(len(KINDS)) if gone >> kind & 1]
        forward = [e for kind in gone_kinds for e in row[kind] if e != (mission, False)]
        return min((self._after(entry, self._to_go) for entry in forward), default=math.inf)


def _walk(came: dict[_Node, tuple[_Node, int]], node: _Node) -> list[Move]:
    """Return the moves from the start to `node`."""
    moves = []
    while node in came:
        before, action = came[node]
        moves.append((action, node[1]))
        node = before
    return moves[::-1]


@dataclass(frozen=True)
class OptimalRun:
    """How the reference fared on one board."""

    rounds: int
    """Successes of the mission."""
    first_success: int | None
    """The step of the first one."""
    failed: bool
    """Whether the mission was lost for good; the reference steps into that only if walled in."""


def optimal_run(
    state: ByteArray, machine: RewardMachine, steps: int, rng: np.random.Generator
) -> OptimalRun:
    """Run the reference policy on the board `state` (8 bytes) for that many steps.

    A machine that ends on success is left there; one that repeats goes on. Where no path leads to
    success (forbidden objects wall the agent in), it waits.
    """
    planner = Planner(machine)
    states: States = np.array(state, np.uint8).reshape(1, -1)
    mission, rounds, first, path = machine.initial, 0, None, list[Move]()
    for number in range(1, steps + 1):
        path = path or planner.path(states[0], mission) or [_idle(states[0], planner, mission)]
        action, meant = path.pop(0)
        states = board.step(states, np.array([action]), rng)
        kind = int(states[0, COLLECTED])
        labels = _KIND_LABELS[kind] if kind < len(KINDS) else _NO_LABELS
        options = machine.options(mission, labels)
        as_meant = [option for option in options if option.target == meant] or options[:1]
        mission, reward = max(as_meant, key=lambda option: option.reward)
        if labels:
            path = []
        if reward > 0:
            rounds += 1
            first = first or number
        if mission in machine.terminal or mission in machine.failure:
            return OptimalRun(rounds, first, reward <= 0)
    return OptimalRun(rounds, first, False)


def optimal_rounds(
    state: ByteArray, machine: RewardMachine, steps: int, rng: np.random.Generator
) -> int:
    """Return how often the reference policy completes the mission (`optimal_run`)."""
    return optimal_run(state, machine, steps, rng).rounds


def _idle(state: ByteArray, planner: Planner, mission: int) -> Move:
    """Return a move that keeps the mission alive: against a wall if there is one, else a free one."""
    cell = int(state[AGENT])
    objects = state[OBJECTS].tolist()

    def kept(action: int) -> list[int]:
        entered = _MOVES[cell][action]
        kind = objects.index(entered) if entered in objects else len(KINDS)
        return [to for to, _ in planner.outcomes[mission][kind] if to not in planner.lost]

    def risk(action: int) -> int:
        return 2 * (not kept(action)) + (_MOVES[cell][action] != cell)

    action = min(range(len(_MOVES[cell])), key=risk)
    return action, next(iter(kept(action)), mission)
