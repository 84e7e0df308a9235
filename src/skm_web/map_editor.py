"""The map editor: a picture of a floor, walls and places drawn on it, and a domain made of them.

The page keeps the drawing; here is what it is asked for: to read a picture, to work out where a robot
can stand and which places it cannot reach, and to save a domain. Points are *inner* metres: along the
picture's own columns and rows, from its lower left corner. A picture comes in parts, compressed, since
requests are small. Only its pixels count, and a path in its YAML is never followed.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import re
import secrets
import tempfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import yaml
from PIL import Image, ImageDraw, UnidentifiedImageError

from skm_machine.errors import SkmError
from skm_primitives.planning.map_domains import make_map_domain
from skm_sim.arrays import BoolArray
from skm_sim.maps.building import Building
from skm_sim.maps.floor import make_floor, standing_squares
from skm_sim.maps.occupancy import Frame, read_map, shades
from skm_sim.maps.places import Circle, Places, PlacesFile, Polygon, Shape, read_places
from skm_sim.maps.spec import MAP, PLACES, is_map_folder, settings_from
from skm_sim.maps.yaml_file import MapError, number, numbers, read_yaml
from skm_web.hub import Hub

PREFIX: Final = "maps/"
"""Below it the pictures are served."""
FORMATS: Final = ("PNG", "PPM", "JPEG", "BMP")
MOST_PACKED: Final = 4_000_000
MOST_BYTES: Final = 40_000_000
"""Of a picture's file, unpacked."""
MOST_PIXELS: Final = 9_000_000
MOST_MAPS: Final = 4
"""Pictures that are kept, the newest ones."""
MOST_UPLOADS: Final = 4
MOST_EDITS: Final = 2000
MOST_SHAPES: Final = 300
MOST_CELLS: Final = 300_000
"""Of a floor that is shown while somebody draws."""
MOST_METRES: Final = 2000.0
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,40}")
BLANK_RESOLUTION: Final = 0.05
DEFAULTS: Final = {"negate": 0, "occupied_thresh": 0.65, "free_thresh": 0.196}
"""As map_saver writes them."""


@dataclass
class MapSheet:
    """A picture that places are drawn on."""

    name: str
    picture: Image.Image
    """Shades of grey, the highest row first."""
    resolution: float = BLANK_RESOLUTION
    frame: Frame = field(default_factory=lambda: Frame(0.0, 0.0))
    settings: dict[str, Any] = field(default_factory=lambda: dict(DEFAULTS))
    described: bool = False
    """Whether a YAML file says how large it is."""

    def document(self, number: str) -> dict[str, Any]:
        """Return the data for the page."""
        width, height = self.picture.size
        return {
            "map": number,
            "name": self.name,
            "width": width * self.resolution,
            "height": height * self.resolution,
            "resolution": self.resolution,
            "negate": self.settings["negate"],
            "described": self.described,
        }


