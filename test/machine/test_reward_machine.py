"""Reward machines: rewards on acceptance, failure, repetition, and steps that are look-ups."""

import time

import pytest
from hypothesis import given

from skm_machine import compile_mission, from_automaton, holds, parse, translate
from strategies import formulas, traces
from tasks import TASKS


@given(formulas(), traces())
def test_rewards_the_first_step_at_which_the_trace_satisfies_the_formula(formula, trace):
    machine = from_automaton(translate(formula))
    state = machine.initial
    for length in range(1, len(trace) + 1):
        if state in machine.terminal:
            break
        state, reward = machine.step(state, trace[length - 1])
        satisfied = holds(formula, trace[:length])
        assert reward == satisfied
        assert (state in machine.terminal - machine.failure) == satisfied


@given(formulas(), traces(max_size=5), traces(max_size=4))
def test_failure_means_that_no_continuation_succeeds(formula, trace, continuation):
    machine = from_automaton(translate(formula))
    state = machine.initial
    for labels in trace:
        state, _ = machine.step(state, labels)
    if state in machine.failure:
        assert not any(
            holds(formula, trace + continuation[:n]) for n in range(len(continuation) + 1)
        )


@given(formulas(), traces(max_size=8))
def test_repeat_starts_over_with_no_lost_step(formula, trace):
    """A repeating machine does on each round what a fresh machine does on the rest of the trace."""
    once, again = (
        from_automaton(translate(formula)),
        from_automaton(translate(formula), repeat=True),
    )
    assert again.endless
    u, v = once.initial, again.initial
    for labels in trace:
        u, expected = once.step(u, labels)
        v, reward = again.step(v, labels)
        assert reward == expected
        if expected:
            u = once.initial
            assert v == again.initial
        if u in once.failure:
            assert v in again.failure
            break


@pytest.mark.parametrize("task", TASKS)
def test_names_and_ends_of_the_tasks(task):
    machine = compile_mission(TASKS[task][0]).machine
    assert machine.names[machine.initial] == "u0"
    assert machine.names.count("accepted") == 1
    cannot_fail = {"moving_targets/1", "moving_targets/2", "moving_targets/4"} | {
        f"safety/{number}" for number in (1, 3, 4, 5, 6)
    }
    assert machine.names.count("failed") == (task not in cannot_fail)


def test_a_step_is_a_lookup_whatever_the_expression():
    wide = compile_mission("F(" + " & ".join(f"(p{i} xor q{i})" for i in range(60)) + ")").machine
    narrow = compile_mission("F p0").machine
    labels = frozenset(f"p{i}" for i in range(60))

    def seconds(machine):
        machine.step(0, labels)
        start = time.process_time()
        for _ in range(20_000):
            machine.step(0, labels)
        return time.process_time() - start

    narrow_time = min(seconds(narrow) for _ in range(3))
    assert min(seconds(wide) for _ in range(3)) < 3 * narrow_time


def test_labels_outside_of_the_mission_change_nothing():
    machine = compile_mission("F a").machine
    assert machine.step(0, {"z"}) == machine.step(0, set())


def test_an_unsatisfiable_mission_is_known_to_be():
    machine = compile_mission("a & !a").machine
    assert not machine.satisfiable
    assert machine.names == ("failed",)


def test_what_only_happens_after_success_is_dropped():
    machine = from_automaton(translate(parse("a & F b | X X X c")))
    assert machine.num_states <= translate(parse("a & F b | X X X c")).num_states
