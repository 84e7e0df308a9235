"""Plans of missions with bounds in seconds: against all ways there are, and on a line."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from skm_machine import compile_mission
from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.logic.timed import NANOSECONDS, holds_timed
from skm_machine.tracker import Status
from skm_primitives import load_primitives, run_episode
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.deadlines import can_be_late, soonest
from skm_primitives.planning.planners import make_policy
from skm_primitives.skills.known_skills import KnownPrimitives, compute_skills
from skm_sim import DomainSpec, get_domain
from skm_sim.tabular import TabularModel

DEPTH = 6
TIMED = (
    "F[0s,3s] a & F[0s,6s] b",
    "F(a & F[0s,2s] b)",
    "F(b & X G[0s,2s] b) & F[0s,5s] b",
    "F[2s,4s] a & G[0s,3s] !b",
    "(!b U[0s,4s] a) & F[0s,6s] b",
)


def model_of(transitions, labels):
    """Return a world with the propositions a and b; `labels` has one text for each cell."""
    cells = np.arange(len(labels))
    shown = np.array([[name in text for name in "ab"] for text in labels])
    return TabularModel(("a", "b"), (), np.array(transitions), cells, shown, cells.copy())


def world_of(model):
    return model.world


def skills_of(model):
    spec = DomainSpec("line", "none/None-v0", model.propositions, (), 0.9, 50, {})
    return KnownPrimitives(compute_skills(model), spec)


@pytest.mark.parametrize("text", TIMED)
@pytest.mark.parametrize("seed", range(2))
def test_the_soonest_success_is_that_of_all_ways_there_are(text, seed):
    rng = np.random.default_rng(seed)
    labels = [rng.choice(["", "", "", "a", "b"]) for _ in range(6)]
    model = model_of(rng.integers(6, size=(6, 2)), labels)
    mission = compile_mission(text, step_seconds=1.0)
    found = soonest(mission, world_of(model), 0, 1.0)
    best = None
    for way in product((-1, 0, 1), repeat=DEPTH):  # -1: it stands still
        cell, entered = 0, []
        for number, action in enumerate(way, start=1):
            if action >= 0:
                cell = int(model.transitions[cell, action])
                entered.append((number * NANOSECONDS, frozenset(labels[cell])))
            if best is not None and number >= best:
                break
            if holds_timed(mission.formula, 0, labels[0], entered, number * NANOSECONDS):
                best = number
    if best is not None:
        # A window that is over is over a moment later: the search looks with the next step.
        assert found.seconds in (best, best + 1)
    else:
        assert found.seconds is None or found.seconds > DEPTH


def line():
    """Cells 0 to 5, with a at 0 and b at 3; the moves are left and right."""
    cells = np.arange(6)
    moves = np.stack([np.maximum(cells - 1, 0), np.minimum(cells + 1, 5)], axis=1)
    return model_of(moves, ["a", "", "", "b", "", ""])


def run_on_line(text, start, steps=40):
    model = line()
    mission = compile_mission(text, step_seconds=1.0)
    skills = skills_of(model)
    run, cell = MissionRun(make_policy(mission, skills), skills, steps), start
    run.begin(cell, model.label_sets[model.label_ids[cell]])
    while not run.over:
        action = run.decide(skills.values(cell, run.history)).action
        cell = int(model.transitions[cell, action])
        run.enter(cell, model.label_sets[model.label_ids[cell]])
    return run


def test_the_nearer_place_waits_if_the_other_has_a_deadline():
    assert run_on_line("F a & F b", 2).tracker.steps == 4  # to b first, which is nearer
    run = run_on_line("F[0s,2s] a & F b", 2)
    assert (run.tracker.status, run.tracker.steps) == (Status.ACCEPTED, 5)


def test_a_deadline_that_cannot_be_met_is_refused_with_the_time_it_takes():
    with pytest.raises(
        UnachievableMissionError, match=r"cannot be achieved in time.*2 steps, 2.0 s"
    ):
        run_on_line("F[0s,1s] a", 2)
    assert not can_be_late(compile_mission("F(a & X G[0s,10s] a)", clock=True))


def test_staying_is_waiting_for_the_clock_and_no_stall():
    run = run_on_line("F(a & X G[0s,30s] a)", 2, steps=100)
    assert run.tracker.status is Status.ACCEPTED
    assert 32 < run.tracker.time / NANOSECONDS <= 34
    assert run.decision.rest


def test_bounds_of_an_hour_run_as_long_as_they_say():
    run = run_on_line("F(a & X G[0s,1h] a)", 2, steps=5000)
    assert run.tracker.status is Status.ACCEPTED
    assert 3602 < run.tracker.time / NANOSECONDS <= 3604


def test_without_a_clock_nothing_begins():
    model = line()
    skills = skills_of(model)
    run = MissionRun(make_policy(compile_mission("F[0s,5s] a", clock=True), skills), skills, 10)
    with pytest.raises(SkmError, match="nothing says how long a step takes"):
        run.begin(2, frozenset())


def test_learned_skills_say_when_a_deadline_is_not_expected_to_be_met():
    """By the value of the goal: the cylinder is seconds away, and half a second is given."""
    safety = get_domain("safety")
    skills = load_primitives(safety)
    seconds = safety.step_seconds

    def run(text):
        mission = compile_mission(text, propositions=safety.propositions, step_seconds=seconds)
        policy = make_policy(mission, skills)
        return run_episode(safety.make(), skills, policy, max_steps=80, seed=3)

    late = run("F[0s,0.3s] cylinder")
    assert late.status is Status.FAILED
    assert "F[0s,0.3s] cylinder is not expected to be met in time" in late.warnings[0]
    assert run("F[0s,60s] cylinder").warnings == ()
    assert run("F[0s,60s] cylinder & F button").warnings == ()
