"""A robot that does not do what it is commanded is noticed, soon enough and not too soon."""

import math

import numpy as np
import pytest

from skm_sim.robots.motion import PATIENCE, PAUSE, MotionWatch
from skm_sim.robots.pose import REST, Limits, PoseTracker, Velocity, moved

PERIOD = 0.05


class Robot:
    """Obeys a part of its commands; `frozen`: its odometry says the same again and again."""

    def __init__(self, noise=0.0, share=1.0, interval=0.02):
        self.random, self.noise, self.share = np.random.default_rng(0), noise, share
        self.pose, self.frozen, self.interval = (0.0, 0.0, 0.0), False, interval
        self.tracker, self.watch, self.now, self._due = PoseTracker(), MotionWatch(), 0.0, 0.0
        self._said = (self.pose, REST)

    def drive(self, command, seconds):
        """Return after how many seconds the watch says that it does not obey; None if never."""
        start = self.now
        while self.now < start + seconds:
            self.now += 0.01
            done = Velocity(command.speed * self.share, command.turn * self.share)
            self.pose = moved(self.pose, done, 0.01)
            if self.now >= self._due:
                self._due += self.interval
                if not self.frozen:
                    dx, dy, turned = self.random.normal(0, self.noise, 3)
                    x, y, heading = self.pose
                    self._said = (x + dx, y + dy, heading + turned), done
                self.tracker.read(*self._said, self.now)
            on_time = round(self.now / 0.01) % round(PERIOD / 0.01) == 0
            if on_time and not self.watch.obeys(self.tracker, command, self.now):
                return self.now - start
        return None


AHEAD = Velocity(0.4, 0.0)


def test_a_robot_that_obeys_is_left_alone_with_noise_slip_and_slow_odometry():
    for noise, share, interval in ((0.02, 1.0, 0.02), (0.0, 0.4, 0.05), (0.02, 0.4, 0.1)):
        robot = Robot(noise, share, interval)
        for command in (AHEAD, Velocity(0.1, 0.5), Velocity(0.0, 1.5), REST, AHEAD) * 3:
            assert robot.drive(command, 4.0) is None, (noise, share, interval, command)


def test_odometry_that_freezes_while_the_robot_drives_is_noticed_in_a_third_of_a_second():
    robot = Robot(noise=0.02)
    assert robot.drive(AHEAD, 2.0) is None
    robot.frozen = True
    assert robot.drive(AHEAD, 2.0) < 0.4
    assert "does not move" in robot.watch.problem(robot.now)


def test_a_robot_that_refuses_is_noticed_and_tried_again_slowly():
    robot = Robot(noise=0.01, share=0.0)
    noticed = robot.drive(AHEAD, 10.0)
    assert PATIENCE < noticed < PATIENCE + 1
    slow = robot.watch.limited(Limits())
    assert slow.speed < AHEAD.speed
    assert slow.turn < Limits().turn
    robot.now += PAUSE
    assert robot.watch.problem(robot.now) == ""
    robot.share = 1.0
    assert robot.drive(Velocity(slow.speed, 0.0), 2.0) is None
    assert robot.watch.limited(Limits()) == Limits()


@pytest.mark.parametrize("wanted", [AHEAD, Velocity(0.2, 1.5), Velocity(0.0, 1.5)])
def test_while_odometry_is_frozen_the_robot_goes_no_further_than_its_localiser_finds_itself(wanted):
    robot = Robot()
    assert robot.drive(AHEAD, 2.0) is None
    robot.drive(wanted, 1.0)
    robot.frozen, start, begun = True, robot.pose, robot.now
    while robot.now < begun + 15.0:
        limits = robot.watch.limited(Limits())
        command = Velocity(min(limits.speed, wanted.speed), min(limits.turn, wanted.turn))
        robot.drive(command, PERIOD)
        while robot.watch.problem(robot.now):
            robot.now += PERIOD
            robot.tracker.read(*robot._said, robot.now)
            robot.watch.rest()
    assert math.dist(start[:2], robot.pose[:2]) < 0.5
    assert abs(math.remainder(robot.pose[2] - start[2], math.tau)) < 1.7
    robot.frozen = False
    robot.drive(Velocity(0.1, 0.0), 3.0)
    assert robot.watch.limited(Limits()) == Limits(), "it goes on by itself"


def test_nothing_is_expected_of_a_robot_that_is_not_commanded():
    robot = Robot(noise=0.01, share=0.0)
    assert robot.drive(REST, 10.0) is None
