"""Maps of map_server, places and floors: geometry against what can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from skm_sim.maps import (
    Circle,
    Frame,
    MapError,
    OccupancyMap,
    Places,
    Polygon,
    make_floor,
    read_map,
    read_places,
    rectangle,
)
from skm_sim.maps.occupancy import Clearance

HEADER = "resolution: 0.5\norigin: [0, 0, 0]\noccupied_thresh: 0.65\nfree_thresh: 0.25\n"


def write_map(folder, image, text="negate: 0\n", name="m.png"):
    if isinstance(image, bytes):
        (folder / name).write_bytes(image)
    else:
        image.save(folder / name)
    (folder / "m.yaml").write_text(f"image: {name}\n{HEADER}{text}")
    return folder / "m.yaml"


SHADES = np.array([[0, 100, 254], [255, 200, 60]], np.uint8)


def test_trinary_by_the_thresholds_and_the_lowest_row_first(tmp_path):
    found = read_map(write_map(tmp_path, Image.fromarray(SHADES)))
    # occupancies, top row first: 1, .61, .004 / 0, .22, .76
    assert found.values.tolist() == [[0, 0, 100], [100, -1, 0]]
    assert found.free.sum() == 3


def test_negate_swaps_black_and_white(tmp_path):
    found = read_map(write_map(tmp_path, Image.fromarray(SHADES), "negate: 1\n"))
    assert found.values.tolist() == [[100, 100, 0], [0, -1, 100]]


def test_scale_interpolates_between_the_thresholds_and_transparency_is_unknown(tmp_path):
    found = read_map(write_map(tmp_path, Image.fromarray(SHADES), "negate: 0\nmode: scale\n"))
    middle = round(((255 - 100) / 255 - 0.25) / 0.4 * 100)
    assert found.values.tolist() == [[0, 0, 100], [100, middle, 0]]
    clear = np.dstack([SHADES] * 3 + [np.array([[255, 255, 255], [0, 255, 255]], np.uint8)])
    found = read_map(write_map(tmp_path, Image.fromarray(clear), "negate: 0\nmode: scale\n"))
    assert found.values.tolist() == [[-1, 0, 100], [100, middle, 0]]


def test_trinary_counts_opacity_as_a_colour(tmp_path):
    grey = np.full((1, 1), 180, np.uint8)  # occupancy .29 alone, .22 with opacity: free
    pixel = np.dstack([grey, grey, grey, grey * 0 + 255])
    assert read_map(write_map(tmp_path, Image.fromarray(grey))).values.item() == -1
    assert read_map(write_map(tmp_path, Image.fromarray(pixel))).values.item() == 0


def test_raw_takes_pixels_as_they_are(tmp_path):
    found = read_map(write_map(tmp_path, Image.fromarray(SHADES), "negate: 0\nmode: raw\n"))
    assert found.values.tolist() == [[-1, -1, 60], [0, 100, -1]]
    assert found.free.tolist() == [[False, False, False], [True, False, False]]


@pytest.mark.parametrize(
    "image",
    [
        b"P2\n# a comment\n3 2\n255\n0 100 254\n255 200 60\n",
        b"P5\n# a comment\n3 2\n255\n" + SHADES.tobytes(),
        b"P5 3 2 65535 " + (SHADES.astype(">u2") * 257).tobytes(),
    ],
    ids=["plain", "binary", "16 bits"],
)
def test_pgm_in_its_forms(tmp_path, image):
    found = read_map(write_map(tmp_path, image, name="m.pgm"))
    assert found.values.tolist() == [[0, 0, 100], [100, -1, 0]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("resolution: 0", "resolution must be greater than 0"),
        ("origin: [0, 0]", r"origin must be \[x, y, yaw\], 3 numbers"),
        ("mode: trinry", "did you mean 'trinary'"),
        ("negate: 7", "negate must be 0 or 1"),
        ("free_thresh: 0.9", "must lie in this order"),
        ("image: other.png", "cannot read the map's image"),
        ("image: m.yaml", "not a PGM or PNG"),
        ("a: [", "this is not valid YAML"),
    ],
)
def test_bad_maps_are_refused_in_words(tmp_path, text, says):
    path = write_map(tmp_path, Image.fromarray(SHADES))
    key = text.split(":")[0]
    lines = [line for line in path.read_text().splitlines() if not line.startswith(f"{key}:")]
    path.write_text("\n".join([*lines, text, ""]))
    with pytest.raises(MapError, match=says):
        read_map(path)


def test_a_missing_key_names_what_was_meant(tmp_path):
    path = write_map(tmp_path, Image.fromarray(SHADES))
    path.write_text(path.read_text().replace("resolution", "resolutoin"))
    with pytest.raises(MapError, match="no 'resolution'; did you mean 'resolutoin'"):
        read_map(path)


@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.0])
def test_a_turned_frame_goes_there_and_back(yaw):
    frame = Frame(3.0, -2.0, yaw)
    inner = np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 2.0]])
    points = frame.to_frame(inner)
    assert points[0] == pytest.approx([3, -2])
    assert points[1] == pytest.approx([3 + math.cos(yaw), -2 + math.sin(yaw)])
    assert frame.to_inner(points) == pytest.approx(inner)


PLACES = Places(
    {
        "a": (Circle(0, 0, 1), Circle(5, 0, 0.01)),
        "b": (rectangle(0.5, -3, 2, 3),),
        "c": (Polygon(((3, -1), (4, -1), (4, 1), (3.5, 0), (3, 1))),),
    }
)


def test_labels_of_poses_are_exact():
    assert PLACES.labels_at(0, 1) == {"a"}
    assert PLACES.labels_at(0.75, 0) == {"a", "b"}
    assert PLACES.labels_at(2, 3) == {"b"}
    assert PLACES.labels_at(3.5, 0.5) == frozenset()  # the notch
    assert PLACES.labels_at(3.5, -0.5) == {"c"}
    assert PLACES.labels_at(5, 0) == {"a"}


def test_a_way_passes_what_lies_between_its_ends():
    sets = PLACES.label_sets_along(-2, 0, 6, 0)
    shown = [{*s} for s in sets]
    assert shown == [set(), {"a"}, {"a", "b"}, {"b"}, set(), {"c"}, set(), {"a"}, set()]
    assert PLACES.label_sets_along(6, 0, -2, 0) == sets[::-1]
    assert PLACES.label_sets_along(0, 0, 0, 0) == (frozenset("a"),)


def test_a_way_through_the_notch_leaves_the_polygon_and_returns():
    assert PLACES.label_sets_along(3.1, 0.5, 3.9, 0.5) == (
        frozenset("c"),
        frozenset(),
        frozenset("c"),
    )
    starts, ends = np.array([[3.1, 0.5], [3.1, -0.5]]), np.array([[3.9, 0.5], [3.9, -0.5]])
    assert PLACES.plain_ways(starts, ends).tolist() == [False, True]


numbers = st.floats(-6, 6, allow_nan=False)


@settings(max_examples=200)
@given(numbers, numbers, numbers, numbers)
def test_ways_agree_with_a_fine_walk(x0, y0, x1, y1):
    sets = PLACES.label_sets_along(x0, y0, x1, y1)
    walk = []
    points = np.linspace([x0, y0], [x1, y1], 400)
    for row in PLACES.labels_of(points).tolist():
        found = frozenset(name for name, true in zip("abc", row, strict=True) if true)
        if not walk or walk[-1] != found:
            walk.append(found)
    rest = iter(sets)
    assert all(found in rest for found in walk)  # in order; the walk may miss what is short
    ends = sets[0] | sets[-1], sets[0] & sets[-1]
    plain = all(ends[1] <= found <= ends[0] for found in sets)
    found = PLACES.plain_ways(np.array([[x0, y0]]), np.array([[x1, y1]])).item()
    assert found == plain or plain  # a touch in one point may count as crossing


def test_distances_are_zero_within():
    found = PLACES.distances(np.array([[0.0, 0.0], [3.5, 2.0], [-2.0, 0.0]]))
    assert found[0] == pytest.approx([0, 0.5, 3])
    assert found[1, 2] == pytest.approx(math.hypot(0.5, 1))
    assert found[2, 0] == pytest.approx(1)


def room(width, height, yaw=0.0):
    """A room of free pixels of 0.1 m with a wall one pixel wide around it."""
    values = np.full((height + 2, width + 2), 100, np.int8)
    values[1:-1, 1:-1] = 0
    return OccupancyMap(values, 0.1, Frame(1.0, 2.0, yaw))


@pytest.mark.parametrize("yaw", [0.0, 1.0])
def test_the_floor_keeps_the_robots_radius_from_walls(yaw):
    occupancy = room(40, 30, yaw)
    floor = make_floor(occupancy, Places({}), cell=0.2, radius=0.35, neighbours=8)
    inner = occupancy.frame.to_inner(floor.centres)
    assert inner.min(axis=0) == pytest.approx([0.5, 0.5])
    assert (inner.min(axis=0) >= 0.1 + 0.35 - 1e-9).all()
    assert (inner.max(axis=0) <= np.array([4.1, 3.1]) - 0.35 + 1e-9).all()
    assert floor.num_cells == 17 * 12
    cells = np.arange(floor.num_cells)
    assert np.array_equal(floor.cells_at(floor.centres), cells)
    assert floor.cell_at(1.0, 2.0) == -1
    assert floor.nearest_cell(*floor.centres[7]) == (7, 0.0)


def test_moves_lead_to_neighbours_and_back():
    floor = make_floor(room(20, 20), Places({}), cell=0.2, radius=0.1, neighbours=8)
    for action, back in enumerate((2, 3, 0, 1, 6, 7, 4, 5)):
        target = floor.moves[:, action]
        gone = target != np.arange(floor.num_cells)
        assert gone.any()
        assert np.array_equal(floor.moves[target[gone], back], np.flatnonzero(gone))
        steps = np.linalg.norm(floor.centres[target[gone]] - floor.centres[gone], axis=1)
        assert steps == pytest.approx(np.full(len(steps), floor.step_lengths[action]))


def test_diagonal_moves_cut_no_corner_and_narrow_doors_need_a_small_robot():
    occupancy = room(41, 20)
    occupancy.values[:, 21] = 100
    occupancy.values[9:13, 21] = 0  # a door of 0.4 m
    small = make_floor(occupancy, Places({}), cell=0.1, radius=0.14)
    large = make_floor(occupancy, Places({}), cell=0.1, radius=0.21)
    column = occupancy.frame.to_inner(small.centres)[:, 0]
    assert column.max() > 2.2 > column.min()
    column = occupancy.frame.to_inner(large.centres)[:, 0]
    assert column.max() < 2.1 or column.min() > 2.2  # one side only: the door is too narrow
    row, col = small.positions.T
    for action in (4, 5, 6, 7):
        target = small.moves[:, action]
        gone = target != np.arange(small.num_cells)
        assert (small.number[row[gone], col[target[gone]]] >= 0).all()
        assert (small.number[row[target[gone]], col[gone]] >= 0).all()


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.5), st.floats(-3, 3))
def test_clearance_agrees_with_brute_force(seed, radius, yaw):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((18, 25)) < 0.1, 100, 0).astype(np.int8)
    occupancy = OccupancyMap(values, 0.13, Frame(-1.0, 0.5, yaw))
    inner = rng.uniform([-0.3, -0.3], [25 * 0.13 + 0.3, 18 * 0.13 + 0.3], (200, 2))
    found = Clearance(occupancy, radius + 0.26).at_least(occupancy.frame.to_frame(inner), radius)
    row, column = np.nonzero(values)
    low = np.stack([column, row], axis=1) * 0.13
    gaps = np.maximum(np.maximum(low - inner[:, None], inner[:, None] - low - 0.13), 0)
    distance = np.sqrt((gaps**2).sum(axis=2)).min(axis=1)
    edge = np.minimum(inner, np.array([25, 18]) * 0.13 - inner).min(axis=1)
    exact = np.minimum(distance, edge)
    sure = np.abs(exact - radius) > 1e-9
    assert np.array_equal(found[sure], (exact >= radius)[sure])


GOOD = """\
places:
  kitchen: [{rectangle: [3, 7, 1, 4]}, {circle: [0, 0, 1]}]
  dock: {pose: [9, 1, 1.57], radius: 0.4}
  wet: [{polygon: [[6, 3], [7, 3], [6.5, 4]]}]
