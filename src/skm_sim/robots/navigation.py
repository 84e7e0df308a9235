"""Driving by goals of a navigation stack (Nav2): one goal a leg, its results read, retries, and an end.

A stack may take its time, refuse a goal, fail on the way, hang, be taken over by others, or say that it
has arrived where it has not. What counts is what the mission sees: a leg is done when the next one
comes. A leg that fails is tried again; one that fails again and again is given up: the way ahead is
blocked for a while, so that the mission is planned without it, and why is said. There is no ROS here;
times are of a steady clock.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np

from skm_sim.maps.floor import Floor
from skm_sim.robots.blockages import Blockages
from skm_sim.robots.legs import Leg, LegPlanner, Route
from skm_sim.robots.path_follower import Point
from skm_sim.robots.walls import Pose

ATTEMPTS: Final = 4
"""How often a leg is tried. With one goal in five failing, all four fail in 0.16 % of legs."""
BACKOFF: Final = 1.0
"""Seconds before a leg is tried again: what failed at once would fail at once again."""
ANSWER_SECONDS: Final = 5.0
"""Seconds in which a stack must say whether it takes a goal."""
SETTLE: Final = 1.5
"""Seconds after an arrival in which the mission must have moved on: a state, a plan and a message."""
SHORT: Final = 2.0
"""Times the tolerance from a goal within which a stack has arrived: its path may end beside the goal."""
STOPPING: Final = 0.4
"""Seconds from a look at the robot until it stands, if its goal is cancelled then: two periods."""
TRACK: Final = 0.65
"""Seconds of motion that say where the robot goes."""
JITTER: Final = 0.05
"""Metres within them that are no motion: a localiser's corrections."""
STIRRED: Final = 0.15
"""Metres that a stack must move the robot within its patience: less is a spin, or noise."""
AHEAD: Final = (0.3, 1.2)
"""Metres ahead of the robot, from and to which the way is blocked where a leg is given up."""


class Stack(Protocol):
    """A navigation stack: takes goals, and answers by the supervisor's `on_…` with the goal's number."""

    @property
    def goes_through(self) -> bool:
        """Whether it can be given several poses to go through, in one goal."""
        ...

    @property
    def keeps_out(self) -> bool:
        """Whether it gets the avoid set, and plans around it by itself."""
        ...

    def forbid(self, route: Route, avoid: Collection[frozenset[str]], place: Point) -> None:
        """Tell it what to avoid on a route from a place."""
        ...

    def send(self, number: int, poses: Sequence[Pose]) -> bool:
        """Send a goal to go to the last pose by the others; tell whether anybody is there to take it."""
        ...

    def cancel(self, number: int) -> None:
        """Take a goal back, whether it was answered or not."""
        ...


@dataclass(frozen=True)
class Result:
    """How a goal ended."""

    succeeded: bool
    text: str
    """What the stack reports of it, as text."""