class MapEditor:
    """Answers the requests of pages; domains go into one folder."""

    def __init__(self, hub: Hub, folder: Path, starter: Starter | None = None) -> None:
        self._hub, self._folder, self._starter = hub, folder, starter
        self._maps: dict[str, MapSheet] = {}
        self._uploads: dict[str, tuple[dict[str, Any], bytearray]] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="floor")
        hub.put("server", {"editor": str(folder)})
        hub.put("editor", {"folder": str(folder), "domains": self._domains(), "first": None})
        hub.put("started", {})

    def _domains(self) -> list[str]:
        if not self._folder.is_dir():
            return []
        found = [path.name for path in self._folder.iterdir() if is_map_folder(path)]
        return sorted(name for name in found if NAME.fullmatch(name))[:200]

    # Requests

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of a page; one at a time, in a thread of their own."""
        actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "map_open": self._open,
            "map_part": self._part,
            "map_blank": self._blank,
            "map_domain": self._domain,
            "map_look": self._look,
            "map_save": self._save,
            "map_start": self._start,
            "map_end": self._end,
        }
        action = actions.get(request["type"])
        if action is None:
            return {"ok": False, "message": f"there is no request '{request['type'][:40]}'"}
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._worker, action, request)
        except SkmError as error:
            return {"ok": False, "message": _plain(str(error))}
        return {"ok": True, **found}

    def stop(self) -> None:
        """End, with the robot that was started from here."""
        if self._starter is not None:
            self._starter.stop()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def file(self, path: str) -> tuple[str, bytes] | None:
        """Return type and content of a picture; None if there is none of that name."""
        if not path.startswith(PREFIX) or not path.endswith(".png"):
            return None
        sheet = self._maps.get(path.removeprefix(PREFIX).removesuffix(".png"))
        if sheet is None:
            return None
        packed = io.BytesIO()
        sheet.picture.save(packed, "PNG")
        return "image/png", packed.getvalue()

    # Pictures

    def _open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Begin to take a picture: its parts follow, deflated."""
        if len(self._uploads) >= MOST_UPLOADS:
            self._uploads.pop(next(iter(self._uploads)))
        number = secrets.token_urlsafe(9)
        about = {"name": _text(request, "name", 200), "yaml": _text(request, "yaml", 20_000)}
        self._uploads[number] = about, bytearray()
        return {"upload": number}

    def _part(self, request: dict[str, Any]) -> dict[str, Any]:
        number = request.get("upload")
        if not isinstance(number, str) or number not in self._uploads:
            raise MapError("this picture is not being taken any more: open it again")
        about, packed = self._uploads[number]
        try:
            packed += base64.b64decode(_text(request, "data", 64_000), validate=True)
        except (binascii.Error, ValueError):
            raise MapError("a part of the picture cannot be read: open it again") from None
        if len(packed) > MOST_PACKED:
            del self._uploads[number]
            raise MapError(f"the picture is larger than {MOST_PACKED / 1e6:.0f} MB, compressed")
        if not request.get("last"):
            return {}
        del self._uploads[number]
        return self._take(unpacked(bytes(packed)), about["name"], about["yaml"])

    def open_file(self, path: Path) -> None:
        """Begin with a picture, a map's YAML file or a domain of this machine: pages open with it."""
        if is_map_folder(path):
            found = self._take_domain(path)
        elif path.suffix in (".yaml", ".yml"):
            image = path.parent / str(read_yaml(path).get("image", ""))
            found = self._take(_bytes(image), path.stem, path.read_text("utf-8"))
        else:
            found = self._take(_bytes(path), path.stem, "")
        self._hub.put("editor", {**self._hub.value("editor"), "first": found})

    def _take(self, data: bytes, name: str, text: str) -> dict[str, Any]:
        sheet = MapSheet(_domain_name(name), read_picture(data))
        return {"sheet": self._keep(_described(sheet, text) if text.strip() else sheet)}

    def _blank(self, request: dict[str, Any]) -> dict[str, Any]:
        """Begin with an empty floor, walls around it."""
        width, height = (_metres(request.get(key), key) for key in ("width", "height"))
        size = round(width / BLANK_RESOLUTION), round(height / BLANK_RESOLUTION)
        if size[0] * size[1] > MOST_PIXELS:
            raise MapError(f"{width:g} × {height:g} m is too large to draw: 150 × 150 m at most")
        picture = Image.new("L", size, 254)
        ImageDraw.Draw(picture).rectangle((0, 0, size[0] - 1, size[1] - 1), outline=0, width=2)
        return {"sheet": self._keep(MapSheet("floor", picture))}

    def _domain(self, request: dict[str, Any]) -> dict[str, Any]:
        """Open a domain that was made before."""
        name = request.get("name")
        if name not in self._domains():
            raise MapError("there is no such domain in the folder")
        return self._take_domain(self._folder / str(name))

    def _take_domain(self, folder: Path) -> dict[str, Any]:
        image = folder / str(read_yaml(folder / MAP).get("image", ""))
        found = self._take(_bytes(image), folder.name, (folder / MAP).read_text("utf-8"))
        file = read_places(folder / PLACES)
        frame = self._maps[found["sheet"]["map"]].frame
        places = [
            {
                "name": name,
                "constraint": name in file.constraints,
                "shapes": [_drawn(shape, frame) for shape in shapes],
            }
            for name, shapes in file.places.shapes.items()
        ]
        robot = {"radius": file.robot_radius, "speed": file.robot_speed, "cell": file.cell}
        return {**found, "places": places, "robot": robot}

    def _keep(self, sheet: MapSheet) -> dict[str, Any]:
        while len(self._maps) >= MOST_MAPS:
            self._maps.pop(next(iter(self._maps)))
        number = secrets.token_urlsafe(9)
        self._maps[number] = sheet
        return sheet.document(number)

    # The floor, and the domain

    def _sheet(self, request: dict[str, Any]) -> MapSheet:
        sheet = self._maps.get(str(request.get("map")))
        if sheet is None:
            raise MapError("the server does not have this picture any more: open it again")
        width = request.get("width")
        if width is not None:  # the person knows how wide it is
            resolution = _metres(width, "width") / sheet.picture.width
            sheet = replace(sheet, resolution=resolution)
        negate = 1 if request.get("negate") else 0
        return replace(sheet, settings={**sheet.settings, "negate": negate})

    def _look(self, request: dict[str, Any]) -> dict[str, Any]:
        """Work out where the robot can stand, and which places it cannot reach."""
        with tempfile.TemporaryDirectory() as folder:
            sheet = self._sheet(request)
            map_path, places_path, problems = write_sheet(sheet, request, Path(folder))
            occupancy = read_map(map_path)
            file = read_places(places_path) if places_path is not None else None
            robot = file or settings_from(PlacesFile(Places({})), **_robot(request))
        cell, radius = robot.cell, robot.robot_radius
        width, height = occupancy.size
        squares = width / cell * height / cell
        if squares > MOST_CELLS:
            raise MapError(
                f"there are {squares:,.0f} squares of {cell:g} m: make the cells larger, or check"
                " how wide the map is"
            )
        floor = make_floor(
            occupancy, robot.places, cell=cell, radius=radius, neighbours=robot.neighbours
        )
        standing = standing_squares(occupancy, cell=cell, radius=radius)
        building = Building(occupancy, robot, floor)
        reached = floor.number >= 0
        return {
            "floor": squares_path(reached, cell, height),
            "cut_off": squares_path(standing & ~reached, cell, height),
            "cells": floor.num_cells,
            "lost": int((standing & ~reached).sum()),
            "unreachable": building.unreachable,
            "problems": problems,
        }

    def _save(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make a domain of the drawing."""
        name = request.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise MapError(
                "a name has small letters, digits and underscores, and begins with a letter: floor_2"
            )
        with tempfile.TemporaryDirectory() as folder:
            map_path, places_path, problems = write_sheet(
                self._sheet(request), request, Path(folder)
            )
            if places_path is None or problems:
                raise MapError(" ".join(problems) or "draw and name a place first")
            target = self._folder / name
            if is_map_folder(target) and not request.get("overwrite"):
                return {"exists": name}
            made = make_map_domain(
                map_path, places_path, target, overwrite=True, command="skm map --edit"
            )
        self._hub.put("editor", {**self._hub.value("editor"), "domains": self._domains()})
        return {"saved": name, **made.document()}

    def _start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Start the robot system on a domain that was saved."""
        name = request.get("name")
        if name not in self._domains():
            raise MapError("save the domain first")
        if self._starter is None:
            raise MapError("this server starts no robot: skm up robot --web --domain FOLDER does")
        self._starter.start(
            self._folder / str(name), lambda result: self._hub.put("started", result)
        )
        return {}

    def _end(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        if self._starter is not None:
            self._starter.stop()
        self._hub.put("started", {})
        return {}


class Starter(Protocol):
    """Starts a robot system; the command line has one, since this package knows nothing of ROS."""

    def start(self, domain: Path, tell: Callable[[dict[str, Any]], None]) -> None:
        """Start it, and tell what becomes of it: `{"domain", "url"}` or `{"domain", "problem"}`."""

    def stop(self) -> None:
        """End it."""


# Pictures and what belongs to them


def unpacked(packed: bytes) -> bytes:
    """Return what was deflated; it may not be beyond measure."""
    try:
        worker = zlib.decompressobj()
        data = worker.decompress(packed, MOST_BYTES)
    except zlib.error:
        raise MapError("the picture came in pieces that do not fit: open it again") from None
    if worker.unconsumed_tail or not worker.eof:
        raise MapError(f"the picture is larger than {MOST_BYTES / 1e6:.0f} MB, or cut short")
    return data


def read_picture(data: bytes) -> Image.Image:
    """Return a picture as shades of grey; opacity counts as map_server's `trinary` has it."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                raise MapError(
                    f"the picture has {width} × {height} pixels: {MOST_PIXELS / 1e6:.0f} million at"
                    " most, so make it smaller first"
                )
            if min(width, height) < 4:
                raise MapError(f"the picture has {width} × {height} pixels: that is not a map")
            shade, alpha, transparent = shades(image)
    except MapError:
        raise
    except UnidentifiedImageError:
        raise MapError("this is not a picture that can be read: PNG, PGM, JPEG or BMP") from None
    except Exception as error:  # whatever a decoder makes of a file that was made to break it
        raise MapError(f"the picture cannot be read: {str(error)[:200]}") from None
    if transparent:
        shade = (3 * shade + alpha) / 4
    return Image.fromarray(np.rint(255 * np.clip(shade, 0, 1)).astype(np.uint8), "L")


def _described(sheet: MapSheet, text: str) -> MapSheet:
    """Return a picture with what a map's YAML says of it; the image it names is not looked for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.yaml"
        path.write_text(text, "utf-8")
        given = read_yaml(path)
    settings = dict(DEFAULTS)
    for key in ("occupied_thresh", "free_thresh"):
        settings[key] = number(given.get(key, settings[key]), key)
    settings["negate"] = 1 if given.get("negate") == 1 else 0
    if given.get("mode") in ("scale", "raw"):
        settings["mode"] = given["mode"]
    resolution = number(given.get("resolution", sheet.resolution), "resolution", positive=True)
    frame = Frame(*numbers(given.get("origin", [0, 0, 0]), "x, y, yaw", "origin"))
    return replace(sheet, resolution=resolution, frame=frame, settings=settings, described=True)


def write_sheet(
    sheet: MapSheet, request: dict[str, Any], folder: Path
) -> tuple[Path, Path | None, list[str]]:
    """Write map and places as files; the second is None while there is no place that can be used."""
    edited(sheet, request.get("edits") or []).save(folder / "map.png")
    frame = sheet.frame
    about = {"image": "map.png", "resolution": sheet.resolution, **sheet.settings}
    about["origin"] = [frame.x, frame.y, frame.yaw]
    (folder / "map.yaml").write_text(yaml.safe_dump(about), "utf-8")
    places, problems = _placed(request.get("places") or [], frame)
    if not places["places"]:
        return folder / "map.yaml", None, problems
    robot = _robot(request)
    places["robot"] = {"radius": robot["robot_radius"], "speed": robot["robot_speed"]}
    places["cell"] = robot["cell"]
    path = folder / "places.yaml"
    path.write_text(yaml.safe_dump(places, sort_keys=False), "utf-8")
    return folder / "map.yaml", path, problems


def edited(sheet: MapSheet, edits: object) -> Image.Image:
    """Return the picture with walls and openings drawn on it."""
    if not isinstance(edits, list) or len(edits) > MOST_EDITS:
        raise MapError(f"there are more than {MOST_EDITS} walls and openings")
    picture = sheet.picture.copy()
    pen = ImageDraw.Draw(picture)
    black, white = (0, 254) if not sheet.settings["negate"] else (254, 0)
    for edit in edits:
        if not isinstance(edit, dict) or edit.get("kind") not in ("wall", "opening"):
            raise MapError("a change of the picture is a wall or an opening")
        ends = numbers(edit.get("line"), "x0, y0, x1, y1", "a wall")
        width = _metres(edit.get("width"), "a wall's width")
        x0, y0, x1, y1 = (
            max(-1e5, min(1e5, value / sheet.resolution)) for value in ends
        )  # in pixels
        shade, half = (black if edit["kind"] == "wall" else white), width / sheet.resolution / 2
        bottom = sheet.picture.height
        pen.line((x0, bottom - y0, x1, bottom - y1), fill=shade, width=max(1, round(2 * half)))
        for x, y in ((x0, bottom - y0), (x1, bottom - y1)):
            pen.ellipse((x - half, y - half, x + half, y + half), fill=shade)
    return picture


def _placed(given: object, frame: Frame) -> tuple[dict[str, Any], list[str]]:
    """Return the places of a drawing as a places file has them, and what is wrong with names."""
    if not isinstance(given, list):
        raise MapError("places are a list")
    found: dict[str, list[dict[str, Any]]] = {}
    constraints, problems, shapes = [], [], 0
    for place in given:
        name = place.get("name") if isinstance(place, dict) else None
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", name):
            problems.append(
                f"“{str(name)[:40]}” cannot be a name: letters, digits and underscores, such as"
                " wet_floor."
            )
            continue
        drawn = place.get("shapes")
        if not isinstance(drawn, list) or not drawn:
            continue
        shapes += len(drawn)
        found.setdefault(name, []).extend(_framed(shape, frame) for shape in drawn)
        if place.get("constraint") and name not in constraints:
            constraints.append(name)
    if shapes > MOST_SHAPES:
        raise MapError(f"there are {shapes} shapes: {MOST_SHAPES} at most")
    return {"places": found, "constraints": constraints}, problems


def _framed(shape: object, frame: Frame) -> dict[str, Any]:
    """Return a shape of the drawing in the map frame."""
    given = shape if isinstance(shape, dict) else {}
    if given.get("kind") == "circle":
        x, y, radius = numbers(given.get("circle"), "x, y, r", "a circle")
        x, y = frame.to_frame((x, y)).tolist()
        return {"circle": [x, y, abs(radius)]}
    if given.get("kind") == "rectangle":
        x0, y0, x1, y1 = numbers(given.get("rectangle"), "x0, y0, x1, y1", "a rectangle")
        corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        if frame.yaw == 0:
            ends = frame.to_frame([(x0, y0), (x1, y1)]).tolist()
            return {"rectangle": [*ends[0], *ends[1]]}
    elif given.get("kind") == "polygon":
        points = given.get("polygon")
        if not isinstance(points, list) or not 3 <= len(points) <= MOST_SHAPES:
            raise MapError("a polygon has three corners at least")
        corners = [numbers(point, "x, y", "a corner") for point in points]  # type: ignore[misc]
    else:
        raise MapError("a place is a rectangle, a polygon or a circle")
    return {"polygon": frame.to_frame(corners).tolist()}


def _drawn(shape: Shape, frame: Frame) -> dict[str, Any]:
    """Return a shape of a places file as the page draws it."""
    if isinstance(shape, Circle):
        x, y = frame.to_inner((shape.x, shape.y)).tolist()
        return {"kind": "circle", "circle": [x, y, shape.radius]}
    if not isinstance(shape, Polygon):
        raise MapError("a place is a rectangle, a polygon or a circle")
    points = frame.to_inner(shape.corners).tolist()
    xs, ys = sorted({round(x, 6) for x, _ in points}), sorted({round(y, 6) for _, y in points})
    if len(points) == 4 and len(xs) == 2 and len(ys) == 2:
        return {"kind": "rectangle", "rectangle": [xs[0], ys[0], xs[1], ys[1]]}
    return {"kind": "polygon", "polygon": points}


def squares_path(wanted: BoolArray, cell: float, height: float) -> str:
    """Return squares of a grid, the lowest row first, as the path of an SVG picture in metres."""
    change = np.diff(np.pad(wanted, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    row, first = np.nonzero(change == 1)
    last = np.nonzero(change == -1)[1]
    parts = [
        f"M{c0:.3f} {height - (r + 1) * cell:.3f}H{c1:.3f}v{cell:g}H{c0:.3f}z"
        for r, c0, c1 in zip(
            row.tolist(), (first * cell).tolist(), (last * cell).tolist(), strict=True
        )
    ]
    return "".join(parts)


def _robot(request: dict[str, Any]) -> dict[str, float]:
    given = request.get("robot")
    robot = given if isinstance(given, dict) else {}
    return {
        "robot_radius": _metres(robot.get("radius", PlacesFile.robot_radius), "the robot's radius"),
        "robot_speed": _metres(robot.get("speed", PlacesFile.robot_speed), "the robot's speed"),
        "cell": _metres(robot.get("cell", PlacesFile.cell), "a cell's side"),
    }


def _metres(value: object, what: str) -> float:
    found = number(value, what, positive=True)
    if not 1e-3 <= found <= MOST_METRES:
        raise MapError(f"{what} is from 1 mm to {MOST_METRES:g} m, not {found:g} m")
    return found


def _text(request: dict[str, Any], name: str, most: int) -> str:
    text = request.get(name, "")
    if not isinstance(text, str) or len(text) > most:
        raise MapError(f"{name} is a text of at most {most} characters")
    return text


def _domain_name(name: str) -> str:
    """Return a name for a domain, made of a file's."""
    plain = re.sub(r"[^a-z0-9_]+", "_", Path(name).stem.lower()).strip("_")[:40]
    return plain if NAME.fullmatch(plain) else "floor"


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise MapError(f"{path} is larger than {MOST_BYTES / 1e6:.0f} MB")
        return path.read_bytes()
    except OSError as error:
        raise MapError(f"cannot read {path}: {error.strerror}") from error


def _plain(text: str) -> str:
    """Return a message without the paths of files that nobody knows."""
    return re.sub(r"\S*/(map|places)\.(yaml|png)(: )?", "", text)
