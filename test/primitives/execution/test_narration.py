"""A mission in plain words: what is said is what the machine does, in every language, and no more."""

import re
import string

import pytest

from skm_machine.mission import compile_mission
from skm_machine.tracker import MissionTracker, Transition
from skm_primitives.execution.episodes import run_episode
from skm_primitives.execution.narration import (
    OVERDUE,
    Approach,
    Ending,
    Narrator,
    RunNarrator,
    Situation,
    Standing,
    learned_constraints,
    shown_sets,
    steps_away,
)
from skm_primitives.execution.phrases import ENGLISH, LANGUAGES, Phrases
from skm_primitives.planning.planners import make_policy
from skm_primitives.recording.cdr import OUTCOMES
from skm_primitives.skills.loading import load_primitives
from skm_sim.registry import get_domain


@pytest.fixture(scope="module")
def skills():
    return load_primitives(get_domain("office"))


def narrator(text, skills, **options):
    mission = compile_mission(text, propositions=skills.propositions, **options)
    return Narrator(mission, shown_sets(skills)), mission


def test_it_says_what_the_robot_does_what_comes_next_and_what_it_avoids(skills):
    told, mission = narrator("F(coffee & X F(mail & X F office)) & G !decoration", skills)
    now = Situation(
        mission.machine.initial, frozenset({"coffee"}), steps=3, step_seconds=0.7, nearest=1
    )
    assert told.where(now) == (
        "1 of 3: going for coffee, 3 steps (about 2 s) to go; then mail, then office. "
        "Avoiding decoration (nearest: 1 step)."
    )
    assert told.where(now, "de") == (
        "1 von 3: unterwegs zu coffee, noch 3 Schritte (etwa 2 s); dann mail, dann office. "
        "Meidet decoration (am nächsten: 1 Schritt)."
    )
    after = mission.machine.step(mission.machine.initial, {"coffee"}).target
    assert told.where(Situation(after)) == (
        "2 of 3: going for mail; then office. Avoiding decoration."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "F coffee & F mail & F office",
            "1 of 3: going for coffee; then mail and office in any order.",
        ),
        ("F(coffee | mail)", "Going for coffee."),
        (
            "(!decoration U coffee) & F mail",
            "1 of 2: going for coffee; then mail. Avoiding decoration.",
        ),
        (
            "G F coffee & G F mail & G !decoration",
            "Round 1, 1 of 2: going for coffee; then mail. Avoiding decoration.",
        ),
        ("F(A & X F B) & (G !coffee | F C)", None),
    ],
)
def test_an_order_that_is_open_is_left_open(skills, text, said):
    told, mission = narrator(text, skills)
    found = told.where(Situation(mission.machine.initial, frozenset({"coffee"})))
    if said is not None:
        assert found == said
    assert "∧" not in found
    assert "&" not in found


def test_events_are_waited_for_and_never_gone_for(skills):
    told, mission = narrator("F(call & X F office)", skills, events=("call",))
    assert told.where(Situation(mission.machine.initial, waiting=True)).startswith(
        "1 of 2: waiting for call: until then there is nothing to do"
    )
    told, mission = narrator("G(call -> F office) & G F A", skills, events=("call",))
    assert "call" not in told.where(Situation(mission.machine.initial, frozenset({"coffee"})))


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("F(coffee & X F(mail & X F office)) & G !decoration", ("coffee", "mail", "office")),
        ("F(A & X F B) & G !decoration", ("A", "B")),
        ("G F A & G F B & G !decoration", ()),
        ("G F mail & G F C & F office", ()),
        ("G(coffee -> F office) & G F coffee & G F D", ()),
    ],
)
def test_what_is_said_of_a_run_comes_true(skills, text, order):
    """Going through the office, what was announced is what comes, in as many steps as were said."""
    mission = compile_mission(text, propositions=skills.propositions)
    spec = get_domain("office")
    env = spec.make()
    said, shown, moves = [], [], []

    class Listener:
        def begin(self, run, observation, labels):
            self.narrator = RunNarrator(run, lambda: 0.25)
            shown.append(labels)

        def decided(self, run, action):
            said.append(self.narrator.where)

        def entered(self, run, observation, labels, *, moved, terminated, truncated):
            shown.append(labels)
            if moved:
                moves.append(run.tracker.steps)

        def end(self, run, outcome, reason=""):
            self.ending = self.narrator.ended(outcome)

    listener = Listener()
    policy = make_policy(mission, skills)
    run_episode(env, skills, policy, max_steps=120, seed=3, recorder=listener)
    env.close()
    assert len(moves) > 1
    for at, sentence in enumerate(said[: moves[-1]]):
        announced = re.search(r"going for (\w+).*?, (\d+) steps? \(", sentence)
        if announced is None:  # a move that takes note of what is not there
            assert "what comes next" in sentence
            assert at + 1 in moves
            continue
        arrival = at + int(announced[2])
        assert announced[1] in shown[arrival], (at, sentence)
        assert arrival == min(step for step in moves if step > at), (at, sentence)
    if order:
        assert said[0].startswith(f"1 of {len(order)}: going for {order[0]}")
        assert f"; then {', then '.join(order[1:])}." in said[0]
        steps = ", ".join(f"{n} at step {s}" for n, s in zip(order, moves, strict=True))
        assert listener.ending == f"Done after {moves[-1]} steps: {steps}."


