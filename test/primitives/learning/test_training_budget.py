"""Runs that fit a budget: steps decided once, the same bytes, an early end; curves as event files."""

import struct
import time

from rail_learning import OPTIONS
from rail_world import RAIL
from skm_primitives.learning import training
from skm_primitives.learning.event_files import EventFile, crc32c
from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_primitives.skills.checkpoint import load


def started(**options):
    return GoalConditionedLearner.start(RAIL, {**OPTIONS, **options})


def test_a_budget_decides_the_steps_and_they_decide_the_bytes(tmp_path, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(training.time, "monotonic", lambda: float(next(clock)))
    learner = started()
    out = tmp_path / "budget.safetensors"
    result = training.train(learner, None, out, "test", budget=40.0)
    planned = learner.settings.horizon
    assert result.card.details["settings"]["horizon"] == planned
    assert planned == training.planned_steps(learner.round_steps, 4.0, 40.0)
    assert learner.steps >= planned
    monkeypatch.setattr(training.time, "monotonic", time.monotonic)
    again = started(horizon=planned)
    training.train(again, planned, tmp_path / "steps.safetensors", "test")
    assert load(out, RAIL.name)[1].digest == result.card.digest
    assert load(tmp_path / "steps.safetensors", RAIL.name)[1].digest == result.card.digest


def test_steps_that_fit():
    assert training.planned_steps(1000, 2.0, 100.0) == int(1000 * 0.85 * 50)
    assert training.planned_steps(1000, 0.0, 1.0) > 1_000_000


def test_the_usual_budget_only_takes_away(tmp_path, monkeypatch):
    """A plan that fits stays as it is: the same bytes on any machine that is fast enough."""
    clock = iter(range(10_000))
    monkeypatch.setattr(training.time, "monotonic", lambda: float(next(clock)))
    for planned, budget, expected in ((300, 1000.0, 300), (30_000, 40.0, None)):
        learner = started(horizon=planned)
        out = tmp_path / f"{planned}.safetensors"
        training.train(learner, None, out, "test", budget=budget, at_most=True)
        fits = training.planned_steps(learner.round_steps, 4.0, budget)
        assert learner.settings.horizon == (expected or fits)


def test_a_slow_world_is_learned_from_more_often():
    learner = started(update_every=32)
    learner.world_seconds, learner.learning_seconds = 8.0, 2.0
    learner.plan(10_000)
    assert learner.settings.update_every == 8, "as much time for learning as for the world"
    assert learner.settings.horizon == 6250, "16 s for what took 10"
    learner.world_seconds = 1000.0
    learner.plan(10_000)
    assert learner.settings.update_every == 4, "but not forever"
    quick = started(update_every=32)
    quick.world_seconds, quick.learning_seconds = 1.0, 2.0
    quick.plan(10_000)
    assert (quick.settings.update_every, quick.settings.horizon) == (32, 10_000)


def test_a_run_ends_early_where_nothing_gets_better(tmp_path, monkeypatch):
    planned = 20 * started().round_steps
    learner = started(horizon=planned, validate_rounds=1, patience=0.25)
    scores = iter([1.0] + [0.5] * 1000)
    monkeypatch.setattr(learner, "validate", lambda: {"validation": next(scores)})
    result = training.train(learner, None, tmp_path / "early.safetensors", "test")
    assert planned // 4 < result.card.steps < planned // 2
    assert result.card.details["served_steps"] == learner.round_steps


def test_skills_are_listed_with_how_often_they_were_reached(tmp_path):
    learner = started(validate_rounds=2)
    for _ in range(2):
        learner.run_round()
    rows = learner.skill_rows()
    assert [row.skill for row in rows] == [n for n in learner._best_scores if n != "validation"]
    assert all(0 <= row.success <= 1 for row in rows)
    assert any(row.reached for row in rows)


def test_event_files_are_as_tensorboard_reads_them(tmp_path):
    assert crc32c(b"123456789") == 0xE3069283  # The check value of CRC-32C.
    events = EventFile(tmp_path / "log")
    events.add(300, {"success/a": 0.5})
    content = events.path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert content[12 : 12 + length].endswith(b"\x1a\x0dbrain.Event:2")
    second = content[12 + length + 4 :]
    (length,) = struct.unpack("<Q", second[:8])
    event = second[12 : 12 + length]
    assert event[9:12] == b"\x10\xac\x02"  # Step 300.
    assert event[12:] == b"\x2a\x12\x0a\x10\x0a\x09success/a\x15" + struct.pack("<f", 0.5)
    assert len(second) == 12 + length + 4
