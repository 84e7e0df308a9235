"""Maps of map_server: a YAML file and an image, read by the rules that map_server documents.

The shade of a pixel is its brightness from 0 (black) to 1 (white), the mean of its colours; with
`negate: 0` its occupancy is 1 − shade, else the shade. Then, by `mode`:

- `trinary` (the default): above `occupied_thresh` the pixel is occupied (100), below `free_thresh`
  free (0), between them unknown (−1). Of an image with transparency, opacity counts as a fourth
  colour.
- `scale`: as above, but between the thresholds the value goes from 0 to 100 with the occupancy; a
  pixel that is not wholly opaque is unknown.
- `raw`: the pixel, 0 to 255, is the value as it is; beyond 100 it is unknown. Thresholds and
  `negate` play no part.

The image's path is relative to the YAML file. `origin` is the pose of the lower left corner of the
lower left pixel: [x, y, yaw], metres and radians.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, FloatArray, IntArray
from skm_sim.maps.yaml_file import MapError, number, numbers, read_yaml

# Where a map lies: between metres of the map frame and the map's own rows and columns.


@dataclass(frozen=True)
class Frame:
    """The pose of a map's lower left corner in the map frame: metres, and radians to the left.

    *Inner* coordinates are metres along the map's own columns and rows, from that corner.
    """

    x: float
    y: float
    yaw: float = 0.0

    def to_inner(self, points: ArrayLike) -> FloatArray:
        """Return points of the map frame, `(…, 2)`, in inner coordinates."""
        moved = np.asarray(points, np.float64) - (self.x, self.y)
        return _turned(moved, -self.yaw)

    def to_frame(self, inner: ArrayLike) -> FloatArray:
        """Return inner coordinates, `(…, 2)`, as points of the map frame."""
        corner = np.array([self.x, self.y])
        points: FloatArray = _turned(np.asarray(inner, np.float64), self.yaw) + corner
        return points


def _turned(points: FloatArray, angle: float) -> FloatArray:
    if angle == 0:
        return points
    cosine, sine = math.cos(angle), math.sin(angle)
    x, y = points[..., 0], points[..., 1]
    return np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=-1)


FREE: Final = 0
OCCUPIED: Final = 100
UNKNOWN: Final = -1
MODES: Final = ("trinary", "scale", "raw")
NEEDED: Final = ("image", "resolution", "origin", "negate", "occupied_thresh", "free_thresh")
MOST_PIXELS: Final = 50_000_000


@dataclass(frozen=True, eq=False)
class OccupancyMap:
    """A map in memory, as `nav_msgs/OccupancyGrid` has it: the first row is the lowest."""

    values: NDArray[np.int8]
    """`[row, column]`: −1 unknown, else 0 (free) to 100 (occupied)."""
    resolution: float
    """Metres a pixel."""
    frame: Frame
    free_below: float = 1.0
    """A pixel is free if its value is known and below this."""

    @property
    def free(self) -> BoolArray:
        """`[row, column]`: where there is floor, for sure."""
        return (self.values >= 0) & (self.values < self.free_below)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in metres."""
        rows, columns = self.values.shape
        return columns * self.resolution, rows * self.resolution


