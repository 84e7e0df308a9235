"""Whether a robot does what it is commanded: one that refuses velocities, or whose odometry is frozen.

Seen from outside the two are the same, commands without motion, and so is what to do: stop, say so, and
try again a few times, slowly. Times are of a steady clock, in seconds; there is no ROS here.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import Final

from skm_sim.robots.pose import Limits, PoseTracker, Velocity
from skm_sim.robots.walls import Pose

WINDOW: Final = 0.25
"""Seconds of commands that are compared with the motion of a robot that was moving: long enough for
noise of centimetres, short enough to be at rest within half a second."""
PATIENCE: Final = 3.0
"""The same for a robot that stands: brakes open and drivers wake up within that."""
LEAST_WAY: Final = 0.05
"""Metres that must have been commanded within the window to be missed; noise is less."""
LEAST_READINGS: Final = 4
MOVED: Final = 0.1
"""Metres that are motion and no noise, over the seconds of `PATIENCE`."""
METRES_PER_RADIAN: Final = 0.2
"""Metres that a radian of turning counts as."""
SHARE: Final = 0.2
"""A robot that does less than this part of what it is commanded does not obey. Wheels slip: the Car
turns 0.4 of what it is asked for, and goes 0.9."""
PAUSE, LONGEST_PAUSE = 2.0, 8.0
"""Seconds of rest before it is tried again: twice as many after each try, up to so many."""
SLOW: Final = 0.1
"""m/s when it is tried again, turning included: with odometry that is frozen, it goes blindly then."""
TRY: Final = 0.1
"""Metres that are asked for when it is tried again: a robot that does none of that is left alone. A
localiser that loses its odometry finds itself again within half a metre and half a radian."""


class MotionWatch:
    """Compares commands with poses; `problem` says that the robot does not move."""

    def __init__(self) -> None:
        self._track: deque[tuple[float, Pose, Velocity]] = deque()
        self._moving = False
        self._since: float | None = None
        """Since when the robot has been commanded without moving."""
        self._start: Pose = (0.0, 0.0, 0.0)
        self._asked = 0.0
        self._last = 0.0
        self._rests_until = -math.inf
        self._problem = ""
        self.failures = 0
        """How often in a row it was commanded without moving."""

    def problem(self, now: float) -> str:
        """Return that the robot does not move, while it rests after that; then it is tried again."""
        return self._problem if now < self._rests_until else ""

    @property
    def trouble(self) -> str:
        """That the robot did not move when it was commanded last, also while it is tried again."""
        return self._problem if self.failures else ""

    def limited(self, limits: Limits) -> Limits:
        """Return how fast the robot may be commanded: slowly, after it did not move."""
        if not self.failures:
            return limits
        slow_turn = SLOW / METRES_PER_RADIAN
        return replace(limits, speed=min(limits.speed, SLOW), turn=min(limits.turn, slow_turn))

    def rest(self) -> None:
        """Take note that the robot is not commanded: nothing is expected of it."""
        self._track.clear()
        self._since, self._moving = None, False

    def obeys(self, tracker: PoseTracker, command: Velocity, now: float) -> bool:
        """Take where the robot is and what it is commanded, once a period; tell whether it obeys."""
        if now < self._rests_until:
            return False
        if self._stopped_short(tracker, command) or self._never_moved(tracker, command, now):
            self._fail(command, now)
            return False
        return True

    def _stopped_short(self, tracker: PoseTracker, command: Velocity) -> bool:
        """Tell whether a robot that was moving has not moved for a window, against its commands.

        By readings as they come, since the estimate goes on without them; several are needed to tell.
        """
        track = self._track
        if track and track[-1][0] == tracker.read_at:
            return False
        track.append((tracker.read_at, tracker.reading, command))
        while len(track) > LEAST_READINGS and track[-1][0] - track[1][0] >= WINDOW:
            track.popleft()
        seconds = track[-1][0] - track[0][0]
        if len(track) < LEAST_READINGS or seconds < WINDOW:
            return False
        asked = seconds * sum(_size(given) for _, _, given in track) / len(track)
        done = max(_way(track[0][1], pose) for _, pose, _ in track)
        if done > max(LEAST_WAY, 0.5 * asked):
            self._moving = True
        return self._moving and asked > LEAST_WAY and done < SHARE * LEAST_WAY

    def _never_moved(self, tracker: PoseTracker, command: Velocity, now: float) -> bool:
        """Tell whether a robot has stood for long in spite of its commands."""
        pose = tracker.at(now)
        seconds, self._last = now - self._last, now
        if self._since is not None and _way(self._start, pose) > MOVED:
            self.failures, self._since = 0, None
        if self._since is None:
            self._since, self._start, self._asked = now, pose, 0.0
            return False
        self._asked += _size(command) * seconds
        if self.failures and self._asked > TRY and _way(self._start, pose) < SHARE * TRY:
            return True
        return now - self._since > PATIENCE and self._asked > MOVED / SHARE

    def _fail(self, command: Velocity, now: float) -> None:
        self._rests_until = now + min(PAUSE * 2.0**self.failures, LONGEST_PAUSE)
        self.failures += 1
        self._problem = (
            f"the robot does not move although it is commanded {command.speed:.2f} m/s and"
            f" {command.turn:.2f} rad/s: is it enabled, does another node command it, is its odometry"
            " alive?"
        )
        self.rest()


def _size(command: Velocity) -> float:
    """Return how much motion a velocity asks for, in m/s."""
    return abs(command.speed) + METRES_PER_RADIAN * abs(command.turn)


def _way(start: Pose, end: Pose) -> float:
    """Return how far one pose is from another, turning included."""
    turned = math.remainder(end[2] - start[2], math.tau)
    return math.dist(start[:2], end[:2]) + METRES_PER_RADIAN * abs(turned)
