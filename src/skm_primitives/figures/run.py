"""The picture and the film of a run: its path, in the colours of the machine's states."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import atan2, degrees, hypot
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image, ImageDraw, ImageFont

from skm_machine import Mission, plan_paper
from skm_machine.drawing.canvas import Canvas, words_broken
from skm_machine.drawing.machine import machine_canvas
from skm_machine.drawing.svg import svg_document
from skm_machine.errors import SkmError
from skm_machine.events import subsets
from skm_machine.logic.printer import labels_text
from skm_machine.possible import shown_everywhere
from skm_machine.skill_machine import plan_possible
from skm_machine.tracker import Transition
from skm_primitives.figures.machine import machine_figure
from skm_sim.arrays import FloatArray
from skm_sim.artists import INK, ROBOT, STATE_COLOURS
from skm_sim.registry import symbols
from skm_sim.scene import Shape
from skm_sim.scene_drawing import OVER_EVERYTHING, draw_scene, extent, gone_look, outline_of, top_of

# The picture of a run: its path over the world from above, in the colours of the machine's
# states.
#
# Made from a recording alone, so that it can be drawn anywhere, with no ROS and no simulator.


ACCEPTED: Final = "#2f8f63"
FAILED: Final = "#c0392b"
MUTED: Final = "#5c6878"
GAP: Final = 10.0
MARKED: Final = 20
"""Most transitions that are marked along the path."""
MARK_POINTS: Final = 20.0
MARK_SIZE: Final = 17.0
"""Points across a number along the path."""
LEGEND_GAP: Final = 0.08
"""Inches between the world and what is written below it."""
PATH_POINTS: Final = 2.6
PASS_POINTS: Final = 3.0
"""Where a path runs over itself, earlier passes are wider by so much each, so that all are seen."""
MOST_PASSES: Final = 3
SIDES: Final = 16
"""Directions in which the number of a transition is tried."""
GONE_KEY: Final = (0.6, 0.6, 0.6)
"""The colour that stands for all where the list says how what is gone is drawn."""
SUFFIXES: Final = (".svg", ".png")
PICTURE_DPI: Final = 130
MACHINE_WIDTH: Final = 1.3
"""Most widths of the run that its machine may have below it, in a picture of pixels."""

Look = dict[str, Any]
"""Options of matplotlib."""


@dataclass(frozen=True)
class Place:
    """Where the robot was after so many steps of the mission."""

    step: int
    x: float
    y: float


@dataclass(frozen=True)
class RecordedRun:
    """What a picture of a run is made from."""

    mission: Mission
    gamma: float
    outcome: str
    steps: int
    scene: Sequence[Shape]
    """The world, the robot where it was at the end."""
    path: Sequence[Place]
    moves: Sequence[Transition]
    label_sets: Collection[frozenset[str]] = ()
    """What can be true in the world: the machine is drawn without what cannot; empty: anything can."""
    gone: Sequence[Shape] = ()
    """What was somewhere during the run and then was there no more, as it was."""


def check_picture(path: Path) -> Path:
    """Return the path of a picture, or say which names are right."""
    if path.suffix not in SUFFIXES:
        raise SkmError(f"a picture of a run is .svg and .png, not '{path.name}'")
    return path


def save_run(run: RecordedRun, path: Path) -> list[str]:
    """Write the run, with its machine below, as .svg and as .png; return both paths."""
    svg, png = (check_picture(path).with_suffix(suffix) for suffix in SUFFIXES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        svg.write_text(run_svg(run), encoding="utf-8")
        run_image(run).save(png)
    except OSError as error:
        raise SkmError(f"cannot write {path}: {error.strerror or error}") from error
    return [str(svg), str(png)]


def run_svg(run: RecordedRun) -> str:
    """Return one document: the run, and below it the machine with the same colours."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "skm"}):
        run_figure(run).savefig(buffer, format="svg", metadata={"Date": None})
    drawn = buffer.getvalue()
    top = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', drawn[drawn.index("<svg") :], count=2)
    canvas = _machine(run)
    if canvas is None:
        return top
    below = svg_document(canvas, "")
    (width, height), (wide, high) = _size(top), _size(below)
    total, tall = max(width, wide), height + GAP + high
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:g} {tall:g}" '
        f'width="{total:g}" height="{tall:g}">\n<rect width="100%" height="100%" fill="#fff"/>\n'
        f"{_placed(below, (total - wide) / 2, height + GAP)}"
        f"{_placed(top, (total - width) / 2, 0.0)}</svg>\n"
    )