constraints: [wet]
robot: {radius: 0.3, speed: 1.5}
cell: 0.2
neighbours: 4
"""


def test_a_places_file_says_everything(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD)
    found = read_places(path)
    assert found.places.names == ("kitchen", "dock", "wet")
    assert found.places.labels_at(2, 5) == found.places.labels_at(0, 0) == {"kitchen"}
    assert found.places.labels_at(9.39, 1) == {"dock"}
    settings = (found.constraints, found.robot_radius, found.robot_speed, found.cell)
    assert (*settings, found.neighbours) == (("wet",), 0.3, 1.5, 0.2, 4)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("cell:", "cel:"), "unknown key 'cel'; did you mean 'cell'"),
        (("radius: 0.3", "radus: 0.3"), "robot: unknown key 'radus'; did you mean 'radius'"),
        (("circle:", "circel:"), "place 'kitchen': unknown key 'circel'; did you mean 'circle'"),
        (("[0, 0, 1]", "[0, 0]"), r"circle must be \[x, y, r\], 3 numbers"),
        (("[0, 0, 1]", "[0, 0, -1]"), "circle: r must be greater than 0"),
        (("[3, 7, 1, 4]", "[3, 7, 3, 4]"), "has no area"),
        (("[[6, 3], [7, 3], [6.5, 4]]", "[[6, 3], [7, 3]]"), "three corners"),
        ((", radius: 0.4", ""), "a shape is one of"),
        (("[wet]", "[wte]"), "'wte' is not a place; did you mean 'wet'"),
        (("cell: 0.2", "cell: x"), "cell must be a number"),
        (("neighbours: 4", "neighbours: 6"), "must be 4 or 8"),
        (("dock:", "F:"), "F"),
        (("dock:", "kitchen:"), "the key 'kitchen' is there twice"),
        (("  dock", " dock"), "this is not valid YAML"),
        ((GOOD, ""), "it is empty"),
        ((GOOD, "cell: 1"), "places must name at least one"),
    ],
)
def test_bad_places_are_refused_in_words(tmp_path, change, says):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(MapError, match=says):
        read_places(path)
