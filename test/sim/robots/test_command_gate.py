"""Only fresh commands pass, and without them the robot brakes: in time, whatever the rate."""

import pytest

from skm_sim.robots.command_gate import SLACK, CommandGate


def begin_of_braking(period, last_command):
    """Return how long after its last command the robot is first told to brake, at ticks of a period."""
    gate = CommandGate(period)
    gate.take("go", last_command)
    tick = 0
    while gate.due(tick * period) is not None or tick * period < last_command:
        tick += 1
    return tick * period - last_command


@pytest.mark.parametrize("rate", [4, 10, 20, 50, 100])
@pytest.mark.parametrize("phase", [0.01, 0.05, 0.3, 0.6, 0.99])
def test_braking_begins_within_two_periods_and_a_little(rate, phase):
    period = 1 / rate
    assert begin_of_braking(period, phase * period) <= 2 * period + SLACK


@pytest.mark.parametrize("rate", [20, 50, 100])
def test_one_late_command_is_forgiven_where_the_loop_is_fast(rate):
    gate = CommandGate(1 / rate)
    gate.take("go", 0.01 / rate)
    assert gate.due(1 / rate) == gate.due(1.99 / rate) == "go"


def test_a_timeout_of_one_s_own_takes_its_place():
    gate = CommandGate(0.1, timeout=0.5)
    gate.take("go", 0.0)
    assert gate.due(0.45) == "go"
    assert gate.due(0.55) is None


def test_commands_to_states_long_gone_or_not_there_yet_do_not_pass():
    gate = CommandGate(0.1)
    for step in range(10):
        gate.show(step, step * 0.1)
    assert gate.problem(9, 9, 0.95) == ""
    assert gate.problem(8, 9, 0.95) == ""
    assert "long gone" in gate.problem(6, 9, 0.95)
    assert "long gone" in gate.problem(9, 9, 1.5)
    assert "not there yet" in gate.problem(10, 9, 0.95)
    gate.forget()
    assert "long gone" in gate.problem(9, 9, 0.95)


def test_a_stop_is_kept_until_it_is_taken_back_cause_by_cause():
    gate = CommandGate(0.1)
    gate.show(0, 0.0)
    gate.take("go", 0.0)
    gate.stop("service", "stop was called")
    gate.stop("dead man", "the switch is open")
    assert gate.due(0.01) is None
    assert gate.stopped == "stop was called; the switch is open"
    assert "stopped" in gate.problem(0, 0, 0.01)
    assert gate.resume("service")
    assert not gate.resume("service")
    assert gate.stopped == "the switch is open"
    gate.resume("dead man")
    assert gate.problem(0, 0, 0.01) == gate.stopped == ""
    assert gate.due(0.02) is None