def run_image(run: RecordedRun) -> Image.Image:
    """Return the run, and below it the machine with the same colours, as pixels."""
    figures = [run_figure(run)]
    if (canvas := _machine(run)) is not None:
        figures.append(machine_figure(canvas))
    images = [_pixels(figure, PICTURE_DPI) for figure in figures]
    for image in images[1:]:
        image.thumbnail((round(MACHINE_WIDTH * images[0].width), image.height))
    width = max(image.width for image in images)
    tall = sum(image.height for image in images)
    whole = Image.new("RGB", (width, tall), "white")
    top = 0
    for image in images:
        whole.paste(image, ((width - image.width) // 2, top))
        top += image.height
    return whole


def _machine(run: RecordedRun) -> Canvas | None:
    """Return the drawing of the run's machine; none of a mission in parts, which has no one machine."""
    if run.mission.in_parts:
        return None
    machine = run.mission.machine
    colours = {state: state_colour(run, state) for state in range(machine.num_states)}
    if not run.label_sets or run.mission.clocks is not None:
        return machine_canvas(machine, plan_paper(machine, run.gamma).skills, outlines=colours)
    happened = {frozenset(move.labels) for move in run.moves}
    shown = shown_everywhere(
        machine, [*run.label_sets, *happened, frozenset()], subsets(run.mission.events)
    )
    skills = plan_possible(machine, shown, run.gamma, events=run.mission.events).skills
    return machine_canvas(machine, skills, outlines=colours, shown=shown)


def _pixels(figure: Figure, dpi: int) -> Image.Image:
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")  # type: ignore[no-untyped-call]


def _size(svg: str) -> tuple[float, float]:
    found = re.search(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def _placed(svg: str, x: float, y: float) -> str:
    return svg.replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1)


def run_figure(run: RecordedRun, shown: Sequence[Shape] | None = None) -> Figure:
    """Return the world from above with the path, the transitions marked and listed below it.

    With `shown`, the ground of a film: only these shapes of the scene, no path, no marks.
    """
    moves = [move for move in run.moves if move.step <= run.steps][:MARKED]
    states = list(dict.fromkeys(state_at(run, place.step) for place in run.path[:-1]))
    title = words_broken(run.mission.text.strip(), 11, 440)
    rows = len(moves) + (len(states) + 3) // 4 + bool(run.gone) + (shown is None)
    head, foot = 0.22 * len(title) + 0.3, 0.2 * rows + 0.2 + LEGEND_GAP
    low, high = extent(run.scene)
    view = 5.8 * min(1.5, float((high[1] - low[1]) / (high[0] - low[0])))
    width, height = 6.0, view + head + foot
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0.1 / width, foot / height, 5.8 / width, view / height))
    if shown is None:
        draw_scene(axes, run.scene, run.gone, symbols())
        _draw_path(axes, run)
        _draw_robot(axes, run)
        taken = _names(axes)
        for number, move in enumerate(moves, start=1):
            _mark(axes, run, number, move, taken)
    else:
        draw_scene(axes, shown, (), symbols())
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    top = height - 0.2
    for line in title:
        figure.text(0.02, top / height, line, size=11, color=INK, weight="bold", va="center")
        top -= 0.22
    said, colour = _outcome(run)
    figure.text(0.02, top / height, said, size=9.5, color=colour, va="center")
    _list(figure, run, moves, states, foot, ends=shown is None)
    return figure


def _outcome(run: RecordedRun) -> tuple[str, str]:
    """Return how the run ended, and its colour; time being up is no failure if there were rounds."""
    said = f"{run.outcome} after {run.steps} steps"
    rounds = sum(move.reward > 0 for move in run.moves) if run.mission.machine.endless else 0
    in_time = run.outcome in ("timed out", "satisfied so far")
    succeeded = run.outcome == "accepted" or (in_time and rounds > 0)
    if rounds:
        said += f", {rounds} rounds completed"
    return said, ACCEPTED if succeeded else FAILED


