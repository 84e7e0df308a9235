"""Events: scripts that say when they are true, and the game in which they play against the robot."""

import pytest

from skm_machine import MissionError, compile_mission
from skm_machine.events import EventGame, EventScript, check_events, event_risks


def test_a_script_says_what_is_true_in_each_step():
    script = EventScript("low@3-5, low@9, open@7-, near~0.5, alarm", seed=1)
    assert script.names == ("low", "open", "near", "alarm")
    assert [step for step in range(12) if "low" in script.at(step)] == [3, 4, 5, 9]
    assert [step for step in range(10) if "open" in script.at(step)] == [7, 8, 9]
    assert not any("alarm" in script.at(step) for step in range(50))
    near = [step for step in range(1000) if "near" in script.at(step)]
    assert 400 < len(near) < 600
    assert near != [step for step in range(1000) if "near" in EventScript("near~0.5", 2).at(step)]


@pytest.mark.parametrize("text", ["low@", "low@5-3", "low 3", "@4", "low~x", "low~2"])
def test_a_script_that_cannot_be_read_says_so(text):
    with pytest.raises(MissionError, match="event"):
        EventScript(text)


def test_what_the_robot_brings_about_is_no_event():
    with pytest.raises(MissionError, match="'coffee' is a proposition of the domain"):
        check_events(["coffee"], ["coffee", "office"])


@pytest.mark.parametrize(
    ("text", "events", "steps", "forever"),
    [
        ("G(low -> X home) & G(call -> X !home)", ["low", "call"], [{"low", "call"}], []),
        ("F a & (!a U open)", ["open"], [], [set()]),
        ("F a & G !alarm", ["alarm"], [{"alarm"}], []),
        ("F G !low & G F a", ["low"], [], [{"a", "low"}]),
        ("G(low -> X X !low)", ["low"], [{"low"}, set(), {"low"}], []),
    ],
)
def test_events_that_win_come_with_the_shortest_story(text, events, steps, forever):
    (risk,) = event_risks(compile_mission(text).machine, events)
    assert [set(labels) for labels in risk.counterexample.steps] == steps
    assert [set(labels) for labels in risk.counterexample.forever] == forever


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("G(low -> F home) & G F a & G F b", ["low"]),
        ("G(low -> X home)", ["low"]),
        ("G F a & (G F open -> G F b)", ["open"]),
        ("G(low -> !a) & F G b", ["low"]),
        ("F a | F G open", ["open"]),
    ],
)
def test_what_the_robot_can_keep_no_event_can_take(text, events):
    assert event_risks(compile_mission(text).machine, events) == ()


def test_of_several_events_those_are_named_that_are_enough():
    machine = compile_mission("F a & G !alarm & G(low -> F home)").machine
    assert [risk.events for risk in event_risks(machine, ["alarm", "low"])] == [("alarm",)]


def test_the_game_agrees_with_playing_it_out():
    """From states that the robot wins, some choice keeps it there whatever happens; else none does."""
    machine = compile_mission("G(low -> X home) & G F a & G(call -> X !home)").machine
    game = EventGame(machine, ["low"], absent=["call"])
    lost = EventGame(machine, ["low", "call"])
    assert game.won
    assert lost.lost
    for played in (game, lost):
        for state in range(machine.num_states):
            stays = any(
                all(any(o.target in played.won for o in options) for options in answers)
                for answers in played.rows[state]
            )
            assert stays == (state in played.won)