def test_a_failure_names_what_happened_which_clause_and_what_would_have_been_better(skills):
    told, mission = narrator("F(coffee & X F office) & G !decoration", skills)
    tracker = MissionTracker(mission.machine, ())
    tracker.start({})
    for labels in ({}, {"coffee"}, {}, {"decoration"}):
        tracker.update(labels)
    end = Ending("failed", 4, 1.0, tracker.transitions, shielded=False)
    assert told.ended(end) == (
        "Failed after 4 steps (1.0 s): decoration at step 4, which G !decoration forbids. "
        "Until then: coffee at step 2. Any step without decoration would have kept it possible. "
        "The shield was off; with it, such a step is not taken where the way is known."
    )
    assert told.move(tracker.transitions[0]) == "coffee reached (1 of 2)"
    assert told.move(tracker.transitions[1]).startswith("decoration: after that")
    assert "gescheitert" in told.ended(Ending("failed", began=False), "de")


def test_an_event_that_fails_a_mission_is_nobody_s_fault(skills):
    told, mission = narrator("F coffee & G !alarm", skills, events=("alarm",))
    assert told.where(Situation(mission.machine.initial, frozenset({"coffee"}))) == (
        "Going for coffee. Alarm would fail the mission, and is not the robot's to avoid."
    )
    tracker = MissionTracker(mission.machine, ())
    tracker.start({})
    tracker.update({"alarm", "decoration"})
    end = Ending("failed", 1, 0.25, tracker.transitions, shielded=False)
    assert told.ended(end) == (
        "Failed after 1 step (0.2 s): alarm at step 1, which G !alarm forbids. "
        "The robot does not control alarm: nothing that it could do kept it from this."
    )


@pytest.mark.parametrize("outcome", OUTCOMES[1:])
def test_every_outcome_has_its_words(skills, outcome):
    told, _ = narrator("F coffee", skills)
    for language in LANGUAGES:
        assert told.ended(Ending(outcome, 3, 1.5), language).endswith(".")


def test_rounds_are_counted(skills):
    told, mission = narrator("G F A & G F B", skills)
    where = told.where(Situation(mission.machine.initial, frozenset({"A"}), rounds=2))
    assert where.startswith("Round 3, 1 of 2: going for A; then B")
    halfway = mission.machine.step(mission.machine.initial, {"A"}).target
    done = mission.machine.step(halfway, {"B"})
    move = Transition(5, halfway, done.target, frozenset({"B"}), done.reward)
    assert told.move(move, rounds=2) == "B reached: round 2 is complete"
    assert told.ended(Ending("satisfied so far", 40, 10.0, rounds=3)) == (
        "Ended after 40 steps (10.0 s) with 3 rounds complete."
    )