def _draw_path(axes: Axes, run: RecordedRun) -> None:
    outline: Look = {
        "solid_capstyle": "round",
        "solid_joinstyle": "round",
        "zorder": OVER_EVERYTHING,
    }
    xs, ys = [place.x for place in run.path], [place.y for place in run.path]
    axes.plot(xs, ys, color="white", lw=PATH_POINTS + 1.6, **outline)
    stretches = list(pairwise(run.path))
    to_come = Counter(map(_ends, stretches))
    for before, after in stretches:
        to_come[_ends((before, after))] -= 1
        wider = min(to_come[_ends((before, after))], MOST_PASSES - 1)
        colour = state_colour(run, state_at(run, before.step))
        ends = (before.x, after.x), (before.y, after.y)
        axes.plot(*ends, color=colour, lw=PATH_POINTS + PASS_POINTS * wider, **outline)
    if run.path:
        start = run.path[0]
        look: Look = {
            "mfc": "white",
            "mec": INK,
            "mew": 1.6,
            "ms": 8,
            "zorder": OVER_EVERYTHING + 1,
        }
        axes.plot(start.x, start.y, "o", **look)


def _draw_robot(axes: Axes, run: RecordedRun) -> None:
    """Draw where the robot is at the end, and where it looks: as it moved last, unless it is shown."""
    if _has_arrow(run):
        return
    moved = [
        (after.x - before.x, after.y - before.y)
        for before, after in pairwise(run.path)
        if hypot(after.x - before.x, after.y - before.y) > 1e-6
    ]
    if not moved:
        return
    place, (across, up) = run.path[-1], moved[-1]
    turned = degrees(atan2(up, across)) - 90
    look: Look = {"mfc": ROBOT, "mec": "white", "mew": 1.2, "zorder": OVER_EVERYTHING + 1.5}
    axes.plot(place.x, place.y, marker=(3, 0, turned), ms=15, **look)


def _has_arrow(run: RecordedRun) -> bool:
    return any(shape.group == "robot" and shape.kind == "arrow" for shape in run.scene)


def _ends(stretch: tuple[Place, Place]) -> frozenset[tuple[float, float]]:
    """Return what tells whether two stretches are the same, whichever way they were gone."""
    return frozenset((place.x, place.y) for place in stretch)


def _names(axes: Axes) -> list[FloatArray]:
    """Return the corners of all names in the world, `(2, 2)` in pixels: numbers keep off them."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    return [text.get_window_extent(renderer).get_points() for text in axes.texts]


def _mark(
    axes: Axes, run: RecordedRun, number: int, move: Transition, taken: list[FloatArray]
) -> None:
    """Put a dot where a transition happened, and its number beside it, where there is most room."""
    if not run.path:
        return
    place = min(run.path, key=lambda place: abs(place.step - move.step))
    dot: Look = {
        "mfc": _end_colour(run, move),
        "mec": "white",
        "ms": 7,
        "zorder": OVER_EVERYTHING + 1,
    }
    axes.plot(place.x, place.y, "o", **dot)
    aside, box = _free_side(axes, run, place, taken)
    taken.append(box)
    axes.annotate(
        str(number),
        (place.x, place.y),
        tuple(aside),
        textcoords="offset points",
        size=8,
        weight="bold",
        color="white",
        ha="center",
        va="center",
        bbox={"boxstyle": "circle,pad=0.25", "fc": _end_colour(run, move), "ec": "white"},
        arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.8},
        zorder=OVER_EVERYTHING + 2 + number,
    )


def _free_side(
    axes: Axes, run: RecordedRun, place: Place, taken: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return where to put a number beside a place, in points from there, and its box in pixels.

    Of `SIDES` it is the one that is inside the world, covers no name and no other number, and has
    the path farthest away.
    """
    to_pixels: Any = axes.transData
    per_point = axes.figure.dpi / 72
    here = to_pixels.transform((place.x, place.y))
    path = to_pixels.transform([(other.x, other.y) for other in run.path])
    world = axes.get_window_extent()
    best, least = None, np.inf
    for angle in np.linspace(0.0, 2 * np.pi, SIDES, endpoint=False):
        aside: FloatArray = MARK_POINTS * np.array([np.cos(angle), np.sin(angle)])
        middle = here + per_point * aside
        half = per_point * MARK_SIZE / 2
        box: FloatArray = np.array([middle - half, middle + half])
        covered = sum(bool((box[0] < b[1]).all() and (b[0] < box[1]).all()) for b in taken)
        outside = not (world.contains(*box[0]) and world.contains(*box[1]))
        near = half / max(1.0, float(np.hypot(*(path - middle).T).min()))
        cost = 4 * covered + 2 * outside + near
        if cost < least:
            best, least = (aside, box), cost
    assert best is not None
    return best


