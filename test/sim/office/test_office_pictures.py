"""Pictures of the office: what they show, that they leave nothing behind, and what they refuse."""

import io
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from skm_machine.errors import SkmError
from skm_sim.office.drawing import (
    ABSORBING,
    AGENT,
    CUT,
    FLOOR,
    WALL,
    draw_office,
    lane,
    trajectories_figure,
    values_figure,
)
from skm_sim.office.env import OFFICE_MAP

PRIMITIVES = 11
PIXELS = 40


def pixel(picture, row, column, down=0.0, right=0.0):
    """Return the colour at a place in a cell of a rendered office; (0, 0) is its centre."""
    y, x = (int((at + 0.5 - CUT) * PIXELS) for at in (row + down, column + right))
    return picture[y, x]


def near(colour, name):
    return np.abs(colour.astype(float) - 255 * np.array(to_rgb(name))).max() < 6


def rendered(env_id, start, actions=()):
    env = gymnasium.make(env_id, render_mode="rgb_array")
    env.reset(options={"start": start})
    for action in actions:
        env.step(action)
    return env.render()


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=40)
    return buffer.getvalue()


def test_the_rendered_map_has_walls_floors_and_the_agent_where_they_are():
    picture = rendered("skm/Office-v0", (1, 1))
    assert picture.dtype == np.uint8
    assert picture.shape == (472, 632, 3)
    assert near(pixel(picture, 1, 1), AGENT)
    for row, line in enumerate(OFFICE_MAP.rows[1:-1], start=1):
        for column, letter in enumerate(line[1:-1], start=1):
            corner = pixel(picture, row, column, 0.42, 0.42)
            if (row, column) != (1, 1):
                assert near(corner, WALL if letter == "#" else FLOOR)


def test_objects_are_drawn_in_their_cells_and_only_there():
    picture = rendered("skm/Office-v0", (1, 1))
    for row, column in OFFICE_MAP.positions[1:]:
        y, x = (int((at - CUT) * PIXELS) for at in (row, column))
        inside = picture[y + 3 : y + PIXELS - 3, x + 3 : x + PIXELS - 3]
        assert (np.ptp(inside, axis=(0, 1)).max() > 60) == (OFFICE_MAP.rows[row][column] != " ")


def test_the_absorbing_cell_stands_out():
    assert near(pixel(rendered("skm/OfficeAbsorbing-v0", (1, 1)), 9, 11, 0.42, 0.42), ABSORBING)


def test_the_path_of_the_episode_is_drawn_and_forgotten_with_it():
    env = gymnasium.make("skm/Office-v0", render_mode="rgb_array")
    env.reset(options={"start": (5, 5)})
    fresh = env.render()
    for action in (1, 1, 2):
        env.step(action)
    walked = env.render()
    assert not near(pixel(walked, 5, 6, 0.1), FLOOR)
    assert near(pixel(walked, 6, 7), AGENT)
    env.reset(options={"start": (5, 5)})
    assert np.array_equal(env.render(), fresh)


def test_a_saved_state_starts_a_new_path():
    env = gymnasium.make("skm/Office-v0", render_mode="rgb_array")
    env.reset(options={"start": (5, 5)})
    fresh, state = env.render(), env.unwrapped.state()
    env.step(1)
    env.unwrapped.set_state(state)
    assert np.array_equal(env.render(), fresh)


def test_without_a_render_mode_there_is_no_picture_and_no_unknown_mode_is_taken():
    env = gymnasium.make("skm/Office-v0").unwrapped
    env.reset(seed=0)
    assert env.render() is None
    with pytest.raises(SkmError, match="no render_mode 'rgb'; did you mean 'rgb_array'"):
        type(env)(render_mode="rgb")


def test_pyplot_is_never_imported():
    program = (
        "import sys, gymnasium, skm_sim, skm_sim.office.drawing\n"
        "env = gymnasium.make('skm/Office-v0', render_mode='rgb_array')\n"
        "env.reset(seed=0)\n"
        "env.render()\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


def test_the_figure_of_values_has_a_panel_for_each_primitive_and_a_scale():
    values = np.linspace(0, 1, 120)
    actions = np.arange(120) % 5 - 1
    figure = values_figure([(f"primitive {i}", values, actions) for i in range(PRIMITIVES)])
    assert isinstance(figure, Figure)
    assert [axes.get_title() for axes in figure.axes[:PRIMITIVES]] == [
        f"primitive {i}" for i in range(PRIMITIVES)
    ]
    assert len(figure.axes) == PRIMITIVES + 1


def test_the_scale_grows_with_the_values_and_is_the_same_for_all_panels():
    low, high = np.zeros(120), np.full(120, 3.0)
    figure = values_figure([("low", low, -1), ("high", high, -1)])
    assert figure.axes[-1].get_ylim() == (0.0, 3.0)


def test_cells_without_a_value_stay_bare_and_have_no_arrow():
    values = np.full(120, np.nan)
    arrows = np.zeros(120, int)
    bare = png(values_figure([("", values, arrows)]))
    assert bare == png(values_figure([("", values, -1)]))
    assert bare != png(values_figure([("", np.zeros(120), arrows)]))


def test_the_figure_of_trajectories_has_a_panel_for_each_task():
    paths = [[0, 1, 2, 1, 0], [119], []]
    figure = trajectories_figure([("zero-shot", paths), ("few-shot", []), ("", [[0, 0]])])
    assert [axes.get_title() for axes in figure.axes] == ["zero-shot", "few-shot", ""]
    assert png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: values_figure([]), "at least one panel"),
        (lambda: trajectories_figure([]), "at least one panel"),
        (lambda: values_figure([("a", np.zeros(119), -1)]), "each of the 120 cells"),
        (lambda: values_figure([("a", np.zeros(120), np.full(120, 4))]), "from 0 to 3"),
        (lambda: values_figure([("a", np.zeros(120), np.zeros(3, int))]), "one for each cell"),
        (lambda: trajectories_figure([("a", [[0, 120]])]), "no cell 120"),
    ],
)
def test_arrays_that_do_not_fit_the_office_are_refused(make, message):
    with pytest.raises(SkmError, match=message):
        make()


@given(st.integers(0, 119), st.lists(st.integers(0, 3), max_size=40))
def test_a_path_stays_on_the_floor_beside_its_cells(start, actions):
    path = [start]
    for action in actions:
        path.append(int(OFFICE_MAP.transitions[path[-1], action]))
    corners = lane(path, OFFICE_MAP, 0.3)
    cells = {OFFICE_MAP.positions[cell] for cell in path}
    assert {(round(y), round(x)) for x, y in corners} <= cells


def test_there_and_back_are_two_lines():
    there, back = lane([0, 1], OFFICE_MAP, 0.1), lane([1, 0], OFFICE_MAP, 0.1)
    assert there[:, 1].tolist() == [1.1, 1.1]  # heading right, the right-hand side is below
    assert back[:, 1].tolist() == [0.9, 0.9]
    both = lane([0, 1, 0], OFFICE_MAP, 0.1)
    assert both.tolist() == [*there.tolist(), *back.tolist()]


def test_draw_office_draws_everything_at_once_for_other_plots():
    figure = Figure()
    axes = figure.add_subplot()
    colours = draw_office(
        axes, values=np.zeros(120), actions=np.ones(120, int), paths=[[0, 1]], agent=5,
        absorbing=[(9, 11)],
    )  # fmt: skip
    assert colours.norm(0.5) == 0.5
    assert png(figure).startswith(b"\x89PNG")