def test_every_language_has_every_phrase_with_the_same_gaps():
    def gaps(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    for name, texts in LANGUAGES.items():
        assert list(texts) == list(ENGLISH), name
        for key, text in texts.items():
            assert gaps(text) == gaps(ENGLISH[key]), (name, key)
    assert Phrases("de").time(0.25) == "etwa 0,2 s"
    assert Phrases().time(600) == "about 10 min"
    assert steps_away(0.0, 0.9) is None
    assert steps_away(0.9**4, 0.9) == 5


def test_a_machine_that_is_too_large_is_told_by_its_present_state(skills):
    many = " & ".join(f"F({a} & X F {b})" for a, b in ("AB", "BC", "CD", "DA", "AC", "BD"))
    told, mission = narrator(many, skills)
    told._far = {}
    found = told.where(Situation(mission.machine.initial, frozenset({"A"}), steps=2))
    assert found == "Going for A, 2 steps to go."


@pytest.fixture(scope="module")
def learned():
    """Skills that are all that is known of their world."""
    return load_primitives(get_domain("safety"))


def narrator_of_learned(text, learned):
    mission = compile_mission(text, propositions=learned.propositions)
    return Narrator(mission, shown_sets(learned), learned_constraints(learned)), mission


def test_what_learned_skills_expect_is_told_as_a_belief(learned, skills):
    assert learned_constraints(skills) is None
    told, mission = narrator_of_learned("F(button & X F cylinder) & G !region", learned)
    goal = frozenset({"button"})
    now = Situation(mission.machine.initial, goal, steps=15, step_seconds=0.1, nearest=7)
    assert told.where(now) == (
        "1 of 2: going for button, about 15 steps (1.5 s) to go; then cylinder. "
        "Avoiding region (nearest: about 7 steps)."
    )
    late = Situation(mission.machine.initial, goal, steps=15, overdue=40)
    assert "about 15 steps to go, expected 40 steps ago; then" in told.where(late)
    assert "noch etwa 15 Schritte, erwartet vor 40 Schritten" in told.where(late, "de")


def test_a_goal_is_overdue_by_the_best_that_was_expected_of_it():
    approach = Approach()
    assert approach.overdue(30, 0, "u0") == 0
    assert approach.overdue(25, 10, "u0") == 0  # later than was said first: that counts
    assert approach.overdue(None, 30 + OVERDUE - 1, "u0") == 0
    assert approach.overdue(70, 30 + OVERDUE, "u0") == OVERDUE
    assert approach.overdue(70, 31 + OVERDUE, "u1") == 0  # the machine has moved


def test_a_failure_of_learned_skills_says_what_they_believed_or_never_learned(learned):
    told, mission = narrator_of_learned("F cylinder & G !region", learned)
    tracker = MissionTracker(mission.machine, ())
    tracker.start({})
    tracker.update({"region"})
    end = Ending("failed", 1, 0.1, tracker.transitions, nearest=9)
    assert told.ended(end) == (
        "Failed after 1 step (0.1 s): region at step 1, which G !region forbids. "
        "Any step without region would have kept it possible. "
        "Just before, the learned skills took region to be about 9 steps away."
    )
    assert "expect of region can be wrong" in told.ended(
        Ending("failed", 1, moves=tracker.transitions)
    )
    blind = Narrator(mission, shown_sets(learned), set())
    assert "No skill was learned to avoid region: train" in blind.ended(end)
    lost = Ending("timed out", 90, pursued=(mission.machine.initial, frozenset({"cylinder"})))
    assert told.ended(lost).endswith("It was on the way to cylinder.")
    lost = Ending("timed out", 90, pursued=lost.pursued, overdue=60)
    assert told.ended(lost).endswith(
        "It was looking for cylinder, expected 60 steps before: there may be none here."
    )


def test_each_thing_that_would_fail_a_mission_now_is_named(learned, skills):
    told, mission = narrator_of_learned("F cylinder & G !region & (!button U cylinder)", learned)
    state = mission.machine.initial
    assert told.avoided(state) == {"region", "button"}
    after = mission.machine.step(state, {"cylinder"}).target
    assert told.avoided(after) == frozenset()
    told, mission = narrator("F coffee & G !alarm", skills, events=("alarm",))
    assert told.avoided(mission.machine.initial) == frozenset()  # it is not the robot's to avoid


def test_a_time_that_is_up_is_told_by_its_clause_and_with_how_long_the_robot_stood(skills):
    told, mission = narrator("F[0s,70s] mail & G !decoration", skills, step_seconds=0.25)
    assert mission.clocks is not None
    (tick,) = mission.clocks.names
    machine = mission.machine
    outcome = machine.step(machine.initial, {tick})
    move = Transition(4, machine.initial, outcome.target, frozenset({tick}), outcome.reward)
    end = Ending("failed", 4, 70.0, (move,), stood=(60.0, "the robot is stopped: stop was called"))
    assert told.ended(end) == (
        "Failed after 4 steps (70.0 s): mail was due within 70 s, which F[0s,70s] mail asks for. "
        "For 60 s of it the robot was stopped (stop was called)."
    )
    assert "60 s davon stand der Roboter (STOPP wurde gerufen)" in told.ended(end, "de")


def test_standing_is_counted_by_reason():
    standing = Standing()
    for reason, at in (("", 0), ("a", 1), ("b", 2), ("", 5), ("", 7), ("b", 8)):
        standing.note(reason, at)
    assert standing.told(9) == (5.0, "b")
    assert Standing().told(5) == (0.0, "")


def test_decisions_that_are_held_count_as_so_many_steps():
    assert steps_away(0.9**7, 0.9) == 8
    assert steps_away(0.9**7, 0.9, hold=5) == 40
    spec = get_domain("zones")
    zones = load_primitives(spec)
    mission = compile_mission("F green & G !blue", propositions=zones.propositions)
    said, reached = [], []

    class Listener:
        def begin(self, run, observation, labels):
            self.narrator = RunNarrator(run)

        def decided(self, run, action):
            said.append(self.narrator.steps)

        def entered(self, run, observation, labels, *, moved, terminated, truncated):
            if moved:
                reached.append(run.tracker.steps)

        def end(self, run, outcome, reason=""):
            self.ending = self.narrator.ended(outcome)

    listener, env = Listener(), spec.make()
    policy = make_policy(mission, zones)
    run_episode(env, zones, policy, max_steps=400, seed=1, recorder=listener)
    env.close()
    assert listener.ending.startswith("Done after")
    assert 0.6 < said[0] / reached[0] < 1.6


def test_of_what_several_robots_show_only_that_is_named_without_which_the_move_would_not_be():
    mission = compile_mission("F lab & F r2.dock", horizon="finite")
    # Of a team nobody says beforehand what is shown together.
    told = Narrator(mission, [])
    machine = mission.machine
    before = machine.step(machine.initial, {"lab"}).target
    shown = frozenset({"lab", "store", "dock", "r2.dock"})
    outcome = machine.step(before, shown)
    move = Transition(7, before, outcome.target, shown, outcome.reward)
    assert told.move(move) == "r2.dock reached: the mission is accomplished"
