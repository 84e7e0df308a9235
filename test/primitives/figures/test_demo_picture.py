"""The picture of a run is drawn from a recording alone: path, transitions, machine."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_machine.tracker import Transition
from skm_primitives.figures.run import (
    ACCEPTED,
    FAILED,
    Place,
    RecordedRun,
    run_figure,
    run_svg,
    save_run,
    state_colour,
)
from skm_ros.graph import get_system
from skm_sim.artists import STATE_COLOURS as COLOURS
from skm_sim.registry import get_domain
from skm_sim.safety.layout import STAGES, feasible
from skm_sim.world import World

MISSION = "F(button & X F cylinder) & G !region"


@pytest.fixture(scope="module")
def run():
    """A run of three steps; the machine moves at the second and the third."""
    world = World(get_domain("safety"), seed=92)
    mission = compile_mission(MISSION, propositions=world.spec.propositions)
    start = mission.machine.initial
    then = mission.machine.step(start, frozenset({"button"})).target
    done = mission.machine.step(then, frozenset({"button", "cylinder"})).target
    return RecordedRun(
        mission=mission,
        gamma=0.99,
        outcome="accepted",
        steps=3,
        scene=world.scene(),
        path=[Place(0, 0.0, 0.0), Place(1, 0.5, 0.0), Place(2, 1.0, 0.0), Place(3, 1.0, 0.5)],
        moves=[
            Transition(2, start, then, ("button",), 0.0),
            Transition(3, then, done, ("button", "cylinder"), 1.0),
        ],
    )


def test_every_stretch_has_the_colour_of_the_machine_state_that_it_was_done_in(run):
    axes = run_figure(run).axes[0]
    lines = [line for line in axes.lines if len(line.get_xdata()) == 2]
    first, second = COLOURS[run.moves[0].source], COLOURS[run.moves[1].source]
    assert [to_hex(line.get_color()) for line in lines] == [first, first, second]
    np.testing.assert_allclose(lines[-1].get_ydata(), [0.0, 0.5])


def test_transitions_are_marked_where_they_happened_and_explained(run):
    figure = run_figure(run)
    marks = {text.get_text(): text.xy for text in figure.axes[0].texts if hasattr(text, "xy")}
    assert marks == {"1": (1.0, 0.0), "2": (1.0, 0.5)}
    said = [text.get_text() for text in figure.texts]
    assert MISSION in said
    assert "accepted after 3 steps" in said
    assert any(text.startswith("step 2") and "on {button}" in text for text in said)


def test_where_a_path_runs_over_itself_the_earlier_pass_is_wider(run):
    there_and_back = [
        Place(0, 0.0, 0.0),
        Place(1, 0.5, 0.0),
        Place(2, 0.0, 0.0),
        Place(3, 0.0, 0.5),
    ]
    lines = run_figure(replace(run, path=there_and_back)).axes[0].lines
    first, second, third = (line.get_linewidth() for line in lines if len(line.get_xdata()) == 2)
    assert first > second == third


def test_what_moved_is_dashed_where_it_was_and_explained(run):
    world = World(get_domain("moving_targets"), seed=0)
    was = next(shape for shape in world.scene() if shape.group == "blue circle")
    figure = run_figure(replace(run, gone=[was]))
    dashed = [patch for patch in figure.axes[0].patches if patch.get_linestyle() != "solid"]
    assert [patch.center for patch in dashed] == [was.position[:2]]
    assert any("before it moved" in text.get_text() for text in figure.texts)
    assert not any("before it moved" in text.get_text() for text in run_figure(run).texts)


def test_accepted_is_green_and_failed_is_red(run):
    machine = run.mission.machine
    assert state_colour(run, run.moves[-1].target) == ACCEPTED
    assert {state_colour(run, state) for state in machine.failure} == {FAILED}


def test_a_mission_that_repeats_counts_its_rounds_and_is_no_failure(run):
    mission = compile_mission(
        "F button", propositions=run.mission.machine.propositions, repeat=True
    )
    start = mission.machine.initial
    moves = [Transition(step, start, start, ("button",), 1.0) for step in (1, 3)]
    figure = run_figure(replace(run, mission=mission, moves=moves, outcome="timed out"))
    said = next(text for text in figure.texts if "timed out" in text.get_text())
    assert said.get_text() == "timed out after 3 steps, 2 rounds completed"
    assert said.get_color() == ACCEPTED


def test_the_svg_has_the_machine_with_the_same_colours_and_is_the_same_each_time(run):
    text = run_svg(run)
    assert text == run_svg(run)
    root = ElementTree.fromstring(text)
    names = {"svg": "http://www.w3.org/2000/svg"}
    assert len(root.findall("svg:svg", names)) == 2
    states = root.findall(".//svg:g[@class='state']", names)
    assert len(states) == run.mission.machine.num_states
    outlines = {shape.get("stroke") for group in states for shape in group}
    assert {COLOURS[0], COLOURS[1], ACCEPTED, FAILED} <= outlines


def test_both_files_are_written(run, tmp_path):
    files = save_run(run, tmp_path / "new" / "demo.svg")
    assert files == [str(tmp_path / "new" / name) for name in ("demo.svg", "demo.png")]
    assert (tmp_path / "new" / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_a_path_that_was_not_recorded_leaves_the_world_and_the_list(run):
    empty = RecordedRun(run.mission, 0.99, "failed", 3, run.scene, [], run.moves)
    assert "failed after 3 steps" in [text.get_text() for text in run_figure(empty).texts]


def test_other_formats_are_refused(run, tmp_path):
    with pytest.raises(SkmError, match=r"not 'demo\.gif'"):
        save_run(run, tmp_path / "demo.gif")


def test_the_demo_is_a_feasible_run_of_safety_2_in_real_time():
    values = get_system("demo").values({})
    assert (values["domain"], values["mode"], values["rate"]) == ("safety", "realtime", 10.0)
    assert get_system("demo").mission({}) == MISSION == get_domain("safety").task("2").formula
    world = World(get_domain("safety"), seed=values["seed"])
    assert feasible(world._env.unwrapped.layout, STAGES["2"])


def test_the_demo_of_moving_targets_collects_three_things_in_turn():
    spec = get_domain("moving_targets")
    assert get_system("demo").mission({"domain": spec.name}) == spec.task("2").formula


def test_the_demo_of_another_domain_is_its_first_task():
    office = get_domain("office")
    first = next(iter(office.tasks.values())).formula
    assert get_system("demo").mission({"domain": "office"}) == first
    assert get_system("demo").mission({"domain": "office", "mission": "F A"}) == "F A"
    assert get_system("office").mission({}) == ""


def test_a_number_beside_the_path_covers_no_name_and_no_other_number(run):
    names = [shape for shape in run.scene if shape.kind == "text"]
    assert names
    crowded = replace(run, path=[Place(step, *names[0].position[:2]) for step in range(4)])
    figure = run_figure(crowded)
    figure.canvas.draw()
    texts = figure.axes[0].texts  # an annotation's extent has its arrow in it, too
    beside = [Text.get_window_extent(text) for text in texts if text.get_text() in {"1", "2"}]
    words = [text.get_window_extent() for text in texts if text.get_text() == names[0].text]
    assert len(beside) == 2
    assert not any(number.overlaps(word) for number in beside for word in words)
    assert not beside[0].overlaps(beside[1])


def test_the_machine_is_drawn_without_what_the_world_cannot_show(run):
    everything = run_svg(run)
    less = run_svg(replace(run, label_sets=[frozenset({name}) for name in ("button", "cylinder")]))
    assert "failed" in everything
    assert "failed" not in less, "no region, no failure"