class Navigation:
    """Supervises the goals of one robot; see the module."""

    def __init__(
        self,
        stack: Stack,
        planner: LegPlanner,
        floor: Floor,
        blockages: Blockages,
        patience: float = 30.0,
    ) -> None:
        """`patience`: seconds that the robot may stand while a goal is under way.

        A recovery of the stack is no standing.
        """
        self._stack, self.planner, self._floor = stack, planner, floor
        self._blockages, self.patience = blockages, patience
        self._leg: Leg | None = None
        self._route: Route | None = None
        self._left: list[Pose] = []
        """The poses of the route that were not sent yet."""
        self._number = 0
        self._sent = self._accepted = False
        self._sent_at = self._next_at = self._stirred_at = -math.inf
        self._arrived_at: float | None = None
        self._place = (0.0, 0.0)
        self._track: deque[tuple[float, Point]] = deque()
        """The robot's recent positions."""
        self._kept_away = False
        """Whether the robot has been away from what is to be avoided since the goal was sent: one that
        begins close to it may leave."""
        self._attempt = self._short = self._before = 0
        self.failure = ""
        """Why the present leg was given up; empty if it was not."""
        self.trouble = ""
        """What the last goal of the leg ended with, as text, while it is tried again."""
        self.distance_remaining = 0.0
        self.recoveries = 0
        self.counts: dict[str, int] = dict.fromkeys(("goals", "failed goals", "legs given up"), 0)

    @property
    def all_recoveries(self) -> int:
        """The stack's recoveries on the present goal, and goals of the leg that were sent again."""
        return self.recoveries + self._before

    # What the mission asks for

    def take(self, leg: Leg) -> None:
        """Take the leg to go; one that only goes on with the present one changes nothing."""
        if self._leg is not None and self._continues(leg):
            self._leg = Leg(leg.cells, self._leg.avoid, leg.target)
            return
        self._forget_goal()
        self._leg, self._attempt, self._short, self._before = leg, 0, 0, 0
        self.failure = self.trouble = ""
        self._next_at = -math.inf

    def _continues(self, leg: Leg) -> bool:
        """Tell whether a leg asks for nothing but the present one: then its goal is as good.

        A robot that leaves the planned cells gets a new way, often to another cell of the same place; a
        goal that is replaced each time would have the stack plan forever.
        """
        assert self._leg is not None
        same = self.planner.same_end(self._leg, leg) and self._leg.avoid == leg.avoid
        return same and self._leg.target == leg.target and not self.failure

    def halt(self) -> None:
        """Take the goal back: the robot is to stand."""
        self._forget_goal()
        self._next_at = -math.inf

    def _forget_goal(self) -> None:
        if self._sent:
            self._stack.cancel(self._number)
        self._sent = self._accepted = False
        self._arrived_at = None
        self._before += self.recoveries
        self.distance_remaining, self.recoveries = 0.0, 0

    # What the stack says

    def on_answer(self, number: int, accepted: bool, now: float) -> None:
        """Take a goal's acceptance, or its refusal."""
        if number != self._number or not self._sent:
            return
        self._accepted, self._stirred_at = accepted, now
        if not accepted:
            self._sent = False
            self._fail("the goal was refused", now)

    def on_feedback(self, number: int, distance: float, recoveries: int, now: float) -> None:
        """Take a goal's feedback; a recovery more is a stack at work, though the robot stands."""
        if number == self._number and self._sent:
            if recoveries > self.recoveries:
                self._stirred_at = now
            self.distance_remaining, self.recoveries = distance, recoveries

    def on_result(self, number: int, result: Result, now: float) -> None:
        """Take a goal's result."""
        if number != self._number or not self._sent:
            return
        self._sent = self._accepted = False
        if result.succeeded and self._left:
            self._send_next(now)
        elif result.succeeded:
            self._arrived_at = now  # whether that is so is for the mission to say
        else:
            self._fail(result.text, now)

    # Once a period

    def drive(self, pose: Pose, now: float) -> None:
        """Send the leg's goal when it is time, and look after the one under way."""
        place = pose[:2]
        ahead = self._ahead_of(place, now)
        if math.dist(place, self._place) > STIRRED:
            self._place, self._stirred_at = place, now
        if self._leg is None or self.failure:
            return
        if self._sent:
            self._watch(place, ahead, now)
        elif self._arrived_at is not None:
            if now - self._arrived_at > SETTLE:
                self._on_short(place, now)
        elif now >= self._next_at:
            self._send(place, now)

    def _ahead_of(self, place: Point, now: float) -> Point:
        """Return where the robot would be before it could be stopped."""
        while self._track and now - self._track[0][0] > TRACK:
            self._track.popleft()
        self._track.append((now, place))
        before, (x, y) = self._track[0]
        if math.dist(place, (x, y)) < JITTER:
            return place
        parts = STOPPING / (now - before)
        return place[0] + parts * (place[0] - x), place[1] + parts * (place[1] - y)

    def _send(self, place: tuple[float, float], now: float) -> None:
        assert self._leg is not None
        self._route = self.planner.route(self._leg, place, self._short)
        avoid = self._leg.avoid
        if avoid and self._stack.keeps_out:
            margin = self.planner.widest(self._route, avoid, place)
            self._route = replace(self._route, margin=margin)
        self._left, self._place = list(self._route.poses), place
        self._kept_away = not avoid or not self._is_near(place)
        self._stack.forbid(self._route, avoid, place)
        if self._stack.keeps_out and not self._route.stops:
            self._left = self._left[-1:]
        self._send_next(now)

    def _send_next(self, now: float) -> None:
        """Send what is left of the route: all of it, or its next pose to a stack that takes one."""
        assert self._route is not None
        together = self._stack.goes_through and not self._route.stops
        count = len(self._left) if together else 1
        poses, self._left = self._left[:count], self._left[count:]
        self._number += 1
        if not self._stack.send(self._number, poses):
            self._fail("nobody is there to take goals", now)
            return
        self.counts["goals"] += 1
        self._sent, self._sent_at, self._stirred_at = True, now, now

    @property
    def _guard(self) -> float:
        """Metres from what is to be avoided at which a goal is taken back."""
        return 0.0 if self._route is None else min(0.5 * self._route.margin, 0.15)

    def _is_near(self, place: Point) -> bool:
        """Tell whether a place is closer to what is to be avoided than it should be."""
        assert self._leg is not None
        points = np.array([place])
        return bool(self.planner.is_forbidden(points, self._leg.avoid, self._guard)[0])

    def _watch(self, place: Point, ahead: Point, now: float) -> None:
        """Take back a goal that is not answered, gets nowhere, or leads into what is to be avoided."""
        assert self._leg is not None
        assert self._route is not None
        reason = ""
        if not self._accepted and now - self._sent_at > ANSWER_SECONDS:
            reason = f"the goal was not answered within {ANSWER_SECONDS:g} s"
        elif self._accepted and now - self._stirred_at > self.patience:
            reason = f"the robot has not moved for {self.patience:g} s"
        elif self._leg.avoid and math.isfinite(self._route.margin):
            near = self._is_near(place)
            if near and self._kept_away:
                reason = f"it comes within {self._guard:.2f} m of what must be avoided"
            elif self.planner.is_forbidden(np.array([ahead]), self._leg.avoid)[0]:
                reason = f"it would be in what must be avoided within {STOPPING:g} s"
            self._kept_away = self._kept_away or not near
        if reason:
            self._stack.cancel(self._number)
            self._sent = self._accepted = False
            self._fail(reason, now)

    def _on_short(self, place: tuple[float, float], now: float) -> None:
        """Take note that an arrival did not move the mission: then it has to come through.

        One far from the goal is none: then the same goal is sent again.
        """
        assert self._route is not None
        gap = math.dist(place, self._route.poses[-1][:2])
        self._arrived_at = None
        self._short += gap <= SHORT * self.planner.tolerance
        reason = f"it is said to have arrived, {gap:.2f} m from the goal"
        if self._route.narrow and gap <= SHORT * self.planner.tolerance:
            reason += (
                f", where the mission wants it deeper in a place than that has room for a"
                f" goal_tolerance of {self.planner.tolerance:g} m: make the tolerance smaller, or the"
                " place larger"
            )
        self._fail(reason, now)

    def _fail(self, reason: str, now: float) -> None:
        assert self._leg is not None
        self.counts["failed goals"] += 1
        self._attempt += 1
        self._before += 1 + self.recoveries
        self.recoveries = 0
        self.trouble = reason
        self._next_at = now + BACKOFF * self._attempt
        if self._attempt >= ATTEMPTS:
            self._give_up(reason, now)

    def _give_up(self, reason: str, now: float) -> None:
        assert self._leg is not None
        self.counts["legs given up"] += 1
        target = f" to {self._leg.target}" if self._leg.target else ""
        self.failure = f"the way{target} was given up after {ATTEMPTS} goals; the last: {reason}"
        self._blockages.block(self._ahead(), self.failure, now)

    def _ahead(self) -> list[int]:
        """Return the cells of the leg a little ahead of the robot; its end, where there are none."""
        assert self._leg is not None
        cells = list(self._leg.cells)
        gaps = np.hypot(*(self._floor.centres[cells] - self._place).T)
        nearest = int(gaps.argmin())
        rest = [
            cell
            for cell, gap in zip(cells[nearest:], gaps[nearest:], strict=True)
            if AHEAD[0] <= gap <= AHEAD[1]
        ]
        return rest or cells[-1:]
