"""The simulator's own measure of real time: which steps are late, and how long actions take."""

import math

from skm_ros.nodes.sim_node import ActionTiming


def test_a_step_is_late_if_the_action_to_its_state_has_not_come():
    timing = ActionTiming()
    timing.published(0, 0.0)
    timing.arrived(0, 0.004)
    timing.due(0)
    timing.published(1, 0.02)
    timing.due(1)  # its action is still on the way
    timing.published(2, 0.04)
    timing.arrived(1, 0.045)  # too late for step 1, and no answer to state 2
    timing.due(2)
    timing.published(3, 0.06)
    timing.arrived(3, 0.061)
    timing.due(3)
    assert (timing.steps, timing.late) == (4, 2)
    assert math.isclose(timing.latency(1.0), 0.025)
    assert math.isclose(timing.latency(0.5), 0.004)


def test_nothing_is_late_while_nobody_is_in_control():
    timing = ActionTiming()
    timing.due(0)
    timing.arrived(1, 1.0)
    timing.due(1)
    timing.stopped()
    timing.due(2)
    assert (timing.steps, timing.late) == (1, 0)
    assert timing.report()["late actions"] == 0
    assert math.isnan(timing.latency(0.5))


def test_silence_is_late_at_every_step_until_a_stop():
    timing = ActionTiming()
    timing.arrived(0, 0.0)
    for step in range(5):
        timing.due(step)
    assert (timing.steps, timing.late) == (5, 4)
