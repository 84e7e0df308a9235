"""Buildings: maps of map_server with named places, as geometry and as domains.

The geometry, which domains and robot bridges build on:

- `read_map(path)` → `OccupancyMap`: a map_server map (`occupancy`).
- `read_places(path)` → `PlacesFile`: names, shapes, constraints, the robot (`places_file`).
- `Places.labels_at(x, y)`: the label set of a pose, exactly; `Places.label_sets_along(x0, y0, x1, y1)`:
  the label sets that the straight way between two poses passes through, in order, so that a place
  crossed between two poses is not missed.
- `make_floor(map, places, cell=…, radius=…)` → `Floor`: cells, with `cell_at(x, y)`, `nearest_cell`,
  `centres[cell]` and `moves[cell, action]`; obstacles are grown by the robot's radius.

All of it is in metres of the map frame, vectorised where a name is in the plural.
"""

from skm_sim.maps.floor import DIRECTIONS, NO_CELL, Floor, make_floor
from skm_sim.maps.occupancy import Frame, OccupancyMap, read_map
from skm_sim.maps.places import Circle, Places, PlacesFile, Polygon, read_places, rectangle
from skm_sim.maps.yaml_file import MapError

__all__ = [
    "DIRECTIONS",
    "NO_CELL",
    "Circle",
    "Floor",
    "Frame",
    "MapError",
    "OccupancyMap",
    "Places",
    "PlacesFile",
    "Polygon",
    "make_floor",
    "read_map",
    "read_places",
    "rectangle",
]