def read_map(path: Path | str) -> OccupancyMap:
    """Read the map that a YAML file of map_server describes."""
    path = Path(path)
    given = read_yaml(path)
    for key in NEEDED:
        if key not in given:
            near = did_you_mean(key, set(given) - set(NEEDED))
            raise MapError(
                f"{path} has no '{key}'{near if 'mean' in near else ', which every map has.'}"
            )
    mode = given.get("mode", "trinary")
    if mode not in MODES:
        raise MapError(f"{path}: no mode '{mode}'{did_you_mean(str(mode), MODES)}")
    if given["negate"] not in (0, 1):
        raise MapError(f"{path}: negate must be 0 or 1, not {given['negate']!r}.")
    occupied = number(given["occupied_thresh"], f"{path}: occupied_thresh")
    free = number(given["free_thresh"], f"{path}: free_thresh")
    if not 0 <= free <= occupied <= 1:
        raise MapError(
            f"{path}: free_thresh ({free}) and occupied_thresh ({occupied}) must lie in this order"
            " between 0 and 1."
        )
    resolution = number(given["resolution"], f"{path}: resolution", positive=True)
    frame = Frame(*numbers(given["origin"], "x, y, yaw", f"{path}: origin"))
    shade, alpha, alpha_known = _read_image(_image_path(path, given))
    if mode == "raw":
        values = np.rint(shade * 255)
        values[values > OCCUPIED] = UNKNOWN
        return OccupancyMap(values.astype(np.int8), resolution, frame, max(1.0, 100 * free))
    if mode == "trinary" and alpha_known:
        shade = (3 * shade + alpha) / 4
    occupancy = shade if given["negate"] else 1 - shade
    between = np.full(shade.shape, float(UNKNOWN))
    if mode == "scale":
        between = np.rint((occupancy - free) / max(occupied - free, 1e-9) * 100)
    values = np.where(occupancy > occupied, OCCUPIED, np.where(occupancy < free, FREE, between))
    if mode == "scale":
        values[alpha < 1] = UNKNOWN
    return OccupancyMap(values.astype(np.int8), resolution, frame)


def image_of(path: Path) -> Path:
    """Return the path of the image that a map's YAML file names."""
    return _image_path(path, read_yaml(path))


def _image_path(path: Path, given: dict[str, Any]) -> Path:
    if "image" not in given:
        raise MapError(f"{path} has no 'image', which every map has.")
    return path.parent / str(given["image"])


def _read_image(path: Path) -> tuple[FloatArray, FloatArray, bool]:
    """Return shade and opacity of every pixel, 0 to 1, the lowest row first; and if it has opacity."""
    from PIL import Image  # noqa: PLC0415 (what reads no picture does not wait for it)

    try:
        with Image.open(path) as image:
            if image.width * image.height > MOST_PIXELS:
                raise MapError(f"{path} has {image.width} × {image.height} pixels, too many.")
            shade, alpha, transparent = shades(image)
    except MapError:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        what = getattr(error, "strerror", None) or f"it is not a PGM or PNG image ({error})"
        raise MapError(f"cannot read the map's image {path}: {what}") from error
    return shade[::-1], alpha[::-1], transparent


def shades(image: Any) -> tuple[FloatArray, FloatArray, bool]:  # noqa: ANN401 - Pillow's
    """Return shade and opacity of every pixel, 0 to 1, the highest row first; and if it has opacity."""
    transparent = image.mode in ("LA", "RGBA", "PA") or "transparency" in image.info
    if image.mode in ("I", "I;16", "I;16B", "F"):  # 16 bits; Pillow scales what is no 8 bits to 16
        shade = np.asarray(image, np.float64) / 65535
        return shade, np.ones_like(shade), False
    if image.mode in ("1", "L"):
        shade = np.asarray(image.convert("L"), np.float64) / 255
        return shade, np.ones_like(shade), False
    pixels = np.asarray(image.convert("RGBA"), np.float64) / 255
    return pixels[..., :3].mean(axis=-1), pixels[..., 3], transparent


# How far points are from the nearest obstacle of a map: exact, up to the distance that matters.


ROUNDING: Final = 1e-9