def _list(
    figure: Figure,
    run: RecordedRun,
    moves: Sequence[Transition],
    states: Sequence[int],
    foot: float,
    *,
    ends: bool,
) -> None:
    """Write what the colours and numbers mean below the world."""
    names = run.mission.machine.names
    width, height = figure.get_size_inches()
    y = foot - 0.1 - LEGEND_GAP
    if ends:
        ring: Look = {"marker": "o", "mfc": "white", "mec": INK, "mew": 1.6, "ms": 7, "ls": ""}
        robot: Look = {"marker": (3, 0, -90), "mfc": ROBOT, "mec": "white", "ms": 11, "ls": ""}
        shown = [(0.245, ring, "start"), (1.695, robot, "robot at the end")]
        for x, marker, said in shown[: 1 if _has_arrow(run) else 2]:
            figure.add_artist(Line2D([x / width], [y / height], **marker))
            figure.text((x + 0.205) / width, y / height, said, size=9, color=MUTED, va="center")
        y -= 0.2
    for index, state in enumerate(states):
        column, row = index % 4, index // 4
        x, line = 0.12 + 1.45 * column, y - 0.2 * row
        colour = state_colour(run, state)
        stroke = [x / width, (x + 0.25) / width], [line / height] * 2
        figure.add_artist(Line2D(*stroke, color=colour, lw=2.6))
        said = f"in state {names[state]}"
        figure.text((x + 0.33) / width, line / height, said, size=9, color=MUTED, va="center")
    y -= 0.2 * ((len(states) + 3) // 4)
    if run.gone:
        size = 0.15
        corner = (0.245 - size / 2) / width, (y - size / 2) / height
        box = Rectangle(corner, size / width, size / height, **gone_look(GONE_KEY))
        figure.add_artist(box)
        said = "where something was before it moved; the rest is as at the end"
        figure.text(0.45 / width, y / height, said, size=9, color=MUTED, va="center")
        y -= 0.2
    for number, move in enumerate(moves, start=1):
        said = (
            f"step {move.step}: {names[move.source]} → {names[move.target]}"
            f" on {labels_text(move.labels)}" + ("  ★" if move.reward > 0 else "")
        )
        look: Look = {"size": 9, "va": "center", "ha": "center", "weight": "bold"}
        figure.text(0.24 / width, y / height, str(number), color=_end_colour(run, move), **look)
        font: Look = {"size": 9, "va": "center", "color": MUTED, "family": "DejaVu Sans"}
        figure.text(0.45 / width, y / height, said, **font)
        y -= 0.2


def state_at(run: RecordedRun, step: int) -> int:
    """Return the machine's state after so many steps."""
    state = run.mission.machine.initial
    for move in run.moves:
        if move.step <= step:
            state = move.target
    return state


def _end_colour(run: RecordedRun, move: Transition) -> str:
    """Return the colour of what a transition leads to; a round that ends is a success."""
    return ACCEPTED if move.reward > 0 else state_colour(run, move.target)


def state_colour(run: RecordedRun, state: int) -> str:
    """Return the colour of a machine state: green if accepted, red if failed, else its own."""
    machine = run.mission.machine
    if state in machine.failure:
        return FAILED
    return ACCEPTED if state in machine.terminal else STATE_COLOURS[state % len(STATE_COLOURS)]


# The film of a run: its picture as it grows, frame by frame, in seconds.
#
# What never changes is drawn once, by matplotlib; each frame then gets what moves, and the path
# so far.


DPI: Final = 90
FINER: Final = 2
"""Frames are drawn so much larger, and made smaller then: smooth edges."""
CORNERS: Final = 40
"""Corners of a circle."""
ARROW: Final = ((1.0, 0.0), (-0.6, 0.75), (-0.6, -0.75))
"""The robot's corners: ahead, and to its left."""

ToPixels = Callable[[FloatArray], FloatArray]


def film_frames(run: RecordedRun, scenes: Sequence[Sequence[Shape]]) -> list[Image.Image]:
    """Return a frame for every state; `scenes` has the world in each of them."""
    still = [shape for shape in scenes[0] if all(shape in scene for scene in scenes[1:])]
    kept = set(still)
    figure = run_figure(replace(run, scene=scenes[0], gone=()), shown=still)
    ground = _pixels(figure, DPI * FINER)
    to_data: Any = figure.axes[0].transData

    def to_pixels(points: FloatArray) -> FloatArray:
        placed: FloatArray = to_data.transform(points)
        placed[:, 1] = ground.height - placed[:, 1]
        return placed

    pen = _Pen(run, ground, to_pixels)
    return [
        pen.frame(number, [shape for shape in scene if shape not in kept])
        for number, scene in enumerate(scenes)
    ]


class _Pen:
    """Draws frames over the ground that all of them share."""

    def __init__(self, run: RecordedRun, ground: Image.Image, to_pixels: ToPixels) -> None:
        self._run, self._ground, self._to_pixels = run, ground, to_pixels
        places = np.array([(place.x, place.y) for place in run.path]).reshape(-1, 2)
        self._path = to_pixels(places) if len(places) else places
        self._width = round(PATH_POINTS * DPI * FINER / 72)
        self._colours = [state_colour(run, state_at(run, place.step)) for place in run.path]
        font = font_manager.findfont("DejaVu Sans")
        self._font = ImageFont.truetype(font, round(9 * DPI * FINER / 72))

    def frame(self, number: int, moving: Sequence[Shape]) -> Image.Image:
        """Return the frame of one state."""
        image = self._ground.copy()
        draw = ImageDraw.Draw(image, "RGBA")
        for shape in sorted(moving, key=top_of):
            self._shape(draw, shape)
        points = [tuple(point) for point in self._path[: number + 1].tolist()]
        if len(points) > 1:
            draw.line(points, fill="white", width=self._width + 4, joint="curve")
            for start, end, colour in zip(points, points[1:], self._colours, strict=False):
                draw.line([start, end], fill=colour, width=self._width)
        if points:
            size = 3 * self._width
            forward = self._forward(number)
            corners = [
                (points[-1][0] + size * x, points[-1][1] + size * y)
                for x, y in np.array(ARROW) @ np.array([forward, [-forward[1], forward[0]]])
            ]
            draw.polygon(corners, fill=ROBOT, outline="white", width=3)
        state = self._run.mission.machine.names[state_at(self._run, number)]
        corner = image.width - 12, 12
        draw.text(corner, f"step {number}, {state}", fill=INK, font=self._font, anchor="ra")
        return image.reduce(FINER)

    def _forward(self, number: int) -> FloatArray:
        """Return where the robot looks, in pixels: as it has moved last, at first as it moves next."""
        moved = np.diff(self._path, axis=0)
        moves = np.flatnonzero(np.hypot(*moved.T) > 1e-6) if len(moved) else np.array([], int)
        if not len(moves):
            return np.array([1.0, 0.0])
        before = moves[moves < number]
        latest = moved[before[-1] if len(before) else moves[0]]
        forward: FloatArray = latest / np.hypot(*latest)
        return forward

    def _shape(self, draw: ImageDraw.ImageDraw, shape: Shape) -> None:
        colour = tuple(round(255 * part) for part in shape.colour)
        if shape.kind == "text":
            place = self._to_pixels(np.array([shape.position[:2]]))[0].tolist()
            draw.text(place, shape.text, fill=colour, font=self._font, anchor="mm")
            return
        corners = outline_of(shape)
        if shape.kind in ("sphere", "cylinder"):
            angles = np.linspace(0, 2 * np.pi, CORNERS)
            radii = np.array(shape.size[:2]) / 2
            corners = np.stack([np.cos(angles), np.sin(angles)], 1) * radii + shape.position[:2]
        draw.polygon([tuple(p) for p in self._to_pixels(corners).tolist()], fill=colour)
