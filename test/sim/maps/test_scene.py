"""A building as shapes: walls are what the map has blocked, names stand where there is room."""

from pathlib import Path

import numpy as np
import pytest

import skm_sim.maps
from skm_primitives.planning.map_domains import make_map_domain
from skm_sim.maps.scene import _rectangles, building_scene
from skm_sim.maps.spec import load_building

HALL = Path(skm_sim.maps.__file__).parent / "hall"


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps") / "hall"
    make_map_domain(HALL / "hall.yaml", HALL / "places.yaml", folder, picture=False)
    return load_building(folder)


def test_rectangles_cover_every_blocked_square_once_and_no_other():
    rng = np.random.default_rng(0)
    for _ in range(50):
        blocked = rng.random((rng.integers(1, 12), rng.integers(1, 12))) < 0.6
        covered = np.zeros(blocked.shape, int)
        for top, bottom, first, last in _rectangles(blocked):
            covered[top:bottom, first:last] += 1
        np.testing.assert_array_equal(covered, blocked)


def test_walls_are_solid_and_leave_what_is_free_open(hall):
    walls = [shape for shape in building_scene(hall, (0.0, 0.0)) if shape.group == "wall"]
    low = np.array([np.subtract(w.position[:2], np.divide(w.size[:2], 2)) for w in walls])
    high = np.array([np.add(w.position[:2], np.divide(w.size[:2], 2)) for w in walls])

    def walled(points):
        inside = (points[:, None] > low) & (points[:, None] < high)
        return inside.all(axis=2).any(axis=1)

    assert not walled(hall.floor.centres).any()
    assert walled(np.array([[-7.0, 4.4], [2.2, 0.1], [-0.4, 3.0]])).all(), "counter, pillar, desk"


def test_every_part_of_a_place_has_its_name_in_it_and_in_no_other_place(hall):
    names = [shape for shape in building_scene(hall, (0.0, 0.0)) if shape.kind == "text"]
    parts = [name for name, shapes in hall.places.shapes.items() for _ in shapes]
    assert sorted(shape.text for shape in names) == sorted(parts)
    for shape in names:
        if shape.text != "stairs":  # all of the stairs is among the lobby's
            assert hall.places.labels_at(*shape.position[:2]) <= {
                shape.text,
                *OUTER.get(shape.text, ()),
            }


OUTER = {"coffee": ("kitchen",)}
"""Places that a place lies in."""
