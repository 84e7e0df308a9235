"""The mission tracker: machine state, violated constraints, outcome."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skm_machine import MissionTracker, Status, compile_mission, holds
from skm_machine.tracker import KEPT_TRANSITIONS
from strategies import formulas, traces

COFFEE = "F(coffee & X F office) & G !decoration"


def tracker_of(text, constraints=("decoration",), **options):
    return MissionTracker(compile_mission(text, **options).machine, constraints)


def test_a_mission_from_start_to_success():
    tracker = tracker_of(COFFEE)
    tracker.start({"coffee"})
    assert tracker.state == 0, "the first labels move nothing"
    for labels, status in [(set(), "running"), ({"coffee"}, "running"), ({"office"}, "accepted")]:
        assert tracker.status is Status.RUNNING
        tracker.update(labels)
        assert tracker.status is Status(status)
    assert tracker.steps == 3
    assert tracker.accepting_visits == 1
    assert [(move.step, move.source, move.target) for move in tracker.transitions] == [
        (2, 0, 1),
        (3, 1, 2),
    ]
    with pytest.raises(RuntimeError, match="already accepted"):
        tracker.update(set())


def test_failure_by_violation():
    tracker = tracker_of(COFFEE)
    tracker.start(set())
    tracker.update({"decoration"})
    assert tracker.status is Status.FAILED


def test_constraints_are_violated_by_any_change_and_reset_by_a_transition():
    """c ← c ∪ ((l̂ ⊕ l̂') ∩ C), emptied when the machine moves on."""
    tracker = tracker_of("F(coffee & X F office)")
    tracker.start({"decoration"})
    tracker.update({"decoration"})
    assert tracker.violated == frozenset(), "nothing changed"
    tracker.update(set())
    assert tracker.violated == {"decoration"}, "leaving counts"
    tracker.update({"coffee"})
    assert tracker.violated == frozenset(), "the machine moved on"
    tracker.update({"mail"})
    assert tracker.violated == frozenset(), "mail is not a constraint"


def test_repeating_counts_rounds_and_resets_constraints():
    tracker = tracker_of("F a", constraints=("a",), repeat=True)
    tracker.start(set())
    for _ in range(3):
        assert tracker.update({"a"}) == 1.0
    assert tracker.status is Status.RUNNING
    assert tracker.accepting_visits == 3
    assert tracker.violated == frozenset()


def test_starting_again_forgets_everything():
    tracker = tracker_of(COFFEE)
    tracker.start(set())
    tracker.update({"decoration"})
    tracker.start(set())
    assert tracker.status is Status.RUNNING
    assert tracker.steps == 0
    assert not tracker.transitions


def test_an_unsatisfiable_mission_has_failed_from_the_start():
    tracker = tracker_of("a & !a")
    tracker.start(set())
    assert tracker.status is Status.FAILED


@given(formulas(), traces(), st.frozensets(st.sampled_from("abc")))
def test_the_outcome_is_what_the_semantics_say(formula, trace, first):
    tracker = tracker_of(str(formula), constraints=("a", "b"), horizon="finite")
    tracker.start(first)
    for length in range(1, len(trace) + 1):
        if tracker.status is not Status.RUNNING:
            break
        tracker.update(trace[length - 1])
        assert (tracker.status is Status.ACCEPTED) == holds(formula, trace[:length])


def test_a_mission_without_end_takes_no_more_and_more_memory():
    """The last transitions are kept, and all are counted."""
    tracker = tracker_of("F a", repeat=True)
    tracker.start(set())
    for _ in range(KEPT_TRANSITIONS + 5):
        tracker.update({"a"})
    assert tracker.moves == tracker.accepting_visits == KEPT_TRANSITIONS + 5
    kept = tracker.transitions
    assert [move.step for move in kept] == list(range(6, KEPT_TRANSITIONS + 6))
    assert tracker.latest == kept[-1]
    tracker.start(set())
    assert (tracker.moves, tracker.transitions, tracker.latest) == (0, [], None)


def test_what_is_kept_of_a_patrol_is_little():
    """40 bytes a transition, and each label set once, however often it is shown."""
    tracker = tracker_of("F a", repeat=True)
    tracker.start(set())
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(KEPT_TRANSITIONS + 5):
            tracker.update({"a", "b"} if number % 2 else {"a"})
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 1_000_000
    assert [move.labels for move in tracker.transitions[-2:]] == [{"a", "b"}, {"a"}]