class Clearance:
    """Tells where a robot of some radius can stand, and which straight ways it can go.

    An obstacle is the whole square of every pixel that is not free, and all that lies beyond the
    map. `reach` is the greatest distance that will be asked for.
    """

    def __init__(self, occupancy: OccupancyMap, reach: float) -> None:
        self._frame, self._pixel = occupancy.frame, occupancy.resolution
        self._pad = math.ceil(reach / self._pixel) + 3
        self._blocked: BoolArray = np.pad(~occupancy.free, self._pad, constant_values=True)
        self._coarse = _capped_distance(self._blocked, self._pad) * self._pixel
        """Between the centres of pixels: off the exact distance by a pixel's diagonal at most."""

    def at_least(self, points: FloatArray, distance: float) -> BoolArray:
        """Tell which points `(n, 2)` of the map frame are that far from every obstacle."""
        inner = self._frame.to_inner(points) / self._pixel + self._pad
        rows, columns = self._blocked.shape
        inside = ((inner >= 2) & (inner < np.array([columns, rows]) - 2)).all(axis=1)
        result = np.zeros(len(points), np.bool_)
        indices = np.flatnonzero(inside)
        column, row = np.floor(inner[indices]).astype(np.int64).T
        coarse, slack = self._coarse[row, column], math.sqrt(2) * self._pixel
        result[indices[coarse > distance + slack]] = True
        unsure = np.abs(coarse - distance) <= slack
        close = indices[unsure]
        found = self._nearest(inner[close], column[unsure], row[unsure], distance)
        result[close] = found >= distance - ROUNDING
        return result

    def _nearest(
        self, inner: FloatArray, column: IntArray, row: IntArray, distance: float
    ) -> FloatArray:
        """Return the exact distance to the squares of blocked pixels around each point."""
        span = math.ceil(distance / self._pixel) + 1
        least = np.full(len(inner), np.inf)
        rows, columns = self._blocked.shape
        x = column[:, None] + np.arange(-span, span + 1)
        across, right = np.clip(x, 0, columns - 1), inner[:, :1]
        gap_x = np.maximum(np.maximum(x - right, right - x - 1), 0.0) ** 2
        for down in range(-span, span + 1):
            y = row + down
            gap_y = np.maximum(np.maximum(y - inner[:, 1], inner[:, 1] - y - 1), 0.0) ** 2
            there = self._blocked[np.clip(y, 0, rows - 1)[:, None], across]
            beside = np.where(there, gap_x, np.inf).min(axis=1, initial=np.inf)
            np.minimum(least, beside + gap_y, out=least)
        nearest: FloatArray = np.sqrt(least) * self._pixel
        return nearest

    def ways(self, starts: FloatArray, ends: FloatArray, distance: float) -> BoolArray:
        """Tell which straight ways keep that distance from every obstacle, all along.

        Looked at in points that are half a pixel apart at most, at a distance a little greater: by
        Pythagoras, what is `distance² + (gap/2)²` away at the points is `distance` away between.
        """
        length = float(np.sqrt(((ends - starts) ** 2).sum(axis=1)).max(initial=0.0))
        pieces = max(1, math.ceil(2 * length / self._pixel))
        needed = math.hypot(distance, length / pieces / 2)
        open_ways = np.ones(len(starts), np.bool_)
        for step in range(pieces + 1):
            left = np.flatnonzero(open_ways)
            points = starts[left] + (ends[left] - starts[left]) * (step / pieces)
            wanted = distance if step in (0, pieces) else needed
            open_ways[left] = self.at_least(points, wanted)
        return open_ways


def _capped_distance(blocked: BoolArray, cap: int) -> FloatArray:
    """Return how many pixels each pixel is from the nearest blocked one; `cap` stands for more."""
    rows = np.arange(len(blocked))[:, None]
    above = np.maximum.accumulate(np.where(blocked, rows, -4 * cap - len(rows)), axis=0)
    below = np.minimum.accumulate(np.where(blocked, rows, 5 * cap + 2 * len(rows))[::-1], axis=0)[
        ::-1
    ]
    upright = np.minimum(np.minimum(rows - above, below - rows), cap).astype(np.float32) ** 2
    least = upright.copy()
    for offset in range(1, cap + 1):
        np.minimum(least[:, offset:], upright[:, :-offset] + offset**2, out=least[:, offset:])
        np.minimum(least[:, :-offset], upright[:, offset:] + offset**2, out=least[:, :-offset])
    distance: FloatArray = np.sqrt(np.minimum(least, cap**2)).astype(np.float64)
    return distance
