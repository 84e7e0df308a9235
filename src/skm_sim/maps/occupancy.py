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

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.maps.frame import Frame
from skm_sim.maps.yaml_file import MapError, number, numbers, read_yaml

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
    try:
        with Image.open(path) as image:
            if image.width * image.height > MOST_PIXELS:
                raise MapError(f"{path} has {image.width} × {image.height} pixels, too many.")
            shade, alpha, transparent = _shades(image)
    except MapError:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        what = getattr(error, "strerror", None) or f"it is no PGM or PNG image ({error})"
        raise MapError(f"cannot read the map's image {path}: {what}") from error
    return shade[::-1], alpha[::-1], transparent


def _shades(image: Any) -> tuple[FloatArray, FloatArray, bool]:  # noqa: ANN401 - Pillow's
    transparent = image.mode in ("LA", "RGBA", "PA") or "transparency" in image.info
    if image.mode in ("I", "I;16", "I;16B", "F"):  # 16 bits; Pillow scales what is no 8 bits to 16
        shade = np.asarray(image, np.float64) / 65535
        return shade, np.ones_like(shade), False
    if image.mode in ("1", "L"):
        shade = np.asarray(image.convert("L"), np.float64) / 255
        return shade, np.ones_like(shade), False
    pixels = np.asarray(image.convert("RGBA"), np.float64) / 255
    return pixels[..., :3].mean(axis=-1), pixels[..., 3], transparent
